/* SPDX-License-Identifier: MIT
 *
 * A read job as a grid: evenly spaced cells of a tensor along a few axes, and the destination of
 * each. Whole tensors, ranges of planes and boxes of any step and stride are all grids. */
#ifndef TARE_OPS_READ_BOX_H
#define TARE_OPS_READ_BOX_H

#include <tare/read.h>

#include "model/catalog.h"

typedef struct tare_axis {
    uint64_t count; /* positions, at least 1 unless the grid is empty */
    uint64_t step;  /* cells of the tensor between two of them */
    int64_t stride; /* bytes of dst */
} tare_axis;

typedef struct tare_grid {
    const tare_model *m;
    size_t tensor;
    const tare_tensor *t;
    tare_encoding_id as; /* UNKNOWN: stored, bytes of `plane` */
    uint32_t plane;      /* of elements, in any case where there is one */
    size_t width;        /* bytes of a cell in dst: an element, a unit of the plane, or a byte */
    uint64_t n_cells;
    uint64_t first;  /* the lowest cell; the tensor's are numbered row by row */
    uint8_t *dst;    /* where it goes */
    unsigned n_axes; /* at least 1; the last is the fastest, with steps that are smaller than those
                        before it unless rows are read several times over */
    tare_axis axes[TARE_MAX_DIMS];
} tare_grid;

/* Checks a job and makes its grid; axes that continue each other become one. */
tare_status tare_grid_make(tare_grid *out, const tare_model *m, const tare_read_job *job,
                           tare_error *err);
/* Cells [first, first + n) of the tensor, contiguously. */
tare_status tare_grid_read(void *out, const tare_grid *grid, uint64_t first, uint64_t n,
                           tare_error *err);
/* Where a cell is stored, in its file; ascending with the cells. */
uint64_t tare_grid_place(const tare_grid *grid, uint64_t cell);

#endif
