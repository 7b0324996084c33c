/* SPDX-License-Identifier: MIT
 *
 * What a common factor of all steps comes to, estimated from a sample of each tensor, and the factor
 * at which that is what is asked for. Prices of values follow from how often they are chosen, and
 * choices from prices: a few rounds settle it, and the last prices serve for the next factor. */
#include <string.h>

#include "base/arith.h"
#include "encoding/outliers.h"
#include "ops/lossy/lossy.h"
#include "wcodec/wc_choose.h"

enum {
    SAMPLE = 1 << 18,
    CHUNK = 1 << 13,
    ROUNDS = 4,       /* from prices that are not known */
    ROUNDS_AGAIN = 2, /* from those of another factor */
    FEW = 512,        /* one outlier among so many is too many */
    STATES = 32,
    /* What a tensor takes beside its values: records, heads, scales, an entry of tare.lossy. */
    FRAME = 420,
    SEGMENT = 340,
    TABLE = 128,
    MOST_FACTORS = 16,
};

/* Below so many bits a quantizer with a value at 0 may be better than the trellis, which has none. */
#define LOW_RATE 1.7
/* Not many more fit the codes. */
#define MOST_BITS 6.5
/* Tensors that take less are all but lost. */
#define LEAST_BITS 0.3

/* How often values were chosen. */
typedef struct counts {
    uint64_t steps[TARE_LOSSY_GROUPS][TARE_WC_SYMBOLS];
    uint64_t codes[256];
} counts;

typedef struct outcome {
    double bits, error; /* of the sample */
    uint32_t n_outliers;
    unsigned n_tables;
} outcome;

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

static void count(counts *c, const tare_lossy_room *room, const tare_lossy_target *t, uint32_t n) {
    memset(c, 0, sizeof *c);
    for (uint32_t i = 0; i < n && !t->states; i++) c->codes[(uint8_t)room->values[i]]++;
    for (uint32_t at = 0; at < n && t->states; at += TARE_WC_CLASS_RUN) {
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
static double price_steps(tare_lossy_prices *p, const counts *c) {
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
                   TARE_LOSSY_LAMBDA * TARE_LOSSY_SPACING * TARE_LOSSY_SPACING);
        cost += tare_wc_entropy(sums[i], TARE_WC_SYMBOLS);
    }
    cost += tare_wc_entropy(sizes, p->n_classes) / TARE_WC_CLASS_RUN;
    p->is_known = true;
    return (double)cost / 65536;
}

static double price_codes(tare_lossy_prices *p, const counts *c) {
    set_prices(p->codes, c->codes, 256, TARE_LOSSY_LAMBDA);
    p->n_classes = 1;
    p->is_known = true;
    return (double)tare_wc_entropy(c->codes, 256) / 65536;
}

/* ---- a tensor -------------------------------------------------------------------------------- */

/* The scale of its values; false: none that f16 has. */
static bool set_scale(tare_lossy_target *t, double factor, uint8_t states) {
    const double distance = factor * t->base;
    const float scale = (float)(states ? distance / TARE_LOSSY_SPACING : distance);
    t->states = states;
    t->scale = tare_f16_of_f32(scale);
    return t->scale && t->scale < 0x7c00;
}

static tare_status try_states(outcome *out, const tare_lossy_run *r, tare_lossy_target *t,
                              tare_lossy_room *room, counts *c, uint32_t *n, tare_error *err) {
    tare_lossy_prices *p = &t->prices[t->states != 0];
    TARE_TRY(load_sample(room, n, r, t, err));
    tare_lossy_take_outliers(room, *n);
    *out = (outcome){.n_outliers = room->n_outliers};
    if (room->n_outliers > *n / FEW) return TARE_OK;
    for (unsigned i = p->is_known ? ROUNDS - ROUNDS_AGAIN : 0; i < ROUNDS; i++) {
        tare_lossy_choose(room, t, *n);
        count(c, room, t, *n);
        out->bits = t->states ? price_steps(p, c) : price_codes(p, c);
    }
    out->error = tare_lossy_error(room, t, *n);
    out->n_tables = p->n_classes;
    return TARE_OK;
}

static void tell(tare_lossy_target *t, const tare_lossy_run *r, const outcome *o, uint32_t n) {
    const double share = (double)t->n / (double)n, unit = (double)tare_f32_of_f16(t->scale);
    const double n_segments = (double)(t->n >> r->log2_segment) + 1;
    t->bytes = FRAME + SEGMENT * n_segments + TABLE * o->n_tables + o->bits * share / 8 +
               TARE_OUTLIER_BYTES * o->n_outliers * share;
    if (t->columns) t->bytes += 0.7 * (double)t->cols;
    t->damage = t->alpha * unit * unit * o->error * share / t->energy;
    t->is_kept = t->bytes >= t->kept_bytes;
}

/* Trellis or rounding, whichever costs less error and bits together. */
static tare_status try_target(const tare_lossy_run *r, tare_lossy_target *t, tare_lossy_room *room,
                              counts *c, tare_error *err) {
    outcome steps, codes;
    uint32_t n;
    bool is_high = false;
    t->is_kept = true;
    if (set_scale(t, r->factor, STATES)) {
        TARE_TRY(try_states(&steps, r, t, room, c, &n, err));
        is_high = steps.n_outliers > n / FEW;
        if (!is_high) tell(t, r, &steps, n);
        if (!is_high && steps.bits > LOW_RATE * n) return TARE_OK;
    }
    tare_lossy_target other = *t;
    if (!set_scale(&other, r->factor, 0)) return TARE_OK;
    TARE_TRY(try_states(&codes, r, &other, room, c, &n, err));
    if (codes.n_outliers > n / FEW) return TARE_OK;
    const double square = TARE_LOSSY_SPACING * TARE_LOSSY_SPACING;
    const double a = steps.error / square + (double)TARE_LOSSY_LAMBDA * steps.bits;
    const double b = codes.error + (double)TARE_LOSSY_LAMBDA * codes.bits;
    if (!is_high && a <= b) return TARE_OK;
    tell(&other, r, &codes, n);
    *t = other;
    return TARE_OK;
}

typedef struct trial {
    tare_lossy_run *r;
    tare_lossy_room *rooms; /* of each worker */
    counts *counts;
} trial;

static tare_status run_trial(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    const trial *v = ctx;
    tare_lossy_room *room = &v->rooms[worker];
    if (!room->memory) TARE_TRY(tare_lossy_room_init(room, SAMPLE, v->r->options->allocator, err));
    return try_target(v->r, &v->r->targets[task], room, &v->counts[worker], err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

typedef struct total {
    double bytes, damage;
    double n_lossy; /* weights that lose something */
    double bits;    /* of these */
} total;

static total add_up(const tare_lossy_run *r) {
    total sum = {.bytes = r->other_bytes};
    for (size_t i = 0; i < r->n_targets; i++) {
        const tare_lossy_target *t = &r->targets[i];
        sum.bytes += t->is_kept ? t->kept_bytes : t->bytes;
        if (t->is_kept) continue;
        sum.damage += t->damage;
        sum.n_lossy += (double)t->n;
        sum.bits += 8 * t->bytes;
    }
    return sum;
}

static tare_status try_factor(total *out, trial *v, double factor, tare_error *err) {
    const tare_run run = {TARE_RUN_THREADS(v->r->options), .n_tasks = v->r->n_targets,
                          .task = run_trial, .ctx = v};
    v->r->factor = factor;
    TARE_TRY(tare_run_parallel(&run, err));
    *out = add_up(v->r);
    v->r->bytes = out->bytes;
    return TARE_OK;
}

/* Where normal numbers would take the bits that there are for a weight: log2(deviation / distance)
 * and 2.05 more. */
static double first_factor(const tare_lossy_run *r) {
    double sum = 0, n = 0, bytes = (double)r->target_bytes - r->other_bytes;
    for (size_t i = 0; i < r->n_targets; i++) {
        const tare_lossy_target *t = &r->targets[i];
        n += (double)t->n;
        sum += (double)t->n *
               (tare_lossy_log2(t->energy / (double)t->n) / 2 - tare_lossy_log2(t->base));
    }
    double bits = r->target_bytes == UINT64_MAX ? 4 : 8 * bytes / n;
    bits = bits < 1 ? 1 : bits > 7 ? 7 : bits;
    return tare_lossy_exp2(sum / n + 2.05 - bits);
}

/* By how many octaves the factor is off, as the last trial says: a bit a weight is an octave, and
 * damage goes with the square. */
static double octaves_off(const tare_lossy_run *r, const total *sum) {
    if (r->target_bytes != UINT64_MAX)
        return (sum->bytes - (double)r->target_bytes) * 8 / sum->n_lossy;
    return tare_lossy_log2(r->damage / sum->damage) / 2;
}

static tare_status too_small(tare_error *err) {
    return tare_fail(err, TARE_ERR_ARG,
                     "the target is too small: what is not lossy, and 0.3 bits for each weight "
                     "that is, take more");
}

static tare_status find(tare_lossy_run *r, trial *v, tare_error *err) {
    const double close = 0.0004;
    double factor = r->factor > 0 ? r->factor : first_factor(r);
    total sum;
    for (unsigned i = 0; i < MOST_FACTORS; i++) {
        TARE_TRY(try_factor(&sum, v, factor, err));
        if (sum.n_lossy == 0) { /* so fine that nothing is lost */
            r->is_finest = r->target_bytes != UINT64_MAX && sum.bytes <= (double)r->target_bytes;
            if (r->is_finest) return TARE_OK;
            factor *= 2;
            continue;
        }
        double off = octaves_off(r, &sum);
        if (off > 0 && sum.bits < LEAST_BITS * sum.n_lossy) return too_small(err);
        if (off <= 0 && off * sum.n_lossy > -close * sum.bits) return TARE_OK;
        if (off > 2) off = 2;
        if (off < -2) off = -2;
        r->is_finest = sum.bits > MOST_BITS * sum.n_lossy && off < 0;
        /* a little too far, as the target is a limit */
        factor *= tare_lossy_exp2(off + close / 2 * sum.bits / sum.n_lossy);
    }
    return TARE_OK; /* as close as steps of f16 and kept tensors allow */
}

tare_status tare_lossy_find_factor(tare_lossy_run *r, tare_error *err) {
    const unsigned n = r->options->threads ? r->options->threads : tare_default_threads();
    const tare_allocator *a = r->options->allocator;
    trial v = {r, tare_alloc(a, n * sizeof *v.rooms), tare_alloc(a, n * sizeof *v.counts)};
    for (unsigned i = 0; v.rooms && i < n; i++) v.rooms[i] = (tare_lossy_room){.memory = NULL};
    tare_status status =
        v.rooms && v.counts ? find(r, &v, err) : tare_fail(err, TARE_ERR_NOMEM, "numbers");
    for (unsigned i = 0; v.rooms && i < n; i++) tare_lossy_room_free(&v.rooms[i]);
    tare_free(a, v.rooms, n * sizeof *v.rooms);
    tare_free(a, v.counts, n * sizeof *v.counts);
    return status;
}
