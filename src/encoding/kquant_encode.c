/* SPDX-License-Identifier: MIT
 *
 * The encoders of the K formats on the scalar searches. */
#include "encoding/kquant_encode.h"

TARE_DEFINE_K_ENCODERS(&tare_searches_c)

void tare_kernels_init_kquant_encode(tare_kernels *k) {
    use_k_encoders(k);
}
