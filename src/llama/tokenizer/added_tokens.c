/* SPDX-License-Identifier: MIT
 *
 * Tokens that were added to a vocabulary after it was made. They are in up to three files:
 * added_tokens.json (text to id), added_tokens_decoder of tokenizer_config.json (id to token) and
 * added_tokens of tokenizer.json (a list). */
#include <stdlib.h>

#include "base/str.h"
#include "llama/tokenizer/context.h"

#define ADDED_SCORE -1000.0F
#define ID_EXPECTED "an id was expected: a whole number from 0"
#define BLANK_MARK  "\xe2\x96\x81" /* U+2581, SentencePiece's blank */

/* Whether a token is taken for a control token although no file says so. */
static bool looks_special(tare_str text) {
    static const char *const whole[] = {"<pad>", "<mask>", "<2mass>", "[@BOS@]"};
    static const struct {
        tare_str begin, end;
    } framed[] = {
        {{"<|", 2}, {"|>", 2}},
        {{"<\xef\xbd\x9c", 4}, {"\xef\xbd\x9c>", 4}}, /* U+FF5C */
        {{"<unused", 7}, {">", 1}},
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (tare_str_is(text, whole[i])) return true;
    for (size_t i = 0; i < sizeof framed / sizeof *framed; i++)
        if (tare_str_starts(text, framed[i].begin) && tare_str_ends(text, framed[i].end))
            return true;
    return false;
}

/* U+2581 becomes a blank; borrowed where there is none, else in the arena. */
static tare_status plain_blanks(tare_str *text, tare_arena *arena, tare_error *err) {
    const tare_str mark = TARE_STR(BLANK_MARK);
    size_t n = 0;
    char *out = NULL;
    for (size_t i = 0; i < text->len;) {
        bool is_mark = tare_str_starts(tare_str_cut(*text, i), mark);
        if (is_mark && !out) {
            out = tare_arena_take(arena, text->len);
            if (!out) return tare_fail(err, TARE_ERR_NOMEM, "text");
            memcpy(out, text->ptr, i);
        }
        if (out) out[n] = is_mark ? ' ' : text->ptr[i];
        i += is_mark ? mark.len : 1;
        n++;
    }
    if (out) *text = (tare_str){out, n};
    return TARE_OK;
}

tare_status tare_llama_add_token(tare_llama_tokenizer *t, uint64_t id, tare_str text,
                                 bool is_control, tare_error *err) {
    tare_llama_token token = {text, ADDED_SCORE, TARE_TOKEN_CONTROL};
    if (!is_control) {
        token.type = TARE_TOKEN_USER_DEFINED;
        TARE_TRY(plain_blanks(&token.text, &t->scratch, err));
    }
    return tare_llama_vocab_set(&t->vocab, id, &token, err);
}

tare_status tare_llama_read_added_json(tare_llama_tokenizer *t, tare_error *err) {
    tare_llama_file file;
    tare_json j;
    tare_json_value key, value;
    TARE_TRY(tare_llama_file_read_json(&file, t, "added_tokens.json", err));
    tare_json_span_object(&j, &file.root);
    while (file.text.ptr && tare_json_key(&j, &key) != TARE_JSON_END) {
        tare_llama_token token = {{NULL, 0}, ADDED_SCORE, TARE_TOKEN_USER_DEFINED};
        uint64_t id;
        tare_json_span_next(&j, &value);
        if (!tare_json_u64(&value, &id))
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, &file, value.offset, ID_EXPECTED);
        TARE_TRY(tare_llama_text(&token.text, t, &key, err));
        TARE_TRY(tare_llama_in_file(err, tare_llama_vocab_set(&t->vocab, id, &token, err), &file));
    }
    return TARE_OK;
}

bool tare_llama_id_of_key(const tare_json_value *key, uint64_t *id) {
    tare_json_value digits = *key;
    digits.type = TARE_JSON_NUMBER;
    digits.raw.ptr++;
    digits.raw.len -= 2;
    return digits.raw.len > 0 && tare_json_u64(&digits, id);
}

/* Where the libraries' id of a token is not that of its file. */
static tare_status give_id(uint64_t *id, tare_llama_tokenizer *t, const tare_llama_file *file,
                           tare_str text, uint64_t offset, tare_error *err) {
    const uint64_t told = *id;
    TARE_TRY(tare_llama_in_file(
        err, tare_llama_added_ids_give(id, &t->added, text, &t->vocab, offset, err), file));
    if (*id != told && !t->added.is_noted) {
        t->added.is_noted = true;
        tare_llama_note(
            t, TARE_LEVEL_WARNING, "tokenizer.added-id", file->name,
            "\"%.*s\" is token %llu to Hugging Face's libraries, which go by the order, "
            "and not %llu as the file says",
            (int)(text.len < 80 ? text.len : 80), text.ptr, (unsigned long long)*id,
            (unsigned long long)told);
    }
    return TARE_OK;
}

/* A token as an object with "content" and "special". */
static tare_status add_described(tare_llama_tokenizer *t, const tare_llama_file *file, uint64_t id,
                                 const tare_json_value *token, bool by_looks, tare_error *err) {
    static const char *const names[] = {"content", "special"};
    tare_json_value values[2];
    tare_str text;
    tare_json_span_members(token, names, values, 2);
    if (values[0].type != TARE_JSON_STRING)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, file, token->offset,
                                    "an added token has no text: \"content\" was expected");
    if (values[1].type == TARE_JSON_STRING || values[1].type == TARE_JSON_NUMBER)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, file, values[1].offset,
                                    "\"special\" of an added token: true or false was expected");
    TARE_TRY(tare_llama_text(&text, t, &values[0], err));
    TARE_TRY(give_id(&id, t, file, text, token->offset, err));
    bool is_control = tare_json_span_bool(&values[1], false) || (by_looks && looks_special(text));
    return tare_llama_in_file(err, tare_llama_add_token(t, id, text, is_control, err), file);
}

/* Whether an id already has a token with a different text. */
static bool is_taken(const tare_llama_tokenizer *t, uint64_t id, const tare_json_value *told) {
    const tare_llama_token *token = tare_llama_vocab_at(&t->vocab, id);
    tare_json_value content = tare_json_span_member(told, "content");
    char text[256];
    if (!token) return false;
    if (token->text.len >= sizeof text) return true;
    memcpy(text, token->text.ptr, token->text.len);
    text[token->text.len] = 0;
    return memchr(text, 0, token->text.len) || !tare_json_is(&content, text);
}

tare_status tare_llama_read_added_decoder(tare_llama_tokenizer *t, bool replaces, tare_error *err) {
    const tare_llama_file *file = &t->tokenizer_config;
    tare_json_value decoder = tare_json_span_member(&file->root, "added_tokens_decoder");
    if (decoder.type == TARE_JSON_END || decoder.type == TARE_JSON_NULL) return TARE_OK;
    if (decoder.type != TARE_JSON_OBJECT)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, file, decoder.offset,
                                    "added_tokens_decoder: an object was expected");
    tare_json j;
    tare_json_value key, value;
    tare_json_span_object(&j, &decoder);
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        uint64_t id;
        tare_json_span_next(&j, &value);
        if (!tare_llama_id_of_key(&key, &id))
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, file, key.offset,
                                        "added_tokens_decoder: expected token ids as keys");
        if (!replaces && !t->added.arena && is_taken(t, id, &value)) continue;
        TARE_TRY(add_described(t, file, id, &value, true, err));
    }
    return TARE_OK;
}

/* Counts the texts of the list that are no tokens yet; what is wrong with it read_list says. */
static tare_status expect_list(tare_llama_tokenizer *t, tare_error *err) {
    tare_json j;
    tare_json_value value;
    tare_str text;
    uint64_t n_new = 0;
    if (t->json.added_tokens.type != TARE_JSON_ARRAY) return TARE_OK;
    tare_json_span_array(&j, &t->json.added_tokens);
    while (tare_json_span_next(&j, &value) != TARE_JSON_END) {
        const tare_json_value content = tare_json_span_member(&value, "content");
        if (content.type != TARE_JSON_STRING) continue;
        TARE_TRY(tare_llama_text(&text, t, &content, err));
        n_new += tare_llama_added_ids_find(&t->added, text) < 0;
    }
    tare_llama_added_ids_expect(&t->added, &t->vocab, n_new);
    return TARE_OK;
}

static tare_status read_list(tare_llama_tokenizer *t, bool by_looks, tare_error *err) {
    const tare_llama_file *file = &t->json.file;
    tare_json j;
    tare_json_value value;
    if (t->json.added_tokens.type == TARE_JSON_END) return TARE_OK;
    if (t->json.added_tokens.type != TARE_JSON_ARRAY)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, file, t->json.added_tokens.offset,
                                    "added_tokens: an array was expected");
    tare_json_span_array(&j, &t->json.added_tokens);
    while (tare_json_span_next(&j, &value) != TARE_JSON_END) {
        tare_json_value number = tare_json_span_member(&value, "id");
        uint64_t id;
        if (!tare_json_u64(&number, &id))
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, file, value.offset,
                                        "an added token has no \"id\" that is a whole number");
        TARE_TRY(add_described(t, file, id, &value, by_looks, err));
    }
    return TARE_OK;
}

/* A token of added_tokens.json that tokenizer.json does not know. */
typedef struct added_late {
    uint64_t id, offset;
    tare_str text;
} added_late;

static int by_id(const void *a, const void *b) {
    const uint64_t x = ((const added_late *)a)->id, y = ((const added_late *)b)->id;
    return (x > y) - (x < y);
}

/* added_tokens.json beside tokenizer.json: what that lacks is added in the order of the ids, unless
 * tokenizer_config.json has a newer list. */
static tare_status read_added_json_late(tare_llama_tokenizer *t, tare_error *err) {
    tare_llama_file file;
    tare_json j;
    tare_json_value key, value;
    size_t n = 0, most = 0;
    value = tare_json_span_member(&t->tokenizer_config.root, "added_tokens_decoder");
    if (value.type == TARE_JSON_OBJECT) return TARE_OK;
    TARE_TRY(tare_llama_file_read_json(&file, t, "added_tokens.json", err));
    tare_json_span_object(&j, &file.root);
    for (; tare_json_key(&j, &key) != TARE_JSON_END; most++) tare_json_span_next(&j, &value);
    added_late *late = TARE_NEW_ARRAY(&t->scratch, added_late, most);
    if (!late) return tare_fail(err, TARE_ERR_NOMEM, "added tokens");
    tare_json_span_object(&j, &file.root);
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        tare_json_span_next(&j, &value);
        if (!tare_json_u64(&value, &late[n].id))
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, &file, value.offset, ID_EXPECTED);
        late[n].offset = value.offset;
        TARE_TRY(tare_llama_text(&late[n].text, t, &key, err));
        n += tare_llama_added_ids_find(&t->added, late[n].text) < 0;
    }
    if (n) qsort(late, n, sizeof *late, by_id);
    for (size_t i = 0; i < n; i++) {
        if (t->options->vocab_size && t->added.next >= t->options->vocab_size) {
            tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.no-such-token", file.name,
                            "%zu tokens are left out: the vocabulary has no room for them", n - i);
            return TARE_OK;
        }
        TARE_TRY(give_id(&late[i].id, t, &file, late[i].text, late[i].offset, err));
        TARE_TRY(tare_llama_in_file(
            err, tare_llama_add_token(t, late[i].id, late[i].text, false, err), &file));
    }
    return TARE_OK;
}

tare_status tare_llama_read_added_list(tare_llama_tokenizer *t, bool by_looks, tare_error *err) {
    TARE_TRY(tare_llama_added_ids_begin(&t->added, &t->vocab, &t->scratch, err));
    TARE_TRY(expect_list(t, err));
    TARE_TRY(read_list(t, by_looks, err));
    return read_added_json_late(t, err);
}

tare_status tare_llama_read_added_list_beside(tare_llama_tokenizer *t, bool by_looks,
                                              tare_error *err) {
    return read_list(t, by_looks, err);
}
