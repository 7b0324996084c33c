/* SPDX-License-Identifier: MIT
 *
 * Symbols of a block of 256 positions to values, with the bits that bypass the entropy coder: what
 * tare_wc_emit_c does step by step. All values of the block are written. A file of one instruction
 * set defines first
 *
 *     vec, VEC_BYTES           a vector of bytes; a step is one or more
 *     v_load, v_store, v_all   from memory, to memory, a byte repeated
 *     v_up, v_down             words shifted
 *     v_or, v_and, v_xor, v_sub_bytes
 *     v_or_and(a, b, c)        a | b & c
 *     v_choose(a, b, c)        a & b | ~a & c
 *     v_store_words            bytes of words from their lower and their upper ones
 *     table, load_table        of 64 bytes
 *     look_up_in               bytes of a table
 *     edge_values              as tare_wc_edge_value
 *     emit_sixes               values of 6 bits
 *
 * Words are shifted, as there is no shift of bytes: what comes in from the neighbour is masked. */
#ifndef TARE_WCODEC_EMIT_H
#define TARE_WCODEC_EMIT_H

#include "wcodec/wc_trellis.h"
#include "wcodec/x86/wc_block.h"

/* What all blocks of a job need: both bytes of the tops, in place, by symbol; which of the bypass
 * bits stay where they are; how far the first one moves to become the sign. With a trellis the
 * state that follows, by state and 32 for an odd symbol. */
typedef struct maker {
    table top[2], next;
    vec keep[2], sign;
    unsigned to_sign;
} maker;

static inline maker maker_of(const tare_wc_job *job) {
    const unsigned k = job->rule->k, is_sign = job->rule->form == TARE_WC_SIGN;
    const unsigned keep = (1u << (k - is_sign)) - 1;
    uint8_t top[2][64], next[64];
    maker m;
    for (uint8_t i = 0; i < 64; i++) {
        unsigned in_place = (unsigned)job->rule->map[i] << (k - is_sign);
        top[0][i] = (uint8_t)in_place;
        top[1][i] = (uint8_t)(in_place >> 8);
        next[i] = tare_wc_trellis_next(job->rule->trellis, i % 32, i / 32);
    }
    for (unsigned i = 0; i < 2; i++) {
        m.top[i] = load_table(top[i]);
        m.keep[i] = v_all((uint8_t)(keep >> 8 * i));
    }
    m.next = load_table(next);
    m.sign = v_all((uint8_t)(is_sign << 7));
    m.to_sign = k > 8 ? 16 - k : 8 - k;
    return m;
}

static inline void emit_nibbles(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    for (unsigned i = 0; i < WC_BLOCK / 2; i += VEC_BYTES) {
        const uint8_t *at = symbols + i / TARE_WC_LANES * 2 * TARE_WC_LANES + i % TARE_WC_LANES;
        vec upper = v_up(v_load(at + TARE_WC_LANES), 4);
        v_store(job->dst + p / 2 + i, v_or(v_load(at), upper));
    }
}

/* ---- bypass bits ----------------------------------------------------------------------------- */

/* Bits of positions from p on, in the low bits of bytes; above them stands anything. */
static ALWAYS_INLINE vec group_raw(const uint8_t *group, uint32_t p, unsigned width) {
    unsigned shift;
    uint32_t in_step = p % TARE_WC_LANES;
    const uint8_t *bytes = group + tare_wc_group_at(width, p - in_step, &shift) + in_step;
    return v_down(v_load(bytes), shift);
}

static ALWAYS_INLINE vec group_bits(const uint8_t *group, uint32_t p, unsigned width) {
    return v_and(group_raw(group, p, width), v_all((uint8_t)((1 << width) - 1)));
}

/* ---- values of 8 bits ------------------------------------------------------------------------ */

/* One group has all bits, and the symbol is the top. */
static ALWAYS_INLINE void emit_plain(const tare_wc_job *job, uint32_t p, const uint8_t *symbols,
                                     const unsigned width, const tare_wc_form form) {
    const vec keep = v_all((uint8_t)((1 << width) - 1));
    for (unsigned i = 0; i < WC_BLOCK; i += VEC_BYTES) {
        vec low = group_raw(job->groups[0], p + i, width);
        vec v = v_choose(keep, low, v_up(v_load(symbols + i), width));
        v_store(job->dst + p + i, form == TARE_WC_EDGE ? edge_values(v) : v);
    }
}

static ALWAYS_INLINE vec low_bytes(const tare_wc_job *job, uint32_t p) {
    unsigned place = job->rule->k;
    vec low = v_all((uint8_t)job->fill);
    for (unsigned g = 0; g < job->n_groups; g++) {
        place -= job->widths[g];
        low = v_or(low, v_up(group_bits(job->groups[g], p, job->widths[g]), place));
    }
    return low;
}

static inline void emit_bytes(const tare_wc_job *job, const maker *m, uint32_t p,
                              const uint8_t *symbols) {
    for (unsigned i = 0; i < WC_BLOCK; i += VEC_BYTES) {
        vec low = low_bytes(job, p + i), top = look_up_in(&m->top[0], v_load(symbols + i));
        vec v = v_or_and(top, low, m->keep[0]);
        v_store(job->dst + p + i, v_or_and(v, v_up(low, m->to_sign), m->sign));
    }
}

static inline void emit_trellis(tare_wc_job *job, const maker *m, uint32_t p,
                                const uint8_t *symbols) {
    const vec one = v_all(1), two = v_all(2), odd_symbol = v_all(32);
    for (unsigned lane = 0; lane < TARE_WC_LANES; lane += VEC_BYTES) {
        vec state = v_load(job->trellis + lane);
        for (unsigned i = lane; i < WC_BLOCK; i += TARE_WC_LANES) {
            vec symbol = v_load(symbols + i);
            vec sign = v_sub_bytes(one, v_and(v_up(state, 1), two));
            v_store(job->dst + p + i, v_xor(v_up(symbol, 2), sign));
            state = look_up_in(&m->next, v_or_and(state, v_up(symbol, 5), odd_symbol));
        }
        v_store(job->trellis + lane, state);
    }
}

/* ---- values of 16 bits ----------------------------------------------------------------------- */

/* Both bytes of the k bypass bits of positions from p on, of which n groups are read. */
static ALWAYS_INLINE void low_words(vec low[2], const tare_wc_job *job, uint32_t p,
                                    const unsigned k, const unsigned n) {
    low[0] = v_all((uint8_t)job->fill);
    low[1] = v_all((uint8_t)(job->fill >> 8));
    for (unsigned g = 0, place = k; g < n; g++) {
        unsigned width = place >= 4 ? 4 : place >= 2 ? 2 : 1, end = place;
        place -= width;
        vec bits = group_bits(job->groups[g], p, width);
        if (end > 8) {
            vec upper = place > 8 ? v_up(bits, place - 8) : v_down(bits, 8 - place);
            if (place < 8) upper = v_and(upper, v_all((uint8_t)((1 << (end - 8)) - 1)));
            low[1] = v_or(low[1], upper);
        }
        if (place >= 8) continue;
        if (end > 8) bits = v_and(bits, v_all((uint8_t)(255 >> place)));
        low[0] = v_or(low[0], v_up(bits, place));
    }
}

static ALWAYS_INLINE void emit_words_of(const tare_wc_job *job, const maker *m, uint32_t p,
                                        const uint8_t *symbols, const unsigned k,
                                        const unsigned n) {
    for (unsigned i = 0; i < WC_BLOCK; i += VEC_BYTES) {
        vec low[2], bytes[2], symbol = v_load(symbols + i);
        low_words(low, job, p + i, k, n);
        for (unsigned h = 0; h < 2; h++)
            bytes[h] = v_or_and(look_up_in(&m->top[h], symbol), low[h], m->keep[h]);
        bytes[1] = v_or_and(bytes[1], v_up(low[k > 8], m->to_sign), m->sign);
        v_store_words(job->dst + 2 * (size_t)(p + i), bytes[0], bytes[1]);
    }
}

/* The usual numbers of bypass bits, all of them read, have code of their own: constant shifts. */
static inline void emit_words(const tare_wc_job *job, const maker *m, uint32_t p,
                              const uint8_t *symbols) {
    const unsigned k = job->rule->k, n = job->n_groups;
    if (k == 6 && n == 2)
        emit_words_of(job, m, p, symbols, 6, 2);
    else if (k == 7 && n == 3)
        emit_words_of(job, m, p, symbols, 7, 3);
    else if (k == 8 && n == 2)
        emit_words_of(job, m, p, symbols, 8, 2);
    else if (k == 9 && n == 3)
        emit_words_of(job, m, p, symbols, 9, 3);
    else
        emit_words_of(job, m, p, symbols, k, n);
}

#endif
