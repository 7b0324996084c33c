/* SPDX-License-Identifier: MIT
 *
 * Where a part of a tensor lies in its planes. The step of conversion, decoding and extraction. */
#ifndef TARE_ENCODING_PATCH_H
#define TARE_ENCODING_PATCH_H

#include <tare/encoding.h>

/* A part of a tensor that every plane holds as one run of bytes: whole rows, or a piece of one row
 * that begins at a whole step. A linear tensor is one row, whatever its shape. */
typedef struct tare_slab {
    uint64_t row, col; /* of the first element */
    uint64_t n_rows, n_cols;
    uint64_t row_length;
} tare_slab;

/* Whether a plane of the encoding has this scope. */
bool tare_encoding_has_scope(const tare_encoding *encoding, tare_plane_scope scope);
/* The number of elements after which all planes of an encoding are at a unit boundary. */
uint64_t tare_encoding_step(const tare_encoding *encoding);
/* Whether rows of this length follow each other as whole steps: there is no padding and no per-row
 * data. */
bool tare_encoding_is_linear(const tare_encoding *encoding, uint64_t cols);
/* Whether n elements fill whole bytes, where units continue across rows. */
bool tare_encoding_fills_bytes(const tare_encoding *encoding, uint64_t n_elements);
/* Bytes of plane `plane` before the slab, and of the slab. A plane of the whole tensor lies at
 * its beginning whatever the slab; a list has no rows and gives no bytes. */
void tare_slab_range(const tare_slab *slab, const tare_encoding *encoding, uint32_t plane,
                     uint64_t *offset, uint64_t *size);
/* Bytes of all planes of the slab. */
uint64_t tare_slab_bytes(const tare_slab *slab, const tare_encoding *encoding);

/* The slab's own rows, in the planes of the rows it is a part of. */
tare_rows tare_slab_rows(const tare_slab *slab, const tare_encoding *encoding,
                         const uint8_t *const *planes);

/* Rows taken apart, in their order. */
typedef struct tare_slab_walk {
    uint64_t n_rows, row_length;
    uint64_t rows_at_once, cols_at_once;
    uint64_t row, col; /* of the next slab */
} tare_slab_walk;

/* Slabs of about n elements: whole rows, or where these are longer pieces of whole steps. */
tare_slab_walk tare_slab_walk_begin(uint64_t n_rows, uint64_t row_length, uint64_t n,
                                    uint64_t step);
/* The next slab; false: that was the last one. */
bool tare_slab_walk_next(tare_slab *out, tare_slab_walk *walk);

#endif
