/* SPDX-License-Identifier: MIT */
#include "format/gathered.h"

#include <string.h>

#include "base/report.h"
#include "base/str.h"

static bool grow(const tare_gathered *g, void **list, size_t *capacity, size_t n, size_t size) {
    return tare_grow(g->m->allocator, list, capacity, n + 1, size);
}

tare_status tare_gather_tensor(tare_gathered *g, uint64_t offset, tare_error *err) {
    if (g->m->catalog.n_tensors + g->n_tensors + g->n_left_out >= g->m->limits.tensors)
        return tare_fail_at(err, TARE_ERR_LIMIT, offset, "number of tensors");
    return grow(g, (void **)&g->tensors, &g->tensors_capacity, g->n_tensors, sizeof *g->tensors)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_NOMEM, "tensors");
}

tare_status tare_gather_key(tare_gathered *g, const tare_metadata *entry, tare_error *err) {
    if (g->m->catalog.n_metadata + g->n_metadata >= g->m->limits.keys)
        return tare_fail_at(err, TARE_ERR_LIMIT, entry->offset, "number of keys");
    if (!grow(g, (void **)&g->metadata, &g->metadata_capacity, g->n_metadata, sizeof *g->metadata))
        return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    g->metadata[g->n_metadata++] = *entry;
    return TARE_OK;
}

tare_status tare_gather_left(tare_gathered *g, const tare_left_out *left, tare_error *err) {
    if (!grow(g, (void **)&g->left_out, &g->left_out_capacity, g->n_left_out, sizeof *g->left_out))
        return tare_fail(err, TARE_ERR_NOMEM, "what is left out");
    g->left_out[g->n_left_out++] = *left;
    return TARE_OK;
}

tare_status tare_gather_left_out(tare_gathered *g, tare_str name, const char *why, uint64_t offset,
                                 tare_error *err) {
    const tare_left_out left = {name, g->code, why};
    tare_finding finding = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, g->code);
    TARE_TRY(tare_gather_left(g, &left, err));
    finding.item_kind = TARE_ITEM_TENSOR;
    finding.item_name = name;
    finding.offset = offset;
    finding.text = tare_str_of(why);
    tare_report_add(g->report, &finding);
    return TARE_OK;
}

/* A list of the model, longer by `more` items. */
static void *extended(tare_model *m, const void *items, size_t n, const void *more, size_t n_more,
                      size_t size) {
    uint8_t *all = tare_arena_array(&m->arena, (uint64_t)n + n_more, size);
    if (all && n) memcpy(all, items, n * size);
    if (all && n_more) memcpy(all + n * size, more, n_more * size);
    return all;
}

tare_status tare_gathered_end(const tare_gathered *g, tare_error *err) {
    tare_model *m = g->m;
    tare_catalog *c = &m->catalog;
    c->metadata =
        extended(m, c->metadata, c->n_metadata, g->metadata, g->n_metadata, sizeof *c->metadata);
    m->left_out =
        extended(m, m->left_out, m->n_left_out, g->left_out, g->n_left_out, sizeof *m->left_out);
    if (!c->metadata || !m->left_out) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    c->n_metadata += g->n_metadata;
    m->n_left_out += g->n_left_out;
    return TARE_OK;
}

void tare_gathered_free(tare_gathered *g) {
    const tare_allocator *a = g->m->allocator;
    tare_free(a, g->tensors, g->tensors_capacity * sizeof *g->tensors);
    tare_free(a, g->metadata, g->metadata_capacity * sizeof *g->metadata);
    tare_free(a, g->left_out, g->left_out_capacity * sizeof *g->left_out);
}
