/* SPDX-License-Identifier: MIT
 *
 * Where a part of a tensor lies in its planes. The step of conversion, decoding and extraction. */
#ifndef TARE_ENCODING_PATCH_H
#define TARE_ENCODING_PATCH_H

#include <tare/encoding.h>

/* A part of a tensor that every plane holds as one run of bytes: whole rows, or a piece of one row
 * that begins at a whole step. A linear tensor is one row, whatever its shape. */
typedef struct tare_patch {
    uint64_t row, col; /* of the first element */
    uint64_t n_rows, n_cols;
    uint64_t row_length;
} tare_patch;

/* Whether a plane of the encoding has this scope. */
bool tare_encoding_has_scope(const tare_encoding *encoding, tare_plane_scope scope);
/* The number of elements after which all planes of an encoding are at a unit boundary. */
uint64_t tare_encoding_step(const tare_encoding *encoding);
/* Whether rows of this length follow each other as whole steps: there is no padding and no per-row
 * data. */
bool tare_encoding_is_linear(const tare_encoding *encoding, uint64_t cols);
/* Whether n elements fill whole bytes, where units continue across rows. */
bool tare_encoding_fills_bytes(const tare_encoding *encoding, uint64_t n_elements);
/* Bytes of plane `plane` before the patch, and of the patch. A plane of the whole tensor lies at
 * its beginning whatever the patch; a list has no rows and gives no bytes. */
void tare_patch_range(const tare_patch *patch, const tare_encoding *encoding, uint32_t plane,
                      uint64_t *offset, uint64_t *size);
/* Bytes of all planes of the patch. */
uint64_t tare_patch_bytes(const tare_patch *patch, const tare_encoding *encoding);

/* The patch's own rows, in the planes of the rows it is a part of. */
tare_rows tare_patch_rows(const tare_patch *patch, const tare_encoding *encoding,
                          const uint8_t *const *planes);

/* Rows taken apart, in their order. */
typedef struct tare_patch_walk {
    uint64_t n_rows, row_length;
    uint64_t rows_at_once, cols_at_once;
    uint64_t row, col; /* of the next patch */
} tare_patch_walk;

/* Patches of about n elements: whole rows, or where these are longer pieces of whole steps. */
tare_patch_walk tare_patch_walk_begin(uint64_t n_rows, uint64_t row_length, uint64_t n,
                                      uint64_t step);
/* The next patch; false: that was the last one. */
bool tare_patch_walk_next(tare_patch *out, tare_patch_walk *walk);

#endif
