/* SPDX-License-Identifier: MIT
 *
 * What the decoders of block formats share: 32 codes at a time become signed bytes, in the order of
 * their elements, and bytes become floats under one scale or two. Written on the names of
 * lanes_avx2.h or lanes_avx512.h, which the including file chooses.
 *
 * Small factors of sub-blocks are scaled in the same way, those of a super-block at once, and kept
 * in memory until needed. Every float is the result of the operations of the scalar reference in
 * their order; an offset that is subtracted there is negated and added here, which is equivalent.
 */
#ifndef TARE_ENCODING_SIMD_DECODE_LANES_H
#define TARE_ENCODING_SIMD_DECODE_LANES_H

#include <string.h>

#include "base/bytes.h"
#include "encoding/scalar.h"
#include "encoding/simd/prefetch.h"

typedef void (*decode_block_fn)(float *dst, const uint8_t *block);

INLINE void decode_blocks(float *dst, const tare_rows *src, size_t block, size_t block_bytes,
                          decode_block_fn decode) {
    const uint8_t *p = src->planes[0];
    for (size_t n = tare_rows_count(src) / block; n > 0; n--, p += block_bytes, dst += block)
        decode(dst, p);
}

/* decode_NAME for the table of kernels, from block_NAME. */
#define DEFINE_DECODE(name, block, block_bytes)                                                    \
    static void decode_##name(float *dst, const tare_rows *src) {                                  \
        decode_blocks(dst, src, block, block_bytes, block_##name);                                 \
    }

/* ---- bytes of blocks ------------------------------------------------------------------------- */

INLINE vec load_half(const uint8_t *p) {
    return all_half(tare_load_le16(p));
}
/* Forces these values to be read from memory: compilers that keep them in vectors take these apart
 * element by element, which is slower. */
INLINE void leave_in_memory(const void *p) {
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* ---- from bytes to floats -------------------------------------------------------------------- */

/* Vector i of a result. */
INLINE void put(float *dst, int i, vec a) {
    if (i * LANES % 16 == 0) fetch_ahead(dst + i * LANES);
    store(dst + i * LANES, a);
}

/* The first 16 elements under one scale, the others under another. */
INLINE void store_scaled_halves(float *dst, bytes32 codes, vec d0, vec d1) {
    block32 x = floats_of(codes);
    for (int i = 0; i < VECTORS; i++) put(dst, i, mul(x.v[i], i < VECTORS / 2 ? d0 : d1));
}
INLINE void store_scaled(float *dst, bytes32 codes, vec d) {
    store_scaled_halves(dst, codes, d, d);
}

/* The same, and an offset added. */
INLINE void store_moved_halves(float *dst, bytes32 codes, vec d0, vec d1, vec m0, vec m1) {
    block32 x = floats_of(codes);
    for (int i = 0; i < VECTORS; i++) {
        bool is_first = i < VECTORS / 2;
        put(dst, i, add(mul(x.v[i], is_first ? d0 : d1), is_first ? m0 : m1));
    }
}
INLINE void store_moved(float *dst, bytes32 codes, vec d, vec m) {
    store_moved_halves(dst, codes, d, d, m, m);
}

#endif
