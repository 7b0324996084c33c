/* SPDX-License-Identifier: MIT
 *
 * A bit of the number of a value is one of the step or one inside it, and a bit of the number of its
 * high bits is one of their place in a byte or one of that byte. So there are four kinds. */
#include "wcodec/wc_join_pieces.h"

/* How many numbers of high bits a byte has, log2. */
static unsigned log2_in_byte(const tare_coded_join *join) {
    return join->high_bits == 2 ? 2 : 3;
}

unsigned tare_wc_join_tops_log2(const tare_coded_join *join, unsigned log2_step) {
    unsigned n = 0;
    for (unsigned b = log2_step; b < join->log2_values; b++)
        n += join->place[b] >= log2_in_byte(join);
    return n;
}

static void set_value(tare_wc_join_pieces *out, const tare_coded_join *join, unsigned log2_step,
                      unsigned value) {
    const unsigned in_byte = log2_in_byte(join);
    unsigned byte = 0, piece = 0, shift = 0, top = 0, at = 0, n_piece = 0, n_top = 0;
    for (unsigned b = 0; b < join->log2_values; b++) {
        const unsigned bit = value >> b & 1, place = join->place[b];
        const bool is_step = b >= log2_step, is_in_byte = place < in_byte;
        if (!is_in_byte) byte |= bit << (place - in_byte);
        if (is_step && is_in_byte) at |= bit << place;
        if (is_step && !is_in_byte) top |= bit << n_top++;
        if (is_step || !is_in_byte) continue;
        shift |= bit << place;
        piece |= bit << n_piece++;
    }
    out->n_tops = 1u << n_top;
    out->n_pieces = 1u << n_piece;
    out->top[value >> log2_step] = (uint8_t)top;
    out->at[value >> log2_step] = (uint8_t)(at * join->high_bits);
    out->shift[piece] = (uint8_t)(shift * join->high_bits);
    out->from[piece][byte] = (uint8_t)(top << log2_step | (value & ((1u << log2_step) - 1)));
}

void tare_wc_join_pieces_of(tare_wc_join_pieces *out, const tare_coded_join *join,
                            unsigned log2_step) {
    *out = (tare_wc_join_pieces){0};
    for (unsigned v = 0; v < 1u << join->log2_values; v++) set_value(out, join, log2_step, v);
}
