/* SPDX-License-Identifier: MIT
 *
 * Vocabularies with scores: as SentencePiece's model, which holds just that, and as merges, which
 * tokenizer.json wants: a token is what any two others come to, those of the best score first. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/str.h"
#include "llama/restore/restore_vocab.h"

/* ---- tokenizer.model ------------------------------------------------------------------------- */

enum { BYTES = 2, FIXED32 = 5, MODEL_BPE = 2 };

static void put_varint(tare_buffer *b, uint64_t n) {
    for (; n >= 0x80; n >>= 7) tare_buffer_put_u8(b, (uint8_t)(n | 0x80));
    tare_buffer_put_u8(b, (uint8_t)n);
}

static void put_number(tare_buffer *b, unsigned field, uint64_t n) {
    put_varint(b, field << 3);
    put_varint(b, n);
}

static size_t varint_size(uint64_t n) {
    size_t size = 1;
    for (; n >= 0x80; n >>= 7) size++;
    return size;
}

/* pieces: 1 text, 2 score, 3 type, whose numbers are those of token_type. */
static void put_piece(tare_buffer *b, const tare_llama_token *token) {
    size_t size = 1 + varint_size(token->text.len) + token->text.len + 5 + 2;
    put_varint(b, 1 << 3 | BYTES);
    put_varint(b, size);
    put_varint(b, 1 << 3 | BYTES);
    put_varint(b, token->text.len);
    tare_buffer_put_str(b, token->text);
    put_varint(b, 2 << 3 | FIXED32);
    tare_buffer_put_u32(b, tare_f32_bits(token->score), false);
    put_number(b, 3, token->type);
}

static void put_message(tare_buffer *b, unsigned field, const tare_buffer *inner) {
    put_varint(b, field << 3 | BYTES);
    put_varint(b, inner->size);
    tare_buffer_put(b, inner->data, inner->size);
}

/* trainer_spec: 3 model_type, 35 byte_fallback, 40 to 43 the ids of unk, bos, eos, pad. */
static void put_trainer(tare_buffer *b, const tare_llama_gguf_tokenizer *t, bool has_bytes) {
    static const tare_llama_special roles[] = {TARE_LLAMA_UNK, TARE_LLAMA_BOS, TARE_LLAMA_EOS,
                                               TARE_LLAMA_PAD};
    put_number(b, 3, MODEL_BPE);
    put_number(b, 35, has_bytes);
    for (unsigned i = 0; i < 4; i++) put_number(b, 40 + i, (uint64_t)t->ids[roles[i]]);
}

/* normalizer_spec: 3 add_dummy_prefix, 4 remove_extra_whitespaces. */
static void put_normalizer(tare_buffer *b, const tare_llama_gguf_tokenizer *t) {
    put_number(b, 3, t->has_space_prefix);
    put_number(b, 4, tare_llama_gguf_tokenizer_flag(t, "remove_extra_whitespaces", false));
}

tare_status tare_llama_put_pieces(tare_llama_gguf_tokenizer *t, tare_error *err) {
    tare_buffer b, trainer, normalizer;
    const size_t n = tare_llama_gguf_n_tokens(t);
    bool has_bytes = false;
    tare_buffer_init(&b, t->r->out->allocator);
    tare_buffer_init(&trainer, t->r->out->allocator);
    tare_buffer_init(&normalizer, t->r->out->allocator);
    for (size_t id = 0; id < n; id++) {
        put_piece(&b, &t->vocab.tokens[id]);
        has_bytes |= t->vocab.tokens[id].type == TARE_TOKEN_BYTE;
    }
    put_trainer(&trainer, t, has_bytes);
    put_normalizer(&normalizer, t);
    put_message(&b, 2, &trainer);
    put_message(&b, 3, &normalizer);
    tare_status status = tare_buffer_status(&trainer, err);
    if (status == TARE_OK) status = tare_buffer_status(&normalizer, err);
    tare_buffer_free(&trainer);
    tare_buffer_free(&normalizer);
    if (status == TARE_OK) return tare_llama_add_file(t->r, "tokenizer.model", &b, err);
    tare_buffer_free(&b);
    return status;
}

/* ---- merges ---------------------------------------------------------------------------------- */

typedef struct split {
    uint32_t id, left; /* bytes of its left part */
    float score;
} split;

/* The best score first; of equal ones the lower id, then the longer left part. */
static int by_score(const void *a, const void *b) {
    const split *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return x->left > y->left ? -1 : x->left < y->left;
}

static bool is_joined(const tare_llama_vocab *v, int64_t id) {
    return id >= 0 && (v->tokens[id].type == TARE_TOKEN_NORMAL ||
                       v->tokens[id].type == TARE_TOKEN_USER_DEFINED);
}

/* Every way to cut a token into two others. */
static tare_status find_splits(split **splits, size_t *n, size_t *capacity,
                               tare_llama_gguf_tokenizer *t, tare_error *err) {
    const tare_llama_vocab *v = &t->vocab;
    tare_name_index index;
    uint64_t bytes = 0;
    TARE_TRY(tare_llama_vocab_index(&index, v, &t->scratch, err));
    for (size_t id = 0; id < v->n_tokens; id++) {
        const tare_llama_token *token = &v->tokens[id];
        if (token->type != TARE_TOKEN_NORMAL || token->text.len > 256) continue;
        if (tare_llama_vocab_find(&index, v, token->text) != (int64_t)id) continue; /* again */
        for (size_t i = 1; i < token->text.len; i++) {
            tare_str left = {token->text.ptr, i}, right = tare_str_cut(token->text, i);
            if (((uint8_t)right.ptr[0] & 0xC0) == 0x80) continue; /* within a character */
            if (!is_joined(v, tare_llama_vocab_find(&index, v, left)) ||
                !is_joined(v, tare_llama_vocab_find(&index, v, right)))
                continue;
            bytes += token->text.len + 1;
            if (bytes > t->r->out->limits.resource_bytes) {
                tare_fail(err, TARE_ERR_LIMIT, "merges derived from the scores of the tokens");
                tare_error_item(err, TARE_ITEM_KEY, -1, TARE_STR("tokenizer.ggml.tokens"));
                return TARE_ERR_LIMIT;
            }
            if (!tare_grow(v->allocator, (void **)splits, capacity, *n + 1, sizeof **splits))
                return tare_fail(err, TARE_ERR_NOMEM, "merges");
            (*splits)[(*n)++] = (split){(uint32_t)id, (uint32_t)i, token->score};
        }
    }
    return TARE_OK;
}

static tare_status add_merges(tare_llama_gguf_tokenizer *t, const split *splits, size_t n,
                              tare_error *err) {
    for (size_t i = 0; i < n; i++) {
        tare_str text = t->vocab.tokens[splits[i].id].text, merge;
        char *both = tare_arena_take(&t->scratch, text.len + 1);
        if (!both) return tare_fail(err, TARE_ERR_NOMEM, "merges");
        memcpy(both, text.ptr, splits[i].left);
        both[splits[i].left] = ' ';
        memcpy(both + splits[i].left + 1, text.ptr + splits[i].left, text.len - splits[i].left);
        merge = (tare_str){both, text.len + 1};
        TARE_TRY(tare_llama_vocab_add_merge(&t->vocab, merge, err));
    }
    return TARE_OK;
}

tare_status tare_llama_merges_of_scores(tare_llama_gguf_tokenizer *t, tare_error *err) {
    split *splits = NULL;
    size_t n = 0, capacity = 0;
    tare_status status = find_splits(&splits, &n, &capacity, t, err);
    if (n) qsort(splits, n, sizeof *splits, by_score);
    if (status == TARE_OK) status = add_merges(t, splits, n, err);
    tare_free(t->vocab.allocator, splits, capacity * sizeof *splits);
    return status;
}
