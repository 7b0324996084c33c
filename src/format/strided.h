/* SPDX-License-Identifier: MIT
 *
 * Tensors of containers that state strides: those whose elements lie in the order of rows are read
 * where they lie; transposed and expanded ones, parts of others, those in the other byte order and
 * those whose bytes the file has in another form are views, in a file that is made from theirs when
 * it is read. */
#ifndef TARE_FORMAT_STRIDED_H
#define TARE_FORMAT_STRIDED_H

#include "model/catalog.h"

/* A tensor before it has a place in the catalog. */
typedef struct tare_strided_tensor {
    tare_str name;
    size_t wrapped; /* how much of it is keys that wrap everything, perhaps; for the driver */
    const tare_encoding *encoding;
    uint32_t bytes;  /* of an element */
    uint64_t record; /* offset of its record in the file */
    uint64_t offset; /* of its first element */
    uint64_t span;   /* bytes from there to the end of its last element */
    uint32_t n_dims;
    uint64_t dims[TARE_MAX_DIMS], strides[TARE_MAX_DIMS]; /* strides in elements */
    bool is_view;                                         /* not one run of bytes of its own */
    uint32_t swapped; /* bytes of a number whose order is the other one than the file's; 0: none */
    uint32_t code_bits;  /* whole numbers of fewer bits than a byte, of which the first is in the
                           lowest bits; elements are bytes. 0: none */
    bool is_signed;      /* they */
    uint32_t file;       /* that it is in, counted from the one that tare_strided_add names */
    const uint8_t *made; /* its bytes, which live as long as the model and where offset is 0; NULL:
                            they are in the file */
} tare_strided_tensor;

/* The tensors of one model. */
typedef struct tare_strided_views tare_strided_views;
typedef struct tare_strided_set {
    tare_model *m;
    tare_strided_views *views; /* NULL: none so far */
} tare_strided_set;

/* Strides of the shape, the last dimension's the least; that they overflow tare_strided_measure finds. */
void tare_strided_by_rows(tare_strided_tensor *t);
/* Fills span and is_view from the shape, `swapped`, `code_bits` and `made`. False: they do not fit 64 bits. */
bool tare_strided_measure(tare_strided_tensor *t);
/* Adds tensors of a file of the model, and of those after it, to the catalog; parts that overlap become views. */
tare_status tare_strided_add(tare_strided_set *set, tare_strided_tensor *tensors, size_t n,
                             uint32_t file, tare_error *err);
/* After the last file of the model, resources among them: adds the file of views. */
tare_status tare_strided_end(tare_strided_set *set, tare_error *err);

#endif
