/* SPDX-License-Identifier: MIT
 *
 * The ONNX driver: from a model to its graphs, from nodes to the graphs and tensors in their
 * attributes. A tensor in a graph is called as it is there; in a node, by the node's first output,
 * which is what the graph calls it, and the attribute, unless the node is a Constant; in a graph of a
 * node or in a function, by what leads there. */
#include <stdio.h>
#include <tare/convert.h>

#include "base/arith.h"
#include "base/str.h"
#include "encoding/table.h"
#include "format/onnx/onnx.h"

enum { DEPTH_MOST = 16 };

/* Fields by number (onnx.proto3). */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_DOMAIN = 4,
    MODEL_VERSION = 5,
    MODEL_DOC = 6,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_PROPERTY = 14,
    MODEL_TRAINING = 20,
    MODEL_FUNCTION = 25,
};
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { TRAINING_INITIALIZATION = 1, TRAINING_ALGORITHM = 2 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_SPARSE = 15 };
enum { FUNCTION_NAME = 1, FUNCTION_NODE = 7, FUNCTION_DOMAIN = 10, FUNCTION_OVERLOAD = 13 };
enum { NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_TENSOR = 5,
    ATTRIBUTE_GRAPH = 6,
    ATTRIBUTE_TENSORS = 10,
    ATTRIBUTE_GRAPHS = 11,
    ATTRIBUTE_SPARSE = 22,
    ATTRIBUTE_SPARSES = 23,
};
enum { SPARSE_VALUES = 1, SPARSE_INDICES = 2 };

/* ---- names ----------------------------------------------------------------------------------- */

/* FIRST.SECOND; an empty one and its dot are left out. */
static tare_status join(tare_str *out, tare_onnx_model *o, tare_str first, tare_str second,
                        tare_error *err) {
    const size_t dot = first.len && second.len;
    const size_t n = first.len + dot + second.len;
    char *text = tare_arena_take(&o->m->arena, n + 1);
    o->copied += n;
    if (n > o->m->limits.name_bytes || tare_onnx_is_too_much(o))
        return tare_fail(err, TARE_ERR_LIMIT, "length of a name");
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "names");
    memcpy(text, first.ptr, first.len);
    if (dot) text[first.len] = '.';
    memcpy(text + first.len + dot, second.ptr, second.len);
    *out = (tare_str){text, n};
    return TARE_OK;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Where a graph is: what leads there, and in how many others. */
typedef struct place {
    tare_str prefix;
    unsigned depth;
} place;

static tare_status add_tensor(tare_onnx_model *o, tare_protobuf_range message, const place *in,
                              const tare_str *name, tare_error *err) {
    tare_onnx_record r;
    tare_status status = tare_onnx_read_record(&r, o, message, err);
    if (status == TARE_OK) status = join(&r.name, o, in->prefix, name ? *name : r.name, err);
    if (status == TARE_OK) status = tare_onnx_add(o, &r, err);
    if (status != TARE_OK && status != TARE_ERR_NOMEM)
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)o->lists.n_tensors, r.name);
    return status;
}

/* Its values have its name; both parts are tensors. */
static tare_status add_sparse(tare_onnx_model *o, tare_protobuf_range message, const place *in,
                              const tare_str *name, tare_error *err) {
    tare_protobuf_range parts[2] = {{0, 0}, {0, 0}};
    tare_protobuf_field f;
    tare_onnx_record r;
    bool more;
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &message, err));
        if (!more) break;
        if (f.number != SPARSE_VALUES && f.number != SPARSE_INDICES) continue;
        TARE_TRY(
            tare_onnx_expect(&f, TARE_PROTOBUF_BYTES, "sparse tensor: a tensor expected", err));
        parts[f.number - 1] = f.range;
    }
    TARE_TRY(tare_onnx_read_record(&r, o, parts[0], err));
    for (int i = 0; i < 2; i++) {
        tare_str own;
        TARE_TRY(join(&own, o, name ? *name : r.name, i ? TARE_STR("indices") : TARE_STR("values"),
                      err));
        TARE_TRY(add_tensor(o, parts[i], in, &own, err));
    }
    return TARE_OK;
}

static tare_status read_graph(tare_onnx_model *o, tare_protobuf_range message, const place *in,
                              tare_error *err);

static tare_status read_attribute(tare_onnx_model *o, tare_protobuf_range message, const place *in,
                                  tare_str node, bool is_constant, tare_error *err) {
    tare_protobuf_field f;
    tare_protobuf_range rest = message;
    tare_str name = {"", 0}, own;
    bool more, is_more = false;
    size_t n = 0;
    for (;;) { /* its name first, wherever it stands */
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &rest, err));
        if (!more) break;
        if (f.number == ATTRIBUTE_NAME && f.wire == TARE_PROTOBUF_BYTES)
            TARE_TRY(tare_onnx_text(&name, o, f.range, "name of an attribute", err));
        is_more |= f.number == ATTRIBUTE_TENSOR || f.number == ATTRIBUTE_GRAPH ||
                   f.number == ATTRIBUTE_TENSORS || f.number == ATTRIBUTE_GRAPHS ||
                   f.number == ATTRIBUTE_SPARSE || f.number == ATTRIBUTE_SPARSES;
    }
    while (is_more) {
        char number[24] = "";
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &message, err));
        if (!more) break;
        const bool is_tensor = f.number == ATTRIBUTE_TENSOR || f.number == ATTRIBUTE_TENSORS,
                   is_graph = f.number == ATTRIBUTE_GRAPH || f.number == ATTRIBUTE_GRAPHS,
                   is_sparse = f.number == ATTRIBUTE_SPARSE || f.number == ATTRIBUTE_SPARSES;
        if (!is_tensor && !is_graph && !is_sparse) continue;
        TARE_TRY(tare_onnx_expect(&f, TARE_PROTOBUF_BYTES, "attribute: a message expected", err));
        const bool is_list = f.number == ATTRIBUTE_TENSORS || f.number == ATTRIBUTE_GRAPHS ||
                             f.number == ATTRIBUTE_SPARSES;
        if (is_list) snprintf(number, sizeof number, "%zu", n++);
        TARE_TRY(join(&own, o, node, is_constant && !is_graph ? TARE_STR("") : name, err));
        TARE_TRY(join(&own, o, own, tare_str_of(number), err));
        if (is_tensor) TARE_TRY(add_tensor(o, f.range, in, &own, err));
        if (is_sparse) TARE_TRY(add_sparse(o, f.range, in, &own, err));
        if (!is_graph) continue;
        place inner = {.depth = in->depth + 1};
        TARE_TRY(join(&inner.prefix, o, in->prefix, own, err));
        TARE_TRY(read_graph(o, f.range, &inner, err));
    }
    return TARE_OK;
}

/* What a node is called, and whether it has attributes and is a Constant. */
typedef struct node {
    tare_protobuf_range output, name, type;
    bool has_attributes;
} node;

static tare_status look_at_node(node *out, tare_onnx_model *o, tare_protobuf_range message,
                                tare_error *err) {
    tare_protobuf_field f;
    bool more;
    *out = (node){.has_attributes = false};
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &message, err));
        if (!more) return TARE_OK;
        if (f.number < NODE_OUTPUT || f.number > NODE_ATTRIBUTE) continue;
        TARE_TRY(
            tare_onnx_expect(&f, TARE_PROTOBUF_BYTES, "node: a text or a message expected", err));
        if (f.number == NODE_OUTPUT && out->output.at == out->output.end) out->output = f.range;
        if (f.number == NODE_NAME) out->name = f.range;
        if (f.number == NODE_TYPE) out->type = f.range;
        out->has_attributes |= f.number == NODE_ATTRIBUTE;
    }
}

static tare_status read_node(tare_onnx_model *o, tare_protobuf_range message, const place *in,
                             tare_error *err) {
    tare_protobuf_field f;
    tare_str name = {"", 0}, type = {"", 0};
    bool more;
    node n;
    TARE_TRY(look_at_node(&n, o, message, err));
    if (!n.has_attributes) return TARE_OK;
    const bool has_output = n.output.at < n.output.end;
    TARE_TRY(tare_onnx_text(&name, o, has_output ? n.output : n.name, "name of a node", err));
    TARE_TRY(tare_onnx_copy(&type, o, n.type, o->m->limits.name_bytes, &o->scratch,
                            "operator of a node", err));
    const bool is_constant = tare_str_is(type, "Constant");
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &message, err));
        if (!more) return TARE_OK;
        if (f.number == NODE_ATTRIBUTE)
            TARE_TRY(read_attribute(o, f.range, in, name, is_constant, err));
    }
}

static tare_status read_graph(tare_onnx_model *o, tare_protobuf_range message, const place *in,
                              tare_error *err) {
    tare_protobuf_field f;
    bool more;
    if (in->depth > DEPTH_MOST)
        return tare_fail_at(err, TARE_ERR_LIMIT, message.at, "graphs in graphs: their depth");
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &message, err));
        if (!more) return TARE_OK;
        if (f.number != GRAPH_NODE && f.number != GRAPH_INITIALIZER && f.number != GRAPH_SPARSE)
            continue;
        TARE_TRY(tare_onnx_expect(&f, TARE_PROTOBUF_BYTES, "graph: a message expected", err));
        if (f.number == GRAPH_NODE) TARE_TRY(read_node(o, f.range, in, err));
        if (f.number == GRAPH_INITIALIZER) TARE_TRY(add_tensor(o, f.range, in, NULL, err));
        if (f.number == GRAPH_SPARSE) TARE_TRY(add_sparse(o, f.range, in, NULL, err));
    }
}

/* DOMAIN.NAME, and :OVERLOAD. */
static tare_status name_function(tare_str *out, tare_onnx_model *o, tare_protobuf_range message,
                                 tare_error *err) {
    static const char *const what = "name of a function";
    tare_str parts[3] = {{"", 0}, {"", 0}, {"", 0}};
    tare_protobuf_field f;
    bool more;
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &message, err));
        if (!more) break;
        const int part = f.number == FUNCTION_DOMAIN     ? 0
                         : f.number == FUNCTION_NAME     ? 1
                         : f.number == FUNCTION_OVERLOAD ? 2
                                                         : -1;
        if (part < 0) continue;
        TARE_TRY(tare_onnx_expect(&f, TARE_PROTOBUF_BYTES, what, err));
        TARE_TRY(tare_onnx_text(&parts[part], o, f.range, what, err));
    }
    TARE_TRY(join(out, o, parts[0], parts[1], err));
    return join(out, o, *out, parts[2], err);
}

static tare_status read_function(tare_onnx_model *o, tare_protobuf_range message, tare_error *err) {
    tare_protobuf_field f;
    place in = {.depth = 1};
    bool more;
    TARE_TRY(name_function(&in.prefix, o, message, err));
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &message, err));
        if (!more) return TARE_OK;
        if (f.number != FUNCTION_NODE) continue;
        TARE_TRY(tare_onnx_expect(&f, TARE_PROTOBUF_BYTES, "function: a node expected", err));
        TARE_TRY(read_node(o, f.range, &in, err));
    }
}

static tare_status read_training(tare_onnx_model *o, tare_protobuf_range message, size_t number,
                                 tare_error *err) {
    tare_protobuf_field f;
    char name[48];
    bool more;
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &message, err));
        if (!more) return TARE_OK;
        if (f.number != TRAINING_INITIALIZATION && f.number != TRAINING_ALGORITHM) continue;
        TARE_TRY(tare_onnx_expect(&f, TARE_PROTOBUF_BYTES, "training: a graph expected", err));
        snprintf(name, sizeof name, "training.%zu.%s", number,
                 f.number == TRAINING_ALGORITHM ? "algorithm" : "initialization");
        const place in = {.prefix = tare_arena_str(&o->m->arena, tare_str_of(name)), .depth = 1};
        if (!in.prefix.ptr) return tare_fail(err, TARE_ERR_NOMEM, "names");
        TARE_TRY(read_graph(o, f.range, &in, err));
    }
}

/* ---- what the model says of itself ----------------------------------------------------------- */

static tare_status add_key(tare_onnx_model *o, tare_str key, tare_value value, uint64_t offset,
                           tare_error *err) {
    const tare_metadata entry = {.key = key, .value = value, .offset = offset};
    return tare_gather_key(&o->lists, &entry, err);
}

static tare_status add_text(tare_onnx_model *o, tare_str key, const tare_protobuf_field *f,
                            tare_error *err) {
    tare_value value = {.type = TARE_VALUE_STRING};
    TARE_TRY(tare_onnx_copy(&value.as.s, o, f->range, o->m->limits.metadata_bytes, &o->m->arena,
                            "text", err));
    return add_key(o, key, value, f->offset, err);
}

static tare_value number(uint64_t n) {
    return (tare_value){.type = TARE_VALUE_I64, .as.i = (int64_t)n};
}

static tare_status read_opset(tare_onnx_model *o, const tare_protobuf_field *all, tare_error *err) {
    tare_protobuf_range rest = all->range;
    tare_protobuf_field f;
    tare_str key = TARE_STR("onnx.opset"), domain = {"", 0};
    uint64_t version = 0;
    bool more;
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &rest, err));
        if (!more) break;
        if (f.number == OPSET_DOMAIN && f.wire == TARE_PROTOBUF_BYTES)
            TARE_TRY(tare_onnx_text(&domain, o, f.range, "domain of operators", err));
        if (f.number == OPSET_VERSION && f.wire == TARE_PROTOBUF_VARINT) version = f.value;
    }
    TARE_TRY(join(&key, o, key, domain, err));
    return add_key(o, key, number(version), all->offset, err);
}

static tare_status read_property(tare_onnx_model *o, const tare_protobuf_field *all,
                                 tare_error *err) {
    tare_protobuf_range rest = all->range;
    tare_protobuf_field f, value = {.number = 0};
    tare_str key = {"", 0};
    bool more;
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &rest, err));
        if (!more) break;
        if (f.number == PAIR_KEY && f.wire == TARE_PROTOBUF_BYTES)
            TARE_TRY(tare_onnx_text(&key, o, f.range, "key of a property", err));
        if (f.number == PAIR_VALUE && f.wire == TARE_PROTOBUF_BYTES) value = f;
    }
    value.offset = all->offset;
    return add_text(o, key, &value, err);
}

/* Fields that are one text or one number, by number. */
static const char *const plain_keys[] = {[MODEL_IR_VERSION] = "onnx.ir_version",
                                         [MODEL_PRODUCER] = "onnx.producer_name",
                                         [MODEL_PRODUCER_VERSION] = "onnx.producer_version",
                                         [MODEL_DOMAIN] = "onnx.domain",
                                         [MODEL_VERSION] = "onnx.model_version",
                                         [MODEL_DOC] = "onnx.doc_string"};

static tare_status read_field(tare_onnx_model *o, const tare_protobuf_field *f, size_t *n_training,
                              tare_error *err) {
    static const place top = {.prefix = {"", 0}};
    const bool is_number = f->number == MODEL_IR_VERSION || f->number == MODEL_VERSION;
    const bool is_plain = f->number <= MODEL_DOC;
    if (!is_plain && f->number != MODEL_GRAPH && f->number != MODEL_OPSET &&
        f->number != MODEL_PROPERTY && f->number != MODEL_TRAINING && f->number != MODEL_FUNCTION)
        return TARE_OK;
    TARE_TRY(tare_onnx_expect(f, is_number ? TARE_PROTOBUF_VARINT : TARE_PROTOBUF_BYTES,
                              "model: a field of another type than ONNX has it", err));
    if (is_plain) {
        const tare_str key = tare_str_of(plain_keys[f->number]);
        return is_number ? add_key(o, key, number(f->value), f->offset, err)
                         : add_text(o, key, f, err);
    }
    o->has_graph |= f->number == MODEL_GRAPH;
    switch (f->number) {
    case MODEL_GRAPH:
        return read_graph(o, f->range, &top, err);
    case MODEL_OPSET:
        return read_opset(o, f, err);
    case MODEL_PROPERTY:
        return read_property(o, f, err);
    case MODEL_TRAINING:
        return read_training(o, f->range, (*n_training)++, err);
    default:
        return read_function(o, f->range, err);
    }
}

static tare_status read_model(tare_onnx_model *o, tare_error *err) {
    tare_protobuf_range all = {0, o->main.size};
    tare_protobuf_field f;
    size_t n_training = 0;
    bool more;
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &all, err));
        if (!more) break;
        TARE_TRY(read_field(o, &f, &n_training, err));
    }
    if (!o->has_graph)
        return tare_fail_at(err, TARE_ERR_CORRUPT, o->main.size, "model: it has no graph");
    o->m->directory_bytes = o->file.n_read + o->copied;
    TARE_TRY(tare_onnx_end(o, err));
    return tare_model_finish(o->m, o->report, err);
}

static void free_lists(tare_onnx_model *o) {
    const tare_allocator *a = o->m->allocator;
    tare_free(a, o->beside, o->beside_capacity * sizeof *o->beside);
    tare_gathered_free(&o->lists);
    tare_arena_free(&o->scratch);
}

/* ---- folders --------------------------------------------------------------------------------- */

static tare_status take_entry(void *ctx, const tare_files_entry *entry, tare_error *err) {
    char *member = ctx;
    const tare_str name = tare_str_of(entry->name);
    const char *format = tare_format_of_path(entry->name);
    const bool is_model = format && strcmp(format, tare_format_onnx.name) == 0,
               is_other = format && !is_model;
    if (tare_files_is_bookkeeping(name) || entry->kind == TARE_PATH_FOLDER) return TARE_OK;
    if (is_other || (is_model && (member[0] || name.len > TARE_NAME_MOST)))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "more than one model");
    if (is_model) memcpy(member, name.ptr, name.len + 1);
    return TARE_OK;
}

/* The name of a folder's only model; false: there is none, or more than one. */
static bool find_member(char member[TARE_NAME_MOST + 1], const tare_probe *p) {
    member[0] = 0;
    return tare_probe_list(p, take_entry, member) && member[0];
}

/* Opens the model's own file, which becomes the first one. */
static tare_status open_main(tare_onnx_model *o, tare_error *err) {
    const tare_probe *p = o->ctx->probe;
    tare_arena *arena = &o->m->arena;
    char member[TARE_NAME_MOST + 1];
    tare_reader own = {.fd = -1}, *reader = o->ctx->first;
    const char *path = reader->name, *slash = p->path ? strrchr(p->path, '/') : NULL;
    const size_t n = slash ? (size_t)(slash + 1 - p->path) : 0;
    uint32_t file;
    if (p->path) o->folder = tare_arena_str(arena, (tare_str){p->path, n}).ptr;
    if (p->is_directory) {
        if (!find_member(member, p))
            return tare_fail(err, TARE_ERR_UNSUPPORTED,
                             "a directory that does not hold exactly one model: name the file");
        o->folder = tare_join_path(arena, p->path, TARE_STR("/"));
        path = o->folder ? tare_join_path(arena, o->folder, tare_str_of(member)) : NULL;
        reader = &own;
    }
    if (p->path && (!o->folder || !path)) return tare_fail(err, TARE_ERR_NOMEM, "path");
    if (p->is_directory) TARE_TRY(tare_files_open(p->files, &own, path, o->ctx->options->map, err));
    const tare_status status = tare_model_add_file(o->m, reader, path, &file, err);
    tare_reader_close(&own);
    TARE_TRY(status);
    o->main = o->m->files[file].reader;
    tare_small_reads_init(&o->file, &o->main);
    return TARE_OK;
}

static tare_status open_onnx(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    tare_report *report = ctx->options->context->report;
    tare_onnx_model o = {.m = m,
                         .ctx = ctx,
                         .report = report,
                         .lists = {.m = m, .report = report, .code = "onnx.unread-tensor"}};
    if (ctx->source->kind == TARE_SOURCE_SHARDS)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "a model of ONNX is opened by its .onnx file alone");
    tare_arena_init(&o.scratch, m->allocator);
    tare_status status = open_main(&o, err);
    if (status == TARE_OK) status = read_model(&o, err);
    free_lists(&o);
    return status;
}

/* ---- the driver ------------------------------------------------------------------------------ */

static bool is_line(const tare_cursor *text) {
    for (const uint8_t *p = text->pos; p < text->end; p++)
        if (*p < ' ' || *p == 0x7f) return false;
    return true;
}

/* There is no magic: a version, perhaps who made it, in words, then the graph, the operator sets, a
 * property or a function. Core ML's description is a message, which is no line of text. */
static bool probe(const tare_probe *p) {
    tare_protobuf_field f;
    tare_cursor c;
    char member[TARE_NAME_MOST + 1];
    if (p->is_directory) return find_member(member, p);
    tare_cursor_init(&c, p->head, p->head_size, 0);
    if (!tare_protobuf_next(&c, &f) || f.number != MODEL_IR_VERSION ||
        f.wire != TARE_PROTOBUF_VARINT || f.value == 0 || f.value > 99)
        return false;
    for (;;) {
        const uint64_t at = tare_cursor_offset(&c);
        const bool is_read = tare_protobuf_next(&c, &f);
        const bool is_inside = f.wire == TARE_PROTOBUF_BYTES && f.value <= p->file_size - at;
        if (f.number == MODEL_GRAPH || f.number == MODEL_OPSET || f.number == MODEL_PROPERTY ||
            f.number == MODEL_TRAINING || f.number == MODEL_FUNCTION)
            return is_inside;
        if (!f.number || f.number > MODEL_DOC) return false;
        if (f.number == MODEL_VERSION ? f.wire != TARE_PROTOBUF_VARINT : !is_inside) return false;
        if (!is_read) return f.number == MODEL_DOC; /* longer than what is seen of the file */
        if (f.number < MODEL_VERSION && !is_line(&f.bytes)) return false;
    }
}

static bool has_encoding(const tare_encoding *e) {
    return tare_onnx_has_encoding(e->id);
}

static const tare_format_caps caps = {
    .has_encoding = has_encoding,
    .max_dims = TARE_MAX_DIMS,
    .max_name = 65535,
    .bytes_type = &tare_encoding_table[TARE_ENCODING_U8],
};

const tare_format tare_format_onnx = {
    .name = "onnx",
    .description = "tensors of an ONNX model, whose graph is left alone",
    .suffix = ".onnx",
    .caps = &caps,
    .read = {.probe = probe, .open = open_onnx},
};
