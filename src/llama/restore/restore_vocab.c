/* SPDX-License-Identifier: MIT
 *
 * Reading the tokenizer's keys: tokens, merges, ids with a role, flags. */
#include "llama/restore/restore_vocab.h"

#include <math.h>
#include <stdio.h>

#include "base/str.h"

#define FILLER_SCORE -10000.0F

const tare_value *tare_llama_gguf_tokenizer_key(const tare_llama_gguf_tokenizer *t,
                                                const char *name) {
    char key[80];
    snprintf(key, sizeof key, "tokenizer.ggml.%s", name);
    return tare_llama_key_of(t->r->gguf, key);
}

bool tare_llama_gguf_tokenizer_flag(const tare_llama_gguf_tokenizer *t, const char *name,
                                    bool otherwise) {
    const tare_value *v = tare_llama_gguf_tokenizer_key(t, name);
    return v && v->type == TARE_VALUE_BOOL ? v->as.u != 0 : otherwise;
}

tare_str tare_llama_gguf_tokenizer_text(const tare_llama_gguf_tokenizer *t,
                                        tare_llama_special special) {
    int64_t id = t->ids[special];
    return id >= 0 && (uint64_t)id < t->vocab.n_tokens ? t->vocab.tokens[id].text : TARE_STR("");
}

bool tare_llama_is_filler(const tare_llama_gguf_tokenizer *t, size_t id) {
    char text[32];
    snprintf(text, sizeof text, "[PAD%zu]", id);
    return t->vocab.tokens[id].type == TARE_TOKEN_UNUSED &&
           tare_str_is(t->vocab.tokens[id].text, text);
}

size_t tare_llama_gguf_n_tokens(const tare_llama_gguf_tokenizer *t) {
    size_t n = t->vocab.n_tokens;
    while (n > 0 && tare_llama_is_filler(t, n - 1) && t->vocab.tokens[n - 1].score == FILLER_SCORE)
        n--;
    return n;
}

bool tare_llama_is_added(const tare_llama_token *token) {
    return token->type == TARE_TOKEN_CONTROL || token->type == TARE_TOKEN_USER_DEFINED;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const tare_array *list_of(const tare_llama_gguf_tokenizer *t, const char *name,
                                 bool of_texts) {
    const tare_value *v = tare_llama_gguf_tokenizer_key(t, name);
    bool is_list = v && v->type == TARE_VALUE_ARRAY &&
                   (v->as.a.type == TARE_VALUE_STRING) == of_texts &&
                   v->as.a.type != TARE_VALUE_ARRAY;
    return is_list ? &v->as.a : NULL;
}

static tare_status read_tokens(tare_llama_gguf_tokenizer *t, tare_error *err) {
    const tare_array *tokens = list_of(t, "tokens", true), *scores = list_of(t, "scores", false),
                     *types = list_of(t, "token_type", false);
    tare_array_walk walk, score_walk, type_walk;
    tare_value v;
    if (!tokens) return TARE_OK;
    tare_array_begin(&walk, tokens);
    if (scores) tare_array_begin(&score_walk, scores);
    if (types) tare_array_begin(&type_walk, types);
    for (uint64_t id = 0; tare_array_next(&v, &walk); id++) {
        tare_llama_token token = {v.as.s, 0, TARE_TOKEN_NORMAL};
        tare_value n;
        double score;
        uint64_t type;
        if (scores && tare_array_next(&n, &score_walk) && tare_value_f64(&score, &n) &&
            isfinite(score))
            token.score = (float)score;
        if (types && tare_array_next(&n, &type_walk) && tare_value_u64(&type, &n) && type >= 1 &&
            type <= TARE_TOKEN_BYTE)
            token.type = (tare_llama_token_type)type;
        TARE_TRY(tare_llama_vocab_set(&t->vocab, id, &token, err));
    }
    return TARE_OK;
}

static tare_status read_merges(tare_llama_gguf_tokenizer *t, tare_error *err) {
    const tare_array *merges = list_of(t, "merges", true);
    tare_array_walk walk;
    tare_value v;
    if (!merges) return TARE_OK;
    tare_array_begin(&walk, merges);
    while (tare_array_next(&v, &walk)) TARE_TRY(tare_llama_vocab_add_merge(&t->vocab, v.as.s, err));
    return TARE_OK;
}

static void read_ids(tare_llama_gguf_tokenizer *t) {
    static const char *const keys[] = {"bos_token_id",       "eos_token_id",     "unknown_token_id",
                                       "seperator_token_id", "padding_token_id", "cls_token_id",
                                       "mask_token_id",      "eot_token_id",     "eom_token_id",
                                       "prefix_token_id",    "suffix_token_id",  "middle_token_id"};
    _Static_assert(sizeof keys / sizeof *keys == TARE_LLAMA_SPECIAL_COUNT, "one key for each");
    for (size_t i = 0; i < TARE_LLAMA_SPECIAL_COUNT; i++) {
        const tare_value *v = tare_llama_gguf_tokenizer_key(t, keys[i]);
        uint64_t id;
        t->ids[i] = v && tare_value_u64(&id, v) && id < t->vocab.n_tokens ? (int64_t)id : -1;
    }
    /* what llama.cpp takes for these where a vocabulary of pieces does not say */
    static const tare_llama_special usual[] = {TARE_LLAMA_UNK, TARE_LLAMA_BOS, TARE_LLAMA_EOS};
    for (size_t id = 0; id < 3 && id < t->vocab.n_tokens && tare_str_is(t->model, "llama"); id++)
        if (t->ids[usual[id]] < 0 && t->vocab.tokens[id].type != TARE_TOKEN_NORMAL)
            t->ids[usual[id]] = (int64_t)id;
}

/* As llama.cpp does where a key is absent. */
static void read_flags(tare_llama_gguf_tokenizer *t) {
    bool is_pieces = tare_str_is(t->model, "llama"), is_encoder = tare_str_is(t->model, "bert"),
         is_unigram = tare_str_is(t->model, "t5");
    const tare_value *pre = tare_llama_gguf_tokenizer_key(t, "pre");
    t->pre = pre && pre->type == TARE_VALUE_STRING ? tare_llama_pre_find(pre->as.s) : NULL;
    t->adds_bos = tare_llama_gguf_tokenizer_flag(
        t, "add_bos_token", is_pieces || is_encoder || (t->pre && t->pre->adds_bos));
    t->adds_eos = tare_llama_gguf_tokenizer_flag(t, "add_eos_token", is_unigram || is_encoder);
    t->adds_sep = tare_llama_gguf_tokenizer_flag(t, "add_sep_token", is_encoder);
    t->has_space_prefix =
        tare_llama_gguf_tokenizer_flag(t, "add_space_prefix", is_pieces || is_unigram);
}

tare_status tare_llama_gguf_tokenizer_read(tare_llama_gguf_tokenizer *t, tare_error *err) {
    TARE_TRY(read_tokens(t, err));
    TARE_TRY(read_merges(t, err));
    read_ids(t);
    read_flags(t);
    return TARE_OK;
}
