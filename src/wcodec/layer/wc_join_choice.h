/* SPDX-License-Identifier: MIT
 *
 * Whether the values of a small tensor are joined, by what they are. */
#ifndef TARE_WCODEC_LAYER_WC_JOIN_CHOICE_H
#define TARE_WCODEC_LAYER_WC_JOIN_CHOICE_H

#include "wcodec/layer/wc_cut.h"

/* Whether a tensor should be cut with joins_small: without it values of 5 bits stay in two streams,
 * and by their entropy they need fewer bytes in one. Reads all of a region, of 1.25 MiB at most,
 * and nothing if there is no choice. */
tare_status tare_wc_joining_pays(bool *out, const tare_encoding *encoding,
                                 const uint64_t *plane_bytes, const uint64_t *dims, uint32_t n_dims,
                                 bool is_big_endian, const tare_wc_effort *effort,
                                 const tare_wc_source *source, tare_error *err);

#endif
