/* SPDX-License-Identifier: MIT
 *
 * What the metadata of a GGUF model say of its tokenizer: its kind, sizes, and special tokens. */
#include <string.h>

#include "tokenizer_facts.h"

const tare_value *cli_value_of(const tare_model *model, const char *key) {
    int64_t i = tare_model_find_key(model, (tare_str){key, strlen(key)});
    return i >= 0 ? &tare_model_metadata(model, (size_t)i)->value : NULL;
}

static bool text_of(const tare_model *model, const char *key, tare_str *out) {
    const tare_value *v = cli_value_of(model, key);
    if (!v || v->type != TARE_VALUE_STRING) return false;
    *out = v->as.s;
    return true;
}

static const tare_array *array_of(const tare_model *model, const char *key) {
    const tare_value *v = cli_value_of(model, key);
    return v && v->type == TARE_VALUE_ARRAY ? &v->as.a : NULL;
}

static const struct {
    const char *name, *key;
} roles[CLI_SPECIAL_TOKENS] = {
    {"bos", "tokenizer.ggml.bos_token_id"},       {"eos", "tokenizer.ggml.eos_token_id"},
    {"eot", "tokenizer.ggml.eot_token_id"},       {"unk", "tokenizer.ggml.unknown_token_id"},
    {"sep", "tokenizer.ggml.seperator_token_id"}, {"pad", "tokenizer.ggml.padding_token_id"},
    {"cls", "tokenizer.ggml.cls_token_id"},       {"mask", "tokenizer.ggml.mask_token_id"},
};

static void find_special(cli_tokenizer *t, const tare_model *model) {
    for (size_t i = 0; i < CLI_SPECIAL_TOKENS; i++) {
        uint64_t id;
        const tare_value *v = cli_value_of(model, roles[i].key);
        if (v && tare_value_u64(&id, v))
            t->special[t->n_special++] = (cli_special_token){.name = roles[i].name, .id = id};
    }
}

static void find_texts(cli_tokenizer *t) {
    tare_array_walk walk;
    tare_value element;
    if (!t->tokens || t->tokens->type != TARE_VALUE_STRING) return;
    tare_array_begin(&walk, t->tokens);
    for (uint64_t id = 0; tare_array_next(&element, &walk); id++) {
        for (size_t i = 0; i < t->n_special; i++) {
            if (t->special[i].id != id) continue;
            t->special[i].text = element.as.s;
            t->special[i].has_text = true;
        }
    }
}

static void count_types(cli_tokenizer *t) {
    tare_array_walk walk;
    tare_value element;
    uint64_t type;
    if (!t->types) return;
    tare_array_begin(&walk, t->types);
    while (tare_array_next(&element, &walk)) {
        if (!tare_value_u64(&type, &element)) continue;
        t->n_control += type == CLI_TOKEN_CONTROL || type == CLI_TOKEN_UNKNOWN;
        t->n_user_defined += type == CLI_TOKEN_USER_DEFINED;
    }
}

bool cli_tokenizer_read(cli_tokenizer *out, const tare_model *model) {
    *out = (cli_tokenizer){.tokens = array_of(model, "tokenizer.ggml.tokens"),
                           .types = array_of(model, "tokenizer.ggml.token_type")};
    text_of(model, "tokenizer.ggml.pre", &out->pre);
    if (!text_of(model, "tokenizer.ggml.model", &out->model)) return false;
    find_special(out, model);
    find_texts(out);
    count_types(out);
    return true;
}
