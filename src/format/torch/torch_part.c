/* SPDX-License-Identifier: MIT
 *
 * Files within files, which torch.save has written one after the other. */
#include "base/str.h"
#include "format/torch/torch.h"

typedef struct window {
    const tare_reader *of;
    uint64_t from;
} window;

static tare_status fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const window *w = ctx;
    return tare_reader_read(w->of, w->from + offset, buf, n, err);
}

static const uint8_t *lend(void *ctx, uint64_t offset, uint64_t n) {
    const window *w = ctx;
    return tare_reader_borrow(w->of, w->from + offset, n);
}

/* Tensors from the n-th on are those of the file that begins at f->base. */
static void move_tensors(tare_torch_file *f, size_t n) {
    for (; n < f->lists.n_tensors; n++) {
        f->lists.tensors[n].record += f->base;
        if (!f->lists.tensors[n].made) f->lists.tensors[n].offset += f->base;
    }
}

tare_status tare_torch_add_part(tare_torch_file *f, const tare_reader *whole, uint64_t from,
                                uint64_t n, const char *within, tare_error *err) {
    window w = {whole, from};
    tare_reader reader;
    const size_t before = f->lists.n_tensors;
    if (from > whole->size || n > whole->size - from)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, whole->size, "the file ends too early");
    tare_reader_callback(&reader, NULL, &w, n, whole->name);
    reader.fetch = fetch;
    reader.lend = lend;
    f->reader = &reader;
    f->base = from;
    f->within = within;
    f->is_big_endian = false;
    tare_status status = tare_torch_read(f, err);
    if (status == TARE_OK) status = tare_torch_note_order(f, err);
    if (status != TARE_OK && status != TARE_ERR_IO && err && err->offset != TARE_NO_OFFSET)
        err->offset += from;
    move_tensors(f, before);
    f->reader = NULL;
    tare_arena_free(&f->scratch);
    tare_arena_init(&f->scratch, f->m->allocator);
    return status;
}
