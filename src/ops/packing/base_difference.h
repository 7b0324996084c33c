/* SPDX-License-Identifier: MIT
 *
 * How much two tensors differ, judged by samples: for choosing one of several bases. */
#ifndef TARE_OPS_PACKING_BASE_DIFFERENCE_H
#define TARE_OPS_PACKING_BASE_DIFFERENCE_H

#include <tare/model.h>

/* The bits that the differences of sampled bytes have, for tensors of one type and shape: a number
 * to compare with that of another base. The samples are the same for every base. */
tare_status tare_base_difference(uint64_t *out, const tare_model *model, size_t tensor,
                                 const tare_model *base, size_t base_tensor, tare_error *err);

#endif
