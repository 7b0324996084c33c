/* SPDX-License-Identifier: MIT
 *
 * The parts of one packed weight, by what they are for, and what is wrong with them. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "quantized/scheme.h"

static const tare_tensor *tensor(const tare_weight_search *s, int64_t i) {
    return &s->m->catalog.tensors[i];
}

int64_t tare_weight_find(const tare_weight_search *s, tare_str stem, const char *suffix) {
    char name[1024];
    const size_t n = strlen(suffix);
    if (stem.len + n > sizeof name) return -1; /* published names are far shorter */
    memcpy(name, stem.ptr, stem.len);
    memcpy(name + stem.len, suffix, n);
    return tare_model_find_tensor(s->m, (tare_str){name, stem.len + n});
}

const tare_tensor *tare_weight_part(const tare_weight *w, const tare_weight_search *s,
                                    tare_part_kind kind) {
    return w->parts[kind] < 0 ? NULL : tensor(s, w->parts[kind]);
}

bool tare_weight_part_is(const tare_weight *w, const tare_weight_search *s, tare_part_kind kind,
                         tare_encoding_id id) {
    const tare_tensor *t = tare_weight_part(w, s, kind);
    return t && t->encoding->id == id;
}

tare_status tare_weight_misfit(const tare_weight *w, const tare_weight_search *s,
                               tare_part_kind kind, tare_error *err) {
    const int64_t i = w->parts[kind] < 0 ? w->parts[TARE_PART_CODES] : w->parts[kind];
    return tare_fail_tensor(err, TARE_ERR_CORRUPT, tensor(s, i), (size_t)i,
                            "its shape does not fit the packed weight it is a part of");
}

tare_status tare_weight_refuse(const tare_weight *w, const tare_weight_search *s, const char *why,
                               tare_error *err) {
    const int64_t i = w->parts[TARE_PART_CODES];
    return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, tensor(s, i), (size_t)i, why);
}

tare_status tare_weight_rename(tare_weight *w, const tare_weight_search *s, tare_str stem,
                               const char *suffix, tare_error *err) {
    char name[1200];
    const int n =
        snprintf(name, sizeof name, "%.*s%s", (int)tare_min_u64(stem.len, 1024), stem.ptr, suffix);
    w->name = tare_arena_str(&s->m->arena, (tare_str){name, (size_t)n});
    return w->name.ptr ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "packed weights");
}

tare_status tare_weight_add(tare_weight_search *s, const tare_weight *w, tare_error *err) {
    if (!tare_grow(s->m->allocator, (void **)&s->weights, &s->capacity, s->n_weights + 1,
                   sizeof *s->weights))
        return tare_fail(err, TARE_ERR_NOMEM, "packed weights");
    s->weights[s->n_weights++] = *w;
    return TARE_OK;
}

tare_status tare_weight_add_second(tare_weight_search *s, tare_weight *w, tare_error *err) {
    w->cols = w->dims[w->n_dims - 1];
    w->n_rows = 1;
    for (uint32_t d = 0; d + 1 < w->n_dims; d++) w->n_rows *= w->dims[d];
    return tare_weight_add(s, w, err);
}

tare_status tare_weight_bytes(void *out, const tare_weight *w, const tare_model *stored,
                              tare_part_kind part, uint64_t from, uint64_t n, tare_error *err) {
    return tare_tensor_read(out, stored, (size_t)w->parts[part], 0, from, (size_t)n, err);
}
