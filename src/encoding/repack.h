/* SPDX-License-Identifier: MIT
 *
 * Encodings that hold the same codes and scales in another order: tensors are converted from one to
 * the other without being decoded. */
#ifndef TARE_ENCODING_REPACK_H
#define TARE_ENCODING_REPACK_H

#include <tare/encoding.h>

/* The encoding that `from` can be repacked into; NULL: there is none. Rows are whole blocks of
 * both. */
const tare_encoding *tare_repack_of(const tare_encoding *from);
/* Whether all codes of some rows exist in the other encoding. */
bool tare_repack_allows(const tare_encoding *from, const tare_rows *rows);
/* Only if that is allowed. */
void tare_repack_rows(const tare_rows_mut *dst, const tare_encoding *from, const tare_rows *src);

#endif
