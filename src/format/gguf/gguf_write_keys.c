/* SPDX-License-Identifier: MIT
 *
 * The keys of a GGUF file to be: which, in what order, how large, and their bytes. */
#include "base/arith.h"
#include "base/str.h"
#include "format/gguf/gguf_write.h"
#include "model/value.h"

#define MOST_KEY 65535
/* Arrays of this size or more are written directly from the source. */
#define LARGE_ARRAY 4096

/* ---- which ----------------------------------------------------------------------------------- */

int64_t tare_gguf_find_alignment(const tare_catalog *c) {
    for (size_t i = 0; i < c->n_metadata; i++)
        if (c->metadata[i].space == TARE_KEYS_MODEL &&
            tare_str_is(c->metadata[i].key, TARE_GGUF_ALIGNMENT_KEY))
            return (int64_t)i;
    return -1;
}

tare_value tare_gguf_number(tare_value_type type, uint64_t n) {
    tare_value v = {.type = type};
    if (type == TARE_VALUE_I32)
        v.as.i = (int64_t)n;
    else
        v.as.u = n;
    return v;
}

static void put_resource(tare_gguf_writer *w, size_t i) {
    const tare_resource *r = &w->c->resources[i].info;
    tare_array a = {.type = TARE_VALUE_U8, .count = r->size, .size_bytes = r->size};
    w->keys[w->n_keys++] = (tare_gguf_key_out){.prefix = TARE_STR(TARE_GGUF_RESOURCE_PREFIX),
                                               .key = r->name,
                                               .value = {.type = TARE_VALUE_ARRAY, .as.a = a},
                                               .is_resource = true,
                                               .resource = i};
}

static void put_key(tare_gguf_writer *w, const tare_metadata *e) {
    tare_gguf_key_out k = {.prefix = {"", 0}, .key = e->key, .value = e->value};
    if (e->space == TARE_KEYS_SAFETENSORS)
        k.prefix = TARE_STR(TARE_GGUF_PAIR_PREFIX);
    else if (tare_str_is(e->key, TARE_GGUF_ALIGNMENT_KEY))
        k.value = tare_gguf_number(TARE_VALUE_U32, w->alignment);
    w->keys[w->n_keys++] = k;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint64_t value_size(const tare_gguf_writer *w, const tare_value *v) {
    if (v->type == TARE_VALUE_STRING) return 8 + (uint64_t)v->as.s.len;
    if (v->type != TARE_VALUE_ARRAY) return tare_value_type_size(v->type);
    const tare_array *a = &v->as.a;
    if (tare_value_type_size(a->type) || tare_array_is_packed(a, w->is_big_endian))
        return 12 + a->size_bytes;
    tare_array_walk walk;
    tare_value element;
    uint64_t sum = 12;
    tare_array_begin(&walk, a);
    while (tare_array_next(&element, &walk)) sum += value_size(w, &element);
    return sum;
}

uint64_t tare_gguf_key_size(const tare_gguf_writer *w, const tare_gguf_key_out *k) {
    return 8 + (uint64_t)k->prefix.len + k->key.len + 4 + value_size(w, &k->value);
}

static tare_status measure_keys(tare_gguf_writer *w, tare_error *err) {
    for (size_t i = 0; i < w->n_keys; i++) {
        const tare_gguf_key_out *k = &w->keys[i];
        if (k->prefix.len + k->key.len > MOST_KEY) {
            tare_fail(err, TARE_ERR_UNSUPPORTED, "key longer than GGUF allows");
            tare_error_item(err, TARE_ITEM_KEY, (int64_t)i, k->key);
            return TARE_ERR_UNSUPPORTED;
        }
        if (!tare_add_u64(w->keys_size, tare_gguf_key_size(w, k), &w->keys_size))
            return tare_fail(err, TARE_ERR_LIMIT, "metadata: its size exceeds 64 bits");
    }
    return TARE_OK;
}

/* The keys in order: metadata, then resources; where a file is repeated, resources keep their
 * positions. A set of shards gets its own keys about the split. */
tare_status tare_gguf_list_keys(tare_gguf_writer *w, bool drops_split, tare_error *err) {
    const tare_catalog *c = w->c;
    const tare_gguf_layout *d = w->detail;
    bool has_places = d && d->n_resources == c->n_resources;
    size_t r = 0;
    w->keys = TARE_NEW_ARRAY(w->plan->arena, tare_gguf_key_out,
                             (uint64_t)c->n_metadata + c->n_resources + 4);
    if (!w->keys) return tare_fail(err, TARE_ERR_NOMEM, "list of keys");
    for (size_t i = 0; i < c->n_metadata; i++) {
        while (has_places && r < c->n_resources && d->resource_places[r] <= i) put_resource(w, r++);
        if (!drops_split || !tare_metadata_is_split(&c->metadata[i])) put_key(w, &c->metadata[i]);
    }
    while (r < c->n_resources) put_resource(w, r++);
    if (tare_gguf_find_alignment(c) < 0 && w->alignment != TARE_GGUF_ALIGNMENT)
        w->keys[w->n_keys++] =
            (tare_gguf_key_out){.prefix = {"", 0},
                                .key = TARE_STR(TARE_GGUF_ALIGNMENT_KEY),
                                .value = tare_gguf_number(TARE_VALUE_U32, w->alignment)};
    return measure_keys(w, err);
}

/* ---- header bytes ---------------------------------------------------------------------------- */

tare_status tare_gguf_flush(tare_gguf_writer *w, tare_error *err) {
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
static tare_status put_extent(tare_gguf_writer *w, tare_extent e, tare_error *err) {
    TARE_TRY(tare_gguf_flush(w, err));
    e.file = w->file;
    e.offset = w->at;
    w->at += e.size;
    return e.size ? tare_write_plan_add(w->plan, &e, err) : TARE_OK;
}

tare_status tare_gguf_write_key(tare_gguf_writer *w, const tare_gguf_key_out *k, tare_error *err) {
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
