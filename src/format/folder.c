/* SPDX-License-Identifier: MIT
 *
 * A directory whose files are sources of the caller: drivers look for shards, an index and side files
 * in it as they do in the file system. */
#include <errno.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/os_file.h"
#include "base/str.h"
#include "format/format.h"

static int by_name(const void *a, const void *b) {
    const tare_source *const *x = a, *const *y = b;
    return tare_str_compare(tare_str_of((*x)->name), tare_str_of((*y)->name));
}

static tare_status open_file(const tare_files *files, tare_reader *out, const char *path,
                             tare_error *err) {
    const tare_folder *f = (const tare_folder *)(const void *)files;
    const char *inner = tare_path_within(f->root, path);
    const tare_source key = {.name = inner ? inner : ""}, *at = &key;
    tare_source *const *found = bsearch(&at, f->sorted, f->n, sizeof at, by_name);
    *out = (tare_reader){.name = path, .fd = -1};
    tare_status status = found ? tare_source_open(out, *found, TARE_MAP_NONE, f->blocks, err)
                               : tare_fail_errno(err, ENOENT, "cannot be opened");
    if (status == TARE_OK)
        out->name = path;
    else
        tare_error_file(err, path);
    return status;
}

static tare_str file_at(const void *ctx, size_t i, tare_files_entry *entry) {
    const tare_folder *f = ctx;
    *entry = (tare_files_entry){.size = f->sorted[i]->n_bytes, .kind = TARE_PATH_FILE};
    return tare_str_of(f->sorted[i]->name);
}

static tare_status list_files(const tare_files *files, const char *path, tare_files_visit visit,
                              void *ctx, tare_error *err) {
    tare_folder *f = (tare_folder *)(uintptr_t)files;
    const tare_file_list list = {f->n, file_at, f};
    return tare_file_list_at(&list, f->root, path, &f->arena, visit, ctx, err);
}

static tare_status take_files(tare_folder *f, tare_error *err) {
    tare_source *own = TARE_NEW_ARRAY(&f->arena, tare_source, f->set->n_shards);
    f->sorted = TARE_NEW_ARRAY(&f->arena, tare_source *, f->set->n_shards);
    if (!own || !f->sorted) return tare_fail(err, TARE_ERR_NOMEM, "list of files");
    for (; f->n < f->set->n_shards; f->n++) {
        tare_source *s = &own[f->n];
        TARE_TRY(tare_source_read(s, tare_source_shard(f->set, f->n), err));
        if (!s->name || !tare_is_inner_path(tare_str_of(s->name)))
            return tare_fail(err, TARE_ERR_ARG, "source: a file of a folder needs a name in it");
        if (s->kind == TARE_SOURCE_PATH || s->kind == TARE_SOURCE_URL)
            return tare_fail(err, TARE_ERR_ARG,
                             "source: a file of a folder is memory, a descriptor or a callback");
        tare_file_facts facts;
        if (s->kind == TARE_SOURCE_FD && tare_fd_stat(&facts, s->fd) == 0) s->n_bytes = facts.size;
        f->sorted[f->n] = s;
    }
    qsort(f->sorted, f->n, sizeof *f->sorted, by_name);
    for (size_t i = 1; i < f->n; i++)
        if (by_name(&f->sorted[i - 1], &f->sorted[i]) == 0)
            return tare_fail(err, TARE_ERR_ARG, "source: two files of a folder have one name");
    return TARE_OK;
}

tare_status tare_folder_begin(tare_folder *f, const tare_source *source, tare_blocks **blocks,
                              const tare_allocator *allocator, tare_error *err) {
    const tare_limits limits = tare_limits_default();
    *f = (tare_folder){.files = {open_file, list_files}, .set = source, .blocks = blocks};
    tare_arena_init(&f->arena, allocator);
    if (source->n_shards > limits.shards)
        return tare_fail(err, TARE_ERR_LIMIT, "number of files of a folder");
    f->root = tare_arena_str(&f->arena, tare_str_of(source->name ? source->name : "folder")).ptr;
    if (!f->root) return tare_fail(err, TARE_ERR_NOMEM, "list of files");
    return take_files(f, err);
}

void tare_folder_end(tare_folder *f) {
    tare_arena_free(&f->arena);
}
