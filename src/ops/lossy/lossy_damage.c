/* SPDX-License-Identifier: MIT
 *
 * What the loss of a tensor damages: its relative error, times a constant of the tensor. The
 * constant is its share of all weights that may lose something, as long as nothing more is known. */
#include "ops/lossy/lossy.h"

tare_status tare_lossy_weigh(tare_lossy_run *r, tare_error *err) {
    double sum = 0;
    (void)err;
    for (size_t i = 0; i < r->n_targets; i++) sum += (double)r->targets[i].n;
    for (size_t i = 0; i < r->n_targets; i++) r->targets[i].alpha = (double)r->targets[i].n / sum;
    return TARE_OK;
}
