/* SPDX-License-Identifier: MIT
 *
 * Checks of a conversion's result, in addition to that of its bytes. */
#ifndef TARE_OPS_CONVERT_CONVERSION_H
#define TARE_OPS_CONVERT_CONVERSION_H

#include "base/outfile.h"
#include "ops/convert/plan.h"
#include "ops/steps.h"

/* Opens what was written as any reader would and compares it with the plan: tensors (name, type,
 * shape, place), metadata, resources. CHECKSUM: they differ. */
tare_status tare_convert_check(const tare_plan *plan, tare_outset *set, tare_error *err);
/* The same for an open model. */
tare_status tare_convert_check_model(const tare_plan *plan, const tare_model *m, tare_error *err);
/* Packs the output of a plan whose format requires it; `made` holds what the plan lays out. *size:
 * of the output. */
tare_status tare_convert_pack(uint64_t *size, const tare_plan *plan, const tare_outset *made,
                              tare_steps *steps, tare_error *err);
/* Bytes that its progress counts. */
uint64_t tare_convert_pack_work(const tare_plan *plan);

#endif
