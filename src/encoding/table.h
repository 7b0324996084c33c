/* SPDX-License-Identifier: MIT
 *
 * The table behind tare_encoding_get. */
#ifndef TARE_ENCODING_TABLE_H
#define TARE_ENCODING_TABLE_H

#include <tare/encoding.h>

extern const tare_encoding tare_encoding_table[TARE_ENCODING_COUNT];

/* Whether codes say which entry of a table a value is; else they are integers. */
bool tare_encoding_has_codebook(const tare_encoding *encoding);
/* Bytes of one number of a field, by its tare_field_type. */
uint32_t tare_field_width(uint8_t type);

#endif
