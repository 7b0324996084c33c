/* SPDX-License-Identifier: MIT
 *
 * A LoRA adapter of PEFT as one of llama.cpp. A model is made up that has the adapted weights, and
 * mapped: what the converter does to the rows of a weight it does to those of the factor B, whose rows
 * they are, and what it does to the columns to those of A, once for each tensor that the weight
 * becomes. */
#include <math.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "llama/lora_views.h"
#include "llama/mapping.h"
#include "model/foreign.h"
#include "model/names.h"
#include "model/peft.h"

/* The factors of a weight. */
typedef struct pair {
    tare_str weight; /* first: they are found by it */
    int64_t a, b;    /* tensors of the adapter; -1: not seen */
    bool is_turned;  /* the weight is the product's other way round: of embeddings, of Conv1D */
    double factor;   /* of its scale, beside the alpha that the adapter has */
    bool is_used;
} pair;

typedef struct lora {
    const tare_model *factors;
    tare_model *base;           /* as llama.cpp has it; NULL: its tensors are not known */
    bool has_one_rank, is_tied; /* the head that is adapted is the embeddings */
    bool is_stabilized, is_conv;
    double rank, alpha;
    const tare_json_node *alphas; /* alpha_pattern; NULL: none */
    uint32_t made_file;
    tare_model *made_up; /* shapes of the weights, under their names */
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

/* "base_model.model.X.lora_A.weight" -> "X.weight"; ptr NULL: it is no factor of a matrix. */
static tare_str weight_of(tare_str name, bool *is_a, bool *is_embedding, tare_arena *arena) {
    tare_peft_name parts;
    if (!tare_peft_name_parse(&parts, name)) return (tare_str){NULL, 0};
    *is_a = !parts.is_left;
    *is_embedding = parts.is_embedding;
    return tare_llama_joined(parts.module, TARE_STR(".weight"), arena);
}

static tare_status check_pair(const lora *l, const pair *p, tare_error *err) {
    const tare_tensor *tensors = l->factors->catalog.tensors;
    if (p->a < 0 || p->b < 0)
        return fail_factor(l, p->a < 0 ? p->b : p->a, TARE_ERR_CORRUPT,
                           "the other factor is missing", err);
    const uint64_t rank = tensors[p->b].dims[1];
    if (rank == 0) return fail_factor(l, p->b, TARE_ERR_CORRUPT, "its rank is 0", err);
    if (tensors[p->a].dims[0] != rank)
        return fail_factor(l, p->b, TARE_ERR_CORRUPT, "its rank is not that of the other factor",
                           err);
    if (!l->has_one_rank || (double)rank == l->rank) return TARE_OK;
    fail_factor(l, p->b, TARE_ERR_CORRUPT, "its rank is not that of adapter_config.json", err);
    tare_error_detail(err, "r is %.0f, the factor has %llu", l->rank, (unsigned long long)rank);
    return TARE_ERR_CORRUPT;
}

static tare_status find_pairs(lora *l, tare_arena *arena, tare_error *err) {
    const tare_catalog *c = &l->factors->catalog;
    tare_name_index index;
    l->pairs = TARE_NEW_ARRAY(arena, pair, c->n_tensors + 1);
    if (!l->pairs) return tare_fail(err, TARE_ERR_NOMEM, "adapter");
    TARE_TRY(tare_name_index_init(&index, arena, c->n_tensors + 1, err));
    for (size_t i = 0; i < c->n_tensors; i++) {
        bool is_a = false, is_embedding = false;
        /* PEFT saves the weight beside the factors of heads and embeddings: it is the base's own */
        if (tare_llama_contains(c->tensors[i].name, ".base_layer.")) continue;
        tare_str weight = weight_of(c->tensors[i].name, &is_a, &is_embedding, arena);
        if (!weight.ptr || c->tensors[i].n_dims != 2)
            return fail_factor(
                l, (int64_t)i, TARE_ERR_UNSUPPORTED,
                "it is not a factor of a matrix, and llama.cpp's adapters hold only those", err);
        l->pairs[l->n_pairs] = (pair){weight, -1, -1, is_embedding, 1, false};
        int64_t k = tare_name_index_add(&index, l->pairs, sizeof *l->pairs, l->n_pairs, NULL);
        if (k < 0) k = (int64_t)l->n_pairs++;
        int64_t *factor = is_a ? &l->pairs[k].a : &l->pairs[k].b;
        if (*factor >= 0)
            return fail_factor(l, (int64_t)i, TARE_ERR_UNSUPPORTED,
                               "a second factor of its kind for one module", err);
        *factor = (int64_t)i;
    }
    if (l->n_pairs == 0) return tare_fail(err, TARE_ERR_CORRUPT, "the adapter has no factors");
    for (size_t k = 0; k < l->n_pairs; k++) TARE_TRY(check_pair(l, &l->pairs[k], err));
    return TARE_OK;
}

/* The shape of a weight: rows of B, columns of A, or the other way round. */
static void weight_dims(uint64_t dims[2], const lora *l, const pair *p) {
    const tare_tensor *tensors = l->factors->catalog.tensors;
    dims[p->is_turned] = tensors[p->b].dims[0];
    dims[!p->is_turned] = tensors[p->a].dims[1];
}

/* Whether the base's own weight has the shape of a product, straight or turned. */
static bool has_shape(const lora *l, const tare_model *base, pair p, bool is_turned) {
    uint64_t dims[2];
    int64_t i = tare_model_find_tensor(base, p.weight);
    const char *dot = memchr(p.weight.ptr, '.', p.weight.len);
    if (i < 0 && dot) /* the base may be saved without "transformer." */
        i = tare_model_find_tensor(base, tare_str_cut(p.weight, (size_t)(dot + 1 - p.weight.ptr)));
    p.is_turned = is_turned;
    weight_dims(dims, l, &p);
    const tare_tensor *t = i < 0 ? NULL : &base->catalog.tensors[i];
    return t && t->n_dims == 2 && t->dims[0] == dims[0] && t->dims[1] == dims[1];
}

/* Conv1D has its matrix turned. What adapter_config.json says of it (fan_in_fan_out) is true of some
 * modules only; the base's shapes tell, where they are not square. */
static void find_turned(lora *l, const tare_model *base) {
    for (size_t k = 0; k < l->n_pairs; k++)
        l->is_conv |= !l->pairs[k].is_turned && has_shape(l, base, l->pairs[k], true) &&
                      !has_shape(l, base, l->pairs[k], false);
    for (size_t k = 0; k < l->n_pairs && l->is_conv; k++)
        if (has_shape(l, base, l->pairs[k], true) || !has_shape(l, base, l->pairs[k], false))
            l->pairs[k].is_turned = true;
}

/* The base's config.json, and a tensor without data in the place of each weight. */
static tare_status make_up(lora *l, const tare_model *base, const tare_context *open,
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
        TARE_TRY(tare_model_text(&text, base, "config.json", &m->arena, err));
        m->catalog.resources[m->catalog.n_resources] = *r;
        m->catalog.resources[m->catalog.n_resources++].bytes = (const uint8_t *)text.ptr;
    }
    tare_reader none;
    uint32_t file;
    tare_reader_callback(&none, NULL, NULL, INT64_MAX, "adapter");
    TARE_TRY(tare_model_add_file(m, &none, "adapter", &file, err));
    for (size_t k = 0; k < l->n_pairs; k++) {
        tare_tensor *t = &m->catalog.tensors[m->catalog.n_tensors];
        uint64_t dims[2];
        weight_dims(dims, l, &l->pairs[k]);
        *t = (tare_tensor){.name = l->pairs[k].weight, .offset = TARE_NO_OFFSET};
        TARE_TRY(
            tare_tensor_set(m, t, tare_encoding_get(TARE_ENCODING_F32), dims, 2, file, 0, err));
        m->catalog.n_tensors++;
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

/* A factor as a matrix of these dimensions, or as it lies where that is the same. */
static tare_status add_made(tare_model *out, lora *l, tare_str name, const char *suffix,
                            const tare_llama_made *as, const uint64_t *dims, uint64_t *end,
                            tare_error *err) {
    const tare_llama_piece *first = &as->pieces[0];
    const tare_tensor *factor = &l->factors->catalog.tensors[first->source];
    tare_tensor made = {.offset = TARE_NO_OFFSET};
    if (as->n_pieces == 1 && first->arithmetic == TARE_LLAMA_AS_IS &&
        tare_llama_view_is_plain(first->view, factor->n_elements)) {
        made = *factor;
        TARE_TRY(tare_tensor_set(out, &made, factor->encoding, dims, 2, factor->planes[0].file,
                                 factor->planes[0].offset, err));
        return add_factor(out, name, suffix, &made, err);
    }
    TARE_TRY(tare_tensor_set(out, &made, as->encoding, dims, 2, l->made_file, *end, err));
    l->file.made[l->file.n_made] = *as;
    l->file.made[l->file.n_made].offset = *end;
    l->file.made[l->file.n_made++].size = made.size_bytes;
    *end += made.size_bytes; /* part of what is there already */
    return add_factor(out, name, suffix, &made, err);
}

static const char tied_head[] = "the base's head is tied to its embeddings, and llama.cpp adapts "
                                "no head then: --apply-adapter merges the others into the base";

/* llama.cpp refuses an adapter whose product is not of the shape of the base's tensor. */
static tare_status check_base(const lora *l, const pair *p, const tare_llama_target *t,
                              tare_error *err) {
    const uint64_t cols = t->dims[1];
    if (!l->base) return TARE_OK;
    const int64_t i = tare_model_find_tensor(l->base, t->name);
    if (i < 0)
        return fail_factor(l, p->b, TARE_ERR_UNSUPPORTED,
                           tare_str_is(t->name, "output.weight")
                               ? tied_head
                               : "the base has no such weight: is it an adapter of another one?",
                           err);
    const tare_tensor *weight = &l->base->catalog.tensors[i];
    if (weight->n_dims == 2 && weight->dims[0] == t->dims[0] && weight->dims[1] == cols)
        return TARE_OK;
    fail_factor(l, p->b, TARE_ERR_CORRUPT,
                "its weight has another shape in the base: is it an adapter of another one?", err);
    tare_error_detail(err, "the factors make [%llu, %llu], %.*s is [%llu, %llu]",
                      (unsigned long long)t->dims[0], (unsigned long long)cols,
                      (int)tare_min_u64(t->name.len, 80), t->name.ptr,
                      (unsigned long long)weight->n_rows, (unsigned long long)weight->cols);
    return TARE_ERR_CORRUPT;
}

/* A factor of the weight's rows or of its columns: which tensor, and the steps between two elements
 * of a row or column, and of the rank. */
typedef struct side {
    uint32_t source;
    uint64_t stride, rank_stride;
} side;

static side side_of(const lora *l, const pair *p, bool is_of_rows) {
    const tare_tensor *tensors = l->factors->catalog.tensors;
    if (is_of_rows != p->is_turned) return (side){(uint32_t)p->b, tensors[p->b].dims[1], 1};
    return (side){(uint32_t)p->a, 1, tensors[p->a].dims[1]};
}

/* What arithmetic does to the factor that has it; false: it is no multiplication. */
static bool scale_of(tare_llama_piece *out, const tare_llama_piece *piece, const pair *p) {
    double by = p->factor;
    if (piece->arithmetic == TARE_LLAMA_MUL || piece->arithmetic == TARE_LLAMA_MUL_TWICE)
        by *= (double)piece->constant;
    else if (piece->arithmetic != TARE_LLAMA_AS_IS)
        return false;
    if (piece->arithmetic == TARE_LLAMA_MUL_TWICE) by *= (double)piece->second;
    if (by != 1) {
        out->arithmetic = TARE_LLAMA_MUL;
        out->constant = (float)by;
    }
    return true;
}

/* The factor of the target's rows (is_front), or of its columns, of one piece. */
static bool factor_piece(tare_llama_piece *out, const lora *l, const pair *p,
                         const tare_llama_split *split, bool is_front, bool is_rank_first,
                         tare_arena *arena) {
    const side s = side_of(l, p, is_front != split->is_turned);
    const uint64_t rank = l->factors->catalog.tensors[p->b].dims[1];
    tare_llama_view *view = TARE_NEW(arena, tare_llama_view);
    *out = (tare_llama_piece){.source = s.source, .view = view};
    return view && tare_llama_factor_view(view, is_front ? &split->front : &split->back, s.stride,
                                          rank, s.rank_stride, is_rank_first);
}

/* Both factors of a target; false: what becomes of the weight cannot be done to factors. */
static bool make_factors(tare_llama_made *front, tare_llama_made *back, const lora *l,
                         const pair *p, const tare_llama_target *t, bool is_embedding,
                         tare_arena *arena) {
    uint64_t dims[2];
    const uint64_t rank = l->factors->catalog.tensors[p->b].dims[1];
    tare_llama_piece *pieces = TARE_NEW_ARRAY(arena, tare_llama_piece, t->n_pieces + 1);
    tare_llama_split first = {.is_turned = false};
    if (!pieces || t->n_dims != 2 || t->joint == TARE_LLAMA_SLICES) return false;
    weight_dims(dims, l, p);
    for (size_t i = 0; i < t->n_pieces; i++) {
        const tare_llama_piece *piece = &t->pieces[i];
        tare_llama_split split;
        if (piece->source != t->pieces[0].source || piece->end % t->dims[1] ||
            !tare_llama_split_view(&split, piece->view, dims[0], dims[1]))
            return false;
        if (i == 0) first = split;
        if (split.is_turned != first.is_turned ||
            memcmp(&split.back, &first.back, sizeof split.back) != 0 ||
            tare_llama_view_steps(&split.back) != t->dims[1] ||
            !factor_piece(&pieces[i], l, p, &split, true, false, arena) ||
            !scale_of(&pieces[i], piece, p))
            return false;
        pieces[i].end = piece->end / t->dims[1] * rank;
    }
    if (!factor_piece(&pieces[t->n_pieces], l, p, &first, false, !is_embedding, arena))
        return false;
    pieces[t->n_pieces].end = t->dims[1] * rank;
    *front = (tare_llama_made){.pieces = pieces, .n_pieces = t->n_pieces};
    *back = (tare_llama_made){.pieces = pieces + t->n_pieces, .n_pieces = 1};
    return true;
}

/* The type of what is made: the factor's, F32 where it is multiplied. */
static void set_encoding(tare_llama_made *made, const lora *l) {
    made->encoding = l->factors->catalog.tensors[made->pieces[0].source].encoding;
    for (size_t i = 0; i < made->n_pieces; i++)
        if (made->pieces[i].arithmetic != TARE_LLAMA_AS_IS ||
            tare_llama_is_decoded(l->factors, made->pieces[i].source))
            made->encoding = tare_encoding_get(TARE_ENCODING_F32);
    made->element_bytes = made->encoding->planes[0].unit_bytes;
}

/* llama.cpp takes rows of the embeddings' first factor by their numbers: it is the longer one. */
static tare_status add_target(tare_model *out, lora *l, const tare_llama_target *t, uint64_t *end,
                              tare_error *err) {
    pair *p = &l->pairs[t->pieces[0].source];
    const uint64_t rank = l->factors->catalog.tensors[p->b].dims[1];
    const bool is_embedding = tare_str_starts(t->name, TARE_STR("token_embd"));
    tare_llama_made front, back;
    if (l->is_tied && is_embedding)
        return fail_factor(l, p->b, TARE_ERR_UNSUPPORTED, tied_head, err);
    if (!make_factors(&front, &back, l, p, t, is_embedding, &out->arena))
        return fail_factor(l, p->b, TARE_ERR_UNSUPPORTED,
                           "what becomes of its weight in llama.cpp cannot be done to factors",
                           err);
    TARE_TRY(check_base(l, p, t, err));
    p->is_used = true;
    set_encoding(&front, l);
    set_encoding(&back, l);
    const uint64_t of_front[] = {t->dims[0], rank}, of_back[] = {t->dims[1], rank},
                   turned[] = {rank, t->dims[1]};
    if (is_embedding) {
        TARE_TRY(add_made(out, l, t->name, ".lora_a", &front, of_front, end, err));
        return add_made(out, l, t->name, ".lora_b", &back, of_back, end, err);
    }
    TARE_TRY(add_made(out, l, t->name, ".lora_a", &back, turned, end, err));
    return add_made(out, l, t->name, ".lora_b", &front, of_front, end, err);
}

/* Factors of the vision or audio encoder, and of other weights that llama.cpp has no use for, are
 * lost; with all of them lost there is no adapter. */
static tare_status check_rest(tare_llama_mapping *m, const lora *l, tare_error *err) {
    static const char what[] = "llama.cpp has no use for its weight";
    size_t n_lost = 0;
    for (size_t k = 0; k < l->n_pairs; k++) {
        if (l->pairs[k].is_used || n_lost++) continue;
        tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "llama.left-out");
        f.item_kind = TARE_ITEM_TENSOR;
        f.item = l->pairs[k].b;
        f.item_name = l->factors->catalog.tensors[l->pairs[k].b].name;
        f.text = tare_str_of(what);
        m->out->loss = f;
    }
    if (n_lost && n_lost == l->n_pairs)
        return fail_factor(
            l, l->pairs[0].b, TARE_ERR_UNSUPPORTED,
            "nothing is left of the adapter: llama.cpp has no use for the weights of "
            "its factors, of a vision or audio encoder for example",
            err);
    if (n_lost)
        tare_report_addf(m->options->context->report, &m->out->loss,
                         "left out: %s (%zu of %zu pairs of factors)", what, n_lost, l->n_pairs);
    return TARE_OK;
}

static tare_status add_targets(tare_llama_mapping *m, lora *l, tare_error *err) {
    tare_model *out = m->out;
    tare_reader reader;
    uint64_t end = 0;
    l->is_tied = m->tied_name != NULL;
    out->catalog.tensors = TARE_NEW_ARRAY(&out->arena, tare_tensor, 2 * m->n_targets);
    l->file.made = TARE_NEW_ARRAY(&out->arena, tare_llama_made, 2 * m->n_targets);
    if (!out->catalog.tensors || !l->file.made) return tare_fail(err, TARE_ERR_NOMEM, "adapter");
    TARE_TRY(tare_model_share_files(out, l->factors, err));
    tare_reader_callback(&reader, NULL, &l->file, 0, "adapter");
    reader.fetch = tare_llama_virtual_fetch;
    TARE_TRY(tare_model_add_file(out, &reader, "adapter", &l->made_file, err));
    for (size_t i = 0; i < m->n_targets; i++)
        if (!m->targets[i]->bytes) TARE_TRY(add_target(out, l, m->targets[i], &end, err));
    out->files[l->made_file].reader.size = end;
    return check_rest(m, l, err);
}

/* ---- keys -------------------------------------------------------------------------------------- */

static tare_status fail_config(const char *what, tare_status status, tare_error *err) {
    tare_fail(err, status, what);
    tare_error_file(err, TARE_PEFT_CONFIG);
    return status;
}

/* A member with a number for each of some modules, or nothing. */
static tare_status check_patterns(const tare_json_node *root, const char *name, const char *what,
                                  tare_error *err) {
    const tare_json_node *v = tare_json_member(root, tare_str_of(name));
    if (!v || v->type == TARE_JSON_OBJECT || v->type == TARE_JSON_NULL) return TARE_OK;
    return fail_config(what, TARE_ERR_CORRUPT, err);
}

static bool is_set(const tare_json_node *node) {
    if (node->type == TARE_JSON_NULL || node->type == TARE_JSON_FALSE) return false;
    if (node->type == TARE_JSON_STRING) return node->text.len > 0;
    return (node->type != TARE_JSON_ARRAY && node->type != TARE_JSON_OBJECT) || node->n > 0;
}

static double number_of(const tare_json_node *root, const char *name) {
    const tare_llama_value v = tare_llama_value_of(tare_json_member(root, tare_str_of(name)));
    return v.kind == TARE_LLAMA_NUMBER ? v.number : 0;
}

static bool has(const tare_json_node *root, const char *name) {
    const tare_json_node *node = tare_json_member(root, tare_str_of(name));
    return node && is_set(node);
}

/* lora_alpha, so that llama.cpp's alpha / rank is the scale that PEFT has: of the rank that each pair
 * has, as rank_pattern says. */
static tare_status read_config(double *out, lora *l, tare_str peft, tare_arena *arena,
                               tare_error *err) {
    const tare_json_node *root;
    TARE_TRY(tare_name_foreign(tare_json_tree(&root, peft, arena, err), peft, peft.len, true, err));
    for (const tare_json_node *c = root->child; c; c = c->next) {
        const char *what = tare_peft_obstacle(c->key, is_set(c), tare_json_node_text(c));
        if (what) return fail_config(what, TARE_ERR_UNSUPPORTED, err);
    }
    TARE_TRY(check_patterns(root, "rank_pattern", "rank_pattern: expected an object", err));
    TARE_TRY(check_patterns(root, "alpha_pattern", "alpha_pattern: expected an object", err));
    l->alpha = number_of(root, "lora_alpha");
    l->rank = number_of(root, "r");
    l->has_one_rank = !has(root, "rank_pattern");
    l->is_stabilized = has(root, "use_rslora");
    l->is_conv = has(root, "fan_in_fan_out");
    l->alphas = tare_json_member(root, TARE_STR("alpha_pattern"));
    if (!(l->alpha > 0 && l->alpha < 1e6 && l->rank >= 1))
        return fail_config("it does not say lora_alpha and r as numbers above 0", TARE_ERR_CORRUPT,
                           err);
    *out = l->is_stabilized ? l->alpha * sqrt(l->rank) : l->alpha;
    return TARE_OK;
}

/* Whether a member of alpha_pattern is about a module: its name, or the end of it. A dot is any
 * character, as in all expressions. */
static bool is_about(tare_str pattern, tare_str module) {
    if (pattern.len > module.len) return false;
    const size_t from = module.len - pattern.len;
    for (size_t i = 0; i < pattern.len; i++)
        if (pattern.ptr[i] != '.' && pattern.ptr[i] != module.ptr[from + i]) return false;
    return from == 0 || module.ptr[from - 1] == '.';
}

/* The alpha of a module. PEFT's patterns are regular expressions, of which names are known here. */
static tare_status alpha_of(double *out, const lora *l, tare_str weight, tare_error *err) {
    const tare_str module = {weight.ptr, weight.len - 7}; /* without ".weight" */
    *out = l->alpha;
    for (const tare_json_node *c = l->alphas ? l->alphas->child : NULL; c; c = c->next) {
        for (size_t i = 0; i < c->key.len; i++)
            if (memchr("\\[](){}*+?|^$", c->key.ptr[i], 13))
                return fail_config("alpha_pattern: a pattern, where names of modules are known",
                                   TARE_ERR_UNSUPPORTED, err);
        if (!is_about(c->key, module)) continue;
        *out = tare_llama_value_of(c).number;
        return *out > 0 && *out < 1e6
                   ? TARE_OK
                   : fail_config("alpha_pattern: expected numbers above 0", TARE_ERR_CORRUPT, err);
    }
    return TARE_OK;
}

/* llama.cpp scales each pair by the one alpha and its rank: the rest is the factor's. */
static tare_status find_scales(lora *l, double alpha, tare_error *err) {
    for (size_t k = 0; k < l->n_pairs; k++) {
        pair *p = &l->pairs[k];
        const double rank = (double)l->factors->catalog.tensors[p->b].dims[1];
        double own;
        TARE_TRY(alpha_of(&own, l, p->weight, err));
        const double wanted = l->is_stabilized ? own * sqrt(rank) : own;
        p->factor = wanted == alpha ? 1 : wanted / alpha;
    }
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

/* The base's tensors under llama.cpp's names, if it has any. */
static tare_status map_base(lora *l, const tare_model *base, const tare_llama_options *options,
                            tare_error *err) {
    tare_llama_options o = tare_llama_options_default();
    if (base->catalog.n_tensors == 0) return TARE_OK;
    tare_context context = *options->context;
    context.report = NULL;
    o.context = &context;
    o.no_tokenizer = true;
    const tare_status status = tare_llama_map(&l->base, base, &o, err);
    if (status != TARE_OK && base->n_files) tare_error_file(err, base->files[0].name);
    return status;
}

static tare_status fill(tare_llama_mapping *m, lora *l, const tare_model *base, tare_str peft,
                        const tare_context *open, tare_error *err) {
    double alpha = 0;
    TARE_TRY(read_config(&alpha, l, peft, &m->out->arena, err));
    TARE_TRY(find_pairs(l, &m->out->arena, err));
    TARE_TRY(find_scales(l, alpha, err));
    find_turned(l, base);
    TARE_TRY(map_base(l, base, m->options, err));
    TARE_TRY(make_up(l, base, open, err));
    m->hf = l->made_up;
    l->file.source = l->factors;
    TARE_TRY(tare_llama_mapping_fill(m, err));
    TARE_TRY(add_targets(m, l, err));
    TARE_TRY(set_keys(m, alpha, err));
    return tare_model_finish(m->out, m->options->context->report, err);
}

tare_status tare_llama_map_adapter(tare_model **out, const tare_model *factors,
                                   tare_str peft_config, const tare_model *base,
                                   const tare_llama_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(factors && base, err);
    tare_llama_options o = tare_llama_options_default();
    tare_context context;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    o.no_tokenizer = true;
    tare_context open = tare_context_default();
    open.allocator = o.context->allocator;
    open.limits = o.context->limits ? o.context->limits : &base->limits;
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
    if (l) tare_model_free(l->base); /* its shapes were what counted */
    if (status == TARE_OK)
        *out = m.out;
    else
        tare_model_free(m.out);
    return status;
}
