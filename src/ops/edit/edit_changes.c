/* SPDX-License-Identifier: MIT
 *
 * The differences between the model and its edited form, for display and for the checks. */
#include <string.h>

#include "base/str.h"
#include "ops/edit/edit_state.h"

typedef struct lister {
    tare_edit *e;
    size_t capacity;
} lister;

static tare_status add(lister *l, const tare_edit_change *change, tare_error *err) {
    tare_edit *e = l->e;
    if (e->summary.n_changes == l->capacity) {
        const size_t capacity = 2 * l->capacity + 16;
        tare_edit_change *more = TARE_NEW_ARRAY(&e->arena, tare_edit_change, capacity);
        if (!more) return tare_fail(err, TARE_ERR_NOMEM, "changes");
        if (e->summary.n_changes) memcpy(more, e->changes, e->summary.n_changes * sizeof *more);
        e->changes = more;
        l->capacity = capacity;
    }
    e->changes[e->summary.n_changes++] = *change;
    return TARE_OK;
}

static bool is_same_key(const tare_metadata *a, const tare_metadata *b) {
    return tare_str_equal(a->key, b->key) && a->value.type == b->value.type &&
           tare_value_equal(&a->value, &b->value);
}

/* Keys in the order of the file, then new ones. */
static tare_status list_keys(lister *l, const tare_edit_part *p, tare_error *err) {
    const tare_catalog *c = &p->model->catalog;
    size_t at = 0; /* what is kept keeps its order */
    for (size_t i = 0; i < c->n_metadata; i++) {
        tare_edit_change change = {.kind = TARE_ITEM_KEY, .old_key = &c->metadata[i]};
        if (tare_metadata_is_spare(change.old_key)) continue;
        if (at < p->n_metadata && p->key_origins[at] == i) change.new_key = &p->metadata[at++];
        if (change.new_key && is_same_key(change.old_key, change.new_key)) continue;
        TARE_TRY(add(l, &change, err));
    }
    for (; at < p->n_metadata; at++) {
        const tare_edit_change change = {.kind = TARE_ITEM_KEY, .new_key = &p->metadata[at]};
        TARE_TRY(add(l, &change, err));
    }
    return TARE_OK;
}

static tare_status list_tensors(lister *l, const tare_edit_part *p, tare_error *err) {
    for (size_t i = 0; i < p->model->catalog.n_tensors; i++) {
        const tare_tensor *t = &p->model->catalog.tensors[i];
        tare_edit_change change = {.kind = TARE_ITEM_TENSOR, .old_tensor = t};
        if (p->names[i].ptr && tare_str_equal(p->names[i], t->name)) continue;
        if (p->names[i].ptr) {
            tare_tensor *now = TARE_NEW(&l->e->arena, tare_tensor);
            if (!now) return tare_fail(err, TARE_ERR_NOMEM, "changes");
            *now = *t;
            now->name = p->names[i];
            change.new_tensor = now;
        }
        TARE_TRY(add(l, &change, err));
    }
    return TARE_OK;
}

static tare_status is_same_resource(bool *out, const tare_edit_part *p, size_t i, tare_error *err) {
    const tare_catalog *c = &p->model->catalog;
    const tare_resource_entry *now = &p->resources[i];
    *out = i < c->n_resources && (now->bytes == c->resources[i].bytes);
    if (*out || i >= c->n_resources || now->info.size != c->resources[i].info.size) return TARE_OK;
    const tare_allocator *a = p->model->allocator;
    const size_t n = (size_t)now->info.size;
    uint8_t *bytes = tare_alloc(a, n + 1);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "resource");
    tare_status status = tare_resource_read(bytes, p->model, i, 0, n, err);
    *out = status == TARE_OK && memcmp(bytes, now->bytes, n) == 0;
    tare_free(a, bytes, n + 1);
    return status;
}

static tare_status list_resources(lister *l, const tare_edit_part *p, tare_error *err) {
    const tare_catalog *c = &p->model->catalog;
    for (size_t i = 0; i < p->n_resources; i++) {
        bool is_same;
        TARE_TRY(is_same_resource(&is_same, p, i, err));
        const tare_edit_change change = {.kind = TARE_ITEM_RESOURCE,
                                         .old_resource =
                                             i < c->n_resources ? &c->resources[i].info : NULL,
                                         .new_resource = &p->resources[i].info};
        if (!is_same) TARE_TRY(add(l, &change, err));
    }
    return TARE_OK;
}

tare_status tare_edit_list_changes(tare_edit *e, tare_error *err) {
    lister l = {.e = e};
    for (size_t i = 0; i < e->n_parts; i++) TARE_TRY(list_keys(&l, &e->parts[i], err));
    for (size_t i = 0; i < e->n_parts; i++) TARE_TRY(list_tensors(&l, &e->parts[i], err));
    for (size_t i = 0; i < e->n_parts; i++) TARE_TRY(list_resources(&l, &e->parts[i], err));
    return TARE_OK;
}
