/* SPDX-License-Identifier: MIT
 *
 * convert --verify, second half. The bytes were compared as they were written; here the output is
 * opened like any file, and must be the intended model. */
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "model/adapter_set.h"
#include "ops/convert/conversion.h"

static tare_status differs(tare_error *err, const char *what, tare_item_kind kind, size_t item,
                           tare_str name) {
    tare_fail(err, TARE_ERR_CHECKSUM, what);
    tare_error_item(err, kind, (int64_t)item, name);
    return TARE_ERR_CHECKSUM;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Where the plan put the first byte of each tensor. */
static void places(uint64_t *offsets, const tare_plan *p) {
    const size_t *same = p->extras.same_as;
    for (size_t i = 0; i < p->files.n_extents; i++) {
        const tare_extent *e = &p->files.extents[i];
        if (e->kind != TARE_EXTENT_TENSOR || e->plane != 0) continue;
        const bool is_factor = e->item >= p->catalog.n_tensors;
        offsets[same && !is_factor ? same[e->item] : e->item] = e->offset;
    }
    for (size_t i = 0; same && i < p->catalog.n_tensors; i++) offsets[i] = offsets[same[i]];
}

static bool is_same_tensor(const tare_tensor *a, const tare_tensor *b) {
    return a->encoding == b->encoding && a->n_dims == b->n_dims && a->size_bytes == b->size_bytes &&
           memcmp(a->dims, b->dims, a->n_dims * sizeof *a->dims) == 0;
}

/* Data that is not read through a file of the output has no position in one. */
static bool is_at(const tare_model *m, const tare_tensor *t, uint64_t offset) {
    const tare_plane *plane = &t->planes[0];
    return plane->size == 0 || m->files[plane->file].reader.fd < 0 || plane->offset == offset;
}

static tare_status check_tensors(const tare_plan *p, const tare_model *m, const uint64_t *offsets,
                                 tare_error *err) {
    for (size_t i = 0; i < p->catalog.n_tensors; i++) {
        const tare_tensor *meant = p->tensors[i].becomes;
        int64_t at = tare_model_find_tensor(m, meant->name);
        if (at < 0)
            return differs(err, "read back: the tensor is missing", TARE_ITEM_TENSOR, i,
                           meant->name);
        const tare_tensor *found = tare_model_tensor(m, (size_t)at);
        if (!is_same_tensor(meant, found) || !is_at(m, found, offsets[i]))
            return differs(err, "read back: the tensor has another type, shape or place",
                           TARE_ITEM_TENSOR, i, meant->name);
    }
    if (p->catalog.n_tensors != m->catalog.n_tensors)
        return tare_fail(err, TARE_ERR_CHECKSUM, "read back: more tensors than were written");
    return TARE_OK;
}

static tare_status check_adapters(const tare_plan *p, const tare_model *m, const uint64_t *offsets,
                                  tare_error *err) {
    const tare_adapter_set *set = m->adapters;
    for (size_t i = 0; i < p->extras.n_adapters; i++) {
        const tare_stored_adapter *meant = &p->extras.adapters[i];
        const size_t at = p->catalog.n_tensors + 2 * i;
        const tare_adapter *found = tare_adapters_at(set, i);
        if (!found || !tare_str_equal(found->name, meant->name) || found->scale != meant->scale ||
            !is_same_tensor(found->a, &p->catalog.tensors[at]) ||
            !is_same_tensor(found->b, &p->catalog.tensors[at + 1]) ||
            !is_at(m, found->a, offsets[at]) || !is_at(m, found->b, offsets[at + 1]))
            return differs(err, "read back: the adapter is missing or another", TARE_ITEM_ADAPTER,
                           i, meant->name);
    }
    if (p->extras.n_adapters != tare_adapters_count(set))
        return tare_fail(err, TARE_ERR_CHECKSUM, "read back: more adapters than were written");
    return TARE_OK;
}

/* ---- metadata and resources ------------------------------------------------------------------ */

/* An entry with the same space and key; its position in the plan is tried first. */
static const tare_metadata *find_entry(const tare_model *m, const tare_metadata *e, size_t hint) {
    const tare_catalog *c = &m->catalog;
    for (size_t i = 0; i < c->n_metadata; i++) {
        const tare_metadata *found = &c->metadata[(hint + i) % c->n_metadata];
        if (found->space == e->space && tare_str_equal(found->key, e->key)) return found;
    }
    return NULL;
}

static tare_status check_metadata(const tare_plan *p, const tare_model *m, tare_error *err) {
    const tare_catalog *c = &p->catalog;
    for (size_t i = 0; i < c->n_metadata; i++) {
        const tare_metadata *e = &c->metadata[i];
        if (tare_str_is(e->key, TARE_STAND_IN_KEY)) continue; /* the tensors told of it */
        const tare_metadata *found = find_entry(m, e, i);
        if (!found || !tare_value_equal(&found->value, &e->value))
            return differs(err, "read back: the value is missing or another", TARE_ITEM_KEY, i,
                           e->key);
    }
    return TARE_OK;
}

/* The expected bytes of a resource: the plan's own, or those of the input. */
static tare_status read_meant(const tare_plan *p, size_t i, uint64_t from, uint8_t *buf, size_t n,
                              tare_error *err) {
    const uint8_t *bytes = p->catalog.resources[i].bytes;
    if (!bytes) return tare_resource_read(buf, p->in, i, from, n, err);
    memcpy(buf, bytes + from, n);
    return TARE_OK;
}

static tare_status check_resource(const tare_plan *p, size_t i, const tare_model *m, uint8_t *buf,
                                  size_t size, tare_error *err) {
    const tare_resource *meant = &p->catalog.resources[i].info;
    int64_t at = tare_model_find_resource(m, meant->name);
    if (at < 0 || tare_model_resource(m, (size_t)at)->size != meant->size)
        return differs(err, "read back: the resource is missing or of another size",
                       TARE_ITEM_RESOURCE, i, meant->name);
    for (uint64_t from = 0; from < meant->size; from += size / 2) {
        size_t n = (size_t)tare_min_u64(size / 2, meant->size - from);
        TARE_TRY(read_meant(p, i, from, buf, n, err));
        TARE_TRY(tare_resource_read(buf + size / 2, m, (size_t)at, from, n, err));
        if (memcmp(buf, buf + size / 2, n) != 0)
            return differs(err, "read back: the resource has other bytes", TARE_ITEM_RESOURCE, i,
                           meant->name);
    }
    return TARE_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

#define BUFFER_SIZE ((size_t)1 << 17)

tare_status tare_convert_check_model(const tare_plan *p, const tare_model *m, tare_error *err) {
    const tare_allocator *a = p->options.context->allocator;
    uint64_t *offsets = tare_alloc(a, tare_plan_n_stored(p) * sizeof *offsets);
    uint8_t *buf = tare_alloc(a, BUFFER_SIZE);
    tare_status status = TARE_OK;
    if (!offsets || !buf) status = tare_fail(err, TARE_ERR_NOMEM, "reading back");
    if (status == TARE_OK) places(offsets, p);
    if (status == TARE_OK) status = check_tensors(p, m, offsets, err);
    if (status == TARE_OK) status = check_adapters(p, m, offsets, err);
    if (status == TARE_OK) status = check_metadata(p, m, err);
    for (size_t i = 0; status == TARE_OK && i < p->catalog.n_resources; i++)
        status = check_resource(p, i, m, buf, BUFFER_SIZE, err);
    tare_free(a, offsets, tare_plan_n_stored(p) * sizeof *offsets);
    tare_free(a, buf, BUFFER_SIZE);
    return status;
}

/* A set of shards is opened by its first file, a directory format by the directory. */
static tare_status open_directory(tare_model **out, const tare_plan *p, const tare_outset *set,
                                  const tare_open_options *options, tare_error *err) {
    const char *dir = tare_outset_directory(set);
    if (p->format->is_directory) return tare_open_path(out, dir, options, err);
    const char *name = p->files.files[0].name;
    size_t size = strlen(dir) + strlen(name) + 2;
    char *path = tare_alloc(p->options.context->allocator, size);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "output path");
    snprintf(path, size, "%s/%s", dir, name);
    tare_status status = tare_open_path(out, path, options, err);
    tare_free(p->options.context->allocator, path, size);
    return status;
}

tare_status tare_convert_check(const tare_plan *plan, tare_outset *set, tare_error *err) {
    tare_open_options options = tare_open_options_default();
    options.stored = true;
    tare_source source = {.size = sizeof(tare_source),
                          .kind = TARE_SOURCE_FD,
                          .name = plan->out_path,
                          .fd = tare_outset_fd(set)};
    tare_model *m;
    const tare_context context = {.size = sizeof context,
                                  .allocator = plan->options.context->allocator,
                                  .limits = &plan->limits};
    options.context = &context;
    options.format = plan->format->name;
    if (plan->files.is_directory)
        TARE_TRY(open_directory(&m, plan, set, &options, err));
    else
        TARE_TRY(tare_model_open(&m, &source, &options, err));
    tare_status status = tare_convert_check_model(plan, m, err);
    tare_model_free(m);
    return status;
}
