/* SPDX-License-Identifier: MIT
 *
 * A file of tensors that are made of pieces of a model's (model/pieces.h), whatever these are stored in, read
 * on demand. */
#ifndef TARE_QUANTIZED_MADE_H
#define TARE_QUANTIZED_MADE_H

#include "model/catalog.h"
#include "model/pieces.h"

/* A tensor of the result that is computed: its place in the virtual file, and what it is made of:
 * `bytes`, where it is generated, else pieces of tensors of the source. */
typedef struct tare_made {
    uint64_t offset, size;
    const uint8_t *bytes; /* NULL: of pieces */
    tare_composition of;
} tare_made;

typedef struct tare_made_file {
    const tare_model *source;
    const tare_allocator *allocator;
    tare_made *made; /* in the order of their offsets */
    size_t n_made;
} tare_made_file;

/* Whether a tensor can only be read as the floats it decodes to: it has scales beside it, or
 * blocks. */
bool tare_made_is_decoded(const tare_model *source, size_t tensor);
/* A reader's fetch; ctx is the file. */
tare_status tare_made_fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err);
/* A reader's locate: bytes of a piece that is a tensor of the source as it lies. */
bool tare_made_locate(void *ctx, uint64_t offset, uint64_t *n, const tare_reader **file,
                      uint64_t *at);

#endif
