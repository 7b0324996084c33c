/* SPDX-License-Identifier: MIT
 *
 * Headers that have most of their bytes in common: those of the files of a ladder hold one vocabulary. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_SHARE_H
#define TARE_FORMAT_WCODEC_WCODEC_SHARE_H

#include "base/alloc.h"
#include "base/reader.h"

/* A header that is stored whole, for others to share. */
typedef struct tare_wcodec_root {
    const uint8_t *bytes;
    uint64_t n;
    uint32_t layer;
} tare_wcodec_root;

typedef struct tare_wcodec_roots {
    tare_wcodec_root roots[8];
    unsigned n;
} tare_wcodec_roots;

/* A run of a header: bytes of a root, or its own. */
typedef struct tare_wcodec_run {
    uint64_t at, length; /* in the header */
    uint64_t offset;     /* in the root */
} tare_wcodec_run;

typedef struct tare_wcodec_shared {
    uint32_t layer;        /* of the root */
    tare_wcodec_run *runs; /* ascending; what lies between them is the header's own */
    size_t n;              /* 0: nothing is shared */
} tare_wcodec_shared;

/* Compares the first n bytes of a file with the roots; where they have little in common they become one,
 * as those of layer `layer`. */
tare_status tare_wcodec_share(tare_wcodec_shared *out, tare_wcodec_roots *roots,
                              const tare_reader *file, uint64_t n, uint32_t layer,
                              tare_arena *arena, tare_error *err);

#endif
