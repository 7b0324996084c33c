/* SPDX-License-Identifier: MIT
 *
 * The functions of the codec that have fast paths: one struct of pointers, filled from the scalar
 * reference and then overridden upwards by CPU level. Every override gives the same bytes. */
#ifndef TARE_WCODEC_KERNELS_H
#define TARE_WCODEC_KERNELS_H

#include "wcodec/wc_bypass.h"
#include "wcodec/wc_join.h"
#include "wcodec/wc_lanes.h"
#include "wcodec/wc_search.h"

/* Memory that will be written: by the kernel itself a little later, or when values that it decodes are
 * combined with others. Kernels load it into the cache meanwhile, as writing would wait for it. */
typedef struct tare_wc_destination {
    const uint8_t *bytes; /* of the first value; NULL: unknown */
    uint32_t block_bytes; /* about how many 256 values take */
} tare_wc_destination;

/* The values of one DIRECT segment, from the first symbol of a value on. Everything but the words
 * has been checked: a kernel never uses words past the end of a stream (it may read up to
 * TARE_WC_READ_AHEAD bytes there), and says in lanes.has_run_out that it would have had to. After
 * the job the lanes are as the scalar reference leaves them, unless they have run out. */
typedef struct tare_wc_job {
    tare_wc_lanes lanes;
    const tare_wc_rule *rule;
    const tare_wc_table *tables; /* of class 0, 1, ... */
    unsigned n_tables;           /* 1 to TARE_WC_MAX_CLASSES */
    const uint8_t *classes;      /* one for each 256 positions; NULL: all 0 */
    const uint8_t *groups[TARE_WC_BYPASS_GROUPS];
    uint8_t widths[TARE_WC_BYPASS_GROUPS];
    uint8_t n_groups; /* those to be read, from the first on */
    uint16_t fill;    /* stands for the bits of groups that are not read */
    uint8_t value_bits;
    uint32_t n_positions;           /* a multiple of 64 */
    uint32_t n_bytes;               /* exactly these are written */
    uint8_t *dst;                   /* 16-bit values in little-endian order */
    uint8_t trellis[TARE_WC_LANES]; /* states of the lanes, if the rule has a trellis */
    /* Told now and then, after TARE_WC_READY positions at most, that those before `end`, a multiple
     * of 256, are done; not of the last ones. A callee that takes the first bytes says how many it
     * took: dst then begins with the next byte. NULL: no notification. */
    void (*ready)(struct tare_wc_job *job, uint32_t end);
    void *ready_ctx;
    uint32_t gone;
    tare_wc_destination destination;
} tare_wc_job;

/* Decoded values of four jobs stay in a core's own cache until they are taken. */
enum { TARE_WC_READY = 1 << 15 };

/* Positions in as many bytes of a bypass group as are written together, for every group. */
enum { TARE_WC_SPLIT = 512 };

/* The reverse begins with values: their symbols, and the bits that bypass the entropy coder. */
typedef struct tare_wc_split_job {
    const tare_wc_rule *rule;
    const uint8_t *symbol_of; /* of a top; items of 8 and 16 bits */
    const tare_wc_table *tables;
    const uint8_t *classes;
    uint8_t value_bits;
    uint32_t n_positions, n_bytes;
    uint32_t first, end;   /* positions to be done: from a multiple of TARE_WC_SPLIT on, up to the
                              last one or to another such multiple */
    const uint8_t *values; /* 16-bit values in little-endian order */
    uint8_t *symbols;      /* one for each of these positions, with a frequency in its table */
    uint8_t *groups;       /* all groups, one after the other */
    uint64_t *misfits;     /* for 64 positions each, whose values have no such symbol */
} tare_wc_split_job;

/* Then the symbols of positions, in memory, are turned into words that grow downwards. */
typedef struct tare_wc_put_job {
    tare_wc_put put;
    const uint8_t *symbols;
    const tare_wc_inverse *inverses; /* of class 0, 1, ... */
    const uint8_t *classes;
    uint32_t n_positions;
    const uint8_t *ahead; /* values that are read next; as many bytes for each 64 positions are */
    uint32_t ahead_step;  /* prefetched; 0: none */
} tare_wc_put_job;

typedef struct tare_wc_kernels {
    /* Jobs that share nothing; at most 4, which run side by side. */
    void (*decode)(tare_wc_job *jobs, unsigned n_jobs);
    void (*split)(const tare_wc_split_job *job);
    void (*encode)(tare_wc_put_job *jobs, unsigned n_jobs);
    /* counts[byte] += how often it occurs. */
    void (*count_bytes)(uint64_t counts[256], const uint8_t *bytes, size_t n);
    uint32_t (*crc32)(uint32_t crc, const uint8_t *bytes, size_t n); /* as tare_crc32 */
    /* Units of a joined stream, from a region and back to it: as tare_wc_join_c. */
    void (*join)(uint8_t *plane, const uint8_t *low, const uint8_t *high, size_t n_units,
                 size_t stride, const tare_coded_join *join);
    void (*prepare)(tare_wc_separator *out, const tare_coded_join *join);
    void (*separate)(uint8_t *low, uint8_t *high, const uint8_t *plane, size_t n_units,
                     size_t stride, const tare_wc_separator *separator);
    /* `width` bytes of n units, which lie src_stride apart, to units dst_stride apart. */
    void (*copy_units)(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride,
                       size_t n, size_t width);
    void (*pack_scales)(uint8_t *bytes, uint32_t n); /* as tare_wc_scales_pack_c */
    /* The values of a trellis that represent numbers best. */
    void (*search)(const tare_wc_search_job *job);
} tare_wc_kernels;

/* Fills *k for a CPU mask, so that a test can request fewer features than the host has. */
void tare_wc_kernels_init(tare_wc_kernels *k, unsigned cpu);
/* Overrides those of x86; from src/wcodec/x86. */
void tare_wc_kernels_init_x86(tare_wc_kernels *k, unsigned cpu);
/* The library's own table, for the mask in force. */
const tare_wc_kernels *tare_wc_kernels_get(void);

/* The scalar reference. */
void tare_wc_decode_c(tare_wc_job *jobs, unsigned n_jobs);
void tare_wc_split_c(const tare_wc_split_job *job);
void tare_wc_split_step_c(const tare_wc_split_job *job, uint32_t p); /* 64 positions from p on */
void tare_wc_encode_c(tare_wc_put_job *jobs, unsigned n_jobs);
void tare_wc_search_c(const tare_wc_search_job *job);
uint32_t tare_wc_crc32_c(uint32_t crc, const uint8_t *bytes, size_t n);
void tare_wc_copy_units_c(uint8_t *dst, size_t dst_stride, const uint8_t *src, size_t src_stride,
                          size_t n, size_t width);
void tare_wc_count_bytes_c(uint64_t counts[256], const uint8_t *bytes, size_t n);
/* One step: 64 symbols of the lanes, one table. */
void tare_wc_step_c(uint8_t symbols[TARE_WC_LANES], tare_wc_lanes *lanes, const tare_wc_table *t);
/* Values of a step from its symbols, written after each other; `p` is its first position. */
void tare_wc_emit_c(tare_wc_job *job, uint32_t p, const uint8_t symbols[TARE_WC_LANES]);

#endif
