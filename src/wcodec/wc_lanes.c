/* SPDX-License-Identifier: MIT
 *
 * Beginning and end of the 64 lanes. */
#include "wcodec/wc_lanes.h"

#define FIRST_STATE UINT32_C(0x10000)

void tare_wc_lanes_init(tare_wc_lanes *l, const uint8_t *states, uint32_t n_a, uint32_t n_b) {
    for (unsigned i = 0; i < TARE_WC_LANES; i++) l->x[i] = tare_load_le32(states + 4 * i);
    l->words[0] = states + TARE_WC_STATES;
    l->words[1] = l->words[0] + 2 * (size_t)n_a;
    l->left[0] = n_a;
    l->left[1] = n_b;
    l->has_run_out = false;
}

bool tare_wc_lanes_can_begin(const tare_wc_lanes *l) {
    for (unsigned i = 0; i < TARE_WC_LANES; i++)
        if (l->x[i] < FIRST_STATE) return false;
    return true;
}

bool tare_wc_lanes_have_ended(const tare_wc_lanes *l) {
    uint32_t differs = 0;
    for (unsigned i = 0; i < TARE_WC_LANES; i++) differs |= l->x[i] ^ FIRST_STATE;
    return !differs && !l->has_run_out && !l->left[0] && !l->left[1];
}

void tare_wc_put_init(tare_wc_put *p, uint8_t *end_a, uint8_t *end_b) {
    for (unsigned i = 0; i < TARE_WC_LANES; i++) p->x[i] = FIRST_STATE;
    p->words[0] = p->ends[0] = end_a;
    p->words[1] = p->ends[1] = end_b;
}

uint8_t *tare_wc_put_write(const tare_wc_put *p, uint8_t *dst) {
    for (unsigned i = 0; i < TARE_WC_LANES; i++) tare_store_le32(dst + 4 * i, p->x[i]);
    dst += TARE_WC_STATES;
    for (unsigned s = 0; s < 2; s++) {
        size_t n = (size_t)(p->ends[s] - p->words[s]);
        if (n) memcpy(dst, p->words[s], n);
        dst += n;
    }
    return dst;
}
