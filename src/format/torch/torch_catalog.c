/* SPDX-License-Identifier: MIT
 *
 * What was read of a file becomes part of a model. */
#include "base/arith.h"
#include "base/str.h"
#include "format/torch/torch.h"

void tare_torch_parts_begin(tare_torch_file *f, tare_torch_set *set) {
    *f = (tare_torch_file){
        .set = set,
        .m = set->m,
        .report = set->report,
        .first_stated = set->m->n_stated,
        .lists = {.m = set->m, .report = set->report, .code = "torch.unread-tensor"}};
    tare_arena_init(&f->scratch, set->m->allocator);
}

tare_status tare_torch_parts_flush(tare_torch_file *f, uint32_t file, tare_error *err) {
    const size_t n = f->lists.n_tensors;
    f->lists.n_tensors = 0;
    for (; f->first_stated < f->m->n_stated; f->first_stated++)
        f->m->stated_crcs[f->first_stated].file = file;
    return tare_strided_add(&f->set->strided, f->lists.tensors, n, file, err);
}

tare_status tare_torch_parts_end(tare_torch_file *f, tare_error *err) {
    return tare_gathered_end(&f->lists, err);
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
    tare_gathered_free(&f->lists);
    tare_arena_free(&f->scratch);
}
