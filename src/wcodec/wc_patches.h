/* SPDX-License-Identifier: MIT
 *
 * Patches of DIRECT segments (docs/wcodec.md, 8): positions and tops that have no symbol, as a
 * string of bits. */
#ifndef TARE_WCODEC_PATCHES_H
#define TARE_WCODEC_PATCHES_H

#include "wcodec/wc_format.h"

enum { TARE_WC_MAX_RICE = 20 }; /* no distance is longer */

typedef struct tare_wc_patch {
    uint32_t position;
    uint16_t top;
} tare_wc_patch;

/* A string of them: n patches, distances with `rice` bits as they are, tops of `top_bits`. */
typedef struct tare_wc_patches {
    uint32_t n;
    uint8_t rice, top_bits;
} tare_wc_patches;

/* Bits that suit n patches among so many positions. */
uint8_t tare_wc_patches_rice(uint32_t n, uint32_t n_positions);
/* Bytes that the patches, in ascending order, will need. */
uint32_t tare_wc_patches_size(const tare_wc_patches *how, const tare_wc_patch *patches);
/* Writes them to so many bytes. */
void tare_wc_patches_write(uint8_t *bytes, const tare_wc_patches *how,
                           const tare_wc_patch *patches);

/* A bit string being read. */
typedef struct tare_wc_bits {
    const uint8_t *bytes;
    uint32_t n_bytes;
    uint64_t at; /* in bits; beyond the end: it was too short */
} tare_wc_bits;

/* The next one of a string; *position is that of the one before, or UINT32_MAX. False: the string
 * is too short, or the position is not below n_positions. */
bool tare_wc_patches_next(tare_wc_bits *bits, const tare_wc_patches *how, uint32_t n_positions,
                          uint32_t *position, uint16_t *top);
/* Whether what is left of the string is less than a byte, and 0. */
bool tare_wc_patches_end(const tare_wc_bits *bits);

#endif
