/* SPDX-License-Identifier: MIT
 *
 * Random access reading of one input: a file, memory, a callback. Immutable after opening; any
 * number of threads may read. */
#ifndef TARE_BASE_READER_H
#define TARE_BASE_READER_H

#include "base/alloc.h"

/* Ranges that are best read as a whole: [origin + k * step, origin + (k + 1) * step), modulo 2^64.
 * Step 0: all ranges are equal. */
typedef struct tare_grain {
    uint64_t origin, step;
} tare_grain;

/* What a server says of the version of a file, as SHA-256: a commit, an entity tag, a time. */
typedef struct tare_file_version {
    bool is_known;
    uint8_t digest[32];
} tare_file_version;

typedef struct tare_reader {
    const char *name; /* for messages; owned by whoever made the reader, lives as long as it */
    uint64_t size;
    int fd; /* -1: none */
    bool owns_fd;
    uint16_t withheld; /* permissions, 0..0777, that the file does not give */
    bool has_crc;      /* an archive states the CRC-32 of all bytes */
    uint32_t crc;
    bool has_identity; /* of a file of the system: which one it is, whatever path leads to it */
    uint64_t device, inode;
    tare_file_version version; /* of a file on a server */
    const uint8_t *map;        /* whole content where it is in memory, else NULL */
    bool owns_map;
    bool is_writable; /* the map: private, writes stay here */
    bool has_places;  /* offsets are those of a file or of memory that others know */
    tare_status (*read)(void *ctx, uint64_t offset, void *buf, size_t n);
    /* Like read, for our own readers: it reports itself what is wrong, and where. */
    tare_status (*fetch)(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err);
    /* For the same readers: a range that will be read soon; may be NULL. */
    void (*prefetch)(void *ctx, uint64_t offset, uint64_t n);
    /* The address of n contiguous bytes in memory; NULL if they are not. The function may be NULL:
     * only the bytes of `map` are in memory. */
    const uint8_t *(*lend)(void *ctx, uint64_t offset, uint64_t n);
    /* The pieces in which the range around a byte is made. May be NULL: any. */
    tare_grain (*grain)(void *ctx, uint64_t offset);
    /* Where the first bytes of a range come from unchanged. True: *n of them are those of *file from
     * *at on. False: the *n bytes have to be read here. May be NULL: all have to. */
    bool (*locate)(void *ctx, uint64_t offset, uint64_t *n, const struct tare_reader **file,
                   uint64_t *at);
    void *read_ctx;           /* of all of these */
    void (*close)(void *ctx); /* of a callback reader, may be NULL */
} tare_reader;

/* Whether a path is that of a link that leads nowhere. */
bool tare_is_lost_link(const char *path);
/* A regular file; a directory is ERR_ARG. `name` is kept. */
tare_status tare_reader_open(tare_reader *r, const char *name, tare_map_mode map, tare_error *err);
/* A borrowed descriptor of a regular file or block device; a pipe is ERR_ARG. */
tare_status tare_reader_fd(tare_reader *r, int fd, const char *name, tare_map_mode map,
                           tare_error *err);
void tare_reader_memory(tare_reader *r, const void *bytes, uint64_t size, const char *name);
void tare_reader_callback(tare_reader *r,
                          tare_status (*read)(void *ctx, uint64_t offset, void *buf, size_t n),
                          void *ctx, uint64_t size, const char *name);
void tare_reader_close(tare_reader *r);

/* Exactly n bytes from `offset`. Past the end: TRUNCATED with the offset and r->name. */
tare_status tare_reader_read(const tare_reader *r, uint64_t offset, void *buf, size_t n,
                             tare_error *err);
/* Where n bytes from `offset` lie in memory, inside the file; NULL: nowhere, or not in one piece.
 */
const uint8_t *tare_reader_borrow(const tare_reader *r, uint64_t offset, uint64_t n);
/* n bytes from `offset`, where they lie in memory or else read into `room`. */
tare_status tare_reader_view(const uint8_t **out, const tare_reader *r, uint64_t offset, void *room,
                             size_t n, tare_error *err);
/* In which pieces the bytes around `offset`, inside the file, are made. */
tare_grain tare_reader_grain(const tare_reader *r, uint64_t offset);
/* Tells the system, or the server's connection, that a range will be read soon: a hint. */
void tare_reader_will_need(const tare_reader *r, uint64_t offset, uint64_t n);

#endif
