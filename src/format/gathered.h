/* SPDX-License-Identifier: MIT
 *
 * Tensors, keys and what is left out, as a driver finds them in a file that does not say how many there
 * are. */
#ifndef TARE_FORMAT_GATHERED_H
#define TARE_FORMAT_GATHERED_H

#include "format/strided.h"

typedef struct tare_gathered {
    tare_model *m;
    tare_report *report;
    const char *code; /* static: of findings about what is left out */
    tare_strided_tensor *tensors;
    size_t n_tensors, tensors_capacity;
    tare_metadata *metadata;
    size_t n_metadata, metadata_capacity;
    tare_left_out *left_out;
    size_t n_left_out, left_out_capacity;
} tare_gathered;

/* Room for one more tensor, g->tensors[g->n_tensors]: whoever fills it counts it. LIMIT: with what is
 * left out they are too many. NOMEM. */
tare_status tare_gather_tensor(tare_gathered *g, uint64_t offset, tare_error *err);
tare_status tare_gather_key(tare_gathered *g, const tare_metadata *entry, tare_error *err);
/* What is said elsewhere. */
tare_status tare_gather_left(tare_gathered *g, const tare_left_out *left, tare_error *err);
/* And says it, under g->code. `why` is static. */
tare_status tare_gather_left_out(tare_gathered *g, tare_str name, const char *why, uint64_t offset,
                                 tare_error *err);
/* Adds the keys and what is left out to those that the model has. */
tare_status tare_gathered_end(const tare_gathered *g, tare_error *err);
void tare_gathered_free(tare_gathered *g);

#endif
