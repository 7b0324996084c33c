/* SPDX-License-Identifier: MIT
 *
 * Values from the symbols of a step, 64 positions, and the bits that bypass the entropy coder: what
 * tare_wc_emit_c does. All values of the step are written. Shapes are the kinds of values that get
 * their own code, in which numbers of bits and shifts are constants. A file of one instruction set
 * defines first
 *
 *     vec, VEC_BYTES           a vector of bytes; a step is one or more
 *     v_load, v_store, v_all   from memory, to memory, a byte repeated
 *     v_up, v_down             words shifted
 *     v_place(v, from, n, to)  n bits of bytes, from bit `from` on, at bit `to`; others are 0
 *     v_or, v_and, v_add
 *     v_or_and(a, b, c)        a | b & c
 *     v_choose(a, b, c)        a & b | ~a & c
 *     v_store_words            bytes of words from their lower and their upper ones
 *     v_store_sixes            four bytes below 64 in three
 *     table, load_table        of 64 bytes
 *     look_up_in               bytes of a table
 *     ADDS_TO_ROWS             whether adding is faster, where tops are a row of numbers; then no bits of
 *                              symbols are undefined
 *     edge_tables              what v_edge needs; load_edge_tables
 *     v_edge                   tare_wc_edge_value of symbols and of two bits
 *     trellis_tables           what v_trellis needs; load_trellis_tables
 *     v_trellis_in, v_trellis_out  states in the layout that v_trellis works on, and back
 *     v_trellis                tare_wc_trellis_value of states and symbols, and the states that follow
 *
 * Words are shifted, as there is no shift of bytes: what comes in from the neighbour is masked. */
#ifndef TARE_WCODEC_SIMD_WC_EMIT_H
#define TARE_WCODEC_SIMD_WC_EMIT_H

#include "wcodec/simd/wc_block.h"

enum { STEP_VECS = TARE_WC_LANES / VEC_BYTES };

/* Symbols of a step, in the lower bits of bytes; the bits above are undefined. */
typedef struct symbols {
    vec v[STEP_VECS];
} symbols;

static ALWAYS_INLINE symbols zero_symbols(void) {
    symbols s;
    for (unsigned i = 0; i < STEP_VECS; i++) s.v[i] = v_all(0);
    return s;
}

static ALWAYS_INLINE symbols load_symbols(const uint8_t *from) {
    symbols s;
    for (unsigned i = 0; i < STEP_VECS; i++) s.v[i] = v_load(from + i * VEC_BYTES);
    return s;
}

static ALWAYS_INLINE void store_symbols(uint8_t *to, symbols s, unsigned alphabet) {
    for (unsigned i = 0; i < STEP_VECS; i++)
        v_store(to + i * VEC_BYTES, v_and(s.v[i], v_all((uint8_t)(alphabet - 1))));
}

typedef enum shape {
    ANY_SHAPE, /* bytes and words with any number of bypass bits, read in part */
    PLAIN_2,
    EDGE_2,
    BYTES_0, /* through a table of tops, with 0 or 1 bypass bits */
    BYTES_1,
    SIGNED_1, /* of 1 or 2 bypass bits the first is the sign */
    SIGNED_2,
    NIBBLES,
    SIXES,
    TRELLIS,
    WORDS_6, /* of 6 .. 10 bypass bits the first is the sign */
    WORDS_7,
    WORDS_8,
    WORDS_9,
    WORDS_10,
    N_SHAPES
} shape;

static inline shape shape_of(const tare_wc_job *job) {
    unsigned k = job->rule->k, n_read = 0;
    for (unsigned g = 0; g < job->n_groups; g++) n_read += job->widths[g];
    if (job->value_bits == 4) return NIBBLES;
    if (job->value_bits == 6) return SIXES;
    if (job->rule->trellis) return TRELLIS;
    if (n_read < k) return ANY_SHAPE;
    bool is_signed = job->rule->form == TARE_CODED_SIGN;
    if (job->value_bits == 16)
        return is_signed && k >= 6 && k <= 10 ? WORDS_6 + (k - 6) : ANY_SHAPE;
    if (job->rule->form == TARE_CODED_EDGE) return EDGE_2;
    if (is_signed) return k == 1 ? SIGNED_1 : k == 2 ? SIGNED_2 : ANY_SHAPE;
    if (k == 2 && !job->rule->has_map) return PLAIN_2;
    return k == 0 ? BYTES_0 : k == 1 ? BYTES_1 : ANY_SHAPE;
}

/* Tops that follow each other: what is added to symbols and, where a top has bits in both bytes, to
 * those of its bits that are in the upper one. */
typedef struct top_row {
    bool is_row;
    vec first, upper;
} top_row;

/* What all blocks of a job need to produce values: both bytes of the tops, in place, by symbol;
 * which of the bypass bits stay where they are; whether the first one moves to become the sign. */
typedef struct value_tables {
    table top[2];
    top_row row;
    vec keep[2], sign;
    edge_tables edge;
    trellis_tables trellis;
} value_tables;

static inline top_row top_row_of(const uint16_t map[64], unsigned shift) {
    const unsigned in_low = shift < 8 ? 8 - shift : 8; /* bits */
    top_row r = {.is_row = true,
                 .first = v_all((uint8_t)(map[0] & ((1u << in_low) - 1))),
                 .upper = v_all((uint8_t)(map[0] >> in_low))};
    for (unsigned i = 0; i < 64; i++) r.is_row &= map[i] == map[0] + i;
    return r;
}

static inline value_tables value_tables_of(const tare_wc_job *job) {
    const unsigned k = job->rule->k, is_sign = job->rule->form == TARE_CODED_SIGN;
    const unsigned keep = (1u << (k - is_sign)) - 1;
    uint8_t top[2][64];
    value_tables m = {.row = top_row_of(job->rule->map, k - is_sign)};
    for (uint8_t i = 0; i < 64; i++) {
        unsigned in_place = (unsigned)job->rule->map[i] << (k - is_sign);
        top[0][i] = (uint8_t)in_place;
        top[1][i] = (uint8_t)(in_place >> 8);
    }
    for (unsigned i = 0; i < 2; i++) {
        m.top[i] = load_table(top[i]);
        m.keep[i] = v_all((uint8_t)(keep >> 8 * i));
    }
    m.sign = v_all((uint8_t)(is_sign << 7));
    m.edge = load_edge_tables();
    m.trellis = load_trellis_tables(job->rule->trellis);
    return m;
}

/* Where the values of a block go, and the bypass bits that they take in. */
typedef struct out_cursor {
    uint8_t *dst;
    const uint8_t *groups[TARE_WC_BYPASS_GROUPS];
    vec ones[STEP_VECS]; /* the group of 1 bit; this block has the lower bits of bytes */
} out_cursor;

/* `k`: bypass bits, of which n groups are read. */
static ALWAYS_INLINE void set_cursor(out_cursor *o, const tare_wc_job *job, uint32_t block,
                                     const unsigned value_bits, const unsigned k,
                                     const unsigned n) {
    o->dst = job->dst + (block * (WC_BLOCK / 8 * value_bits) - job->gone);
    for (unsigned g = 0, left = k; g < n; g++) {
        unsigned width = tare_wc_next_width(left);
        left -= width;
        o->groups[g] = job->groups[g] + (size_t)block * width / 2 * TARE_WC_LANES;
        for (unsigned i = 0; i < STEP_VECS && width == 1; i++) /* two blocks share 64 bytes */
            o->ones[i] = v_down(v_load(o->groups[g] + i * VEC_BYTES), block % 2 * WC_BLOCK_STEPS);
    }
}

/* In all that follows `j` is the number of a step in its block, `at` that of a vector's first
 * symbol in the step. */

/* ---- tops ------------------------------------------------------------------------------------ */

/* Byte h of tops that follow each other, `shift` bits up. */
static ALWAYS_INLINE vec row_byte(const top_row *r, vec symbol, unsigned h, const unsigned shift) {
    const vec number = v_add(symbol, r->first);
    if (shift >= 8) return v_up(number, shift - 8); /* no bit leaves its byte */
    if (h == 0) return v_place(number, 0, 8 - shift, shift);
    return v_add(v_place(number, 8 - shift, shift, 0), r->upper);
}

/* Byte h of tops in their place, `shift` bits up. */
static ALWAYS_INLINE vec top_byte(const value_tables *m, vec symbol, unsigned h,
                                  const unsigned shift) {
    if (h == 0 && shift >= 8) return v_all(0);
    if (ADDS_TO_ROWS && m->row.is_row) return row_byte(&m->row, symbol, h, shift);
    return look_up_in(&m->top[h], symbol);
}

/* ---- bypass bits ----------------------------------------------------------------------------- */

/* Where a group's bits of a step are: 64 bytes have those of several steps. */
static ALWAYS_INLINE vec group_bytes(const out_cursor *o, unsigned g, unsigned j, unsigned at,
                                     const unsigned width) {
    if (width == 1) return o->ones[at / VEC_BYTES];
    return v_load(o->groups[g] + j * width / 8 * TARE_WC_LANES + at);
}

/* Bits of a group in the low bits of bytes; the bits above are undefined. */
static ALWAYS_INLINE vec group_raw(const out_cursor *o, unsigned g, unsigned j, unsigned at,
                                   const unsigned width) {
    return v_down(group_bytes(o, g, j, at, width), j * width % 8);
}

/* n bits of a group, from bit `from` on, at bit `to` of bytes. */
static ALWAYS_INLINE vec group_bits_at(const out_cursor *o, unsigned g, unsigned j, unsigned at,
                                       const unsigned width, unsigned from, unsigned n,
                                       unsigned to) {
    return v_place(group_bytes(o, g, j, at, width), j * width % 8 + from, n, to);
}

/* Byte h of the bits that n groups contain, of k bypass bits; the others are filled in. `is_signed`:
 * the first one is the highest bit of byte 1. */
static ALWAYS_INLINE vec low_byte(const out_cursor *o, unsigned j, unsigned at, unsigned k,
                                  const unsigned n, uint16_t fill, const unsigned h,
                                  const bool is_signed) {
    vec low = v_all((uint8_t)(fill >> 8 * h));
    for (unsigned g = 0, place = k; g < n; g++) {
        const unsigned width = tare_wc_next_width(place), end = place - (is_signed && g == 0);
        place -= width;
        const unsigned first = h && place < 8 ? 8 : place, last = !h && end > 8 ? 8 : end;
        if (first < last)
            low = v_or(low,
                       group_bits_at(o, g, j, at, width, first - place, last - first, first % 8));
        if (is_signed && h && g == 0)
            low = v_or(low, group_bits_at(o, g, j, at, width, width - 1, 1, 7));
    }
    return low;
}

/* ---- values of 8 bits ------------------------------------------------------------------------ */

/* Two bypass bits, and the symbol is the top. */
static ALWAYS_INLINE vec plain_2(const out_cursor *o, unsigned j, unsigned at, vec symbol) {
    return v_choose(v_all(3), group_raw(o, 0, j, at, 2), v_up(symbol, 2));
}

/* The bits above the one or two bypass bits are undefined. */
static ALWAYS_INLINE vec signed_byte(const value_tables *m, vec symbol, vec raw, const unsigned k) {
    vec v = top_byte(m, symbol, 0, k - 1);
    if (k == 2) v = v_choose(v_all(1), raw, v);
    return v_choose(v_all(0x7f), v, v_up(raw, 8 - k));
}

static ALWAYS_INLINE vec byte_of(const value_tables *m, vec symbol, vec low, unsigned k) {
    vec v = v_or_and(look_up_in(&m->top[0], symbol), low, m->keep[0]);
    return v_or_and(v, v_up(low, 8 - k), m->sign);
}

/* ---- values of 16 bits ----------------------------------------------------------------------- */

static ALWAYS_INLINE void put_any_words(const out_cursor *o, const value_tables *m, unsigned j,
                                        unsigned at, vec symbol, unsigned k, const unsigned n,
                                        uint16_t fill) {
    vec low[2], bytes[2];
    for (unsigned h = 0; h < 2; h++) {
        low[h] = low_byte(o, j, at, k, n, fill, h, false);
        bytes[h] = v_or_and(look_up_in(&m->top[h], symbol), low[h], m->keep[h]);
    }
    bytes[1] = v_or_and(bytes[1], v_up(low[k > 8], k > 8 ? 16 - k : 8 - k), m->sign);
    v_store_words(o->dst + 2 * (j * TARE_WC_LANES + at), bytes[0], bytes[1]);
}

/* Of k bypass bits the first is the sign. */
static ALWAYS_INLINE void put_words(const out_cursor *o, const value_tables *m, unsigned j,
                                    unsigned at, vec symbol, const unsigned k, const unsigned n) {
    vec bytes[2];
    for (unsigned h = 0; h < 2; h++)
        bytes[h] = v_or(top_byte(m, symbol, h, k - 1), low_byte(o, j, at, k, n, 0, h, true));
    v_store_words(o->dst + 2 * (j * TARE_WC_LANES + at), bytes[0], bytes[1]);
}

/* ---- a shape's steps ------------------------------------------------------------------------- */

static ALWAYS_INLINE unsigned item_of(const shape of) {
    return of == NIBBLES ? 4 : of == SIXES ? 6 : of >= WORDS_6 ? 16 : 8;
}

/* Bypass bits, and the groups that they are in. */
static ALWAYS_INLINE unsigned k_of(const shape of) {
    if (of >= WORDS_6) return 6 + (of - WORDS_6);
    return of == PLAIN_2 || of == EDGE_2 || of == SIGNED_2 ? 2 : of == BYTES_1 || of == SIGNED_1;
}
static ALWAYS_INLINE unsigned n_groups_of(const shape of) {
    const unsigned k = k_of(of);
    return k / 4 + k / 2 % 2 + k % 2;
}

static ALWAYS_INLINE void put_step(const out_cursor *o, const value_tables *m, const unsigned j,
                                   symbols s, const shape of) {
    for (unsigned i = 0; i < STEP_VECS; i++) {
        const unsigned at = i * VEC_BYTES;
        uint8_t *dst = o->dst + (j * TARE_WC_LANES + at) * item_of(of) / 8;
        if (of == SIXES)
            v_store_sixes(dst, v_and(s.v[i], v_all(63)));
        else if (of == PLAIN_2)
            v_store(dst, plain_2(o, j, at, s.v[i]));
        else if (of == EDGE_2)
            v_store(dst, v_edge(&m->edge, s.v[i], group_bits_at(o, 0, j, at, 2, 0, 2, 0)));
        else if (of == BYTES_0)
            v_store(dst, top_byte(m, s.v[i], 0, 0));
        else if (of == BYTES_1)
            v_store(dst, v_choose(v_all(1), group_raw(o, 0, j, at, 1), top_byte(m, s.v[i], 0, 1)));
        else if (of == SIGNED_1 || of == SIGNED_2)
            v_store(dst, signed_byte(m, s.v[i], group_raw(o, 0, j, at, k_of(of)), k_of(of)));
        else
            put_words(o, m, j, at, s.v[i], k_of(of), n_groups_of(of));
    }
}

/* Steps j and j + 1: the low and the high nibbles of 64 bytes. */
static ALWAYS_INLINE void put_nibbles(const out_cursor *o, const unsigned j, symbols low,
                                      symbols high) {
    for (unsigned i = 0; i < STEP_VECS; i++)
        v_store(o->dst + j / 2 * TARE_WC_LANES + i * VEC_BYTES,
                v_choose(v_all(15), low.v[i], v_up(high.v[i], 4)));
}

/* States of the lanes in a trellis, in the layout of v_trellis. */
typedef struct trellis_states {
    vec v[STEP_VECS];
} trellis_states;

static ALWAYS_INLINE trellis_states load_states(const tare_wc_job *job, const value_tables *m) {
    trellis_states t;
    for (unsigned i = 0; i < STEP_VECS; i++)
        t.v[i] = v_trellis_in(&m->trellis, v_load(job->trellis + i * VEC_BYTES));
    return t;
}

static ALWAYS_INLINE void store_states(tare_wc_job *job, const value_tables *m, trellis_states t) {
    for (unsigned i = 0; i < STEP_VECS; i++)
        v_store(job->trellis + i * VEC_BYTES, v_trellis_out(&m->trellis, t.v[i]));
}

/* Values, and the states after the step. */
static ALWAYS_INLINE void put_trellis(trellis_states *t, const out_cursor *o, const value_tables *m,
                                      const unsigned j, symbols s) {
    for (unsigned i = 0; i < STEP_VECS; i++)
        v_store(o->dst + j * TARE_WC_LANES + i * VEC_BYTES,
                v_trellis(&m->trellis, &t->v[i], s.v[i]));
}

/* ---- a block of any shape -------------------------------------------------------------------- */

/* All its symbols are at `from`. */
static inline void put_any_block(tare_wc_job *job, const value_tables *m, uint32_t block,
                                 const uint8_t *from) {
    const shape of = shape_of(job);
    const unsigned k = job->rule->k, n = job->n_groups;
    out_cursor o = {0};
    trellis_states states;
    if (of == TRELLIS) states = load_states(job, m);
    set_cursor(&o, job, block, job->value_bits, k, n);
    for (unsigned j = 0; j < WC_BLOCK_STEPS; j++, from += TARE_WC_LANES) {
        symbols s = load_symbols(from);
        if (of == NIBBLES && j % 2)
            put_nibbles(&o, j - 1, load_symbols(from - TARE_WC_LANES), s);
        else if (of == SIXES)
            put_step(&o, m, j, s, SIXES);
        else if (of == EDGE_2)
            put_step(&o, m, j, s, EDGE_2);
        else if (of == TRELLIS)
            put_trellis(&states, &o, m, j, s);
        for (unsigned i = 0; i < STEP_VECS && job->value_bits == 16; i++)
            put_any_words(&o, m, j, i * VEC_BYTES, s.v[i], k, n, job->fill);
        for (unsigned i = 0; i < STEP_VECS && job->value_bits == 8 && of != EDGE_2 && of != TRELLIS;
             i++) {
            unsigned at = i * VEC_BYTES;
            vec low = low_byte(&o, j, at, k, n, job->fill, 0, false);
            v_store(o.dst + j * TARE_WC_LANES + at, byte_of(m, s.v[i], low, k));
        }
    }
    if (of == TRELLIS) store_states(job, m, states);
}

#endif
