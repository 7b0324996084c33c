/* SPDX-License-Identifier: MIT
 *
 * What the host passes to the kernels: one block of memory, the image, with jobs, streams, rules
 * and tables, referred to by their offsets. C and C++; the same on host and device. */
#ifndef TARE_CUDA_WG_IMAGE_H
#define TARE_CUDA_WG_IMAGE_H

#include <tare/cuda.h>

enum {
    WG_LANES = 32,
    WG_PAGE = 1024,      /* bytes of a stream that are made before they go to their region; of
                            items of 6 bits as many values, in WG_SIXES_PAGE bytes */
    WG_SIXES_PAGE = 768, /* two groups of packed scales */
    WG_GROUPS = 5,       /* of bypass bits, at most */
    WG_CLASS_RUN = 256,  /* positions of one class */
    WG_HEADER = 32,      /* bytes of a segment before its body */
    WG_STATES = 256,     /* bytes of the states */
    WG_HOST = 15,        /* a mode: decoded by the host */
    WG_WARPS = 16,       /* of a block that shares a table */
    WG_WORD_BITS = 32,   /* of a lane's piece of a row, for the CRC */
    WG_FOUR_BITS = 24,   /* of joined values: four of them */
};

#define WG_NO_SCALES UINT32_MAX

/* Kernels: of everything; those of wg_forms.h; what follows where segments stand in their regions. */
typedef enum wg_kernel {
    WG_GENERAL = 0,
    WG_FAST_8_0, /* items of 8 bits, PLAIN, k = 0 */
    WG_FAST_8_1,
    WG_FAST_8_2,
    WG_FAST_EDGE,
    WG_FAST_16_6, /* of 16 bits, SIGN, k = 6 */
    WG_FAST_16_7,
    WG_FAST_16_8,
    WG_FAST_16_9,
    WG_FAST_16_10,
    WG_FAST_4,
    WG_FAST_5, /* of 5 and 6 bits, joined as in Q5_K and in Q6_K */
    WG_FAST_6,
    WG_CHECK,   /* the CRC of what fast kernels have decoded */
    WG_PREDICT, /* the base, and the CRC, of segments that are predicted */
    WG_KERNELS
} wg_kernel;

/* A table as it is looked up. What a slot s = x mod 65536 of bucket b stands for is half 2b +
 * carry, the carry being s + cut[b] >= 65536. The next state is f * (x >> 16) + (x >> shift) +
 * adj: f is the symbol's frequency less what x >> shift has of the upper half of x. */
typedef struct wg_table {
    uint32_t half[128][2]; /* f, adj */
    uint16_t cut[64];
    uint8_t symbol[128];
} wg_table;

typedef struct wg_rule {
    uint8_t form, k, trellis;
    uint16_t map[64];
} wg_rule;

/* How a stream lies in its region, and where its rules and tables begin. */
typedef struct wg_stream {
    uint32_t layer, stride, offset, width, high_offset;
    uint32_t rules, tables64, tables16; /* numbers of the first ones */
    uint32_t scales;                    /* number of the stream that has its scales */
    uint32_t values_per_scale;
    uint64_t places; /* of a join: place[i] in bits 4i .. 4i + 3 */
    uint8_t value_bits, region, high_bits, log2_values, scale_form;
    uint8_t is_big_endian, is_scales;
} wg_stream;

/* A segment. Each part is given by the offset of its first byte within the segment. */
typedef struct wg_job {
    uint64_t at;      /* in the layer's stored bytes; WG_HOST: in the host area */
    uint64_t first;   /* byte of the stream that it begins with */
    uint64_t scratch; /* where the classes of its runs go */
    uint64_t number;  /* in the order of layers, streams, segments */
    uint32_t stored_bytes, n_bytes, n_positions;
    uint32_t n_words[2]; /* after the states */
    uint32_t patches, patches_bytes, n_patches;
    uint32_t groups[WG_GROUPS];
    uint32_t remainder; /* of the decoded bytes, zeros after them up to a whole row, as wg_crc.h
                           has it; where WG_CHECK finds it 32 rows more of zeros */
    uint32_t stream;    /* number in the image */
    uint16_t fill;      /* stands for the bits of groups that are not read */
    uint8_t mode, predictor, has_crc, kernel;
    uint8_t rule, first_table, n_classes, class_table, rice, n_groups, group_bits[WG_GROUPS];
    uint8_t pattern[4];
} wg_job;

/* Jobs of a fast kernel that share a table: at most WG_WARPS. */
typedef struct wg_block {
    uint32_t first, n;
} wg_block;

/* Powers of x for rows of 32 pieces, one a lane: see wg_crc.h. */
typedef struct wg_row_factors {
    uint32_t lane_factor[WG_LANES];
    uint32_t next_row[4][256];
} wg_row_factors;

typedef struct wg_image {
    uint64_t jobs, streams, rules, tables, blocks; /* places of the first of each */
    wg_row_factors words, fours;                   /* pieces of 32 bits; of 24 */
} wg_image;

/* Bits that say what is wrong with a segment. Other faults take precedence over the CRC. */
enum {
    WG_BAD_STATES = 1,
    WG_BAD_PATCHES = 2,
    WG_BAD_CLASS = 4,
    WG_BAD_PADDING = 8,
    WG_BAD_CRC = 16
};

/* The device's error word is the least of number << 8 | bits of the segments that failed. */
#define WG_NO_FAULT UINT64_MAX
typedef struct wg_faults {
    uint64_t first, n;
} wg_faults;

/* What a launch gets. */
typedef struct wg_call {
    const uint8_t *image;
    const tare_cuda_buffers *buffers; /* of each layer */
    const uint8_t *host;
    uint8_t *scratch;
    wg_faults *faults;
    uint32_t kernel; /* wg_kernel */
    uint32_t first_job, n_jobs;
    uint32_t first_block, n_blocks; /* of fast kernels */
    uint32_t with_crc;
} wg_call;

#endif
