/* SPDX-License-Identifier: MIT
 *
 * The tokenizer's keys back into its files: tokenizer.json for each kind, tokenizer.model where a
 * vocabulary has scores, tokenizer_config.json with special tokens, flags and templates of chats. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/restore/restore_vocab.h"

#define NO_SCORE -1000.0F /* of tokens that are added to a vocabulary with scores */

/* ---- tokenizer_config.json ------------------------------------------------------------------- */

static void put_role(tare_buffer *b, const tare_llama_gguf_tokenizer *t, tare_llama_special special,
                     const char *name) {
    tare_str text = tare_llama_gguf_tokenizer_text(t, special);
    if (!text.len) return;
    tare_buffer_printf(b, ",\n  \"%s_token\": ", name);
    tare_buffer_put_json(b, text);
}

static void put_roles(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    static const char *const names[] = {"bos", "eos", "unk", "sep", "pad", "cls", "mask"};
    bool is_encoder = tare_str_is(t->model, "bert");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        /* encoders have other names for the tokens before and after a text */
        tare_llama_special special = (tare_llama_special)i;
        if (is_encoder && special <= TARE_LLAMA_EOS) continue;
        if (is_encoder && special == TARE_LLAMA_CLS && t->ids[special] < 0)
            special = TARE_LLAMA_BOS;
        put_role(b, t, special, names[i]);
    }
}

static void put_flags(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    static const char *const names[] = {"add_bos_token", "add_eos_token", "add_sep_token"};
    bool is_clean = !t->pre || !t->pre->keeps_blanks;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tare_llama_gguf_tokenizer_key(t, names[i]))
            tare_buffer_printf(b, ",\n  \"%s\": %s", names[i],
                               tare_llama_gguf_tokenizer_flag(t, names[i], false) ? "true"
                                                                                  : "false");
    if (!tare_str_is(t->model, "t5") && tare_llama_gguf_tokenizer_key(t, "add_space_prefix"))
        tare_buffer_printf(b, ",\n  \"add_prefix_space\": %s",
                           tare_llama_gguf_tokenizer_flag(t, "add_space_prefix", false) ? "true"
                                                                                        : "false");
    if (tare_str_is(t->model, "t5"))
        is_clean = tare_llama_gguf_tokenizer_flag(t, "remove_extra_whitespaces", false);
    if (tare_str_is(t->model, "llama")) is_clean = false;
    tare_buffer_printf(b, ",\n  \"clean_up_tokenization_spaces\": %s", is_clean ? "true" : "false");
}

static void put_template(tare_buffer *b, bool *is_first, tare_str name, tare_str text) {
    tare_buffer_put_text(b, *is_first ? "\n    {\"name\": " : ",\n    {\"name\": ");
    tare_buffer_put_json(b, name);
    tare_buffer_put_text(b, ", \"template\": ");
    tare_buffer_put_json(b, text);
    tare_buffer_put_u8(b, '}');
    *is_first = false;
}

/* One text, or a list of texts with names. */
static void put_templates(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    const tare_str prefix = TARE_STR("tokenizer.chat_template.");
    const tare_catalog *c = &t->r->gguf->catalog;
    const tare_value *whole = tare_llama_key_of(t->r->gguf, "tokenizer.chat_template");
    bool has_names = false, is_first = true;
    if (whole && whole->type != TARE_VALUE_STRING) whole = NULL;
    for (size_t i = 0; i < c->n_metadata; i++)
        has_names |= tare_str_starts(c->metadata[i].key, prefix);
    if (!whole && !has_names) return;
    tare_buffer_put_text(b, ",\n  \"chat_template\": ");
    if (!has_names) {
        tare_buffer_put_json(b, whole->as.s);
        return;
    }
    tare_buffer_put_u8(b, '[');
    if (whole) put_template(b, &is_first, TARE_STR("default"), whole->as.s);
    for (size_t i = 0; i < c->n_metadata; i++) {
        const tare_metadata *m = &c->metadata[i];
        if (tare_str_starts(m->key, prefix) && m->value.type == TARE_VALUE_STRING)
            put_template(b, &is_first, tare_str_cut(m->key, prefix.len), m->value.as.s);
    }
    tare_buffer_put_u8(b, ']');
}

/* Whether tokenizer.model says what an added token is: those of other files have no score. */
static bool is_piece(const tare_llama_gguf_tokenizer *t, const tare_llama_token *token) {
    return tare_str_is(t->model, "llama") && token->type == TARE_TOKEN_CONTROL &&
           token->score != NO_SCORE;
}

/* Tokens that SentencePiece's model does not know as what they are. */
static void put_added(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    bool is_first = true;
    tare_buffer_put_text(b, ",\n  \"added_tokens_decoder\": {");
    for (size_t id = 0; id < t->vocab.n_tokens; id++) {
        const tare_llama_token *token = &t->vocab.tokens[id];
        if (!tare_llama_is_added(token) || is_piece(t, token)) continue;
        tare_buffer_printf(b, "%s\n    \"%zu\": {", is_first ? "" : ",", id);
        tare_llama_put_added(b, token);
        is_first = false;
    }
    tare_buffer_put_text(b, "\n  }");
}

static tare_status put_config(tare_llama_gguf_tokenizer *t, tare_error *err) {
    tare_buffer b;
    tare_llama_value context;
    tare_buffer_init(&b, t->r->out->allocator);
    TARE_TRY(tare_llama_formula(&context, TARE_STR("context_length"), &t->r->by_keys, NULL, err));
    tare_buffer_put_text(&b, "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\"");
    if (context.kind == TARE_LLAMA_NUMBER)
        tare_buffer_printf(&b, ",\n  \"model_max_length\": %.0f", context.number);
    put_roles(&b, t);
    put_flags(&b, t);
    put_added(&b, t);
    put_templates(&b, t);
    tare_buffer_put_text(&b, "\n}\n");
    return tare_llama_add_file(t->r, "tokenizer_config.json", &b, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static tare_status put_files(tare_llama_gguf_tokenizer *t, tare_error *err) {
    static const char *const known[] = {"gpt2", "llama", "bert", "t5"};
    bool is_known = false;
    for (size_t i = 0; i < 4; i++) is_known |= tare_str_is(t->model, known[i]);
    if (!is_known) {
        tare_llama_not_restored(t->r, TARE_ITEM_KEY, TARE_STR("tokenizer.ggml.model"),
                                "tare writes no tokenizer of this kind");
        return TARE_OK;
    }
    TARE_TRY(tare_llama_gguf_tokenizer_read(t, err));
    if (t->vocab.n_tokens == 0) return TARE_OK;
    if (tare_str_is(t->model, "llama")) {
        TARE_TRY(tare_llama_put_pieces(t, err));
        TARE_TRY(tare_llama_merges_of_scores(t, err));
    }
    TARE_TRY(tare_llama_put_tokenizer_json(t, err));
    return put_config(t, err);
}

tare_status tare_llama_restore_tokenizer(tare_llama_restoring *r, tare_error *err) {
    const tare_value *model = tare_llama_key_of(r->gguf, "tokenizer.ggml.model");
    tare_llama_gguf_tokenizer t = {.r = r};
    if (!model || model->type != TARE_VALUE_STRING || tare_str_is(model->as.s, "none"))
        return TARE_OK;
    t.model = model->as.s;
    t.vocab = (tare_llama_vocab){
        .allocator = r->out->allocator,
        .most_tokens = tare_min_u64(TARE_LLAMA_MAX_TOKENS, r->gguf->limits.array_elements)};
    tare_arena_init(&t.scratch, r->out->allocator);
    tare_status status = put_files(&t, err);
    tare_llama_vocab_free(&t.vocab);
    tare_arena_free(&t.scratch);
    return status;
}
