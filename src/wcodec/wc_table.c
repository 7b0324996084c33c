/* SPDX-License-Identifier: MIT
 *
 * Alias tables. A decoder only needs the derivation, one pass over the buckets; how frequencies are
 * rounded and put into buckets is up to the encoder, and done in integer arithmetic so that every
 * machine writes the same bytes. */
#include "wcodec/wc_table.h"

#include <string.h>

enum { BUCKET = 256 }; /* units in a bucket */

/* Fills what follows from thr and alias of the first `alphabet` entries. False: one symbol has
 * everything. */
static bool derive(tare_wc_table *t, uint8_t alphabet) {
    unsigned log2 = alphabet == 64 ? 6 : 4, g = 8 - log2;
    uint32_t used[64];
    t->alphabet = alphabet;
    t->log2_alphabet = (uint8_t)log2;
    for (unsigned b = 0; b < alphabet; b++) used[b] = t->alias[b] == b ? BUCKET : t->thr[b];
    int32_t adj[64] = {0};
    for (unsigned b = 0; b < alphabet; b++) {
        if (t->alias[b] == b) continue;
        adj[b] = ((int32_t)used[t->alias[b]] - t->thr[b]) * (1 << g);
        used[t->alias[b]] += BUCKET - (uint32_t)t->thr[b];
    }
    for (unsigned b = 0; b < alphabet; b++) {
        if (used[b] == (uint32_t)BUCKET * alphabet) return false;
        t->freq[b] = (uint16_t)(used[b] << g);
    }
    t->cheapest = 0;
    for (uint8_t b = 1; b < alphabet; b++)
        if (t->freq[b] > t->freq[t->cheapest]) t->cheapest = b;
    for (unsigned b = 0; b < 64; b++) {
        unsigned of = b % alphabet;
        t->thr[b] = t->thr[of];
        t->alias[b] = t->alias[of];
        t->freq[b] = t->freq[of];
        t->freq_low[b] = (uint8_t)t->freq[b];
        t->freq_high[b] = (uint8_t)(t->freq[b] >> 8);
        t->adj_low[b] = (uint8_t)adj[of];
        t->adj_high[b] = (uint8_t)(adj[of] >> 8);
        t->half[b][0] = (tare_wc_half){t->freq[of], (uint16_t)of, 0};
        t->half[b][1] = (tare_wc_half){t->freq[t->alias[of]], t->alias[of], adj[of]};
    }
    return true;
}

tare_status tare_wc_table_read(tare_wc_table *t, uint8_t alphabet, tare_cursor *c,
                               tare_error *err) {
    uint64_t at = tare_cursor_offset(c);
    const uint8_t *bytes = tare_cursor_take(c, 2u * alphabet, "table: the head ends inside it");
    if (!bytes) return tare_cursor_status(c, err);
    memcpy(t->thr, bytes, alphabet);
    memcpy(t->alias, bytes + alphabet, alphabet);
    for (unsigned b = 0; b < alphabet; b++) {
        if (t->alias[b] >= alphabet)
            return tare_fail_at(err, TARE_ERR_CORRUPT, at + alphabet + b,
                                "table: an alias is not a symbol of the alphabet");
    }
    if (!derive(t, alphabet))
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "table: one symbol has all slots");
    return TARE_OK;
}

void tare_wc_table_write(uint8_t *bytes, const tare_wc_table *t) {
    memcpy(bytes, t->thr, t->alphabet);
    memcpy(bytes + t->alphabet, t->alias, t->alphabet);
}

/* ---- building -------------------------------------------------------------------------------- */

/* Rounds counts to frequencies that sum to `units`. Units left over by rounding down go where a
 * unit saves most: the saving count * log((f + 1) / f) is close to count / (f + 1/2), and that is
 * compared exactly. Units that symbols got merely for occurring are taken back in the same way. */
static void round_counts(uint32_t *freq, unsigned n, const uint64_t *counts, uint32_t units) {
    uint64_t total = 0, sum = 0;
    unsigned shift = 0;
    for (unsigned i = 0; i < n; i++) total += counts[i];
    while (total >> shift >= UINT64_C(1) << 40) shift++; /* so that nothing overflows below */
    total = 0;
    for (unsigned i = 0; i < n; i++) total += (counts[i] >> shift) + (counts[i] != 0);
    for (unsigned i = 0; i < n; i++) {
        uint64_t count = (counts[i] >> shift) + (counts[i] != 0);
        freq[i] = (uint32_t)(count * units / total);
        if (count && !freq[i]) freq[i] = 1;
        sum += freq[i];
    }
    while (sum != units) {
        bool is_short = sum < units;
        unsigned best = n;
        uint64_t best_count = 0, best_place = 1;
        for (unsigned i = 0; i < n; i++) {
            uint64_t count = (counts[i] >> shift) + (counts[i] != 0);
            uint64_t place = 2u * freq[i] + (is_short ? 1 : -1u);
            if (!counts[i] || (!is_short && freq[i] < 2)) continue;
            uint64_t ours = count * best_place, theirs = best_count * place;
            if (best == n || (is_short ? ours > theirs : ours < theirs)) {
                best = i;
                best_count = count;
                best_place = place;
            }
        }
        freq[best] += is_short ? 1 : -1u;
        sum += is_short ? 1 : -UINT64_C(1);
    }
    for (unsigned i = 0; i < n; i++) { /* a symbol alone: all slots cannot be written */
        if (freq[i] != units) continue;
        freq[i]--;
        freq[i ? 0 : 1]++;
        break;
    }
}

/* Vose's method: buckets that a symbol does not fill get the rest from one that overflows. */
static void fill_buckets(tare_wc_table *t, unsigned n, const uint32_t *freq) {
    uint32_t rest[64];
    uint8_t small[64], large[64];
    unsigned n_small = 0, n_large = 0;
    for (unsigned i = 0; i < n; i++) {
        rest[i] = freq[i];
        t->thr[i] = 0;
        t->alias[i] = (uint8_t)i;
        if (rest[i] < BUCKET)
            small[n_small++] = (uint8_t)i;
        else
            large[n_large++] = (uint8_t)i;
    }
    while (n_small && n_large) {
        uint8_t s = small[--n_small], l = large[n_large - 1];
        t->thr[s] = (uint8_t)rest[s];
        t->alias[s] = l;
        rest[l] -= BUCKET - rest[s];
        if (rest[l] >= BUCKET) continue;
        n_large--;
        small[n_small++] = l;
    }
}

void tare_wc_table_build(tare_wc_table *t, uint8_t alphabet, const uint64_t *counts) {
    uint32_t freq[64];
    round_counts(freq, alphabet, counts, (uint32_t)BUCKET * alphabet);
    fill_buckets(t, alphabet, freq);
    derive(t, alphabet);
}

/* How states are divided by the frequency of symbol s. */
static void set_divisor(tare_wc_inverse *v, unsigned s, unsigned g) {
    uint32_t f = v->table->freq[s], u = f >> g;
    if (!u) return;
    unsigned log2 = 31u - (unsigned)__builtin_clz(u);
    uint32_t ratio = (uint32_t)((UINT64_C(1) << 32) / f);
    v->divisor[s] = (tare_wc_divisor){.inverse = (float)((1 - 0x1p-21) / u),
                                      .units = (uint16_t)u,
                                      .start = (uint16_t)v->start[s]};
    v->reciprocal[s] = (uint32_t)(((UINT64_C(1) << (31 + log2)) + u - 1) / u);
    v->log2[s] = (uint8_t)log2;
    v->part_low[s] = (uint8_t)ratio;
    v->part_high[s] = (uint8_t)(ratio >> 8);
    v->whole_low[s] = (uint8_t)(ratio >> 16);
    v->whole_high[s] = (uint8_t)(ratio >> 24);
}

void tare_wc_inverse_build(tare_wc_inverse *v, const tare_wc_table *t) {
    unsigned g = 8u - t->log2_alphabet;
    uint16_t *slot = v->slot + TARE_WC_INVERSE_PAD;
    uint32_t at = 0;
    memset(v, 0, sizeof *v);
    v->table = t;
    for (unsigned s = 0; s < t->alphabet; s++) {
        v->start[s] = at;
        set_divisor(v, s, g);
        at += (uint32_t)t->freq[s] >> g;
    }
    for (unsigned b = 0; b < t->alphabet; b++) {
        uint32_t own = t->alias[b] == b ? (uint32_t)BUCKET : t->thr[b];
        for (uint32_t o = 0; o < own; o++) slot[v->start[b] + o] = (uint16_t)(o << 8 | b);
        for (uint32_t o = own; o < BUCKET; o++) {
            uint32_t rank = (o << g) + (uint32_t)t->half[b][1].adj;
            slot[v->start[t->alias[b]] + (rank >> g)] = (uint16_t)(o << 8 | b);
        }
    }
    tare_wc_pieces_build(&v->pieces, t);
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* By repeated squaring: each doubles the logarithm and gives one more bit of it. */
uint32_t tare_wc_log2(uint64_t n) {
    unsigned whole = 63u - (unsigned)__builtin_clzll(n);
    uint64_t x = whole > 31 ? n >> (whole - 31) : n << (31 - whole); /* in [2^31, 2^32) */
    uint32_t result = whole;
    for (unsigned i = 0; i < 16; i++) {
        x = x * x >> 31;
        result <<= 1;
        if (x >> 32) {
            x >>= 1;
            result |= 1;
        }
    }
    return result;
}

uint64_t tare_wc_table_cost(const tare_wc_table *t, const uint64_t *counts) {
    uint64_t cost = 0;
    for (unsigned i = 0; i < t->alphabet; i++) {
        if (!counts[i]) continue;
        if (!t->freq[i]) return UINT64_MAX;
        cost += counts[i] * ((16u << 16) - tare_wc_log2(t->freq[i]));
    }
    return cost;
}

uint64_t tare_wc_entropy(const uint64_t *counts, size_t n) {
    uint64_t total = 0, cost = 0;
    for (size_t i = 0; i < n; i++) total += counts[i];
    if (!total) return 0;
    uint32_t whole = tare_wc_log2(total);
    for (size_t i = 0; i < n; i++)
        if (counts[i]) cost += counts[i] * (whole - tare_wc_log2(counts[i]));
    return cost;
}
