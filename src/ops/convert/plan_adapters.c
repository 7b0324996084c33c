/* SPDX-License-Identifier: MIT
 *
 * Adapters stored in the output alongside its tensors: those of the input that are not merged, and
 * those that the caller adds. Their factors follow the tensors in the plan, two per pair, and are
 * quantized as the format does with tensors. Adapters that cannot be stored because the format has
 * none are reported. */
#include "base/report.h"
#include "base/str.h"
#include "model/adapter_set.h"
#include "ops/convert/plan.h"
#include "ops/digest.h"

/* A pair and its name in the output. */
typedef struct stored {
    const tare_adapter_set *set;
    const tare_adapter *adapter;
    tare_str name;
} stored;

typedef struct list {
    stored *items;
    size_t n;
} list;

static bool is_merged(const tare_plan *p, const tare_adapter *a) {
    for (size_t i = 0; i < p->options.n_merges; i++) {
        const tare_adapter_use *use = &p->options.merges[i];
        if (use->set == p->in->adapters && tare_adapter_is_used(use, a)) return true;
    }
    return false;
}

/* "NAME.MODULE", or "NAME" for a pair that has none. */
static tare_status name_pair(tare_str *out, tare_plan *p, tare_str name, tare_str module,
                             tare_error *err) {
    const size_t dot = module.len ? 1 : 0;
    char *text = tare_arena_take(&p->arena, name.len + dot + module.len);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    memcpy(text, name.ptr, name.len);
    if (dot) text[name.len] = '.';
    if (dot) memcpy(text + name.len + 1, module.ptr, module.len);
    *out = (tare_str){text, name.len + dot + module.len};
    return TARE_OK;
}

/* The pairs of the input, then those that are added. */
static tare_status collect(list *l, tare_plan *p, tare_error *err) {
    const tare_adapter_set *own = p->in->adapters;
    size_t most = own ? own->n : 0;
    for (size_t i = 0; i < p->infq.n_adapters; i++) most += p->infq.adapters[i].set->n;
    l->items = TARE_NEW_ARRAY(&p->arena, stored, most);
    if (!l->items) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    for (size_t i = 0; own && i < own->n; i++)
        if (!is_merged(p, &own->adapters[i]))
            l->items[l->n++] = (stored){own, &own->adapters[i], own->adapters[i].name};
    for (size_t i = 0; i < p->infq.n_adapters; i++) {
        const tare_adapter_use *use = &p->infq.adapters[i];
        const tare_finding loss = tare_peft_loss(&use->set->left);
        TARE_TRY(tare_factors_check(use->set, p->in, p->options.context->allocator, err));
        tare_peft_tell(&use->set->left, use->set->n, use->set->path, p->options.context->report);
        tare_strict_loss(&p->strict, &loss);
        for (size_t k = 0; k < use->set->n; k++) {
            stored *s = &l->items[l->n++];
            *s = (stored){.set = use->set, .adapter = &use->set->adapters[k]};
            TARE_TRY(name_pair(&s->name, p, use->name, s->adapter->name, err));
        }
    }
    return TARE_OK;
}

/* Adapters that the output's format cannot store. */
static tare_status leave_behind(tare_plan *p, size_t n, tare_error *err) {
    if (p->infq.n_adapters > 0)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "adapters to store: the output's format has no place for them, only INFQ "
                         "has; merge them");
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "convert.adapters-left");
    tare_strict_note(&p->strict, &f, "adapters of the input would be lost",
                     "%zu pair%s of factors of adapters lost: merge them with "
                     "`apply_adapter`, or extract each with `adapter`",
                     n, n == 1 ? "" : "s");
    return TARE_OK;
}

static tare_status check_names(tare_plan *p, const tare_stored_adapter *adapters, size_t n,
                               tare_error *err) {
    tare_name_index index;
    tare_error fault = TARE_ERROR_NONE;
    tare_status status = tare_name_index_build(&index, &p->arena, adapters, n, sizeof *adapters,
                                               "duplicate", &fault);
    if (status == TARE_OK) return TARE_OK;
    if (status != TARE_ERR_CORRUPT) {
        if (err) *err = fault;
        return status;
    }
    tare_fail(err, TARE_ERR_ARG, "a second adapter of that name: give it another one");
    tare_error_item(err, TARE_ITEM_ADAPTER, fault.item, adapters[fault.item].name);
    return TARE_ERR_ARG;
}

/* One factor: unchanged if the format supports its type, else quantized. */
static tare_status plan_factor(tare_plan *p, size_t at, const stored *s, const tare_tensor *factor,
                               const char *ending, tare_error *err) {
    tare_planned *planned = &p->tensors[at];
    tare_tensor *t = &p->catalog.tensors[at];
    const size_t source = tare_adapter_factor(s->set, factor);
    const tare_format_caps *h = p->format->caps;
    const tare_encoding *to = factor->encoding;
    const bool is_kept = to->kind == TARE_KIND_BLOCK && h->has_encoding(to);
    *planned = (tare_planned){.from = s->set->factors, .source = source, .becomes = t};
    *t = *factor;
    if (!is_kept) {
        to = tare_encoding_get(p->format->write.floats_become);
        planned->action = TARE_ACTION_ENCODE;
        if (!tare_tensor_can_decode(s->set->factors, source))
            return tare_fail(err, TARE_ERR_UNSUPPORTED, "the type of a factor cannot be decoded");
        TARE_TRY(tare_tensor_derive(t, to, factor->dims, factor->n_dims, &p->arena, err));
    }
    TARE_TRY(tare_tensor_check_data(s->set->factors, source, err));
    return name_pair(&t->name, p, s->name, tare_str_of(ending), err);
}

static tare_status plan_pairs(tare_plan *p, const list *l, tare_error *err) {
    tare_catalog *c = &p->catalog;
    const size_t n = c->n_tensors;
    tare_stored_adapter *adapters = TARE_NEW_ARRAY(&p->arena, tare_stored_adapter, l->n);
    tare_planned *planned = TARE_NEW_ARRAY(&p->arena, tare_planned, n + 2 * (uint64_t)l->n);
    tare_tensor *tensors = TARE_NEW_ARRAY(&p->arena, tare_tensor, n + 2 * (uint64_t)l->n);
    if (!adapters || !planned || !tensors) return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    if (n) memcpy(planned, p->tensors, n * sizeof *planned);
    if (n) memcpy(tensors, c->tensors, n * sizeof *tensors);
    p->tensors = planned;
    c->tensors = tensors;
    for (size_t i = 0; i < l->n; i++) {
        const stored *s = &l->items[i];
        const bool is_own = s->set == p->in->adapters;
        adapters[i] = (tare_stored_adapter){
            .name = s->name,
            .scale = s->adapter->scale,
            .origin = is_own ? (size_t)(s->adapter - s->set->adapters) : SIZE_MAX};
        tare_status status = TARE_OK;
        if (s->adapter->kind != TARE_ADAPTER_PAIR || s->adapter->magnitude)
            status = tare_fail(err, TARE_ERR_UNSUPPORTED,
                               "it is more than a pair of factors: merge it instead");
        else if (s->adapter->is_transposed)
            status = tare_fail(err, TARE_ERR_UNSUPPORTED,
                               "its factors are stored as their transposes: merge it instead");
        if (status == TARE_OK) status = plan_factor(p, n + 2 * i, s, s->adapter->a, "A", err);
        if (status == TARE_OK) status = plan_factor(p, n + 2 * i + 1, s, s->adapter->b, "B", err);
        if (status != TARE_OK) return tare_adapter_fault(s->set, s->adapter, status, err);
    }
    p->extras.adapters = adapters;
    p->extras.n_adapters = l->n;
    return check_names(p, adapters, l->n, err);
}

tare_status tare_plan_adapters(tare_plan *plan, tare_error *err) {
    list l = {0};
    for (size_t i = 0; i < plan->infq.n_adapters; i++)
        TARE_REQUIRE(plan->infq.adapters[i].set && plan->infq.adapters[i].name.len, err);
    if (!plan->in->adapters && plan->infq.n_adapters == 0) return TARE_OK;
    TARE_TRY(collect(&l, plan, err));
    if (l.n == 0) return TARE_OK;
    return plan->format->stored.extras & TARE_EXTRA_ADAPTERS ? plan_pairs(plan, &l, err)
                                                             : leave_behind(plan, l.n, err);
}
