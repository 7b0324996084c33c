/* SPDX-License-Identifier: MIT
 *
 * What a pass over all data tells of whole files: whether one is what its name says, and whether
 * the end of one was never written. */
#ifndef TARE_OPS_INSPECT_VERIFY_FILES_H
#define TARE_OPS_INSPECT_VERIFY_FILES_H

#include "ops/item_walk.h"

/* The bytes that are 0 at the end of a tensor's data. */
typedef struct tare_zero_run {
    uint64_t n, size;
} tare_zero_run;

/* Goes on with the run at the next bytes of a tensor. */
void tare_zero_run_add(tare_zero_run *run, const uint8_t *bytes, size_t n);
/* Reports matrices that are 0 altogether, and files that end in a run of zeros over several
 * tensors. `runs`: of all tensors of the model, size 0 where nothing was read. */
tare_status tare_verify_zeros(const tare_model *model, const tare_zero_run *runs,
                              tare_report *report, tare_error *err);

/* Whether the path of a model's file ends in a SHA-256, links followed; then its bytes have it. */
bool tare_has_named_digest(const tare_model *model, size_t file, uint8_t digest[32]);
/* Compares all bytes of such a file with it. */
tare_status tare_verify_named_digest(const tare_model *model, size_t file, tare_report *report,
                                     const tare_walk_job *job, tare_error *err);

#endif
