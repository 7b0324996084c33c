/* SPDX-License-Identifier: MIT
 *
 * The entries that each kernel file puts into the table. */
#ifndef TARE_ENCODING_X86_X86_H
#define TARE_ENCODING_X86_X86_H

#include "encoding/block_searches.h"
#include "encoding/kernels.h"

/* The files of a level, NAME_avx2.c or NAME_avx512.c. */
#define TARE_AVX2_FILES(FILE)                                                                      \
    FILE(decoders)                                                                                 \
    FILE(deviation)                                                                                \
    FILE(encoders)                                                                                 \
    FILE(fits)                                                                                     \
    FILE(groups)                                                                                   \
    FILE(halves)                                                                                   \
    FILE(points)                                                                                   \
    FILE(searches)                                                                                 \
    FILE(words)

#define TARE_AVX512_FILES(FILE)                                                                    \
    FILE(decoders)                                                                                 \
    FILE(encoders)                                                                                 \
    FILE(halves)                                                                                   \
    FILE(points)                                                                                   \
    FILE(searches)

#define TARE_DECLARE_AVX2(name)   void tare_kernels_use_##name##_avx2(tare_kernels *k);
#define TARE_DECLARE_AVX512(name) void tare_kernels_use_##name##_avx512(tare_kernels *k);
TARE_AVX2_FILES(TARE_DECLARE_AVX2)
TARE_AVX512_FILES(TARE_DECLARE_AVX512)

/* The searches used by other kernels of the level. */
extern const tare_searches tare_searches_avx2;
extern const tare_searches tare_searches_avx512;

#endif
