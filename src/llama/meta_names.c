/* SPDX-License-Identifier: MIT
 *
 * Llama in Meta's form under the names of Hugging Face. Meta's rotation takes neighbouring numbers of
 * a head, that of transformers numbers half a head apart: rows of wq and wk are put into that order,
 * which the mapping to llama.cpp, whose order is Meta's, undoes again. */
#include "llama/meta_names.h"

#include <stdio.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/report.h"
#include "base/str.h"
#include "model/json_resource.h"
#include "quantized/made.h"

static const char format_name[] = "Meta's form";

enum { NAME_BYTES = 96, PARTS_OF_LAYER = 9 };

typedef enum rows { AS_THEY_ARE, OF_QUERIES, OF_KEYS } rows;

typedef struct name_row {
    const char *meta, *hf;
    rows rows;
} name_row;

static const name_row outside[] = {
    {"tok_embeddings.weight", "model.embed_tokens.weight", AS_THEY_ARE},
    {"norm.weight", "model.norm.weight", AS_THEY_ARE},
    {"output.weight", "lm_head.weight", AS_THEY_ARE},
};

static const name_row of_layer[PARTS_OF_LAYER] = {
    {"attention.wq.weight", "self_attn.q_proj.weight", OF_QUERIES},
    {"attention.wk.weight", "self_attn.k_proj.weight", OF_KEYS},
    {"attention.wv.weight", "self_attn.v_proj.weight", AS_THEY_ARE},
    {"attention.wo.weight", "self_attn.o_proj.weight", AS_THEY_ARE},
    {"feed_forward.w1.weight", "mlp.gate_proj.weight", AS_THEY_ARE},
    {"feed_forward.w2.weight", "mlp.down_proj.weight", AS_THEY_ARE},
    {"feed_forward.w3.weight", "mlp.up_proj.weight", AS_THEY_ARE},
    {"attention_norm.weight", "input_layernorm.weight", AS_THEY_ARE},
    {"ffn_norm.weight", "post_attention_layernorm.weight", AS_THEY_ARE},
};

typedef struct naming {
    const tare_model *in;
    tare_model *out; /* memory is its arena */
    const tare_json_node *params;
    tare_report *report;
    uint64_t width, n_layers, heads, key_heads, head_size;
    tare_made_file *file;
    uint32_t file_index;
    uint64_t end; /* of that file */
    size_t n_of_layers;
} naming;

bool tare_llama_is_meta(const tare_model *model) {
    return tare_model_find_resource(model, TARE_STR("params.json")) >= 0 &&
           tare_model_find_resource(model, TARE_STR("config.json")) < 0 &&
           tare_model_find_tensor(model, TARE_STR("tok_embeddings.weight")) >= 0;
}

/* ---- params.json ----------------------------------------------------------------------------- */

static tare_status fail_params(tare_error *err, const char *name, const char *what) {
    tare_fail(err, TARE_ERR_CORRUPT, what);
    tare_error_item(err, TARE_ITEM_KEY, -1, tare_str_of(name));
    return TARE_ERR_CORRUPT;
}

/* A whole number from 1 on; where the member is not there, `otherwise`, if that is not 0. */
static tare_status read_number(uint64_t *out, const naming *n, const char *name, uint64_t otherwise,
                               tare_error *err) {
    const tare_json_node *node = tare_json_member(n->params, tare_str_of(name));
    *out = otherwise;
    if (node && !tare_json_node_u64(node, out)) *out = 0;
    return *out && *out <= INT32_MAX
               ? TARE_OK
               : fail_params(err, name, "params.json: a whole number from 1 to 2^31 - 1 expected");
}

/* Members that are written as they are: of another kind they would count as not there. */
static tare_status check_kinds(const naming *n, tare_error *err) {
    static const char *const names[] = {"norm_eps", "rope_theta", "rope_scaling_factor"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const tare_json_node *node = tare_json_member(n->params, tare_str_of(names[i]));
        if (node && node->type != TARE_JSON_NUMBER)
            return fail_params(err, names[i], "params.json: a number expected");
    }
    const tare_json_node *scaled = tare_json_member(n->params, TARE_STR("use_scaled_rope"));
    if (scaled && scaled->type != TARE_JSON_TRUE && scaled->type != TARE_JSON_FALSE)
        return fail_params(err, "use_scaled_rope", "params.json: true or false expected");
    return TARE_OK;
}

static tare_status read_params(naming *n, tare_error *err) {
    uint64_t product;
    TARE_TRY(read_number(&n->width, n, "dim", 0, err));
    TARE_TRY(read_number(&n->n_layers, n, "n_layers", 0, err));
    TARE_TRY(read_number(&n->heads, n, "n_heads", 0, err));
    TARE_TRY(read_number(&n->key_heads, n, "n_kv_heads", n->heads, err));
    TARE_TRY(read_number(&n->head_size, n, "head_dim", n->width / n->heads, err));
    TARE_TRY(check_kinds(n, err));
    if (n->head_size % 2 || !tare_mul_u64(n->heads, n->head_size, &product) ||
        !tare_mul_u64(n->key_heads, n->head_size, &product))
        return fail_params(err, "params.json", "heads of an odd size, or far too large");
    return TARE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static const name_row *find_row(const name_row *table, size_t n, tare_str name) {
    for (size_t i = 0; i < n; i++)
        if (tare_str_is(name, table[i].meta)) return &table[i];
    return NULL;
}

/* The row of a name, and what transformers calls it; NULL: it is of no plain Llama. */
static const name_row *name_of(char out[NAME_BYTES], const naming *n, tare_str name) {
    const name_row *row = find_row(outside, sizeof outside / sizeof *outside, name);
    const tare_str prefix = TARE_STR("layers.");
    uint64_t layer = 0;
    size_t i = prefix.len;
    if (row) {
        snprintf(out, NAME_BYTES, "%s", row->hf);
        return row;
    }
    if (!tare_str_starts(name, prefix)) return NULL;
    for (; i < name.len && name.ptr[i] >= '0' && name.ptr[i] <= '9' && layer < n->n_layers; i++)
        layer = 10 * layer + (uint64_t)(name.ptr[i] - '0');
    if (i == prefix.len || i == name.len || name.ptr[i] != '.' || layer >= n->n_layers ||
        (name.ptr[prefix.len] == '0' && i > prefix.len + 1))
        return NULL;
    row = find_row(of_layer, PARTS_OF_LAYER, tare_str_cut(name, i + 1));
    if (row) snprintf(out, NAME_BYTES, "model.layers.%u.%s", (unsigned)layer, row->hf);
    return row;
}

/* Of each head first the even rows, then the odd ones. */
static tare_status turn_rows(naming *n, tare_tensor *t, size_t i, uint64_t heads, tare_error *err) {
    const tare_tensor *from = &n->in->catalog.tensors[i];
    tare_arena *arena = &n->out->arena;
    const uint64_t half = n->head_size / 2, cols = from->n_dims == 2 ? from->dims[1] : 0;
    if (from->n_dims != 2 || from->dims[0] != heads * n->head_size)
        return tare_fail_tensor(err, TARE_ERR_CORRUPT, from, i,
                                "its rows are not those of the heads in params.json");
    if (from->encoding->block > 1 || from->encoding->n_planes != 1)
        return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, from, i,
                                "the order of its rows cannot be changed in this type");
    tare_piece_view *view = TARE_NEW(arena, tare_piece_view);
    tare_piece *piece = TARE_NEW(arena, tare_piece);
    if (!view || !piece) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    *view = (tare_piece_view){
        .n_axes = 4,
        .axes = {{heads, n->head_size * cols}, {2, cols}, {half, 2 * cols}, {cols, 1}}};
    *piece = (tare_piece){.end = from->n_elements, .view = view, .source = (uint32_t)i};
    TARE_TRY(tare_tensor_set(n->out, t, from->encoding, from->dims, from->n_dims, n->file_index,
                             n->end, err));
    n->file->made[n->file->n_made++] =
        (tare_made){.offset = n->end, .size = t->size_bytes, .of = {piece, 1, from->encoding}};
    return tare_add_u64(n->end, t->size_bytes, &n->end)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_LIMIT, "size of all tensors");
}

static tare_status add_tensor(naming *n, size_t i, tare_error *err) {
    const tare_tensor *from = &n->in->catalog.tensors[i];
    char name[NAME_BYTES];
    if (tare_str_is(from->name, "rope.freqs")) return TARE_OK; /* computed from the settings */
    const name_row *row = name_of(name, n, from->name);
    if (!row)
        return tare_fail_tensor(
            err, TARE_ERR_UNSUPPORTED, from, i,
            "no plain Llama has such a tensor: `keep_names` keeps Meta's names");
    tare_tensor *t = &n->out->catalog.tensors[n->out->catalog.n_tensors++];
    *t = (tare_tensor){.name = tare_arena_str(&n->out->arena, tare_str_of(name)),
                       .offset = TARE_NO_OFFSET};
    if (!t->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    n->n_of_layers += row >= of_layer && row < of_layer + PARTS_OF_LAYER;
    if (row->rows != AS_THEY_ARE)
        return turn_rows(n, t, i, row->rows == OF_QUERIES ? n->heads : n->key_heads, err);
    return tare_tensor_set(n->out, t, from->encoding, from->dims, from->n_dims,
                           from->planes[0].file, from->planes[0].offset, err);
}

static tare_status add_tensors(naming *n, tare_error *err) {
    tare_reader reader;
    const size_t count = n->in->catalog.n_tensors;
    n->out->catalog.tensors = TARE_NEW_ARRAY(&n->out->arena, tare_tensor, count);
    n->file = TARE_NEW(&n->out->arena, tare_made_file);
    if (!n->file || !n->out->catalog.tensors) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    *n->file = (tare_made_file){.source = n->in, .allocator = n->out->allocator};
    n->file->made = TARE_NEW_ARRAY(&n->out->arena, tare_made, count);
    if (!n->file->made) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_model_share_files(n->out, n->in, err));
    tare_reader_callback(&reader, NULL, n->file, 0, format_name);
    reader.fetch = tare_made_fetch;
    reader.locate = tare_made_locate;
    TARE_TRY(tare_model_add_file(n->out, &reader, "renamed", &n->file_index, err));
    for (size_t i = 0; i < count; i++) TARE_TRY(add_tensor(n, i, err));
    n->out->files[n->file_index].reader.size = n->end;
    if (n->n_of_layers / PARTS_OF_LAYER != n->n_layers || n->n_of_layers % PARTS_OF_LAYER ||
        tare_model_find_tensor(n->in, TARE_STR("norm.weight")) < 0)
        return fail_params(err, "n_layers",
                           "the model lacks tensors of the layers that params.json states");
    return TARE_OK;
}

/* ---- config.json ----------------------------------------------------------------------------- */

static bool is_number(const naming *n, const char *name, double number) {
    const tare_json_node *node = tare_json_member(n->params, tare_str_of(name));
    double value;
    if (!node || node->type != TARE_JSON_NUMBER) return false;
    const tare_json_value text = {.type = TARE_JSON_NUMBER, .raw = node->text};
    return tare_json_f64(&text, &value) && value == number;
}

/* A number as it is written there; `otherwise`, where there is none. */
static void put_number(tare_buffer *b, const naming *n, const char *hf, const char *name,
                       const char *otherwise) {
    const tare_json_node *node = tare_json_member(n->params, tare_str_of(name));
    tare_buffer_printf(b, ",\n  \"%s\": ", hf);
    if (node && node->type == TARE_JSON_NUMBER)
        tare_buffer_put_str(b, node->text);
    else
        tare_buffer_put_text(b, otherwise);
}

static bool has_scaled_rope(const naming *n) {
    const tare_json_node *node = tare_json_member(n->params, TARE_STR("use_scaled_rope"));
    return node && node->type == TARE_JSON_TRUE;
}

/* What params.json does not say, as the releases of Meta's models have it: 1 differs from 2 in its
 * epsilon, Code Llama and 3 in their base. */
static unsigned positions(const naming *n) {
    if (has_scaled_rope(n)) return 131072;
    if (is_number(n, "rope_theta", 1e6)) return 16384;
    if (is_number(n, "rope_theta", 5e5)) return 8192;
    return is_number(n, "norm_eps", 1e-5) ? 4096 : 2048;
}

static void put_scaling(tare_buffer *b, const naming *n) {
    enum { WIDTH_OF_3B = 3072 }; /* the largest text model of 3.2; its factor is not 3.1's */
    if (!has_scaled_rope(n)) return;
    tare_buffer_put_text(b, ",\n  \"rope_scaling\": {\n    \"rope_type\": \"llama3\"");
    put_number(b, n, "factor", "rope_scaling_factor", n->width <= WIDTH_OF_3B ? "32.0" : "8.0");
    tare_buffer_put_text(b, ",\n    \"low_freq_factor\": 1.0,\n    \"high_freq_factor\": 4.0,"
                            "\n    \"original_max_position_embeddings\": 8192\n  }");
}

static void put_sizes(tare_buffer *b, const naming *n) {
    const tare_model *in = n->in;
    const int64_t words = tare_model_find_tensor(in, TARE_STR("tok_embeddings.weight"));
    const int64_t inner = tare_model_find_tensor(in, TARE_STR("layers.0.feed_forward.w1.weight"));
    const uint64_t vocabulary = in->catalog.tensors[words].n_rows;
    const struct {
        const char *name;
        uint64_t number;
    } sizes[] = {{"hidden_size", n->width},
                 {"intermediate_size", in->catalog.tensors[inner].n_rows},
                 {"num_hidden_layers", n->n_layers},
                 {"num_attention_heads", n->heads},
                 {"num_key_value_heads", n->key_heads},
                 {"head_dim", n->head_size},
                 {"vocab_size", vocabulary},
                 {"max_position_embeddings", positions(n)},
                 {"bos_token_id", vocabulary == 128256 ? 128000 : 1},
                 {"eos_token_id", vocabulary == 128256 ? 128001 : 2}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        tare_buffer_printf(b, ",\n  \"%s\": %llu", sizes[i].name,
                           (unsigned long long)sizes[i].number);
}

static void put_config(tare_buffer *b, const naming *n) {
    const int64_t words = tare_model_find_tensor(n->in, TARE_STR("tok_embeddings.weight"));
    const tare_encoding_id type = n->in->catalog.tensors[words].encoding->id;
    const bool is_tied = tare_model_find_tensor(n->in, TARE_STR("output.weight")) < 0;
    tare_buffer_put_text(b, "{\n  \"architectures\": [\n    \"LlamaForCausalLM\"\n  ],"
                            "\n  \"model_type\": \"llama\",\n  \"hidden_act\": \"silu\","
                            "\n  \"attention_bias\": false,\n  \"mlp_bias\": false");
    tare_buffer_printf(b, ",\n  \"tie_word_embeddings\": %s,\n  \"torch_dtype\": \"%s\"",
                       is_tied ? "true" : "false",
                       type == TARE_ENCODING_F32   ? "float32"
                       : type == TARE_ENCODING_F16 ? "float16"
                                                   : "bfloat16");
    put_sizes(b, n);
    put_number(b, n, "rms_norm_eps", "norm_eps", "1e-06");
    put_number(b, n, "rope_theta", "rope_theta", "10000.0");
    put_scaling(b, n);
    tare_buffer_put_text(b, "\n}\n");
}

static tare_status add_files(naming *n, tare_error *err) {
    const tare_catalog *from = &n->in->catalog;
    tare_catalog *c = &n->out->catalog;
    tare_buffer b;
    tare_str text;
    c->resources = TARE_NEW_ARRAY(&n->out->arena, tare_resource_entry, from->n_resources + 1);
    if (!c->resources) return tare_fail(err, TARE_ERR_NOMEM, "side files");
    tare_buffer_init(&b, n->out->allocator);
    put_config(&b, n);
    const tare_status status = tare_buffer_text(&text, &b, &n->out->arena, err);
    tare_buffer_free(&b);
    TARE_TRY(status);
    c->resources[c->n_resources++] = (tare_resource_entry){
        .info = {TARE_STR("config.json"), text.len}, .bytes = (const uint8_t *)text.ptr};
    for (size_t i = 0; i < from->n_resources; i++)
        c->resources[c->n_resources++] = from->resources[i];
    return TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void report_assumed(const naming *n) {
    const tare_finding f = TARE_FINDING(WARNING, TARE_OK, "llama.assumed");
    tare_report_addf(
        n->report, &f,
        "config.json: %u positions%s, and the ids of the first and the last token, are "
        "those of Meta's releases: params.json does not state them",
        positions(n), has_scaled_rope(n) ? ", how they are scaled" : "");
}

static tare_status fill(naming *n, tare_arena *scratch, tare_error *err) {
    TARE_TRY(tare_model_json(&n->params, n->in, "params.json", scratch, err));
    if (tare_model_is_big_endian(n->in))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "big-endian models cannot be mapped");
    TARE_TRY(read_params(n, err));
    TARE_TRY(add_tensors(n, err));
    TARE_TRY(add_files(n, err));
    report_assumed(n);
    return tare_model_finish(n->out, n->report, err);
}

tare_status tare_llama_name_meta(tare_model **out, const tare_model *in,
                                 const tare_context *context, tare_error *err) {
    tare_context open = tare_context_default();
    tare_arena scratch;
    naming n = {.in = in, .report = context->report};
    *out = NULL;
    open.allocator = context->allocator;
    open.limits = context->limits ? context->limits : &in->limits;
    TARE_TRY(tare_model_new(&n.out, &open, err));
    n.out->format = format_name;
    n.out->left_out = in->left_out;
    n.out->n_left_out = in->n_left_out;
    n.out->loss = in->loss;
    tare_arena_init(&scratch, context->allocator);
    const tare_status status = fill(&n, &scratch, err);
    tare_arena_free(&scratch);
    if (status == TARE_OK)
        *out = n.out;
    else
        tare_model_free(n.out);
    return status;
}
