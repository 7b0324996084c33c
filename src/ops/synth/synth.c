/* SPDX-License-Identifier: MIT
 *
 * tare_synth_open: a model of a known shape whose bytes are computed whenever they are read, for
 * tests, demonstrations and benchmarks. The tensors have the names, shapes and order of a LLaMA
 * checkpoint of Hugging Face; the values have the spread that trained weights have. Every bit is
 * a function of the spec: see synth_values.c. */
#include <string.h>

#include <tare/encoding.h>
#include <tare/model.h>
#include <tare/private/synth.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/str.h"
#include "model/catalog.h"
#include "ops/synth/synth_file.h"
#include "ops/synth/synth_tokenizer.h"

/* ---- shapes and value forms ------------------------------------------------------------------ */

typedef struct synth_shape {
    const char *name;
    uint32_t hidden, feed_forward, layers, heads, kv_heads, vocab, context;
    bool has_tokenizer;
} synth_shape;

/* Rows are whole blocks of 256 everywhere. The 44m is one layer with the matrices of a large model,
 * the 1b is TinyLlama's, the 8b Llama 3's. llama-chat
 * is a model that llama.cpp runs. */
static const synth_shape shapes[] = {
    {"llama-tiny", 256, 768, 2, 4, 2, 512, 512, false},
    {"llama-chat", 256, 768, 4, 4, 2, TARE_SYNTH_TOKENS, 512, true},
    {"llama-44m", 2048, 4096, 1, 16, 4, 2048, 2048, false},
    {"llama-300m", 1024, 2816, 18, 16, 16, 32000, 2048, false},
    {"llama-1b", 2048, 5632, 22, 32, 4, 32000, 2048, false},
    {"llama-8b", 4096, 14336, 32, 32, 8, 128256, 8192, false},
};

typedef struct synth_form {
    const char *name;
    tare_synth_law law;
    tare_encoding_id encoding;
    bool has_outliers;
} synth_form;

static const synth_form forms[] = {
    {"normal", TARE_LAW_NORMAL, TARE_ENCODING_F32, false},
    {"t5", TARE_LAW_T5, TARE_ENCODING_F32, false},
    {"outliers", TARE_LAW_NORMAL, TARE_ENCODING_F32, true},
    {"bf16", TARE_LAW_NORMAL, TARE_ENCODING_BF16, false},
};

#define N_SHAPES (sizeof shapes / sizeof *shapes)
#define N_FORMS  (sizeof forms / sizeof *forms)

const char *tare_synth_shape(size_t i) {
    return i < N_SHAPES ? shapes[i].name : NULL;
}
const char *tare_synth_values(size_t i) {
    return i < N_FORMS ? forms[i].name : NULL;
}

typedef struct synth_spec {
    const synth_shape *shape;
    const synth_form *form;
    uint64_t seed;
} synth_spec;

static bool parse_seed(tare_str s, uint64_t *out) {
    *out = 0;
    if (s.len == 0) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
        if (!tare_mul_u64(*out, 10, out) || !tare_add_u64(*out, (uint64_t)(s.ptr[i] - '0'), out))
            return false;
    }
    return true;
}

/* The text before the next colon; *rest is what follows it, ptr NULL: there is no colon. */
static tare_str take_field(tare_str *rest) {
    const char *colon = rest->len ? memchr(rest->ptr, ':', rest->len) : NULL;
    tare_str field = *rest;
    *rest = (tare_str){NULL, 0};
    if (!colon) return field;
    field.len = (size_t)(colon - field.ptr);
    *rest = (tare_str){colon + 1, strlen(colon + 1)};
    return field;
}

static tare_status parse_spec(synth_spec *out, const char *text, tare_error *err) {
    tare_str rest = tare_str_of(text), name = take_field(&rest);
    *out = (synth_spec){NULL, &forms[0], 0};
    for (size_t i = 0; i < N_SHAPES; i++)
        if (tare_str_is(name, shapes[i].name)) out->shape = &shapes[i];
    if (!out->shape)
        return tare_fail(err, TARE_ERR_ARG,
                         "unknown shape: llama-tiny, llama-chat, llama-44m, llama-300m, llama-1b "
                         "or llama-8b expected");
    if (rest.ptr) {
        name = take_field(&rest);
        out->form = NULL;
        for (size_t i = 0; i < N_FORMS; i++)
            if (tare_str_is(name, forms[i].name)) out->form = &forms[i];
        if (!out->form)
            return tare_fail(err, TARE_ERR_ARG,
                             "unknown values: normal, t5, outliers or bf16 expected");
    }
    if (rest.ptr && !parse_seed(rest, &out->seed))
        return tare_fail(err, TARE_ERR_ARG, "seed: a whole number below 2^64 expected");
    return TARE_OK;
}

/* ---- the catalog ----------------------------------------------------------------------------- */

/* Per layer, in the order of a checkpoint. `rows` and `cols` name a dimension of the shape. */
typedef enum synth_side { HIDDEN, KV, FEED_FORWARD, VOCAB, NONE } synth_side;

typedef struct synth_part {
    const char *name;
    synth_side rows, cols;
    float sigma; /* of weights as training leaves them; norms scatter around 1 */
} synth_part;

static const synth_part layer_parts[] = {
    {"self_attn.q_proj.weight", HIDDEN, HIDDEN, 0.021f},
    {"self_attn.k_proj.weight", KV, HIDDEN, 0.026f},
    {"self_attn.v_proj.weight", KV, HIDDEN, 0.013f},
    {"self_attn.o_proj.weight", HIDDEN, HIDDEN, 0.014f},
    {"mlp.gate_proj.weight", FEED_FORWARD, HIDDEN, 0.019f},
    {"mlp.up_proj.weight", FEED_FORWARD, HIDDEN, 0.017f},
    {"mlp.down_proj.weight", HIDDEN, FEED_FORWARD, 0.016f},
    {"input_layernorm.weight", HIDDEN, NONE, 0.08f},
    {"post_attention_layernorm.weight", HIDDEN, NONE, 0.06f},
};
static const synth_part first_part = {"model.embed_tokens.weight", VOCAB, HIDDEN, 0.018f};
static const synth_part last_parts[] = {
    {"model.norm.weight", HIDDEN, NONE, 0.1f},
    {"lm_head.weight", VOCAB, HIDDEN, 0.02f},
};

#define N_LAYER_PARTS (sizeof layer_parts / sizeof *layer_parts)
#define N_LAST_PARTS  (sizeof last_parts / sizeof *last_parts)

static uint64_t dimension(const synth_shape *shape, synth_side side) {
    switch (side) {
    case HIDDEN:
        return shape->hidden;
    case KV:
        return shape->hidden / shape->heads * shape->kv_heads;
    case FEED_FORWARD:
        return shape->feed_forward;
    case VOCAB:
        return shape->vocab;
    case NONE:
        break;
    }
    return 1;
}

typedef struct builder {
    tare_model *model;
    tare_synth_file *file;
    const synth_spec *spec;
    uint64_t offset;
} builder;

static tare_status add_tensor(builder *b, const synth_part *part, int layer, tare_error *err) {
    tare_model *m = b->model;
    tare_tensor *t = &m->catalog.tensors[m->catalog.n_tensors];
    tare_buffer name;
    tare_buffer_init(&name, m->allocator);
    if (layer >= 0) tare_buffer_printf(&name, "model.layers.%d.", layer);
    tare_buffer_put_text(&name, part->name);
    tare_status s = tare_buffer_status(&name, err);
    if (s == TARE_OK) {
        t->name = tare_arena_str(&m->arena, (tare_str){(const char *)name.data, name.size});
        if (!t->name.ptr) s = tare_fail(err, TARE_ERR_NOMEM, "the model");
    }
    tare_buffer_free(&name);
    TARE_TRY(s);

    bool is_norm = part->cols == NONE;
    uint64_t dims[2] = {dimension(b->spec->shape, part->rows),
                        dimension(b->spec->shape, part->cols)};
    t->offset = TARE_NO_OFFSET;
    TARE_TRY(tare_tensor_set(m, t, tare_encoding_get(b->spec->form->encoding), dims,
                             is_norm ? 1 : 2, 0, b->offset, err));

    uint64_t key = tare_synth_key(b->spec->seed, t->name.ptr, t->name.len);
    /* trained layers differ: 7/8 to 9/8 of the part's spread */
    float spread = (float)(896 + (key >> 56)) / 1024;
    b->file->tensors[m->catalog.n_tensors++] = (tare_synth_tensor){
        b->offset, t->cols, key, is_norm ? part->sigma : part->sigma * spread, is_norm ? 1 : 0};
    b->offset += t->size_bytes;
    return TARE_OK;
}

static tare_status add_tensors(builder *b, tare_error *err) {
    TARE_TRY(add_tensor(b, &first_part, -1, err));
    for (uint32_t layer = 0; layer < b->spec->shape->layers; layer++)
        for (size_t i = 0; i < N_LAYER_PARTS; i++)
            TARE_TRY(add_tensor(b, &layer_parts[i], (int)layer, err));
    for (size_t i = 0; i < N_LAST_PARTS; i++) TARE_TRY(add_tensor(b, &last_parts[i], -1, err));
    return TARE_OK;
}

static void put_config(tare_buffer *text, const builder *b) {
    const synth_shape *sh = b->spec->shape;
    tare_buffer_printf(text,
                       "{\n  \"architectures\": [\"LlamaForCausalLM\"],\n"
                       "  \"hidden_act\": \"silu\",\n  \"hidden_size\": %u,\n"
                       "  \"intermediate_size\": %u,\n  \"max_position_embeddings\": %u,\n"
                       "  \"model_type\": \"llama\",\n  \"num_attention_heads\": %u,\n"
                       "  \"num_hidden_layers\": %u,\n  \"num_key_value_heads\": %u,\n"
                       "  \"rms_norm_eps\": 1e-05,\n  \"tie_word_embeddings\": false,\n"
                       "  \"torch_dtype\": \"%s\",\n  \"vocab_size\": %u",
                       sh->hidden, sh->feed_forward, sh->context, sh->heads, sh->layers,
                       sh->kv_heads, b->file->element_bytes == 2 ? "bfloat16" : "float32",
                       sh->vocab);
    if (sh->has_tokenizer)
        tare_buffer_printf(text, ",\n  \"bos_token_id\": %u,\n  \"eos_token_id\": %u",
                           tare_synth_begin_token(), tare_synth_end_token());
    tare_buffer_put_text(text, "\n}\n");
}

/* Adds a side file with this text, which is released. */
static tare_status add_side_file(builder *b, const char *name, tare_buffer *text, tare_error *err) {
    tare_model *m = b->model;
    tare_status s = tare_buffer_status(text, err);
    tare_str kept = {NULL, 0};
    if (s == TARE_OK)
        kept = tare_arena_str(&m->arena, (tare_str){(const char *)text->data, text->size});
    tare_buffer_free(text);
    TARE_TRY(s);
    if (!kept.ptr) return tare_fail(err, TARE_ERR_NOMEM, "the model");
    m->catalog.resources[m->catalog.n_resources++] = (tare_resource_entry){
        .info = {tare_str_of(name), kept.len}, .bytes = (const uint8_t *)kept.ptr};
    return TARE_OK;
}

static tare_status add_side_files(builder *b, tare_error *err) {
    tare_buffer text;
    b->model->catalog.resources = TARE_NEW_ARRAY(&b->model->arena, tare_resource_entry, 3);
    if (!b->model->catalog.resources) return tare_fail(err, TARE_ERR_NOMEM, "the model");
    tare_buffer_init(&text, b->model->allocator);
    put_config(&text, b);
    TARE_TRY(add_side_file(b, "config.json", &text, err));
    if (!b->spec->shape->has_tokenizer) return TARE_OK;
    tare_buffer_init(&text, b->model->allocator);
    tare_synth_tokenizer_json(&text);
    TARE_TRY(add_side_file(b, "tokenizer.json", &text, err));
    tare_buffer_init(&text, b->model->allocator);
    tare_synth_tokenizer_config(&text);
    return add_side_file(b, "tokenizer_config.json", &text, err);
}

static void synth_close(void *ctx) {
    tare_synth_file *s = ctx;
    tare_free(s->allocator, s, sizeof *s);
}

/* The generator and its file, which the model owns from here on. */
static tare_status add_file(builder *b, const char *text, tare_error *err) {
    tare_model *m = b->model;
    uint32_t index;
    size_t n = 1 + b->spec->shape->layers * N_LAYER_PARTS + N_LAST_PARTS;
    size_t n_channels =
        b->spec->form->has_outliers
            ? (b->spec->shape->hidden + b->spec->shape->feed_forward) / TARE_SYNTH_CHANNEL_STEP
            : 0;
    m->catalog.tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, n);
    tare_synth_file *s = tare_alloc(m->allocator, sizeof *s);
    if (!s || !m->catalog.tensors) {
        tare_free(m->allocator, s, sizeof *s);
        return tare_fail(err, TARE_ERR_NOMEM, "the model");
    }
    memset(s, 0, sizeof *s);
    s->allocator = m->allocator;
    s->n_tensors = n;
    s->element_bytes = b->spec->form->encoding == TARE_ENCODING_BF16 ? 2 : 4;
    tare_reader reader;
    tare_reader_callback(&reader, tare_synth_read, s, 0, text);
    reader.close = synth_close;
    b->file = s;
    tare_status status = tare_model_add_file(m, &reader, text, &index, err);
    if (status != TARE_OK) {
        tare_reader_close(&reader);
        return status;
    }

    s->tensors = TARE_NEW_ARRAY(&m->arena, tare_synth_tensor, n);
    s->channels = TARE_NEW_ARRAY(&m->arena, tare_synth_channel, n_channels);
    if (!s->tensors || !s->channels) return tare_fail(err, TARE_ERR_NOMEM, "the model");
    tare_quantiles_init(&s->norms, TARE_LAW_NORMAL);
    s->weights = s->norms;
    if (b->spec->form->law != TARE_LAW_NORMAL) tare_quantiles_init(&s->weights, b->spec->form->law);
    if (n_channels) {
        tare_synth_add_channels(s, b->spec->seed, b->spec->shape->hidden);
        tare_synth_add_channels(s, b->spec->seed, b->spec->shape->feed_forward);
    }
    TARE_TRY(add_tensors(b, err));
    m->files[index].reader.size = b->offset;
    return TARE_OK;
}

tare_status tare_synth_open(tare_model **out, const char *text, const tare_open_options *options,
                            tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(text, err);
    tare_open_options o = tare_open_options_default();
    tare_context context;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    synth_spec spec;
    TARE_TRY(parse_spec(&spec, text, err));
    builder b = {.spec = &spec};
    TARE_TRY(tare_model_new(&b.model, &context, err));
    b.model->format = "synth";
    tare_status s = add_file(&b, text, err);
    if (s == TARE_OK) s = add_side_files(&b, err);
    if (s == TARE_OK) s = tare_model_finish(b.model, context.report, err);
    if (s != TARE_OK) {
        tare_model_free(b.model);
        return s;
    }
    *out = b.model;
    return TARE_OK;
}
