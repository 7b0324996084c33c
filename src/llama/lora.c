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
    bool is_ignored; /* llama.cpp takes its weight without adapters */
} pair;

typedef struct lora {
    const tare_model *factors;
    tare_model *base; /* as llama.cpp has it; NULL: its tensors are not known */
    bool is_tied;     /* the head that is adapted is the embeddings */
    tare_peft_config config;
    tare_str arch;
    uint32_t made_file;
    tare_model *made_up; /* shapes of the weights, under their names */
    tare_made_file file;
    pair *pairs;
    size_t n_pairs;
    tare_peft_left left; /* what PEFT would not load */
} lora;

static void free_lora(void *ctx) {
    lora *l = ctx;
    tare_peft_config_free(&l->config);
    tare_model_free(l->made_up);
}

static tare_status fail_factor(const lora *l, int64_t i, tare_status status, const char *what,
                               tare_error *err) {
    return tare_fail_tensor(err, status, &l->factors->catalog.tensors[i], (size_t)i, what);
}

/* As where the factors are merged: with such a number, nothing that the model says is one. */
static tare_status check_numbers(const lora *l, int64_t i, tare_error *err) {
    const uint64_t n = l->factors->catalog.tensors[i].n_elements;
    float numbers[1024];
    for (uint64_t at = 0; at < n; at += 1024) {
        const size_t count = (size_t)tare_min_u64(n - at, 1024);
        TARE_TRY(tare_tensor_values_f32(numbers, l->factors, (size_t)i, at, count, err));
        for (size_t k = 0; k < count; k++)
            if (!isfinite(numbers[k]))
                return fail_factor(l, i, TARE_ERR_UNSUPPORTED, "NaN or Inf in a factor", err);
    }
    return TARE_OK;
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
    TARE_TRY(check_numbers(l, p->a, err));
    return check_numbers(l, p->b, err);
}

/* What else than a factor a tensor is: "X.weight" of the base is its own, the rest is merged only. */
static tare_status check_other(const lora *l, int64_t i, const tare_peft_name *name,
                               tare_error *err) {
    static const char *const what[] = {
        [TARE_PEFT_MAGNITUDE] = "DoRA's magnitudes, which llama.cpp's adapters do not have: merge "
                                "it into the base (`apply_adapter`)",
        [TARE_PEFT_BIAS] = "a bias, which llama.cpp's adapters do not have: merge it into the base "
                           "(`apply_adapter`)",
        [TARE_PEFT_WHOLE] = "it is not a factor of a matrix, and llama.cpp's adapters hold only "
                            "those: merge it into the base (`apply_adapter`)",
    };
    return name->part == TARE_PEFT_BASE
               ? TARE_OK
               : fail_factor(l, i, TARE_ERR_UNSUPPORTED, what[name->part], err);
}

static tare_status add_factor_of(lora *l, int64_t i, const tare_peft_name *name,
                                 tare_name_index *index, tare_arena *arena, tare_error *err) {
    const tare_str weight = tare_llama_joined(name->module, TARE_STR(".weight"), arena);
    if (!weight.ptr) return tare_fail(err, TARE_ERR_NOMEM, "adapter");
    if (l->factors->catalog.tensors[i].n_dims != 2)
        return fail_factor(l, i, TARE_ERR_UNSUPPORTED, "a factor is not a matrix", err);
    l->pairs[l->n_pairs] =
        (pair){.weight = weight, .a = -1, .b = -1, .is_turned = name->is_embedding, .factor = 1};
    int64_t k = tare_name_index_add(index, l->pairs, sizeof *l->pairs, l->n_pairs, NULL);
    if (k < 0) k = (int64_t)l->n_pairs++;
    int64_t *factor = name->part == TARE_PEFT_RIGHT ? &l->pairs[k].a : &l->pairs[k].b;
    if (*factor >= 0)
        return fail_factor(l, i, TARE_ERR_UNSUPPORTED, "a second factor of its kind for one module",
                           err);
    *factor = i;
    return TARE_OK;
}

/* Of which modules there are factors, before any is left out. */
static tare_status see_modules(lora *l, tare_error *err) {
    const tare_catalog *c = &l->factors->catalog;
    tare_peft_name name;
    for (size_t i = 0; i < c->n_tensors; i++) {
        tare_peft_name_parse(&name, c->tensors[i].name);
        if (name.part == TARE_PEFT_LEFT)
            TARE_TRY(
                tare_peft_targets_see(&l->config.targets, name.module, name.is_embedding, err));
    }
    tare_peft_targets_settle(&l->config.targets, false);
    l->left.is_stale = l->config.targets.is_stale;
    return TARE_OK;
}

static tare_status add_tensor(lora *l, int64_t i, tare_name_index *index, tare_arena *arena,
                              tare_error *err) {
    tare_peft_name name;
    bool is_taken;
    tare_peft_name_parse(&name, l->factors->catalog.tensors[i].name);
    if (!tare_peft_is_factor(&name)) return check_other(l, i, &name, err);
    TARE_TRY(
        tare_peft_is_target(&is_taken, &l->config.targets, name.module, name.is_embedding, err));
    if (is_taken) return add_factor_of(l, i, &name, index, arena, err);
    if (name.part == TARE_PEFT_LEFT && l->left.n++ == 0) l->left.first = name.module;
    return TARE_OK;
}

static tare_status find_pairs(lora *l, tare_arena *arena, tare_error *err) {
    const tare_catalog *c = &l->factors->catalog;
    tare_name_index index;
    l->pairs = TARE_NEW_ARRAY(arena, pair, c->n_tensors + 1);
    if (!l->pairs) return tare_fail(err, TARE_ERR_NOMEM, "adapter");
    TARE_TRY(tare_name_index_init(&index, arena, c->n_tensors + 1, err));
    TARE_TRY(see_modules(l, err));
    for (size_t i = 0; i < c->n_tensors; i++)
        TARE_TRY(add_tensor(l, (int64_t)i, &index, arena, err));
    if (l->n_pairs == 0)
        return l->left.n ? tare_fail(err, TARE_ERR_UNSUPPORTED,
                                     "nothing is left of the adapter: " TARE_PEFT_NO_TARGET)
                         : tare_fail(err, TARE_ERR_CORRUPT, "the adapter has no factors");
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

/* Conv1D has its matrix turned. What the base is tells, and its shapes, where they are not square. */
static void find_turned(lora *l, const tare_model *base) {
    for (size_t k = 0; k < l->n_pairs; k++) {
        pair *p = &l->pairs[k];
        if (p->is_turned) continue; /* of embeddings */
        const bool fits = has_shape(l, base, *p, false), fits_turned = has_shape(l, base, *p, true);
        p->is_turned = fits != fits_turned
                           ? fits_turned
                           : tare_peft_is_conv1d(base, p->weight, l->config.is_transposed);
    }
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
                            const tare_composition *as, const uint64_t *dims, uint64_t *end,
                            tare_error *err) {
    const tare_piece *first = &as->pieces[0];
    const tare_tensor *factor = &l->factors->catalog.tensors[first->source];
    tare_tensor made = {.offset = TARE_NO_OFFSET};
    if (as->n_pieces == 1 && first->arithmetic == TARE_PIECE_AS_IS &&
        tare_llama_view_is_plain(first->view, factor->n_elements)) {
        made = *factor;
        TARE_TRY(tare_tensor_set(out, &made, factor->encoding, dims, 2, factor->planes[0].file,
                                 factor->planes[0].offset, err));
        return add_factor(out, name, suffix, &made, err);
    }
    TARE_TRY(tare_tensor_set(out, &made, as->encoding, dims, 2, l->made_file, *end, err));
    l->file.made[l->file.n_made++] =
        (tare_made){.offset = *end, .size = made.size_bytes, .of = *as};
    *end += made.size_bytes; /* part of what is there already */
    return add_factor(out, name, suffix, &made, err);
}

static const char tied_head[] = "the base's head is tied to its embeddings, and llama.cpp adapts "
                                "no head then: `apply_adapter` merges the others into the base";

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
static bool scale_of(tare_piece *out, const tare_piece *piece, const pair *p) {
    double by = p->factor;
    if (piece->arithmetic == TARE_PIECE_MUL || piece->arithmetic == TARE_PIECE_MUL_TWICE)
        by *= (double)piece->constant;
    else if (piece->arithmetic != TARE_PIECE_AS_IS)
        return false;
    if (piece->arithmetic == TARE_PIECE_MUL_TWICE) by *= (double)piece->second;
    if (by != 1) {
        out->arithmetic = TARE_PIECE_MUL;
        out->constant = (float)by;
    }
    return true;
}

/* The factor of the target's rows (is_front), or of its columns, of one piece. */
static bool factor_piece(tare_piece *out, const lora *l, const pair *p,
                         const tare_llama_split *split, bool is_front, bool is_rank_first,
                         tare_arena *arena) {
    const side s = side_of(l, p, is_front != split->is_turned);
    const uint64_t rank = l->factors->catalog.tensors[p->b].dims[1];
    tare_piece_view *view = TARE_NEW(arena, tare_piece_view);
    *out = (tare_piece){.source = s.source, .view = view};
    return view && tare_llama_factor_view(view, is_front ? &split->front : &split->back, s.stride,
                                          rank, s.rank_stride, is_rank_first);
}

/* Both factors of a target; false: what becomes of the weight cannot be done to factors. */
static bool make_factors(tare_composition *front, tare_composition *back, const lora *l,
                         const pair *p, const tare_llama_target *t, bool is_embedding,
                         tare_arena *arena) {
    uint64_t dims[2];
    const uint64_t rank = l->factors->catalog.tensors[p->b].dims[1];
    tare_piece *pieces = TARE_NEW_ARRAY(arena, tare_piece, t->n_pieces + 1);
    tare_llama_split first = {.is_turned = false};
    if (!pieces || t->n_dims != 2 || t->joint == TARE_LLAMA_SLICES) return false;
    weight_dims(dims, l, p);
    for (size_t i = 0; i < t->n_pieces; i++) {
        const tare_piece *piece = &t->pieces[i];
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
    *front = (tare_composition){.pieces = pieces, .n_pieces = t->n_pieces};
    *back = (tare_composition){.pieces = pieces + t->n_pieces, .n_pieces = 1};
    return true;
}

/* The type of what is made: the factor's, F32 where it is multiplied. */
static void set_encoding(tare_composition *made, const lora *l) {
    made->encoding = l->factors->catalog.tensors[made->pieces[0].source].encoding;
    for (size_t i = 0; i < made->n_pieces; i++)
        if (made->pieces[i].arithmetic != TARE_PIECE_AS_IS ||
            tare_made_is_decoded(l->factors, made->pieces[i].source))
            made->encoding = tare_encoding_get(TARE_ENCODING_F32);
}

/* The matrices that llama.cpp's graphs multiply with as they are, where they add an adapter's product
 * to that of all others. */
static bool is_ignored(tare_str arch, tare_str name) {
    static const struct {
        const char *arch, *tensors;
    } rows[] = {
        {"deepseek2", "attn_q attn_q_a attn_q_b attn_kv_a_mqa attn_kv_b"},
        {"deepseek32",
         "attn_q_a attn_q_b attn_kv_a_mqa indexer.attn_q_b indexer.attn_k indexer.proj"},
        {"glm-dsa", "attn_q_a attn_q_b attn_kv_a_mqa indexer.attn_q_b indexer.attn_k indexer.proj"},
        {"gemma3n", "altup_router"},
        {"kimi-linear", "attn_q attn_k attn_v attn_output attn_kv_a_mqa attn_kv_b ssm_f_a ssm_f_b "
                        "ssm_beta ssm_g_a ssm_g_b"},
        {"minicpm3", "attn_q_a attn_q_b attn_kv_a_mqa attn_kv_b"},
        {"nemotron_h_moe", "ffn_latent_down ffn_latent_up"},
        {"plm", "attn_q attn_kv_a_mqa attn_kv_b"},
    };
    if (!tare_str_starts(name, TARE_STR("blk."))) return false;
    size_t dot = TARE_STR("blk.").len;
    while (dot < name.len && name.ptr[dot] != '.') dot++;
    name = tare_str_cut(name, dot < name.len ? dot + 1 : dot);
    if (tare_str_ends(name, TARE_STR(".weight"))) name.len -= TARE_STR(".weight").len;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (tare_str_is(arch, rows[i].arch)) return tare_llama_is_one_of(name, rows[i].tensors);
    return false;
}

/* llama.cpp takes rows of the embeddings' first factor by their numbers: it is the longer one. */
static tare_status add_target(tare_model *out, lora *l, const tare_llama_target *t, uint64_t *end,
                              tare_error *err) {
    pair *p = &l->pairs[t->pieces[0].source];
    const uint64_t rank = l->factors->catalog.tensors[p->b].dims[1];
    const bool is_embedding = tare_str_starts(t->name, TARE_STR("token_embd"));
    tare_composition front, back;
    if (l->is_tied && is_embedding)
        return fail_factor(l, p->b, TARE_ERR_UNSUPPORTED, tied_head, err);
    if (!make_factors(&front, &back, l, p, t, is_embedding, &out->arena))
        return fail_factor(
            l, p->b, TARE_ERR_UNSUPPORTED,
            "what a conversion for llama.cpp does to its weight cannot be done to factors", err);
    TARE_TRY(check_base(l, p, t, err));
    p->is_used = true;
    p->is_ignored |= is_ignored(l->arch, t->name);
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

/* Says of pairs that do nothing in llama.cpp; returns how many they are. */
static size_t report_lost(tare_llama_mapping *m, const lora *l, bool is_ignored, const char *what) {
    size_t n = 0;
    for (size_t k = 0; k < l->n_pairs; k++) {
        const pair *p = &l->pairs[k];
        if ((is_ignored ? !p->is_ignored : p->is_used) || n++) continue;
        tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "llama.left-out");
        if (is_ignored) f.code = "llama.not-adapted";
        f.item_kind = TARE_ITEM_TENSOR;
        f.item = p->b;
        f.item_name = l->factors->catalog.tensors[p->b].name;
        f.text = tare_str_of(what);
        m->out->loss = f;
    }
    if (n)
        tare_report_addf(m->options->context->report, &m->out->loss,
                         "%s%s (%zu of %zu pairs of factors)", is_ignored ? "" : "left out: ", what,
                         n, l->n_pairs);
    return n;
}

/* Factors of the vision or audio encoder, and of other weights that llama.cpp has no use for, are
 * lost; with all of them lost there is no adapter. */
static tare_status check_rest(tare_llama_mapping *m, const lora *l, tare_error *err) {
    m->out->loss = tare_peft_loss(&l->left);
    tare_peft_tell(&l->left, l->n_pairs, TARE_PEFT_CONFIG, m->options->context->report);
    const size_t n_lost = report_lost(m, l, false, "llama.cpp has no use for its weight"),
                 n_ignored = report_lost(m, l, true,
                                         "llama.cpp computes with its weight as it is, whatever "
                                         "adapters say: merge it into the base (`apply_adapter`)");
    if (n_lost + n_ignored < l->n_pairs) return TARE_OK;
    return fail_factor(
        l, l->pairs[0].b, TARE_ERR_UNSUPPORTED,
        n_ignored
            ? "nothing of the adapter works in llama.cpp: merge it into the base (`apply_adapter`)"
            : "nothing is left of the adapter: llama.cpp has no use for the weights of its "
              "factors, of a vision or audio encoder for example",
        err);
}

static tare_status add_targets(tare_llama_mapping *m, lora *l, tare_error *err) {
    tare_model *out = m->out;
    tare_reader reader;
    uint64_t end = 0;
    l->is_tied = m->tied_name != NULL;
    l->arch = tare_str_of(m->arch->name);
    out->catalog.tensors = TARE_NEW_ARRAY(&out->arena, tare_tensor, 2 * m->n_targets);
    l->file.made = TARE_NEW_ARRAY(&out->arena, tare_made, 2 * m->n_targets);
    if (!out->catalog.tensors || !l->file.made) return tare_fail(err, TARE_ERR_NOMEM, "adapter");
    TARE_TRY(tare_model_share_files(out, l->factors, err));
    tare_reader_callback(&reader, NULL, &l->file, 0, "adapter");
    reader.fetch = tare_made_fetch;
    TARE_TRY(tare_model_add_file(out, &reader, "adapter", &l->made_file, err));
    for (size_t i = 0; i < m->n_targets; i++)
        if (!m->targets[i]->bytes) TARE_TRY(add_target(out, l, m->targets[i], &end, err));
    out->files[l->made_file].reader.size = end;
    return check_rest(m, l, err);
}

/* ---- keys -------------------------------------------------------------------------------------- */

static tare_status read_config(lora *l, tare_str text, tare_arena *arena,
                               const tare_allocator *allocator, tare_error *err) {
    const tare_status status = tare_peft_config_read(&l->config, text, arena, allocator, err);
    if (status != TARE_OK) tare_error_file(err, TARE_PEFT_CONFIG);
    const char *more =
        l->config.is_dora ? "use_dora: llama.cpp's adapters have no magnitudes of DoRA: merge it "
                            "into the base (`apply_adapter`)"
        : l->config.has_base_biases
            ? "bias: llama.cpp's adapters have no biases: merge it into the base (`apply_adapter`)"
        : l->config.has_biases
            ? "lora_bias: llama.cpp's adapters have no biases: merge it into the "
              "base (`apply_adapter`)"
        : l->config.parameters
            ? "target_parameters: factors of experts in one tensor are not written for llama.cpp: "
              "merge the adapter into the base (`apply_adapter`)"
        : l->config.targets.whole.n
            ? "modules_to_save: llama.cpp's adapters have no whole modules: merge it "
              "into the base (`apply_adapter`)"
            : NULL;
    if (status != TARE_OK || !more) return status;
    tare_fail(err, TARE_ERR_UNSUPPORTED, more);
    tare_error_file(err, TARE_PEFT_CONFIG);
    return TARE_ERR_UNSUPPORTED;
}

/* llama.cpp multiplies each product by the adapter's alpha / its rank; where that is not PEFT's scale,
 * the rest is a factor's. lora_alpha, unless all scales are of ranks' roots. */
static tare_status find_scales(double *alpha, lora *l, tare_error *err) {
    const tare_peft_config *c = &l->config;
    *alpha = tare_peft_scale(c, c->rank, c->alpha) * c->rank;
    for (size_t k = 0; k < l->n_pairs; k++) {
        pair *p = &l->pairs[k];
        const double has = (double)l->factors->catalog.tensors[p->b].dims[1];
        const tare_str module = {p->weight.ptr, p->weight.len - TARE_STR(".weight").len};
        double rank, own;
        TARE_TRY(tare_peft_numbers(&rank, &own, c, module, err));
        if (rank != has) {
            fail_factor(l, p->b, TARE_ERR_CORRUPT, "its rank is not that of adapter_config.json",
                        err);
            tare_error_detail(err, "r is %.0f, the factor has %.0f", rank, has);
            return TARE_ERR_CORRUPT;
        }
        const double wanted = tare_peft_scale(c, rank, own) * rank;
        p->factor = wanted == *alpha ? 1 : wanted / *alpha;
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
    TARE_TRY(read_config(l, peft, &m->out->arena, m->out->allocator, err));
    TARE_TRY(find_pairs(l, &m->out->arena, err));
    TARE_TRY(find_scales(&alpha, l, err));
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
