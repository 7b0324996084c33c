/* SPDX-License-Identifier: MIT
 *
 * Write plans grow in the caller's arena: lists double, and the outgrown copies are freed with the
 * arena. */
#include "model/write_plan.h"

#include <string.h>

#include "base/str.h"

bool tare_metadata_is_spare(const tare_metadata *m) {
    return m->space == TARE_KEYS_MODEL && tare_str_is(m->key, TARE_SPARE_KEY);
}

bool tare_metadata_is_split(const tare_metadata *m) {
    return m->space == TARE_KEYS_MODEL &&
           (tare_str_is(m->key, "split.no") || tare_str_is(m->key, "split.count") ||
            tare_str_is(m->key, "split.tensors.count"));
}

/* Room for one more item; the list moves within the arena when it is full. */
static void *grow(tare_arena *arena, void *items, size_t n, size_t *capacity, size_t item_size) {
    if (n < *capacity) return items;
    size_t wanted = *capacity ? *capacity * 2 : 8;
    void *moved = tare_arena_array(arena, wanted, item_size);
    if (!moved) return NULL;
    if (n > 0) memcpy(moved, items, n * item_size);
    *capacity = wanted;
    return moved;
}

tare_status tare_write_plan_add_file(tare_write_plan *p, const char *name, uint32_t *index,
                                     tare_error *err) {
    if (p->n_files >= UINT32_MAX) return tare_fail(err, TARE_ERR_LIMIT, "number of output files");
    tare_write_file *files =
        grow(p->arena, p->files, p->n_files, &p->files_capacity, sizeof *files);
    if (!files) return tare_fail(err, TARE_ERR_NOMEM, "output files");
    p->files = files;
    const char *kept = NULL;
    if (name) {
        kept = tare_arena_str(p->arena, tare_str_of(name)).ptr;
        if (!kept) return tare_fail(err, TARE_ERR_NOMEM, "output files");
    }
    *index = (uint32_t)p->n_files;
    files[p->n_files++] = (tare_write_file){.name = kept};
    return TARE_OK;
}

tare_status tare_write_plan_add(tare_write_plan *p, const tare_extent *extent, tare_error *err) {
    tare_extent *extents =
        grow(p->arena, p->extents, p->n_extents, &p->extents_capacity, sizeof *extents);
    if (!extents) return tare_fail(err, TARE_ERR_NOMEM, "output extents");
    p->extents = extents;
    extents[p->n_extents++] = *extent;
    return TARE_OK;
}
