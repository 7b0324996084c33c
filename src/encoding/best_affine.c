/* SPDX-License-Identifier: MIT
 *
 * Better encoders of the formats with a scale and an offset: x ~ scale * q + offset. One pair of
 * f16 a block (q4_1, q5_1), or a pair of whole numbers for each sub-block under two f16 (q2_K,
 * q4_K, q5_K). As in best.h, codes are chosen anew for every pair that is tried, and a fit tells
 * where on its paraboloid a pair stands. */
#include <math.h>
#include <string.h>

#include "encoding/best.h"
#include "encoding/bitpack.h"
#include "encoding/float16.h"
#include "encoding/kernels.h"
#include "encoding/kquant.h"

enum { MOST = TARE_MOST_PARTS };

/* What the offset of a part may be. */
typedef enum offset_side { SIDE_FREE, SIDE_BELOW, SIDE_ABOVE } offset_side;

/* Where a search for a pair begins: both ends of the range of codes moved inwards by first..last
 * steps, in levels. The coarser the codes, the more it pays to clip the largest numbers; with fine
 * ones some wider range may happen to meet the numbers well. */
typedef struct line_grid {
    float step;
    int first, last;
} line_grid;
static const line_grid coarse_grid = {0.33f, -1, 6}, fine_grid = {0.4f, -4, 5};

/* Numbers under one pair; codes 0..top. */
typedef struct line_part {
    const float *x, *weights;
    size_t n;
    float top;
    float sum_w, low, high; /* of the numbers */
} line_part;

typedef tare_line line;

typedef tare_line_fit line_fit;

typedef struct line_ideal {
    line at;
    line_fit fit; /* its error is that of `at`; rq and r1 are not used */
} line_ideal;

static line_part part_of(const tare_best_block *b, size_t j, size_t n, float top) {
    line_part p = {.x = b->x + j * n, .weights = b->weights + j * n, .n = n, .top = top};
    p.low = p.high = p.x[0];
    for (size_t i = 0; i < n; i++) {
        p.sum_w += p.weights[i];
        p.low = fminf(p.low, p.x[i]);
        p.high = fmaxf(p.high, p.x[i]);
    }
    return p;
}

/* ---- one pair -------------------------------------------------------------------------------- */

static line_fit fit_line(const line_part *p, line at) {
    line_fit fit = {.w1 = p->sum_w};
    tare_kernels_get()->fit_line(&fit, p->x, p->weights, p->n, p->top, at.scale, at.offset);
    return fit;
}

static void codes_of(uint8_t *codes, const line_part *p, line at) {
    float inverse = at.scale != 0 ? 1 / at.scale : 0;
    for (size_t i = 0; i < p->n; i++)
        codes[i] = (uint8_t)(int)tare_round_clamped((p->x[i] - at.offset) * inverse, 0, p->top);
}

/* How the error changes when a pair moves by `by` and the codes stay. */
static float change(const line_fit *f, line by) {
    return by.scale * (by.scale * f->qq - 2 * f->rq) +
           by.offset * (by.offset * f->w1 + 2 * by.scale * f->q1 - 2 * f->r1);
}

static bool is_allowed(float offset, offset_side side) {
    return side == SIDE_FREE || (side == SIDE_BELOW ? offset <= 0 : offset >= 0);
}

/* Takes the lowest point of the paraboloid on which the pair stands, if it lies lower. */
static bool take_lower(line_ideal *best, const line_fit *f, line at, offset_side side) {
    float det = f->qq * f->w1 - f->q1 * f->q1;
    line by = {0, 0};
    if (det > 1e-6f * f->qq * f->w1) {
        by.scale = (f->w1 * f->rq - f->q1 * f->r1) / det;
        by.offset = (f->qq * f->r1 - f->q1 * f->rq) / det;
    }
    if (!is_allowed(at.offset + by.offset, side)) {
        by.offset = -at.offset;
        by.scale = f->qq > 0 ? (f->rq - by.offset * f->q1) / f->qq : 0;
    }
    float error = f->error + change(f, by);
    if (!(error < best->fit.error)) return false;
    best->at = (line){at.scale + by.scale, at.offset + by.offset};
    best->fit = *f;
    best->fit.error = error;
    return true;
}

/* The best pair if any numbers can be stored: from a grid of ranges, then downhill. */
static line_ideal search_line(const line_part *p, offset_side side) {
    float low = p->low, high = p->high;
    line_ideal best = {.fit = {.error = INFINITY}};
    if (!is_allowed(low, side)) low = 0;
    line at = {0, low};
    line_fit fit = fit_line(p, at);
    take_lower(&best, &fit, at, side);
    const line_grid *grid = p->top < 8 ? &coarse_grid : &fine_grid;
    float unit = grid->step * (high - low) / p->top;
    if (!(unit > 0)) return best;
    for (int i = grid->first; i <= grid->last; i++)
        for (int k = grid->first; k <= grid->last; k++) {
            at.offset = low + unit * (float)i;
            if (!is_allowed(at.offset, side)) at.offset = 0;
            at.scale = (high - unit * (float)k - at.offset) / p->top;
            fit = fit_line(p, at);
            take_lower(&best, &fit, at, side);
        }
    for (int i = 0; i < 4; i++) {
        at = best.at;
        fit = fit_line(p, at);
        if (!take_lower(&best, &fit, at, side)) break;
    }
    return best;
}

tare_line tare_search_line(const float *x, const float *weights, size_t n, size_t n_padded,
                           float top) {
    line_part p = {
        .x = x, .weights = weights, .n = n_padded, .top = top, .low = x[0], .high = x[0]};
    for (size_t i = 0; i < n; i++) {
        p.sum_w += weights[i];
        p.low = fminf(p.low, x[i]);
        p.high = fmaxf(p.high, x[i]);
    }
    return search_line(&p, SIDE_FREE).at;
}

/* A block of 32 with a scale and an offset in f16. */
static void search_f16_pair(uint8_t *codes, uint8_t *y, const tare_best_block *b, float top) {
    line_part p = part_of(b, 0, 32, top);
    line_ideal ideal = search_line(&p, SIDE_FREE);
    uint16_t d = tare_f16_of_f32(ideal.at.scale), best_d = 0, best_m = 0;
    float least = INFINITY;
    for (int i = -1; i <= 1; i++) {
        uint16_t code = (uint16_t)((d & 0x7fff) + i);
        if (code > 0x7bff) continue; /* below 0 or not finite */
        code |= d & 0x8000;
        line at = {tare_f32_of_f16(code), ideal.at.offset};
        for (int round = 0; round < 3; round++) {
            at.offset = tare_f32_of_f16(tare_f16_of_f32(at.offset));
            line_fit fit = fit_line(&p, at);
            if (fit.error < least) {
                least = fit.error;
                best_d = code;
                best_m = tare_f16_of_f32(at.offset);
            }
            at.offset += fit.r1 / fit.w1;
        }
    }
    tare_store_le16(y, best_d);
    tare_store_le16(y + 2, best_m);
    codes_of(codes, &p, (line){tare_f32_of_f16(best_d), tare_f32_of_f16(best_m)});
}

static void improve_q4_1(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[32];
    search_f16_pair(codes, y, b, 15);
    tare_pack_halves(y + 4, codes, 16);
}

static void improve_q5_1(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[32];
    search_f16_pair(codes, y, b, 31);
    tare_pack_halves(y + 8, codes, 16);
    tare_pack_fifth_bits(y + 4, codes);
}

/* ---- pairs of whole numbers under two f16 ---------------------------------------------------- */

/* scale = d * scales[j], offset = -dmin * mins[j]; whole numbers 0..top. */
typedef struct found {
    float d, dmin; /* as stored */
    uint8_t scales[MOST], mins[MOST];
    float error;
} found;

typedef struct super {
    const line_part *parts;
    const line_ideal *ideal;
    int n_parts;
    float top; /* of the whole numbers */
} super;

/* The minimum that goes best with a scale, by the paraboloid of the ideal pair. */
static float min_near(const line_ideal *i, float scale, float dmin) {
    float offset = i->at.offset - i->fit.q1 / i->fit.w1 * (scale - i->at.scale);
    return dmin != 0 ? -offset / dmin : 0;
}

/* The error to come if the codes stay and only scales and offsets are rounded. */
static float guess_error(const super *s, float d, float dmin) {
    float sum = 0;
    for (int j = 0; j < s->n_parts; j++) {
        const line_ideal *i = &s->ideal[j];
        line_fit f = i->fit;
        float l = tare_round_clamped(i->at.scale / d, 0, s->top);
        float m = tare_round_clamped(min_near(i, d * l, dmin), 0, s->top);
        line by = {d * l - i->at.scale, -dmin * m - i->at.offset};
        f.rq = f.r1 = 0;
        sum += change(&f, by);
    }
    return sum;
}

/* A walk down from an f16 that reaches the largest number. */
enum { WALK = 24, STARTS = 3 };
#define WALK_FROM  1.04f
#define WALK_RATIO 1.025f

static int find_starts(found *starts, const super *s, offset_side side) {
    float guess[WALK], d_at[WALK], dmin_at[WALK], most = 0, most_min = 0;
    for (int j = 0; j < s->n_parts; j++) {
        most = fmaxf(most, s->ideal[j].at.scale);
        most_min = fmaxf(most_min, fabsf(s->ideal[j].at.offset));
    }
    if (most == 0 && most_min == 0) return 0;
    float d = WALK_FROM * most / s->top;
    for (int i = 0; i < WALK; i++, d /= WALK_RATIO) {
        float dmin = WALK_FROM * most_min / s->top * (side == SIDE_ABOVE ? -1 : 1);
        guess[i] = INFINITY;
        dmin_at[i] = 0;
        d_at[i] = d > 0 ? d : 1; /* any d goes with scales that are all 0 */
        for (int k = 0; k < WALK; k++, dmin /= WALK_RATIO) {
            float g = guess_error(s, d_at[i], dmin);
            if (!(g < guess[i])) continue;
            guess[i] = g;
            dmin_at[i] = dmin;
        }
    }
    int at[STARTS], n = tare_lowest_minima(at, STARTS, guess, WALK);
    for (int i = 0; i < n; i++) starts[i] = (found){.d = d_at[at[i]], .dmin = dmin_at[at[i]]};
    return n;
}

/* The best of four times four numbers around a part's ideal pair. */
static line_fit choose_pair(uint8_t *scale, uint8_t *min, const super *s, int j, float d,
                            float dmin) {
    const line_ideal *ideal = &s->ideal[j];
    line_fit best = {.error = INFINITY};
    float l0 = tare_round_clamped(ideal->at.scale / d - 1.5f, 0, s->top);
    for (float l = l0; l <= fminf(l0 + 3, s->top); l++) {
        float m0 = tare_round_clamped(min_near(ideal, d * l, dmin) - 1.5f, 0, s->top);
        for (float m = m0; m <= fminf(m0 + 3, s->top); m++) {
            line_fit fit = fit_line(&s->parts[j], (line){d * l, -dmin * m});
            if (!(fit.error < best.error)) continue;
            best = fit;
            *scale = (uint8_t)l;
            *min = (uint8_t)m;
        }
    }
    return best;
}

/* Sums over parts for the two f16: normal equations of d and dmin. */
typedef struct equations {
    float dd, dm, mm, rd, rm;
} equations;

static void add_part(equations *e, const line_fit *f, float l, float m) {
    e->dd += l * l * f->qq;
    e->dm -= l * m * f->q1;
    e->mm += m * m * f->w1;
    e->rd += l * f->rq;
    e->rm -= m * f->r1;
}

static bool solve(const equations *e, float *d, float *dmin) {
    float det = e->dd * e->mm - e->dm * e->dm;
    if (det > 1e-6f * e->dd * e->mm) {
        *d += (e->mm * e->rd - e->dm * e->rm) / det;
        *dmin += (e->dd * e->rm - e->dm * e->rd) / det;
        return true;
    }
    if (!(e->dd > 0)) return false;
    *d += e->rd / e->dd;
    return true;
}

/* From two f16: numbers for all parts, then the best-fitting f16 for them, repeated while it helps.
 */
static void refine(found *best, const super *s, float d, float dmin) {
    for (int round = 0; round < 3; round++) {
        found f = {.d = tare_f32_of_f16(tare_f16_of_f32(d)),
                   .dmin = tare_f32_of_f16(tare_f16_of_f32(dmin))};
        equations e = {0};
        if (f.d == 0 || isinf(f.d) || isinf(f.dmin)) return;
        for (int j = 0; j < s->n_parts; j++) {
            line_fit fit = choose_pair(&f.scales[j], &f.mins[j], s, j, f.d, f.dmin);
            f.error += fit.error;
            add_part(&e, &fit, f.scales[j], f.mins[j]);
        }
        if (f.error < best->error) *best = f;
        d = f.d;
        dmin = f.dmin;
        if (!solve(&e, &d, &dmin)) return;
        if (tare_f16_of_f32(d) == tare_f16_of_f32(f.d) &&
            tare_f16_of_f32(dmin) == tare_f16_of_f32(f.dmin))
            return;
    }
}

/* Codes of 256 elements, and the stored form of their scales and offsets. Offsets above 0 need a
 * negative dmin, which then holds for all parts. */
static found search_256(uint8_t *codes, const tare_best_block *b, int n_parts, float top,
                        float scale_top) {
    line_part parts[MOST];
    line_ideal ideal[MOST];
    found best = {.error = INFINITY}, starts[STARTS];
    size_t n = 256 / (size_t)n_parts;
    bool has_above = false;
    for (int j = 0; j < n_parts; j++) {
        parts[j] = part_of(b, (size_t)j, n, top);
        has_above |= parts[j].low > 0;
    }
    for (offset_side side = SIDE_BELOW; side <= (has_above ? SIDE_ABOVE : SIDE_BELOW); side++) {
        super s = {parts, ideal, n_parts, scale_top};
        for (int j = 0; j < n_parts; j++) ideal[j] = search_line(&parts[j], side);
        int n_starts = find_starts(starts, &s, side);
        for (int i = 0; i < n_starts; i++) refine(&best, &s, starts[i].d, starts[i].dmin);
    }
    for (int j = 0; j < n_parts; j++) {
        line at = {best.d * (float)best.scales[j], -best.dmin * (float)best.mins[j]};
        codes_of(codes + (size_t)j * n, &parts[j], at);
    }
    return best;
}

static void improve_q2_k(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[256];
    found f = search_256(codes, b, 16, 3, 15);
    tare_store_le16(y + Q2_K_D, tare_f16_of_f32(f.d));
    tare_store_le16(y + Q2_K_DMIN, tare_f16_of_f32(f.dmin));
    for (int j = 0; j < 16; j++) y[Q2_K_SCALES + j] = (uint8_t)(f.scales[j] | f.mins[j] << 4);
    tare_pack_2bit(y + Q2_K_QS, codes);
}

/* The head of q4_K and q5_K. */
static void search_head(uint8_t *codes, uint8_t *y, const tare_best_block *b, float top) {
    found f = search_256(codes, b, 8, top, 63);
    tare_store_le16(y + Q4_K_D, tare_f16_of_f32(f.d));
    tare_store_le16(y + Q4_K_DMIN, tare_f16_of_f32(f.dmin));
    tare_pack_k4_scales(y + Q4_K_SCALES, f.scales, f.mins);
}

static void improve_q4_k(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[256];
    search_head(codes, y, b, 15);
    tare_pack_quarters(y + Q4_K_QS, codes);
}

static void improve_q5_k(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[256];
    search_head(codes, y, b, 31);
    tare_pack_bits(y + Q5_K_QH, codes, 4);
    tare_pack_quarters(y + Q5_K_QS, codes);
}

TARE_DEFINE_BEST(q4_1, Q4_1)
TARE_DEFINE_BEST(q5_1, Q5_1)
TARE_DEFINE_BEST(q2_k, Q2_K)
TARE_DEFINE_BEST(q4_k, Q4_K)
TARE_DEFINE_BEST(q5_k, Q5_K)

void tare_kernels_init_best_affine(tare_kernels *k) {
    k->encode_best[TARE_ENCODING_Q4_1] = encode_best_q4_1;
    k->encode_best[TARE_ENCODING_Q5_1] = encode_best_q5_1;
    k->encode_best[TARE_ENCODING_Q2_K] = encode_best_q2_k;
    k->encode_best[TARE_ENCODING_Q4_K] = encode_best_q4_k;
    k->encode_best[TARE_ENCODING_Q5_K] = encode_best_q5_k;
}
