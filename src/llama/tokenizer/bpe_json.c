/* SPDX-License-Identifier: MIT
 *
 * BPE out of tokenizer.json, or out of vocab.json and merges.txt: tokens by their ids, merges by
 * rank. Two kinds: over the byte alphabet of GPT-2 (`gpt2`), where a pre_tokenizer splits the text
 * first, and over characters with tokens for single bytes (`llama`, as SentencePiece does it). */
#include "base/arith.h"
#include "base/str.h"
#include "llama/tokenizer/context.h"
#include "llama/tokenizer/pre.h"
#include "model/names.h"

#define NEUTRAL_SCORE -1000.0F   /* what llama.cpp's converter writes where it knows no score */
#define BYTE_BLANK    "\xc4\xa0" /* U+0120: a blank in the byte alphabet */

/* ---- tokens ---------------------------------------------------------------------------------- */

/* llama.cpp has one text for each id, and splits the others into parts. */
static void note_shared_ids(tare_llama_tokenizer *t, const tare_llama_file *file, size_t n,
                            uint64_t first) {
    if (n)
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.shared-id", file->name,
                        "texts with the id of another text: %zu, the first with id %llu; llama.cpp "
                        "has one text for each id, and the last one is kept",
                        n, (unsigned long long)first);
}

tare_status tare_llama_read_vocab_object(tare_llama_tokenizer *t, const tare_llama_file *file,
                                         const tare_json_value *object, tare_error *err) {
    tare_json j;
    tare_json_value key, value;
    size_t n_shared = 0;
    uint64_t first_shared = 0;
    if (object->type != TARE_JSON_OBJECT)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, file, object->offset,
                                    "vocab: an object of texts and ids was expected");
    tare_json_span_object(&j, object);
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        tare_llama_token token = {{NULL, 0}, NEUTRAL_SCORE, TARE_TOKEN_NORMAL};
        uint64_t id;
        tare_json_span_next(&j, &value);
        if (!tare_json_u64(&value, &id))
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, file, value.offset,
                                        "vocab: an id was expected: a whole number from 0");
        TARE_TRY(tare_llama_text(&token.text, t, &key, err));
        const tare_llama_token *other = tare_llama_vocab_at(&t->vocab, id);
        if (other && !tare_str_equal(other->text, token.text) && n_shared++ == 0) first_shared = id;
        TARE_TRY(tare_llama_in_file(err, tare_llama_vocab_set(&t->vocab, id, &token, err), file));
    }
    note_shared_ids(t, file, n_shared, first_shared);
    return TARE_OK;
}

/* ---- merges ---------------------------------------------------------------------------------- */

/* "left right", blanks inside the parts in the byte alphabet. */
static tare_status join_merge(tare_str *out, tare_str left, tare_str right, tare_arena *arena,
                              tare_error *err) {
    const tare_str parts[2] = {left, right};
    size_t n = 0, longest = 2 * (left.len + right.len) + 1;
    char *text = tare_arena_take(arena, longest);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "merges");
    for (size_t p = 0; p < 2; p++) {
        if (p) text[n++] = ' ';
        for (size_t i = 0; i < parts[p].len; i++) {
            bool is_blank = parts[p].ptr[i] == ' ';
            if (is_blank) memcpy(text + n, BYTE_BLANK, 2);
            if (!is_blank) text[n] = parts[p].ptr[i];
            n += is_blank ? 2 : 1;
        }
    }
    *out = (tare_str){text, n};
    return TARE_OK;
}

/* A merge as text "left right", or as the list of both. */
static tare_status read_merge(tare_str *out, tare_llama_tokenizer *t, const tare_json_value *v,
                              tare_error *err) {
    tare_json_value parts[3];
    tare_str left, right;
    tare_json j;
    if (v->type == TARE_JSON_STRING) {
        TARE_TRY(tare_llama_text(out, t, v, err));
        const char *blank = out->len > 1 ? memchr(out->ptr + 1, ' ', out->len - 1) : NULL;
        if (blank && blank + 1 < out->ptr + out->len) return TARE_OK;
    }
    tare_json_span_array(&j, v);
    for (size_t i = 0; i < 3; i++) tare_json_span_next(&j, &parts[i]);
    if (parts[0].type != TARE_JSON_STRING || parts[1].type != TARE_JSON_STRING ||
        parts[2].type != TARE_JSON_END)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, &t->json.file, v->offset,
                                    "merges: \"left right\" or [\"left\", \"right\"] expected");
    TARE_TRY(tare_llama_text(&left, t, &parts[0], err));
    TARE_TRY(tare_llama_text(&right, t, &parts[1], err));
    if (!left.len || !right.len)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, &t->json.file, v->offset,
                                    "merges: a part is empty");
    return join_merge(out, left, right, &t->scratch, err);
}

static tare_status read_merges_json(tare_llama_tokenizer *t, tare_error *err) {
    tare_json j;
    tare_json_value v;
    if (t->json.merges.type != TARE_JSON_ARRAY) return TARE_OK;
    tare_json_span_array(&j, &t->json.merges);
    while (tare_json_span_next(&j, &v) != TARE_JSON_END) {
        tare_str merge;
        TARE_TRY(read_merge(&merge, t, &v, err));
        TARE_TRY(tare_llama_vocab_add_merge(&t->vocab, merge, err));
    }
    return TARE_OK;
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The line at *rest, without white space around it; *rest moves after it. */
static tare_str take_line(tare_str *rest) {
    const char *end = memchr(rest->ptr, '\n', rest->len);
    tare_str line = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    *rest = tare_str_cut(*rest, line.len + 1);
    while (line.len && is_space(line.ptr[0])) line = tare_str_cut(line, 1);
    while (line.len && is_space(line.ptr[line.len - 1])) line.len--;
    return line;
}

/* merges.txt: "left right" in each line; a first line with # tells the version. */
static tare_status read_merges_txt(tare_llama_tokenizer *t, tare_error *err) {
    tare_llama_file file;
    TARE_TRY(tare_llama_file_read_text(&file, t, "merges.txt", err));
    if (!file.text.ptr) return TARE_OK;
    tare_str rest = file.text;
    for (bool is_first = true; rest.len; is_first = false) {
        uint64_t offset = (uint64_t)(rest.ptr - file.text.ptr);
        tare_str line = take_line(&rest);
        if (line.len == 0 || (is_first && line.ptr[0] == '#')) continue;
        const char *blank = memchr(line.ptr, ' ', line.len);
        size_t left = blank ? (size_t)(blank - line.ptr) : 0;
        if (!blank || memchr(blank + 1, ' ', line.len - left - 1))
            return tare_llama_fail_file(
                err, TARE_ERR_CORRUPT, &file, offset,
                "expected merges: lines of two texts with one space between them");
        TARE_TRY(tare_llama_vocab_add_merge(&t->vocab, line, err));
    }
    return TARE_OK;
}

/* ---- both kinds ------------------------------------------------------------------------------ */

/* Without tokenizer.json no file says which tokens the tokenizer's class adds by itself. */
static void mark_specials_of_class(tare_llama_tokenizer *t) {
    tare_json_value v = tare_json_span_member(&t->tokenizer_config.root, "tokenizer_class");
    tare_str name = v.type == TARE_JSON_STRING ? tare_json_text(&v, &t->scratch) : TARE_STR("");
    const tare_llama_slow_class *row = name.ptr ? tare_llama_slow_class_find(name) : NULL;
    const size_t most = row ? sizeof row->specials / sizeof *row->specials : 0;
    for (size_t id = 0; id < t->vocab.n_tokens; id++) {
        tare_llama_token *token = tare_llama_vocab_at(&t->vocab, id);
        for (size_t i = 0; token && i < most && row->specials[i]; i++)
            if (tare_str_is(token->text, row->specials[i])) token->type = TARE_TOKEN_CONTROL;
    }
}

/* What BPE may put before or behind parts of words, which llama.cpp does not know. */
static tare_status check_affixes(const tare_llama_tokenizer *t, tare_error *err) {
    static const char *const names[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < 2; i++) {
        const tare_json_value v = tare_json_span_member(&t->json.model, names[i]);
        if (v.type != TARE_JSON_STRING || tare_json_is(&v, "")) continue;
        tare_llama_fail_file(err, TARE_ERR_UNSUPPORTED, &t->json.file, v.offset,
                             "llama.cpp has no BPE with marks at parts of words");
        tare_error_detail(err, "model.%s", names[i]);
        return TARE_ERR_UNSUPPORTED;
    }
    return TARE_OK;
}

tare_status tare_llama_read_byte_bpe(tare_llama_tokenizer *t, tare_error *err) {
    tare_llama_file vocab;
    t->model = "gpt2";
    TARE_TRY(check_affixes(t, err));
    if (t->json.file.text.ptr) {
        TARE_TRY(tare_llama_read_vocab_object(t, &t->json.file, &t->json.vocab, err));
        TARE_TRY(read_merges_json(t, err));
        TARE_TRY(tare_llama_read_added_list(t, true, err));
    } else {
        TARE_TRY(tare_llama_file_read_json(&vocab, t, "vocab.json", err));
        TARE_TRY(tare_llama_read_vocab_object(t, &vocab, &vocab.root, err));
        mark_specials_of_class(t);
        TARE_TRY(tare_llama_read_added_json(t, err));
    }
    if (t->vocab.n_merges == 0) TARE_TRY(read_merges_txt(t, err));
    if (t->vocab.n_merges == 0)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, &t->json.file, TARE_NO_OFFSET,
                                    "a BPE vocabulary without merges, here and in merges.txt");
    TARE_TRY(tare_llama_read_added_decoder(t, false, err));
    TARE_TRY(tare_llama_add_named(t, err));
    TARE_TRY(tare_llama_keep_last_merges(t, err));
    TARE_TRY(tare_llama_choose_pre(t, err));
    return tare_llama_check_merges(t, err);
}

/* "<0xHH>": the token of a byte. */
static bool is_byte_token(tare_str s) {
    static const char digits[] = "0123456789abcdefABCDEF";
    return s.len == 6 && memcmp(s.ptr, "<0x", 3) == 0 && s.ptr[5] == '>' &&
           memchr(digits, s.ptr[3], sizeof digits - 1) &&
           memchr(digits, s.ptr[4], sizeof digits - 1);
}

/* llama.cpp joins what gives the best score first; the reverse of a token's first merge's rank is
 * just that order, so texts are split as the merges say. */
static tare_status score_by_merges(tare_llama_tokenizer *t, tare_error *err) {
    const tare_llama_vocab *v = &t->vocab;
    const int64_t *made;
    TARE_TRY(tare_llama_tokens_made(&made, t, err));
    for (size_t i = v->n_merges; i-- > 0;)
        if (made[i] >= 0) v->tokens[made[i]].score = (float)-(int64_t)i;
    tare_llama_note(t, TARE_LEVEL_INFO, "tokenizer.scores-of-merges", t->json.file.name,
                    "scores of tokens are the ranks of their merges");
    return TARE_OK;
}

tare_status tare_llama_read_llama_bpe(tare_llama_tokenizer *t, tare_error *err) {
    t->model = "llama";
    t->pre = TARE_STR("default");
    t->has_scores = true;
    t->pad_score = NEUTRAL_SCORE;
    TARE_TRY(check_affixes(t, err));
    TARE_TRY(tare_llama_read_vocab_object(t, &t->json.file, &t->json.vocab, err));
    for (size_t id = 0; id < t->vocab.n_tokens; id++) {
        tare_llama_token *token = tare_llama_vocab_at(&t->vocab, id);
        if (token && is_byte_token(token->text)) token->type = TARE_TOKEN_BYTE;
    }
    TARE_TRY(tare_llama_read_added_list(t, false, err));
    TARE_TRY(tare_llama_read_added_decoder(t, false, err));
    TARE_TRY(tare_llama_add_named(t, err));
    TARE_TRY(read_merges_json(t, err));
    TARE_TRY(tare_llama_keep_last_merges(t, err));
    if (!t->options->like_reference) TARE_TRY(score_by_merges(t, err));
    if (t->options->family != TARE_LLAMA_VOCAB_GEMMA4) t->vocab.n_merges = 0;
    if (t->options->like_reference) return TARE_OK;
    /* llama.cpp does both for this kind, where no key says otherwise */
    t->needs_add_bos = true;
    if (!tare_llama_prepends_blank(t)) t->add_space_prefix = TARE_LLAMA_FLAG_NO;
    return TARE_OK;
}
