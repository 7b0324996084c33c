/* SPDX-License-Identifier: MIT
 *
 * What becomes of a tensor at a common factor of all steps, estimated from a sample: values of a
 * trellis, and where these do not reach, those of longer steps, rounded ones of 8 bits, or of 16; or
 * no loss. Prices of values follow from how often they are chosen, and choices from prices: a few
 * rounds settle it, and the last prices serve for the next factor. */
#include <string.h>

#include "base/arith.h"
#include "encoding/float16.h"
#include "encoding/outliers.h"
#include "ops/lossy/lossy.h"
#include "wcodec/wc_choose.h"

enum {
    SAMPLE = 1 << 18,
    CHUNK = 1 << 11,
    ROUNDS = 4,       /* from prices that are not known */
    ROUNDS_AGAIN = 2, /* from those of another factor */
    FEW = 512,        /* one outlier among so many is too many */
    STATES = 32,
    PARTS = 16,     /* of an octave, of which steps are made longer */
    MOST_PARTS = 9, /* more of them lose more than rounding costs */
    /* What a tensor takes beside its values, about: heads and padding, scales. */
    FRAME = 100,
    SEGMENT = 340,
    TABLE = 128,
};

/* Below so many bits a quantizer with a value at 0 may be better than the trellis, which has none. */
#define LOW_RATE 1.7

/* ---- memory ---------------------------------------------------------------------------------- */

tare_status tare_lossy_bench_init(tare_lossy_bench *b, const tare_allocator *allocator,
                                  tare_error *err) {
    TARE_TRY(tare_lossy_room_init(&b->room, SAMPLE, allocator, err));
    b->counts = tare_alloc(allocator, sizeof *b->counts);
    if (b->counts) return TARE_OK;
    tare_lossy_room_free(&b->room);
    return tare_fail(err, TARE_ERR_NOMEM, "numbers");
}

void tare_lossy_bench_free(tare_lossy_bench *b) {
    if (!b->counts) return;
    tare_free(b->room.allocator, b->counts, sizeof *b->counts);
    tare_lossy_room_free(&b->room);
    b->counts = NULL;
}

/* ---- the sample ------------------------------------------------------------------------------ */

/* Chunks evenly spread over the tensor, one after the other. */
static tare_status load_sample(tare_lossy_room *room, uint32_t *n, const tare_lossy_run *r,
                               const tare_lossy_target *t, tare_error *err) {
    enum { N_CHUNKS = SAMPLE / CHUNK };
    *n = 0;
    if (t->n <= SAMPLE) {
        *n = (uint32_t)t->n;
        return tare_lossy_load(room, 0, r, t, 0, *n, err);
    }
    for (unsigned i = 0; i < N_CHUNKS; i++, *n += CHUNK) {
        const uint64_t first = (t->n - CHUNK) / (N_CHUNKS - 1) * i;
        TARE_TRY(tare_lossy_load(room, *n, r, t, first, CHUNK, err));
    }
    return TARE_OK;
}

/* A value of a trellis is 4c + 1, or the negative of one: its remainder tells which. */
static unsigned symbol_of(int8_t v) {
    const int c = (v & 3) == 1 ? (v - 1) / 4 : (-v - 1) / 4;
    return (unsigned)c & 63;
}

static void count(tare_lossy_counts *c, const tare_lossy_room *room, const tare_lossy_target *t,
                  uint32_t n) {
    memset(c, 0, sizeof *c);
    for (uint32_t i = 0; i < n && t->choice.is_wide; i++) c->wide[(uint16_t)room->wide[i]]++;
    if (t->choice.is_wide) return;
    for (uint32_t i = 0; i < n && !t->choice.states; i++) c->codes[(uint8_t)room->values[i]]++;
    for (uint32_t at = 0; at < n && t->choice.states; at += TARE_WC_CLASS_RUN) {
        const uint32_t run = n - at < TARE_WC_CLASS_RUN ? n - at : TARE_WC_CLASS_RUN;
        uint64_t *row = c->steps[tare_lossy_group(room->numbers + at, run)];
        for (uint32_t i = at; i < at + run; i++) row[symbol_of(room->values[i])]++;
    }
}

/* ---- prices ---------------------------------------------------------------------------------- */

/* A symbol that does not occur costs as if it did a quarter of a time. */
static void set_prices(float *prices, const uint64_t *n, unsigned n_symbols, float lambda) {
    uint64_t total = n_symbols;
    for (unsigned i = 0; i < n_symbols; i++) total += 4 * n[i];
    for (unsigned i = 0; i < n_symbols; i++) {
        const uint32_t bits = tare_wc_log2(total) - tare_wc_log2(4 * n[i] + 1);
        prices[i] = lambda * (float)bits / 65536.0f;
    }
}

/* Tables by the magnitude of runs where they pay; bits of the values with them. */
static double price_steps(tare_lossy_prices *p, const tare_lossy_counts *c, float lambda) {
    uint64_t sums[TARE_WC_MAX_CLASSES][TARE_WC_SYMBOLS] = {{0}}, sizes[TARE_WC_MAX_CLASSES] = {0};
    uint64_t cost = 0;
    p->n_classes =
        tare_wc_choose_classes(p->group_class, c->steps[0], TARE_LOSSY_GROUPS, TARE_WC_SYMBOLS);
    for (unsigned g = 0; g < TARE_LOSSY_GROUPS; g++)
        for (unsigned s = 0; s < TARE_WC_SYMBOLS; s++) {
            sums[p->group_class[g]][s] += c->steps[g][s];
            sizes[p->group_class[g]] += c->steps[g][s];
        }
    for (unsigned i = 0; i < p->n_classes; i++) {
        set_prices(p->steps[i], sums[i], TARE_WC_SYMBOLS,
                   lambda * TARE_LOSSY_SPACING * TARE_LOSSY_SPACING);
        cost += tare_wc_entropy(sums[i], TARE_WC_SYMBOLS);
    }
    cost += tare_wc_entropy(sizes, p->n_classes) / TARE_WC_CLASS_RUN;
    p->is_known = true;
    return (double)cost / 65536;
}

static double price_codes(tare_lossy_prices *p, const tare_lossy_counts *c, float lambda) {
    set_prices(p->codes, c->codes, 256, lambda);
    p->n_classes = 1;
    p->is_known = true;
    return (double)tare_wc_entropy(c->codes, 256) / 65536;
}

tare_status tare_lossy_rule_cost(double *bits, const uint64_t *counts, const tare_allocator *a,
                                 tare_error *err) {
    enum { KINDS = 1 << 16 };
    tare_arena arena;
    tare_wc_counts values = {0};
    tare_wc_coder coder;
    tare_arena_init(&arena, a);
    values.values = TARE_NEW_ARRAY(&arena, uint16_t, KINDS);
    values.counts = TARE_NEW_ARRAY(&arena, uint64_t, KINDS);
    for (uint32_t i = 0; values.values && values.counts && i < KINDS; i++) {
        if (!counts[i]) continue;
        values.values[values.n] = (uint16_t)i;
        values.counts[values.n++] = counts[i];
    }
    const bool is_done =
        values.values && values.counts && tare_wc_choose_rule(&coder, 16, &values, &arena);
    *bits = is_done ? (double)coder.cost / 65536 : 0;
    tare_arena_free(&arena);
    return is_done ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "rule");
}

/* ---- ways to represent values ---------------------------------------------------------------- */

/* STRETCHED: a trellis whose steps are longer than the others', so that its values reach. */
typedef enum way { TRELLIS, STRETCHED, ROUNDED, WIDE, N_WAYS } way;

typedef struct outcome {
    double bits, error; /* of the sample */
    uint32_t n, n_outliers;
    unsigned n_tables;
} outcome;

/* The steps of a way; false: there are none. f16 holds those of 8 bits. */
static bool set_unit(tare_lossy_choice *c, const tare_lossy_target *t, double factor, way w) {
    const double distance = factor * t->base;
    const double least = (double)t->most / (TARE_LOSSY_WIDE_REACH - 0.5);
    *c = (tare_lossy_choice){
        .states = w <= STRETCHED ? STATES : 0, .is_wide = w == WIDE, .lambda = TARE_LOSSY_LAMBDA};
    if (w == WIDE) {
        c->is_finest = distance < least;
        c->unit = (float)(c->is_finest ? least : distance);
        return c->unit >= 0x1p-100f && c->unit <= 65536.0f;
    }
    const float unit = (float)(w <= STRETCHED ? distance / TARE_LOSSY_SPACING : distance);
    const uint16_t scale = tare_f16_of_f32(unit);
    c->unit = tare_f32_of_f16(scale);
    return scale && scale < 0x7c00;
}

static tare_status resolve(outcome *out, const tare_lossy_run *r, tare_lossy_target *t,
                           tare_lossy_bench *b, tare_error *err) {
    tare_lossy_choice *c = &t->choice;
    tare_lossy_prices *p = &t->prices[c->states != 0];
    const unsigned first = c->is_wide ? ROUNDS - 1 : p->is_known ? ROUNDS - ROUNDS_AGAIN : 0;
    for (unsigned i = first; i < ROUNDS; i++) {
        TARE_TRY(tare_run_check(err));
        tare_lossy_choose(&b->room, t, out->n);
        count(b->counts, &b->room, t, out->n);
        if (c->is_wide)
            TARE_TRY(tare_lossy_rule_cost(&out->bits, b->counts->wide,
                                          r->options->context->allocator, err));
        else
            out->bits = c->states ? price_steps(p, b->counts, c->lambda)
                                  : price_codes(p, b->counts, c->lambda);
    }
    out->n_tables = c->is_wide ? 1 : p->n_classes;
    out->error = tare_lossy_error(&b->room, t, out->n);
    return TARE_OK;
}

static void report_target(tare_lossy_target *t, const tare_lossy_run *r, const outcome *o) {
    tare_lossy_choice *c = &t->choice;
    const double share = (double)t->n / (double)o->n, unit = (double)c->unit;
    const double n_segments = (double)(t->n >> r->log2_segment) + 1;
    c->bits = o->bits * share;
    c->bytes = FRAME + SEGMENT * n_segments + TABLE * o->n_tables + c->bits / 8 +
               TARE_OUTLIER_BYTES * o->n_outliers * share;
    if (t->columns) c->bytes += 0.7 * (double)t->cols;
    c->damage = t->alpha * unit * unit * o->error * share / t->energy;
}

/* By how many parts of an octave steps must be longer for values to reach nearly all numbers. */
static unsigned parts_missing(const tare_lossy_room *room, uint32_t n) {
    enum { OCTAVES = 64, SHIFT = 16 - 4 };
    uint32_t beyond[OCTAVES * PARTS] = {0}, sum = 0;
    const unsigned reach = tare_wc_log2(TARE_LOSSY_REACH) >> SHIFT;
    unsigned part = OCTAVES * PARTS - 1;
    for (uint32_t i = 0; i < n; i++) {
        const float x = room->numbers[i] < 0 ? -room->numbers[i] : room->numbers[i];
        if (x > TARE_LOSSY_REACH) beyond[x < 0x1p62f ? tare_wc_log2((uint64_t)x) >> SHIFT : part]++;
    }
    while (part > reach && sum + beyond[part] <= n / FEW) sum += beyond[part--];
    return part + 1 - reach;
}

/* Makes the steps longer, to where numbers beyond them are few. A bit is worth what it was. */
static bool stretch(tare_lossy_target *t, const tare_lossy_room *room, uint32_t n) {
    const unsigned parts = parts_missing(room, n);
    tare_lossy_choice *c = &t->choice;
    const double by = tare_lossy_exp2((double)parts / PARTS);
    const uint16_t scale = tare_f16_of_f32((float)((double)c->unit * by));
    c->unit = tare_f32_of_f16(scale);
    c->lambda = (float)((double)c->lambda / (by * by));
    c->is_stretched = true;
    c->is_finest = t->highest == TARE_LOSSY_COARSE;
    return scale < 0x7c00 && (c->is_finest || parts <= MOST_PARTS);
}

/* The choice of the target becomes a way; *fits: it has values for nearly all numbers. */
static tare_status try_way(bool *fits, const tare_lossy_run *r, tare_lossy_target *t, way w,
                           tare_lossy_bench *b, tare_error *err) {
    outcome o = {0};
    *fits = false;
    if (!set_unit(&t->choice, t, r->factor, w)) return TARE_OK;
    TARE_TRY(load_sample(&b->room, &o.n, r, t, err));
    if (w == STRETCHED) {
        if (!stretch(t, &b->room, o.n)) return TARE_OK;
        TARE_TRY(load_sample(&b->room, &o.n, r, t, err));
    }
    b->room.n_outliers = 0;
    if (w != WIDE) tare_lossy_take_outliers(&b->room, o.n);
    o.n_outliers = b->room.n_outliers;
    if (o.n_outliers > o.n / FEW) return TARE_OK;
    TARE_TRY(resolve(&o, r, t, b, err));
    report_target(t, r, &o);
    *fits = true;
    return TARE_OK;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* What a byte is worth: the steps of all tensors are such that it is the same for all. */
static double price_of_byte(const tare_lossy_run *r) {
    return 8 * (double)TARE_LOSSY_LAMBDA * r->factor * r->factor / (double)r->n_weights;
}

/* Whether a way is worth trying after the others before it, of which some have values for nearly all
 * numbers, and one is the best so far. */
static bool may_pay(way w, const tare_lossy_target *t, const bool *fits,
                    const tare_lossy_choice *best) {
    if (w == TRELLIS) return true;
    if (w == STRETCHED) return !fits[TRELLIS] && t->lowest == TARE_LOSSY_COARSE;
    if (fits[TRELLIS]) return w == ROUNDED && best->bits <= LOW_RATE * (double)t->n;
    if (w == WIDE && fits[ROUNDED]) return false;
    return best->is_kept || t->highest >= TARE_LOSSY_FINE;
}

static uint8_t level_of(way w, const tare_lossy_target *t, const bool *fits) {
    const uint8_t level = w >= ROUNDED && !fits[TRELLIS] ? TARE_LOSSY_FINE : TARE_LOSSY_COARSE;
    return level < t->lowest ? t->lowest : level > t->highest ? t->highest : level;
}

tare_status tare_lossy_choose_for(tare_lossy_target *t, const tare_lossy_run *r,
                                  tare_lossy_bench *b, tare_error *err) {
    const double byte = price_of_byte(r);
    const tare_lossy_choice kept = {.is_kept = true, .level = TARE_LOSSY_KEPT};
    tare_lossy_choice best = kept;
    bool fits[N_WAYS] = {false};
    double least = 0;
    for (way w = TRELLIS; w < N_WAYS && t->lowest < TARE_LOSSY_KEPT; w++) {
        if (!may_pay(w, t, fits, &best)) continue;
        TARE_TRY(try_way(&fits[w], r, t, w, b, err));
        t->choice.level = level_of(w, t, fits);
        const double cost = t->choice.damage + byte * t->choice.bytes;
        if (!fits[w] || (!best.is_kept && cost >= least)) continue;
        best = t->choice;
        least = cost;
    }
    const bool may_keep = t->highest >= TARE_LOSSY_KEPT;
    t->choice = may_keep && byte * t->kept_bytes <= least ? kept : best;
    return TARE_OK;
}
