/* SPDX-License-Identifier: MIT
 *
 * Turns a write plan into the bytes of its files, in memory, the slow and plain way: for tests of
 * the writers alone. Tensors are taken from the source model as they are. */
#ifndef TARE_UNIT_PLAN_BYTES_H
#define TARE_UNIT_PLAN_BYTES_H

#include <stdlib.h>
#include <string.h>

#include "model/write_plan.h"

/* The bytes of file `file` of the plan; free them. NULL: something could not be read. */
static inline uint8_t *plan_bytes(const tare_write_plan *plan, const tare_model *source,
                                  uint32_t file) {
    size_t size = (size_t)plan->files[file].size;
    uint8_t *bytes = calloc(size ? size : 1, 1);
    bool ok = bytes != NULL;
    for (size_t i = 0; ok && i < plan->n_extents; i++) {
        const tare_extent *e = &plan->extents[i];
        if (e->file != file) continue;
        ok = e->offset <= size && e->size <= size - e->offset;
        uint8_t *to = bytes + e->offset;
        size_t n = (size_t)e->size;
        if (!ok) break;
        if (e->kind == TARE_EXTENT_BYTES) {
            memcpy(to, e->bytes, n);
        } else if (e->kind == TARE_EXTENT_TENSOR) {
            const tare_encoding *encoding = source->catalog.tensors[e->item].encoding;
            ok = tare_tensor_read(to, source, e->item, e->plane, 0, n, NULL) == TARE_OK;
            const tare_plane_info *info = &encoding->planes[e->plane];
            tare_rows_mut rows = {.n_rows = 1, .cols = e->size / info->unit_bytes * info->unit};
            rows.planes[e->plane] = to;
            if (ok && plan->is_big_endian && encoding->kind != TARE_KIND_UNKNOWN)
                tare_swap_rows(&rows, encoding);
        } else if (e->kind == TARE_EXTENT_RESOURCE) {
            ok = tare_resource_read(to, source, e->item, 0, n, NULL) == TARE_OK;
        } else {
            ok = tare_reader_read(&source->files[e->item].reader, e->source_offset, to, n, NULL) ==
                 TARE_OK;
        }
    }
    if (ok) return bytes;
    free(bytes);
    return NULL;
}

#endif
