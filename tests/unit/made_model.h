/* SPDX-License-Identifier: MIT
 *
 * Models made in a test, without any container: tensors over bytes in memory. For cmocka tests,
 * which include cmocka.h before this. */
#ifndef TESTS_MADE_MODEL_H
#define TESTS_MADE_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/str.h"
#include "model/catalog.h"

/* One file of bytes, tensors back to back from `gap` on with `gap` bytes between them; the bytes
 * are zero until a test sets them. */
typedef struct made_model {
    tare_model *model;
    uint8_t *bytes;
    size_t size;
    uint64_t gap;
    uint64_t end; /* of the last tensor */
    tare_layout layout;
} made_model;

/* Makes floats what a file has, in their place. */
static inline void made_floats(float *v, size_t n) {
    for (size_t i = 0; i < n; i++) tare_store_le32(v + i, tare_f32_bits(v[i]));
}

static inline void made_begin(made_model *made, size_t size, size_t max_tensors, uint64_t gap) {
    tare_reader reader;
    uint32_t index;
    *made = (made_model){.size = size, .gap = gap};
    made->bytes = calloc(size ? size : 1, 1);
    assert_non_null(made->bytes);
    assert_int_equal(tare_model_new(&made->model, NULL, NULL), TARE_OK);
    tare_reader_memory(&reader, made->bytes, size, "made");
    assert_int_equal(tare_model_add_file(made->model, &reader, "made", &index, NULL), TARE_OK);
    made->model->catalog.tensors =
        TARE_NEW_ARRAY(&made->model->arena, tare_tensor, max_tensors ? max_tensors : 1);
    assert_non_null(made->model->catalog.tensors);
}

/* Returns where the tensor's bytes lie. */
static inline uint8_t *made_add(made_model *made, tare_str name, tare_encoding_id encoding,
                                const uint64_t *dims, uint32_t n_dims) {
    tare_catalog *c = &made->model->catalog;
    tare_tensor *t = &c->tensors[c->n_tensors++];
    uint64_t offset = made->end + made->gap;
    t->name = tare_arena_str(&made->model->arena, name);
    t->offset = TARE_NO_OFFSET;
    assert_int_equal(
        tare_tensor_set(made->model, t, tare_encoding_get(encoding), dims, n_dims, 0, offset, NULL),
        TARE_OK);
    made->end = offset + t->size_bytes;
    return made->bytes + offset;
}

/* `fillers` may be NULL; they and `made` must outlive the model. */
static inline tare_model *made_finish(made_model *made, bool is_big_endian,
                                      const tare_filler *fillers, size_t n_fillers) {
    made->layout = (tare_layout){
        .is_big_endian = is_big_endian, .alignment = 1, .fillers = fillers, .n_fillers = n_fillers};
    made->model->catalog.layout = &made->layout;
    assert_int_equal(tare_model_finish(made->model, NULL, NULL), TARE_OK);
    return made->model;
}

static inline void made_free(made_model *made) {
    tare_model_free(made->model);
    free(made->bytes);
}

#endif
