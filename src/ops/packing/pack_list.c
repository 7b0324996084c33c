/* SPDX-License-Identifier: MIT */
#include "ops/packing/pack_list.h"

tare_status tare_pack_list_add(tare_pack_files *f, const tare_packed_origin *origin,
                               tare_error *err) {
    if (!tare_grow(f->arena.allocator, (void **)&f->files, &f->capacity, f->n + 1,
                   sizeof *f->files))
        return tare_fail(err, TARE_ERR_NOMEM, "files");
    f->files[f->n++] = *origin;
    return TARE_OK;
}

tare_status tare_pack_list_keep(tare_pack_files *f, tare_reader *reader, tare_error *err) {
    if (!tare_grow(f->arena.allocator, (void **)&f->opened, &f->opened_capacity, f->n_opened + 1,
                   sizeof *f->opened)) {
        tare_reader_close(reader);
        return tare_fail(err, TARE_ERR_NOMEM, "files");
    }
    f->opened[f->n_opened++] = reader;
    return TARE_OK;
}

tare_status tare_pack_list_read(const tare_reader **out, tare_pack_files *f, const char *path,
                                tare_error *err) {
    tare_reader *r = TARE_NEW(&f->arena, tare_reader);
    if (!r) return tare_fail(err, TARE_ERR_NOMEM, "files");
    tare_status status = tare_reader_open(r, path, false, err);
    if (status != TARE_OK) {
        tare_error_file(err, path);
        return status;
    }
    TARE_TRY(tare_pack_list_keep(f, r, err));
    *out = r;
    if (f->n_opened <= tare_files_kept_open()) return TARE_OK;
    if (!f->idle) f->idle = tare_file_cache_new(f->arena.allocator);
    if (!f->idle) return tare_fail(err, TARE_ERR_NOMEM, "files");
    return tare_file_cache_put(f->idle, r, err);
}

void tare_pack_list_free(tare_pack_files *f) {
    const tare_allocator *a = f->arena.allocator;
    for (size_t i = 0; i < f->n_opened; i++) tare_reader_close(f->opened[i]);
    tare_file_cache_free(f->idle);
    tare_free(a, f->opened, f->opened_capacity * sizeof *f->opened);
    tare_free(a, f->files, f->capacity * sizeof *f->files);
    tare_arena_free(&f->arena);
}
