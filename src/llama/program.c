/* SPDX-License-Identifier: MIT
 *
 * Running the words of a program on a shape. */
#include "llama/program.h"

#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"

#define MOST_ARGS 6

typedef struct machine {
    tare_llama_draft *draft;
    const tare_llama_config *config;
    double args[MOST_ARGS];
    uint64_t n[MOST_ARGS]; /* the same as whole numbers */
    uint32_t n_args;
} machine;

/* ---- operations on the shape ----------------------------------------------------------------- */

static bool view(machine *m) {
    tare_llama_shape *s = &m->draft->shape;
    uint64_t known = 1, all = tare_llama_shape_elements(s);
    uint32_t open = m->n_args;
    for (uint32_t i = 0; i < m->n_args; i++) {
        if (m->n[i] == 0 && open < m->n_args) return false;
        if (m->n[i] == 0)
            open = i;
        else if (m->n[i] > all)
            return false;
        else
            known *= m->n[i] <= all / known ? m->n[i] : 0;
        if (known == 0) return false;
    }
    if (open < m->n_args) m->n[open] = all / known;
    return tare_llama_shape_view(s, m->n, m->n_args);
}

/* Puts dimension d apart into `parts`, orders these, and makes them one again. */
static bool reorder_parts(tare_llama_shape *s, uint32_t d, const uint64_t *parts, uint32_t n_parts,
                          const uint32_t *order) {
    uint64_t before[TARE_LLAMA_DIMS], dims[TARE_LLAMA_DIMS];
    uint32_t n = s->n_dims, to[TARE_LLAMA_DIMS];
    if (d >= n || n + n_parts - 1 > TARE_LLAMA_DIMS) return false;
    for (uint32_t i = 0; i < n; i++) before[i] = s->dims[i].extent;
    for (uint32_t i = 0; i < n + n_parts - 1; i++) {
        bool is_part = i >= d && i < d + n_parts;
        dims[i] = is_part ? parts[i - d] : before[i < d ? i : i + 1 - n_parts];
        to[i] = is_part ? d + order[i - d] : i;
    }
    return tare_llama_shape_view(s, dims, n + n_parts - 1) && tare_llama_shape_order(s, to) &&
           tare_llama_shape_view(s, before, n);
}

static bool heads(machine *m) {
    static const uint32_t order[] = {0, 2, 1};
    tare_llama_shape *s = &m->draft->shape;
    const uint64_t parts[] = {m->n[0], 2, m->n[0] ? s->dims[0].extent / 2 / m->n[0] : 0};
    return s->n_dims > 0 && reorder_parts(s, 0, parts, 3, order);
}

static bool tile(machine *m) {
    static const uint32_t order[] = {1, 0, 2};
    return reorder_parts(&m->draft->shape, (uint32_t)m->n[0], &m->n[1], 3, order);
}

static bool swap(machine *m) {
    uint32_t order[TARE_LLAMA_DIMS] = {0, 1, 2, 3, 4};
    if (m->n[0] >= m->draft->shape.n_dims || m->n[1] >= m->draft->shape.n_dims) return false;
    order[m->n[0]] = (uint32_t)m->n[1];
    order[m->n[1]] = (uint32_t)m->n[0];
    return tare_llama_shape_order(&m->draft->shape, order);
}

static bool every_second(machine *m, uint64_t first) {
    tare_llama_shape *s = &m->draft->shape;
    uint64_t dims[TARE_LLAMA_DIMS];
    uint32_t n = s->n_dims, d = (uint32_t)m->n[0];
    if (d >= n || n == TARE_LLAMA_DIMS) return false;
    for (uint32_t i = 0; i <= n; i++)
        dims[i] = i < d ? s->dims[i].extent : i > d + 1 ? s->dims[i - 1].extent : 2;
    dims[d] = s->dims[d].extent / 2;
    if (!tare_llama_shape_view(s, dims, n + 1) || !tare_llama_shape_rows(s, d + 1, first, 1))
        return false;
    for (uint32_t i = d + 1; i < n; i++) dims[i] = dims[i + 1];
    return tare_llama_shape_view(s, dims, n);
}

static bool squeeze(machine *m) {
    tare_llama_shape *s = &m->draft->shape;
    uint64_t dims[TARE_LLAMA_DIMS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_dims; i++)
        if (s->dims[i].extent != 1) dims[n++] = s->dims[i].extent;
    return tare_llama_shape_view(s, dims, n);
}

/* One arithmetic operation a tensor is all that architectures need, or two factors, each of which
 * rounds. */
static bool compute(machine *m, tare_piece_arithmetic arithmetic) {
    if (m->draft->arithmetic == TARE_PIECE_MUL && arithmetic == TARE_PIECE_MUL) {
        m->draft->arithmetic = TARE_PIECE_MUL_TWICE;
        m->draft->second = (float)m->args[0];
        return true;
    }
    if (m->draft->arithmetic != TARE_PIECE_AS_IS) return false;
    m->draft->arithmetic = arithmetic;
    m->draft->constant = (float)m->args[0];
    return true;
}

static bool join(machine *m, tare_llama_joint joint) {
    if (m->n[0] >= m->n[1]) return false;
    m->draft->slot = m->n[0];
    m->draft->n_slots = m->n[1];
    m->draft->joint = joint;
    return true;
}

static bool measure(machine *m, tare_piece_arithmetic arithmetic, tare_llama_measure of) {
    if (!compute(m, arithmetic)) return false;
    m->draft->measure = of;
    return true;
}

static bool op_rows(machine *m) {
    return tare_llama_shape_rows(&m->draft->shape, (uint32_t)m->n[0], m->n[1], m->n[2]);
}
static bool op_slice(machine *m) {
    tare_llama_shape *s = &m->draft->shape;
    const uint32_t d = (uint32_t)m->n[0];
    if (d >= s->n_dims || m->n[1] >= m->n[2] || s->dims[d].extent % m->n[2]) return false;
    const uint64_t n = s->dims[d].extent / m->n[2];
    return tare_llama_shape_rows(s, d, m->n[1] * n, n);
}
static bool op_even(machine *m) {
    return every_second(m, 0);
}
static bool op_odd(machine *m) {
    return every_second(m, 1);
}
/* A dimension that lies at equal steps becomes terms of a sum. */
static bool op_sum(machine *m) {
    tare_llama_draft *draft = m->draft;
    tare_llama_shape *s = &draft->shape;
    const uint32_t d = (uint32_t)m->n[0];
    if (d >= s->n_dims || s->dims[d].n_axes != 1 || !compute(m, TARE_PIECE_SUM)) return false;
    draft->n_terms = s->dims[d].extent;
    draft->step = s->dims[d].axes[0].stride;
    s->n_dims--;
    for (uint32_t i = d; i < s->n_dims; i++) s->dims[i] = s->dims[i + 1];
    return true;
}
static bool op_add(machine *m) {
    return compute(m, TARE_PIECE_ADD);
}
static bool op_mul(machine *m) {
    return m->args[0] == 1 || compute(m, TARE_PIECE_MUL);
}
static bool op_negexp(machine *m) {
    return compute(m, TARE_PIECE_NEG_EXP);
}
static bool op_exp(machine *m) {
    return compute(m, TARE_PIECE_EXP);
}
static bool op_softplus(machine *m) {
    return compute(m, TARE_PIECE_SOFTPLUS);
}
static bool op_part(machine *m) {
    return join(m, TARE_LLAMA_ROWS);
}
static bool op_turns(machine *m) {
    return m->draft->shape.n_dims >= 2 && join(m, TARE_LLAMA_TURNS);
}
static bool op_beside(machine *m) {
    return m->draft->shape.n_dims == 2 && join(m, TARE_LLAMA_BESIDE);
}
static bool op_stack(machine *m) {
    return join(m, TARE_LLAMA_SLICES);
}
static bool op_center(machine *m) {
    return measure(m, TARE_PIECE_ADD, TARE_LLAMA_MEAN);
}
static bool op_ternary(machine *m) {
    return measure(m, TARE_PIECE_TERNARY, TARE_LLAMA_MEAN_MAGNITUDE);
}
static bool op_norm_factor(machine *m) {
    m->draft->fold = TARE_LLAMA_FACTOR;
    return m->draft->shape.n_dims == 1;
}
static bool op_norm_shift(machine *m) {
    m->draft->fold = TARE_LLAMA_SHIFT;
    return m->draft->shape.n_dims == 1;
}
static bool op_times_proj(machine *m) {
    m->draft->fold = TARE_LLAMA_PRODUCT;
    return m->draft->shape.n_dims == 1;
}
static bool op_draw(machine *m) {
    const tare_llama_shape *s = &m->draft->shape;
    const uint64_t n = m->n[0];
    if (s->n_dims != 3 || n == 0 || n > UINT32_MAX) return false;
    m->draft->drawn = s->dims[1].extent == n * n ? 0 : n;
    return true;
}
static bool op_ids(machine *m) {
    m->draft->n_ids = m->n[0];
    return m->n[0] > 0;
}
static bool op_if(machine *m) {
    m->draft->is_skipped = m->args[0] == 0;
    return true;
}
static bool op_drop(machine *m) {
    m->draft->is_dropped = true;
    return true;
}

static bool op_repeat(machine *m) {
    tare_llama_shape *s = &m->draft->shape;
    if (s->n_dims == 0 || s->dims[0].extent != 1 || m->n[0] == 0) return false;
    s->dims[0] = (tare_llama_dim){m->n[0], 1, {{m->n[0], 0}}};
    return true;
}

static bool op_block(machine *m) {
    m->draft->layer = m->args[0] >= 0 && m->args[0] < 0x1p31 ? (int64_t)m->args[0] : -1;
    return m->draft->layer >= 0;
}

static bool op_as_is(machine *m) {
    (void)m;
    return true;
}

static bool op_pad(machine *m) {
    m->draft->padded = m->n[0];
    return m->draft->shape.n_dims > 0;
}

static bool op_lead(machine *m) {
    m->draft->led = m->n[0];
    return m->draft->shape.n_dims > 0;
}

static bool op_value(machine *m) {
    m->draft->is_value = true;
    return tare_llama_shape_elements(&m->draft->shape) > 0;
}

static bool op_first(machine *m) {
    m->draft->is_first_only = true;
    return true;
}

/* `least` and `most` arguments. What fails names the operation. */
static const struct operation {
    const char *name;
    bool (*run)(machine *m);
    uint32_t least, most;
    const char *fault;
} operations[] = {
    {"heads", heads, 1, 1, "its rows are not a whole number of heads of an even size"},
    {"view", view, 1, TARE_LLAMA_DIMS, "its shape contradicts config.json"},
    {"rows", op_rows, 3, 3, "it has fewer rows than config.json asks for"},
    {"slice", op_slice, 3, 3, "it cannot be cut into equal parts"},
    {"swap", swap, 2, 2, "it has too few dimensions"},
    {"even", op_even, 1, 1, "it has an odd number of rows"},
    {"odd", op_odd, 1, 1, "it has an odd number of rows"},
    {"tile", tile, 4, 4, "its heads are not those that config.json asks for"},
    {"squeeze", squeeze, 0, 0, "its shape cannot be squeezed"},
    {"sum", op_sum, 1, 1, "its elements do not lie at equal steps"},
    {"add", op_add, 1, 1, "arithmetic twice"},
    {"mul", op_mul, 1, 1, "arithmetic twice"},
    {"negexp", op_negexp, 0, 0, "arithmetic twice"},
    {"exp", op_exp, 0, 0, "arithmetic twice"},
    {"softplus", op_softplus, 0, 0, "arithmetic twice"},
    {"repeat", op_repeat, 1, 1, "it is not a single row"},
    {"center", op_center, 0, 0, "arithmetic twice"},
    {"ternary", op_ternary, 0, 0, "arithmetic twice"},
    {"norm_factor", op_norm_factor, 0, 0, "it is not a vector"},
    {"norm_shift", op_norm_shift, 0, 0, "it is not a vector"},
    {"times_proj", op_times_proj, 0, 0, "it is not a vector"},
    {"draw", op_draw, 1, 1,
     "it is no square of positions, or config.json says no size of pictures"},
    {"ids", op_ids, 1, 1, "config.json does not say how many there are"},
    {"turns", op_turns, 2, 2, "it has more parts than config.json says"},
    {"beside", op_beside, 2, 2, "it is no matrix"},
    {"part", op_part, 2, 2, "it has more parts than config.json says"},
    {"stack", op_stack, 2, 2, "the model has more tensors of this kind than config.json says"},
    {"block", op_block, 1, 1, "config.json does not say which block it belongs to"},
    {"if", op_if, 1, 1, "condition"},
    {"drop", op_drop, 0, 0, "drop"},
    {"as_is", op_as_is, 0, 0, "as_is"},
    {"first", op_first, 0, 0, "first"},
    {"pad", op_pad, 1, 1, "it has no rows"},
    {"lead", op_lead, 1, 1, "it has no rows"},
    {"value", op_value, 0, 0, "it has no elements"},
};

/* ---- words ----------------------------------------------------------------------------------- */

/* The end of an argument: the comma or bracket that is in no inner bracket. */
static size_t argument_end(tare_str text) {
    size_t depth = 0, i = 0;
    for (; i < text.len; i++) {
        char c = text.ptr[i];
        if (depth == 0 && (c == ',' || c == ')')) break;
        depth += c == '(';
        depth -= c == ')';
    }
    return i;
}

/* Computes the arguments in "(a, b)" and moves over them. An absent one counts as 0 in if(), and is
 * a fault elsewhere. */
static tare_status read_arguments(machine *m, tare_str *text, bool may_be_absent, tare_error *err) {
    const tare_llama_shape *s = &m->draft->shape;
    tare_llama_binding bindings[] = {{"layer", (double)m->draft->layer},
                                     {"number", (double)m->draft->number},
                                     {"d0", s->n_dims > 0 ? (double)s->dims[0].extent : 0},
                                     {"d1", s->n_dims > 1 ? (double)s->dims[1].extent : 0},
                                     {"d2", s->n_dims > 2 ? (double)s->dims[2].extent : 0},
                                     {"d3", s->n_dims > 3 ? (double)s->dims[3].extent : 0},
                                     {NULL, 0}};
    m->n_args = 0;
    memset(m->args, 0, sizeof m->args);
    memset(m->n, 0, sizeof m->n);
    if (text->len == 0 || text->ptr[0] != '(') return TARE_OK;
    do {
        tare_llama_value v;
        *text = tare_str_cut(*text, 1);
        size_t end = argument_end(*text);
        TARE_TRY(tare_llama_formula(&v, (tare_str){text->ptr, end}, m->config, bindings, err));
        *text = tare_str_cut(*text, end);
        bool is_number = v.kind == TARE_LLAMA_NUMBER || v.kind == TARE_LLAMA_BOOL;
        if (v.kind == TARE_LLAMA_TEXT && v.member.len)
            return tare_llama_wrong_kind("config.json: a text where a number is meant", &v, err);
        if (!is_number && !(v.kind == TARE_LLAMA_ABSENT && may_be_absent))
            return tare_fail(err, TARE_ERR_CORRUPT,
                             "config.json lacks a key that the operation on it needs");
        if (m->n_args == MOST_ARGS) return tare_fail(err, TARE_ERR_ARG, "program: arguments");
        m->args[m->n_args] = is_number ? v.number : 0;
        m->n[m->n_args++] = is_number && v.number > 0 && v.number < 0x1p53 ? (uint64_t)v.number : 0;
    } while (text->len && text->ptr[0] == ',');
    *text = tare_str_cut(*text, 1);
    return TARE_OK;
}

static const struct operation *find_operation(tare_str *text) {
    size_t n = 0;
    while (n < text->len && ((text->ptr[n] >= 'a' && text->ptr[n] <= 'z') || text->ptr[n] == '_'))
        n++;
    tare_str name = {text->ptr, n};
    *text = tare_str_cut(*text, n);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (tare_str_is(name, operations[i].name)) return &operations[i];
    return NULL;
}

/* "heads(10) of [576, 576]": what config.json asked for, and what the shape is. */
static tare_status fail_operation(const machine *m, const struct operation *op, tare_error *err) {
    const tare_llama_shape *s = &m->draft->shape;
    size_t n = 0;
    tare_fail(err, TARE_ERR_CORRUPT, op->fault);
    if (!err) return TARE_ERR_CORRUPT;
#define PUT(...)                                                                                   \
    do {                                                                                           \
        int put_ = snprintf(err->field + n, sizeof err->field - n, __VA_ARGS__);                   \
        if (put_ > 0) n = (size_t)tare_min_u64(n + (size_t)put_, sizeof err->field - 1);           \
    } while (0)
    PUT("%s(", op->name);
    for (uint32_t i = 0; i < m->n_args; i++) PUT("%s%g", i ? ", " : "", m->args[i]);
    PUT(") of [");
    for (uint32_t d = 0; d < s->n_dims; d++)
        PUT("%s%llu", d ? ", " : "", (unsigned long long)s->dims[d].extent);
    PUT("]");
#undef PUT
    return TARE_ERR_CORRUPT;
}

tare_status tare_llama_program_run(tare_llama_draft *draft, const char *program,
                                   const tare_llama_config *config, tare_error *err) {
    machine m = {.draft = draft, .config = config};
    tare_str text = tare_str_of(program ? program : "");
    while (text.len && !draft->is_skipped && !draft->is_dropped) {
        const struct operation *op = find_operation(&text);
        if (!op) return tare_fail(err, TARE_ERR_ARG, "program: unknown operation");
        TARE_TRY(read_arguments(&m, &text, op->run == op_if, err));
        if (m.n_args < op->least || m.n_args > op->most)
            return tare_fail(err, TARE_ERR_ARG, "program: arguments");
        if (!op->run(&m)) return fail_operation(&m, op, err);
        while (text.len && text.ptr[0] == ' ') text = tare_str_cut(text, 1);
    }
    return TARE_OK;
}
