/* SPDX-License-Identifier: MIT
 *
 * The safetensors driver, writing in canonical form: __metadata__ first, tensors in the catalog's
 * order, their data by descending size of the number format, which keeps every tensor aligned to
 * its own numbers, then in the catalog's order; spaces bring the header to a multiple of eight
 * bytes (README of huggingface/safetensors, "Format"). */
#include <stdio.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "format/safetensors/safetensors.h"

#define SIZE_BYTES TARE_SAFETENSORS_SIZE_BYTES

/* Bits of an element, in the order in which data is laid out. */
static const uint32_t widths[] = {64, 32, 16, 8, 6, 4};

#define N_WIDTHS (sizeof widths / sizeof *widths)

static uint32_t width_of(const tare_tensor *t) {
    return (uint32_t)tare_encoding_bits(t->encoding);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static tare_status add_ours(tare_safetensors_writer *w, const char *key, tare_buffer *text,
                            tare_error *err) {
    TARE_TRY(tare_buffer_status(text, err));
    tare_str value =
        tare_arena_str(w->out->arena, (tare_str){(const char *)text->data, text->size});
    if (!value.ptr) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    w->pairs.items[w->pairs.n++] = (tare_safetensors_pair){tare_str_of(key), value, true};
    return TARE_OK;
}

static tare_status add_plain(tare_safetensors_writer *w, const tare_metadata *m, size_t i,
                             tare_error *err) {
    if (!tare_str_is_utf8(m->key) || m->value.type != TARE_VALUE_STRING ||
        !tare_str_is_utf8(m->value.as.s)) {
        tare_fail(err, TARE_ERR_UNSUPPORTED, "safetensors metadata must be strings of UTF-8");
        tare_error_item(err, TARE_ITEM_KEY, (int64_t)i, m->key);
        return TARE_ERR_UNSUPPORTED;
    }
    w->pairs.items[w->pairs.n++] = (tare_safetensors_pair){m->key, m->value.as.s, false};
    return TARE_OK;
}

/* Foreign text under one of our names is dropped if we need the name. */
static bool gives_way(const tare_safetensors_writer *w, const tare_metadata *m, bool has_typed,
                      bool has_resources) {
    if (!(has_typed && tare_str_is(m->key, TARE_SAFETENSORS_TYPED_KEY)) &&
        !(has_resources && tare_str_is(m->key, TARE_SAFETENSORS_RESOURCES_KEY))) {
        return false;
    }
    tare_finding finding = TARE_FINDING(WARNING, TARE_OK, "safetensors.pair-replaced");
    finding.item_kind = TARE_ITEM_KEY;
    finding.item_name = m->key;
    finding.text = TARE_STR("left out: the name is taken for typed keys or resources");
    tare_report_add(w->options->report, &finding);
    return true;
}

/* transformers refuses a __metadata__ without "format". Pairs that were there before go over as they
 * are: only what is new here gets it. */
static void add_format(tare_safetensors_writer *w) {
    const tare_model *source = w->options->source;
    bool is_ours = false;
    for (size_t i = 0; i < w->pairs.n; i++) {
        if (tare_str_is(w->pairs.items[i].key, TARE_SAFETENSORS_FORMAT_KEY)) return;
        is_ours = w->pairs.items[i].is_ours;
    }
    if (!is_ours && (!w->pairs.n || !source || source->summary.has_pairs)) return;
    w->pairs.items[w->pairs.n++] = (tare_safetensors_pair){
        TARE_STR(TARE_SAFETENSORS_FORMAT_KEY), TARE_STR(TARE_SAFETENSORS_FORMAT), is_ours};
}

static tare_status make_pairs(tare_safetensors_writer *w, tare_error *err) {
    const tare_catalog *c = w->catalog;
    size_t n_typed = 0, n_resources = w->with_resources ? c->n_resources : 0;
    w->pairs.is_asked_for = c->has_pairs && !w->out->is_directory;
    w->pairs.items = TARE_NEW_ARRAY(w->out->arena, tare_safetensors_pair, c->n_metadata + 3);
    if (!w->pairs.items) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    for (size_t i = 0; i < c->n_metadata; i++) n_typed += c->metadata[i].space == TARE_KEYS_MODEL;
    for (size_t i = 0; i < c->n_metadata; i++) {
        const tare_metadata *m = &c->metadata[i];
        if (m->space != TARE_KEYS_SAFETENSORS) continue;
        if (!gives_way(w, m, n_typed > 0, n_resources > 0)) TARE_TRY(add_plain(w, m, i, err));
    }
    tare_status status = TARE_OK;
    tare_buffer text;
    tare_buffer_init(&text, w->out->arena->allocator);
    if (n_typed) {
        tare_metadata_to_json(&text, c->metadata, c->n_metadata, TARE_KEYS_MODEL);
        status = add_ours(w, TARE_SAFETENSORS_TYPED_KEY, &text, err);
        text.size = 0;
    }
    if (n_resources && status == TARE_OK) {
        status = tare_resources_to_json(&text, c->resources, n_resources, w->options->source, err);
        if (status == TARE_OK) status = add_ours(w, TARE_SAFETENSORS_RESOURCES_KEY, &text, err);
    }
    tare_buffer_free(&text);
    if (status == TARE_OK) add_format(w);
    return status;
}

/* ---- header ---------------------------------------------------------------------------------- */

static void put_tensor(tare_buffer *out, const tare_tensor *t, uint64_t begin) {
    tare_buffer_put_json(out, t->name);
    tare_buffer_put_text(out, ":{\"dtype\":\"");
    tare_buffer_put_text(out, tare_safetensors_dtype_of(t->encoding)->name);
    tare_buffer_put_text(out, "\",\"shape\":[");
    for (uint32_t d = 0; d < t->n_dims; d++) {
        if (d > 0) tare_buffer_put_u8(out, ',');
        tare_safetensors_put_number(out, t->dims[d]);
    }
    tare_buffer_put_text(out, "],\"data_offsets\":[");
    tare_safetensors_put_number(out, begin);
    tare_buffer_put_u8(out, ',');
    tare_safetensors_put_number(out, begin + t->size_bytes);
    tare_buffer_put_text(out, "]}");
}

/* ---- one file -------------------------------------------------------------------------------- */

/* The next tensor in data order, and its position in the data section. */
typedef struct data_walk {
    const tare_catalog *catalog;
    const tare_safetensors_part *part;
    size_t width, next;
    uint64_t offset, end;
} data_walk;

static const tare_tensor *next_in_data(data_walk *d, size_t *index) {
    for (; d->width < N_WIDTHS; d->width++, d->next = 0) {
        while (d->next < d->part->n) {
            *index = d->part->first + d->next++;
            const tare_tensor *t = &d->catalog->tensors[*index];
            if (width_of(t) != widths[d->width]) continue;
            d->offset = d->end;
            d->end += t->size_bytes;
            return t;
        }
    }
    return NULL;
}

static tare_status put_header(tare_safetensors_writer *w, const tare_safetensors_part *part,
                              uint32_t file, uint64_t *data_offset, tare_error *err) {
    uint64_t *begins = tare_alloc(w->out->arena->allocator, part->n * sizeof *begins);
    if (!begins) return tare_fail(err, TARE_ERR_NOMEM, "safetensors header");
    data_walk d = {.catalog = w->catalog, .part = part};
    for (size_t i; next_in_data(&d, &i);) begins[i - part->first] = d.offset;

    tare_buffer header;
    tare_buffer_init(&header, w->out->arena->allocator);
    tare_buffer_put_zeros(&header, SIZE_BYTES);
    tare_buffer_put_u8(&header, '{');
    tare_safetensors_put_metadata(&header, &w->pairs, part->is_first);
    for (size_t i = 0; i < part->n; i++) {
        if (header.size > SIZE_BYTES + 1) tare_buffer_put_u8(&header, ',');
        put_tensor(&header, &w->catalog->tensors[part->first + i], begins[i]);
    }
    tare_buffer_put_u8(&header, '}');
    tare_free(w->out->arena->allocator, begins, part->n * sizeof *begins);

    uint64_t size = 0;
    tare_status status = tare_buffer_status(&header, err);
    if (status == TARE_OK) {
        tare_align_u64(header.size - SIZE_BYTES + w->options->spare, 8, &size);
        status = tare_safetensors_add_header(w, file, &header, size, data_offset, err);
    }
    tare_buffer_free(&header);
    return status;
}

static tare_status plan_part(tare_safetensors_writer *w, const tare_safetensors_part *part,
                             tare_error *err) {
    uint32_t file;
    uint64_t data_offset = 0;
    TARE_TRY(tare_write_plan_add_file(w->out, part->name, &file, err));
    TARE_TRY(put_header(w, part, file, &data_offset, err));
    data_walk d = {.catalog = w->catalog, .part = part};
    for (size_t i; next_in_data(&d, &i);) {
        tare_extent extent = {.kind = TARE_EXTENT_TENSOR,
                              .file = file,
                              .offset = data_offset + d.offset,
                              .size = w->catalog->tensors[i].size_bytes,
                              .item = i};
        TARE_TRY(tare_write_plan_add(w->out, &extent, err));
    }
    w->out->files[file].size = data_offset + d.end;
    return TARE_OK;
}

/* ---- shards ---------------------------------------------------------------------------------- */

/* The maximum size of a tensor's entry in the header: each number has up to 20 digits. */
static uint64_t entry_bound(const tare_tensor *t) {
    uint64_t n =
        sizeof ",\"\":{\"dtype\":\"F8_E4M3FNUZ\",\"shape\":[],\"data_offsets\":[,]}" + 2 * 20;
    for (size_t i = 0; i < t->name.len; i++) {
        uint8_t c = (uint8_t)t->name.ptr[i];
        n += c < 0x20 ? 6 : c == '"' || c == '\\' ? 2 : 1;
    }
    return n + t->n_dims * UINT64_C(21);
}

/* The maximum size of a file before it has a tensor: header size, braces, metadata, padding. */
static tare_status base_size(tare_safetensors_writer *w, bool with_ours, uint64_t *size,
                             tare_error *err) {
    tare_buffer text;
    tare_buffer_init(&text, w->out->arena->allocator);
    tare_safetensors_put_metadata(&text, &w->pairs, with_ours);
    tare_status status = tare_buffer_status(&text, err);
    *size = SIZE_BYTES + sizeof "{}" + 7 + text.size;
    tare_buffer_free(&text);
    return status;
}

/* Cuts the catalog as the caller wants it. */
static void cut_as_told(const tare_safetensors_writer *w, tare_safetensors_part *parts, size_t *n) {
    const uint32_t *part_of = w->options->part_of;
    *n = 1;
    parts[0] = (tare_safetensors_part){.is_first = true};
    for (size_t i = 0; i < w->catalog->n_tensors; i++) {
        if (i > 0 && part_of[i] != part_of[i - 1])
            parts[(*n)++] = (tare_safetensors_part){.first = i};
        parts[*n - 1].n++;
    }
}

/* Cuts the catalog into parts whose files are at most shard_size bytes, or hold one tensor. */
static tare_status cut(tare_safetensors_writer *w, tare_safetensors_part *parts, size_t *n,
                       tare_error *err) {
    uint64_t first_base, other_base, size;
    TARE_TRY(base_size(w, true, &first_base, err));
    TARE_TRY(base_size(w, false, &other_base, err));
    *n = 1;
    parts[0] = (tare_safetensors_part){.is_first = true};
    size = first_base;
    for (size_t i = 0; i < w->catalog->n_tensors; i++) {
        uint64_t more = entry_bound(&w->catalog->tensors[i]) + w->catalog->tensors[i].size_bytes;
        if (parts[*n - 1].n > 0 && size + more > w->options->shard_size) {
            parts[(*n)++] = (tare_safetensors_part){.first = i};
            size = other_base;
        }
        parts[*n - 1].n++;
        size += more;
    }
    if (*n <= w->options->limits->shards) return TARE_OK;
    return tare_fail(err, TARE_ERR_LIMIT, "number of shards: a larger shard size is needed");
}

static tare_status name_part(tare_safetensors_writer *w, tare_safetensors_part *p, size_t i,
                             size_t n, tare_error *err) {
    char name[64];
    if (n == 1) {
        snprintf(name, sizeof name, TARE_SAFETENSORS_MODEL TARE_SAFETENSORS_SUFFIX);
    } else {
        snprintf(name, sizeof name,
                 TARE_SAFETENSORS_MODEL "-%05zu-of-%05zu" TARE_SAFETENSORS_SUFFIX, i + 1, n);
    }
    p->name = tare_arena_str(w->out->arena, tare_str_of(name)).ptr;
    return p->name ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "names of shards");
}

/* A directory: one file, or shards and their index, which comes last. */
static tare_status plan_directory(tare_safetensors_writer *w, tare_error *err) {
    size_t n_tensors = w->catalog->n_tensors, n = 1;
    tare_safetensors_part *parts =
        TARE_NEW_ARRAY(w->out->arena, tare_safetensors_part, n_tensors + 1);
    if (!parts) return tare_fail(err, TARE_ERR_NOMEM, "shards");
    parts[0] = (tare_safetensors_part){.n = n_tensors, .is_first = true};
    if (w->options->shard_size) TARE_TRY(cut(w, parts, &n, err));
    if (w->options->part_of) cut_as_told(w, parts, &n);
    for (size_t i = 0; i < n; i++) {
        TARE_TRY(name_part(w, &parts[i], i, n, err));
        TARE_TRY(plan_part(w, &parts[i], err));
    }
    if (n == 1) return TARE_OK;
    return tare_safetensors_plan_index(w, TARE_SAFETENSORS_MODEL TARE_SAFETENSORS_INDEX_SUFFIX,
                                       parts, n, err);
}

/* ---- the driver ------------------------------------------------------------------------------ */

static tare_status check_tensor(const tare_tensor *t, uint64_t *total, tare_error *err) {
    if (!tare_safetensors_dtype_of(t->encoding)) {
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "safetensors has no such number format");
    }
    if (!tare_format_caps_has_name(&tare_safetensors_caps, t->name)) {
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "safetensors cannot hold the tensor's name");
    }
    /* half the range: what is added to it for headers cannot overflow */
    if (!tare_add_u64(*total, t->size_bytes, total) || *total > INT64_MAX) {
        return tare_fail(err, TARE_ERR_LIMIT, "size of all tensors");
    }
    return TARE_OK;
}

static tare_status check(const tare_catalog *c, const tare_write_options *options,
                         tare_error *err) {
    uint64_t total = 0;
    if (options->order == TARE_ORDER_BIG) {
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "safetensors is always little-endian");
    }
    if (options->alignment > 1) {
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "safetensors has no alignment to choose");
    }
    for (size_t i = 0; i < c->n_tensors; i++) {
        tare_status status = check_tensor(&c->tensors[i], &total, err);
        if (status == TARE_OK) continue;
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, c->tensors[i].name);
        return status;
    }
    return TARE_OK;
}

tare_status tare_safetensors_plan_files(tare_write_plan *out, const tare_catalog *catalog,
                                        const tare_write_options *options, bool with_resources,
                                        tare_error *err) {
    tare_safetensors_writer w = {out, catalog, options, with_resources, {0}};
    TARE_TRY(check(catalog, options, err));
    TARE_TRY(make_pairs(&w, err));
    out->is_big_endian = false;
    out->is_directory = out->is_directory || options->shard_size > 0 || options->part_of;
    if (tare_safetensors_can_splice(&w)) return tare_safetensors_splice(&w, err);
    if (out->is_directory) return plan_directory(&w, err);
    tare_safetensors_part whole = {.n = catalog->n_tensors, .is_first = true};
    return plan_part(&w, &whole, err);
}

tare_status tare_safetensors_plan(tare_write_plan *out, const tare_catalog *catalog,
                                  const tare_write_options *options, tare_error *err) {
    return tare_safetensors_plan_files(out, catalog, options, true, err);
}
