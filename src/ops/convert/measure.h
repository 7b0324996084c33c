/* SPDX-License-Identifier: MIT
 *
 * What encoding loses, measured while it is done: each chunk is decoded again and compared with the
 * values it was made from. */
#ifndef TARE_OPS_CONVERT_MEASURE_H
#define TARE_OPS_CONVERT_MEASURE_H

#include "ops/convert/chunks.h"
#include "ops/convert/plan.h"

typedef struct tare_measure tare_measure;

tare_status tare_measure_new(tare_measure **out, const tare_plan *plan, tare_error *err);
void tare_measure_free(tare_measure *m);
/* Compares chunk `index` of tensor `tensor` of the plan with its encoded rows. Called from many
 * threads, once for each chunk; sums do not depend on the order of the calls. */
tare_status tare_measure_chunk(tare_measure *m, size_t tensor, const tare_chunks *chunks,
                               uint64_t index, const tare_chunk *chunk, const tare_rows_mut *rows,
                               tare_scratch *scratch, tare_error *err);
/* Calls the plan's options->measured for every tensor that was measured entirely. */
void tare_measure_report(const tare_measure *m);

#endif
