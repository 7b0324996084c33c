/* SPDX-License-Identifier: MIT
 *
 * The table behind tare_encoding_get. */
#ifndef TARE_ENCODING_TABLE_H
#define TARE_ENCODING_TABLE_H

#include <tare/encoding.h>

extern const tare_encoding tare_encoding_table[TARE_ENCODING_COUNT];

/* Whether codes say which entry of a table a value is; else they are integers. */
bool tare_encoding_has_codebook(const tare_encoding *encoding);

enum { TARE_MAX_JOINED_LOG2 = 10, TARE_MAX_JOINED = 2 };

/* Values of 5 or 6 bits that the units of plane 0 keep in two runs of bytes: their low four bits,
 * in order, as nibbles (the low one first); further bits, in the other run and in another order,
 * packed in the same way. There are 2^log2_values in a unit; bit i of a value's number is bit
 * place[i] of the number of its high bits. Such a value may be two codes. */
typedef struct tare_joined {
    uint16_t low, high; /* where the runs begin in a unit */
    uint8_t high_bits;  /* of a value: 1 or 2 */
    uint8_t log2_values;
    uint8_t place[TARE_MAX_JOINED_LOG2];
} tare_joined;

/* Those of an encoding; up to TARE_MAX_JOINED, the last one followed by high_bits 0 if fewer. */
const tare_joined *tare_encoding_joined(const tare_encoding *encoding);
/* Bytes of the two runs. */
static inline uint32_t tare_joined_low_bytes(const tare_joined *w) {
    return 1u << w->log2_values >> 1;
}
static inline uint32_t tare_joined_high_bytes(const tare_joined *w) {
    return (uint32_t)w->high_bits << w->log2_values >> 3;
}
/* Bytes of one number of a field, by its tare_field_type. */
uint32_t tare_field_width(uint8_t type);
/* The largest number of a format that gives it, without a mark, for all beyond; 0: of any other. */
float tare_saturates_at(const tare_encoding *encoding);

#endif
