/* SPDX-License-Identifier: MIT
 *
 * Vocabularies that are a list of byte strings by rank: tiktoken files (a token in base64 and its
 * rank in each line) and tekken.json. Tokens go through GPT-2's byte alphabet; merges are found
 * again from the ranks. */
#include <stdio.h>
#include <stdlib.h>

#include "base/byte_alphabet.h"
#include "base/str.h"
#include "llama/tokenizer/context.h"
#include "llama/tokenizer/pre.h"
#include "llama/tokenizer/ranks.h"
#include "llama/tokenizer/specials.h"
#include "model/names.h"

#define LONGEST_TOKEN 512 /* bytes: finding merges takes time with the square of it */

typedef struct rank_token {
    tare_str bytes; /* first: an index over names reads it */
} rank_token;

typedef struct ranks {
    tare_llama_tokenizer *t;
    const tare_llama_file *file;
    rank_token *items;
    size_t n, capacity;
    tare_name_index index;
    uint32_t first_id; /* of rank 0 */
    uint64_t n_bytes;  /* of all tokens */
    uint64_t n_merge_bytes;
} ranks;

static tare_status add_rank(ranks *r, uint64_t rank, tare_str bytes, uint64_t offset,
                            tare_error *err) {
    void *items = r->items;
    if (rank != r->n)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, r->file, offset,
                                    "rank: one more than the rank before was expected");
    if (bytes.len == 0 || bytes.len > LONGEST_TOKEN)
        return tare_llama_fail_file(err, TARE_ERR_LIMIT, r->file, offset,
                                    "a token has 1 to 512 bytes");
    if (!tare_grow(r->t->scratch.allocator, &items, &r->capacity, r->n + 1, sizeof *r->items))
        return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    r->items = items;
    r->items[r->n++] = (rank_token){bytes};
    r->n_bytes += bytes.len;
    return TARE_OK;
}

static void ranks_free(ranks *r) {
    tare_free(r->t->scratch.allocator, r->items, r->capacity * sizeof *r->items);
}

static int64_t rank_of(const ranks *r, tare_str bytes) {
    return tare_name_index_find(&r->index, r->items, sizeof *r->items, bytes);
}

static tare_status put_tokens(ranks *r, tare_error *err) {
    for (size_t rank = 0; rank < r->n; rank++) {
        char *text = tare_arena_take(&r->t->scratch, 2 * r->items[rank].bytes.len);
        if (!text) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
        tare_llama_token token = {
            {text, tare_byte_alphabet_text(text, r->items[rank].bytes)}, 0, TARE_TOKEN_NORMAL};
        TARE_TRY(tare_llama_in_file(
            err, tare_llama_vocab_set(&r->t->vocab, r->first_id + rank, &token, err), r->file));
    }
    return TARE_OK;
}

/* A file whose tokens are all each other's beginnings has merges of the square of its size. */
static tare_status put_merge(ranks *r, tare_str token, size_t left, tare_error *err) {
    enum { MOST_FOR_A_BYTE = 64 }; /* in use: 5 */
    r->n_merge_bytes += token.len + 1;
    if (r->n_merge_bytes / MOST_FOR_A_BYTE > r->n_bytes)
        return tare_llama_fail_file(
            err, TARE_ERR_LIMIT, r->file, TARE_NO_OFFSET,
            "tokens: they can be composed of each other in far too many ways");
    char *text = tare_arena_take(&r->t->scratch, 2 * token.len + 1);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "merges");
    size_t n = tare_byte_alphabet_text(text, (tare_str){token.ptr, left});
    text[n++] = ' ';
    n += tare_byte_alphabet_text(text + n, tare_str_cut(token, left));
    return tare_llama_vocab_add_merge(&r->t->vocab, (tare_str){text, n}, err);
}

/* ---- merges of tiktoken ---------------------------------------------------------------------- */

/* Parts of a token, each two neighbours of which may be a token. */
typedef struct parts {
    tare_str token;
    size_t n;
    uint16_t starts[LONGEST_TOKEN + 1];
    int64_t pairs[LONGEST_TOKEN]; /* rank of parts i and i + 1 together; below 0: none */
} parts;

static void rank_pair(parts *p, const ranks *r, size_t i) {
    const size_t n = (size_t)(p->starts[i + 2] - p->starts[i]);
    p->pairs[i] = rank_of(r, (tare_str){p->token.ptr + p->starts[i], n});
}

/* Parts i and i + 1 become one: two pairs are others then. */
static void join(parts *p, const ranks *r, size_t i) {
    p->n--;
    memmove(p->starts + i + 1, p->starts + i + 2, (p->n - i) * sizeof *p->starts);
    if (i + 1 < p->n) memmove(p->pairs + i, p->pairs + i + 1, (p->n - 1 - i) * sizeof *p->pairs);
    if (i + 1 < p->n) rank_pair(p, r, i);
    if (i > 0) rank_pair(p, r, i - 1);
}

/* Merges a token's bytes by ranks below its own; with two parts left, these are its merge. */
static tare_status find_merge(ranks *r, size_t rank, tare_error *err) {
    parts p = {.token = r->items[rank].bytes, .n = r->items[rank].bytes.len};
    for (size_t i = 0; i <= p.n; i++) p.starts[i] = (uint16_t)i;
    for (size_t i = 0; i + 1 < p.n; i++) rank_pair(&p, r, i);
    for (;;) {
        size_t best = p.n;
        int64_t best_rank = (int64_t)rank;
        for (size_t i = 0; i + 1 < p.n; i++)
            if (p.pairs[i] >= 0 && p.pairs[i] < best_rank) {
                best = i;
                best_rank = p.pairs[i];
            }
        if (best == p.n) break;
        join(&p, r, best);
    }
    return p.n == 2 ? put_merge(r, p.token, p.starts[1], err) : TARE_OK;
}

/* ---- merges of tekken ------------------------------------------------------------------------ */

typedef struct split {
    int64_t left; /* rank */
    size_t at;
} split;

static int by_left(const void *a, const void *b) {
    const split *x = a, *y = b;
    return (x->left > y->left) - (x->left < y->left);
}

/* Every split of a token into two known halves is a merge; the lower left rank comes first. */
static tare_status find_splits(ranks *r, size_t rank, tare_error *err) {
    const tare_str token = r->items[rank].bytes;
    split splits[LONGEST_TOKEN];
    size_t n = 0;
    for (size_t i = 1; i < token.len; i++) {
        const int64_t left = rank_of(r, (tare_str){token.ptr, i});
        if (left >= 0 && rank_of(r, tare_str_cut(token, i)) >= 0) splits[n++] = (split){left, i};
    }
    if (n) qsort(splits, n, sizeof *splits, by_left);
    for (size_t i = 0; i < n; i++) TARE_TRY(put_merge(r, token, splits[i].at, err));
    return TARE_OK;
}

static tare_status put_merges(ranks *r, tare_status (*find)(ranks *, size_t, tare_error *),
                              tare_error *err) {
    TARE_TRY(tare_name_index_init(&r->index, &r->t->scratch, r->n, err));
    for (size_t rank = 0; rank < r->n; rank++)
        if (tare_name_index_add(&r->index, r->items, sizeof *r->items, rank, NULL) >= 0)
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, r->file, TARE_NO_OFFSET,
                                        "a token has two ranks");
    for (size_t rank = 0; rank < r->n; rank++)
        if (r->items[rank].bytes.len > 1) TARE_TRY(find(r, rank, err));
    return TARE_OK;
}

/* ---- tiktoken -------------------------------------------------------------------------------- */

static tare_status read_lines(ranks *r, tare_error *err) {
    tare_str rest = r->file->text;
    while (rest.len) {
        uint64_t offset = (uint64_t)(rest.ptr - r->file->text.ptr);
        const char *end = memchr(rest.ptr, '\n', rest.len);
        tare_str line = {rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len}, bytes;
        rest = tare_str_cut(rest, line.len + 1);
        if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
        if (line.len == 0) continue;
        const char *blank = memchr(line.ptr, ' ', line.len);
        size_t left = blank ? (size_t)(blank - line.ptr) : line.len;
        tare_json_value digits = {TARE_JSON_NUMBER, tare_str_cut(line, left + 1), offset};
        uint64_t rank;
        if (!blank || digits.raw.len == 0 || !tare_json_u64(&digits, &rank) ||
            !tare_llama_base64(&bytes, (tare_str){line.ptr, left}, &r->t->scratch))
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, r->file, offset,
                                        "expected lines of a token in base64 and its rank");
        if (!bytes.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
        TARE_TRY(add_rank(r, rank, bytes, offset, err));
    }
    return TARE_OK;
}

tare_status tare_llama_read_tiktoken(tare_llama_tokenizer *t, const tare_llama_file *file,
                                     const char *pre, tare_error *err) {
    ranks r = {.t = t, .file = file};
    t->model = "gpt2";
    tare_status status = read_lines(&r, err);
    if (status == TARE_OK) status = put_tokens(&r, err);
    if (status == TARE_OK) status = put_merges(&r, find_merge, err);
    ranks_free(&r);
    TARE_TRY(status);
    TARE_TRY(tare_llama_read_added_decoder(t, false, err));
    return tare_llama_set_pre(t, t->options->pre ? t->options->pre : pre, err);
}

tare_status tare_llama_merges_of_ranks(tare_llama_vocab *vocab, const tare_str *tokens, size_t n,
                                       tare_arena *scratch, tare_error *err) {
    static const tare_llama_file none = {.name = "tokens"};
    tare_llama_tokenizer t = {.scratch = *scratch, .vocab = *vocab};
    ranks r = {.t = &t, .file = &none};
    tare_status status = TARE_OK;
    for (size_t i = 0; i < n && status == TARE_OK; i++)
        status = add_rank(&r, i, tokens[i], TARE_NO_OFFSET, err);
    if (status == TARE_OK) status = put_merges(&r, find_merge, err);
    ranks_free(&r);
    *scratch = t.scratch;
    *vocab = t.vocab;
    return status;
}

/* ---- tekken ---------------------------------------------------------------------------------- */

static uint64_t number_member(const tare_json_value *object, const char *name, uint64_t otherwise) {
    tare_json_value v = tare_json_span_member(object, name);
    uint64_t n;
    return tare_json_u64(&v, &n) ? n : otherwise;
}

static tare_status read_vocab(ranks *r, uint64_t most, tare_error *err) {
    static const char *const names[] = {"rank", "token_bytes"};
    tare_json_value list = tare_json_span_member(&r->file->root, "vocab"), entry, v[2];
    tare_json j;
    tare_json_span_array(&j, &list);
    while (r->n < most && tare_json_span_next(&j, &entry) != TARE_JSON_END) {
        uint64_t rank;
        tare_str text, bytes;
        tare_json_span_members(&entry, names, v, 2);
        if (!tare_json_u64(&v[0], &rank) || v[1].type != TARE_JSON_STRING)
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, r->file, entry.offset,
                                        "vocab: \"rank\" and \"token_bytes\" were expected");
        TARE_TRY(tare_llama_text(&text, r->t, &v[1], err));
        if (!tare_llama_base64(&bytes, text, &r->t->scratch))
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, r->file, v[1].offset,
                                        "token_bytes is not base64");
        if (!bytes.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
        TARE_TRY(add_rank(r, rank, bytes, entry.offset, err));
    }
    return TARE_OK;
}

/* The special tokens come first: those of the list, then fillers. */
static tare_status put_specials(ranks *r, tare_error *err) {
    static const struct {
        const char *text;
        tare_llama_special special;
    } roles[] = {{"<s>", TARE_LLAMA_BOS},
                 {"</s>", TARE_LLAMA_EOS},
                 {"<unk>", TARE_LLAMA_UNK},
                 {"<pad>", TARE_LLAMA_PAD}};
    tare_json_value list = tare_json_span_member(&r->file->root, "special_tokens"), entry;
    tare_llama_tokenizer *t = r->t;
    tare_json j;
    tare_json_span_array(&j, &list);
    while (tare_json_span_next(&j, &entry) != TARE_JSON_END) {
        uint64_t rank = number_member(&entry, "rank", UINT64_MAX);
        tare_json_value v = tare_json_span_member(&entry, "token_str");
        tare_llama_token token = {{NULL, 0}, 0, TARE_TOKEN_CONTROL};
        if (rank >= r->first_id || v.type != TARE_JSON_STRING)
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, r->file, entry.offset,
                                        "special_tokens: \"rank\" below their number and "
                                        "\"token_str\" were expected");
        TARE_TRY(tare_llama_text(&token.text, t, &v, err));
        TARE_TRY(tare_llama_vocab_set(&t->vocab, rank, &token, err));
    }
    for (uint32_t id = 0; id < r->first_id; id++) {
        char text[32];
        int length = snprintf(text, sizeof text, "<SPECIAL_%u>", id);
        tare_llama_token token = {tare_arena_str(&t->scratch, (tare_str){text, (size_t)length}), 0,
                                  TARE_TOKEN_CONTROL};
        if (!token.text.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
        if (!tare_llama_vocab_at(&t->vocab, id))
            TARE_TRY(tare_llama_vocab_set(&t->vocab, id, &token, err));
    }
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        for (uint32_t id = 0; id < r->first_id; id++)
            if (tare_str_is(t->vocab.tokens[id].text, roles[i].text))
                tare_llama_set_id(t, roles[i].special, id, false);
    return TARE_OK;
}

static tare_status read_tekken(ranks *r, tare_error *err) {
    tare_json_value config = tare_json_span_member(&r->file->root, "config");
    uint64_t n_specials = number_member(&config, "default_num_special_tokens", 1000);
    uint64_t n = number_member(&config, "default_vocab_size", 0);
    if (n_specials > r->t->vocab.most_tokens || n < n_specials)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, r->file, config.offset,
                                    "config: default_vocab_size does not hold the special tokens");
    r->first_id = (uint32_t)n_specials;
    TARE_TRY(read_vocab(r, n - n_specials, err));
    TARE_TRY(put_specials(r, err));
    TARE_TRY(put_tokens(r, err));
    return put_merges(r, find_splits, err);
}

tare_status tare_llama_read_tekken(tare_llama_tokenizer *t, const tare_llama_file *file,
                                   tare_error *err) {
    ranks r = {.t = t, .file = file};
    const tare_json_value config = tare_json_span_member(&file->root, "config"),
                          pattern = tare_json_span_member(&config, "pattern");
    t->model = "gpt2";
    t->has_scores = true;
    tare_status status = read_tekken(&r, err);
    ranks_free(&r);
    TARE_TRY(status);
    if (pattern.type == TARE_JSON_STRING)
        TARE_TRY(tare_llama_choose_pre_by_pattern(t, file, &pattern, err));
    else
        TARE_TRY(tare_llama_set_pre(t, t->options->pre ? t->options->pre : "tekken", err));
    tare_llama_set_add(t, TARE_LLAMA_ADD_BOS, tare_llama_has_id(t, TARE_LLAMA_BOS));
    tare_llama_set_add(t, TARE_LLAMA_ADD_EOS, false);
    return TARE_OK;
}
