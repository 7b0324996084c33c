/* SPDX-License-Identifier: MIT
 *
 * Hyperparameters under all their known names: GGUF's "ARCH.key", the literal "llm.key" of the
 * files of one project, the length of the vocabulary, config.json of a Hugging Face directory. */
#include <stdio.h>

#include "base/json.h"
#include "base/report.h"
#include "base/str.h"
#include "model/foreign.h"
#include "model/model_internal.h"

#define MOST_NAMES 6

typedef struct param_names {
    const char *keys[3];            /* after the "ARCH." or "llm." */
    const char *length_of;          /* a key whose array has that many elements */
    const char *config[MOST_NAMES]; /* members of config.json, the usual one first */
} param_names;

static const param_names names[] = {
    [TARE_PARAM_VOCAB_SIZE] = {{"vocab_size"}, "tokenizer.ggml.tokens", {"vocab_size", "n_vocab"}},
    [TARE_PARAM_CONTEXT_LENGTH] = {{"context_length"},
                                   NULL,
                                   {"max_position_embeddings", "n_positions", "n_ctx",
                                    "max_sequence_length", "seq_length", "max_seq_len"}},
    [TARE_PARAM_EMBEDDING_LENGTH] = {{"embedding_length"},
                                     NULL,
                                     {"hidden_size", "n_embd", "d_model", "dim"}},
    [TARE_PARAM_HEAD_COUNT] = {{"attention.head_count", "head_count"},
                               NULL,
                               {"num_attention_heads", "n_head", "n_heads", "num_heads"}},
    [TARE_PARAM_HEAD_COUNT_KV] = {{"attention.head_count_kv", "head_count_kv"},
                                  NULL,
                                  {"num_key_value_heads", "n_head_kv", "num_kv_heads",
                                   "multi_query_group_num"}},
    [TARE_PARAM_LAYER_COUNT] = {{"block_count", "layer_count"},
                                NULL,
                                {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}},
    [TARE_PARAM_FEED_FORWARD_LENGTH] = {{"feed_forward_length"},
                                        NULL,
                                        {"intermediate_size", "n_inner", "ffn_dim", "d_ff",
                                         "ffn_hidden_size"}},
    [TARE_PARAM_KEY_LENGTH] = {{"attention.key_length"}, NULL, {"head_dim"}},
    [TARE_PARAM_VALUE_LENGTH] = {{"attention.value_length"}, NULL, {"v_head_dim"}},
    [TARE_PARAM_KV_LORA_RANK] = {{"attention.kv_lora_rank"}, NULL, {"kv_lora_rank"}},
    [TARE_PARAM_ROPE_LENGTH] = {{"rope.dimension_count"}, NULL, {"qk_rope_head_dim"}},
};

_Static_assert(sizeof names / sizeof *names == TARE_PARAM_COUNT, "one row for each parameter");

/* ---- typed keys ------------------------------------------------------------------------------ */

/* A number, or the largest of an array of numbers (one a layer). */
static bool number_of(const tare_value *v, uint64_t *out) {
    if (v->type != TARE_VALUE_ARRAY) return tare_value_u64(out, v);
    tare_array_walk walk;
    tare_value element;
    uint64_t n, largest = 0;
    tare_array_begin(&walk, &v->as.a);
    while (tare_array_next(&element, &walk)) {
        if (!tare_value_u64(&n, &element)) return false;
        if (n > largest) largest = n;
    }
    *out = largest;
    return v->as.a.count > 0;
}

static const tare_value *find_value(const tare_model *m, tare_str key) {
    int64_t i = tare_model_find_key(m, key);
    if (i < 0 || m->catalog.metadata[i].space != TARE_KEYS_MODEL) return NULL;
    return &m->catalog.metadata[i].value;
}

/* "PREFIX.key" for each of the parameter's keys. */
static bool prefixed(const tare_model *m, tare_str prefix, const param_names *p, uint64_t *out) {
    char key[256];
    for (size_t i = 0; i < sizeof p->keys / sizeof *p->keys && p->keys[i]; i++) {
        if (prefix.len > 128) return false;
        int n = snprintf(key, sizeof key, "%.*s.%s", (int)prefix.len, prefix.ptr, p->keys[i]);
        const tare_value *v = find_value(m, (tare_str){key, (size_t)n});
        if (v && number_of(v, out)) return true;
    }
    return false;
}

bool tare_model_param(uint64_t *out, const tare_model *model, tare_param param) {
    if (!model || (unsigned)param >= TARE_PARAM_COUNT) return false;
    const param_names *p = &names[param];
    tare_str arch = tare_model_architecture(model);
    if (arch.len && prefixed(model, arch, p, out)) return true;
    if (prefixed(model, TARE_STR("llm"), p, out)) return true;
    const tare_value *v = p->length_of ? find_value(model, tare_str_of(p->length_of)) : NULL;
    if (v && v->type == TARE_VALUE_ARRAY) {
        *out = v->as.a.count;
        return true;
    }
    if (tare_value_u64(out, &model->config[param])) return true;
    /* If key and value heads are not specified, every head has its own. */
    return param == TARE_PARAM_HEAD_COUNT_KV && tare_model_param(out, model, TARE_PARAM_HEAD_COUNT);
}

tare_str tare_model_architecture(const tare_model *model) {
    const tare_value *v = find_value(model, TARE_STR("general.architecture"));
    return v && v->type == TARE_VALUE_STRING ? v->as.s : model->architecture;
}

/* ---- config.json ----------------------------------------------------------------------------- */

/* Which parameter a member gives, and how usual that name is (0: the most). */
static bool param_of(const tare_json_value *key, tare_param *param, size_t *rank) {
    /* None of our names needs escapes: the raw text without its quotes is enough. */
    tare_str text = {key->raw.ptr + 1, key->raw.len - 2};
    for (size_t p = 0; p < TARE_PARAM_COUNT; p++)
        for (size_t i = 0; i < MOST_NAMES && names[p].config[i]; i++)
            if (tare_str_is(text, names[p].config[i])) {
                *param = (tare_param)p;
                *rank = i;
                return true;
            }
    return false;
}

/* Members of one object. Values from an outer object take precedence: `text_config` of a model of
 * several parts only fills in what is missing. */
static bool read_members(tare_model *m, tare_json *j, size_t *ranks, size_t penalty) {
    tare_json_value key, value;
    tare_param param;
    size_t rank;
    uint64_t n;
    while (tare_json_key(j, &key) != TARE_JSON_END) {
        tare_json_type type = tare_json_next(j, &value);
        if (type == TARE_JSON_OBJECT && penalty == 0 && tare_str_is(key.raw, "\"text_config\"")) {
            read_members(m, j, ranks, MOST_NAMES);
        } else if (type == TARE_JSON_OBJECT || type == TARE_JSON_ARRAY) {
            tare_json_skip(j, &value, NULL);
        } else if (type == TARE_JSON_NUMBER && param_of(&key, &param, &rank) &&
                   tare_json_u64(&value, &n) && rank + penalty < ranks[param]) {
            ranks[param] = rank + penalty;
            m->config[param] = (tare_value){.type = TARE_VALUE_U64, .as.u = n};
        } else if (type == TARE_JSON_NUMBER && tare_str_is(key.raw, "\"rope_theta\"") &&
                   m->rope_freq_base == 0) {
            tare_json_f64(&value, &m->rope_freq_base);
        } else if (type == TARE_JSON_STRING && tare_str_is(key.raw, "\"model_type\"") &&
                   (penalty == 0 || m->architecture.len == 0)) {
            m->architecture = tare_json_text(&value, &m->arena);
        }
    }
    return j->err.status == TARE_OK;
}

static tare_status parse_config(tare_model *m, tare_str text, tare_error *err) {
    size_t ranks[TARE_PARAM_COUNT];
    for (size_t i = 0; i < TARE_PARAM_COUNT; i++) ranks[i] = SIZE_MAX;
    tare_json j;
    tare_json_value root;
    tare_json_init_python(&j, text, 0, TARE_JSON_MAX_DEPTH);
    if (tare_json_begin(&j, &root) != TARE_JSON_OBJECT)
        tare_json_fail(&j, TARE_ERR_CORRUPT, 0, "config.json: an object was expected");
    else if (read_members(m, &j, ranks, 0))
        tare_json_finish(&j);
    return tare_json_status(&j, err);
}

tare_status tare_model_read_config(tare_model *m, tare_report *report, tare_error *err) {
    int64_t i = tare_model_find_resource(m, TARE_STR("config.json"));
    if (i < 0 || m->catalog.resources[i].info.size > m->limits.resource_bytes) return TARE_OK;
    size_t size = (size_t)m->catalog.resources[i].info.size;
    char *text = tare_arena_take(&m->arena, size);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "config.json");
    TARE_TRY(tare_resource_read(text, m, (size_t)i, 0, size, err));
    tare_error fault = TARE_ERROR_NONE;
    const tare_str config = {text, size};
    fault.status = parse_config(m, config, &fault);
    if (tare_name_foreign(fault.status, config, size, true, &fault) == TARE_OK) return TARE_OK;
    tare_finding f = TARE_FINDING(WARNING, fault.status, "model.config-json");
    f.offset = fault.offset;
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item = i;
    f.item_name = TARE_STR("config.json");
    f.text = tare_str_of(fault.what);
    tare_report_add(report, &f);
    return TARE_OK;
}
