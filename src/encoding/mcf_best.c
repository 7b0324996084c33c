/* SPDX-License-Identifier: MIT
 *
 * The searching encoders of MCF's types, for any CPU. */
#include "encoding/mcf_best.h"

void tare_kernels_init_mcf_best(tare_kernels *k) {
    mcf_use_best(k);
}
