/* SPDX-License-Identifier: MIT
 *
 * Members of a zip archive as files. Each that is opened has the archive open for itself, so that it
 * lives as long as the model that it is a file of. */
#include "format/zip_folder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/str.h"

#define DIRECTORY_MOST (UINT64_C(1) << 28)

bool tare_zip_is_folder(tare_str head) {
    return tare_zip_probe(head.ptr, head.len) || tare_str_starts(head, TARE_STR("MZqFpD='")) ||
           tare_str_starts(head, TARE_STR("jartsr='"));
}

/* ---- a part of a file ------------------------------------------------------------------------ */

typedef struct part {
    tare_reader whole;
    uint64_t offset;
    const tare_allocator *allocator;
    size_t size;
    char path[]; /* the archive's, for messages */
} part;

static tare_status fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const part *p = ctx;
    return tare_reader_read(&p->whole, p->offset + offset, buf, n, err);
}

static const uint8_t *lend(void *ctx, uint64_t offset, uint64_t n) {
    const part *p = ctx;
    return tare_reader_borrow(&p->whole, p->offset + offset, n);
}

static void prefetch(void *ctx, uint64_t offset, uint64_t n) {
    const part *p = ctx;
    tare_reader_will_need(&p->whole, p->offset + offset, n);
}

static void close_part(void *ctx) {
    part *p = ctx;
    tare_reader_close(&p->whole);
    tare_free(p->allocator, p, p->size);
}

static tare_status open_part(tare_reader *out, const tare_zip_folder *f, const tare_zip_member *m,
                             const char *name, tare_error *err) {
    const size_t length = strlen(f->path) + 1, size = sizeof(part) + length;
    part *p = tare_alloc(f->arena.allocator, size);
    if (!p) return tare_fail(err, TARE_ERR_NOMEM, "member of an archive");
    *p = (part){.offset = m->offset, .allocator = f->arena.allocator, .size = size};
    memcpy(p->path, f->path, length);
    tare_status status = tare_reader_open(&p->whole, p->path, f->map, err);
    if (status == TARE_OK && (m->offset > p->whole.size || m->size > p->whole.size - m->offset)) {
        tare_reader_close(&p->whole);
        status = tare_fail(err, TARE_ERR_IO, "the archive has become shorter");
    }
    if (status != TARE_OK) {
        tare_free(p->allocator, p, p->size);
        return status;
    }
    tare_reader_callback(out, NULL, p, m->size, name);
    out->fetch = fetch;
    out->lend = lend;
    out->prefetch = prefetch;
    out->close = close_part;
    out->has_crc = m->crc != 0;
    out->crc = m->crc;
    return TARE_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The first member whose name is not before this one. */
static size_t first_from(const tare_zip_folder *f, tare_str name) {
    size_t low = 0, high = f->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (tare_str_compare(f->sorted[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool tare_zip_folder_has(const tare_zip_folder *f, tare_str name, bool *is_folder) {
    size_t i = first_from(f, name);
    *is_folder = false;
    if (i < f->n && tare_str_equal(f->sorted[i]->name, name)) return true;
    for (; i < f->n && tare_str_starts(f->sorted[i]->name, name); i++)
        if (f->sorted[i]->name.ptr[name.len] == '/') return *is_folder = true;
    return false;
}

tare_str tare_zip_folder_only(const tare_zip_folder *f) {
    tare_str only = TARE_STR("");
    for (size_t i = 0; i < f->n; i++) {
        const tare_str name = f->sorted[i]->name;
        const char *end = memchr(name.ptr, '/', name.len);
        if (tare_str_starts(name, TARE_STR("__MACOSX/"))) continue; /* what macOS knows of others */
        const tare_str first = {name.ptr, end ? (size_t)(end - name.ptr) : 0};
        if (!end || (only.len && !tare_str_equal(first, only))) return TARE_STR("");
        only = first;
    }
    return only;
}

static tare_status open_file(const tare_files *files, tare_reader *out, const char *path,
                             tare_error *err) {
    const tare_zip_folder *f = (const tare_zip_folder *)(const void *)files;
    const char *inner = tare_path_within(f->path, path);
    const tare_str name = tare_str_of(inner ? inner : "");
    const size_t i = first_from(f, name);
    *out = (tare_reader){.name = path, .fd = -1};
    tare_status status = TARE_OK;
    if (i == f->n || !tare_str_equal(f->sorted[i]->name, name))
        status = tare_fail_errno(err, ENOENT, "cannot be opened");
    if (status == TARE_OK) status = tare_zip_check_stored(f->sorted[i], err);
    if (status == TARE_OK) status = open_part(out, f, f->sorted[i], path, err);
    if (status != TARE_OK) tare_error_file(err, path);
    return status;
}

static tare_str file_at(const void *ctx, size_t i, tare_files_entry *entry) {
    const tare_zip_folder *f = ctx;
    *entry = (tare_files_entry){.size = f->sorted[i]->size, .kind = TARE_PATH_FILE};
    return f->sorted[i]->name;
}

static tare_status list_files(const tare_files *files, const char *path, tare_files_visit visit,
                              void *ctx, tare_error *err) {
    tare_zip_folder *f = (tare_zip_folder *)(uintptr_t)files;
    const tare_file_list list = {f->n, file_at, f};
    return tare_file_list_at(&list, f->path, path, &f->arena, visit, ctx, err);
}

/* ---- the archive ----------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    const tare_zip_member *const *x = a, *const *y = b;
    return tare_str_compare((*x)->name, (*y)->name);
}

/* A name that leaves the folder is that of no file that could be asked for. */
static tare_status take_members(tare_zip_folder *f, const tare_zip *zip, tare_error *err) {
    f->sorted = TARE_NEW_ARRAY(&f->arena, tare_zip_member *, zip->n);
    if (!f->sorted) return tare_fail(err, TARE_ERR_NOMEM, "members of an archive");
    for (size_t i = 0; i < zip->n; i++)
        if (tare_is_inner_path(zip->members[i].name)) f->sorted[f->n++] = &zip->members[i];
    if (f->n) qsort(f->sorted, f->n, sizeof *f->sorted, by_name);
    for (size_t i = 1; i < f->n; i++)
        if (by_name(&f->sorted[i - 1], &f->sorted[i]) == 0)
            return tare_fail_at(err, TARE_ERR_CORRUPT, f->sorted[i]->record,
                                "zip: two members have one name");
    return TARE_OK;
}

tare_status tare_zip_folder_begin(tare_zip_folder *f, const char *path, tare_map_mode map,
                                  const tare_allocator *allocator, tare_error *err) {
    tare_reader reader;
    tare_zip zip;
    *f = (tare_zip_folder){.files = {open_file, list_files}, .map = map, .path = path};
    tare_arena_init(&f->arena, allocator);
    TARE_TRY(tare_reader_open(&reader, path, TARE_MAP_NONE, err));
    tare_status status = tare_zip_read(&zip, &reader, DIRECTORY_MOST, &f->arena, err);
    tare_reader_close(&reader);
    return status == TARE_OK ? take_members(f, &zip, err) : status;
}

void tare_zip_folder_end(tare_zip_folder *f) {
    tare_arena_free(&f->arena);
}
