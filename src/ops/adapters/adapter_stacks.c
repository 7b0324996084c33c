/* SPDX-License-Identifier: MIT
 *
 * PEFT's factors of parameters (target_parameters), which are stacks of experts' matrices: of E experts
 * and rank r, lora_A is [r E, columns], an expert's rows one after the other, and lora_B is [rows, r E],
 * where expert e has columns e, E + e, 2 E + e, ... They are taken apart: each expert's are read as the
 * factors of a module. Where several parameters of a module have factors, one wrapper is around the other:
 * "base_layer." in a name is the way to the inner one, and the outermost is that of the last parameter. */
#include <inttypes.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "encoding/kernels.h"
#include "ops/adapters/adapter_open.h"

static const tare_str base_layer = {".base_layer", 11};

/* An expert's factor. */
typedef struct part {
    uint64_t start; /* in bytes; first, for looking it up */
    size_t tensor;  /* the stack's */
    uint64_t first, row_stride, stride;
    uint64_t n_rows, cols;
} part;

typedef struct stacks {
    tare_model *m;
    tare_model *out;
    const tare_peft_config *config;
    tare_stack_note *notes;
    part *parts;
    size_t n;
    uint32_t file;
    uint64_t end;
} stacks;

/* A stack's factor. */
typedef struct stack {
    tare_str module, parameter, key, tail; /* ".lora_A.weight" */
    bool is_left;
    uint64_t rank, n_experts;
} stack;

/* ---- reading --------------------------------------------------------------------------------- */

/* A row; `room` has the stretch of the stack's that it is in. */
static tare_status read_row(float *row, float *room, const stacks *s, const part *p, uint64_t i,
                            tare_error *err) {
    const uint64_t first = p->first + i * p->row_stride;
    if (p->stride == 1) return tare_tensor_values_f32(row, s->m, p->tensor, first, p->cols, err);
    TARE_TRY(
        tare_tensor_values_f32(room, s->m, p->tensor, first, (p->cols - 1) * p->stride + 1, err));
    for (uint64_t k = 0; k < p->cols; k++) row[k] = room[k * p->stride];
    return TARE_OK;
}

/* Bytes [from, from + n) of a factor. */
static tare_status fetch_part(uint8_t *to, const stacks *s, const part *p, uint64_t from, size_t n,
                              float *row, tare_error *err) {
    const uint64_t width = p->cols * sizeof(float);
    while (n > 0) {
        const uint64_t skip = from % width;
        const size_t take = (size_t)tare_min_u64(n, width - skip);
        TARE_TRY(read_row(row, row + p->cols, s, p, from / width, err));
        if (tare_model_is_big_endian(s->m) != (bool)TARE_HOST_IS_BIG_ENDIAN) {
            const tare_rows_mut rows = {.planes = {(uint8_t *)row}, .n_rows = 1, .cols = p->cols};
            tare_swap_rows(&rows, tare_encoding_get(TARE_ENCODING_F32));
        }
        memcpy(to, (const uint8_t *)row + skip, take);
        to += take;
        from += take;
        n -= take;
    }
    return TARE_OK;
}

static uint64_t bytes_of(const part *p) {
    return p->n_rows * p->cols * sizeof(float);
}

static tare_status fetch(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const stacks *s = ctx;
    uint8_t *to = buf;
    for (size_t i = tare_part_of(&s->parts->start, s->n, sizeof *s->parts, offset); n > 0; i++) {
        const part *p = &s->parts[i];
        const uint64_t from = offset - p->start;
        const size_t take = (size_t)tare_min_u64(n, bytes_of(p) - from);
        const size_t room = (size_t)(p->cols + (p->cols - 1) * p->stride + 1) * sizeof(float);
        float *row = tare_alloc(s->m->allocator, room);
        if (!row) return tare_fail(err, TARE_ERR_NOMEM, "factors of an adapter");
        const tare_status status = fetch_part(to, s, p, from, take, row, err);
        tare_free(s->m->allocator, row, room);
        TARE_TRY(status);
        to += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

static void free_stacks(void *data) {
    tare_model_free(((stacks *)data)->m);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The texts one after the other; ptr is NULL: no memory. */
static tare_str joined(tare_arena *arena, const tare_str *parts, size_t n) {
    size_t length = 0;
    for (size_t i = 0; i < n; i++) length += parts[i].len;
    char *text = tare_arena_take(arena, length + 1);
    if (!text) return (tare_str){NULL, 0};
    for (size_t i = 0, at = 0; i < n; at += parts[i++].len)
        if (parts[i].len) memcpy(text + at, parts[i].ptr, parts[i].len);
    return (tare_str){text, length};
}
#define JOINED(arena, ...)                                                                         \
    joined(arena, (const tare_str[]){__VA_ARGS__},                                                 \
           sizeof((const tare_str[]){__VA_ARGS__}) / sizeof(tare_str))

/* The last part of a name; *before: what is in front of its dot. */
static tare_str last_of(tare_str *before, tare_str name) {
    size_t dot = name.len;
    while (dot > 0 && name.ptr[dot - 1] != '.') dot--;
    *before = (tare_str){name.ptr, dot ? dot - 1 : 0};
    return tare_str_cut(name, dot);
}

/* Whether an entry of target_parameters is of a module. PEFT takes "gate_up_proj" alone for that of any
 * module that has one: the experts. */
static bool is_of(tare_str *parameter, tare_str entry, tare_str module) {
    tare_str of;
    *parameter = last_of(&of, entry);
    if (of.len == 0) of = TARE_STR("experts");
    if (!tare_str_ends(module, of)) return false;
    return module.len == of.len || module.ptr[module.len - of.len - 1] == '.';
}

/* The parameters of a module that have factors, in the module's order; how many, 3: more. */
static size_t parameters_of(tare_str out[2], const stacks *s, tare_str module) {
    size_t n = 0;
    for (const tare_peft_parameter *p = s->config->parameters; p; p = p->next) {
        tare_str name;
        if (!is_of(&name, p->name, module)) continue;
        if ((n > 0 && tare_str_equal(name, out[0])) || (n > 1 && tare_str_equal(name, out[1])))
            continue;
        if (n == 2) return 3;
        out[n++] = name;
    }
    if (n == 2 && tare_str_is(out[0], "down_proj")) {
        const tare_str first = out[0];
        out[0] = out[1];
        out[1] = first;
    }
    return n;
}

/* Why the wrapper at a depth cannot be told to be that of one of n parameters; NULL: it can. */
static const char *obstacle(const tare_str parameters[2], size_t n, size_t depth) {
    if (n > 2) return "target_parameters: more than two of one module";
    if (n == 2 &&
        !(tare_str_is(parameters[0], "gate_up_proj") && tare_str_is(parameters[1], "down_proj")))
        return "target_parameters: of a module's parameters only gate_up_proj and down_proj have "
               "an order that is known";
    return depth >= n ? "target_parameters: names fewer parameters of its module" : NULL;
}

/* The outermost wrapper is the last parameter's, if the inner one is there. */
static tare_status check_inner(const stacks *s, tare_str whole, const stack *k, tare_error *err) {
    const tare_str inner = JOINED(&s->out->arena, whole, k->module, base_layer, k->tail);
    if (!inner.ptr) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    if (tare_model_find_tensor(s->m, inner) >= 0) return TARE_OK;
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     "target_parameters: names two parameters of its module, and the file has the "
                     "factors of one");
}

/* Which parameter's factor a tensor is; *is_stack false: a module's. */
static tare_status find_stack(stack *out, bool *is_stack, const stacks *s, size_t i,
                              tare_error *err) {
    const tare_tensor *t = &s->m->catalog.tensors[i];
    tare_peft_name name;
    tare_str parameters[2];
    size_t depth = 0;
    *is_stack = false;
    tare_peft_name_parse(&name, t->name);
    if (!tare_peft_is_factor(&name)) return TARE_OK;
    const tare_str whole = {t->name.ptr, (size_t)(name.module.ptr - t->name.ptr)};
    *out = (stack){.is_left = name.part == TARE_PEFT_LEFT};
    out->tail = tare_str_cut(t->name, whole.len + name.module.len);
    for (; tare_str_ends(name.module, base_layer); depth++) name.module.len -= base_layer.len;
    const size_t n = parameters_of(parameters, s, name.module);
    if (n == 0 && depth == 0) return TARE_OK;
    const char *what = obstacle(parameters, n, depth);
    if (what) return tare_fail(err, TARE_ERR_UNSUPPORTED, what);
    *is_stack = true;
    out->module = name.module;
    out->parameter = parameters[n - 1 - depth];
    out->key = JOINED(&s->out->arena, name.module, TARE_STR("."), out->parameter);
    if (!out->key.ptr) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    return n == 2 && depth == 0 ? check_inner(s, whole, out, err) : TARE_OK;
}

static tare_status measure(stack *out, const stacks *s, size_t i, tare_error *err) {
    const tare_tensor *t = &s->m->catalog.tensors[i];
    double rank, alpha;
    TARE_TRY(tare_peft_numbers(&rank, &alpha, s->config, out->key, err));
    if (t->n_dims != 2 || t->n_elements == 0)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "a factor is not a matrix");
    const uint64_t side = t->dims[out->is_left];
    if (rank < 1 || rank > (double)side || rank != (double)(uint64_t)rank ||
        side % (uint64_t)rank != 0)
        return tare_fail(err, TARE_ERR_CORRUPT,
                         "its ranks are not as many for each expert as its configuration says");
    out->rank = (uint64_t)rank;
    out->n_experts = side / out->rank;
    return TARE_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* MODULE.EXPERT.PARAMETER; a parameter "weight" is its module's, and one expert needs no number. */
static tare_str name_of(const stack *k, uint64_t expert, tare_arena *arena) {
    char number[24] = "";
    const bool is_weight = tare_str_is(k->parameter, "weight");
    if (k->n_experts > 1) snprintf(number, sizeof number, ".%" PRIu64, expert);
    return JOINED(arena, k->module, tare_str_of(number), tare_str_of(is_weight ? "" : "."),
                  is_weight ? TARE_STR("") : k->parameter, k->tail);
}

static tare_status add_expert(stacks *s, const stack *k, size_t i, uint64_t expert,
                              tare_error *err) {
    tare_catalog *c = &s->out->catalog;
    const uint64_t *dims = s->m->catalog.tensors[i].dims;
    tare_tensor *t = &c->tensors[c->n_tensors];
    part *p = &s->parts[s->n++];
    *p = (part){.start = s->end, .tensor = i, .row_stride = dims[1]};
    p->n_rows = k->is_left ? dims[0] : k->rank;
    p->cols = k->is_left ? k->rank : dims[1];
    p->stride = k->is_left ? k->n_experts : 1;
    p->first = k->is_left ? expert : expert * k->rank * dims[1];
    const uint64_t shape[] = {p->n_rows, p->cols};
    *t = (tare_tensor){.name = name_of(k, expert, &s->out->arena), .offset = TARE_NO_OFFSET};
    if (!t->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    TARE_TRY(tare_tensor_set(s->out, t, tare_encoding_get(TARE_ENCODING_F32), shape, 2, s->file,
                             s->end, err));
    s->notes[c->n_tensors++].key = k->key;
    return tare_add_u64(s->end, t->size_bytes, &s->end)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_LIMIT, "size of all tensors");
}

/* Room for what is known of all tensors that there will be, and the tensors there are. */
static tare_status begin(stacks *s, uint64_t n, tare_error *err) {
    const tare_catalog *from = &s->m->catalog;
    tare_catalog *c = &s->out->catalog;
    if (n > s->m->limits.tensors) return tare_fail(err, TARE_ERR_LIMIT, "number of tensors");
    c->tensors = TARE_NEW_ARRAY(&s->out->arena, tare_tensor, n + 1);
    s->notes = TARE_NEW_ARRAY(&s->out->arena, tare_stack_note, n + 1);
    s->parts = TARE_NEW_ARRAY(&s->out->arena, part, n + 1);
    if (!c->tensors || !s->notes || !s->parts) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    memset(s->notes, 0, (n + 1) * sizeof *s->notes);
    if (from->n_tensors) memcpy(c->tensors, from->tensors, from->n_tensors * sizeof *c->tensors);
    c->n_tensors = from->n_tensors;
    return TARE_OK;
}

/* All stacks; `found` of each tensor, n_experts 0: it is none. */
static tare_status find_stacks(stack *found, uint64_t *n, const stacks *s, tare_error *err) {
    for (size_t i = 0; i < s->m->catalog.n_tensors; i++) {
        bool is_stack = false;
        tare_status status = find_stack(&found[i], &is_stack, s, i, err);
        if (status == TARE_OK && !is_stack) found[i] = (stack){.n_experts = 0};
        if (status == TARE_OK && is_stack) status = measure(&found[i], s, i, err);
        if (status == TARE_OK && !tare_add_u64(*n, found[i].n_experts, n))
            status = tare_fail(err, TARE_ERR_LIMIT, "number of tensors");
        if (status == TARE_OK) continue;
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, s->m->catalog.tensors[i].name);
        return status;
    }
    return TARE_OK;
}

static tare_status fill(stacks *s, tare_error *err) {
    const tare_model *m = s->m;
    tare_reader reader;
    uint64_t n = m->catalog.n_tensors;
    stack *found = TARE_NEW_ARRAY(&s->out->arena, stack, m->catalog.n_tensors + 1);
    if (!found) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    s->out->format = m->format;
    s->out->held_format = m->held_format;
    s->out->catalog = m->catalog;
    TARE_TRY(find_stacks(found, &n, s, err));
    TARE_TRY(begin(s, n, err));
    TARE_TRY(tare_model_share_files(s->out, m, err));
    tare_reader_callback(&reader, NULL, s, 0, m->format);
    reader.fetch = fetch;
    TARE_TRY(tare_model_add_file(s->out, &reader, "experts", &s->file, err));
    s->out->files[s->file].is_decoded = true;
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        s->notes[i].is_stack = found[i].n_experts > 0;
        for (uint64_t e = 0; e < found[i].n_experts; e++)
            TARE_TRY(add_expert(s, &found[i], i, e, err));
    }
    s->out->files[s->file].reader.size = s->end;
    return tare_model_finish(s->out, NULL, err);
}

tare_status tare_peft_take_apart(tare_model **out, const tare_stack_note **notes, tare_model *m,
                                 const tare_peft_config *config, tare_error *err) {
    tare_context context = tare_context_default();
    tare_model *model;
    context.allocator = m->allocator;
    context.limits = &m->limits;
    TARE_TRY(tare_model_new(&model, &context, err));
    stacks *s = TARE_NEW(&model->arena, stacks);
    tare_status status = s ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "adapters");
    if (s) {
        *s = (stacks){.m = m, .out = model, .config = config};
        status = fill(s, err);
    }
    if (status != TARE_OK) {
        tare_model_free(model);
        return status;
    }
    s->config = NULL; /* it does not live as long */
    model->private_data = s;
    model->free_private = free_stacks;
    *notes = s->notes;
    *out = model;
    return TARE_OK;
}
