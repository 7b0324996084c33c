/* SPDX-License-Identifier: MIT
 *
 * Runs a write plan into memory, for tests of the writers: no files, no threads, no conversion. */
#ifndef TARE_TESTS_PLAN_RUNNER_H
#define TARE_TESTS_PLAN_RUNNER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"

/* The bytes of one planned file; tensor i of the plan is tensor i of the source. Free them. */
static inline uint8_t *run_plan_file(const tare_write_plan *p, size_t file,
                                     const tare_model *source) {
    size_t size = (size_t)p->files[file].size;
    uint8_t *bytes = calloc(1, size + 1);
    for (size_t i = 0; i < p->n_extents; i++) {
        const tare_extent *e = &p->extents[i];
        if (e->file != file) continue;
        assert_true(e->offset <= size && e->size <= size - e->offset);
        uint8_t *to = bytes + e->offset;
        tare_status status = TARE_OK;
        if (e->kind == TARE_EXTENT_BYTES) {
            memcpy(to, e->bytes, (size_t)e->size);
        } else if (e->kind == TARE_EXTENT_TENSOR) {
            const tare_plane *plane = &source->catalog.tensors[e->item].planes[e->plane];
            assert_int_equal(plane->size, e->size);
            status = tare_reader_read(&source->files[plane->file].reader, plane->offset, to,
                                      (size_t)e->size, NULL);
        } else if (e->kind == TARE_EXTENT_RESOURCE) {
            status = tare_resource_read(source, e->item, 0, to, (size_t)e->size, NULL);
        } else {
            status = tare_reader_read(&source->files[e->item].reader, e->source_offset, to,
                                      (size_t)e->size, NULL);
        }
        assert_int_equal(status, TARE_OK);
    }
    return bytes;
}

/* Writes all planned files into a directory that exists. */
static inline void run_plan_directory(const tare_write_plan *p, const tare_model *source,
                                      const char *directory) {
    for (size_t i = 0; i < p->n_files; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, p->files[i].name);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        uint8_t *bytes = run_plan_file(p, i, source);
        assert_int_equal(fwrite(bytes, 1, (size_t)p->files[i].size, f), p->files[i].size);
        fclose(f);
        free(bytes);
    }
}

#endif
