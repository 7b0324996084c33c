/* SPDX-License-Identifier: MIT
 *
 * A model of whisper.cpp as a Whisper model of Hugging Face. Tensors are renamed only; the mel
 * filters are computed there, and special tokens follow from the size of the vocabulary. */
#include <stdio.h>
#include <string.h>

#include "base/byte_alphabet.h"
#include "base/report.h"
#include "base/status.h"
#include "base/str.h"
#include "llama/whisper/whisper_files.h"
#include "llama/whisper/whisper_parts.h"

static const char format_name[] = "restored from whisper.cpp";

enum { N_FILES = 8, MOST_FILTERS = 1 << 20 };

typedef struct restoring {
    const tare_model *in;
    tare_model *out; /* memory is its arena */
    tare_arena scratch;
    tare_report *report;
    tare_whisper_sizes sizes;
    bool *is_used; /* tensors of the input */
    tare_model_types *types;
} restoring;

/* ---- what is there --------------------------------------------------------------------------- */

static const tare_value *find_key(const tare_model *in, const char *key) {
    const int64_t at = tare_model_find_key(in, tare_str_of(key));
    return at < 0 ? NULL : &in->catalog.metadata[at].value;
}

bool tare_whisper_can_restore(const tare_model *model) {
    return find_key(model, "whisper.vocab_size") && find_key(model, "whisper.tokens") &&
           tare_model_find_tensor(model, TARE_STR("mel_filters")) >= 0 &&
           tare_model_find_resource(model, TARE_STR("config.json")) < 0;
}

static void not_restored(const restoring *r, tare_item_kind kind, const char *name,
                         const char *why) {
    tare_finding f = TARE_FINDING(WARNING, TARE_OK, "llama.not-restored");
    f.item_kind = kind;
    f.item_name = tare_str_of(name);
    f.text = tare_str_of(why);
    tare_report_add(r->report, &f);
    if (!r->out->loss.code) r->out->loss = f;
}

static tare_status fail_item(tare_error *err, tare_status status, tare_item_kind kind,
                             const char *name, const char *what) {
    tare_fail(err, status, what);
    tare_error_item(err, kind, -1, tare_str_of(name));
    return status;
}

static tare_status read_sizes(restoring *r, tare_error *err) {
    tare_whisper_sizes *s = &r->sizes;
    uint64_t text_width;
    const struct {
        const char *key;
        uint64_t *to;
    } numbers[] = {{"whisper.vocab_size", &s->vocab_size},
                   {"whisper.audio.context_length", &s->audio_context},
                   {"whisper.audio.embedding_length", &s->width},
                   {"whisper.audio.head_count", &s->encoder_heads},
                   {"whisper.audio.block_count", &s->n_encoder},
                   {"whisper.text.context_length", &s->text_context},
                   {"whisper.text.embedding_length", &text_width},
                   {"whisper.text.head_count", &s->decoder_heads},
                   {"whisper.text.block_count", &s->n_decoder},
                   {"whisper.mel_count", &s->n_mels}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const tare_value *v = find_key(r->in, numbers[i].key);
        if (!v || !tare_value_u64(numbers[i].to, v) || *numbers[i].to > INT32_MAX)
            return fail_item(err, TARE_ERR_CORRUPT, TARE_ITEM_KEY, numbers[i].key,
                             "a number of 31 bits was expected");
    }
    if (text_width != s->width)
        return fail_item(err, TARE_ERR_UNSUPPORTED, TARE_ITEM_KEY, "whisper.text.embedding_length",
                         "transformers has the same width in encoder and decoder");
    return TARE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Rows of a matrix; 0: there is none. */
static uint64_t rows_of(const tare_model *in, const char *name) {
    const int64_t at = tare_model_find_tensor(in, tare_str_of(name));
    return at < 0 || !in->catalog.tensors[at].n_dims ? 0 : in->catalog.tensors[at].dims[0];
}

static tare_status add_tensor(restoring *r, const tare_whisper_place *place, tare_error *err) {
    tare_catalog *c = &r->out->catalog;
    char name[TARE_WHISPER_NAME + sizeof "model."];
    const int64_t at = tare_model_find_tensor(r->in, tare_str_of(place->ours));
    tare_tensor *t = &c->tensors[c->n_tensors];
    snprintf(name, sizeof name, "model.%s", place->hf);
    *t = (tare_tensor){.name = tare_arena_str(&r->out->arena, tare_str_of(name)),
                       .offset = TARE_NO_OFFSET};
    if (!t->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (at < 0) {
        tare_fail(err, TARE_ERR_CORRUPT, "the model lacks a tensor of its layers");
        tare_error_item(err, TARE_ITEM_TENSOR, -1,
                        tare_arena_str(&r->out->arena, tare_str_of(place->ours)));
        return TARE_ERR_CORRUPT;
    }
    const tare_tensor *from = &r->in->catalog.tensors[at];
    uint32_t n_dims = from->n_dims;
    r->is_used[at] = true;
    if (place->is_column) {
        if (n_dims != 2 || from->dims[1] != 1)
            return tare_fail_tensor(err, TARE_ERR_CORRUPT, from, (size_t)at,
                                    "a matrix of one column was expected");
        n_dims = 1;
    }
    TARE_TRY(tare_tensor_set(r->out, t, from->encoding, from->dims, n_dims, from->planes[0].file,
                             from->planes[0].offset, err));
    if (from->encoding->id == TARE_ENCODING_F32) r->types->fixed[c->n_tensors] = TARE_FIXED_F32;
    if (from->encoding->id != TARE_ENCODING_F32 && n_dims == 2)
        r->types->usual = from->encoding->kind == TARE_KIND_FLOAT
                              ? from->encoding
                              : tare_encoding_get(TARE_ENCODING_F16);
    r->types->origins[c->n_tensors++] = tare_tensor_origin(r->in, (size_t)at);
    return TARE_OK;
}

/* Filters that transformers would not compute are lost. */
static tare_status check_filters(restoring *r, tare_error *err) {
    const int64_t at = tare_model_find_tensor(r->in, TARE_STR("mel_filters"));
    const tare_tensor *t = &r->in->catalog.tensors[at];
    bool is_usual = t->n_dims == 2 && t->dims[0] == r->sizes.n_mels &&
                    t->dims[1] == TARE_WHISPER_BINS && t->size_bytes <= MOST_FILTERS &&
                    t->encoding->id == TARE_ENCODING_F32;
    r->is_used[at] = true;
    if (is_usual) {
        uint8_t *usual = tare_arena_take(&r->scratch, (size_t)t->size_bytes);
        uint8_t *own = tare_arena_take(&r->scratch, (size_t)t->size_bytes);
        if (!usual || !own) return tare_fail(err, TARE_ERR_NOMEM, "mel filters");
        tare_whisper_filters(usual, (size_t)t->dims[0]);
        TARE_TRY(tare_tensor_read(own, r->in, (size_t)at, 0, 0, (size_t)t->size_bytes, err));
        is_usual = memcmp(usual, own, (size_t)t->size_bytes) == 0;
    }
    if (!is_usual)
        not_restored(r, TARE_ITEM_TENSOR, "mel_filters",
                     "other filters than transformers computes: no file of the output holds them");
    return TARE_OK;
}

static tare_status add_tensors(restoring *r, tare_error *err) {
    tare_arena *arena = &r->out->arena;
    const size_t n = r->in->catalog.n_tensors;
    tare_whisper_place place;
    r->out->catalog.tensors = TARE_NEW_ARRAY(arena, tare_tensor, n + 1);
    r->types = TARE_NEW(arena, tare_model_types);
    r->is_used = TARE_NEW_ARRAY(&r->scratch, bool, n);
    if (!r->out->catalog.tensors || !r->types || !r->is_used)
        return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    *r->types = (tare_model_types){.usual = tare_encoding_get(TARE_ENCODING_F32),
                                   .program = TARE_PROGRAM_TRANSFORMERS,
                                   .fixed = TARE_NEW_ARRAY(arena, tare_fixed_type, n + 1),
                                   .origins = TARE_NEW_ARRAY(arena, tare_origin, n + 1)};
    if (!r->types->fixed || !r->types->origins) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_model_share_files(r->out, r->in, err));
    for (uint64_t i = 0; tare_whisper_place_at(&place, i, r->sizes.n_encoder, r->sizes.n_decoder);
         i++)
        TARE_TRY(add_tensor(r, &place, err));
    if (r->types->usual->id == TARE_ENCODING_F32) /* all are: none keeps that beside others */
        memset(r->types->fixed, 0, (n + 1) * sizeof *r->types->fixed);
    TARE_TRY(check_filters(r, err));
    for (size_t i = 0; i < n; i++)
        if (!r->is_used[i])
            return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, &r->in->catalog.tensors[i], i,
                                    "transformers has no such tensor in a model of these layers");
    r->sizes.encoder_ffn = rows_of(r->in, "encoder.blocks.0.mlp.0.weight");
    r->sizes.decoder_ffn = rows_of(r->in, "decoder.blocks.0.mlp.0.weight");
    r->out->types = r->types;
    return TARE_OK;
}

/* ---- side files ------------------------------------------------------------------------------ */

static tare_status add_file(restoring *r, const char *name, tare_buffer *b, tare_error *err) {
    tare_catalog *c = &r->out->catalog;
    tare_str text;
    TARE_TRY(tare_buffer_text(&text, b, &r->out->arena, err));
    b->size = 0;
    c->resources[c->n_resources++] = (tare_resource_entry){.info = {tare_str_of(name), text.len},
                                                           .bytes = (const uint8_t *)text.ptr};
    return TARE_OK;
}

/* The bytes of one. */
static tare_status read_token(tare_str *out, tare_str text, restoring *r, tare_error *err) {
    char *bytes = tare_arena_take(&r->scratch, text.len + 1);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    out->ptr = bytes;
    if (tare_byte_alphabet_bytes(bytes, &out->len, text)) return TARE_OK;
    return fail_item(err, TARE_ERR_UNSUPPORTED, TARE_ITEM_KEY, "whisper.tokens",
                     "a token that is not in GPT-2's alphabet of bytes");
}

/* The tokens of the file, and the end of text where it is left out, as in those made of OpenAI's
 * checkpoints; *n_ranks: those before it that are not empty. */
static tare_status read_tokens(tare_str **out, size_t *n, size_t *n_ranks, restoring *r,
                               uint32_t end, tare_error *err) {
    const tare_value *v = find_key(r->in, "whisper.tokens");
    tare_array_walk walk;
    tare_value token;
    if (v->type != TARE_VALUE_ARRAY || v->as.a.type != TARE_VALUE_STRING || v->as.a.count > end + 1)
        return fail_item(err, TARE_ERR_UNSUPPORTED, TARE_ITEM_KEY, "whisper.tokens",
                         "texts of the tokens up to the end of text were expected");
    *out = TARE_NEW_ARRAY(&r->scratch, tare_str, v->as.a.count + 1);
    if (!*out) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    tare_array_begin(&walk, &v->as.a);
    for (*n = 0; tare_array_next(&token, &walk); ++*n)
        TARE_TRY(read_token(&(*out)[*n], token.as.s, r, err));
    if (*n == end) (*out)[(*n)++] = TARE_STR("<|endoftext|>");
    *n_ranks = 0;
    while (*n_ranks < *n && *n_ranks < end && (*out)[*n_ranks].len) ++*n_ranks;
    return TARE_OK;
}

static tare_status add_tokenizer(restoring *r, tare_buffer *b, const tare_whisper_ids *ids,
                                 tare_error *err) {
    tare_str *tokens;
    size_t n = 0, n_ranks = 0;
    TARE_TRY(read_tokens(&tokens, &n, &n_ranks, r, ids->end, err));
    TARE_TRY(tare_whisper_put_vocab(b, tokens, n, &r->scratch, err));
    TARE_TRY(add_file(r, "vocab.json", b, err));
    TARE_TRY(tare_whisper_put_merges(b, tokens, n_ranks, &r->scratch, r->out->allocator, err));
    TARE_TRY(add_file(r, "merges.txt", b, err));
    tare_whisper_put_added(b, ids);
    TARE_TRY(add_file(r, "added_tokens.json", b, err));
    tare_whisper_put_tokenizer(b, &r->sizes, ids);
    TARE_TRY(add_file(r, "tokenizer_config.json", b, err));
    tare_whisper_put_generation(b, &r->sizes, ids);
    return add_file(r, "generation_config.json", b, err);
}

static tare_status add_files(restoring *r, tare_buffer *b, tare_error *err) {
    tare_whisper_ids ids;
    r->out->catalog.resources = TARE_NEW_ARRAY(&r->out->arena, tare_resource_entry, N_FILES);
    if (!r->out->catalog.resources) return tare_fail(err, TARE_ERR_NOMEM, "side files");
    tare_whisper_put_config(b, &r->sizes);
    TARE_TRY(add_file(r, "config.json", b, err));
    tare_whisper_put_preprocessor(b, &r->sizes);
    TARE_TRY(add_file(r, "preprocessor_config.json", b, err));
    if (tare_whisper_ids_of(&ids, r->sizes.vocab_size)) return add_tokenizer(r, b, &ids, err);
    not_restored(r, TARE_ITEM_KEY, "whisper.tokens",
                 "a vocabulary of a size that Whisper has not: no tokenizer is made");
    return TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static tare_status fill(restoring *r, tare_error *err) {
    tare_buffer b;
    TARE_TRY(read_sizes(r, err));
    TARE_TRY(add_tensors(r, err));
    tare_buffer_init(&b, r->out->allocator);
    const tare_status status = add_files(r, &b, err);
    tare_buffer_free(&b);
    TARE_TRY(status);
    return tare_model_finish(r->out, r->report, err);
}

tare_status tare_whisper_restore(tare_model **out, const tare_model *in,
                                 const tare_context *context, tare_error *err) {
    tare_context open = tare_context_default();
    restoring r = {.in = in, .report = context->report};
    *out = NULL;
    open.allocator = context->allocator;
    open.limits = context->limits ? context->limits : &in->limits;
    TARE_TRY(tare_model_new(&r.out, &open, err));
    r.out->format = format_name;
    tare_arena_init(&r.scratch, context->allocator);
    const tare_status status = fill(&r, err);
    tare_arena_free(&r.scratch);
    if (status == TARE_OK)
        *out = r.out;
    else
        tare_model_free(r.out);
    return status;
}
