/* SPDX-License-Identifier: MIT
 *
 * Groups of numbers under one scale, as the packed schemes of servers have them: codes and scales lie
 * in tensors of their own, a group is of any length, and scales are floats of some type. The searches
 * are those of the better encoders (best.h). */
#ifndef TARE_ENCODING_GROUP_ENCODE_H
#define TARE_ENCODING_GROUP_ENCODE_H

#include <tare/encoding.h>

typedef enum tare_group_kind {
    TARE_GROUP_SIGNED = 0, /* (code - 2^(bits - 1)) * scale */
    TARE_GROUP_CENTRED,    /* (code - zero) * scale */
    TARE_GROUP_AFFINE,     /* code * scale + offset */
    TARE_GROUP_E2M1,       /* the number that the code is, times scale */
    TARE_GROUP_E4M3,
} tare_group_kind;

typedef struct tare_group_form {
    tare_group_kind kind;
    uint32_t bits;
    tare_encoding_id scale;   /* F32, F16, BF16; F8_E8M0, F8_E4M3 where codes are floats */
    tare_encoding_id numbers; /* the type of the numbers, in which `is_plain` computes */
    uint32_t carry;           /* F8_E8M0: added to the bits of the largest number, so that mantissas
                                 from some point on count as the next power of two */
    bool has_one_zero;        /* E2M1: what is rounded to zero has no sign */
    bool ties_to_zero;        /* E2M1: numbers halfway have the smaller code, not the even one */
    bool is_scaled;           /* E4M3: `factor` is the scale of all codes; none is looked for */
    bool multiplies; /* the factor of the whole is stored so, as ModelOpt has it; it is what
                                 scales are divided by, and `is_plain` computes in F32 */
    bool is_plain;   /* rounded to nearest under the scale that just reaches the largest
                                 number, as compressed-tensors does; else searched */
} tare_group_form;

typedef struct tare_group {
    uint32_t scale, offset; /* bits of their type */
    uint8_t zero;
} tare_group;

/* Numbers that a call needs room for, with n numbers in the group. */
static inline size_t tare_group_room(size_t n) {
    return 4 * (n + 8);
}

/* Encodes a group: a code a byte. `weights`: the importance of each number, NULL: they count alike.
 * `factor`: scales are stored multiplied by it, or divided (1 unless there is one for the whole tensor). False:
 * numbers that are not finite, or beyond what scales hold. */
bool tare_group_encode(uint8_t *codes, tare_group *out, const float *x, const float *weights,
                       size_t n, const tare_group_form *form, float factor, float *room);

/* The bits of the nearest float of a type, what bits stand for, and rounded to F32, F16 or BF16. */
uint32_t tare_group_bits(float v, tare_encoding_id type);
float tare_group_value(uint32_t bits, tare_encoding_id type);
float tare_group_rounded(float v, tare_encoding_id type);

#endif
