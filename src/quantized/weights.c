/* SPDX-License-Identifier: MIT
 *
 * A model's packed weights in the place of their parts: the bytes of each are a range of a virtual
 * file, made when they are read. Blocks of rows are kept for a while: what reads them next often
 * wants rows nearby, and transposed codes cost as much for one row as for many. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "model/model_internal.h"
#include "quantized/quantized.h"
#include "quantized/search.h"
#include "quantized/weights.h"

#define BLOCK_BYTES      ((uint64_t)1 << 20) /* of rows that are decoded at once */
#define WIDE_BLOCK_BYTES ((uint64_t)4 << 20) /* of those whose codes lie apart */
#define KEPT_BYTES       ((size_t)16 << 20)

static void free_value(void *ctx, void *value, size_t cost) {
    tare_free(ctx, value, cost);
}

static void close_weights(void *ctx) {
    struct tare_packed_weights *p = ctx;
    if (p->cache) tare_cache_free(p->cache);
}

/* ---- reading ----------------------------------------------------------------------------------- */

static uint64_t row_bytes(const tare_weight *w) {
    return w->size / w->n_rows;
}

static uint64_t block_rows(const tare_weight *w) {
    const bool is_apart = w->order == TARE_ORDER_DOWN || w->order == TARE_ORDER_ACROSS ||
                          w->order == TARE_ORDER_TRANSPOSED;
    uint64_t rows = tare_max_u64((is_apart ? WIDE_BLOCK_BYTES : BLOCK_BYTES) / row_bytes(w), 1);
    if (is_apart && rows > 32) rows = rows / 32 * 32;
    return tare_min_u64(rows, w->n_rows);
}

static tare_status make_block(void **out, size_t *size, const struct tare_packed_weights *p,
                              const tare_weight *w, uint64_t block, tare_error *err) {
    const uint64_t first = block * block_rows(w);
    const uint64_t n = tare_min_u64(block_rows(w), w->n_rows - first);
    if (!tare_size_of_u64(n * row_bytes(w), size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    *out = tare_alloc(p->allocator, *size);
    if (!*out) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    const tare_status status = tare_weight_rows(*out, w, p->stored, first, n, err);
    if (status != TARE_OK) tare_free(p->allocator, *out, *size);
    return status;
}

/* Bytes [at, at + n) of a block of rows. */
static tare_status read_block(uint8_t *out, const struct tare_packed_weights *p, size_t weight,
                              uint64_t block, uint64_t at, size_t n, tare_error *err) {
    const tare_cache_key key = {weight, block};
    tare_cached *entry;
    void *value;
    size_t size;
    switch (tare_cache_take(&entry, p->cache, key, true)) {
    case TARE_CACHE_HELD:
        break;
    case TARE_CACHE_TO_MAKE: {
        const tare_status status = make_block(&value, &size, p, &p->weights[weight], block, err);
        if (status != TARE_OK) {
            tare_cache_fail(p->cache, entry);
            return status;
        }
        tare_cache_fill(p->cache, entry, value, size);
        break;
    }
    default:
        return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    }
    memcpy(out, (const uint8_t *)entry->value + at, n);
    tare_cache_release(p->cache, entry);
    return TARE_OK;
}

static tare_status fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const struct tare_packed_weights *p = ctx;
    uint8_t *out = buf;
    size_t i = tare_part_of(&p->weights->offset, p->n, sizeof *p->weights, offset);
    while (n > 0) {
        const tare_weight *w = &p->weights[i];
        const uint64_t at = offset - w->offset, block_size = block_rows(w) * row_bytes(w);
        if (at == w->size) {
            i++;
            continue;
        }
        const uint64_t in_block = at % block_size;
        const uint64_t take = tare_min_u64(tare_min_u64(block_size - in_block, w->size - at), n);
        TARE_TRY(read_block(out, p, i, at / block_size, in_block, (size_t)take, err));
        out += take;
        offset += take;
        n -= (size_t)take;
    }
    return TARE_OK;
}

/* ---- the catalog ------------------------------------------------------------------------------- */

typedef struct making {
    tare_weight_search *s;
    tare_model *m;
    struct tare_packed_weights *own;
    const tare_model *stored;
    tare_tensor *tensors;
    tare_tensor_note *notes;
    tare_origin *origins;
    int64_t *stored_of;
    size_t n;
    uint32_t file;
    uint64_t end; /* of the virtual file */
    tare_error *err;
} making;

/* The stored bytes of all parts. */
static uint64_t bytes_of_parts(const making *k, size_t number) {
    const int64_t *of = k->s->weight_of;
    const tare_weight *w = &k->s->weights[number];
    uint64_t n = 0;
    for (int p = 0; p < TARE_PART_KINDS; p++)
        if (w->parts[p] >= 0 && of[w->parts[p]] >= 0)
            n += k->own->stored->catalog.tensors[w->parts[p]].size_bytes;
    return w->step > 1 ? n / w->step : n;
}

static tare_status put_weight(making *k, size_t number) {
    tare_weight *w = &k->own->weights[k->own->n];
    tare_tensor *t = &k->tensors[k->n];
    *w = k->s->weights[number];
    if (k->s->keeps_wholes) TARE_TRY(tare_weight_choose_blocks(w, k->own->stored, k->err));
    *t = (tare_tensor){.name = w->name, .offset = TARE_NO_OFFSET};
    TARE_TRY(tare_tensor_set(k->m, t, w->encoding, w->dims, w->n_dims, k->file, k->end, k->err));
    w->offset = k->end;
    w->size = t->size_bytes;
    k->notes[k->n].scheme = w->scheme->name;
    const tare_tensor *codes = &k->own->stored->catalog.tensors[w->parts[TARE_PART_CODES]];
    k->origins[k->n] =
        (tare_origin){codes->encoding, bytes_of_parts(k, number), codes->planes[0].file, false};
    k->stored_of[k->n] = -1;
    k->own->n++;
    k->n++;
    if (!tare_add_u64(k->end, w->size, &k->end))
        return tare_fail(k->err, TARE_ERR_LIMIT, "size of all tensors");
    return TARE_OK;
}

static void put_tensor(making *k, size_t i) {
    const tare_tensor *t = &k->own->stored->catalog.tensors[i];
    k->tensors[k->n] = *t;
    if (k->stored->notes) k->notes[k->n] = k->stored->notes[i];
    k->origins[k->n] = (tare_origin){t->encoding, t->size_bytes, t->planes[0].file, false};
    k->stored_of[k->n] = (int64_t)i;
    k->n++;
}

/* A weight stands where its codes stood. */
static tare_status put_all(making *k) {
    const tare_weight_search *s = k->s;
    for (size_t i = 0; i < k->own->stored->catalog.n_tensors; i++) {
        const int64_t w = s->weight_of[i];
        if (w < 0 && !s->is_dropped[i]) put_tensor(k, i);
        if (w < 0 || s->weights[w].parts[TARE_PART_CODES] != (int64_t)i) continue;
        TARE_TRY(put_weight(k, (size_t)w));
        /* another one of the same codes comes before it in the list */
        if (w > 0 && s->weights[w - 1].parts[TARE_PART_CODES] == (int64_t)i)
            TARE_TRY(put_weight(k, (size_t)w - 1));
    }
    return TARE_OK;
}

/* ---- what goes by the number of a tensor -------------------------------------------------------- */

static tare_status move_stand_ins(making *k) {
    tare_model *m = k->m;
    size_t n = 0;
    tare_stand_in *moved = TARE_NEW_ARRAY(&m->arena, tare_stand_in, m->n_stand_ins);
    if (!moved) return tare_fail(k->err, TARE_ERR_NOMEM, "stand-ins");
    for (size_t i = 0, s = 0; i < k->n; i++) {
        while (s < m->n_stand_ins && (int64_t)m->stand_ins[s].tensor < k->stored_of[i]) s++;
        if (s == m->n_stand_ins || (int64_t)m->stand_ins[s].tensor != k->stored_of[i]) continue;
        moved[n] = m->stand_ins[s];
        moved[n++].tensor = i;
    }
    m->stand_ins = moved;
    m->n_stand_ins = n;
    return TARE_OK;
}

static tare_status move_lists(making *k) {
    tare_catalog *c = &k->m->catalog;
    tare_value_bounds *bounds = TARE_NEW_ARRAY(&k->m->arena, tare_value_bounds, k->n);
    const tare_stated_digest **digests =
        TARE_NEW_ARRAY(&k->m->arena, const tare_stated_digest *, k->n);
    if (!bounds || !digests) return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < k->n; i++) {
        const int64_t from = k->stored_of[i];
        if (from >= 0 && c->bounds) bounds[i] = c->bounds[from];
        if (from >= 0 && c->digests) digests[i] = c->digests[from];
    }
    if (c->bounds) c->bounds = bounds;
    if (c->digests) c->digests = digests;
    return TARE_OK;
}

/* Types that a program wants. */
static tare_status move_types(making *k) {
    tare_arena *arena = &k->m->arena;
    const tare_model_types *from = k->m->types;
    if (!from) return TARE_OK;
    tare_model_types *to = TARE_NEW(arena, tare_model_types);
    if (!to) return tare_fail(k->err, TARE_ERR_NOMEM, "types");
    *to = *from;
    to->fixed = TARE_NEW_ARRAY(arena, tare_fixed_type, k->n);
    to->origins = TARE_NEW_ARRAY(arena, tare_origin, k->n);
    if (!to->fixed || !to->origins) return tare_fail(k->err, TARE_ERR_NOMEM, "types");
    for (size_t i = 0; i < k->n; i++) {
        if (k->stored_of[i] < 0) continue;
        to->fixed[i] = from->fixed[k->stored_of[i]];
        to->origins[i] = from->origins[k->stored_of[i]];
    }
    k->m->types = to;
    return TARE_OK;
}

/* ---- side files and metadata ------------------------------------------------------------------- */

static tare_status read_resource(tare_str *out, const tare_model *m, size_t i, tare_arena *arena,
                                 tare_error *err) {
    size_t n;
    const tare_resource *r = tare_model_resource(m, i);
    if (!tare_size_of_u64(r->size, &n)) return tare_fail(err, TARE_ERR_LIMIT, "side file");
    char *bytes = tare_arena_take(arena, n + 1);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "side file");
    TARE_TRY(tare_resource_read(bytes, m, i, 0, n, err));
    *out = (tare_str){bytes, n};
    return TARE_OK;
}

static tare_status plain_resources(making *k) {
    tare_catalog *c = &k->m->catalog;
    const tare_resource_entry *from = c->resources;
    tare_resource_entry *to = TARE_NEW_ARRAY(&k->m->arena, tare_resource_entry, c->n_resources);
    size_t n = 0;
    if (!to) return tare_fail(k->err, TARE_ERR_NOMEM, "resources");
    for (size_t i = 0; i < c->n_resources; i++) {
        tare_str text, plain;
        if (tare_quantized_is_settings(from[i].info.name)) continue;
        to[n++] = from[i];
        if (!tare_str_is(from[i].info.name, "config.json")) continue;
        TARE_TRY(read_resource(&text, k->own->stored, i, k->s->arena, k->err));
        TARE_TRY(tare_quantized_plain_config(&plain, text, NULL, &k->m->arena, k->err));
        if (!plain.ptr) continue;
        to[n - 1].bytes = (const uint8_t *)plain.ptr;
        to[n - 1].info.size = plain.len;
    }
    c->resources = to;
    c->n_resources = n;
    return TARE_OK;
}

/* Keys of __metadata__ that say how tensors are packed: ComfyUI's, and torchao's, which are named as
 * the weights are. */
static bool is_packing_key(const making *k, const tare_metadata *e) {
    if (e->space != TARE_KEYS_SAFETENSORS) return false;
    if (tare_str_is(e->key, "_quantization_metadata") || tare_str_is(e->key, "tensor_names") ||
        tare_str_is(e->key, "quantization_config"))
        return true;
    const int64_t i = tare_model_find_tensor(k->m, e->key);
    return i >= 0 && k->stored_of[i] < 0;
}

static tare_status plain_metadata(making *k) {
    tare_catalog *c = &k->m->catalog;
    tare_metadata *to = TARE_NEW_ARRAY(&k->m->arena, tare_metadata, c->n_metadata);
    size_t n = 0;
    if (!to) return tare_fail(k->err, TARE_ERR_NOMEM, "metadata");
    for (size_t i = 0; i < c->n_metadata; i++)
        if (!is_packing_key(k, &c->metadata[i])) to[n++] = c->metadata[i];
    c->metadata = to;
    c->n_metadata = n;
    return TARE_OK;
}

/* ---- all --------------------------------------------------------------------------------------- */

static tare_status add_file(making *k) {
    tare_reader reader;
    const tare_model *m = k->m;
    const char *name = m->n_files ? m->files[0].name : m->format;
    tare_reader_callback(&reader, NULL, k->own, 0, name);
    reader.fetch = fetch;
    reader.close = close_weights;
    return tare_model_add_file(k->m, &reader, name, &k->file, k->err);
}

static tare_status take_room(making *k) {
    tare_arena *arena = &k->m->arena;
    const size_t n = k->m->catalog.n_tensors + k->s->n_weights;
    k->own = TARE_NEW(arena, struct tare_packed_weights);
    tare_model *stored = TARE_NEW(arena, tare_model), *parts = TARE_NEW(arena, tare_model);
    k->tensors = TARE_NEW_ARRAY(arena, tare_tensor, n);
    k->notes = TARE_NEW_ARRAY(arena, tare_tensor_note, n);
    k->origins = TARE_NEW_ARRAY(arena, tare_origin, n);
    k->stored_of = TARE_NEW_ARRAY(arena, int64_t, n);
    if (!k->own || !stored || !parts || !k->tensors || !k->notes || !k->origins || !k->stored_of)
        return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
    memcpy(stored, k->m, sizeof *stored);
    memcpy(parts, k->m, sizeof *parts);
    parts->notes = NULL; /* what reads rows takes codes for numbers */
    k->stored = stored;
    *k->own = (struct tare_packed_weights){.stored = parts, .allocator = k->m->allocator};
    if (!tare_quantized_is_method(k->s->settings.method))
        k->own->unknown_method = tare_arena_str(arena, k->s->settings.method);
    k->own->weights = TARE_NEW_ARRAY(arena, tare_weight, k->s->n_weights);
    k->own->cache =
        tare_cache_new(KEPT_BYTES, free_value, (void *)(uintptr_t)k->m->allocator, k->m->allocator);
    if (k->own->weights && k->own->cache) return TARE_OK;
    close_weights(k->own);
    return tare_fail(k->err, TARE_ERR_NOMEM, "tensors");
}

static tare_status index_tensors(tare_model *m, tare_error *err) {
    const tare_catalog *c = &m->catalog;
    return tare_name_index_build(&m->tensor_index, &m->arena, c->tensors, c->n_tensors,
                                 sizeof *c->tensors, "duplicate tensor name", err);
}

static tare_status index_others(tare_model *m, tare_error *err) {
    const tare_catalog *c = &m->catalog;
    TARE_TRY(tare_model_index_keys(m, &m->arena, err));
    return tare_name_index_build(&m->resource_index, &m->arena, c->resources, c->n_resources,
                                 sizeof *c->resources, "duplicate resource name", err);
}

/* The model's tensors are its weights from here on. */
static tare_status replace(making *k) {
    tare_model *m = k->m;
    TARE_TRY(take_room(k));
    TARE_TRY(add_file(k));
    TARE_TRY(put_all(k));
    m->files[k->file].reader.size = k->end;
    m->files[k->file].is_decoded = true;
    m->catalog.tensors = k->tensors;
    m->catalog.n_tensors = k->n;
    m->notes = k->notes;
    m->origins = k->origins;
    m->stored_of = k->stored_of;
    m->stored = k->stored;
    m->packed = k->own;
    TARE_TRY(move_stand_ins(k));
    TARE_TRY(move_lists(k));
    TARE_TRY(move_types(k));
    TARE_TRY(plain_resources(k));
    TARE_TRY(index_tensors(m, k->err));
    TARE_TRY(plain_metadata(k));
    TARE_TRY(index_others(m, k->err));
    m->list_states = NULL;
    TARE_TRY(tare_model_expect_records(m, k->err));
    tare_model_note_summary(m);
    return TARE_OK;
}

static bool drops_any(const tare_weight_search *s) {
    for (size_t i = 0; i < s->m->catalog.n_tensors; i++)
        if (s->is_dropped[i]) return true;
    return false;
}

/* Of the search `s` only what is asked for is filled in. */
static tare_status search_and_replace(tare_model *m, bool stored, tare_weight_search s,
                                      tare_error *err) {
    tare_arena arena;
    s.m = m;
    s.arena = &arena;
    tare_arena_init(&arena, m->allocator);
    tare_status status = tare_weight_search_run(&s, err);
    making k = {.s = &s, .m = m, .err = err};
    const bool is_packed = s.n_weights || (status == TARE_OK && drops_any(&s));
    if (status == TARE_OK && !stored && is_packed) status = replace(&k);
    tare_free(m->allocator, s.weights, s.capacity * sizeof *s.weights);
    tare_weight_modules_free(&s.modules);
    tare_arena_free(&arena);
    return status;
}

tare_status tare_quantized_open(tare_model *m, bool stored, tare_error *err) {
    return search_and_replace(m, stored, (tare_weight_search){.m = m}, err);
}

size_t tare_quantized_count(const tare_model *m) {
    return m->packed ? m->packed->n : 0;
}

static size_t count_of(const tare_model *m, const char *scheme) {
    const struct tare_packed_weights *p = m->packed;
    size_t n = 0;
    for (size_t i = 0; p && i < p->n; i++) n += strcmp(p->weights[i].scheme->name, scheme) == 0;
    return n;
}

/* Several rows of the table may have one name. */
static bool is_named_before(const tare_scheme *row) {
    const tare_scheme *other = tare_schemes;
    while (other < row && strcmp(other->name, row->name) != 0) other++;
    return other < row;
}

const char *tare_quantized_schemes(char *out, size_t size, const tare_model *m) {
    const size_t all = tare_quantized_count(m);
    size_t used = 0;
    out[0] = 0;
    for (const tare_scheme *row = tare_schemes; row->name; row++) {
        const size_t n = is_named_before(row) ? 0 : count_of(m, row->name);
        if (n == 0 || used >= size) continue;
        if (n == all)
            used += (size_t)snprintf(out, size, "%s", row->name);
        else
            used += (size_t)snprintf(out + used, size - used, "%s%s: %zu", used ? ", " : "",
                                     row->name, n);
    }
    return out;
}

bool tare_quantized_are(const tare_model *m, const tare_encoding *type) {
    const struct tare_packed_weights *p = m->packed;
    for (size_t i = 0; p && i < p->n; i++) {
        const tare_weight *w = &p->weights[i];
        /* codes may lie in tensors of a type that says nothing of them */
        if (w->value != TARE_VALUE_OF_PART ||
            p->stored->catalog.tensors[w->parts[TARE_PART_CODES]].encoding != type)
            return false;
    }
    return p && p->n > 0;
}

/* Codes of few bits times powers of two, unless these are at the end of what floats have. */
bool tare_quantized_is_exact(const tare_model *m, tare_encoding_id type) {
    const struct tare_packed_weights *p = m->packed;
    for (size_t i = 0; p && i < p->n; i++) {
        const tare_weight *w = &p->weights[i];
        const bool is_small = w->value == TARE_VALUE_E2M1 || w->value == TARE_VALUE_E2M3 ||
                              w->value == TARE_VALUE_QUARTERS;
        if (!is_small || w->scale_value != TARE_SCALE_E8M0 || type != TARE_ENCODING_BF16)
            return false;
    }
    return true;
}

/* ---- for llama.cpp ------------------------------------------------------------------------------ */

static bool is_microscaling(const tare_weight *w) {
    return w->value == TARE_VALUE_E2M1 && w->scale_value == TARE_SCALE_E8M0;
}

/* The catalog of another model, whose files stay its own. */
static tare_status share_catalog(tare_model *out, const tare_model *in, tare_error *err) {
    TARE_TRY(tare_model_share_files(out, in, err));
    out->format = in->format;
    out->catalog = in->catalog;
    out->catalog.layout = NULL;
    out->stand_ins = in->stand_ins;
    out->n_stand_ins = in->n_stand_ins;
    TARE_TRY(index_tensors(out, err));
    return index_others(out, err);
}

tare_status tare_quantized_for_llama(tare_model **out, const tare_model *in, bool whole_numbers,
                                     const tare_context *open, tare_error *err) {
    const tare_weight_search wanted = {.is_for_llama = true, .keeps_wholes = whole_numbers};
    const struct tare_packed_weights *p = in->packed;
    bool differs = false;
    *out = NULL;
    for (size_t i = 0; p && i < p->n; i++)
        differs = differs || is_microscaling(&p->weights[i]) ||
                  (whole_numbers && tare_weight_may_be_whole_blocks(&p->weights[i], p->stored));
    if (!differs) return TARE_OK;
    tare_model *m;
    TARE_TRY(tare_model_new(&m, open, err));
    tare_status status = share_catalog(m, in->stored, err);
    if (status == TARE_OK) status = search_and_replace(m, false, wanted, err);
    if (status == TARE_OK)
        *out = m;
    else
        tare_model_free(m);
    return status;
}
