/* SPDX-License-Identifier: MIT
 *
 * Special tokens that tokenizer_config.json, or special_tokens_map.json, only names. Hugging Face's libraries make each of them
 * a special token, and add the ones that the vocabulary lacks after its last token. */
#include "base/str.h"
#include "llama/tokenizer/context.h"

typedef struct naming {
    tare_llama_tokenizer *t;
    bool is_full; /* a token found no room */
} naming;

/* `key`: the member that names it. */
static tare_status add_text(naming *n, tare_str key, tare_str text, tare_error *err) {
    tare_llama_tokenizer *t = n->t;
    const int64_t at = tare_llama_added_ids_find(&t->added, text);
    if (at >= 0) {
        tare_llama_token *token = tare_llama_vocab_at(&t->vocab, (uint64_t)at);
        if (token && (token->type == TARE_TOKEN_NORMAL || token->type == TARE_TOKEN_USER_DEFINED))
            *token = (tare_llama_token){text, token->score, TARE_TOKEN_CONTROL};
        return TARE_OK;
    }
    uint64_t id = t->vocab.n_tokens;
    if (t->options->vocab_size && t->added.next >= t->options->vocab_size) {
        if (!n->is_full)
            tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.no-such-token",
                            t->tokenizer_config.name,
                            "%.*s is not a token of the vocabulary, which has no room for it",
                            (int)(key.len < 80 ? key.len : 80), key.ptr);
        n->is_full = true;
        return TARE_OK;
    }
    TARE_TRY(tare_llama_added_ids_give(&id, &t->added, text, &t->vocab, TARE_NO_OFFSET, err));
    return tare_llama_add_token(t, id, text, true, err);
}

static tare_status add_value(naming *n, tare_str key, const tare_json_value *value,
                             tare_error *err) {
    const tare_json_value v = tare_json_span_content(value);
    tare_str text;
    if (v.type == TARE_JSON_END) return TARE_OK;
    TARE_TRY(tare_llama_text(&text, n->t, &v, err));
    return text.len ? add_text(n, key, text, err) : TARE_OK;
}

/* Members X_token besides those with a role; add_X_token is a flag. */
static tare_status add_other_members(naming *n, tare_error *err) {
    tare_json j;
    tare_json_value key, value;
    tare_json_span_object(&j, &n->t->tokenizer_config.root);
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        tare_json_span_next(&j, &value);
        if (value.type != TARE_JSON_STRING && value.type != TARE_JSON_OBJECT) continue;
        const tare_str name = tare_json_text(&key, &n->t->scratch);
        if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "special tokens");
        if (tare_str_ends(name, TARE_STR("_token")) && !tare_str_starts(name, TARE_STR("add_")))
            TARE_TRY(add_value(n, name, &value, err));
    }
    return TARE_OK;
}

/* A list of tokens, or an object of roles and tokens. */
static tare_status add_several(naming *n, const tare_llama_file *file, const char *key,
                               tare_error *err) {
    const tare_json_value list = tare_json_span_member(&file->root, key);
    tare_json j;
    tare_json_value value;
    tare_json_span_array(&j, &list);
    while (tare_json_span_next(&j, &value) != TARE_JSON_END)
        TARE_TRY(add_value(n, tare_str_of(key), &value, err));
    tare_json_span_object(&j, &list);
    while (tare_json_key(&j, &value) != TARE_JSON_END) {
        tare_json_span_next(&j, &value);
        TARE_TRY(add_value(n, tare_str_of(key), &value, err));
    }
    return TARE_OK;
}

tare_status tare_llama_add_named(tare_llama_tokenizer *t, tare_error *err) {
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};
    static const char additional[] = "additional_special_tokens";
    tare_json_value values[7];
    naming n = {.t = t};
    if (!t->added.arena)
        TARE_TRY(tare_llama_added_ids_begin(&t->added, &t->vocab, &t->scratch, err));
    tare_json_span_members(&t->tokenizer_config.root, keys, values, 7);
    for (size_t i = 0; i < 7; i++) TARE_TRY(add_value(&n, tare_str_of(keys[i]), &values[i], err));
    TARE_TRY(add_other_members(&n, err));
    TARE_TRY(add_several(&n, &t->tokenizer_config, "extra_special_tokens", err));
    const tare_llama_file *file = &t->tokenizer_config;
    tare_llama_file map;
    TARE_TRY(tare_llama_file_read_json(&map, t, "special_tokens_map.json", err));
    if (tare_json_span_member(&file->root, additional).type == TARE_JSON_END &&
        !t->options->like_reference)
        file = &map;
    return add_several(&n, file, additional, err);
}
