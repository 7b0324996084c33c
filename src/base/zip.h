/* SPDX-License-Identifier: MIT
 *
 * The directory of a zip archive (PKWARE's APPNOTE 6.3, ZIP64 included). Members are read where
 * they lie in the archive; those that are compressed are for the caller to refuse or to inflate. */
#ifndef TARE_BASE_ZIP_H
#define TARE_BASE_ZIP_H

#include "base/reader.h"

typedef enum tare_zip_method {
    TARE_ZIP_STORED = 0,
    TARE_ZIP_DEFLATED = 8,
} tare_zip_method;

typedef struct tare_zip_member {
    tare_str name;           /* first, for the index of names */
    uint64_t record;         /* of its entry in the directory */
    uint64_t header;         /* of the header before its data */
    uint64_t offset;         /* of its data */
    uint64_t stored;         /* bytes in the archive */
    uint64_t size;           /* bytes that it is */
    uint32_t crc;            /* of these bytes */
    uint16_t method;         /* tare_zip_method, or another that APPNOTE lists */
    uint16_t name_in_header; /* its length there */
    bool is_encrypted;
} tare_zip_member;

typedef struct tare_zip {
    tare_zip_member *members; /* in the directory's order */
    size_t n;
    uint64_t directory_bytes; /* read to know all this */
} tare_zip;

/* Whether the first bytes of a file are those of an archive with members. */
bool tare_zip_probe(const void *head, size_t size);
/* Reads the directory and proves that members lie inside the archive and do not overlap. `most`: the
 * bytes that a directory may have, beyond which it is LIMIT. What *out points to is in the arena. */
tare_status tare_zip_read(tare_zip *out, const tare_reader *r, uint64_t most, tare_arena *arena,
                          tare_error *err);
/* The bytes of a deflated member, into `out`, which has room for them; what the archive has is read
 * into memory first. CORRUPT if they are not what was deflated; names the member. */
tare_status tare_zip_inflate(void *out, const tare_reader *r, const tare_zip_member *member,
                             tare_error *err);
/* CHECKSUM where a stored member's bytes are not those whose CRC-32 the directory states, if it is not 0. */
tare_status tare_zip_check_crc(const tare_reader *r, const tare_zip_member *member,
                               tare_error *err);
/* UNSUPPORTED where the bytes of a member are not in the archive as they are; names the member. */
tare_status tare_zip_check_stored(const tare_zip_member *member, tare_error *err);

#endif
