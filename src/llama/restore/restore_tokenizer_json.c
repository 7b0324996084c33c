/* SPDX-License-Identifier: MIT
 *
 * tokenizer.json: added tokens, how a text is normalized and split, what stands around it, how
 * tokens become text again, and the vocabulary, for each of the four kinds. */
#include <stdio.h>

#include "base/str.h"
#include "llama/restore/restore_vocab.h"

#define BLANK "\xe2\x96\x81" /* U+2581, in place of a blank */
#define GPT2_LAST                                                                                  \
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "              \
    "\"use_regex\": %s}"

static bool is_kind(const tare_llama_gguf_tokenizer *t, const char *model) {
    return tare_str_is(t->model, model);
}

/* ---- added tokens ---------------------------------------------------------------------------- */

void tare_llama_put_added(tare_buffer *b, const tare_llama_token *token) {
    tare_buffer_put_text(b, "\"content\": ");
    tare_buffer_put_json(b, token->text);
    tare_buffer_printf(b,
                       ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
                       "\"normalized\": false, \"special\": %s}",
                       token->type == TARE_TOKEN_USER_DEFINED ? "false" : "true");
}

static void put_added_tokens(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    bool is_first = true;
    tare_buffer_put_text(b, "  \"added_tokens\": [");
    for (size_t id = 0; id < t->vocab.n_tokens; id++) {
        const tare_llama_token *token = &t->vocab.tokens[id];
        bool is_unknown = token->type == TARE_TOKEN_UNKNOWN;
        if (!tare_llama_is_added(token) && !is_unknown) continue;
        tare_buffer_printf(b, "%s\n    {\"id\": %zu, ", is_first ? "" : ",", id);
        tare_llama_put_added(b, token);
        is_first = false;
    }
    tare_buffer_put_text(b, "\n  ],\n");
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void put_base64(tare_buffer *b, const uint8_t *p, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t x = (uint32_t)p[i] << 16;
        if (i + 1 < n) x |= (uint32_t)p[i + 1] << 8;
        if (i + 2 < n) x |= p[i + 2];
        for (size_t k = 0; k < 4; k++)
            tare_buffer_put_u8(b, i + k > n ? '=' : (uint8_t)digits[x >> (18 - 6 * k) & 63]);
    }
}

static void put_truth(tare_buffer *b, const tare_llama_gguf_tokenizer *t, const char *name,
                      const char *key) {
    const tare_value *v = tare_llama_gguf_tokenizer_key(t, key);
    const char *text = "null";
    if (v && v->type == TARE_VALUE_BOOL) text = v->as.u ? "true" : "false";
    tare_buffer_printf(b, ", \"%s\": %s", name, text);
}

static void put_normalizer(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    const tare_value *map = tare_llama_gguf_tokenizer_key(t, "precompiled_charsmap");
    tare_buffer_put_text(b, "  \"normalizer\": ");
    if (is_kind(t, "bert")) {
        tare_buffer_put_text(b, "{\"type\": \"BertNormalizer\", \"clean_text\": true, "
                                "\"handle_chinese_chars\": true");
        put_truth(b, t, "strip_accents", "normalizer.strip_accents");
        tare_buffer_printf(
            b, ", \"lowercase\": %s}",
            tare_llama_gguf_tokenizer_flag(t, "normalizer.lowercase", true) ? "true" : "false");
    } else if (is_kind(t, "llama")) {
        tare_buffer_put_text(b, "{\"type\": \"Sequence\", \"normalizers\": [");
        if (t->has_space_prefix)
            tare_buffer_put_text(b, "{\"type\": \"Prepend\", \"prepend\": \"" BLANK "\"}, ");
        tare_buffer_put_text(b, "{\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, "
                                "\"content\": \"" BLANK "\"}]}");
    } else if (is_kind(t, "t5") && map && map->type == TARE_VALUE_ARRAY) {
        tare_buffer_put_text(b, "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": "
                                "\"Precompiled\", \"precompiled_charsmap\": \"");
        put_base64(b, map->as.a.bytes, (size_t)map->as.a.size_bytes);
        tare_buffer_put_text(b, "\"}");
        if (tare_llama_gguf_tokenizer_flag(t, "remove_extra_whitespaces", true))
            tare_buffer_put_text(
                b, ", {\"type\": \"Strip\", \"strip_left\": false, \"strip_right\": true}"
                   ", {\"type\": \"Replace\", \"pattern\": {\"Regex\": \" {2,}\"}, "
                   "\"content\": \" \"}");
        tare_buffer_put_text(b, "]}");
    } else {
        tare_buffer_put_text(b, "null");
    }
    tare_buffer_put_text(b, ",\n");
}

static const tare_llama_splitting *splitting_of(const tare_llama_pre *pre) {
    const tare_llama_splitting *s;
    for (size_t i = 0; pre && (s = tare_llama_splitting_row(i)); i++)
        if (strcmp(s->name, pre->splitting) == 0) return s;
    return NULL;
}

bool tare_llama_has_splitting(tare_str pre) {
    return splitting_of(tare_llama_pre_find(pre)) != NULL;
}

/* The patterns that llama.cpp has under the name, then the byte alphabet. GPT-2's pattern at the end
 * is ByteLevel's own. */
static void put_splitting(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    const tare_llama_splitting *s = splitting_of(t->pre);
    const tare_llama_splitting *gpt2 = NULL;
    size_t n = 0;
    for (size_t i = 0; !gpt2; i++)
        if (strcmp(tare_llama_splitting_row(i)->name, "gpt2") == 0)
            gpt2 = tare_llama_splitting_row(i);
    if (!s) {
        tare_llama_not_restored(
            t->r, TARE_ITEM_KEY, TARE_STR("tokenizer.ggml.pre"),
            "tare has no patterns for this name: tokenizer.json has GPT-2's, and "
            "may split texts in another way");
        s = gpt2;
    }
    while (n < TARE_LLAMA_MOST_STAGES && s->patterns[n]) n++;
    bool ends_in_gpt2 = strcmp(s->patterns[n - 1], gpt2->patterns[0]) == 0;
    if (ends_in_gpt2) n--;
    if (n) tare_buffer_put_text(b, "{\"type\": \"Sequence\", \"pretokenizers\": [");
    for (size_t i = 0; i < n; i++) {
        tare_buffer_put_text(b, "{\"type\": \"Split\", \"pattern\": {\"Regex\": ");
        tare_buffer_put_json(b, tare_str_of(s->patterns[i]));
        tare_buffer_put_text(b, "}, \"behavior\": \"Isolated\", \"invert\": false}, ");
    }
    tare_buffer_printf(b, GPT2_LAST, ends_in_gpt2 ? "true" : "false");
    if (n) tare_buffer_put_text(b, "]}");
}

static void put_pre_tokenizer(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    tare_buffer_put_text(b, "  \"pre_tokenizer\": ");
    if (is_kind(t, "gpt2"))
        put_splitting(b, t);
    else if (is_kind(t, "bert"))
        tare_buffer_put_text(b, "{\"type\": \"BertPreTokenizer\"}");
    else if (is_kind(t, "t5"))
        tare_buffer_printf(b,
                           "{\"type\": \"Metaspace\", \"replacement\": \"" BLANK
                           "\", \"prepend_scheme\": \"%s\", \"split\": true}",
                           t->has_space_prefix ? "always" : "never");
    else
        tare_buffer_put_text(b, "null");
    tare_buffer_put_text(b, ",\n");
}

/* ---- what stands around a text --------------------------------------------------------------- */

static void put_special(tare_buffer *b, bool *is_first, tare_str text, int type) {
    if (!text.len) return;
    tare_buffer_put_text(b, *is_first ? "{\"SpecialToken\": {\"id\": "
                                      : ", {\"SpecialToken\": {\"id\": ");
    tare_buffer_put_json(b, text);
    tare_buffer_printf(b, ", \"type_id\": %d}}", type);
    *is_first = false;
}

static void put_sequence(tare_buffer *b, bool *is_first, const char *which, int type) {
    tare_buffer_printf(b, "%s{\"Sequence\": {\"id\": \"%s\", \"type_id\": %d}}",
                       *is_first ? "" : ", ", which, type);
    *is_first = false;
}

/* "bos A eos", or "bos A [sep] B eos". */
static void put_template(tare_buffer *b, const tare_llama_gguf_tokenizer *t, const tare_str *around,
                         bool is_pair) {
    bool is_first = true;
    int second = is_kind(t, "bert");
    tare_str sep = tare_llama_gguf_tokenizer_text(t, TARE_LLAMA_SEP);
    tare_buffer_printf(b, "\"%s\": [", is_pair ? "pair" : "single");
    put_special(b, &is_first, around[0], 0);
    put_sequence(b, &is_first, "A", 0);
    if (is_pair) {
        if (t->adds_sep) put_special(b, &is_first, sep.len ? sep : around[1], 0);
        if (!t->adds_sep) put_special(b, &is_first, around[1], 0);
        put_sequence(b, &is_first, "B", second);
    }
    put_special(b, &is_first, around[1], is_pair ? second : 0);
    tare_buffer_put_text(b, "], ");
}

static void put_ids(tare_buffer *b, const tare_llama_gguf_tokenizer *t, const int64_t *ids) {
    tare_buffer_put_text(b, "\"special_tokens\": {");
    bool is_first = true;
    for (size_t i = 0; i < 3; i++) {
        bool is_seen = ids[i] < 0;
        for (size_t k = 0; k < i; k++) is_seen |= ids[k] == ids[i];
        if (is_seen) continue;
        tare_str text = t->vocab.tokens[ids[i]].text;
        if (!is_first) tare_buffer_put_text(b, ", ");
        tare_buffer_put_json(b, text);
        tare_buffer_put_text(b, ": {\"id\": ");
        tare_buffer_put_json(b, text);
        tare_buffer_printf(b, ", \"ids\": [%lld], \"tokens\": [", (long long)ids[i]);
        tare_buffer_put_json(b, text);
        tare_buffer_put_text(b, "]}");
        is_first = false;
    }
    tare_buffer_put_text(b, "}");
}

/* RobertaProcessing puts </s></s> between two texts. */
static bool put_roberta(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    if (!is_kind(t, "gpt2") || !t->adds_sep || !t->adds_bos || !t->adds_eos ||
        t->ids[TARE_LLAMA_BOS] < 0 || t->ids[TARE_LLAMA_EOS] < 0)
        return false;
    tare_buffer_put_text(b, "{\"type\": \"RobertaProcessing\", \"sep\": [");
    tare_buffer_put_json(b, tare_llama_gguf_tokenizer_text(t, TARE_LLAMA_EOS));
    tare_buffer_printf(b, ", %lld], \"cls\": [", (long long)t->ids[TARE_LLAMA_EOS]);
    tare_buffer_put_json(b, tare_llama_gguf_tokenizer_text(t, TARE_LLAMA_BOS));
    tare_buffer_printf(b, ", %lld], \"trim_offsets\": true, \"add_prefix_space\": false}",
                       (long long)t->ids[TARE_LLAMA_BOS]);
    return true;
}

static void put_post_processor(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    const bool adds[] = {t->adds_bos, t->adds_eos};
    int64_t ids[3] = {-1, -1, t->adds_sep ? t->ids[TARE_LLAMA_SEP] : -1};
    tare_str around[2] = {{"", 0}, {"", 0}};
    for (size_t i = 0; i < 2; i++)
        if (adds[i]) {
            ids[i] = t->ids[i]; /* BOS, EOS */
            around[i] = tare_llama_gguf_tokenizer_text(t, (tare_llama_special)i);
        }
    tare_buffer_put_text(b, "  \"post_processor\": ");
    if (put_roberta(b, t)) {
        tare_buffer_put_text(b, ",\n");
        return;
    }
    if (!around[0].len && !around[1].len) {
        tare_buffer_put_text(b, "null,\n");
        return;
    }
    tare_buffer_put_text(b, "{\"type\": \"TemplateProcessing\", ");
    put_template(b, t, around, false);
    put_template(b, t, around, true);
    put_ids(b, t, ids);
    tare_buffer_put_text(b, "},\n");
}

static void put_decoder(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    tare_buffer_put_text(b, "  \"decoder\": ");
    if (is_kind(t, "gpt2")) {
        tare_buffer_printf(b, GPT2_LAST, "true");
    } else if (is_kind(t, "bert")) {
        tare_buffer_put_text(b, "{\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": true}");
    } else if (is_kind(t, "t5")) {
        tare_buffer_put_text(b, "{\"type\": \"Metaspace\", \"replacement\": \"" BLANK
                                "\", \"prepend_scheme\": \"always\", \"split\": true}");
    } else {
        tare_buffer_put_text(b, "{\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", "
                                "\"pattern\": {\"String\": \"" BLANK "\"}, \"content\": \" \"}, "
                                "{\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}");
        if (t->has_space_prefix)
            tare_buffer_put_text(
                b, ", {\"type\": \"Strip\", \"content\": \" \", \"start\": 1, \"stop\": 0}");
        tare_buffer_put_text(b, "]}");
    }
    tare_buffer_put_text(b, ",\n");
}

/* ---- the vocabulary -------------------------------------------------------------------------- */

/* A token's text as the kind's own files have it. */
static void put_token(tare_buffer *b, const tare_llama_gguf_tokenizer *t,
                      const tare_llama_token *token) {
    tare_str text = token->text;
    if (!is_kind(t, "bert") || token->type == TARE_TOKEN_CONTROL) {
        tare_buffer_put_json(b, text);
        return;
    }
    if (tare_str_starts(text, TARE_STR(BLANK))) {
        tare_buffer_put_json(b, tare_str_cut(text, 3));
        return;
    }
    tare_buffer word;
    tare_buffer_init(&word, t->r->out->allocator);
    tare_buffer_put_text(&word, "##");
    tare_buffer_put_str(&word, text);
    if (tare_buffer_status(&word, NULL) == TARE_OK)
        tare_buffer_put_json(b, (tare_str){(const char *)word.data, word.size});
    tare_buffer_free(&word);
}

static void put_vocab(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    bool is_first = true, is_list = is_kind(t, "t5");
    char score[48];
    tare_buffer_put_text(b, is_list ? "    \"vocab\": [" : "    \"vocab\": {");
    const size_t n_told = is_list ? tare_llama_gguf_n_tokens(t) : t->vocab.n_tokens;
    for (size_t id = 0; id < n_told; id++) {
        const tare_llama_token *token = &t->vocab.tokens[id];
        if (!is_list && tare_llama_is_filler(t, id)) continue;
        tare_buffer_put_text(b, is_first ? "\n      " : ",\n      ");
        is_first = false;
        if (is_list) tare_buffer_put_u8(b, '[');
        put_token(b, t, token);
        if (is_list) {
            size_t n = tare_llama_f32_text(score, sizeof score, (double)token->score);
            tare_buffer_printf(b, ", %.*s]", (int)n, score);
        } else {
            tare_buffer_printf(b, ": %zu", id);
        }
    }
    tare_buffer_put_text(b, is_list ? "\n    ]" : "\n    }");
}

static void put_merges(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    tare_buffer_put_text(b, ",\n    \"merges\": [");
    for (size_t i = 0; i < t->vocab.n_merges; i++) {
        tare_buffer_put_text(b, i ? ",\n      " : "\n      ");
        tare_buffer_put_json(b, t->vocab.merges[i]);
    }
    tare_buffer_put_text(b, "\n    ]");
}

static void put_unknown(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    tare_str unknown = tare_llama_gguf_tokenizer_text(t, TARE_LLAMA_UNK);
    if (unknown.len)
        tare_buffer_put_json(b, unknown);
    else
        tare_buffer_put_text(b, "null");
}

static void put_model(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    bool is_pieces = is_kind(t, "llama");
    tare_buffer_put_text(b, "  \"model\": {\n");
    if (is_kind(t, "bert")) {
        tare_buffer_put_text(b, "    \"type\": \"WordPiece\",\n    \"unk_token\": ");
        put_unknown(b, t);
        tare_buffer_put_text(b, ",\n    \"continuing_subword_prefix\": \"##\",\n"
                                "    \"max_input_chars_per_word\": 100,\n");
    } else if (is_kind(t, "t5")) {
        int64_t unknown = t->ids[TARE_LLAMA_UNK];
        for (size_t id = 0; unknown < 0 && id < t->vocab.n_tokens; id++)
            if (t->vocab.tokens[id].type == TARE_TOKEN_UNKNOWN) unknown = (int64_t)id;
        tare_buffer_put_text(b, "    \"type\": \"Unigram\",\n");
        if (unknown >= 0) tare_buffer_printf(b, "    \"unk_id\": %lld,\n", (long long)unknown);
        tare_buffer_put_text(b, "    \"byte_fallback\": false,\n");
    } else {
        tare_buffer_put_text(b, "    \"type\": \"BPE\",\n    \"dropout\": null,\n"
                                "    \"unk_token\": ");
        if (is_pieces)
            put_unknown(b, t);
        else
            tare_buffer_put_text(b, "null");
        tare_buffer_printf(b,
                           ",\n    \"continuing_subword_prefix\": null,\n"
                           "    \"end_of_word_suffix\": null,\n    \"fuse_unk\": %s,\n"
                           "    \"byte_fallback\": %s,\n    \"ignore_merges\": %s,\n",
                           is_pieces ? "true" : "false", is_pieces ? "true" : "false",
                           !is_pieces && t->pre && t->pre->ignores_merges ? "true" : "false");
    }
    put_vocab(b, t);
    if (is_pieces || is_kind(t, "gpt2")) put_merges(b, t);
    tare_buffer_put_text(b, "\n  }\n");
}

tare_status tare_llama_put_tokenizer_json(tare_llama_gguf_tokenizer *t, tare_error *err) {
    tare_buffer b;
    tare_buffer_init(&b, t->r->out->allocator);
    tare_buffer_put_text(&b, "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n"
                             "  \"padding\": null,\n");
    put_added_tokens(&b, t);
    put_normalizer(&b, t);
    put_pre_tokenizer(&b, t);
    put_post_processor(&b, t);
    put_decoder(&b, t);
    put_model(&b, t);
    tare_buffer_put_text(&b, "}\n");
    return tare_llama_add_file(t->r, "tokenizer.json", &b, err);
}
