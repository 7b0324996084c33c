/* SPDX-License-Identifier: MIT
 *
 * The encoder of DIRECT segments: values to symbols, bypass groups and patches; classes; words. */
#include "wcodec/wc_direct_encode.h"

#include "base/arith.h"
#include "wcodec/wc_direct.h"
#include "wcodec/wc_kernels.h"
#include "wcodec/wc_patches.h"
#include "wcodec/wc_trellis.h"

enum { MAX_RUNS = TARE_WC_MAX_VALUES / TARE_WC_CLASS_RUN };

/* Positions whose symbols stay in the first-level cache between both kernels. */
enum { CHUNK = 1 << 14 };

typedef struct encoder {
    const tare_wc_direct_scheme *scheme;
    uint8_t value_bits;
    const uint8_t *values;
    uint32_t n_bytes, n_positions, n_runs;
    uint8_t *symbols, *groups, *classes, *ranks;
    uint64_t *misfits; /* a bit for each position */
    tare_wc_patch *patches;
    uint32_t n_patches, max_patches, group_bytes;
} encoder;

/* ---- classes --------------------------------------------------------------------------------- */

unsigned tare_wc_run_group(const uint8_t *bytes, uint32_t n_bytes, uint8_t value_bits,
                           uint32_t run) {
    uint32_t sum = 1;
    if (value_bits == 6) return run % 2;
    for (uint32_t i = 0; i < n_bytes; i++) {
        unsigned low = bytes[i] & 15u, high = bytes[i] >> 4;
        if (value_bits == 8)
            sum += bytes[i] < 128 ? bytes[i] : 256u - bytes[i];
        else
            sum += (low < 8 ? low : 16 - low) + (high < 8 ? high : 16 - high);
    }
    unsigned group = tare_wc_log2(sum) >> 14;
    return group < 63 ? group : 63;
}

/* The classes of all runs, and their ranks, whose padding is 0. */
static void find_classes(encoder *e) {
    uint8_t list[TARE_WC_MAX_CLASSES];
    uint32_t run = tare_wc_run_bytes(e->value_bits);
    for (uint8_t i = 0; i < TARE_WC_MAX_CLASSES; i++) list[i] = i;
    memset(e->ranks, 0, tare_wc_align(e->n_runs));
    for (uint32_t r = 0; r < e->n_runs; r++) {
        uint32_t at = r * run, n = e->n_bytes - at < run ? e->n_bytes - at : run;
        uint8_t class =
            e->scheme->group_class[tare_wc_run_group(e->values + at, n, e->value_bits, r)];
        while (list[e->ranks[r]] != class) e->ranks[r]++;
        e->classes[r] = class;
        tare_wc_front(list, e->ranks[r]);
    }
}

static unsigned cheaper_rank_table(const encoder *e) {
    uint64_t counts[16] = {0}, costs[2];
    for (uint32_t r = 0; r < tare_wc_align(e->n_runs); r++) counts[e->ranks[r]]++;
    for (unsigned i = 0; i < 2; i++)
        costs[i] = tare_wc_table_cost(e->scheme->rank_inverses[i].table, counts);
    return costs[1] < costs[0];
}

/* ---- values to symbols ----------------------------------------------------------------------- */

/* The table of the run that a position is in. */
static unsigned class_at(const encoder *e, uint32_t p) {
    return e->scheme->n_classes > 1 ? e->classes[p / TARE_WC_CLASS_RUN] : 0;
}

/* The symbol that gives value v in state t; false: none does. */
static bool trellis_symbol(uint8_t *symbol, uint8_t t, uint8_t v) {
    int size = t & 1 ? -(int8_t)v : (int8_t)v;
    *symbol = (uint8_t)(((size - 1) >> 2) & 63);
    return tare_wc_trellis_value(t, *symbol) == v;
}

void tare_wc_trellis_count(uint64_t counts[64], uint64_t *groups, uint8_t states,
                           const uint8_t *bytes, uint32_t n_bytes) {
    uint8_t t[TARE_WC_LANES] = {0};
    for (uint32_t at = 0; at < n_bytes; at += TARE_WC_CLASS_RUN) {
        uint32_t n = n_bytes - at < TARE_WC_CLASS_RUN ? n_bytes - at : TARE_WC_CLASS_RUN;
        uint64_t *row = groups ? groups + 64 * tare_wc_run_group(bytes + at, n, 8, 0) : NULL;
        for (uint32_t i = at; i < at + n; i++) {
            uint8_t symbol, *state = &t[i % TARE_WC_LANES];
            if (trellis_symbol(&symbol, *state, bytes[i])) {
                counts[symbol]++;
                if (row) row[symbol]++;
            } else {
                symbol = 0;
            }
            *state = tare_wc_trellis_next(states, *state, symbol & 1);
        }
    }
}

/* False: there are so many patches that the segment cannot pay off. */
static bool put_patch(encoder *e, uint32_t at) {
    const tare_wc_rule *rule = &e->scheme->coder.rule;
    uint32_t low, v = 0;
    if (e->n_patches >= e->max_patches) return false;
    if (e->value_bits < 8)
        tare_wc_small_value(e->values, e->n_bytes, e->value_bits, at, &v);
    else
        v = e->value_bits == 8 ? e->values[at] : tare_load_le16(e->values + 2 * (size_t)at);
    uint16_t top = (uint16_t)tare_wc_split(rule, e->value_bits, v, &low);
    e->patches[e->n_patches++] = (tare_wc_patch){at, top};
    return true;
}

/* Steps of a trellis. Where a value cannot be reached, or the table lacks the step, the lane takes
 * step 0 and a patch says the value: as in the count, so that the states stay the same. */
static bool put_trellis(encoder *e, tare_wc_put_job *put) {
    uint8_t t[TARE_WC_LANES] = {0};
    for (uint32_t p = 0; p < e->n_positions; p++) {
        const tare_wc_table *table = &e->scheme->tables[class_at(e, p)];
        uint8_t symbol, *state = &t[p % TARE_WC_LANES];
        if (p >= e->n_bytes) {
            symbol = table->cheapest;
        } else if (!trellis_symbol(&symbol, *state, e->values[p]) || !table->freq[symbol]) {
            symbol = 0;
            if (!table->freq[0] || !put_patch(e, p)) return false;
        }
        e->symbols[p] = symbol;
        *state = tare_wc_trellis_next(e->scheme->coder.rule.trellis, *state, symbol & 1);
    }
    put->n_positions = e->n_positions;
    put->classes = e->scheme->n_classes > 1 ? e->classes : NULL;
    tare_wc_kernels_get()->encode(put, 1);
    return true;
}

/* Most are 0. */
static uint32_t count_bits(const uint64_t *from, const uint64_t *end) {
    uint32_t n = 0;
    for (; from < end; from++)
        if (*from) n += (uint32_t)__builtin_popcountll(*from);
    return n;
}

/* Values to symbols, and these to words, from the last chunk to the first. False: too many values
 * have no symbol. */
static bool put_values(encoder *e, tare_wc_put_job *put) {
    uint32_t n_misfits = 0;
    tare_wc_split_job split = {
        .rule = &e->scheme->coder.rule,
        .symbol_of = e->scheme->coder.symbol_of,
        .tables = e->scheme->tables,
        .classes = e->scheme->n_classes > 1 ? e->classes : NULL,
        .value_bits = e->value_bits,
        .n_positions = e->n_positions,
        .n_bytes = e->n_bytes,
        .values = e->values,
        .symbols = e->symbols,
        .groups = e->groups,
        .misfits = e->misfits,
    };
    for (split.end = e->n_positions; split.end; split.end = split.first) {
        split.first = (split.end - 1) / CHUNK * CHUNK;
        tare_wc_kernels_get()->split(&split);
        n_misfits += count_bits(e->misfits + split.first / 64, e->misfits + split.end / 64);
        if (n_misfits > e->max_patches) return false;
        put->n_positions = split.end - split.first;
        if (split.first) { /* the chunk before, which is a whole one */
            put->ahead = e->values + tare_wc_bytes_of(e->value_bits, split.first - CHUNK);
            put->ahead_step = (uint32_t)tare_wc_bytes_of(e->value_bits, TARE_WC_LANES);
        }
        put->classes = split.classes ? split.classes + split.first / TARE_WC_CLASS_RUN : NULL;
        tare_wc_kernels_get()->encode(put, 1);
    }
    for (uint32_t p = 0; p < e->n_positions; p += 64) {
        for (uint64_t left = e->misfits[p / 64]; left; left &= left - 1) {
            if (!put_patch(e, p + (uint32_t)__builtin_ctzll(left))) return false;
        }
    }
    return true;
}

/* ---- the segment ----------------------------------------------------------------------------- */

static bool take_memory(encoder *e, tare_wc_scratch *scratch) {
    uint8_t widths[TARE_WC_BYPASS_GROUPS];
    unsigned n = tare_wc_group_widths(widths, e->scheme->coder.rule.k);
    for (unsigned g = 0; g < n; g++)
        e->group_bytes += tare_wc_group_bytes(widths[g], e->n_positions);
    e->max_patches = e->n_positions / 8;
    const uint32_t n_symbols = e->scheme->coder.rule.trellis ? e->n_positions : CHUNK;
    e->misfits =
        tare_wc_scratch_take(scratch, TARE_WC_DIRECT_SYMBOLS, e->n_positions / 8 + n_symbols);
    e->groups = tare_wc_scratch_take(scratch, TARE_WC_DIRECT_GROUPS, e->group_bytes + 1);
    e->patches = tare_wc_scratch_take(scratch, TARE_WC_DIRECT_PATCHES,
                                      (size_t)e->max_patches * sizeof *e->patches);
    e->classes = tare_wc_scratch_take(scratch, TARE_WC_DIRECT_CLASSES, 2 * (MAX_RUNS + 64));
    if (!e->misfits || !e->groups || !e->patches || !e->classes) return false;
    e->ranks = e->classes + MAX_RUNS + 64;
    e->symbols = (uint8_t *)(e->misfits + e->n_positions / 64);
    return true;
}

/* The ranks of classes, which the decoder takes first. */
static void put_ranks(encoder *e, tare_wc_segment *s, tare_wc_put *put) {
    unsigned choice = cheaper_rank_table(e);
    tare_wc_put_job ranks = {
        .put = *put,
        .symbols = e->ranks,
        .inverses = &e->scheme->rank_inverses[choice],
        .n_positions = tare_wc_align(e->n_runs),
    };
    tare_wc_kernels_get()->encode(&ranks, 1);
    *put = ranks.put;
    s->n_classes = e->scheme->n_classes;
    s->option = (uint8_t)(e->scheme->rank_table + choice);
}

/* Lays the parts out; false: they do not fit. */
static bool write_parts(uint8_t *dst, uint32_t *size, tare_wc_segment *s, const encoder *e,
                        const tare_wc_put *put) {
    const tare_wc_patches how = {.n = e->n_patches,
                                 .rice = tare_wc_patches_rice(e->n_patches, e->n_positions),
                                 .top_bits = (uint8_t)(e->value_bits - e->scheme->coder.rule.k)};
    s->size_a = tare_wc_put_words(put, 0);
    s->size_b = tare_wc_put_words(put, 1);
    s->count = e->n_patches;
    s->rice = how.rice;
    s->extent = tare_wc_patches_size(&how, e->patches);
    uint64_t end = TARE_WC_SEGMENT_HEADER + TARE_WC_STATES + s->extent;
    end += 2 * ((uint64_t)s->size_a + s->size_b);
    uint64_t aligned = (end + TARE_CODED_UNIT - 1) / TARE_CODED_UNIT * TARE_CODED_UNIT;
    if (aligned + e->group_bytes > tare_wc_max_stored(e->n_bytes)) return false;
    uint8_t *at = tare_wc_put_write(put, dst + TARE_WC_SEGMENT_HEADER);
    tare_wc_patches_write(at, &how, e->patches);
    memset(dst + end, 0, (size_t)(aligned - end));
    memcpy(dst + aligned, e->groups, e->group_bytes);
    *size = (uint32_t)aligned + e->group_bytes;
    return true;
}

bool tare_wc_direct_encode(uint8_t *dst, uint32_t *size, tare_wc_segment *s,
                           const tare_wc_direct_scheme *scheme, uint8_t value_bits,
                           const uint8_t *values, uint32_t n_bytes, tare_wc_scratch *scratch,
                           tare_status *status) {
    encoder e = {.scheme = scheme, .value_bits = value_bits, .values = values, .n_bytes = n_bytes};
    e.n_positions = tare_wc_positions(value_bits, n_bytes);
    e.n_runs = (e.n_positions + TARE_WC_CLASS_RUN - 1) / TARE_WC_CLASS_RUN;
    *status = TARE_OK;
    uint32_t per_stream = e.n_positions / 2 + MAX_RUNS; /* words, at most */
    uint8_t *words = tare_wc_scratch_take(scratch, TARE_WC_DIRECT_WORDS, 4 * (size_t)per_stream);
    if (!words || !take_memory(&e, scratch)) {
        *status = TARE_ERR_NOMEM;
        return false;
    }
    if (scheme->n_classes > 1) find_classes(&e);
    tare_wc_put_job job = {.symbols = e.symbols, .inverses = scheme->inverses};
    tare_wc_put_init(&job.put, words + 2 * (size_t)per_stream, words + 4 * (size_t)per_stream);
    if (!(scheme->coder.rule.trellis ? put_trellis(&e, &job) : put_values(&e, &job))) return false;
    if (scheme->n_classes > 1) put_ranks(&e, s, &job.put);
    s->rule = scheme->rule;
    s->table = scheme->first_table;
    return write_parts(dst, size, s, &e, &job.put);
}
