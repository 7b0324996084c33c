/* SPDX-License-Identifier: MIT
 *
 * The checks that verify makes on the records of a list plane. */
#ifndef TARE_OPS_INSPECT_VERIFY_RECORDS_H
#define TARE_OPS_INSPECT_VERIFY_RECORDS_H

#include "model/catalog.h"

/* Adds findings to the report: records about no element of the tensor ("data.record"), several
 * about one ("data.duplicate"). is_factor: of an adapter, each of which has two tensors. Works in
 * `scratch`, whatever the number of records and elements. */
tare_status tare_verify_records(const tare_model *model, size_t tensor, bool is_factor,
                                tare_report *report, uint8_t *scratch, size_t scratch_size,
                                tare_error *err);

#endif
