/* SPDX-License-Identifier: MIT
 *
 * Laying out MCF: header, sections in the order of their types, directory. The form is canonical:
 * the same content gives the same bytes, whatever file it was read from; unknown sections are
 * carried over. */
#include <stdlib.h>

#include "base/arith.h"
#include "base/str.h"
#include "format/mcf/mcf.h"

/* Sections that do not depend on resources, at most. */
#define OWN_PARTS 6

static tare_status too_large(tare_error *err) {
    return tare_fail(err, TARE_ERR_LIMIT, "file: its size exceeds 64 bits");
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Where plane p begins if the tensor begins at `at`, a multiple of 64 where it has several. */
static bool plane_place(const tare_tensor *t, uint32_t plane, uint64_t at, uint64_t *out) {
    for (uint32_t p = 0; p < plane; p++)
        if (!tare_add_u64(at, t->planes[p].size, &at) || !tare_align_u64(at, TARE_MCF_REGION, &at))
            return false;
    *out = at;
    return true;
}

uint64_t tare_mcf_data_size(const tare_tensor *t) {
    uint32_t last = t->encoding->n_planes > 1 ? t->encoding->n_planes - 1 : 0;
    uint64_t at, end;
    if (!plane_place(t, last, 0, &at) || !tare_add_u64(at, t->planes[last].size, &end))
        return UINT64_MAX;
    return end;
}

static int by_name(const void *a, const void *b) {
    const tare_tensor *x = *(const tare_tensor *const *)a, *y = *(const tare_tensor *const *)b;
    return tare_str_compare(x->name, y->name);
}

static tare_status sort_tensors(tare_mcf_writer *w, tare_error *err) {
    size_t n = w->c->n_tensors;
    const tare_tensor **sorted = TARE_NEW_ARRAY(w->plan->arena, const tare_tensor *, n);
    w->order = TARE_NEW_ARRAY(w->plan->arena, size_t, n);
    w->places = TARE_NEW_ARRAY(w->plan->arena, uint64_t, n);
    if (!sorted || !w->order || !w->places) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < n; i++) sorted[i] = &w->c->tensors[i];
    if (n) qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 0; i < n; i++) w->order[i] = (size_t)(sorted[i] - w->c->tensors);
    return TARE_OK;
}

static tare_status check_tensor(const tare_mcf_writer *w, size_t i, tare_error *err) {
    const tare_tensor *t = &w->c->tensors[i];
    tare_status status = TARE_OK;
    if (t->n_elements == 0)
        status = tare_fail(err, TARE_ERR_UNSUPPORTED, "MCF holds no tensor without elements");
    else if (t->encoding->n_planes > 1 && w->alignment % TARE_MCF_REGION)
        status =
            tare_fail(err, TARE_ERR_ARG, "alignment: quantized tensors require a multiple of 64");
    if (status != TARE_OK) tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, t->name);
    return status;
}

static tare_status add_planes(tare_mcf_writer *w, size_t i, tare_error *err) {
    const tare_tensor *t = &w->c->tensors[i];
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
        tare_extent e = {.kind = TARE_EXTENT_TENSOR,
                         .file = w->file,
                         .size = t->planes[p].size,
                         .item = i,
                         .plane = p};
        if (!plane_place(t, p, w->places[i], &e.offset)) return too_large(err);
        if (e.size) TARE_TRY(tare_write_plan_add(w->plan, &e, err));
    }
    return TARE_OK;
}

/* Whether planes lie as this writer puts them after the first. */
static bool has_our_planes(const tare_tensor *t, uint32_t alignment) {
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
        uint64_t at;
        if (!plane_place(t, p, t->planes[0].offset, &at) || at != t->planes[p].offset) return false;
    }
    return t->planes[0].offset % alignment == 0;
}

/* Where the first tensor stays, if an edit leaves all of them where they lie; 0: it does not. */
static uint64_t keep_places(tare_mcf_writer *w) {
    const tare_write_options *o = w->options;
    uint64_t first = UINT64_MAX;
    if (!o->keeps_place || w->c->n_tensors == 0 || w->c->n_tensors != o->source->catalog.n_tensors)
        return 0;
    for (size_t i = 0; i < w->c->n_tensors; i++) {
        const tare_tensor *t =
            tare_model_stored(o->source, o->extras.origins ? o->extras.origins[i] : i);
        if (!o->stays(o->stays_ctx, i) || !has_our_planes(t, w->alignment)) return 0;
        w->places[i] = t->planes[0].offset;
        first = tare_min_u64(first, w->places[i]);
    }
    return first;
}

/* Places all tensors from `part->offset` on, each aligned, those of the same bytes once; or, if they
 * are kept, where they have their places already. */
static tare_status place_tensors(tare_mcf_writer *w, tare_mcf_part *part, bool are_kept,
                                 tare_error *err) {
    uint64_t at = part->offset, end = at, last = at;
    const size_t *same = w->options->extras.same_as;
    bool *is_placed = TARE_NEW_ARRAY(w->plan->arena, bool, w->c->n_tensors);
    if (!is_placed) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t k = 0; k < w->c->n_tensors; k++) {
        size_t i = w->order[k], first = same ? same[i] : i;
        TARE_TRY(check_tensor(w, i, err));
        if (is_placed[first]) {
            w->places[i] = w->places[first];
            continue;
        }
        if (!are_kept) w->places[i] = at;
        w->places[first] = w->places[i];
        is_placed[first] = true;
        TARE_TRY(add_planes(w, i, err));
        if (!tare_add_u64(w->places[i], tare_mcf_data_size(&w->c->tensors[i]), &end) ||
            !tare_align_u64(end, w->alignment, &at))
            return too_large(err);
        last = tare_max_u64(last, end);
    }
    part->size = last - part->offset;
    return TARE_OK;
}

static void put_tensor_index(tare_buffer *out, const tare_mcf_writer *w) {
    uint32_t n_dims = 0, flags = TARE_MCF_FLAG_SORTED | TARE_MCF_FLAG_UTF8;
    uint64_t strings = 0, entries = w->c->n_tensors * (uint64_t)TARE_MCF_ENTRY_BYTES;
    for (size_t i = 0; i < w->c->n_tensors; i++) {
        const tare_tensor *t = &w->c->tensors[i];
        n_dims += t->n_dims;
        strings += t->name.len;
        if (!tare_str_is_utf8(t->name)) flags &= ~TARE_MCF_FLAG_UTF8;
    }
    tare_buffer_put_u32(out, 1, false);
    tare_buffer_put_u32(out, flags, false);
    tare_buffer_put_u32(out, (uint32_t)w->c->n_tensors, false);
    tare_buffer_put_u32(out, n_dims, false);
    tare_buffer_put_u64(out, TARE_MCF_INDEX_BYTES, false);
    tare_buffer_put_u64(out, TARE_MCF_INDEX_BYTES + entries, false);
    tare_buffer_put_u64(out, TARE_MCF_INDEX_BYTES + entries + 8 * (uint64_t)n_dims, false);
    tare_buffer_put_u64(out, strings, false);
    n_dims = 0;
    strings = 0;
    for (size_t k = 0; k < w->c->n_tensors; k++) {
        const tare_tensor *t = &w->c->tensors[w->order[k]];
        uint32_t dtype = t->native_type;
        if (t->encoding->kind != TARE_KIND_UNKNOWN) tare_mcf_dtype_of(t->encoding, &dtype);
        const uint32_t fields[] = {
            (uint32_t)strings, (uint32_t)t->name.len, dtype, t->n_dims, n_dims, 0};
        for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
            tare_buffer_put_u32(out, fields[f], false);
        tare_buffer_put_u64(out, w->places[w->order[k]], false);
        tare_buffer_put_u64(out, tare_mcf_data_size(t), false);
        n_dims += t->n_dims;
        strings += t->name.len;
    }
    for (size_t k = 0; k < w->c->n_tensors; k++) {
        const tare_tensor *t = &w->c->tensors[w->order[k]];
        for (uint32_t d = 0; d < t->n_dims; d++) tare_buffer_put_u64(out, t->dims[d], false);
    }
    for (size_t k = 0; k < w->c->n_tensors; k++)
        tare_buffer_put_str(out, w->c->tensors[w->order[k]].name);
}

/* ---- sections -------------------------------------------------------------------------------- */

/* A part whose bytes are in the buffer, which is emptied; none where it is empty. */
static tare_status add_part(tare_mcf_writer *w, uint32_t type, tare_buffer *b, tare_error *err) {
    TARE_TRY(tare_buffer_status(b, err));
    if (b->size == 0) return TARE_OK;
    uint8_t *bytes = tare_arena_take(w->plan->arena, b->size);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "section");
    memcpy(bytes, b->data, b->size);
    w->parts[w->n_parts++] =
        (tare_mcf_part){.type = type, .version = 1, .size = b->size, .bytes = bytes};
    b->size = 0;
    return TARE_OK;
}

/* Metadata goes into one section as it is; an empty one says that ModelInfo adds nothing to it. */
static tare_status add_metadata(tare_mcf_writer *w, tare_buffer *b, tare_error *err) {
    static const struct {
        const char *name;
        tare_key_space space;
    } spaces[] = {{"model", TARE_KEYS_MODEL}, {"safetensors", TARE_KEYS_SAFETENSORS}};
    enum { N_SPACES = sizeof spaces / sizeof *spaces };
    tare_buffer texts[N_SPACES];
    tare_str names[N_SPACES];
    uint64_t sizes[N_SPACES], data_at[N_SPACES], size;
    size_t n = 0;
    for (size_t s = 0; s < N_SPACES; s++) {
        tare_buffer_init(&texts[n], b->allocator);
        tare_metadata_to_json(&texts[n], w->c->metadata, w->c->n_metadata, spaces[s].space);
        names[n] = tare_str_of(spaces[s].name);
        sizes[n] = texts[n].size;
        b->failed |= texts[n].failed;
        if (texts[n].size > 2) /* more than an empty list */
            n++;
        else
            tare_buffer_free(&texts[n]);
    }
    tare_mcf_put_blobs(b, names, sizes, n, data_at, &size);
    for (size_t i = 0; i < n; i++) {
        if (!b->failed) tare_buffer_put_zeros(b, (size_t)data_at[i] - b->size);
        tare_buffer_put(b, texts[i].data, texts[i].size);
        tare_buffer_free(&texts[i]);
    }
    return add_part(w, TARE_MCF_METADATA, b, err);
}

static int by_type(const void *a, const void *b) {
    const tare_mcf_part *x = a, *y = b;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    return (x->resource > y->resource) - (x->resource < y->resource);
}

static int by_index(const void *a, const void *b) {
    const size_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Resources that are sections: files that have one, unless they are empty, and carried ones. Of two
 * that would be the same section the first one is; the other, and all else, is listed in w->files.
 */
static tare_status part_resources(tare_mcf_writer *w, tare_error *err) {
    const tare_catalog *c = w->c;
    size_t *rest = TARE_NEW_ARRAY(w->plan->arena, size_t, c->n_resources), first = w->n_parts, n;
    if (!rest) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    for (size_t i = 0; i < c->n_resources; i++) {
        const tare_resource *r = &c->resources[i].info;
        uint32_t type = tare_mcf_resource_type(r->name), version = 1;
        if (type ? r->size > 0 : tare_mcf_section_of_name(r->name, &type, &version))
            w->parts[w->n_parts++] =
                (tare_mcf_part){.type = type, .version = version, .size = r->size, .resource = i};
        else
            rest[w->n_files++] = i;
    }
    qsort(w->parts + first, w->n_parts - first, sizeof *w->parts, by_type);
    n = first;
    for (size_t i = first; i < w->n_parts; i++) {
        if (n > first && w->parts[n - 1].type == w->parts[i].type)
            rest[w->n_files++] = w->parts[i].resource;
        else
            w->parts[n++] = w->parts[i];
    }
    w->n_parts = n;
    qsort(rest, w->n_files, sizeof *rest, by_index);
    w->files = rest;
    return TARE_OK;
}

/* Resources that are no sections, in one of ours. */
static tare_status add_files(tare_mcf_writer *w, tare_buffer *b, tare_error *err) {
    tare_arena *arena = w->plan->arena;
    if (w->n_files == 0) return TARE_OK;
    tare_str *names = TARE_NEW_ARRAY(arena, tare_str, w->n_files);
    uint64_t *sizes = TARE_NEW_ARRAY(arena, uint64_t, w->n_files);
    uint64_t *data_at = TARE_NEW_ARRAY(arena, uint64_t, w->n_files), size;
    if (!names || !sizes || !data_at) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    for (size_t i = 0; i < w->n_files; i++) {
        names[i] = w->c->resources[w->files[i]].info.name;
        sizes[i] = w->c->resources[w->files[i]].info.size;
    }
    tare_mcf_put_blobs(b, names, sizes, w->n_files, data_at, &size);
    w->files_head = b->size;
    TARE_TRY(add_part(w, TARE_MCF_FILES, b, err));
    w->parts[w->n_parts - 1].size = size;
    w->data_at = data_at;
    return TARE_OK;
}

/* All sections, except for what depends on offsets. */
static tare_status list_parts(tare_mcf_writer *w, tare_buffer *b, tare_error *err) {
    w->parts =
        TARE_NEW_ARRAY(w->plan->arena, tare_mcf_part, (uint64_t)w->c->n_resources + OWN_PARTS);
    if (!w->parts) return tare_fail(err, TARE_ERR_NOMEM, "sections");
    TARE_TRY(tare_mcf_put_model_info(b, w, err));
    TARE_TRY(add_part(w, TARE_MCF_MODEL_INFO, b, err));
    tare_mcf_put_quant_info(b, w);
    TARE_TRY(add_part(w, TARE_MCF_QUANT_INFO, b, err));
    if (w->c->n_tensors) {
        put_tensor_index(b, w);
        TARE_TRY(add_part(w, TARE_MCF_TENSOR_INDEX, b, err));
        w->parts[w->n_parts++] = (tare_mcf_part){.type = TARE_MCF_TENSOR_DATA, .version = 1};
    }
    TARE_TRY(part_resources(w, err));
    TARE_TRY(add_files(w, b, err));
    TARE_TRY(add_metadata(w, b, err));
    qsort(w->parts, w->n_parts, sizeof *w->parts, by_type);
    return TARE_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static tare_status add_extent(tare_mcf_writer *w, tare_extent e, tare_error *err) {
    e.file = w->file;
    return e.size ? tare_write_plan_add(w->plan, &e, err) : TARE_OK;
}

static tare_status add_resource(tare_mcf_writer *w, size_t i, uint64_t offset, tare_error *err) {
    const tare_resource_entry *r = &w->c->resources[i];
    tare_extent e = {.kind = r->bytes ? TARE_EXTENT_BYTES : TARE_EXTENT_RESOURCE,
                     .offset = offset,
                     .size = r->info.size,
                     .bytes = r->bytes,
                     .item = i};
    return add_extent(w, e, err);
}

static tare_status add_contents(tare_mcf_writer *w, const tare_mcf_part *part, tare_error *err) {
    if (part->type == TARE_MCF_TENSOR_DATA) return TARE_OK; /* placed already */
    if (!part->bytes) return add_resource(w, part->resource, part->offset, err);
    bool has_files = part->type == TARE_MCF_FILES;
    tare_extent e = {.kind = TARE_EXTENT_BYTES,
                     .offset = part->offset,
                     .size = has_files ? w->files_head : part->size,
                     .bytes = part->bytes};
    TARE_TRY(add_extent(w, e, err));
    for (size_t i = 0; has_files && i < w->n_files; i++)
        TARE_TRY(add_resource(w, w->files[i], part->offset + w->data_at[i], err));
    return TARE_OK;
}

/* One section after another; *end: where it ends. */
static tare_status place_part(tare_mcf_part *part, uint64_t *end, tare_error *err) {
    if (!tare_align_u64(*end, 8, &part->offset) || !tare_add_u64(part->offset, part->size, end))
        return too_large(err);
    return TARE_OK;
}

/* Whether a section has room before the tensors, which begin at `first`. */
static bool fits_before(const tare_mcf_part *part, uint64_t end, uint64_t first) {
    return part->type < TARE_MCF_TENSOR_DATA && end + part->size + 8 <= first;
}

/* Offsets of all sections around tensors that stay where they lie: what has no room before them
 * follows them. */
static tare_status place_around(tare_mcf_writer *w, uint64_t first, uint64_t *end,
                                tare_error *err) {
    uint64_t before = TARE_MCF_HEADER_BYTES;
    *end = first;
    for (size_t i = 0; i < w->n_parts; i++) {
        tare_mcf_part *part = &w->parts[i];
        if (part->type != TARE_MCF_TENSOR_DATA) continue;
        part->offset = first;
        TARE_TRY(place_tensors(w, part, true, err));
        if (!tare_add_u64(first, part->size, end)) return too_large(err);
    }
    for (size_t i = 0; i < w->n_parts; i++) {
        tare_mcf_part *part = &w->parts[i];
        if (part->type == TARE_MCF_TENSOR_DATA) continue;
        TARE_TRY(place_part(part, fits_before(part, before, first) ? &before : end, err));
    }
    return tare_align_u64(*end, 8, end) ? TARE_OK : too_large(err);
}

/* Offsets of all sections; tensors are placed on the way. *end: where the directory begins. */
static tare_status place_parts(tare_mcf_writer *w, uint64_t *end, tare_error *err) {
    const uint64_t first = keep_places(w);
    if (first) return place_around(w, first, end, err);
    *end = TARE_MCF_HEADER_BYTES;
    for (size_t i = 0; i < w->n_parts; i++) {
        tare_mcf_part *part = &w->parts[i];
        if (part->type != TARE_MCF_TENSOR_DATA) {
            TARE_TRY(place_part(part, end, err));
            continue;
        }
        if (!tare_align_u64(*end, tare_max_u64(w->alignment, 8), &part->offset))
            return too_large(err);
        TARE_TRY(place_tensors(w, part, false, err));
        if (!tare_add_u64(part->offset, part->size, end)) return too_large(err);
    }
    return tare_align_u64(*end, 8, end) ? TARE_OK : too_large(err);
}

/* Bytes of the plan's own at an offset. */
static tare_status add_bytes(tare_mcf_writer *w, uint64_t offset, tare_buffer *b, tare_error *err) {
    TARE_TRY(tare_buffer_status(b, err));
    uint8_t *bytes = tare_arena_take(w->plan->arena, b->size);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "header");
    memcpy(bytes, b->data, b->size);
    tare_extent e = {.kind = TARE_EXTENT_BYTES, .offset = offset, .size = b->size, .bytes = bytes};
    b->size = 0;
    return add_extent(w, e, err);
}

static tare_status add_frame(tare_mcf_writer *w, uint64_t directory, tare_buffer *b,
                             tare_error *err) {
    uint64_t file_size;
    if (!tare_add_u64(directory, w->n_parts * (uint64_t)TARE_MCF_SECTION_BYTES, &file_size))
        return too_large(err);
    bool is_aligned = w->c->n_tensors > 0 && w->alignment % TARE_MCF_REGION == 0;
    tare_buffer_put(b, "MCF\0\1\0\1\0", 8); /* version 1.1 */
    tare_buffer_put_u32(b, TARE_MCF_HEADER_BYTES, false);
    tare_buffer_put_u32(b, (uint32_t)w->n_parts, false);
    tare_buffer_put_u64(b, directory, false);
    tare_buffer_put_u64(b, file_size, false);
    tare_buffer_put_u64(b, is_aligned ? TARE_MCF_FLAG_ALIGNED : 0, false);
    TARE_TRY(add_bytes(w, 0, b, err));
    for (size_t i = 0; i < w->n_parts; i++) {
        tare_buffer_put_u32(b, w->parts[i].type, false);
        tare_buffer_put_u32(b, w->parts[i].version, false);
        tare_buffer_put_u64(b, w->parts[i].offset, false);
        tare_buffer_put_u64(b, w->parts[i].size, false);
    }
    w->plan->files[w->file].size = file_size;
    return add_bytes(w, directory, b, err);
}

/* The index has the same size as before the offsets were known. */
static tare_status fill_index(tare_mcf_writer *w, tare_buffer *b, tare_error *err) {
    for (size_t i = 0; i < w->n_parts; i++) {
        if (w->parts[i].type != TARE_MCF_TENSOR_INDEX) continue;
        put_tensor_index(b, w);
        TARE_TRY(tare_buffer_status(b, err));
        memcpy((uint8_t *)(uintptr_t)w->parts[i].bytes, b->data, b->size);
        b->size = 0;
    }
    return TARE_OK;
}

static tare_status write_all(tare_mcf_writer *w, tare_buffer *b, tare_error *err) {
    uint64_t directory;
    TARE_TRY(tare_write_plan_add_file(w->plan, NULL, &w->file, err));
    TARE_TRY(sort_tensors(w, err));
    TARE_TRY(list_parts(w, b, err));
    TARE_TRY(place_parts(w, &directory, err));
    TARE_TRY(fill_index(w, b, err));
    for (size_t i = 0; i < w->n_parts; i++) TARE_TRY(add_contents(w, &w->parts[i], err));
    return add_frame(w, directory, b, err);
}

/* The index counts tensors, dimensions and bytes of names in 32 bits. */
static bool is_countable(const tare_catalog *c) {
    uint64_t n_dims = 0, names = 0;
    for (size_t i = 0; i < c->n_tensors; i++) {
        n_dims += c->tensors[i].n_dims;
        names += c->tensors[i].name.len;
    }
    return c->n_tensors <= UINT32_MAX && n_dims <= UINT32_MAX && names <= UINT32_MAX;
}

tare_status tare_mcf_plan(tare_write_plan *out, const tare_catalog *catalog,
                          const tare_write_options *options, tare_error *err) {
    tare_mcf_writer w = {.plan = out, .c = catalog, .options = options};
    if (options->order == TARE_ORDER_BIG)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "MCF is little-endian");
    if (options->shard_size) return tare_fail(err, TARE_ERR_UNSUPPORTED, "MCF is one file");
    w.alignment = options->alignment ? options->alignment : TARE_MCF_ALIGNMENT;
    if (w.alignment % 8) return tare_fail(err, TARE_ERR_ARG, "alignment: expected a multiple of 8");
    if (!is_countable(catalog))
        return tare_fail(err, TARE_ERR_LIMIT,
                         "more tensors, dimensions or bytes of names than MCF can count");
    tare_buffer b;
    tare_buffer_init(&b, out->arena->allocator);
    tare_status status = write_all(&w, &b, err);
    tare_buffer_free(&b);
    return status;
}
