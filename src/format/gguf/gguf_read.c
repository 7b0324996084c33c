/* SPDX-License-Identifier: MIT
 *
 * Reading the directory of one GGUF file: versions 1 to 3, both byte orders (upstream's gguf.md;
 * what its text leaves open is decided in docs/behaviour.md). One pass; the catalog points into
 * the windows, nothing is allocated for a string. */
#include <stdlib.h>

#include "base/arith.h"
#include "base/str.h"
#include "format/gguf/gguf.h"
#include "format/gguf/gguf_types.h"

/* ---- lists ----------------------------------------------------------------------------------- */

/* Makes room for one more item of a list that will have at most `most`: it doubles, but ends at
 * exactly that, so that a false count costs no memory and a true one wastes none. */
static bool make_room(tare_model *m, void **list, size_t n, size_t *capacity, uint64_t most,
                      size_t size) {
    if (n < *capacity) return true;
    uint64_t wanted = tare_min_u64(tare_max_u64((uint64_t)*capacity * 2, 64), most), bytes;
    size_t new_size;
    if (!tare_mul_u64(wanted, size, &bytes) || !tare_size_of_u64(bytes, &new_size)) return false;
    void *p = tare_resize(m->allocator, *list, *capacity * size, new_size);
    if (!p) return false;
    *list = p;
    *capacity = (size_t)wanted;
    return true;
}

static tare_metadata *add_key(tare_gguf_reader *r) {
    tare_catalog *c = &r->m->catalog;
    void *list = c->metadata;
    if (!make_room(r->m, &list, c->n_metadata, &r->metadata_capacity, r->first_key + r->n_keys,
                   sizeof *c->metadata))
        return NULL;
    c->metadata = list;
    return &c->metadata[c->n_metadata++];
}

static tare_tensor *add_tensor(tare_gguf_reader *r) {
    tare_catalog *c = &r->m->catalog;
    void *list = c->tensors;
    if (!make_room(r->m, &list, c->n_tensors, &r->tensors_capacity, r->first_tensor + r->n_tensors,
                   sizeof *c->tensors))
        return NULL;
    c->tensors = list;
    c->tensors[c->n_tensors] = (tare_tensor){.n_dims = 0};
    return &c->tensors[c->n_tensors++];
}

static bool add_resource(tare_gguf_reader *r, const tare_resource_entry *entry) {
    tare_catalog *c = &r->m->catalog;
    uint64_t most = r->first_resource + r->n_keys;
    void *list = c->resources, *places = r->resource_places;
    if (!make_room(r->m, &list, c->n_resources, &r->resources_capacity, most, sizeof *entry))
        return false;
    c->resources = list;
    if (!make_room(r->m, &places, c->n_resources, &r->places_capacity, most, sizeof(size_t)))
        return false;
    r->resource_places = places;
    r->resource_places[c->n_resources] = c->n_metadata;
    c->resources[c->n_resources++] = *entry;
    return true;
}

/* ---- header ---------------------------------------------------------------------------------- */

static tare_status fail_here(tare_gguf_reader *r, tare_status status, uint64_t offset,
                             const char *what, tare_error *err) {
    tare_cursor_fail(&r->w.c, status, offset, what);
    return tare_cursor_status(&r->w.c, err);
}

/* A count in the header: it must be within the limit, and the file must have bytes for that many
 * records. */
static uint64_t take_count(tare_gguf_reader *r, uint64_t limit, uint64_t least, const char *what,
                           const char *beyond, const char *too_short) {
    tare_cursor *c = &r->w.c;
    uint64_t at = tare_cursor_offset(c), size;
    uint64_t n = r->version == 1 ? tare_cursor_u32(c, what) : tare_cursor_u64(c, what);
    if (!tare_cursor_ok(c)) return 0;
    if (n > limit) {
        tare_cursor_fail(c, TARE_ERR_LIMIT, at, beyond);
    } else if (!tare_mul_u64(n, least, &size) || size > r->w.reader->size - tare_cursor_offset(c)) {
        tare_cursor_fail(c, TARE_ERR_TRUNCATED, at, too_short);
    }
    return n;
}

/* Big-endian files have the same magic as little-endian ones; the version field tells them apart.
 * Only version 3 has them. FUGG was proposed as their magic. */
static tare_status read_version(tare_gguf_reader *r, bool is_fugg, tare_error *err) {
    tare_cursor *c = &r->w.c;
    uint32_t version = tare_cursor_u32(c, "version: the file ends inside it");
    TARE_TRY(tare_cursor_status(c, err));
    uint32_t turned = __builtin_bswap32(version);
    r->is_big_endian = is_fugg || (version & 0xffff) == 0;
    r->version = r->is_big_endian ? turned : version;
    if (r->is_big_endian && (r->version == 1 || r->version == 2))
        return fail_here(r, TARE_ERR_CORRUPT, 4, "version: 1 and 2 do not exist in big-endian",
                         err);
    if (r->version < 1 || r->version > 3)
        return fail_here(r, TARE_ERR_CORRUPT, 4, "version: neither 1, 2 nor 3", err);
    c->is_big_endian = r->is_big_endian;
    return TARE_OK;
}

static tare_status read_header(tare_gguf_reader *r, tare_error *err) {
    tare_cursor *c = &r->w.c;
    const uint8_t *magic = tare_cursor_take(c, 4, "magic: the file ends inside it");
    TARE_TRY(tare_cursor_status(c, err));
    bool is_fugg = memcmp(magic, "FUGG", 4) == 0;
    if (!is_fugg && memcmp(magic, "GGUF", 4) != 0)
        return fail_here(r, TARE_ERR_CORRUPT, 0, "magic: not that of a GGUF file", err);
    TARE_TRY(read_version(r, is_fugg, err));
    if (is_fugg)
        tare_gguf_report_file(
            r, TARE_LEVEL_WARNING, "gguf.magic-fugg", 0,
            "magic FUGG, which was proposed for big-endian files but not adopted");
    /* The minimum size of a record: empty strings, no dimensions, not counting the value. */
    uint64_t length = r->version == 1 ? 4 : 8;
    r->n_tensors =
        take_count(r, r->m->limits.tensors, length + 16, "tensor count: the file ends inside it",
                   "tensor count", "tensor count: the file is too short for it");
    r->n_keys = take_count(r, r->m->limits.keys, length + 4, "key count: the file ends inside it",
                           "key count", "key count: the file is too short for it");
    return tare_cursor_status(c, err);
}

/* Whether a record that could not be read only needs a longer window, which is then made. */
static bool try_again(tare_gguf_reader *r, uint64_t start, tare_status *s, tare_error *err) {
    *s = TARE_OK;
    if (!r->w.c.ran_out || !r->w.c.more_follows) return false;
    *s = tare_gguf_window_extend(&r->w, start, err);
    return *s == TARE_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static tare_status key_fault(tare_status s, uint64_t i, tare_str name, tare_error *err) {
    tare_error_item(err, TARE_ITEM_KEY, (int64_t)i, name);
    return s;
}

static tare_status note_alignment(tare_gguf_reader *r, const tare_gguf_key *key, tare_error *err) {
    if (key->entry.value.type != TARE_VALUE_U32)
        return tare_fail_at(err, TARE_ERR_CORRUPT, key->type_at, "alignment: must be a u32");
    if (key->entry.value.as.u == 0)
        return tare_fail_at(err, TARE_ERR_CORRUPT, key->value_at, "alignment: must not be 0");
    r->alignment = (uint32_t)key->entry.value.as.u;
    return TARE_OK;
}

static void note_split(tare_gguf_reader *r, const tare_gguf_key *key, uint64_t i) {
    tare_str name = key->entry.key;
    tare_gguf_split_key *out = tare_str_is(name, "split.no")              ? &r->split_no
                               : tare_str_is(name, "split.count")         ? &r->split_count
                               : tare_str_is(name, "split.tensors.count") ? &r->split_tensors
                                                                          : NULL;
    if (!out) return;
    *out = (tare_gguf_split_key){.is_present = true, .item = (int64_t)i, .offset = key->value_at};
    out->is_number = tare_value_u64(&out->value, &key->entry.value);
}

/* Enters a key: a resource, a pair of another container, or metadata. */
static tare_status enter_key(tare_gguf_reader *r, const tare_gguf_key *key, tare_error *err) {
    const tare_str pair = TARE_STR(TARE_GGUF_PAIR_PREFIX);
    if (key->is_resource) {
        tare_resource_entry entry = {
            .info = {tare_str_cut(key->entry.key, sizeof TARE_GGUF_RESOURCE_PREFIX - 1),
                     key->resource_size},
            .file = r->file,
            .offset = tare_cursor_offset(&r->w.c)};
        if (!add_resource(r, &entry)) return tare_fail(err, TARE_ERR_NOMEM, "resources");
        return tare_gguf_window_skip(&r->w, key->resource_size, err);
    }
    tare_metadata *e = add_key(r);
    if (!e) return tare_fail(err, TARE_ERR_NOMEM, "keys");
    *e = key->entry;
    if (e->value.type == TARE_VALUE_STRING && tare_str_is(e->key, "general.architecture"))
        r->architecture = e->value.as.s;
    if (e->value.type == TARE_VALUE_STRING && tare_str_starts(e->key, pair)) {
        e->key = tare_str_cut(e->key, pair.len);
        e->space = TARE_KEYS_SAFETENSORS;
    }
    return TARE_OK;
}

/* Reads all keys; `quiet`: without entering them, for a look at what the file is. */
static tare_status read_keys(tare_gguf_reader *r, bool quiet, tare_error *err) {
    tare_status s;
    for (uint64_t i = 0; i < r->n_keys;) {
        tare_gguf_key key;
        uint64_t start = tare_cursor_offset(&r->w.c);
        if (!tare_gguf_take_key(r, &key)) {
            if (try_again(r, start, &s, err)) continue;
            if (s == TARE_OK) s = tare_cursor_status(&r->w.c, err);
            return key_fault(s, i, key.entry.key, err);
        }
        if (tare_str_is(key.entry.key, TARE_GGUF_ALIGNMENT_KEY)) {
            s = note_alignment(r, &key, err);
            if (s != TARE_OK) return key_fault(s, i, key.entry.key, err);
        }
        note_split(r, &key, i);
        if (!quiet) {
            tare_gguf_report_key(r, &key, i);
            TARE_TRY(enter_key(r, &key, err));
        } else if (key.is_resource) {
            TARE_TRY(tare_gguf_window_skip(&r->w, key.resource_size, err));
        }
        i++;
    }
    return TARE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Turns a record into a tensor of the catalog, which for now lies at its offset in the data
 * section. */
static tare_status enter_info(tare_gguf_reader *r, const tare_gguf_info *info, tare_error *err) {
    const tare_encoding *encoding = tare_gguf_type_encoding(info->type);
    uint64_t dims[TARE_MAX_DIMS];
    size_t i = r->m->catalog.n_tensors;
    tare_tensor *t = add_tensor(r);
    if (!t) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    t->name = info->name;
    t->offset = info->at;
    t->native_type = info->type;
    for (uint32_t d = 0; d < info->n_dims; d++) dims[d] = info->dims[info->n_dims - 1 - d];
    if (!encoding) encoding = tare_encoding_get(TARE_ENCODING_UNKNOWN);
    tare_status s = tare_tensor_set(r->m, t, encoding, dims, info->n_dims, r->file, 0, err);
    if (s == TARE_ERR_LIMIT)
        s = tare_fail(err, TARE_ERR_CORRUPT, "dimensions: their product exceeds 64 bits");
    if (s == TARE_ERR_CORRUPT && err) err->offset = info->dims_at;
    if (s == TARE_OK && info->relative % r->alignment)
        s = tare_fail_at(err, TARE_ERR_CORRUPT, info->relative_at,
                         "tensor offset: not a multiple of the alignment");
    if (s != TARE_OK) {
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, info->name);
        return s;
    }
    ((tare_plane *)t->planes)->offset = info->relative;
    tare_gguf_report_info(r, info, i);
    return TARE_OK;
}

static tare_status read_infos(tare_gguf_reader *r, tare_error *err) {
    tare_status s;
    for (uint64_t i = 0; i < r->n_tensors;) {
        tare_gguf_info info = {.name = {NULL, 0}};
        uint64_t start = tare_cursor_offset(&r->w.c);
        if (!tare_gguf_take_info(r, &info)) {
            if (try_again(r, start, &s, err)) continue;
            if (s == TARE_OK) s = tare_cursor_status(&r->w.c, err);
            tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)(r->first_tensor + i), info.name);
            return s;
        }
        TARE_TRY(enter_info(r, &info, err));
        i++;
    }
    return TARE_OK;
}

/* ---- where the data lies --------------------------------------------------------------------- */

/* The position of a tensor's offset field: the last field of its record, which ends where the next
 * record begins. */
static uint64_t place_of(const void *ctx, size_t tensor) {
    const tare_gguf_reader *r = ctx;
    const tare_catalog *c = &r->m->catalog;
    return (tensor + 1 < c->n_tensors ? c->tensors[tensor + 1].offset : r->infos_end) - 8;
}

static tare_status tensor_fault(tare_gguf_reader *r, size_t tensor, const char *what,
                                tare_error *err) {
    tare_fail_at(err, TARE_ERR_CORRUPT, place_of(r, tensor), what);
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)tensor, r->m->catalog.tensors[tensor].name);
    return TARE_ERR_CORRUPT;
}

static int compare_u64(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The first of n sorted numbers that is greater, or `last`. */
static uint64_t next_above(const uint64_t *sorted, size_t n, uint64_t x, uint64_t last) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n ? sorted[low] : last;
}

/* A tensor of unknown type takes what lies between its offset and the next, or the end. */
static tare_status size_unknown(tare_gguf_reader *r, tare_error *err) {
    tare_catalog *c = &r->m->catalog;
    size_t n = c->n_tensors - r->first_tensor, n_unknown = 0, size = n * sizeof(uint64_t);
    if (n == 0) return TARE_OK;
    tare_tensor *tensors = c->tensors + r->first_tensor;
    for (size_t i = 0; i < n; i++) n_unknown += tensors[i].encoding->kind == TARE_KIND_UNKNOWN;
    if (n_unknown == 0) return TARE_OK;
    uint64_t *offsets = tare_alloc(r->m->allocator, size), end = r->w.reader->size;
    if (!offsets) return tare_fail(err, TARE_ERR_NOMEM, "offsets");
    for (size_t i = 0; i < n; i++) offsets[i] = tensors[i].planes[0].offset;
    qsort(offsets, n, sizeof *offsets, compare_u64);
    for (size_t i = 0; i < n; i++) {
        tare_plane *p = (tare_plane *)tensors[i].planes;
        if (tensors[i].encoding->kind != TARE_KIND_UNKNOWN || tensors[i].n_elements == 0) continue;
        uint64_t next = next_above(offsets, n, p->offset, end);
        p->size = next > p->offset ? next - p->offset : 0;
        tensors[i].size_bytes = p->size;
        if (p->size) continue;
        r->m->files[r->file].is_truncated = true;
        tare_gguf_report_tensor(r, TARE_LEVEL_ERROR, TARE_ERR_TRUNCATED, "gguf.truncated-data",
                                r->first_tensor + i, place_of(r, r->first_tensor + i),
                                "tensor data beyond the end of the file");
    }
    tare_free(r->m->allocator, offsets, size);
    return TARE_OK;
}

/* Whether another file of this kind begins at an offset. */
static bool has_magic_at(const tare_gguf_reader *r, uint64_t offset) {
    char magic[4];
    return r->w.reader->size - offset >= sizeof magic &&
           tare_reader_read(r->w.reader, offset, magic, sizeof magic, NULL) == TARE_OK &&
           memcmp(magic, "GGUF", sizeof magic) == 0;
}

/* Bytes after the last tensor and its padding. */
static void report_tail(tare_gguf_reader *r) {
    uint64_t end = r->data_offset, padded;
    const tare_catalog *c = &r->m->catalog;
    for (size_t i = r->first_tensor; i < c->n_tensors; i++)
        end = tare_max_u64(end, c->tensors[i].planes[0].offset + c->tensors[i].size_bytes);
    if (!tare_align_u64(end - r->data_offset, r->alignment, &padded)) return;
    if (!tare_add_u64(padded, r->data_offset, &padded) || padded >= r->w.reader->size) return;
    r->is_joined = has_magic_at(r, padded);
    tare_gguf_report_file(
        r, TARE_LEVEL_WARNING, "gguf.tail", padded,
        r->is_joined ? "another GGUF file follows the last tensor: shards that were joined "
                       "with cat are not read as one, take the shards themselves"
                     : "bytes after the end of the last tensor");
}

static tare_status place_tensors(tare_gguf_reader *r, tare_error *err) {
    tare_catalog *c = &r->m->catalog;
    r->infos_end = tare_cursor_offset(&r->w.c);
    if (!tare_align_u64(r->infos_end, r->alignment, &r->data_offset))
        return tare_fail_at(err, TARE_ERR_CORRUPT, r->infos_end,
                            "data section: its end exceeds 64 bits");
    for (size_t i = r->first_tensor; i < c->n_tensors; i++) {
        tare_plane *p = (tare_plane *)c->tensors[i].planes;
        uint64_t end;
        if (!tare_add_u64(p->offset, r->data_offset, &p->offset) ||
            !tare_add_u64(p->offset, p->size, &end))
            return tensor_fault(r, i, "tensor offset: offset plus size exceeds 64 bits", err);
    }
    TARE_TRY(size_unknown(r, err));
    tare_layout_rules rules = {.file = r->file,
                               .first_tensor = r->first_tensor,
                               .padding_from = r->infos_end,
                               .base = r->data_offset,
                               .end = tare_max_u64(r->data_offset, r->w.reader->size),
                               .alignment = r->alignment,
                               .allows_gaps = true,
                               .may_be_truncated = true,
                               .truncated_code = "gguf.truncated-data",
                               .place = place_of,
                               .place_ctx = r};
    TARE_TRY(tare_layout_check(r->m, &rules, &r->fillers, &r->n_fillers, r->report, err));
    report_tail(r);
    return TARE_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static tare_status read_parts(tare_gguf_reader *r, bool quiet, tare_error *err) {
    tare_catalog *c = &r->m->catalog;
    r->first_key = c->n_metadata;
    r->first_tensor = c->n_tensors;
    r->first_resource = c->n_resources;
    r->alignment = TARE_GGUF_ALIGNMENT;
    r->split_no = r->split_count = r->split_tensors = (tare_gguf_split_key){.item = -1};
    TARE_TRY(tare_gguf_window_begin(&r->w, r->m, r->file, err));
    r->w.discards = quiet;
    TARE_TRY(read_header(r, err));
    TARE_TRY(read_keys(r, quiet, err));
    if (quiet) return TARE_OK;
    TARE_TRY(read_infos(r, err));
    TARE_TRY(place_tensors(r, err));
    r->m->directory_bytes += r->infos_end - r->w.skipped;
    return tare_gguf_window_end(&r->w, err);
}

tare_status tare_gguf_read_file(tare_gguf_reader *r, tare_error *err) {
    tare_status s = read_parts(r, false, err);
    tare_gguf_window_free(&r->w);
    if (s != TARE_OK && r->is_set) tare_error_file(err, r->m->files[r->file].name);
    return s;
}

tare_status tare_gguf_peek(tare_gguf_reader *r, tare_error *err) {
    tare_report *report = r->report;
    r->report = NULL;
    tare_status s = read_parts(r, true, err);
    r->report = report;
    tare_gguf_window_free(&r->w);
    return s;
}
