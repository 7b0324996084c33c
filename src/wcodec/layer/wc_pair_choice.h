/* SPDX-License-Identifier: MIT
 *
 * Whether two codes of 4 bits are one value, by what they are. */
#ifndef TARE_WCODEC_LAYER_WC_PAIR_CHOICE_H
#define TARE_WCODEC_LAYER_WC_PAIR_CHOICE_H

#include "wcodec/layer/wc_cut.h"

/* Whether a tensor should be cut with pairs_codes: by a sample of its codes, pairs of them need
 * fewer bytes. That is so where nearly all codes are the same, since each symbol costs a little
 * beside its entropy, and a segment's frame counts half. Differences from a base are not of
 * pairs. Reads nothing if there is no choice. */
tare_status tare_wc_pairing_pays(bool *out, const tare_encoding *encoding,
                                 const uint64_t *plane_bytes, const uint64_t *dims, uint32_t n_dims,
                                 const tare_wc_effort *effort, const tare_wc_source *source,
                                 tare_error *err);

#endif
