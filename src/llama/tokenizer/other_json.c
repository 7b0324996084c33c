/* SPDX-License-Identifier: MIT
 *
 * The other models of tokenizer.json: WordPiece, where llama.cpp marks what begins a word instead
 * of what does not, and Unigram, pieces with scores. Also vocab.txt, WordPiece without a JSON. */
#include "base/str.h"
#include "llama/tokenizer/context.h"

#define WORD_MARK "\xe2\x96\x81" /* U+2581 */

/* ---- WordPiece ------------------------------------------------------------------------------- */

/* What a token begins with that goes on with a word: "##", where the file does not say another. */
static tare_status read_prefix(tare_str *out, tare_llama_tokenizer *t, tare_error *err) {
    const tare_json_value v = tare_json_span_member(&t->json.model, "continuing_subword_prefix");
    *out = TARE_STR("##");
    if (v.type != TARE_JSON_STRING) return TARE_OK;
    TARE_TRY(tare_llama_text(out, t, &v, err));
    if (out->len) return TARE_OK;
    tare_llama_fail_file(err, TARE_ERR_UNSUPPORTED, &t->json.file, v.offset,
                         "llama.cpp has no WordPiece without a mark at what goes on with a word");
    tare_error_detail(err, "model.continuing_subword_prefix");
    return TARE_ERR_UNSUPPORTED;
}

/* "##ing" goes on with a word, "do" begins one; llama.cpp wants "ing" and the second one marked. */
static tare_status mark_words(tare_llama_tokenizer *t, tare_error *err) {
    tare_str prefix;
    TARE_TRY(read_prefix(&prefix, t, err));
    for (size_t id = 0; id < t->vocab.n_tokens; id++) {
        tare_llama_token *token = tare_llama_vocab_at(&t->vocab, id);
        if (!token || token->type == TARE_TOKEN_CONTROL) continue;
        if (tare_str_starts(token->text, prefix)) {
            token->text = tare_str_cut(token->text, prefix.len);
            continue;
        }
        char *text = tare_arena_take(&t->scratch, token->text.len + 3);
        if (!text) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
        memcpy(text, WORD_MARK, 3);
        memcpy(text + 3, token->text.ptr, token->text.len);
        token->text = (tare_str){text, token->text.len + 3};
    }
    return TARE_OK;
}

/* vocab.txt: a token in each line, its number the id. */
static tare_status read_lines(tare_llama_tokenizer *t, const tare_llama_file *file,
                              tare_error *err) {
    tare_str rest = file->text;
    for (uint64_t id = 0; rest.len; id++) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        tare_llama_token token = {
            {rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len}, 0, TARE_TOKEN_NORMAL};
        rest = tare_str_cut(rest, token.text.len + 1);
        if (token.text.len && token.text.ptr[token.text.len - 1] == '\r') token.text.len--;
        TARE_TRY(tare_llama_in_file(err, tare_llama_vocab_set(&t->vocab, id, &token, err), file));
    }
    return TARE_OK;
}

/* The special tokens of BERT, where no file tells them. */
static tare_status mark_specials_of_bert(tare_llama_tokenizer *t) {
    static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (size_t id = 0; id < t->vocab.n_tokens; id++)
        for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
            if (tare_str_is(t->vocab.tokens[id].text, specials[i]))
                t->vocab.tokens[id].type = TARE_TOKEN_CONTROL;
    return TARE_OK;
}

tare_status tare_llama_read_word_piece(tare_llama_tokenizer *t, tare_error *err) {
    tare_llama_file lines;
    t->model = "bert";
    t->pre = t->options->pre ? tare_str_of(t->options->pre) : TARE_STR("jina-v2-en");
    if (t->json.file.text.ptr) {
        TARE_TRY(tare_llama_read_vocab_object(t, &t->json.file, &t->json.vocab, err));
        TARE_TRY(tare_llama_read_added_list(t, true, err));
    } else {
        TARE_TRY(tare_llama_file_read_text(&lines, t, "vocab.txt", err));
        TARE_TRY(read_lines(t, &lines, err));
        TARE_TRY(mark_specials_of_bert(t));
    }
    TARE_TRY(tare_llama_read_added_decoder(t, false, err));
    if (t->added.arena) TARE_TRY(tare_llama_add_named(t, err));
    return mark_words(t, err);
}

/* ---- Unigram --------------------------------------------------------------------------------- */

/* ["piece", score] */
static tare_status read_piece(tare_llama_tokenizer *t, uint64_t id, const tare_json_value *v,
                              tare_error *err) {
    tare_llama_token token = {{NULL, 0}, 0, TARE_TOKEN_NORMAL};
    tare_json_value text, score;
    tare_json j;
    double number;
    tare_json_span_array(&j, v);
    tare_json_span_next(&j, &text);
    tare_json_span_next(&j, &score);
    if (text.type != TARE_JSON_STRING || !tare_json_f64(&score, &number))
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, &t->json.file, v->offset,
                                    "vocab: a piece and its score were expected: [\"text\", 0.0]");
    token.score = (float)number;
    TARE_TRY(tare_llama_text(&token.text, t, &text, err));
    return tare_llama_in_file(err, tare_llama_vocab_set(&t->vocab, id, &token, err), &t->json.file);
}

static tare_status read_pieces(tare_llama_tokenizer *t, tare_error *err) {
    tare_json j;
    tare_json_value v;
    if (t->json.vocab.type != TARE_JSON_ARRAY)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, &t->json.file, t->json.vocab.offset,
                                    "vocab: an array of pieces and scores was expected");
    tare_json_span_array(&j, &t->json.vocab);
    for (uint64_t id = 0; tare_json_span_next(&j, &v) != TARE_JSON_END; id++)
        TARE_TRY(read_piece(t, id, &v, err));
    return TARE_OK;
}

/* Types of added tokens; the scores of pieces stay. */
static tare_status mark_added(tare_llama_tokenizer *t, tare_error *err) {
    tare_llama_vocab *v = &t->vocab;
    size_t n = v->n_tokens;
    float *scores = TARE_NEW_ARRAY(&t->scratch, float, n);
    if (!scores) return tare_fail(err, TARE_ERR_NOMEM, "scores");
    for (size_t id = 0; id < n; id++) scores[id] = v->tokens[id].score;
    TARE_TRY(tare_llama_read_added_list(t, false, err));
    for (size_t id = 0; id < n; id++) v->tokens[id].score = scores[id];
    return TARE_OK;
}

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool tare_llama_base64(tare_str *out, tare_str text, tare_arena *arena) {
    uint32_t bits = 0;
    size_t n = 0, n_digits = 0;
    while (text.len && text.ptr[text.len - 1] == '=') text.len--;
    char *bytes = tare_arena_take(arena, text.len);
    *out = (tare_str){bytes, 0};
    for (size_t i = 0; bytes && i < text.len; i++) {
        int digit = base64_digit(text.ptr[i]);
        if (digit < 0) return false;
        bits = bits << 6 | (uint32_t)digit;
        if (++n_digits % 4 == 1) continue;
        unsigned spare = n_digits % 4 == 2 ? 4 : n_digits % 4 == 3 ? 2 : 0;
        bytes[n++] = (char)(bits >> spare & 0xff);
    }
    out->len = n;
    return n_digits % 4 != 1;
}

/* The map of characters of the normalizer, alone or in a sequence. */
static tare_status read_charsmap(tare_llama_tokenizer *t, const tare_json_value *normalizer,
                                 tare_error *err) {
    static const char *const names[] = {"precompiled_charsmap", "normalizers"};
    tare_json_value v[2], inner;
    tare_str text;
    tare_json j;
    tare_json_span_members(normalizer, names, v, 2);
    if (v[0].type == TARE_JSON_STRING) {
        TARE_TRY(tare_llama_text(&text, t, &v[0], err));
        if (!tare_llama_base64(&t->charsmap, text, &t->scratch))
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, &t->json.file, v[0].offset,
                                        "precompiled_charsmap is not base64");
        return t->charsmap.ptr ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "charsmap");
    }
    tare_json_span_array(&j, &v[1]);
    while (tare_json_span_next(&j, &inner) != TARE_JSON_END) {
        tare_json_value map = tare_json_span_member(&inner, names[0]);
        if (map.type == TARE_JSON_STRING) return read_charsmap(t, &inner, err);
    }
    return TARE_OK;
}

tare_status tare_llama_read_unigram(tare_llama_tokenizer *t, tare_error *err) {
    tare_json_value unk = tare_json_span_member(&t->json.model, "unk_id"), clean;
    uint64_t id;
    t->model = "t5";
    t->pre = TARE_STR("default");
    t->has_scores = true;
    t->pad_score = -10000;
    TARE_TRY(read_pieces(t, err));
    const bool has_unknown = unk.type != TARE_JSON_END && unk.type != TARE_JSON_NULL;
    if (has_unknown && (!tare_json_u64(&unk, &id) || !tare_llama_vocab_at(&t->vocab, id)))
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, &t->json.file, unk.offset,
                                    "unk_id: the number of a piece was expected");
    TARE_TRY(mark_added(t, err));
    if (has_unknown) tare_llama_vocab_at(&t->vocab, id)->type = TARE_TOKEN_UNKNOWN;
    t->loses_bytes = t->json.byte_fallback;
    clean = tare_json_span_member(&t->tokenizer_config.root, "clean_up_tokenization_spaces");
    const bool has_prefix = t->options->like_reference || tare_llama_prepends_blank(t);
    t->add_space_prefix = has_prefix ? TARE_LLAMA_FLAG_YES : TARE_LLAMA_FLAG_NO;
    const bool splits = !t->options->like_reference &&
                        tare_llama_has_step(&t->json.pre_tokenizer, "WhitespaceSplit", 8);
    t->remove_extra_whitespaces =
        splits || tare_json_span_bool(&clean, false) ? TARE_LLAMA_FLAG_YES : TARE_LLAMA_FLAG_NO;
    return read_charsmap(t, &t->json.normalizer, err);
}
