/* SPDX-License-Identifier: MIT
 *
 * Experts for MLX, which has those of a layer in one tensor: "mlp.experts.3.gate_proj" of all of them is
 * "mlp.switch_mlp.gate_proj", in most of its models. mlx-lm stacks the parts itself for some models, and then finds nothing
 * to do; for the others it cannot read parts that are apart. */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "mlx/mlx_names.h"
#include "mlx/mlx_plain.h"
#include "ops/mix/roles.h"
#include "ops/schemes/scheme_model.h"

/* ---- stacks ------------------------------------------------------------------------------------ */

typedef struct member {
    tare_str stack;
    int64_t expert;
    size_t weight;
} member;

static int by_place(const void *a, const void *b) {
    const member *x = a, *y = b;
    const int c = tare_str_compare(x->stack, y->stack);
    return c ? c : (x->expert > y->expert) - (x->expert < y->expert);
}

static bool is_alike(const tare_packed_weight *a, const tare_packed_weight *b) {
    return a->scheme.writer == b->scheme.writer && a->group == b->group && a->n_rows == b->n_rows &&
           a->cols == b->cols && a->scheme.is_plain == b->scheme.is_plain;
}

/* Members [first, first + n) are all experts of a layer; their scales get a type that holds them all. */
static tare_status join(tare_scheme_search *s, const member *members, size_t n, tare_error *err) {
    tare_packed_weight *first = &s->weights[members[0].weight];
    bool is_same = true;
    for (size_t i = 0; i < n; i++) {
        tare_packed_weight *w = &s->weights[members[i].weight];
        if (members[i].expert != (int64_t)i || !is_alike(first, w))
            return tare_fail_tensor(err, TARE_ERR_ARG, &s->in->catalog.tensors[w->tensor],
                                    w->tensor,
                                    "MLX has all experts of a layer in one tensor: each has to be "
                                    "there, and to get the same scheme");
        is_same = is_same && w->scale == first->scale;
        w->stack = members[0].stack;
        w->place = i;
        w->next_in_stack = i + 1 < n ? members[i + 1].weight : SIZE_MAX;
    }
    for (size_t i = 0; i < n && !is_same; i++)
        s->weights[members[i].weight].scale = TARE_ENCODING_F32;
    return TARE_OK;
}

/* Whether an expert stays a tensor of its own. */
static tare_status has_single(bool *out, const tare_scheme_search *s, const tare_mlx_kind *kind,
                              tare_error *err) {
    *out = false;
    for (size_t i = 0; i < s->in->catalog.n_tensors && !*out; i++) {
        const tare_str name = s->in->catalog.tensors[i].name;
        const int64_t w = s->weight_of[i];
        tare_str stack, module = name;
        int64_t expert;
        if (!tare_str_ends(name, TARE_STR(".weight")) || (w >= 0 && s->weights[w].stack.len))
            continue;
        module.len -= strlen(".weight");
        TARE_TRY(tare_mlx_stack_of(&stack, &expert, module, kind, s->arena, err));
        *out = stack.len > 0;
    }
    return TARE_OK;
}

tare_status tare_scheme_find_stacks(tare_scheme_search *s, tare_error *err) {
    member *members = TARE_NEW_ARRAY(s->arena, member, s->n_weights);
    tare_mlx_kind kind;
    size_t n = 0;
    TARE_TRY(tare_mlx_kind_of(&kind, s->in, s->arena, err));
    if (!members) return tare_fail(err, TARE_ERR_NOMEM, "experts");
    for (size_t i = 0; i < s->n_weights; i++) {
        tare_packed_weight *w = &s->weights[i];
        const tare_tensor *t = &s->in->catalog.tensors[w->tensor];
        const tare_role_info role = tare_role_of_name(t->name);
        w->next_in_stack = SIZE_MAX;
        if (!w->scheme.writer || w->scheme.writer->family != TARE_WRITER_MLX || role.expert < 0 ||
            t->n_dims != 2)
            continue;
        members[n] = (member){.weight = i};
        TARE_TRY(tare_mlx_stack_of(&members[n].stack, &members[n].expert, w->module, &kind,
                                   s->arena, err));
        n += members[n].stack.len > 0;
    }
    if (n) qsort(members, n, sizeof *members, by_place);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && tare_str_equal(members[end].stack, members[first].stack);)
            end++;
        TARE_TRY(join(s, members + first, end - first, err));
    }
    if (!s->plain || s->scheme.writer->family != TARE_WRITER_MLX) return TARE_OK;
    bool is_single;
    TARE_TRY(has_single(&is_single, s, &kind, err));
    return is_single ? tare_mlx_leave_norms(s->plain, err) : TARE_OK;
}
