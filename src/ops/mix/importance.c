/* SPDX-License-Identifier: MIT
 *
 * The importance matrix handle: opening (either of two formats), lookup, selection of entries. */
#include "ops/mix/importance_matrix.h"

#include <math.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "format/format.h"
#include "model/foreign.h"
#include "model/names.h"
#include "ops/mix/roles.h"

/* ---- opening --------------------------------------------------------------------------------- */

static tare_status open_gguf(tare_importance *m, const tare_source *source,
                             const tare_open_options *options, tare_error *err) {
    tare_model *model;
    TARE_TRY(tare_model_open(&model, source, options, err));
    m->is_gguf = true;
    tare_status status = tare_importance_read_gguf(m, model, err);
    tare_model_free(model);
    return status;
}

/* The format of a file; NULL: none of those known. */
static const tare_format *format_of(const tare_probe *probe) {
    for (size_t i = 0; tare_format_row(i); i++)
        if (tare_format_row(i)->read.probe(probe)) return tare_format_row(i);
    return NULL;
}

/* Whether a file begins like a text; as a count of entries that would be above 150 million. */
static bool is_text(const tare_probe *p) {
    for (size_t i = 0; i < 4; i++)
        if (i >= p->head_size || p->head[i] < '\t' || p->head[i] > '~') return false;
    return true;
}

/* llama.cpp stores matrices in the format of its models, and in .dat files, which have no magic:
 * files known to be something else are recognised first. */
static tare_status open_any(tare_importance *m, const tare_reader *reader, const tare_probe *probe,
                            const tare_source *source, const tare_open_options *options,
                            tare_error *err) {
    const tare_format *format = format_of(probe);
    if (format && format->stored.program == TARE_PROGRAM_LLAMA_CPP)
        return open_gguf(m, source, options, err);
    if (format)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "a model, not an importance matrix: llama-imatrix measures one");
    const char *what = tare_is_importance_dat(tare_probe_text(probe))
                           ? NULL
                           : tare_foreign_file(tare_probe_text(probe), probe->file_size);
    if (!what && is_text(probe))
        what = "a text, not an importance matrix as written by llama-imatrix";
    if (what) return tare_fail(err, TARE_ERR_UNSUPPORTED, what);
    return tare_importance_read_dat(m, reader, err);
}

static tare_status open_file(tare_importance *m, const tare_source *source,
                             const tare_open_options *options, tare_error *err) {
    uint8_t head[TARE_PROBE_BYTES];
    tare_reader reader = {.fd = -1};
    tare_blocks *blocks = NULL;
    tare_status opened = tare_source_open(&reader, source, false, &blocks, err);
    tare_blocks_release(blocks); /* the reader holds it */
    TARE_TRY(opened);
    size_t n = (size_t)tare_min_u64(reader.size, sizeof head);
    tare_status status = tare_reader_read(&reader, 0, head, n, err);
    tare_probe probe = {.head = head, .head_size = n, .file_size = reader.size};
    if (status == TARE_OK && reader.size == 0)
        status = tare_fail_at(err, TARE_ERR_TRUNCATED, 0, "the file is empty");
    else if (status == TARE_OK)
        status = open_any(m, &reader, &probe, source, options, err);
    if (status != TARE_OK) tare_error_file(err, reader.name);
    tare_reader_close(&reader);
    return status;
}

static void summarize(tare_importance *m) {
    m->summary = (tare_importance_summary){.is_gguf = m->is_gguf,
                                           .n_entries = m->n_entries,
                                           .n_chunks = m->n_chunks,
                                           .chunk_size = m->chunk_size,
                                           .n_datasets = m->n_datasets};
    for (size_t i = 0; i < m->n_entries; i++) m->summary.n_values += m->entries[i].n_values;
}

tare_status tare_importance_open(tare_importance **out, const tare_source *source,
                                 const tare_open_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(source, err);
    tare_open_options opt = tare_open_options_default();
    tare_context context;
    tare_limits limits = tare_limits_default();
    tare_source own;
    TARE_TRY(tare_source_read(&own, source, err));
    TARE_TRY(tare_options_read(&opt, sizeof opt, options, err));
    TARE_TRY(tare_context_keep(&context, &opt.context, err));
    TARE_TRY(tare_options_read(&limits, sizeof limits, opt.context->limits, err));
    tare_importance *m = tare_alloc(opt.context->allocator, sizeof *m);
    if (!m) return tare_fail(err, TARE_ERR_NOMEM, "importance matrix");
    *m = (tare_importance){
        .allocator = opt.context->allocator, .limits = limits, .report = opt.context->report};
    tare_arena_init(&m->arena, opt.context->allocator);
    opt.format = "gguf";
    tare_status status = own.kind == TARE_SOURCE_SHARDS ? open_gguf(m, source, &opt, err)
                                                        : open_file(m, source, &opt, err);
    m->report = NULL; /* the caller's for this call only */
    summarize(m);
    if (status == TARE_OK)
        *out = m;
    else
        tare_importance_free(m);
    return status;
}

tare_status tare_importance_open_path(tare_importance **out, const char *path,
                                      const tare_open_options *options, tare_error *err) {
    tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = path, .fd = -1};
    return tare_importance_open(out, &source, options, err);
}

void tare_importance_free(tare_importance *importance) {
    if (!importance) return;
    tare_arena_free(&importance->arena);
    tare_free(importance->allocator, importance, sizeof *importance);
}

/* ---- getters --------------------------------------------------------------------------------- */

const tare_importance_summary *tare_importance_summarize(const tare_importance *importance) {
    return &importance->summary;
}

tare_str tare_importance_dataset(const tare_importance *importance, size_t i) {
    return i < importance->n_datasets ? importance->datasets[i] : TARE_STR("");
}

const tare_importance_entry *tare_importance_at(const tare_importance *importance, size_t i) {
    return i < importance->n_entries ? &importance->entries[i] : NULL;
}

/* The index of an entry by its whole name, also of one that is left out; -1: there is none. */
static int64_t find_any(const tare_importance *m, tare_str name) {
    return tare_name_index_find(&m->index, m->entries, sizeof *m->entries, name);
}

static bool is_left_out(const tare_importance *m, int64_t i) {
    return (uint64_t)i >= m->n_entries;
}

int64_t tare_importance_find(const tare_importance *importance, tare_str name) {
    int64_t i = find_any(importance, name);
    return i >= 0 && is_left_out(importance, i) ? -1 : i;
}

/* ---- choice of entries ----------------------------------------------------------------------- */

static bool contains(tare_str name, tare_str part) {
    for (size_t i = 0; i + part.len <= name.len; i++)
        if (part.len == 0 || memcmp(name.ptr + i, part.ptr, part.len) == 0) return true;
    return false;
}

static bool contains_any(tare_str name, const char *const *parts, size_t n_parts) {
    for (size_t i = 0; i < n_parts; i++)
        if (contains(name, tare_str_of(parts[i]))) return true;
    return false;
}

/* Excluded entries are moved after the kept ones, which stay in order, so that a tensor whose
 * entry was excluded can be distinguished from one that was not measured. */
void tare_importance_select(tare_importance *importance, const char *const *parts, size_t n_parts,
                            bool is_included) {
    tare_importance *m = importance;
    size_t n = m->n_entries, n_all = n + m->n_left_out;
    m->n_entries = 0;
    for (size_t i = 0; i < n; i++) {
        tare_importance_entry e = m->entries[i];
        if (contains_any(e.name, parts, n_parts) != is_included) continue;
        m->entries[i] = m->entries[m->n_entries];
        m->entries[m->n_entries++] = e;
    }
    m->n_left_out = n_all - m->n_entries;
    memset(m->index.slots, 0, (size_t)(m->index.mask + 1) * sizeof *m->index.slots);
    for (size_t i = 0; i < n_all; i++)
        tare_name_index_add(&m->index, m->entries, sizeof *m->entries, i, NULL);
    summarize(m);
}

/* ---- what belongs to a tensor ---------------------------------------------------------------- */

static const char *const gguf_parts[] = {
    [TARE_ROLE_ATTN_Q] = "attn_q",           [TARE_ROLE_ATTN_K] = "attn_k",
    [TARE_ROLE_ATTN_V] = "attn_v",           [TARE_ROLE_ATTN_QKV] = "attn_qkv",
    [TARE_ROLE_ATTN_OUTPUT] = "attn_output", [TARE_ROLE_FFN_UP] = "ffn_up",
    [TARE_ROLE_FFN_GATE] = "ffn_gate",       [TARE_ROLE_FFN_DOWN] = "ffn_down",
    [TARE_ROLE_ROUTER] = "ffn_gate_inp",
};

/* The GGUF name of a tensor of a Hugging Face model; false: unknown. A single expert has the name
 * of all experts of its layer. GPT-2's c_attn, c_fc and c_proj may be stored transposed. */
static bool gguf_name(char *buf, size_t size, tare_str name, const tare_role_info *role) {
    if (role->is_gguf || role->is_bias || contains(name, TARE_STR(".c_"))) return false;
    if (role->role == TARE_ROLE_TOKEN_EMBEDDING || role->role == TARE_ROLE_OUTPUT) {
        bool is_output = role->role == TARE_ROLE_OUTPUT;
        return snprintf(buf, size, is_output ? "output.weight" : "token_embd.weight") > 0;
    }
    const bool is_single = !role->is_expert && !role->is_shared;
    const char *part = is_single ? role->tensor : NULL; /* of several that have a role: attn_q_a */
    if (!part && role->role < sizeof gguf_parts / sizeof *gguf_parts) part = gguf_parts[role->role];
    if (role->layer < 0 || !part || (role->is_expert && role->expert < 0)) return false;
    return snprintf(buf, size, "blk.%d.%s%s.weight", (int)role->layer, part,
                    role->is_expert   ? "_exps"
                    : role->is_shared ? "_shexp"
                                      : "") > 0;
}

uint64_t tare_importance_slices(const tare_tensor *tensor) {
    uint64_t n = 1;
    for (uint32_t d = 0; d + 2 < tensor->n_dims; d++) n *= tensor->dims[d];
    return n;
}

/* The slice of one expert. */
static tare_importance_fit of_expert(const float **values, const tare_importance_entry *e,
                                     const tare_tensor *tensor, uint64_t expert) {
    uint64_t cols = tensor->cols, n_slices = cols ? e->n_values / cols : 0;
    bool is_whole = n_slices * cols == e->n_values;
    if (!is_whole || (e->n_slices && e->n_slices != n_slices) || expert >= n_slices ||
        tare_importance_slices(tensor) != 1)
        return TARE_IMPORTANCE_WRONG;
    *values = e->values + expert * cols;
    return TARE_IMPORTANCE_FITS;
}

tare_importance_fit tare_importance_of_tensor(const float **values, const tare_importance *m,
                                              const tare_tensor *tensor) {
    char name[80];
    uint64_t n_expected;
    *values = NULL;
    int64_t i = find_any(m, tensor->name);
    tare_role_info role = {.expert = -1};
    if (i < 0) {
        role = tare_role_of_name(tensor->name);
        if (!gguf_name(name, sizeof name, tensor->name, &role)) return TARE_IMPORTANCE_NONE;
        i = find_any(m, tare_str_of(name));
    }
    if (i < 0) return TARE_IMPORTANCE_NONE;
    if (is_left_out(m, i)) return TARE_IMPORTANCE_LEFT_OUT;
    const tare_importance_entry *e = &m->entries[i];
    if (role.expert >= 0) return of_expert(values, e, tensor, (uint64_t)role.expert);
    if (!tare_mul_u64(tare_importance_slices(tensor), tensor->cols, &n_expected) ||
        n_expected != e->n_values)
        return TARE_IMPORTANCE_WRONG;
    *values = e->values;
    return TARE_IMPORTANCE_FITS;
}

bool tare_importance_find_origin(uint64_t *offset, const float **divisors, const tare_importance *m,
                                 const float *values, uint64_t n_slices, uint64_t cols,
                                 tare_arena *arena) {
    const tare_importance_origin *o = m->origins, *end = o + m->n_entries + m->n_left_out;
    while (o < end && !(values >= o->values && values < o->values + o->n_values)) o++;
    float *out = o < end ? TARE_NEW_ARRAY(arena, float, n_slices) : NULL;
    if (!out) return false;
    const uint64_t first = (uint64_t)(values - o->values), per_count = o->n_values / o->n_counts;
    for (uint64_t s = 0; s < n_slices; s++) {
        const uint64_t at = first + s * cols;
        if (at / per_count != (at + cols - 1) / per_count) return false;
        out[s] = o->counts[at / per_count];
    }
    *offset = o->offset + first * sizeof(float);
    *divisors = out;
    return true;
}

bool tare_importance_has(const tare_importance *m, const tare_tensor *tensor) {
    const float *values;
    if (!m) return false;
    tare_importance_fit fit = tare_importance_of_tensor(&values, m, tensor);
    return fit != TARE_IMPORTANCE_NONE && fit != TARE_IMPORTANCE_LEFT_OUT;
}
