/* SPDX-License-Identifier: MIT
 *
 * A Whisper model of Hugging Face as whisper.cpp's own script writes it: its keys, the tokens as
 * bytes, the mel filters, and all tensors under its names. Tensors stay where they lie. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/report.h"
#include "base/status.h"
#include "base/str.h"
#include "llama/whisper/whisper_parts.h"
#include "model/json_resource.h"

static const char format_name[] = "whisper.cpp mapping";

typedef struct mapping {
    const tare_model *in;
    tare_model *out; /* memory is its arena */
    const tare_json_node *config;
    uint64_t n_encoder, n_decoder, n_mels, vocab_size;
    bool *is_used; /* tensors of the input */
    tare_model_types types;
} mapping;

/* ---- keys ------------------------------------------------------------------------------------ */

typedef struct key_row {
    const char *key, *member;
    size_t place; /* of a number of the mapping that it is, too; 0: of none */
} key_row;

/* The numbers of the file in their order. The script takes max_length, where config.json has it, for
 * the context of the text: whisper.cpp loads that only where it is the number of positions. */
static const key_row rows[] = {
    {"whisper.vocab_size", "vocab_size", offsetof(mapping, vocab_size)},
    {"whisper.audio.context_length", "max_source_positions", 0},
    {"whisper.audio.embedding_length", "d_model", 0},
    {"whisper.audio.head_count", "encoder_attention_heads", 0},
    {"whisper.audio.block_count", "encoder_layers", offsetof(mapping, n_encoder)},
    {"whisper.text.context_length", "max_target_positions", 0},
    {"whisper.text.embedding_length", "d_model", 0},
    {"whisper.text.head_count", "decoder_attention_heads", 0},
    {"whisper.text.block_count", "decoder_layers", offsetof(mapping, n_decoder)},
    {"whisper.mel_count", "num_mel_bins", offsetof(mapping, n_mels)},
};

enum { N_ROWS = sizeof rows / sizeof *rows, MOST_LAYERS = 4096, MOST_MELS = 4096 };

static tare_status fail_config(tare_error *err, tare_status status, const char *member,
                               const char *what) {
    tare_fail(err, status, what);
    tare_error_item(err, TARE_ITEM_KEY, -1, tare_str_of(member));
    return status;
}

static tare_status read_number(uint64_t *out, const mapping *m, const char *member,
                               tare_error *err) {
    const tare_json_node *node = tare_json_member(m->config, tare_str_of(member));
    if (!node)
        return fail_config(err, TARE_ERR_CORRUPT, member,
                           "config.json does not have this number, which whisper.cpp needs");
    if (!tare_json_node_u64(node, out) || *out > INT32_MAX)
        return fail_config(err, TARE_ERR_CORRUPT, member,
                           "config.json: a whole number of 31 bits was expected");
    return TARE_OK;
}

static tare_status add_number(mapping *m, const key_row *row, tare_error *err) {
    tare_catalog *c = &m->out->catalog;
    uint64_t number;
    TARE_TRY(read_number(&number, m, row->member, err));
    if (row->place) memcpy((char *)m + row->place, &number, sizeof number);
    c->metadata[c->n_metadata++] =
        (tare_metadata){.key = tare_str_of(row->key),
                        .value = {.type = TARE_VALUE_U32, .as.u = number},
                        .offset = TARE_NO_OFFSET};
    return TARE_OK;
}

static tare_status add_keys(mapping *m, tare_error *err) {
    tare_catalog *c = &m->out->catalog;
    c->metadata = TARE_NEW_ARRAY(&m->out->arena, tare_metadata, N_ROWS + 2);
    if (!c->metadata) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    for (size_t i = 0; i < N_ROWS; i++) TARE_TRY(add_number(m, &rows[i], err));
    if (m->n_encoder > MOST_LAYERS || m->n_decoder > MOST_LAYERS || m->n_mels > MOST_MELS)
        return fail_config(err, TARE_ERR_LIMIT, "encoder_layers",
                           "config.json: more layers or filters than any model has");
    c->metadata[c->n_metadata++] = (tare_metadata){.key = TARE_STR("whisper.file_type"),
                                                   .value = {.type = TARE_VALUE_U32, .as.u = 1},
                                                   .offset = TARE_NO_OFFSET};
    tare_metadata *tokens = &c->metadata[c->n_metadata++];
    *tokens = (tare_metadata){.key = TARE_STR("whisper.tokens"), .offset = TARE_NO_OFFSET};
    return tare_whisper_read_tokens(&tokens->value, m->in, m->vocab_size, &m->out->arena, err);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static tare_status add_filters(mapping *m, tare_error *err) {
    const uint64_t dims[] = {m->n_mels, TARE_WHISPER_BINS};
    uint8_t *bytes =
        tare_arena_array(&m->out->arena, (size_t)m->n_mels, TARE_WHISPER_BINS * sizeof(float));
    tare_reader reader;
    uint32_t file;
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "mel filters");
    tare_whisper_filters(bytes, (size_t)m->n_mels);
    tare_reader_memory(&reader, bytes, m->n_mels * TARE_WHISPER_BINS * sizeof(float), format_name);
    TARE_TRY(tare_model_add_file(m->out, &reader, "mel filters", &file, err));
    tare_tensor *t = &m->out->catalog.tensors[m->out->catalog.n_tensors++];
    *t = (tare_tensor){.name = TARE_STR("mel_filters"), .offset = TARE_NO_OFFSET};
    return tare_tensor_set(m->out, t, tare_encoding_get(TARE_ENCODING_F32), dims, 2, file, 0, err);
}

/* A base model without a head has its tensors without "model." before them. */
static int64_t find_tensor(const mapping *m, const char *name) {
    char whole[TARE_WHISPER_NAME + sizeof "model."];
    snprintf(whole, sizeof whole, "model.%s", name);
    const int64_t at = tare_model_find_tensor(m->in, tare_str_of(whole));
    return at >= 0 ? at : tare_model_find_tensor(m->in, tare_str_of(name));
}

static tare_status add_tensor(mapping *m, const tare_whisper_place *place, tare_error *err) {
    tare_catalog *c = &m->out->catalog;
    const int64_t at = find_tensor(m, place->hf);
    tare_tensor *t = &c->tensors[c->n_tensors];
    uint64_t dims[TARE_MAX_DIMS];
    const tare_str name = tare_arena_str(&m->out->arena, tare_str_of(place->ours));
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (at < 0) {
        tare_fail(err, TARE_ERR_CORRUPT, "the model lacks a tensor of its layers");
        tare_error_item(err, TARE_ITEM_TENSOR, -1,
                        tare_arena_str(&m->out->arena, tare_str_of(place->hf)));
        return TARE_ERR_CORRUPT;
    }
    const tare_tensor *from = &m->in->catalog.tensors[at];
    uint32_t n_dims = from->n_dims;
    m->is_used[at] = true;
    if (n_dims >= TARE_MAX_DIMS)
        return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, from, (size_t)at, "its dimensions");
    memcpy(dims, from->dims, n_dims * sizeof *dims);
    if (place->is_column) dims[n_dims++] = 1;
    *t = (tare_tensor){.name = name, .offset = TARE_NO_OFFSET};
    TARE_TRY(tare_tensor_set(m->out, t, from->encoding, dims, n_dims, from->planes[0].file,
                             from->planes[0].offset, err));
    m->types.origins[c->n_tensors++] = tare_tensor_origin(m->in, (size_t)at);
    return TARE_OK;
}

/* What no place was for. The head is tied in all Whisper models, and whisper.cpp has the embeddings
 * for it. */
static tare_status check_unused(const mapping *m, tare_report *report, tare_error *err) {
    const tare_json_node *tied = tare_json_member(m->config, TARE_STR("tie_word_embeddings"));
    const bool is_own_head = tied && tied->type == TARE_JSON_FALSE;
    for (size_t i = 0; i < m->in->catalog.n_tensors; i++) {
        const tare_tensor *t = &m->in->catalog.tensors[i];
        if (m->is_used[i]) continue;
        if (is_own_head || !tare_str_is(t->name, "proj_out.weight"))
            return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, t, i,
                                    "whisper.cpp has no such tensor in a model of these layers");
        tare_finding f = TARE_FINDING(INFO, TARE_OK, "llama.left-out");
        f.item_kind = TARE_ITEM_TENSOR;
        f.item = (int64_t)i;
        f.item_name = t->name;
        f.text = TARE_STR("the embeddings of the tokens are the head, too: it is left out");
        tare_report_add(report, &f);
    }
    return TARE_OK;
}

/* whisper.cpp takes the shapes of all tensors from the numbers. */
static tare_status check_sizes(const mapping *m, tare_error *err) {
    static const struct {
        const char *tensor, *members[2];
    } sizes[] = {{"decoder.embed_tokens.weight", {"vocab_size", "d_model"}},
                 {"encoder.embed_positions.weight", {"max_source_positions", "d_model"}},
                 {"decoder.embed_positions.weight", {"max_target_positions", "d_model"}},
                 {"encoder.conv1.weight", {"d_model", "num_mel_bins"}}};
    static const char *const heads[] = {"encoder_attention_heads", "decoder_attention_heads"};
    uint64_t number, width;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t at = (size_t)find_tensor(m, sizes[i].tensor); /* it was added */
        const tare_tensor *t = &m->in->catalog.tensors[at];
        for (uint32_t d = 0; d < 2; d++) {
            TARE_TRY(read_number(&number, m, sizes[i].members[d], err));
            if (t->n_dims <= d || t->dims[d] != number)
                return tare_fail_tensor(err, TARE_ERR_CORRUPT, t, at,
                                        "its shape is not what the numbers in config.json say");
        }
    }
    TARE_TRY(read_number(&width, m, "d_model", err));
    for (size_t i = 0; i < m->in->catalog.n_tensors; i++) {
        const tare_tensor *t = &m->in->catalog.tensors[i];
        if (tare_str_ends(t->name, TARE_STR(".fc1.weight")) && t->dims[0] != 4 * width)
            return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, t, i,
                                    "whisper.cpp has 4 times d_model rows here");
    }
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        TARE_TRY(read_number(&number, m, heads[i], err));
        if (!number || width % number)
            return fail_config(err, TARE_ERR_CORRUPT, heads[i],
                               "config.json: d_model is not a multiple of the number of heads");
    }
    return TARE_OK;
}

static tare_status add_tensors(mapping *m, tare_report *report, tare_error *err) {
    tare_arena *arena = &m->out->arena;
    tare_whisper_place place;
    const size_t n = m->in->catalog.n_tensors;
    m->out->catalog.tensors = TARE_NEW_ARRAY(arena, tare_tensor, n + 1);
    m->types.origins = TARE_NEW_ARRAY(arena, tare_origin, n + 1);
    m->is_used = TARE_NEW_ARRAY(arena, bool, n);
    if (!m->out->catalog.tensors || !m->types.origins || !m->is_used)
        return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_model_share_files(m->out, m->in, err));
    TARE_TRY(add_filters(m, err));
    for (uint64_t i = 0; tare_whisper_place_at(&place, i, m->n_encoder, m->n_decoder); i++)
        TARE_TRY(add_tensor(m, &place, err));
    TARE_TRY(check_sizes(m, err));
    return check_unused(m, report, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static tare_status check(const mapping *m, tare_error *err) {
    if (!tare_json_node_is(tare_json_member(m->config, TARE_STR("model_type")), "whisper"))
        return fail_config(err, TARE_ERR_UNSUPPORTED, "model_type",
                           "only Whisper models become files for whisper.cpp, and config.json is "
                           "of another one");
    if (m->in->stored)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "packed weights: convert the model with `to hf` and a `type` first");
    if (tare_model_is_big_endian(m->in))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "big-endian models cannot be mapped");
    return TARE_OK;
}

static tare_status fill(mapping *m, tare_report *report, tare_error *err) {
    TARE_TRY(check(m, err));
    TARE_TRY(add_keys(m, err));
    TARE_TRY(add_tensors(m, report, err));
    m->types.program = TARE_PROGRAM_WHISPER_CPP;
    m->types.usual = tare_encoding_get(TARE_ENCODING_F16);
    tare_model_types *types = TARE_NEW(&m->out->arena, tare_model_types);
    if (!types) return tare_fail(err, TARE_ERR_NOMEM, "types");
    *types = m->types;
    m->out->types = types;
    return tare_model_finish(m->out, report, err);
}

tare_status tare_whisper_map(tare_model **out, const tare_model *in, const tare_context *context,
                             tare_error *err) {
    tare_context open = tare_context_default();
    tare_arena scratch;
    mapping m = {.in = in};
    *out = NULL;
    tare_arena_init(&scratch, context->allocator);
    tare_status status = tare_model_json(&m.config, in, "config.json", &scratch, err);
    open.allocator = context->allocator;
    open.limits = context->limits ? context->limits : &in->limits;
    if (status == TARE_OK && m.config) {
        status = tare_model_new(&m.out, &open, err);
        if (status == TARE_OK) {
            m.out->format = format_name;
            m.out->left_out = in->left_out;
            m.out->n_left_out = in->n_left_out;
            m.out->loss = in->loss;
            status = fill(&m, context->report, err);
        }
        if (status == TARE_OK)
            *out = m.out;
        else
            tare_model_free(m.out);
    }
    tare_arena_free(&scratch);
    return status;
}
