/* SPDX-License-Identifier: MIT
 *
 * A LoRA adapter of PEFT as one of llama.cpp. What the converter does to rows of a weight it does to
 * those of the factor B, whose rows they are: a model is made up that has B in the place of each
 * weight, and mapped. A stays as it is, once for each tensor that its weight becomes. */
#include <math.h>
#include <stdio.h>

#include "base/str.h"
#include "llama/mapping.h"
#include "model/foreign.h"

/* The factors of a weight. */
typedef struct pair {
    tare_str weight;
    int64_t a, b; /* tensors of the adapter; -1: not seen */
} pair;

typedef struct lora {
    const tare_model *factors;
    tare_model *made_up; /* B under the names of the weights */
    tare_llama_virtual file;
    pair *pairs;
    size_t n_pairs;
} lora;

static void free_lora(void *ctx) {
    tare_model_free(((lora *)ctx)->made_up);
}

static tare_status fail_factor(const lora *l, int64_t i, tare_status status, const char *what,
                               tare_error *err) {
    return tare_fail_tensor(err, status, &l->factors->catalog.tensors[i], (size_t)i, what);
}

/* "base_model.model.X.lora_A.weight" -> "X.weight"; ptr NULL: it is no factor. */
static tare_str weight_of(tare_str name, bool *is_a, tare_arena *arena) {
    static const char *const ends[] = {".lora_A.weight", ".lora_B.weight", ".lora_A.default.weight",
                                       ".lora_B.default.weight"};
    const tare_str lead = TARE_STR("base_model.model.");
    if (tare_str_starts(name, lead)) name = tare_str_cut(name, lead.len);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        tare_str end = tare_str_of(ends[i]);
        if (!tare_str_ends(name, end)) continue;
        *is_a = i % 2 == 0;
        name.len -= end.len;
        return tare_llama_joined(name, TARE_STR(".weight"), arena);
    }
    return (tare_str){NULL, 0};
}

static tare_status find_pairs(lora *l, tare_arena *arena, tare_error *err) {
    const tare_catalog *c = &l->factors->catalog;
    l->pairs = TARE_NEW_ARRAY(arena, pair, c->n_tensors);
    if (!l->pairs) return tare_fail(err, TARE_ERR_NOMEM, "adapter");
    for (size_t i = 0; i < c->n_tensors; i++) {
        bool is_a = false;
        size_t k = 0;
        tare_str weight = weight_of(c->tensors[i].name, &is_a, arena);
        if (!weight.ptr || c->tensors[i].n_dims != 2)
            return fail_factor(
                l, (int64_t)i, TARE_ERR_UNSUPPORTED,
                "it is not a factor of a matrix, and llama.cpp's adapters hold only those", err);
        while (k < l->n_pairs && !tare_str_equal(l->pairs[k].weight, weight)) k++;
        if (k == l->n_pairs) l->pairs[l->n_pairs++] = (pair){weight, -1, -1};
        *(is_a ? &l->pairs[k].a : &l->pairs[k].b) = (int64_t)i;
    }
    for (size_t k = 0; k < l->n_pairs; k++) {
        const pair *p = &l->pairs[k];
        if (p->a < 0 || p->b < 0)
            return fail_factor(l, p->a < 0 ? p->b : p->a, TARE_ERR_CORRUPT,
                               "the other factor is missing", err);
        if (c->tensors[p->a].dims[0] != c->tensors[p->b].dims[1])
            return fail_factor(l, p->b, TARE_ERR_CORRUPT,
                               "its rank is not that of the other factor", err);
    }
    return TARE_OK;
}

/* The base's config.json, and B in the place of each weight. */
static tare_status make_up(lora *l, const tare_model *base, const tare_open_options *open,
                           tare_error *err) {
    TARE_TRY(tare_model_new(&l->made_up, open, err));
    tare_model *m = l->made_up;
    const size_t n = base->catalog.n_resources;
    m->format = base->format;
    m->catalog.tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, l->n_pairs);
    m->catalog.resources = TARE_NEW_ARRAY(&m->arena, tare_resource_entry, n);
    if (!m->catalog.tensors || !m->catalog.resources)
        return tare_fail(err, TARE_ERR_NOMEM, "adapter");
    TARE_TRY(tare_model_share_files(m, l->factors, err));
    for (size_t i = 0; i < n;
         i++) { /* texts in memory: files of the base have other numbers here */
        const tare_resource_entry *r = &base->catalog.resources[i];
        tare_str text;
        if (!tare_str_is(r->info.name, "config.json")) continue;
        TARE_TRY(tare_llama_resource(&text, base, "config.json", &m->arena, err));
        m->catalog.resources[m->catalog.n_resources] = *r;
        m->catalog.resources[m->catalog.n_resources++].bytes = (const uint8_t *)text.ptr;
    }
    for (size_t k = 0; k < l->n_pairs; k++) {
        tare_tensor *t = &m->catalog.tensors[m->catalog.n_tensors++];
        *t = l->factors->catalog.tensors[l->pairs[k].b];
        t->name = l->pairs[k].weight;
    }
    return tare_model_finish(m, NULL, err);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static tare_status add_factor(tare_model *out, tare_str name, const char *suffix,
                              const tare_tensor *like, tare_error *err) {
    tare_tensor *t = &out->catalog.tensors[out->catalog.n_tensors];
    *t = *like;
    t->name = tare_llama_joined(name, tare_str_of(suffix), &out->arena);
    if (!t->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "adapter");
    out->catalog.n_tensors++;
    return TARE_OK;
}

/* B after what was done to its rows. */
static tare_status add_made(tare_model *out, lora *l, const tare_llama_target *t, uint32_t file,
                            uint64_t *end, tare_error *err) {
    tare_tensor made = {.offset = TARE_NO_OFFSET};
    TARE_TRY(tare_tensor_set(out, &made, t->encoding, t->dims, t->n_dims, file, *end, err));
    l->file.made[l->file.n_made++] =
        (tare_llama_made){.offset = *end,
                          .size = made.size_bytes,
                          .pieces = t->pieces,
                          .n_pieces = t->n_pieces,
                          .encoding = t->encoding,
                          .element_bytes = t->encoding->planes[0].unit_bytes};
    *end += made.size_bytes; /* part of what is there already */
    return add_factor(out, t->name, ".lora_b", &made, err);
}

static tare_status add_target(tare_model *out, lora *l, const tare_llama_target *t, uint32_t file,
                              uint64_t *end, tare_error *err) {
    const pair *p = &l->pairs[t->pieces[0].source];
    const tare_tensor *b = &l->factors->catalog.tensors[p->b];
    const tare_llama_arithmetic arithmetic = t->pieces[0].arithmetic;
    bool is_linear = arithmetic == TARE_LLAMA_AS_IS || arithmetic == TARE_LLAMA_MUL ||
                     arithmetic == TARE_LLAMA_MUL_TWICE;
    if (t->n_pieces != 1 || t->joint == TARE_LLAMA_SLICES || !is_linear || t->n_dims != 2 ||
        t->dims[1] != b->dims[1] || tare_str_starts(t->name, TARE_STR("token_embd")))
        return fail_factor(l, p->b, TARE_ERR_UNSUPPORTED,
                           "what becomes of its weight in llama.cpp cannot be done to factors",
                           err);
    TARE_TRY(add_factor(out, t->name, ".lora_a", &l->factors->catalog.tensors[p->a], err));
    return add_made(out, l, t, file, end, err);
}

static tare_status add_targets(tare_llama_mapping *m, lora *l, tare_error *err) {
    tare_model *out = m->out;
    tare_reader reader;
    uint32_t file;
    uint64_t end = 0;
    out->catalog.tensors = TARE_NEW_ARRAY(&out->arena, tare_tensor, 2 * m->n_targets);
    l->file.made = TARE_NEW_ARRAY(&out->arena, tare_llama_made, m->n_targets);
    if (!out->catalog.tensors || !l->file.made) return tare_fail(err, TARE_ERR_NOMEM, "adapter");
    TARE_TRY(tare_model_share_files(out, l->factors, err));
    tare_reader_callback(&reader, NULL, &l->file, 0, "adapter");
    reader.fetch = tare_llama_virtual_fetch;
    TARE_TRY(tare_model_add_file(out, &reader, "adapter", &file, err));
    for (size_t i = 0; i < m->n_targets; i++)
        if (!m->targets[i]->bytes) TARE_TRY(add_target(out, l, m->targets[i], file, &end, err));
    out->files[file].reader.size = end;
    return TARE_OK;
}

/* ---- keys -------------------------------------------------------------------------------------- */

/* lora_alpha, so that llama.cpp's alpha / rank is the scale that PEFT has. */
static tare_status read_alpha(double *out, const tare_model *base, tare_str peft, tare_arena *arena,
                              tare_error *err) {
    const tare_llama_node *root;
    const tare_llama_binding none[] = {{NULL, 0}};
    tare_llama_value alpha, rank, is_stabilized, patterns;
    (void)base;
    TARE_TRY(tare_name_foreign(tare_llama_json_read(&root, peft, arena, err), peft, peft.len, true,
                               err));
    const tare_llama_config config = {.file = "adapter_config.json", .root = root, .arena = arena};
    TARE_TRY(tare_llama_formula(&alpha, TARE_STR("lora_alpha"), &config, none, err));
    TARE_TRY(tare_llama_formula(&rank, TARE_STR("r"), &config, none, err));
    TARE_TRY(tare_llama_formula(&is_stabilized, TARE_STR("if(use_rslora | false, 1, 0)"), &config,
                                none, err));
    TARE_TRY(tare_llama_formula(&patterns,
                                TARE_STR("if(use_dora | false, 1, (len(rank_pattern) | 0) + "
                                         "(len(alpha_pattern) | 0))"),
                                &config, none, err));
    if (!(alpha.number > 0 && alpha.number < 1e6 && rank.number >= 1))
        return tare_fail(err, TARE_ERR_CORRUPT,
                         "adapter_config.json does not say lora_alpha and r as numbers above 0");
    if (patterns.number > 0)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "adapter_config.json: llama.cpp has one alpha for all and no DoRA");
    *out = is_stabilized.number != 0 ? alpha.number * sqrt(rank.number) : alpha.number;
    return TARE_OK;
}

static tare_status set_keys(tare_llama_mapping *m, double alpha, tare_error *err) {
    tare_catalog *c = &m->out->catalog;
    m->n_keys = 0; /* those of the model that was made up */
    TARE_TRY(tare_llama_set_text(m, "general.architecture", tare_str_of(m->arch->name), err));
    TARE_TRY(tare_llama_set_text(m, "general.type", TARE_STR("adapter"), err));
    TARE_TRY(tare_llama_set_text(m, "adapter.type", TARE_STR("lora"), err));
    if (m->options->name)
        TARE_TRY(tare_llama_set_text(m, "general.name", tare_str_of(m->options->name), err));
    TARE_TRY(tare_llama_set_number(m, "adapter.lora.alpha", TARE_VALUE_F32, alpha, err));
    TARE_TRY(tare_llama_set_number(m, "general.quantization_version", TARE_VALUE_U32, 2, err));
    c->metadata = TARE_NEW_ARRAY(&m->out->arena, tare_metadata, m->n_keys);
    if (!c->metadata) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    memcpy(c->metadata, m->keys, m->n_keys * sizeof *m->keys);
    c->n_metadata = m->n_keys;
    return TARE_OK;
}

static tare_status fill(tare_llama_mapping *m, lora *l, const tare_model *base, tare_str peft,
                        const tare_open_options *open, tare_error *err) {
    double alpha = 0;
    TARE_TRY(read_alpha(&alpha, base, peft, &m->out->arena, err));
    TARE_TRY(find_pairs(l, &m->out->arena, err));
    TARE_TRY(make_up(l, base, open, err));
    m->hf = l->made_up;
    l->file.source = l->made_up;
    TARE_TRY(tare_llama_mapping_fill(m, err));
    TARE_TRY(add_targets(m, l, err));
    TARE_TRY(set_keys(m, alpha, err));
    return tare_model_finish(m->out, m->options->report, err);
}

tare_status tare_llama_map_adapter(tare_model **out, const tare_model *factors,
                                   tare_str peft_config, const tare_model *base,
                                   const tare_llama_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(factors && base, err);
    tare_llama_options o = TARE_LLAMA_OPTIONS_INIT;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    o.no_tokenizer = true;
    tare_open_options open = TARE_OPEN_OPTIONS_INIT;
    open.allocator = o.allocator;
    open.limits = o.limits ? o.limits : &base->limits;
    tare_llama_mapping m = {.hf = base, .options = &o, .is_rehearsal = true};
    TARE_TRY(tare_model_new(&m.out, &open, err));
    m.out->format = "adapter";
    lora *l = TARE_NEW(&m.out->arena, lora);
    tare_status status = TARE_ERR_NOMEM;
    if (l) {
        *l = (lora){.factors = factors, .file = {.allocator = m.out->allocator}};
        m.out->private_data = l;
        m.out->free_private = free_lora;
        status = fill(&m, l, base, peft_config, &open, err);
    } else {
        tare_fail(err, status, "adapter");
    }
    tare_llama_mapping_free(&m);
    if (status == TARE_OK)
        *out = m.out;
    else
        tare_model_free(m.out);
    return status;
}
