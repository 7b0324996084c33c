/* SPDX-License-Identifier: MIT
 *
 * Tensors as codes under scales, undecoded: packed weights, and blocks of ggml that are codes times
 * scales. What other schemes hold the same numbers is seen from that. */
#ifndef TARE_QUANTIZED_GROUPS_H
#define TARE_QUANTIZED_GROUPS_H

#include "model/catalog.h"

typedef enum tare_codes_kind {
    TARE_CODES_NONE = 0, /* the tensor is no such codes */
    TARE_CODES_CENTRED,  /* (code - zero) * scale, with whole codes and zeros */
    TARE_CODES_RAISED,   /* code * scale + offset */
    TARE_CODES_E2M1,     /* the number that a code is, times scale */
    TARE_CODES_E4M3,
} tare_codes_kind;

typedef struct tare_codes_form {
    tare_codes_kind kind;
    uint32_t bits;          /* codes are below 2^bits */
    uint64_t group;         /* columns that share a scale */
    uint64_t n_groups;      /* of a row */
    uint64_t block_rows;    /* rows that share scales */
    tare_encoding_id scale; /* F8_E8M0, F8_E4M3 where scales are such; else F32 */
    bool has_factor;        /* of the whole, which the scales that are read lack */
} tare_codes_form;

/* Rows of it. */
typedef struct tare_codes {
    uint8_t *codes; /* rows * cols, a code a byte */
    float *scale;   /* rows * n_groups */
    float *zero;    /* the same: zeros, or offsets */
    bool
        is_turned; /* set where columns are not in the order of their groups: nothing else is right */
} tare_codes;

void tare_codes_form_of(tare_codes_form *out, const tare_model *m, size_t tensor);
/* Rows [first, first + n); out->codes NULL: only scales and zeros. The arrays are the caller's. */
tare_status tare_codes_read(tare_codes *out, const tare_codes_form *form, const tare_model *m,
                            size_t tensor, uint64_t first, uint64_t n, tare_error *err);

#endif
