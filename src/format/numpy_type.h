/* SPDX-License-Identifier: MIT
 *
 * Types of NumPy's arrays by the text that says which, in .npy files and in pickles. */
#ifndef TARE_FORMAT_NUMPY_TYPE_H
#define TARE_FORMAT_NUMPY_TYPE_H

#include "model/catalog.h"

typedef struct tare_numpy_type {
    tare_encoding_id encoding;
    uint32_t bytes;  /* of an element */
    uint32_t number; /* bytes whose order is one: of a complex number, half of it */
    bool is_big_endian;
    bool is_guessed; /* two bytes without a type, which is what ml_dtypes has bfloat16 written as */
} tare_numpy_type;

/* "<f4", "|b1", "bfloat16". NULL, or a static text that says what it is that tare cannot read. */
const char *tare_numpy_type_read(tare_numpy_type *out, tare_str descr);
bool tare_numpy_has_encoding(tare_encoding_id id);

#endif
