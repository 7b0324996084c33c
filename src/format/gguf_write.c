/* SPDX-License-Identifier: MIT
 *
 * Laying out GGUF version 3, in either byte order: one file or shards. A model that was read from
 * one GGUF file keeps its offsets, gaps and the bytes in them, so that nothing changes where
 * nothing was changed; everything else is packed as ggml does it. */
#include <inttypes.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/str.h"
#include "format/gguf.h"
#include "format/gguf_types.h"
#include "model/value.h"

#define HEADER_BYTES 24
#define MOST_KEY     65535
#define MOST_SHARDS  65535 /* split.count is a u16 */
/* Arrays from this size on are written from where they lie. */
#define LARGE_ARRAY 4096

/* One key of a file to be: an entry of the catalog, perhaps with another value, or a resource. */
typedef struct key_out {
    tare_str prefix, key;
    tare_value value;
    bool is_resource;
    size_t resource;
} key_out;

typedef struct writer {
    tare_write_plan *plan;
    const tare_catalog *c;
    const tare_write_options *options;
    const tare_layout *kept; /* of a source that is repeated, else NULL */
    const tare_gguf_layout *detail;
    bool is_big_endian;
    uint32_t alignment;
    key_out *keys; /* of the only or first file; split keys, where there are any, are the last */
    size_t n_keys;
    uint64_t keys_size;
    /* The file that is being laid out. */
    tare_buffer run; /* header bytes not yet in an extent */
    uint32_t file;
    uint64_t at; /* where the run begins */
} writer;

static tare_status tensor_fault(const writer *w, size_t i, const char *what, tare_error *err) {
    tare_fail(err, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, w->c->tensors[i].name);
    return TARE_ERR_UNSUPPORTED;
}

/* ---- what is written ------------------------------------------------------------------------- */

static bool is_gguf(const tare_layout *l) {
    return l && l->format == &tare_format_gguf;
}

/* The type number of a tensor; false: GGUF has none. Unknown types come from GGUF, perhaps carried
 * through another format on a record; one that claims a number which is known is none. */
static bool type_of(const tare_tensor *t, uint32_t *type) {
    if (t->encoding->kind != TARE_KIND_UNKNOWN) return tare_gguf_type_of(t->encoding, type);
    *type = t->foreign_type;
    return tare_gguf_type_encoding(t->foreign_type) == NULL;
}

static tare_status check_tensors(const writer *w, tare_error *err) {
    const tare_layout *l = w->c->layout;
    uint32_t type;
    bool turns = w->is_big_endian != (l && l->is_big_endian);
    for (size_t i = 0; i < w->c->n_tensors; i++) {
        const tare_tensor *t = &w->c->tensors[i];
        if (!type_of(t, &type)) return tensor_fault(w, i, "GGUF has no such type", err);
        if (t->encoding->kind == TARE_KIND_UNKNOWN && turns)
            return tensor_fault(w, i, "the byte order of an unknown type cannot be changed", err);
    }
    return TARE_OK;
}

static int64_t find_alignment(const tare_catalog *c) {
    for (size_t i = 0; i < c->n_metadata; i++)
        if (c->metadata[i].space == TARE_KEYS_MODEL &&
            tare_str_is(c->metadata[i].key, TARE_GGUF_ALIGNMENT_KEY))
            return (int64_t)i;
    return -1;
}

/* What was asked for, else what the key says, which holds for every file that was a GGUF once. */
static uint32_t choose_alignment(const tare_catalog *c, const tare_write_options *options) {
    int64_t i = find_alignment(c);
    if (options->alignment) return options->alignment;
    if (i >= 0 && c->metadata[i].value.type == TARE_VALUE_U32 && c->metadata[i].value.as.u)
        return (uint32_t)c->metadata[i].value.as.u;
    return TARE_GGUF_ALIGNMENT;
}

static tare_value number(tare_value_type type, uint64_t n) {
    tare_value v = {.type = type};
    if (type == TARE_VALUE_I32)
        v.as.i = (int64_t)n;
    else
        v.as.u = n;
    return v;
}

static void put_resource(writer *w, size_t i) {
    const tare_resource *r = &w->c->resources[i].info;
    tare_array a = {.type = TARE_VALUE_U8, .count = r->size, .size_bytes = r->size};
    w->keys[w->n_keys++] = (key_out){.prefix = TARE_STR(TARE_GGUF_RESOURCE_PREFIX),
                                     .key = r->name,
                                     .value = {.type = TARE_VALUE_ARRAY, .as.a = a},
                                     .is_resource = true,
                                     .resource = i};
}

static void put_key(writer *w, const tare_metadata *e) {
    key_out k = {.prefix = {"", 0}, .key = e->key, .value = e->value};
    if (e->space == TARE_KEYS_SAFETENSORS)
        k.prefix = TARE_STR(TARE_GGUF_PAIR_PREFIX);
    else if (tare_str_is(e->key, TARE_GGUF_ALIGNMENT_KEY))
        k.value = number(TARE_VALUE_U32, w->alignment);
    w->keys[w->n_keys++] = k;
}

static bool is_split_key(const tare_metadata *e) {
    return e->space == TARE_KEYS_MODEL && tare_str_starts(e->key, TARE_STR("split.")) &&
           (tare_str_is(e->key, "split.no") || tare_str_is(e->key, "split.count") ||
            tare_str_is(e->key, "split.tensors.count"));
}

/* The keys in order: metadata, then resources; where a file is repeated, resources stand where
 * they stood. A set of shards gets keys about the split of its own. */
static tare_status list_keys(writer *w, bool drops_split, tare_error *err) {
    const tare_catalog *c = w->c;
    const tare_gguf_layout *d = w->detail;
    bool has_places = d && d->n_resources == c->n_resources;
    size_t r = 0;
    w->keys = TARE_NEW_ARRAY(w->plan->arena, key_out, (uint64_t)c->n_metadata + c->n_resources + 4);
    if (!w->keys) return tare_fail(err, TARE_ERR_NOMEM, "list of keys");
    for (size_t i = 0; i < c->n_metadata; i++) {
        while (has_places && r < c->n_resources && d->resource_places[r] <= i) put_resource(w, r++);
        if (!drops_split || !is_split_key(&c->metadata[i])) put_key(w, &c->metadata[i]);
    }
    while (r < c->n_resources) put_resource(w, r++);
    if (find_alignment(c) < 0 && w->alignment != TARE_GGUF_ALIGNMENT)
        w->keys[w->n_keys++] = (key_out){.prefix = {"", 0},
                                         .key = TARE_STR(TARE_GGUF_ALIGNMENT_KEY),
                                         .value = number(TARE_VALUE_U32, w->alignment)};
    return TARE_OK;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint64_t value_size(const writer *w, const tare_value *v) {
    if (v->type == TARE_VALUE_STRING) return 8 + (uint64_t)v->as.s.len;
    if (v->type != TARE_VALUE_ARRAY) return tare_value_type_size(v->type);
    const tare_array *a = &v->as.a;
    if (tare_value_type_size(a->type) || tare_array_is_packed(a, w->is_big_endian))
        return 12 + a->size_bytes;
    tare_array_walk walk;
    tare_value element;
    uint64_t sum = 12;
    tare_array_begin(&walk, a);
    while (tare_array_next(&walk, &element)) sum += value_size(w, &element);
    return sum;
}

static uint64_t key_size(const writer *w, const key_out *k) {
    return 8 + (uint64_t)k->prefix.len + k->key.len + 4 + value_size(w, &k->value);
}

static uint64_t info_size(const tare_tensor *t) {
    return 8 + (uint64_t)t->name.len + 4 + 8 * (uint64_t)t->n_dims + 4 + 8;
}

static tare_status measure_keys(writer *w, tare_error *err) {
    for (size_t i = 0; i < w->n_keys; i++) {
        const key_out *k = &w->keys[i];
        if (k->prefix.len + k->key.len > MOST_KEY) {
            tare_fail(err, TARE_ERR_UNSUPPORTED, "key longer than GGUF allows");
            tare_error_item(err, TARE_ITEM_KEY, (int64_t)i, k->key);
            return TARE_ERR_UNSUPPORTED;
        }
        if (!tare_add_u64(w->keys_size, key_size(w, k), &w->keys_size))
            return tare_fail(err, TARE_ERR_LIMIT, "metadata beyond 64 bits");
    }
    return TARE_OK;
}

/* ---- header bytes ---------------------------------------------------------------------------- */

/* Turns the run of bytes so far into an extent. */
static tare_status flush(writer *w, tare_error *err) {
    TARE_TRY(tare_buffer_status(&w->run, err));
    if (w->run.size == 0) return TARE_OK;
    uint8_t *bytes = tare_arena_take(w->plan->arena, w->run.size);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "header");
    memcpy(bytes, w->run.data, w->run.size);
    tare_extent e = {.kind = TARE_EXTENT_BYTES,
                     .file = w->file,
                     .offset = w->at,
                     .size = w->run.size,
                     .bytes = bytes};
    w->at += w->run.size;
    w->run.size = 0;
    return tare_write_plan_add(w->plan, &e, err);
}

/* An extent that continues the header. */
static tare_status put_extent(writer *w, tare_extent e, tare_error *err) {
    TARE_TRY(flush(w, err));
    e.file = w->file;
    e.offset = w->at;
    w->at += e.size;
    return e.size ? tare_write_plan_add(w->plan, &e, err) : TARE_OK;
}

static tare_status write_key(writer *w, const key_out *k, tare_error *err) {
    const tare_array *a = &k->value.as.a;
    tare_buffer_put_u64(&w->run, k->prefix.len + k->key.len, w->is_big_endian);
    tare_buffer_put_str(&w->run, k->prefix);
    tare_buffer_put_str(&w->run, k->key);
    tare_buffer_put_u32(&w->run, k->value.type, w->is_big_endian);
    bool is_large = k->value.type == TARE_VALUE_ARRAY && a->size_bytes >= LARGE_ARRAY &&
                    tare_array_is_packed(a, w->is_big_endian);
    if (!k->is_resource && !is_large) {
        tare_value_pack(&w->run, &k->value, w->is_big_endian);
        return TARE_OK;
    }
    tare_buffer_put_u32(&w->run, a->type, w->is_big_endian);
    tare_buffer_put_u64(&w->run, a->count, w->is_big_endian);
    tare_extent e = {.kind = TARE_EXTENT_BYTES, .size = a->size_bytes, .bytes = a->bytes};
    if (k->is_resource)
        e = (tare_extent){.kind = TARE_EXTENT_RESOURCE, .size = a->size_bytes, .item = k->resource};
    return put_extent(w, e, err);
}

static void write_info(writer *w, const tare_tensor *t, uint64_t relative) {
    uint32_t type = 0;
    type_of(t, &type);
    tare_buffer_put_u64(&w->run, t->name.len, w->is_big_endian);
    tare_buffer_put_str(&w->run, t->name);
    tare_buffer_put_u32(&w->run, t->n_dims, w->is_big_endian);
    for (uint32_t d = t->n_dims; d-- > 0;)
        tare_buffer_put_u64(&w->run, t->dims[d], w->is_big_endian);
    tare_buffer_put_u32(&w->run, type, w->is_big_endian);
    tare_buffer_put_u64(&w->run, relative, w->is_big_endian);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A file to be: tensors [first, end) and some keys. */
typedef struct part {
    size_t first, end;
    const key_out *keys;
    size_t n_keys;
    uint64_t keys_size;
} part;

static tare_status align(const writer *w, uint64_t a, uint64_t *out, tare_error *err) {
    return tare_align_u64(a, w->alignment, out)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_LIMIT, "file beyond 64 bits");
}

static tare_status header_size(const writer *w, const part *p, uint64_t *out, tare_error *err) {
    *out = HEADER_BYTES + p->keys_size;
    for (size_t i = p->first; i < p->end; i++) *out += info_size(&w->c->tensors[i]);
    return *out < p->keys_size ? tare_fail(err, TARE_ERR_LIMIT, "file beyond 64 bits") : TARE_OK;
}

/* Where tensor i lies in the data section of its file, and where the next may. */
static tare_status place_next(const writer *w, size_t i, uint64_t *relative, uint64_t *running,
                              tare_error *err) {
    const tare_tensor *t = &w->c->tensors[i];
    uint64_t end;
    *relative = w->kept ? t->planes[0].offset - w->kept->data_offset : *running;
    if (!tare_add_u64(*relative, t->size_bytes, &end))
        return tare_fail(err, TARE_ERR_LIMIT, "file beyond 64 bits");
    if (!w->kept) return align(w, end, running, err);
    if (t->size_bytes) *running = tare_max_u64(*running, end); /* an empty one may lie anywhere */
    return TARE_OK;
}

static tare_status write_header(writer *w, const part *p, tare_error *err) {
    uint64_t running = 0, relative;
    w->at = 0;
    tare_buffer_put_text(&w->run, "GGUF");
    tare_buffer_put_u32(&w->run, 3, w->is_big_endian);
    tare_buffer_put_u64(&w->run, p->end - p->first, w->is_big_endian);
    tare_buffer_put_u64(&w->run, p->n_keys, w->is_big_endian);
    for (size_t i = 0; i < p->n_keys; i++) TARE_TRY(write_key(w, &p->keys[i], err));
    for (size_t i = p->first; i < p->end; i++) {
        TARE_TRY(place_next(w, i, &relative, &running, err));
        write_info(w, &w->c->tensors[i], relative);
    }
    return flush(w, err);
}

static tare_status write_data(writer *w, const part *p, uint64_t data_offset, uint64_t *end,
                              tare_error *err) {
    uint64_t running = 0, relative;
    for (size_t i = p->first; i < p->end; i++) {
        TARE_TRY(place_next(w, i, &relative, &running, err));
        tare_extent e = {.kind = TARE_EXTENT_TENSOR,
                         .file = w->file,
                         .size = w->c->tensors[i].size_bytes,
                         .item = i};
        uint64_t last;
        if (!tare_add_u64(data_offset, relative, &e.offset) ||
            !tare_add_u64(e.offset, e.size, &last))
            return tare_fail(err, TARE_ERR_LIMIT, "file beyond 64 bits");
        if (e.size) TARE_TRY(tare_write_plan_add(w->plan, &e, err));
    }
    return tare_add_u64(data_offset, running, end)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_LIMIT, "file beyond 64 bits");
}

/* The gaps of a file that is repeated. What stands before the data is only repeated where the
 * header has kept its size; otherwise it is padding anew. */
static tare_status write_fillers(writer *w, uint64_t header, uint64_t data_offset, uint64_t *end,
                                 tare_error *err) {
    const tare_layout *l = w->kept;
    uint64_t size = w->detail->file_size;
    for (size_t i = 0; i < l->n_fillers; i++) {
        const tare_filler *f = &l->fillers[i];
        bool is_before = f->offset < l->data_offset;
        if (is_before && header != w->detail->infos_end) continue;
        tare_extent e = {.kind = TARE_EXTENT_COPY,
                         .file = w->file,
                         .offset = is_before ? f->offset : f->offset - l->data_offset + data_offset,
                         .size = f->size,
                         .item = f->file,
                         .source_offset = f->offset};
        TARE_TRY(tare_write_plan_add(w->plan, &e, err));
    }
    uint64_t old_end = size >= l->data_offset ? size - l->data_offset + data_offset
                                              : size - w->detail->infos_end + header;
    if (size < l->data_offset && *end == data_offset) *end = tare_min_u64(old_end, data_offset);
    *end = tare_max_u64(*end, old_end);
    return TARE_OK;
}

static tare_status write_part(writer *w, const part *p, const char *name, tare_error *err) {
    uint64_t header, data_offset, end = 0;
    TARE_TRY(tare_write_plan_add_file(w->plan, name, &w->file, err));
    TARE_TRY(header_size(w, p, &header, err));
    TARE_TRY(align(w, header, &data_offset, err));
    TARE_TRY(write_header(w, p, err));
    TARE_TRY(write_data(w, p, data_offset, &end, err));
    if (w->kept) TARE_TRY(write_fillers(w, header, data_offset, &end, err));
    w->plan->files[w->file].size = end;
    return TARE_OK;
}

/* ---- shards ---------------------------------------------------------------------------------- */

/* Keys about the split, and the alignment where it has to be said. */
static size_t split_keys(const writer *w, key_out *out, uint64_t no, uint64_t count,
                         bool with_alignment) {
    const key_out keys[] = {
        {{"", 0}, TARE_STR("split.no"), number(TARE_VALUE_U16, no), false, 0},
        {{"", 0}, TARE_STR("split.count"), number(TARE_VALUE_U16, count), false, 0},
        {{"", 0},
         TARE_STR("split.tensors.count"),
         number(TARE_VALUE_I32, w->c->n_tensors),
         false,
         0},
        {{"", 0},
         TARE_STR(TARE_GGUF_ALIGNMENT_KEY),
         number(TARE_VALUE_U32, w->alignment),
         false,
         0}};
    size_t n = with_alignment && w->alignment != TARE_GGUF_ALIGNMENT ? 4 : 3;
    memcpy(out, keys, n * sizeof *out);
    return n;
}

/* The size of a file of tensors [first, end), nothing written. */
static tare_status part_size(const writer *w, const part *p, uint64_t *out, tare_error *err) {
    uint64_t header, data_offset, running = 0, relative;
    TARE_TRY(header_size(w, p, &header, err));
    TARE_TRY(align(w, header, &data_offset, err));
    for (size_t i = p->first; i < p->end; i++) TARE_TRY(place_next(w, i, &relative, &running, err));
    return tare_add_u64(data_offset, running, out)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_LIMIT, "file beyond 64 bits");
}

/* How far a shard that begins at p->first goes: as long as the whole file stays within the size;
 * but a tensor that would be too large for any shard has one of its own. */
static tare_status fill_part(const writer *w, part *p, uint64_t bare_keys, tare_error *err) {
    uint64_t infos = 0, running = 0, relative, header, size;
    p->end = p->first;
    for (size_t i = p->first; i < w->c->n_tensors; i++) {
        infos += info_size(&w->c->tensors[i]);
        TARE_TRY(place_next(w, i, &relative, &running, err));
        TARE_TRY(align(w, HEADER_BYTES + p->keys_size + infos, &header, err));
        if (tare_add_u64(header, running, &size) && size <= w->options->shard_size) {
            p->end = i + 1;
            continue;
        }
        if (i > p->first) return TARE_OK;
        part alone = {.first = i, .end = i + 1, .keys_size = bare_keys};
        TARE_TRY(part_size(w, &alone, &size, err));
        if (size > w->options->shard_size || p->keys_size == bare_keys) p->end = i + 1;
        return TARE_OK;
    }
    return TARE_OK;
}

/* Walks the shards in order; `count` 0: only counts them. */
static tare_status walk_shards(writer *w, uint64_t count, uint64_t *n, tare_error *err) {
    const char *stem = w->options->stem ? w->options->stem : "model";
    uint64_t bare_keys = 0;
    size_t first = 0;
    *n = 0;
    do {
        key_out own[4];
        size_t n_own = split_keys(w, own, *n, count, *n > 0), name_size = strlen(stem) + 32;
        part p = {.first = first, .keys = own, .n_keys = n_own};
        for (size_t i = 0; i < n_own; i++) p.keys_size += key_size(w, &own[i]);
        if (*n) bare_keys = p.keys_size;
        if (*n == 0) {
            key_out bare[4];
            size_t n_bare = split_keys(w, bare, 0, 0, true);
            for (size_t i = 0; i < n_bare; i++) bare_keys += key_size(w, &bare[i]);
            memcpy(w->keys + w->n_keys, own, n_own * sizeof *own);
            p.keys = w->keys;
            p.n_keys = w->n_keys + n_own;
            p.keys_size += w->keys_size;
        }
        TARE_TRY(fill_part(w, &p, bare_keys, err));
        if (count) {
            char *name = tare_arena_take(w->plan->arena, name_size);
            if (!name) return tare_fail(err, TARE_ERR_NOMEM, "shard name");
            snprintf(name, name_size, "%s-%05" PRIu64 "-of-%05" PRIu64 ".gguf", stem, *n + 1,
                     count);
            TARE_TRY(write_part(w, &p, name, err));
        }
        first = p.end;
        if (++*n > MOST_SHARDS || *n > w->options->limits->shards)
            return tare_fail(err, TARE_ERR_LIMIT, "more shards than GGUF can count");
    } while (first < w->c->n_tensors);
    return TARE_OK;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static tare_status write_all(writer *w, tare_error *err) {
    part whole = {.end = w->c->n_tensors};
    uint64_t size, n, again;
    bool shards = w->options->shard_size > 0;
    TARE_TRY(list_keys(w, shards, err));
    TARE_TRY(measure_keys(w, err));
    whole.keys = w->keys;
    whole.n_keys = w->n_keys;
    whole.keys_size = w->keys_size;
    if (!shards) return write_part(w, &whole, NULL, err);
    w->plan->is_directory = true;
    TARE_TRY(part_size(w, &whole, &size, err));
    if (size <= w->options->shard_size) {
        const char *stem = w->options->stem ? w->options->stem : "model";
        size_t name_size = strlen(stem) + sizeof ".gguf";
        char *name = tare_arena_take(w->plan->arena, name_size);
        if (!name) return tare_fail(err, TARE_ERR_NOMEM, "file name");
        snprintf(name, name_size, "%s.gguf", stem);
        return write_part(w, &whole, name, err);
    }
    TARE_TRY(walk_shards(w, 0, &n, err));
    return walk_shards(w, n, &again, err);
}

/* Repeating needs the layout of one GGUF file, unsplit and of unchanged alignment. */
static void choose_layout(writer *w) {
    const tare_layout *l = w->c->layout;
    if (!w->options->is_identity || !is_gguf(l) || !l->detail || w->options->shard_size) return;
    if (w->alignment != l->alignment) return;
    w->kept = l;
    w->detail = l->detail;
}

tare_status tare_gguf_plan(tare_write_plan *out, const tare_catalog *catalog,
                           const tare_write_options *options, tare_error *err) {
    const tare_layout *l = catalog->layout;
    writer w = {.plan = out, .c = catalog, .options = options};
    if (options->alignment % 8 != 0)
        return tare_fail(err, TARE_ERR_ARG, "alignment: GGUF asks for a multiple of 8");
    w.is_big_endian = options->order == TARE_ORDER_BIG ||
                      (options->order == TARE_ORDER_KEEP && l && l->is_big_endian);
    w.alignment = choose_alignment(catalog, options);
    choose_layout(&w);
    out->is_big_endian = w.is_big_endian;
    TARE_TRY(check_tensors(&w, err));
    tare_buffer_init(&w.run, out->arena->allocator);
    tare_status s = write_all(&w, err);
    tare_buffer_free(&w.run);
    return s;
}
