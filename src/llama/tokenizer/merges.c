/* SPDX-License-Identifier: MIT
 *
 * Merges of a BPE beside its vocabulary: which is the last of two, which token each makes, and where
 * llama.cpp does by merges what Hugging Face's library does otherwise. */
#include "base/arith.h"
#include "base/byte_alphabet.h"
#include "base/str.h"
#include "llama/tokenizer/context.h"
#include "llama/tokenizer/pre.h"
#include "model/names.h"

/* Of a merge that is given twice Hugging Face's libraries take the last place, llama.cpp the first:
 * the earlier ones are dropped. */
tare_status tare_llama_keep_last_merges(tare_llama_tokenizer *t, tare_error *err) {
    tare_llama_vocab *v = &t->vocab;
    tare_name_index index;
    size_t n_kept = 0;
    tare_str example = {NULL, 0};
    if (t->options->like_reference) return TARE_OK;
    TARE_TRY(tare_name_index_init(&index, &t->scratch, v->n_merges, err));
    for (size_t i = v->n_merges; i-- > 0;) {
        if (tare_name_index_add(&index, v->merges, sizeof *v->merges, i, NULL) < 0) continue;
        example = v->merges[i];
        v->merges[i].len = 0;
    }
    for (size_t i = 0; i < v->n_merges; i++)
        if (v->merges[i].len) v->merges[n_kept++] = v->merges[i];
    const size_t n_dropped = v->n_merges - n_kept;
    v->n_merges = n_kept;
    if (n_dropped)
        tare_llama_note(
            t, TARE_LEVEL_WARNING, "tokenizer.merge-twice", t->json.file.name,
            "merges that are given again: %zu, such as \"%.*s\": the last place counts, as "
            "in Hugging Face's libraries",
            n_dropped, (int)tare_min_u64(example.len, 60), example.ptr);
    return TARE_OK;
}

/* Room for the text of the longest; NULL: memory is out. */
static char *room_for_merges(tare_llama_tokenizer *t) {
    size_t longest = 0;
    for (size_t i = 0; i < t->vocab.n_merges; i++)
        if (t->vocab.merges[i].len > longest) longest = t->vocab.merges[i].len;
    return tare_arena_take(&t->scratch, longest);
}

tare_status tare_llama_tokens_made(const int64_t **out, tare_llama_tokenizer *t, tare_error *err) {
    const tare_llama_vocab *v = &t->vocab;
    tare_name_index index;
    TARE_TRY(tare_llama_vocab_index(&index, v, &t->scratch, err));
    char *room = room_for_merges(t);
    int64_t *made = tare_arena_array(&t->scratch, v->n_merges, sizeof *made);
    if (!room || !made) return tare_fail(err, TARE_ERR_NOMEM, "merges");
    for (size_t i = 0; i < v->n_merges; i++) {
        const tare_str merge = v->merges[i];
        const char *blank = memchr(merge.ptr + 1, ' ', merge.len - 1);
        const size_t left = (size_t)(blank - merge.ptr);
        memcpy(room, merge.ptr, left);
        memcpy(room + left, blank + 1, merge.len - left - 1);
        made[i] = tare_llama_vocab_find(&index, v, (tare_str){room, merge.len - 1});
    }
    *out = made;
    return TARE_OK;
}

/* Hugging Face's libraries do not load such a file; llama.cpp splits the text again. */
static void note_lost_merges(const tare_llama_tokenizer *t, const int64_t *made) {
    const tare_llama_vocab *v = &t->vocab;
    size_t n = 0, first = 0;
    for (size_t i = 0; i < v->n_merges; i++)
        if (made[i] < 0 && n++ == 0) first = i;
    if (n)
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.lost-merge", t->json.file.name,
                        "merges that make no token of the vocabulary: %zu, the first is \"%.*s\"",
                        n, (int)tare_min_u64(v->merges[first].len, 60), v->merges[first].ptr);
}

/* A token of one byte, which no merge has to make. */
static bool is_one_byte(tare_str text) {
    char bytes[4];
    size_t n = 0;
    return text.len <= sizeof bytes && tare_byte_alphabet_bytes(bytes, &n, text) && n == 1;
}

/* Words that are tokens as a whole although no merge makes them: found by one side alone. */
static tare_status note_whole_words(tare_llama_tokenizer *t, const int64_t *made, tare_error *err) {
    const tare_llama_vocab *v = &t->vocab;
    const tare_llama_pre *pre = tare_llama_pre_find(t->pre);
    size_t n = 0, first = 0;
    if (!pre || pre->ignores_merges == t->json.ignore_merges) return TARE_OK;
    bool *is_made = tare_arena_array(&t->scratch, v->n_tokens, sizeof *is_made);
    if (!is_made) return tare_fail(err, TARE_ERR_NOMEM, "merges");
    for (size_t i = 0; i < v->n_merges; i++)
        if (made[i] >= 0) is_made[made[i]] = true;
    for (size_t id = 0; id < v->n_tokens; id++) {
        const tare_llama_token *token = tare_llama_vocab_at(v, id);
        const bool is_whole =
            token && token->type == TARE_TOKEN_NORMAL && !is_made[id] && !is_one_byte(token->text);
        if (is_whole && n++ == 0) first = id;
    }
    if (n)
        tare_llama_note(
            t, TARE_LEVEL_WARNING, "tokenizer.not-applied", t->json.file.name,
            "model.ignore_merges is %s, and llama.cpp %s (pre %s): tokens that no merge "
            "makes, %zu, \"%.*s\" first, are %s",
            t->json.ignore_merges ? "true" : "false",
            pre->ignores_merges ? "ignores merges" : "does not know it", pre->name, n,
            (int)tare_min_u64(v->tokens[first].text.len, 60), v->tokens[first].text.ptr,
            pre->ignores_merges ? "found all the same" : "not found");
    return TARE_OK;
}

/* Bytes that are in no UTF-8 are in no text either. */
static bool is_in_texts(unsigned byte) {
    return byte < 0xC0 || (byte > 0xC1 && byte < 0xF5);
}

/* Where a byte is no token Hugging Face's library takes the unknown one, and llama.cpp none. */
static tare_status note_lost_bytes(tare_llama_tokenizer *t, tare_error *err) {
    const tare_json_value unknown = tare_json_span_member(&t->json.model, "unk_token");
    tare_name_index index;
    size_t n = 0;
    if (unknown.type != TARE_JSON_STRING) return TARE_OK;
    TARE_TRY(tare_llama_vocab_index(&index, &t->vocab, &t->scratch, err));
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[2];
        const char c = (char)byte;
        const size_t len = tare_byte_alphabet_text(text, (tare_str){&c, 1});
        const tare_str character = {text, len};
        n += is_in_texts(byte) && tare_llama_vocab_find(&index, &t->vocab, character) < 0;
    }
    if (n)
        tare_llama_note(
            t, TARE_LEVEL_WARNING, "tokenizer.not-applied", t->json.file.name,
            "model.unk_token: %zu bytes are no tokens, and llama.cpp leaves them out of "
            "a text: some texts are tokenized differently",
            n);
    return TARE_OK;
}

tare_status tare_llama_check_merges(tare_llama_tokenizer *t, tare_error *err) {
    const int64_t *made;
    TARE_TRY(tare_llama_tokens_made(&made, t, err));
    note_lost_merges(t, made);
    if (!t->json.file.text.ptr || t->options->like_reference) return TARE_OK;
    TARE_TRY(note_whole_words(t, made, err));
    return note_lost_bytes(t, err);
}
