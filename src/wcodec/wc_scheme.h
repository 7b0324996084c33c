/* SPDX-License-Identifier: MIT
 *
 * The result of a stream's tally: its head, and how to code with it. */
#ifndef TARE_WCODEC_SCHEME_H
#define TARE_WCODEC_SCHEME_H

#include "wcodec/wc_direct_encode.h"
#include "wcodec/wc_tally.h"

struct tare_wc_scheme {
    tare_wc_head head;
    tare_wc_options options;
    tare_arena arena;
    uint8_t n_direct_t16; /* tables of 16 symbols that stand before those of contexts */
    bool has_direct[TARE_WC_PREDICTIONS], has_tiles;
    bool is_surprised; /* by segments that are not constant: all that were counted are */
    tare_wc_direct_scheme direct[TARE_WC_PREDICTIONS];
    tare_wc_inverse *inverses64, *inverses16; /* of the head's tables */
};

#endif
