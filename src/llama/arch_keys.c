/* SPDX-License-Identifier: MIT
 *
 * The keys of an architecture: a list of rows common to most, then those of its own. */
#include <math.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "model/value.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static tare_status fail_value(const char *name, const char *what, tare_error *err) {
    tare_fail(err, TARE_ERR_CORRUPT, what);
    tare_error_item(err, TARE_ITEM_KEY, -1, tare_str_of(name));
    return TARE_ERR_CORRUPT;
}

static tare_status wrong_kind(const char *name, tare_str member, tare_error *err) {
    const bool is_of_processor = tare_str_starts(member, TARE_STR("processor."));
    fail_value(name,
               is_of_processor
                   ? "preprocessor_config.json: the value for the key is of the wrong kind"
                   : "config.json: the value for the key is of the wrong kind",
               err);
    if (member.len) tare_error_detail(err, "%.*s", (int)tare_min_u64(member.len, 63), member.ptr);
    return TARE_ERR_CORRUPT;
}

/* What config.json says itself is as it says it; what is computed of it may be cut. */
static tare_status check_whole(const tare_llama_value *v, const char *name, tare_value_type type,
                               tare_error *err) {
    const bool is_whole = type == TARE_VALUE_U32 || type == TARE_VALUE_I32;
    if (!is_whole || !v->member.len || v->kind != TARE_LLAMA_NUMBER ||
        v->number == trunc(v->number))
        return TARE_OK;
    fail_value(name, "config.json: the value for the key is not a whole number", err);
    tare_error_detail(err, "%.*s", (int)tare_min_u64(v->member.len, 63), v->member.ptr);
    return TARE_ERR_CORRUPT;
}

static tare_status not_finite(const char *name, tare_error *err) {
    return fail_value(name, "config.json: the value for the key is not a finite number", err);
}

/* An array of config.json: numbers of one kind, or of a key of texts these. Whole numbers become I32,
 * others F32. */
static tare_status set_tree(tare_llama_mapping *m, const tare_llama_key *row,
                            const tare_llama_value *value, tare_error *err) {
    const char *name = row->name;
    const tare_json_node *tree = value->tree;
    if (tree->type != TARE_JSON_ARRAY) return wrong_kind(name, value->member, err);
    double *numbers = TARE_NEW_ARRAY(&m->out->arena, double, tree->n);
    tare_str *texts = TARE_NEW_ARRAY(&m->out->arena, tare_str, tree->n);
    if (!numbers || !texts) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    tare_value_type type = TARE_VALUE_I32;
    size_t n = 0, n_texts = 0, n_bools = 0;
    for (const tare_json_node *c = tree->child; c; c = c->next, n++) {
        tare_llama_value v = tare_llama_value_of(c);
        numbers[n] = v.number;
        texts[n] = v.text;
        n_texts += v.kind == TARE_LLAMA_TEXT;
        n_bools += v.kind == TARE_LLAMA_BOOL;
        if (v.kind == TARE_LLAMA_ABSENT || v.kind == TARE_LLAMA_TREE)
            return wrong_kind(name, value->member, err);
        if (v.kind == TARE_LLAMA_NUMBER && !isfinite(v.number)) return not_finite(name, err);
        if (v.kind == TARE_LLAMA_NUMBER && !v.is_whole) type = TARE_VALUE_F32;
    }
    if (n_texts == n && (!n || row->type == TARE_VALUE_STRING))
        return tare_llama_set_texts(m, name, texts, n, err);
    if (n_texts || (n_bools && n_bools != n)) return wrong_kind(name, value->member, err);
    if (n_bools) type = TARE_VALUE_BOOL;
    return tare_llama_set_numbers(m, name, type, numbers, n, err);
}

/* Takes a key away. */
static void unset(tare_llama_mapping *m, const char *name) {
    char whole[160];
    snprintf(whole, sizeof whole, "%s.%s", m->arch->name, name);
    for (size_t i = 0; i < m->n_keys; i++) {
        if (!tare_str_is(m->keys[i].key, whole)) continue;
        m->n_keys--;
        memmove(&m->keys[i], &m->keys[i + 1], (m->n_keys - i) * sizeof *m->keys);
        return;
    }
}

static tare_status set_row(tare_llama_mapping *m, const tare_llama_key *row, tare_error *err) {
    tare_llama_value v;
    if (!row->formula) {
        unset(m, row->name);
        return TARE_OK;
    }
    TARE_TRY(tare_llama_formula(&v, tare_str_of(row->formula), &m->config, NULL, err));
    switch (v.kind) {
    case TARE_LLAMA_ABSENT:
        return TARE_OK;
    case TARE_LLAMA_TREE:
        return set_tree(m, row, &v, err);
    case TARE_LLAMA_TEXT:
        if (row->type != TARE_VALUE_STRING) return wrong_kind(row->name, v.member, err);
        return tare_llama_set_text(m, row->name, v.text, err);
    default:
        if (row->type == TARE_VALUE_STRING) return wrong_kind(row->name, v.member, err);
        TARE_TRY(check_whole(&v, row->name, row->type, err));
        return tare_llama_set_number(m, row->name, row->type, v.number, err);
    }
}

/* "NAME[]": a number or bool for each layer, "NAME[list]" for each element of a list, "NAME[3]" a
 * list of three; no key where the first has none. */
static tare_status set_layers(tare_llama_mapping *m, const tare_llama_key *row, tare_error *err) {
    char name[96];
    size_t length = strcspn(row->name, "[");
    tare_str list = tare_str_of(row->name + length + 1);
    uint64_t n = m->n_layers;
    list.len--;
    if (list.len) {
        tare_llama_value v;
        TARE_TRY(tare_llama_formula(&v, list, &m->config, NULL, err));
        const bool is_count = list.ptr[0] >= '0' && list.ptr[0] <= '9';
        n = is_count ? (uint64_t)v.number : v.kind == TARE_LLAMA_TREE ? v.tree->n : 0;
    }
    double *numbers = TARE_NEW_ARRAY(&m->out->arena, double, n);
    if (!numbers) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    snprintf(name, sizeof name, "%.*s", (int)length, row->name);
    for (uint64_t i = 0; i < n; i++) {
        const tare_llama_binding layer[] = {{"layer", (double)i}, {NULL, 0}};
        tare_llama_value v;
        TARE_TRY(tare_llama_formula(&v, tare_str_of(row->formula), &m->config, layer, err));
        if (v.kind == TARE_LLAMA_ABSENT && i == 0) return TARE_OK;
        if (v.kind != TARE_LLAMA_NUMBER && v.kind != TARE_LLAMA_BOOL)
            return wrong_kind(name, v.member, err);
        TARE_TRY(check_whole(&v, name, row->type, err));
        numbers[i] = v.number;
    }
    return tare_llama_set_numbers(m, name, row->type, numbers, (size_t)n, err);
}

tare_status tare_llama_set_rows(tare_llama_mapping *m, const tare_llama_key *rows,
                                tare_error *err) {
    for (; rows && rows->name; rows++) {
        bool is_list = tare_str_ends(tare_str_of(rows->name), TARE_STR("]"));
        TARE_TRY(is_list ? set_layers(m, rows, err) : set_row(m, rows, err));
    }
    return TARE_OK;
}

/* ---- what is common to most ------------------------------------------------------------------ */

#define U32  TARE_VALUE_U32
#define F32  TARE_VALUE_F32
#define BOOL TARE_VALUE_BOOL
#define TEXT TARE_VALUE_STRING

/* From the rope settings of full attention, or of compressed tokens, under all their names. */
#define ROPE(x)                                                                                    \
    "rope_parameters.full_attention." x " | rope_scaling.full_attention." x                        \
    " | rope_parameters." x " | rope_scaling." x " | rope_parameters.compress." x                  \
    " | if(has(rope_parameters) == false, if(has(rope_scaling) == false, rope_default." x "))"

#define ROPE_TYPES "default linear dynamic yarn longrope/su llama3 proportional mrope xdrope"

const char *const tare_llama_common_defaults[] = {
    "rope.type = word(" ROPE("rope_type") " | " ROPE("type") ", '" ROPE_TYPES "')",
    "rope.type_swa = word(rope_parameters.sliding_attention.rope_type | "
    "rope_scaling.sliding_attention.rope_type, '" ROPE_TYPES "')",
    "rope.theta = rope_parameters.main.rope_theta | "
    "rope_parameters.indexed_attention.rope_theta | " ROPE(
        "rope_theta") " | global_rope_theta | rope_global_theta | "
                      "rope_theta_global | rotary_emb_base | rope_theta",
    "rope.theta_swa = rope_parameters.sliding_attention.rope_theta | local_rope_theta | "
    "rope_local_theta | rope_theta_local | swa_rope_theta | rope_local_base_freq",
    "rope.partial = " ROPE("partial_rotary_factor") " | partial_rotary_factor | rope_pct | "
                                                    "rope_percent",
    /* beside the settings it counts for more, as in transformers, unless layers have settings of their own */
    "rope.original_context = if(has(rope_parameters.full_attention) == false, "
    "if(has(rope_scaling.full_attention) == false, original_max_position_embeddings)) | " ROPE(
        "original_max_position_embeddings") " | original_max_position_embeddings",
    "rope.is_listed = if(rope.has_lists | 0, if(like_reference | 0, false, "
    "rope.type == 'longrope'), false)",
    "context_scale = if(like_reference | 0, nothing, if(rope.type == 'longrope', rope.factor)) | "
    "(n_positions | max_position_embeddings) / rope.original_context",
    "rope.factor = " ROPE("factor"),
    "rope.extrapolation_factor = " ROPE("extrapolation_factor"),
    "rope.attention_factor = " ROPE("attention_factor") " | " ROPE("attn_factor"),
    "rope.beta_fast = " ROPE("beta_fast"),
    "rope.beta_slow = " ROPE("beta_slow"),
    "rope.truncate = " ROPE("truncate"),
    "rope.low_freq_factor = " ROPE("low_freq_factor"),
    "rope.high_freq_factor = " ROPE("high_freq_factor"),
    "rope.mscale = " ROPE("mscale"),
    "rope.mscale_all_dim = " ROPE("mscale_all_dim"),
    "rope.alpha = " ROPE("alpha"),
    "rope.llama_4_scaling_beta = " ROPE("llama_4_scaling_beta"),
    "rope.long_factor = " ROPE("long_factor"),
    "rope.short_factor = " ROPE("short_factor"),
    "rope.mrope_section = rope_parameters.mrope_section | rope_scaling.mrope_section",
    "score_function = word(scoring_func | score_func | moe_router_activation | "
    "moe_router_activation_func | expert_selection_fn | class.scoring_func, "
    "'softmax sigmoid/noaux_tc sqrtsoftplus')",
    "attention.dim = head_dim | floor(hidden_size / num_attention_heads)",
    "vocab_size = embedding_rows",
    "labels.number = num_labels | len(id2label)",
    "labels.are_named = len(id2label) == labels.number",
    "labels.count = if(labels.number == 2, if(labels.are_named, if((at(id2label, '0') == "
    "'LABEL_0') == false, 2)), labels.number) | if(is_classifier, labels.number | 2)",
    NULL,
};

/* llama.cpp scales queries and keys by 1 + 0.1 ln(factor), and by this beside it. */
#define YARN_FACTOR                                                                                \
    "(rope.latent_factor | if(has(rope.attention_factor), rope.attention_factor "                  \
    "/ " TARE_LLAMA_YARN("1") ", if(rope.mscale | 0, if(rope.mscale_all_dim | "                    \
                              "0, " TARE_LLAMA_YARN(                                               \
                                  "rope.mscale") " / "                                             \
                                                 "if(rope.is_by_log | false, 1, " TARE_LLAMA_YARN( \
                                                     "rope.mscale_all_dim") ") "                   \
                                                                            "/ " TARE_LLAMA_YARN(  \
                                                                                "1") "))))"
#define YARN(x) "if(rope.type == 'yarn', if(has(rope.factor), " x "))"

const tare_llama_key tare_llama_common_keys[] = {
    {"block_count", U32, "layers"},
    {"context_length", U32,
     "max_position_embeddings | n_ctx | n_positions | max_length | max_sequence_length | "
     "model_max_length"},
    {"embedding_length", U32, "hidden_size | n_embd | dim"},
    {"feed_forward_length", U32,
     "prefix_dense_intermediate_size | dense_intermediate_size | intermediate_size | n_inner | "
     "hidden_dim"},
    {"attention.head_count", U32, "num_attention_heads | n_head | n_heads"},
    {"attention.head_count_kv", U32, "num_key_value_heads | n_kv_heads"},
    {"attention.causal", BOOL, "if(is_causal == false, is_causal)"},
    {NULL, U32, NULL},
};

/* What turns queries and keys, which llama.cpp reads in every architecture: after the common keys, and
 * after rows that are instead of them and do not say it. */
const tare_llama_key tare_llama_scaling_keys[] = {
    {"rope.scaling.type", TEXT,
     "if(has(rope.factor), if(rope.type == 'linear', 'linear', if(rope.type == 'yarn', 'yarn'))) | "
     "if(rope.type == 'longrope', 'longrope')"},
    {"rope.scaling.factor", F32,
     "if(rope.type == 'linear', rope.factor) | if(rope.type == 'yarn', rope.factor)"},
    {"rope.scaling.original_context_length", U32,
     YARN("rope.original_context | max_position_embeddings") " | if(rope.is_listed, "
                                                             "rope.original_context)"},
    {"rope.scaling.yarn_ext_factor", F32, YARN("rope.extrapolation_factor")},
    {"rope.scaling.yarn_attn_factor", F32, YARN("rope.attention_factor")},
    {"rope.scaling.attn_factor", F32,
     YARN("if(like_reference, nothing, if(" YARN_FACTOR " == 1, nothing, " YARN_FACTOR
          "))") " | if(rope.is_listed, rope.attention_factor | if(context_scale > 1, "
                "sqrt(1 + ln(context_scale) / ln(rope.original_context))))"},
    {"rope.scaling.yarn_beta_fast", F32, YARN("rope.beta_fast")},
    {"rope.scaling.yarn_beta_slow", F32, YARN("rope.beta_slow")},
    {NULL, U32, NULL},
};

/* Behind rope.dimension_sections, which is padded. */
const tare_llama_key tare_llama_common_rest_keys[] = {
    {"rope.freq_base", F32, "rope.theta"},
    {"rope.freq_base_swa", F32, "rope.theta_swa"},
    {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps | norm_eps"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_eps | layer_norm_epsilon | norm_epsilon"},
    {"expert_count", U32, "num_local_experts | num_experts | n_routed_experts"},
    {"expert_used_count", U32, "num_experts_per_tok | num_experts_per_token | top_k_experts"},
    {"expert_group_count", U32, "n_group"},
    {"expert_group_used_count", U32, "topk_group"},
    {"expert_gating_func", U32,
     "if(score_function == 'softmax', 1, if(score_function == 'sigmoid', 2, "
     "if(score_function == 'sqrtsoftplus', 4, score_function)))"},
    {"attention.key_length", U32, "head_dim"},
    {"attention.value_length", U32, "head_dim"},
    {"general.file_type", U32, "file_type"},
    {NULL, U32, NULL},
};

const tare_llama_key tare_llama_base_keys[] = {{"rope.freq_base", F32, "rope.theta"},
                                               {NULL, U32, NULL}};

static tare_status set_positions(tare_llama_mapping *m, tare_error *err) {
    double theta;
    if (!m->arch->own || m->arch->tower || m->options->like_reference) return TARE_OK;
    TARE_TRY(tare_llama_number(&theta, m, "rope.theta", 10000, err));
    if ((theta < 10000 || theta > 10000) && !tare_llama_has_key(m, tare_llama_base_keys[0].name))
        TARE_TRY(tare_llama_set_rows(m, tare_llama_base_keys, err));
    return tare_llama_has_key(m, tare_llama_scaling_keys[0].name)
               ? TARE_OK
               : tare_llama_set_rows(m, tare_llama_scaling_keys, err);
}

/* Three or four numbers, filled up to four. */
static tare_status take_sections(double sections[4], const tare_llama_value *list,
                                 tare_error *err) {
    static const char name[] = "rope.dimension_sections";
    size_t n = 0;
    if (list->tree->n < 3 || list->tree->n > 4)
        return fail_value(name, "mrope_section has neither three numbers nor four", err);
    for (const tare_json_node *c = list->tree->child; c; c = c->next) {
        const tare_llama_value v = tare_llama_value_of(c);
        if (v.kind != TARE_LLAMA_NUMBER) return wrong_kind(name, list->member, err);
        if (!isfinite(v.number)) return not_finite(name, err);
        if (v.number != trunc(v.number))
            return fail_value(name, "config.json: mrope_section has a number that is not whole",
                              err);
        sections[n++] = v.number;
    }
    return TARE_OK;
}

static tare_status set_sections(tare_llama_mapping *m, tare_error *err) {
    tare_llama_value v;
    double sections[4] = {0};
    TARE_TRY(tare_llama_formula(&v, TARE_STR("rope.mrope_section"), &m->config, NULL, err));
    if (v.kind != TARE_LLAMA_TREE || v.tree->type != TARE_JSON_ARRAY) return TARE_OK;
    TARE_TRY(take_sections(sections, &v, err));
    return tare_llama_set_numbers(m, "rope.dimension_sections", TARE_VALUE_I32, sections, 4, err);
}

/* How llama.cpp spreads kinds of layers where no key says it: all but every n-th, or all but the first
 * of each n, are of the kind that the key lists. */
static const struct {
    const char *archs, *n; /* a formula */
    bool is_other_first;
    const char *key, *kind, *beside; /* the key that has to be there as well */
} spreads[] = {
#define WINDOWS(archs, n, is_whole_first)                                                          \
    {                                                                                              \
        archs, n, is_whole_first, "attention.sliding_window_pattern", "sliding_attention",         \
            "attention.sliding_window"                                                             \
    }
    WINDOWS("afmoe cohere2 olmo2", "4", false),
    WINDOWS("gemma2 gpt-oss", "2", false),
    WINDOWS("gemma3 gemma-embedding", "6", false),
    WINDOWS("laguna smallthinker", "4", true),
    WINDOWS("modern-bert", "global_attn_every_n_layers | 3", true),
    {"qwen35 qwen35moe qwen3next", "full_attention_interval | 4", false,
     "attention.recurrent_layers", "linear_attention", "full_attention_interval"},
};

/* Classes where a number says it, if there is no list of layers. */
static const char by_number[] = "cohere2 gemma3 gemma-embedding";

/* Whether each layer is of the kind, by its word, or all but every `step`-th without words; *differs: otherwise than
 * every n-th says. */
static void find_kinds(double *is_kind, bool *differs, const tare_llama_mapping *m, size_t row,
                       const tare_json_node *types, uint64_t step, uint64_t n) {
    const uint64_t n_layers = m->n_layers - m->n_extra_layers;
    const tare_json_node *type = types ? types->child : NULL;
    *differs = false;
    for (uint64_t i = 0; i < n_layers; i++) {
        const bool is_usual = spreads[row].is_other_first ? i % n > 0 : (i + 1) % n > 0;
        is_kind[i] = type ? tare_json_node_is(type, spreads[row].kind) : (i + 1) % step > 0;
        type = type ? type->next : NULL;
        *differs |= (is_kind[i] > 0) != is_usual;
    }
}

/* Which layers have no window: every how manieth; 0: config.json does not say. */
static tare_status take_step(uint64_t *step, const tare_llama_mapping *m, tare_error *err) {
    static const char name[] = "sliding_window_pattern";
    tare_llama_value v;
    TARE_TRY(tare_llama_formula(&v, tare_str_of(name), &m->config, NULL, err));
    if (v.kind == TARE_LLAMA_ABSENT) return TARE_OK;
    if (v.kind != TARE_LLAMA_NUMBER)
        return tare_llama_wrong_kind("config.json: expected a number", &v, err);
    if (!(v.number >= 1 && v.number <= UINT32_MAX && v.number == floor(v.number)))
        return fail_value("attention.sliding_window_pattern",
                          "config.json: sliding_window_pattern is no whole number above 0", err);
    *step = (uint64_t)v.number;
    return TARE_OK;
}

/* The kinds of layers, where they are not the ones that llama.cpp assumes. */
static tare_status set_kinds(tare_llama_mapping *m, tare_error *err) {
    const size_t n_rows = sizeof spreads / sizeof *spreads;
    size_t row = 0;
    bool differs;
    double n = 0;
    uint64_t step = 0;
    while (row < n_rows && !tare_llama_is_one_of(tare_str_of(m->arch->name), spreads[row].archs))
        row++;
    const tare_json_node *types = tare_llama_config_find(&m->config, TARE_STR("layer_types"));
    if (row == n_rows || m->options->like_reference ||
        (types && types->n < m->n_layers - m->n_extra_layers) ||
        !tare_llama_has_key(m, spreads[row].beside))
        return TARE_OK;
    if (!types && tare_llama_is_one_of(tare_str_of(m->arch->name), by_number))
        TARE_TRY(take_step(&step, m, err));
    if (!types && step == 0) return TARE_OK;
    TARE_TRY(tare_llama_number(&n, m, spreads[row].n, 1, err));
    double *is_kind = TARE_NEW_ARRAY(&m->out->arena, double, m->n_layers);
    if (!is_kind) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    find_kinds(is_kind, &differs, m, row, types, step, n >= 1 && n <= UINT32_MAX ? (uint64_t)n : 1);
    if (!differs) return TARE_OK;
    return tare_llama_set_numbers(m, spreads[row].key, TARE_VALUE_BOOL, is_kind,
                                  (size_t)m->n_layers, err);
}

tare_status tare_llama_arch_keys(tare_llama_mapping *m, tare_error *err) {
    TARE_TRY(tare_llama_set_rows(m, m->arch->first, err));
    if (m->arch->own) {
        TARE_TRY(tare_llama_set_rows(m, m->arch->own, err));
    } else {
        TARE_TRY(tare_llama_set_rows(m, tare_llama_common_keys, err));
        TARE_TRY(tare_llama_set_rows(m, tare_llama_scaling_keys, err));
        TARE_TRY(set_sections(m, err));
        TARE_TRY(tare_llama_set_rows(m, tare_llama_common_rest_keys, err));
    }
    if (m->arch->is_bert) TARE_TRY(tare_llama_bert_keys(m, err));
    TARE_TRY(tare_llama_set_rows(m, m->arch->keys, err));
    TARE_TRY(set_positions(m, err));
    /* llama.cpp reads it everywhere; the reference writes it for some */
    const bool may_pool = !m->options->like_reference || m->arch->has_pooling ||
                          tare_str_ends(m->hf_class, TARE_STR("Model"));
    if (may_pool && !m->arch->is_bert) /* whose keys have it */
        TARE_TRY(tare_llama_pooling_keys(m, err));
    if (m->nextn == TARE_LLAMA_NEXTN_LEFT_OUT) unset(m, "nextn_predict_layers");
    TARE_TRY(set_kinds(m, err));
    return m->arch->extra ? m->arch->extra(m, err) : TARE_OK;
}
