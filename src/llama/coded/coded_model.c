/* SPDX-License-Identifier: MIT
 *
 * A model with its packed weights decoded. Blocks of rows are kept for a while: what reads them next
 * often wants rows nearby, and transposed codes cost as much for one row as for many. */
#include "llama/coded/coded_search.h"

#include "base/arith.h"
#include "base/cache.h"
#include "base/report.h"
#include "base/str.h"

#define BLOCK_BYTES ((uint64_t)1 << 20) /* of rows that are decoded at once */
#define KEPT_BYTES  ((size_t)16 << 20)

static const char format_name[] = "decoded";

typedef struct decoded {
    const tare_model *in;
    const tare_allocator *allocator;
    tare_llama_coded *weights; /* in the order of their offsets */
    size_t n_weights;
    tare_cache *cache;
} decoded;

static void free_value(void *ctx, void *value, size_t cost) {
    tare_free(ctx, value, cost);
}

static void free_decoded(void *ctx) {
    decoded *u = ctx;
    if (u->cache) tare_cache_free(u->cache);
}

/* ---- reading ----------------------------------------------------------------------------------- */

static uint64_t row_bytes(const tare_llama_coded *p) {
    return p->size / p->n_rows;
}

static uint64_t block_rows(const tare_llama_coded *p) {
    return tare_min_u64(tare_max_u64(BLOCK_BYTES / row_bytes(p), 1), p->n_rows);
}

static tare_status make_block(void **out, size_t *size, const decoded *u, const tare_llama_coded *p,
                              uint64_t block, tare_error *err) {
    const uint64_t first = block * block_rows(p),
                   n = tare_min_u64(block_rows(p), p->n_rows - first);
    if (!tare_size_of_u64(n * row_bytes(p), size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    *out = tare_alloc(u->allocator, *size);
    if (!*out) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    tare_status status = p->rows(*out, p, u->in, first, n, err);
    if (status != TARE_OK) tare_free(u->allocator, *out, *size);
    return status;
}

/* Bytes [at, at + n) of a block of rows. */
static tare_status read_block(uint8_t *out, const decoded *u, size_t weight, uint64_t block,
                              uint64_t at, size_t n, tare_error *err) {
    const tare_cache_key key = {weight, block};
    tare_cached *entry;
    void *value;
    size_t size;
    switch (tare_cache_take(&entry, u->cache, key, true)) {
    case TARE_CACHE_HELD:
        break;
    case TARE_CACHE_TO_MAKE: {
        tare_status status = make_block(&value, &size, u, &u->weights[weight], block, err);
        if (status != TARE_OK) {
            tare_cache_fail(u->cache, entry);
            return status;
        }
        tare_cache_fill(u->cache, entry, value, size);
        break;
    }
    default:
        return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    }
    memcpy(out, (const uint8_t *)entry->value + at, n);
    tare_cache_release(u->cache, entry);
    return TARE_OK;
}

static tare_status fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const decoded *u = ctx;
    uint8_t *out = buf;
    size_t i = tare_part_of(&u->weights->offset, u->n_weights, sizeof *u->weights, offset);
    while (n > 0) {
        const tare_llama_coded *p = &u->weights[i];
        const uint64_t at = offset - p->offset, block_size = block_rows(p) * row_bytes(p);
        if (at == p->size) {
            i++;
            continue;
        }
        uint64_t in_block = at % block_size;
        uint64_t take = tare_min_u64(tare_min_u64(block_size - in_block, p->size - at), n);
        TARE_TRY(read_block(out, u, i, at / block_size, in_block, (size_t)take, err));
        out += take;
        offset += take;
        n -= (size_t)take;
    }
    return TARE_OK;
}

/* ---- the model --------------------------------------------------------------------------------- */

static tare_status share_resources(tare_model *out, const tare_model *in, tare_error *err) {
    const size_t n = in->catalog.n_resources;
    out->catalog.resources = TARE_NEW_ARRAY(&out->arena, tare_resource_entry, n);
    if (!out->catalog.resources) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    if (n) memcpy(out->catalog.resources, in->catalog.resources, n * sizeof *in->catalog.resources);
    out->catalog.n_resources = n;
    return TARE_OK;
}

static tare_status add_weight(tare_model *out, decoded *own, tare_llama_coded *p, uint32_t file,
                              uint64_t *end, tare_error *err) {
    tare_tensor *t = &out->catalog.tensors[out->catalog.n_tensors];
    *t = (tare_tensor){.name = tare_arena_str(&out->arena, p->name), .offset = TARE_NO_OFFSET};
    if (!t->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_tensor_set(out, t, p->encoding, p->dims, p->n_dims, file, *end, err));
    out->catalog.n_tensors++;
    p->offset = *end;
    p->size = t->size_bytes;
    own->weights[own->n_weights++] = *p;
    if (!tare_add_u64(*end, p->size, end))
        return tare_fail(err, TARE_ERR_LIMIT, "size of all tensors");
    return TARE_OK;
}

static tare_status fill(tare_model *out, decoded *own, tare_llama_coded_search *u,
                        tare_report *report, tare_error *err) {
    tare_arena *arena = &out->arena;
    tare_reader reader;
    uint32_t file;
    uint64_t end = 0;
    const size_t n_in = u->in->catalog.n_tensors;
    out->catalog.tensors = TARE_NEW_ARRAY(arena, tare_tensor, n_in + u->n_weights);
    own->weights = TARE_NEW_ARRAY(arena, tare_llama_coded, u->n_weights);
    own->cache = tare_cache_new(KEPT_BYTES, free_value, (void *)(uintptr_t)u->in->allocator,
                                u->in->allocator);
    if (!out->catalog.tensors || !own->weights || !own->cache)
        return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_model_share_files(out, u->in, err));
    tare_reader_callback(&reader, NULL, own, 0, format_name);
    reader.fetch = fetch;
    TARE_TRY(tare_model_add_file(out, &reader, format_name, &file, err));
    for (size_t i = 0; i < n_in; i++)
        if (!u->is_dropped[i])
            out->catalog.tensors[out->catalog.n_tensors++] = u->in->catalog.tensors[i];
    for (size_t i = 0; i < u->n_weights; i++)
        TARE_TRY(add_weight(out, own, &u->weights[i], file, &end, err));
    out->files[file].reader.size = end;
    TARE_TRY(share_resources(out, u->in, err));
    if (u->scheme) {
        tare_finding f = TARE_FINDING(INFO, TARE_OK, "llama.coded-weights");
        tare_report_addf(report, &f, "%zu weights were stored as codes and scales (%s)",
                         u->n_weights, u->scheme);
    }
    if (u->n_contradicted) {
        const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "llama.zero-points");
        tare_report_addf(report, &f,
                         "the zero points of %zu weights are not stored as checkpoint_format says: "
                         "the weights are symmetric (sym), and theirs are the middle of the codes",
                         u->n_contradicted);
    }
    return tare_model_finish(out, NULL, err);
}

static tare_status make_model(tare_model **out, tare_llama_coded_search *u,
                              const tare_context *open, tare_report *report, tare_error *err) {
    tare_model *m;
    TARE_TRY(tare_model_new(&m, open, err));
    m->format = u->in->format;
    decoded *own = TARE_NEW(&m->arena, decoded);
    tare_status status = TARE_ERR_NOMEM;
    if (own) {
        *own = (decoded){.in = u->in, .allocator = u->in->allocator};
        m->private_data = own;
        m->free_private = free_decoded;
        status = fill(m, own, u, report, err);
    } else {
        tare_fail(err, status, "model");
    }
    if (status == TARE_OK)
        *out = m;
    else
        tare_model_free(m);
    return status;
}

tare_status tare_llama_decode_coded(tare_model **out, const tare_model *in,
                                    const tare_context *open, tare_report *report,
                                    tare_error *err) {
    tare_arena arena;
    const tare_json_node *root;
    tare_llama_coded_search u = {.in = in, .arena = &arena};
    *out = NULL;
    tare_arena_init(&arena, in->allocator);
    tare_status status = tare_model_json(&root, in, "config.json", &arena, err);
    if (status == TARE_OK) {
        u.settings = tare_json_member(root, TARE_STR("quantization_config"));
        static const char *const files[] = {"quantize_config.json", "quant_config.json"};
        for (size_t i = 0; status == TARE_OK && !u.settings && i < 2; i++) /* of older programs */
            status = tare_model_json(&u.settings, in, files[i], &arena, err);
    }
    if (status == TARE_OK) {
        u.is_dropped = TARE_NEW_ARRAY(&arena, bool, in->catalog.n_tensors);
        status = u.is_dropped ? tare_llama_find_coded(&u, err)
                              : tare_fail(err, TARE_ERR_NOMEM, "packed weights");
    }
    bool is_any = u.n_weights > 0;
    for (size_t i = 0; status == TARE_OK && u.settings && i < in->catalog.n_tensors; i++)
        is_any = is_any || u.is_dropped[i];
    if (status == TARE_OK && is_any) status = make_model(out, &u, open, report, err);
    tare_free(in->allocator, u.weights, u.capacity * sizeof *u.weights);
    tare_arena_free(&arena);
    return status;
}
