/* SPDX-License-Identifier: MIT
 *
 * The parts of .distcp files: each is what torch.save has made of a chunk of a tensor, or of another
 * value. */
#include <stdlib.h>

#include "base/str.h"
#include "format/dcp/dcp.h"

static int by_place(const void *a, const void *b) {
    const tare_dcp_entry *x = a, *y = b;
    const int c = tare_str_compare(x->file, y->file);
    if (c) return c;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

bool tare_dcp_note_chunk(tare_dcp *d, size_t i, const tare_joined_chunk *chunk) {
    void *chunks = d->chunks;
    if (!tare_grow(d->m->allocator, &chunks, &d->chunks_capacity, i + 1, sizeof *d->chunks))
        return false;
    d->chunks = chunks;
    while (d->n_chunks_known < i)
        d->chunks[d->n_chunks_known++] = (tare_joined_chunk){.of = TARE_NOT_A_CHUNK};
    d->chunks[d->n_chunks_known++] = *chunk;
    return true;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Names the tensor that a chunk is. One that could not be read, of a class of its own, is reported
 * already, and missing where tensors are joined. */
static tare_status take_chunk(tare_dcp *d, tare_torch_file *f, const tare_dcp_entry *e,
                              size_t before, tare_error *err) {
    const tare_joined_tensor *of = &d->tensors[e->of];
    tare_joined_chunk chunk = {.of = e->of};
    if (f->lists.n_tensors == before) return TARE_OK;
    if (f->lists.n_tensors != before + 1)
        return tare_fail_at(err, TARE_ERR_CORRUPT, e->offset,
                            "a chunk that is not a single tensor");
    memcpy(chunk.at, e->at, sizeof chunk.at);
    const tare_strided_tensor *t = &f->lists.tensors[before];
    if (t->n_dims == of->n_dims) tare_dcp_add_box(&d->stored[e->of], d, e->at, t->dims, t->n_dims);
    f->lists.tensors[before].name =
        tare_joined_name(&d->m->arena, of->name, e->at, of->n_dims, d->listed[e->of].n == 1);
    if (!f->lists.tensors[before].name.ptr ||
        !tare_dcp_note_chunk(d, d->m->catalog.n_tensors + before, &chunk))
        return tare_fail(err, TARE_ERR_NOMEM, "chunks");
    return TARE_OK;
}

static tare_status read_entry(tare_dcp *d, tare_torch_file *f, const tare_dcp_entry *e,
                              const tare_reader *reader, tare_error *err) {
    const size_t before = f->lists.n_tensors;
    tare_error fault = TARE_ERROR_NONE;
    const tare_status status =
        tare_torch_add_part(f, reader, e->offset, e->length, e->name.ptr, &fault);
    if (e->of == TARE_NOT_A_CHUNK &&
        (status == TARE_ERR_CORRUPT || status == TARE_ERR_UNSUPPORTED)) {
        /* A value that is no tensor may be in any form; what cannot be read is left out. */
        f->lists.n_tensors = before;
        return tare_dcp_leave_out(d, f, e, TARE_LEVEL_WARNING, "dcp.unread-value",
                                  "a value that torch.save has not written", err);
    }
    if (status != TARE_OK) {
        if (err) *err = fault;
        if (err && err->item_kind == TARE_ITEM_NONE)
            tare_error_item(err, TARE_ITEM_TENSOR, -1, e->name);
        return status;
    }
    return e->of == TARE_NOT_A_CHUNK ? TARE_OK : take_chunk(d, f, e, before, err);
}

/* ---- files ----------------------------------------------------------------------------------- */

static tare_status read_file(tare_dcp *d, tare_torch_file *f, const tare_dcp_entry *entries,
                             size_t n, tare_reader *reader, const char *path, tare_error *err) {
    uint32_t file;
    for (size_t i = 0; i < n; i++) TARE_TRY(read_entry(d, f, &entries[i], reader, err));
    TARE_TRY(tare_model_add_file(d->m, reader, path, &file, err));
    return tare_torch_parts_flush(f, file, err);
}

/* The entries of one file. That it is gone is no reason not to open the others: each tensor that misses
 * it is reported, and so are values. */
static tare_status open_file(tare_dcp *d, tare_torch_file *f, const tare_dcp_entry *entries,
                             size_t n, tare_error *err) {
    static const char gone[] = "a file of the checkpoint is missing";
    tare_reader reader;
    tare_error fault = TARE_ERROR_NONE;
    tare_hf_entry *listed = tare_hf_find(d->folder, entries->file);
    const char *path = tare_join_path(&d->m->arena, d->folder->path, entries->file);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "path of a file");
    if (listed) listed->is_weights = true;
    tare_status status = tare_files_open(d->folder->files, &reader, path, d->map, &fault);
    if (status != TARE_OK && tare_error_is_absent(&fault)) {
        tare_dcp_report(d, TARE_LEVEL_ERROR, "dcp.no-file", TARE_ITEM_RESOURCE, entries->file,
                        entries->record, gone);
        return tare_model_lacks(d->m, entries->name, "dcp.no-file", gone, err);
    }
    if (status == TARE_OK) {
        status = read_file(d, f, entries, n, &reader, path, &fault);
        tare_reader_close(&reader);
    }
    if (status != TARE_OK && err) *err = fault;
    if (status != TARE_OK) tare_error_file(err, path);
    return status;
}

/* A chunk of another size, or elsewhere, than it is said to be: torch reads only what is listed. */
static tare_status compare_boxes(tare_dcp *d, tare_error *err) {
    static const char why[] = "the chunks that are stored are not of the sizes that are listed";
    for (size_t i = 0; i < d->n_tensors; i++) {
        const tare_joined_tensor *t = &d->tensors[i];
        if (d->stored[i].n < d->listed[i].n || d->stored[i].sum == d->listed[i].sum) continue;
        tare_dcp_report(d, TARE_LEVEL_ERROR, "dcp.other-chunks", TARE_ITEM_TENSOR, t->name,
                        t->record, why);
        TARE_TRY(tare_model_lacks(d->m, t->name, "dcp.other-chunks", why, err));
    }
    return TARE_OK;
}

tare_status tare_dcp_read_entries(tare_dcp *d, tare_torch_file *f, tare_error *err) {
    size_t n_files = 0;
    if (d->n_entries) qsort(d->entries, d->n_entries, sizeof *d->entries, by_place);
    for (size_t i = 0, end; i < d->n_entries; i = end) {
        for (end = i + 1; end < d->n_entries; end++)
            if (!tare_str_equal(d->entries[i].file, d->entries[end].file)) break;
        if (++n_files > d->m->limits.shards)
            return tare_fail(err, TARE_ERR_LIMIT, "number of files");
        TARE_TRY(open_file(d, f, &d->entries[i], end - i, err));
    }
    TARE_TRY(compare_boxes(d, err));
    TARE_TRY(tare_torch_rename(f, err));
    return tare_torch_parts_end(f, err);
}
