/* SPDX-License-Identifier: MIT
 *
 * The shapes that tensors had before the conversion: those of the file, or what the architecture says
 * of a rule. */
#include "base/str.h"
#include "llama/restore/restore.h"

static tare_status fail_tensor(const tare_llama_restoring *r, size_t tensor, const char *what,
                               tare_error *err) {
    return tare_fail_tensor(err, TARE_ERR_CORRUPT, &r->gguf->catalog.tensors[tensor], tensor, what);
}

const char *tare_llama_shape_row_of(const tare_llama_restoring *r, const tare_llama_rule *rule) {
    const tare_llama_shape_row *s = r->arch->back->shapes;
    for (; s && s->match; s++)
        if (strcmp(s->match, rule->match) == 0) return s->was;
    return NULL;
}

static double dim_of(const tare_tensor *t, uint32_t d) {
    return t->n_dims > d ? (double)t->dims[d] : 0;
}

tare_status tare_llama_shape_was(tare_llama_expected *w, const tare_llama_restoring *r,
                                 size_t tensor, const char *was, tare_error *err) {
    const tare_tensor *t = &r->gguf->catalog.tensors[tensor];
    int64_t layer, number;
    tare_llama_numbers_of(t->name, &layer, &number);
    const tare_llama_binding bindings[] = {{"layer", (double)layer},  {"d0", dim_of(t, 0)},
                                           {"d1", dim_of(t, 1)},      {"d2", dim_of(t, 2)},
                                           {"d3", dim_of(t, 3)},      {"rows", (double)t->n_rows},
                                           {"cols", (double)t->cols}, {NULL, 0}};
    tare_str rest = tare_str_of(was);
    w->n_dims = 0;
    while (rest.len) {
        size_t end = 0, depth = 0;
        for (; end < rest.len && (depth || rest.ptr[end] != ','); end++) {
            depth += rest.ptr[end] == '(';
            depth -= rest.ptr[end] == ')';
        }
        uint64_t n;
        bool is_there;
        TARE_TRY(tare_llama_formula_u64(&n, &is_there, (tare_str){rest.ptr, end}, &r->config,
                                        bindings, err));
        if (is_there && n == 0 && w->n_dims == t->n_dims) break; /* of a bias */
        if (!is_there || n == 0 || w->n_dims == TARE_LLAMA_DIMS)
            return fail_tensor(
                r, tensor, "its shape in a Hugging Face model does not follow from the keys", err);
        w->dims[w->n_dims++] = n;
        rest = tare_str_cut(rest, end < rest.len ? end + 1 : end);
    }
    return TARE_OK;
}

tare_status tare_llama_shape_kept(tare_llama_expected *w, const tare_llama_restoring *r,
                                  size_t tensor, uint32_t first, tare_error *err) {
    const tare_tensor *t = &r->gguf->catalog.tensors[tensor];
    if (t->n_dims <= first || t->n_dims - first > TARE_LLAMA_DIMS)
        return fail_tensor(r, tensor, "it has an unexpected number of dimensions", err);
    w->n_dims = t->n_dims - first;
    for (uint32_t d = first; d < t->n_dims; d++) w->dims[d - first] = t->dims[d];
    return TARE_OK;
}
