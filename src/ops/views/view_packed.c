/* SPDX-License-Identifier: MIT
 *
 * The files of a .wcodec in a view. Pieces are those in which regions are best decoded. */
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "format/format.h"
#include "format/packed.h"
#include "ops/packing/bases.h"
#include "ops/views/view_files.h"

/* A container, and where the ranges of its files begin. */
typedef struct packed {
    const tare_allocator *allocator;
    tare_arena arena;
    tare_packed *store;
    tare_packed_contents contents;
    tare_file_version version;
    uint64_t **starts; /* of the ranges of each file */
} packed;

static const tare_packed_range *find_range(uint64_t *start, const packed *p, uint32_t number,
                                           uint64_t offset) {
    const tare_packed_file *f = &p->contents.files[number];
    const size_t i = tare_part_of(p->starts[number], f->n_ranges, sizeof(uint64_t), offset);
    *start = p->starts[number][i];
    return &f->ranges[i];
}

static tare_status locate(tare_view_piece *out, void *ctx, uint32_t number, uint64_t offset,
                          tare_error *err) {
    const packed *p = ctx;
    uint64_t start;
    const tare_packed_range *r = find_range(&start, p, number, offset);
    const uint64_t step = tare_packed_step(p->store, r->layer, r->region);
    const uint64_t at = r->offset + (offset - start);
    const uint64_t begin = tare_max_u64(at / step * step, r->offset);
    const uint64_t end = tare_min_u64(at / step * step + step, r->offset + r->length);
    (void)err;
    *out = (tare_view_piece){start + (begin - r->offset), start + (end - r->offset)};
    return TARE_OK;
}

static tare_status make(uint8_t *out, void *ctx, uint32_t number, uint64_t offset, size_t n,
                        tare_error *err) {
    const packed *p = ctx;
    while (n) {
        uint64_t start;
        const tare_packed_range *r = find_range(&start, p, number, offset);
        const uint64_t skip = offset - start;
        const size_t take = (size_t)tare_min_u64(n, r->length - skip);
        TARE_TRY(tare_packed_read(p->store, r->layer, r->region, r->offset + skip, out, take, err));
        out += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

static void limit(void *ctx, size_t bytes) {
    packed *p = ctx;
    tare_packed_limit(p->store, bytes);
}

static void free_packed(void *ctx) {
    packed *p = ctx;
    const tare_allocator *a = p->allocator;
    tare_packed_free(p->store);
    tare_arena_free(&p->arena);
    tare_free(a, p, sizeof *p);
}

/* ---- opening --------------------------------------------------------------------------------- */

static tare_status place_ranges(packed *p, tare_error *err) {
    p->starts = TARE_NEW_ARRAY(&p->arena, uint64_t *, p->contents.n_files);
    for (uint32_t i = 0; p->starts && i < p->contents.n_files; i++) {
        const tare_packed_file *f = &p->contents.files[i];
        uint64_t at = 0;
        p->starts[i] = TARE_NEW_ARRAY(&p->arena, uint64_t, f->n_ranges);
        if (!p->starts[i]) return tare_fail(err, TARE_ERR_NOMEM, "ranges of a file");
        for (uint32_t r = 0; r < f->n_ranges; at += f->ranges[r++].length) p->starts[i][r] = at;
    }
    return p->starts ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "ranges of a file");
}

static tare_status open_store(packed *p, const tare_source *source,
                              const tare_open_options *options, const tare_context *context,
                              tare_error *err) {
    tare_limits limits = tare_limits_default();
    tare_reader file;
    tare_blocks *blocks = NULL;
    TARE_TRY(tare_options_read(&limits, sizeof limits, context->limits, err));
    tare_status status = tare_source_open(&file, source, TARE_MAP_NONE, &blocks, err);
    if (status == TARE_OK) p->version = file.version;
    if (status == TARE_OK) status = tare_packed_open(&p->store, &file, &limits, p->allocator, err);
    tare_blocks_note_opened(blocks);
    tare_blocks_release(blocks);
    TARE_TRY(status);
    p->contents = tare_packed_describe(p->store);
    if (p->contents.n_files == 0)
        return tare_fail(err, TARE_ERR_ARG,
                         "the container holds a model but no files: convert it instead");
    TARE_TRY(tare_bases_use(p->store, options->bases, options->n_bases, context, err));
    return place_ranges(p, err);
}

static tare_status open_packed(packed **out, const tare_source *source,
                               const tare_open_options *options, const tare_context *context,
                               tare_error *err) {
    packed *p = tare_alloc(context->allocator, sizeof *p);
    tare_open_options o = tare_open_options_default();
    *out = NULL;
    if (!p) return tare_fail(err, TARE_ERR_NOMEM, "container");
    *p = (packed){.allocator = context->allocator};
    tare_arena_init(&p->arena, p->allocator);
    tare_status status = tare_options_read(&o, sizeof o, options, err);
    if (status == TARE_OK) status = open_store(p, source, &o, context, err);
    if (status == TARE_OK)
        *out = p;
    else
        free_packed(p);
    return status;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static tare_view_file file_of(const packed *p, const tare_packed_file *f) {
    const tare_packed_entry *e = &f->entry;
    tare_view_file out = tare_view_file_default();
    out.kind = e->kind == TARE_PACKED_LINK     ? TARE_VIEW_LINK
               : e->kind == TARE_PACKED_FOLDER ? TARE_VIEW_FOLDER
                                               : TARE_VIEW_FILE;
    out.n_bytes = out.kind == TARE_VIEW_FILE ? f->size : 0;
    out.target = e->target;
    out.is_stated = e->is_stated;
    out.mode = e->mode;
    out.seconds = e->seconds;
    out.nanoseconds = e->nanoseconds;
    if (p->contents.is_directory) out.name = f->name;
    return out;
}

/* `name` is that of the only file, or of the folder. */
static tare_status add_files(tare_view *view, packed *p, tare_str name, tare_error *err) {
    const tare_view_source source = {.locate = locate,
                                     .make = make,
                                     .limit = limit,
                                     .free = free_packed,
                                     .ctx = p,
                                     .version = p->version};
    uint32_t index;
    TARE_TRY(tare_view_add_source(&index, view, &source, err));
    for (uint32_t i = 0; i < p->contents.n_files; i++) {
        tare_view_file f = file_of(p, &p->contents.files[i]);
        TARE_TRY(tare_view_add_file(view, index, i, name, &f, err));
    }
    return TARE_OK;
}

/* Those that would be added are not there yet. */
static tare_status check_names(const tare_view *view, const packed *p, tare_str name,
                               tare_error *err) {
    bool is_taken = name.len && tare_view_has(view, name);
    for (uint32_t i = 0; !name.len && !is_taken && i < p->contents.n_files; i++)
        is_taken = tare_view_has(view, p->contents.files[i].name);
    return is_taken ? tare_fail(err, TARE_ERR_ARG, "two files of a view have one name") : TARE_OK;
}

tare_status tare_view_add_packed(tare_view *view, const char *name, const tare_source *source,
                                 const tare_open_options *options, tare_error *err) {
    packed *p;
    TARE_REQUIRE(view && name && source, err);
    TARE_TRY(open_packed(&p, source, options, tare_view_context(view), err));
    tare_str as = tare_str_of(name);
    if (!as.len && !p->contents.is_directory) as = p->contents.files[0].name;
    const tare_status status = check_names(view, p, as, err);
    if (status != TARE_OK) {
        free_packed(p);
        return status;
    }
    return add_files(view, p, as, err);
}

/* ---- in a folder ----------------------------------------------------------------------------- */

/* The suffix of a name, with its dot; empty: it has none. */
static tare_str suffix_of(tare_str name) {
    for (size_t i = name.len; i > 1 && name.ptr[i - 1] != '/'; i--)
        if (name.ptr[i - 1] == '.' && name.ptr[i - 2] != '/')
            return (tare_str){name.ptr + i - 1, name.len - (i - 1)};
    return (tare_str){name.ptr + name.len, 0};
}

/* "a.gguf.wcodec" and "model.gguf" -> "a.gguf"; "a.wcodec" -> "a.gguf". */
static tare_str name_after(tare_arena *arena, tare_str name, const packed *p) {
    tare_str stem = {name.ptr, name.len - suffix_of(name).len};
    tare_str suffix = {name.ptr, 0};
    if (!p->contents.is_directory) suffix = suffix_of(p->contents.files[0].name);
    if (tare_str_ends(stem, suffix)) suffix.len = 0;
    char *text = tare_arena_take(arena, stem.len + suffix.len + 1);
    if (!text) return (tare_str){0};
    memcpy(text, stem.ptr, stem.len);
    memcpy(text + stem.len, suffix.ptr, suffix.len);
    return (tare_str){text, stem.len + suffix.len};
}

tare_status tare_view_add_found(bool *is_ours, tare_error *why, tare_view *view, const char *path,
                                const char *name, const tare_open_options *options,
                                tare_error *err) {
    const tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = path, .fd = -1};
    packed *p;
    *is_ours = false;
    *why = TARE_ERROR_NONE;
    tare_status status = open_packed(&p, &source, options, tare_view_context(view), why);
    if (status != TARE_OK) {
        if (status != TARE_ERR_NOMEM && status != TARE_ERR_CANCELLED) return TARE_OK;
        if (err) *err = *why;
        return status;
    }
    const tare_str as = name_after(tare_view_arena(view), tare_str_of(name), p);
    if (!as.ptr) status = tare_fail(err, TARE_ERR_NOMEM, "view");
    if (status == TARE_OK && check_names(view, p, as, why) == TARE_OK) {
        *is_ours = true;
        return add_files(view, p, as, err);
    }
    free_packed(p);
    return status;
}
