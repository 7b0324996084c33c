/* SPDX-License-Identifier: MIT
 *
 * The TensorFlow Lite driver, reading (schema.fbs of LiteRT): a model has subgraphs, these have tensors,
 * and a tensor has a buffer, which is empty unless the tensor is constant. Scales and zero points of
 * a constant are tensors of their own, NAME.quantization.scale and .zero_point. */
#include <stdio.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/flatbuffer.h"
#include "base/report.h"
#include "base/str.h"
#include "encoding/table.h"
#include "format/format.h"
#include "format/gathered.h"
#include "format/same_names.h"

#define IDENTIFIER "TFL3"

/* Fields by number. */
enum { MODEL_VERSION = 0, MODEL_SUBGRAPHS = 2, MODEL_DESCRIPTION = 3, MODEL_BUFFERS = 4 };
enum { SUBGRAPH_TENSORS = 0, SUBGRAPH_NAME = 4 };
enum { BUFFER_DATA = 0, BUFFER_OFFSET = 1, BUFFER_SIZE = 2 };
enum {
    TENSOR_SHAPE = 0,
    TENSOR_TYPE = 1,
    TENSOR_BUFFER = 2,
    TENSOR_NAME = 3,
    TENSOR_QUANTIZATION = 4,
    TENSOR_SPARSITY = 6,
    TENSOR_EXTERNAL = 10,
};
enum { QUANTIZATION_SCALE = 2, QUANTIZATION_ZERO_POINT = 3, QUANTIZATION_DIMENSION = 6 };

/* ---- types ----------------------------------------------------------------------------------- */

typedef struct tensor_type {
    tare_encoding_id encoding;
    uint8_t bits;
    bool is_signed; /* with fewer than 8 bits */
    const char *why;
} tensor_type;

#define NONE(why_)                                                                                 \
    { .encoding = TARE_ENCODING_UNKNOWN, .why = why_ }
#define PLAIN(id, bits_)                                                                           \
    { .encoding = TARE_ENCODING_##id, .bits = bits_ }
#define SIGNED(bits_)                                                                              \
    { .encoding = TARE_ENCODING_I8, .bits = bits_, .is_signed = true }

/* By number (TensorType). */
static const tensor_type types[] = {
    PLAIN(F32, 32),
    PLAIN(F16, 16),
    PLAIN(I32, 32),
    PLAIN(U8, 8),
    PLAIN(I64, 64),
    NONE("a tensor of texts"),
    PLAIN(BOOL, 8),
    PLAIN(I16, 16),
    PLAIN(C64, 64),
    PLAIN(I8, 8),
    PLAIN(F64, 64),
    NONE(
        "a tensor of complex numbers of 128 bits, for which no format that tare writes has a type"),
    PLAIN(U64, 64),
    NONE("a resource, which has no numbers of its own"),
    NONE("a variant, which has no numbers of its own"),
    PLAIN(U32, 32),
    PLAIN(U16, 16),
    SIGNED(4),
    PLAIN(BF16, 16),
    SIGNED(2),
    PLAIN(U8, 4),
    PLAIN(F8_E4M3, 8),
    PLAIN(F8_E5M2, 8),
};

enum { N_TYPES = sizeof types / sizeof *types };

static bool has_encoding(const tare_encoding *e) {
    for (size_t i = 0; i < N_TYPES; i++)
        if (types[i].encoding == e->id && !types[i].why) return true;
    return false;
}

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct tflite_model {
    tare_model *m;
    tare_report *report;
    tare_arena scratch;
    tare_reader main; /* file 0; not ours to close */
    tare_small_reads file;
    tare_flatbuffer_vector buffers;
    tare_str prefix; /* of the subgraph; empty: the first one */
    tare_gathered lists;
    uint64_t copied; /* bytes of texts */
    uint64_t n_seen; /* tensors, constant or not */
} tflite_model;

/* A file may refer to one text, or one tensor, from many places. */
#define TENSOR_LEAST 16 /* bytes of an honest one, its table and its place in a vector */

static bool is_too_much(const tflite_model *t) {
    const uint64_t most = (UINT64_C(1) << 26) + 2 * t->main.size;
    return t->copied > tare_min_u64(t->m->limits.metadata_bytes, most);
}

static tare_status read_text(tare_str *out, tflite_model *t, const tare_flatbuffer_table *table,
                             unsigned field, tare_error *err) {
    tare_flatbuffer_vector v;
    TARE_TRY(tare_flatbuffer_vector_of(&v, &t->file, table, field, 1, err));
    t->copied += v.n;
    if (v.n > t->m->limits.name_bytes || is_too_much(t))
        return tare_fail_at(err, TARE_ERR_LIMIT, v.at, "length of a name");
    char *text = tare_arena_take(&t->m->arena, (size_t)v.n + 1);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "names");
    *out = (tare_str){text, (size_t)v.n};
    return v.n ? tare_reader_read(&t->main, v.at, text, (size_t)v.n, err) : TARE_OK;
}

/* FIRST, then SECOND. */
static tare_status join(tare_str *out, tflite_model *t, tare_str first, tare_str second,
                        tare_error *err) {
    const size_t n = first.len + second.len;
    char *text = tare_arena_take(&t->m->arena, n + 1);
    t->copied += n;
    if (n > t->m->limits.name_bytes || is_too_much(t))
        return tare_fail(err, TARE_ERR_LIMIT, "length of a name");
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "names");
    if (first.len) memcpy(text, first.ptr, first.len);
    if (second.len) memcpy(text + first.len, second.ptr, second.len);
    *out = (tare_str){text, n};
    return TARE_OK;
}

static tare_status add_key(tflite_model *t, tare_str key, tare_value value, uint64_t offset,
                           tare_error *err) {
    const tare_metadata entry = {.key = key, .value = value, .offset = offset};
    return tare_gather_key(&t->lists, &entry, err);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* The bytes of a buffer, here or behind everything; of none, n is 0. */
static tare_status find_bytes(tare_flatbuffer_vector *out, tflite_model *t, uint64_t number,
                              uint64_t place, tare_error *err) {
    tare_flatbuffer_table buffer;
    uint64_t offset, size;
    *out = (tare_flatbuffer_vector){0, 0};
    if (number >= t->buffers.n)
        return tare_fail_at(err, TARE_ERR_CORRUPT, place, "tensor: no buffer has this number");
    TARE_TRY(tare_flatbuffer_item(&buffer, &t->file, &t->buffers, number, err));
    TARE_TRY(tare_flatbuffer_vector_of(out, &t->file, &buffer, BUFFER_DATA, 1, err));
    TARE_TRY(tare_flatbuffer_number(&offset, &t->file, &buffer, BUFFER_OFFSET, 8, 0, err));
    TARE_TRY(tare_flatbuffer_number(&size, &t->file, &buffer, BUFFER_SIZE, 8, 0, err));
    if (offset <= 1) return TARE_OK; /* 1: it was meant to be filled in */
    if (out->n)
        return tare_fail_at(err, TARE_ERR_CORRUPT, buffer.at,
                            "buffer: its bytes are in two places");
    if (offset > t->main.size || size > t->main.size - offset)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, buffer.at,
                            "buffer: beyond the end of the file");
    *out = (tare_flatbuffer_vector){offset, size};
    return TARE_OK;
}

static tare_status set_shape(tare_strided_tensor *s, tflite_model *t,
                             const tare_flatbuffer_table *tensor, tare_error *err) {
    uint8_t bytes[4 * TARE_MAX_DIMS];
    tare_flatbuffer_vector shape;
    TARE_TRY(tare_flatbuffer_vector_of(&shape, &t->file, tensor, TENSOR_SHAPE, 4, err));
    if (shape.n > TARE_MAX_DIMS)
        return tare_fail_at(err, TARE_ERR_LIMIT, shape.at, "number of dimensions");
    s->n_dims = (uint32_t)shape.n;
    if (shape.n) TARE_TRY(tare_small_read(&t->file, shape.at, bytes, 4 * (size_t)shape.n, err));
    for (uint32_t d = 0; d < s->n_dims; d++) {
        s->dims[d] = tare_load_le32(bytes + 4 * d);
        if (s->dims[d] > INT32_MAX)
            return tare_fail_at(err, TARE_ERR_CORRUPT, shape.at, "shape: a size below 0");
    }
    return TARE_OK;
}

/* Adds a tensor whose name, type and shape are set. */
static tare_status place(tflite_model *t, tare_strided_tensor *s, const tensor_type *type,
                         const tare_flatbuffer_vector *bytes, tare_error *err) {
    s->encoding = tare_encoding_get(type->encoding);
    s->bytes = type->bits >= 8 ? type->bits / 8u : 1;
    s->code_bits = type->bits < 8 ? type->bits : 0;
    s->is_signed = type->is_signed;
    s->offset = bytes->at;
    tare_strided_by_rows(s);
    if (!tare_strided_measure(s))
        return tare_fail_at(err, TARE_ERR_LIMIT, s->record, "shape: it overflows");
    if (s->span != bytes->n)
        return tare_fail_at(err, s->span > bytes->n ? TARE_ERR_TRUNCATED : TARE_ERR_CORRUPT,
                            s->record, "buffer: not the bytes of the tensor's shape");
    t->lists.n_tensors++;
    return TARE_OK;
}

/* A vector of numbers as a tensor, NAME and `suffix`. */
static tare_status add_vector(tflite_model *t, tare_str name, const char *suffix,
                              const tensor_type *type, const tare_flatbuffer_table *table,
                              unsigned field, tare_error *err) {
    tare_flatbuffer_vector v;
    TARE_TRY(tare_flatbuffer_vector_of(&v, &t->file, table, field, type->bits / 8u, err));
    if (!v.n) return TARE_OK;
    TARE_TRY(tare_gather_tensor(&t->lists, table->at, err));
    tare_strided_tensor *s = &t->lists.tensors[t->lists.n_tensors];
    *s = (tare_strided_tensor){.record = table->at, .n_dims = 1, .dims = {v.n}};
    TARE_TRY(join(&s->name, t, name, tare_str_of(suffix), err));
    v.n *= type->bits / 8u;
    return place(t, s, type, &v, err);
}

/* Scales along another dimension than the first are named so that no one takes them for those. */
static tare_status add_quantization(tflite_model *t, tare_str name,
                                    const tare_flatbuffer_table *tensor, tare_error *err) {
    tare_flatbuffer_table q;
    tare_flatbuffer_vector scales;
    uint64_t dimension;
    char suffix[48];
    bool is_there;
    TARE_TRY(tare_flatbuffer_table_of(&q, &is_there, &t->file, tensor, TENSOR_QUANTIZATION, err));
    if (!is_there) return TARE_OK;
    TARE_TRY(tare_flatbuffer_vector_of(&scales, &t->file, &q, QUANTIZATION_SCALE, 4, err));
    TARE_TRY(tare_flatbuffer_number(&dimension, &t->file, &q, QUANTIZATION_DIMENSION, 4, 0, err));
    const int along = scales.n < 2 ? 0 : (int)(uint32_t)dimension;
    snprintf(suffix, sizeof suffix, along ? ".quantization.scale_along_%d" : ".quantization.scale",
             along);
    TARE_TRY(add_vector(t, name, suffix, &types[0], &q, QUANTIZATION_SCALE, err));
    return add_vector(t, name, ".quantization.zero_point", &types[4], &q, QUANTIZATION_ZERO_POINT,
                      err);
}

/* The graph's name of a tensor, or its number there. */
static tare_status name_tensor(tare_str *out, tflite_model *t, const tare_flatbuffer_table *tensor,
                               uint64_t i, tare_error *err) {
    char number[32];
    TARE_TRY(read_text(out, t, tensor, TENSOR_NAME, err));
    snprintf(number, sizeof number, "tensor.%llu", (unsigned long long)i);
    return join(out, t, t->prefix, out->len ? *out : tare_str_of(number), err);
}

static const char *why_not(const tensor_type *type, bool is_sparse, bool is_external) {
    return is_external ? "a tensor whose bytes are in a file of their own"
           : is_sparse ? "a sparse tensor"
                       : type->why;
}

static tare_status add_tensor(tflite_model *t, const tare_flatbuffer_table *tensor, uint64_t i,
                              tare_error *err) {
    tare_flatbuffer_vector bytes;
    tare_flatbuffer_table sparsity;
    uint64_t type, buffer, external;
    tare_str name;
    bool is_sparse;
    TARE_TRY(tare_flatbuffer_number(&buffer, &t->file, tensor, TENSOR_BUFFER, 4, 0, err));
    TARE_TRY(tare_flatbuffer_number(&external, &t->file, tensor, TENSOR_EXTERNAL, 4, 0, err));
    TARE_TRY(find_bytes(&bytes, t, buffer, tensor->at, err));
    if (!bytes.n && !external) return TARE_OK; /* computed when the model runs */
    TARE_TRY(name_tensor(&name, t, tensor, i, err));
    TARE_TRY(tare_flatbuffer_number(&type, &t->file, tensor, TENSOR_TYPE, 1, 0, err));
    TARE_TRY(
        tare_flatbuffer_table_of(&sparsity, &is_sparse, &t->file, tensor, TENSOR_SPARSITY, err));
    if (type >= N_TYPES)
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, tensor->at,
                            "type: not the number of a known type of TensorFlow Lite");
    const char *why = why_not(&types[type], is_sparse, external != 0);
    if (why) return tare_gather_left_out(&t->lists, name, why, tensor->at, err);
    TARE_TRY(tare_gather_tensor(&t->lists, tensor->at, err));
    tare_strided_tensor *s = &t->lists.tensors[t->lists.n_tensors];
    *s = (tare_strided_tensor){.name = name, .record = tensor->at};
    tare_status status = set_shape(s, t, tensor, err);
    if (status == TARE_OK) status = place(t, s, &types[type], &bytes, err);
    const int64_t number = (int64_t)(t->lists.n_tensors - (status == TARE_OK));
    if (status == TARE_OK) status = add_quantization(t, name, tensor, err);
    if (status != TARE_OK) tare_error_item(err, TARE_ITEM_TENSOR, number, name);
    return status;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Tensors of further graphs have its name before their own. */
static tare_status set_prefix(tflite_model *t, const tare_flatbuffer_table *graph, uint64_t number,
                              tare_error *err) {
    char text[40];
    tare_str name;
    t->prefix = TARE_STR("");
    if (!number) return TARE_OK;
    TARE_TRY(read_text(&name, t, graph, SUBGRAPH_NAME, err));
    snprintf(text, sizeof text, "subgraph.%llu", (unsigned long long)number);
    TARE_TRY(join(&t->prefix, t, name.len ? name : tare_str_of(text), TARE_STR("."), err));
    return TARE_OK;
}

static tare_status read_graph(tflite_model *t, const tare_flatbuffer_table *graph,
                              tare_error *err) {
    tare_flatbuffer_vector tensors;
    TARE_TRY(tare_flatbuffer_vector_of(&tensors, &t->file, graph, SUBGRAPH_TENSORS, 4, err));
    t->n_seen += tensors.n;
    if (t->n_seen > t->main.size / TENSOR_LEAST)
        return tare_fail_at(err, TARE_ERR_CORRUPT, graph->at,
                            "subgraphs: more tensors than the file has room for");
    for (uint64_t i = 0; i < tensors.n; i++) {
        tare_flatbuffer_table tensor;
        TARE_TRY(tare_flatbuffer_item(&tensor, &t->file, &tensors, i, err));
        TARE_TRY(add_tensor(t, &tensor, i, err));
    }
    return TARE_OK;
}

static tare_status read_root(tflite_model *t, tare_error *err) {
    tare_flatbuffer_table root, graph;
    tare_flatbuffer_vector graphs;
    tare_value text = {.type = TARE_VALUE_STRING}, version = {.type = TARE_VALUE_U32};
    TARE_TRY(tare_flatbuffer_root(&root, &t->file, err));
    TARE_TRY(tare_flatbuffer_number(&version.as.u, &t->file, &root, MODEL_VERSION, 4, 0, err));
    if (version.as.u != 3)
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, root.at,
                            "version: TensorFlow Lite models of version 3 are read");
    TARE_TRY(add_key(t, TARE_STR("tflite.version"), version, root.at, err));
    TARE_TRY(read_text(&text.as.s, t, &root, MODEL_DESCRIPTION, err));
    if (text.as.s.len) TARE_TRY(add_key(t, TARE_STR("tflite.description"), text, root.at, err));
    TARE_TRY(tare_flatbuffer_vector_of(&t->buffers, &t->file, &root, MODEL_BUFFERS, 4, err));
    TARE_TRY(tare_flatbuffer_vector_of(&graphs, &t->file, &root, MODEL_SUBGRAPHS, 4, err));
    for (uint64_t i = 0; i < graphs.n; i++) {
        TARE_TRY(tare_flatbuffer_item(&graph, &t->file, &graphs, i, err));
        TARE_TRY(set_prefix(t, &graph, i, err));
        TARE_TRY(read_graph(t, &graph, err));
    }
    return TARE_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

static tare_status add_all(tflite_model *t, tare_error *err) {
    tare_model *m = t->m;
    tare_strided_set set = {.m = m};
    const tare_same_names names = {.m = m,
                                   .scratch = &t->scratch,
                                   .report = t->report,
                                   .code = "tflite.same-name",
                                   .why = "graphs may have several of one name"};
    TARE_TRY(tare_same_names_number(&names, t->lists.tensors, t->lists.n_tensors,
                                    sizeof *t->lists.tensors, TARE_ITEM_TENSOR, err));
    TARE_TRY(tare_same_names_number(&names, t->lists.metadata, t->lists.n_metadata,
                                    sizeof *t->lists.metadata, TARE_ITEM_KEY, err));
    TARE_TRY(tare_strided_add(&set, t->lists.tensors, t->lists.n_tensors, 0, err));
    TARE_TRY(tare_strided_end(&set, err));
    TARE_TRY(tare_gathered_end(&t->lists, err));
    m->directory_bytes = t->file.n_read + t->copied;
    return tare_model_finish(m, t->report, err);
}

static tare_status open_tflite(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    tare_report *report = ctx->options->context->report;
    tflite_model t = {.m = m,
                      .report = report,
                      .lists = {.m = m, .report = report, .code = "tflite.unread-tensor"}};
    uint32_t file;
    if (ctx->source->kind == TARE_SOURCE_SHARDS)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "TensorFlow Lite's models are opened one by one");
    TARE_TRY(tare_model_add_file(m, ctx->first, ctx->first->name, &file, err));
    t.main = m->files[file].reader;
    tare_small_reads_init(&t.file, &t.main);
    tare_arena_init(&t.scratch, m->allocator);
    tare_status status = read_root(&t, err);
    if (status == TARE_OK) status = add_all(&t, err);
    tare_gathered_free(&t.lists);
    tare_arena_free(&t.scratch);
    return status;
}

static bool probe(const tare_probe *p) {
    return !p->is_directory && p->head_size >= 8 &&
           memcmp(p->head + 4, IDENTIFIER, sizeof IDENTIFIER - 1) == 0;
}

static const tare_format_caps caps = {
    .has_encoding = has_encoding,
    .max_dims = TARE_MAX_DIMS,
    .max_name = 65535,
    .bytes_type = &tare_encoding_table[TARE_ENCODING_U8],
};

const tare_format tare_format_tflite = {
    .name = "tflite",
    .description = "constants of a TensorFlow Lite model, whose graph is left alone",
    .suffix = ".tflite",
    .caps = &caps,
    .read = {.probe = probe, .open = open_tflite},
};
