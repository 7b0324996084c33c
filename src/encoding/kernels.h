/* SPDX-License-Identifier: MIT
 *
 * The row functions of all encodings, and the kernels they share. One struct of function pointers,
 * filled from the scalar reference and then overridden upwards by CPU level (x86/init.c). Every
 * override is bit-identical to the scalar function it replaces. */
#ifndef TARE_ENCODING_KERNELS_H
#define TARE_ENCODING_KERNELS_H

#include <tare/encoding.h>

#include "encoding/deviation.h"
#include "encoding/fit.h"
#include "encoding/group_codes.h"
#include "encoding/low_rank.h"

/* Callers have checked sizes; exactly the given rows are read and written; nothing can fail. */
typedef void (*tare_decode_fn)(float *dst, const tare_rows *src);
typedef void (*tare_encode_fn)(const tare_rows_mut *dst, const float *src,
                               const tare_encode_params *params);

typedef struct tare_kernels {
    tare_decode_fn decode[TARE_ENCODING_COUNT]; /* NULL: cannot */
    tare_encode_fn encode[TARE_ENCODING_COUNT];
    tare_encode_fn encode_weighted[TARE_ENCODING_COUNT]; /* with params->importance; NULL: weights
                                                            make no difference to the format */
    tare_encode_fn encode_best[TARE_ENCODING_COUNT];
    tare_encode_fn encode_clipped[TARE_ENCODING_COUNT]; /* with params->has_clip */
    tare_encode_fn encode_mantle[TARE_ENCODING_COUNT];  /* with params->compat; clips, too */
    tare_encode_fn encode_older[TARE_ENCODING_COUNT];   /* the same, of ggml up to 0.21 */
    void (*count_nonfinite)(tare_nonfinite_counts *sum, const float *src, uint64_t n,
                            uint64_t position);
    void (*add_deviation)(tare_deviation *sum, const float *reference, const float *values,
                          size_t n);
    /* p->b: within one panel, which has n_cols more columns at least */
    void (*add_low_rank)(float *w, size_t stride, const tare_low_rank *p, size_t n_rows,
                         size_t n_cols);
    tare_fit (*fit_levels)(const float *x, const float *weights, size_t n,
                           const tare_levels *levels, float scale);
    void (*fit_line)(tare_line_fit *out, const float *x, const float *weights, size_t n, float top,
                     float scale, float offset);
    float (*fit_e4m3)(const float *x, const float *weights, size_t n, float scale);
    /* n > 0 */
    void (*group_reach)(tare_reach *out, const float *x, size_t n);
    void (*group_whole)(uint8_t *codes, const float *x, size_t n, const tare_rounding *r);
    void (*group_e4m3)(uint8_t *codes, const float *x, size_t n, const tare_rounding *r);
    void (*group_e2m1)(uint8_t *codes, const float *x, size_t n, const tare_e2m1_rounding *r);
    void (*swap_u16)(uint8_t *bytes, uint64_t n);
    void (*swap_u32)(uint8_t *bytes, uint64_t n);
    void (*swap_u64)(uint8_t *bytes, uint64_t n);
} tare_kernels;

/* Fills *k for a CPU mask, so that a test can request fewer features than the host has. */
void tare_kernels_init(tare_kernels *k, unsigned cpu);
void tare_kernels_init_x86(tare_kernels *k, unsigned cpu);
/* Bytes of a number that rows are decoded to: F32, F16, BF16; 0 for all others. */
static inline size_t tare_float_bytes(tare_encoding_id as) {
    return as == TARE_ENCODING_F32                               ? sizeof(float)
           : as == TARE_ENCODING_F16 || as == TARE_ENCODING_BF16 ? sizeof(uint16_t)
                                                                 : 0;
}
/* Floats as such numbers, in the machine's byte order (rows.c). */
void tare_round_floats(void *dst, tare_encoding_id as, const float *src, size_t n);

/* The library's own table, for the mask in force. */
const tare_kernels *tare_kernels_get(void);

/* Each family sets its rows of the table (plain.c, fp8.c, legacy.c, ...); a later one may replace
 * what an earlier one set. */
#define TARE_KERNEL_FAMILIES(FAMILY)                                                               \
    FAMILY(plain)                                                                                  \
    FAMILY(fp8)                                                                                    \
    FAMILY(legacy)                                                                                 \
    FAMILY(kquants)                                                                                \
    FAMILY(iquants)                                                                                \
    FAMILY(microscale)                                                                             \
    FAMILY(ternary)                                                                                \
    FAMILY(legacy_weighted)                                                                        \
    FAMILY(kquant_encode)                                                                          \
    FAMILY(iq4_encode)                                                                             \
    FAMILY(fp4_encode)                                                                             \
    FAMILY(lowbit_encode)                                                                          \
    FAMILY(iq_encode)                                                                              \
    FAMILY(iq1_encode)                                                                             \
    FAMILY(best_levels)                                                                            \
    FAMILY(best_iq)                                                                                \
    FAMILY(best_affine)                                                                            \
    FAMILY(mcf)                                                                                    \
    FAMILY(mcf_int_best)                                                                           \
    FAMILY(mcf_int)                                                                                \
    FAMILY(rowwise)                                                                                \
    FAMILY(rowwise_best)

#define TARE_DECLARE_FAMILY(name) void tare_kernels_init_##name(tare_kernels *k);
TARE_KERNEL_FAMILIES(TARE_DECLARE_FAMILY)
#undef TARE_DECLARE_FAMILY

#endif
