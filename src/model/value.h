/* SPDX-License-Identifier: MIT
 *
 * Values in their stored form, for code that reads or writes them byte by byte. */
#ifndef TARE_MODEL_VALUE_H
#define TARE_MODEL_VALUE_H

#include "base/buffer.h"
#include "model/catalog.h"

/* A number of fixed size from its stored bytes. */
void tare_value_load(tare_value *out, tare_value_type type, const uint8_t *p, bool is_big_endian);
/* Between the bits of an f32 and the double that represents it; every NaN keeps its bits. */
double tare_value_f32_widen(uint32_t bits);
uint32_t tare_value_f32_narrow(double value);
/* Whether tare_value_pack would write an array's elements exactly as they are stored. */
bool tare_array_is_packed(const tare_array *a, bool is_big_endian);
/* A key of the model, its value the text of a buffer, which is freed; `what` names it where memory
 * is short. */
tare_status tare_metadata_take_text(tare_metadata *out, tare_str key, tare_buffer *text,
                                    const char *what, tare_arena *arena, tare_error *err);

#endif
