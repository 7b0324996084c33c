/* SPDX-License-Identifier: MIT
 *
 * From a sketch to the stored bytes of a STRUCTURED segment. */
#include "wcodec/wc_structured_encode.h"

#include "wcodec/wc_lanes.h"

/* Puts the symbols backwards. False: a symbol that its table does not have. */
static bool put_symbols(tare_wc_put *put, const tare_wc_sketch *sketch, const tare_wc_head *head,
                        const tare_wc_inverse *inverses) {
    uint32_t real = sketch->n_symbols; /* the last symbol before a run of padding */
    for (uint32_t i = sketch->n_symbols; i-- > 0;) {
        bool is_padding = sketch->contexts[i] == TARE_WC_PADDING;
        if (is_padding && real > i) {
            real = i;
            while (sketch->contexts[real] == TARE_WC_PADDING) real--;
        }
        if (!is_padding) real = i;
        const tare_wc_inverse *v = &inverses[head->contexts[sketch->contexts[real]]];
        uint8_t symbol = is_padding ? v->table->cheapest : sketch->symbols[i];
        if (!v->table->freq[symbol]) return false;
        tare_wc_put_symbol(put, i % TARE_WC_LANES, symbol, v);
    }
    return true;
}

bool tare_wc_structured_encode(uint8_t *dst, uint32_t *size, tare_wc_segment *s,
                               const tare_wc_head *head, const tare_wc_inverse *inverses,
                               const tare_wc_sketch *sketch, uint32_t n_bytes,
                               tare_wc_scratch *scratch, tare_status *status) {
    /* Bytes: half of the symbols, a word each. */
    size_t per_stream = sketch->n_symbols + 2 * TARE_WC_SPARE_WORDS;
    uint32_t n_raw = (uint32_t)((sketch->n_raw + 7) / 8);
    uint8_t *words = tare_wc_scratch_take(scratch, TARE_WC_SKETCH_WORDS, 2 * per_stream);
    tare_wc_put put;
    *status = words ? TARE_OK : TARE_ERR_NOMEM;
    if (!words || sketch->magnitude_bits > head->max_magnitude) return false;
    tare_wc_put_init(&put, words + per_stream, words + 2 * per_stream);
    if (!put_symbols(&put, sketch, head, inverses)) return false;
    s->rule = sketch->shape;
    s->table = sketch->magnitude_bits;
    s->option = sketch->is_signed;
    s->extent = sketch->width;
    s->count = n_raw;
    s->size_a = tare_wc_put_words(&put, 0);
    s->size_b = tare_wc_put_words(&put, 1);
    uint64_t end = TARE_WC_SEGMENT_HEADER + TARE_WC_STATES + n_raw;
    end += 2 * ((uint64_t)s->size_a + s->size_b);
    uint64_t aligned = (end + TARE_CODED_UNIT - 1) / TARE_CODED_UNIT * TARE_CODED_UNIT;
    if (aligned > tare_wc_max_stored(n_bytes)) return false;
    uint8_t *at = tare_wc_put_write(&put, dst + TARE_WC_SEGMENT_HEADER);
    memcpy(at, sketch->raw, n_raw);
    memset(dst + end, 0, (size_t)(aligned - end));
    *size = (uint32_t)aligned;
    return true;
}
