/* SPDX-License-Identifier: MIT
 *
 * What was read of a file becomes part of a model. */
#include "base/arith.h"
#include "base/str.h"
#include "format/torch/torch.h"

void tare_torch_parts_begin(tare_torch_file *f, tare_torch_set *set) {
    *f = (tare_torch_file){.set = set, .m = set->m, .report = set->report};
    tare_arena_init(&f->scratch, set->m->allocator);
}

/* Room for `more` items at the end of a list, in the arena. */
static void *extended(tare_model *m, const void *items, size_t n, size_t more, size_t size) {
    uint8_t *all = tare_arena_array(&m->arena, (uint64_t)n + more, size);
    if (all && n) memcpy(all, items, n * size);
    return all;
}

tare_status tare_torch_parts_flush(tare_torch_file *f, uint32_t file, tare_error *err) {
    const size_t n = f->n_tensors;
    f->n_tensors = 0;
    return tare_strided_add(&f->set->strided, f->tensors, n, file, err);
}

tare_status tare_torch_parts_end(tare_torch_file *f, tare_error *err) {
    tare_model *m = f->m;
    tare_catalog *c = &m->catalog;
    c->metadata = extended(m, c->metadata, c->n_metadata, f->n_metadata, sizeof *c->metadata);
    m->left_out = extended(m, m->left_out, m->n_left_out, f->n_left_out, sizeof *m->left_out);
    if (!c->metadata || !m->left_out) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    if (f->n_metadata)
        memcpy(c->metadata + c->n_metadata, f->metadata, f->n_metadata * sizeof *f->metadata);
    if (f->n_left_out)
        memcpy(m->left_out + m->n_left_out, f->left_out, f->n_left_out * sizeof *f->left_out);
    c->n_metadata += f->n_metadata;
    m->n_left_out += f->n_left_out;
    return TARE_OK;
}

tare_status tare_torch_note_order(const tare_torch_file *f, tare_error *err) {
    tare_torch_set *set = f->set;
    if (f->is_big_endian != set->is_big_endian && set->n_files)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "files of one model in two byte orders");
    set->is_big_endian = f->is_big_endian;
    set->n_files++;
    return TARE_OK;
}

void tare_torch_parts_free(tare_torch_file *f) {
    const tare_allocator *a = f->m->allocator;
    tare_free(a, f->tensors, f->tensors_capacity * sizeof *f->tensors);
    tare_free(a, f->metadata, f->metadata_capacity * sizeof *f->metadata);
    tare_free(a, f->left_out, f->left_out_capacity * sizeof *f->left_out);
    tare_arena_free(&f->scratch);
}
