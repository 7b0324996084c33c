/* SPDX-License-Identifier: MIT
 *
 * Better encoders of the IQ1, IQ2 and IQ3 formats, whose codes are points of a codebook. For every
 * scale that is tried each point is the truly nearest one, by weighted error, and where the number
 * of minus signs must be even, the cheapest sign is flipped.
 *
 * Finding the nearest point: a point has four quarters, each with at most 9 combinations of levels,
 * and its error is the sum of theirs. Points are listed by their first two quarters; a list is
 * walked only if these and the best second half together beat the best point so far. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/fork.h"
#include "encoding/best.h"
#include "encoding/codebooks.h"
#include "encoding/float16.h"
#include "encoding/iq_pack.h"
#include "encoding/lattice.h"

/* ---- codebooks by quarters ------------------------------------------------------------------- */

/* Combinations of levels in a quarter: 3 levels twice, or one of 8. Rows of second halves are
 * filled up to whole vectors. */
enum { QUARTER = 9, ROW = 12, POINTS = 2048, LEVELS = 8 };

typedef struct book {
    uint16_t start[QUARTER * QUARTER + 1]; /* of the list of each first half */
    uint8_t second[POINTS];                /* lists: second halves (rows of ROW) and points */
    uint16_t point[POINTS];
} book;

static unsigned quarter_of(const tare_lattice *l, uint32_t point, int quarter) {
    unsigned place = 0;
    int n = l->lanes / 4;
    for (int i = 0; i < n; i++)
        place = place * l->levels + tare_lattice_level(l, point, quarter * n + i);
    return place;
}

static void fill(book *b, const tare_lattice *l) {
    uint16_t n = 0;
    for (unsigned first = 0; first < QUARTER * QUARTER; first++) {
        b->start[first] = n;
        for (uint16_t i = 0; i < l->n_points; i++) {
            if (quarter_of(l, i, 0) * QUARTER + quarter_of(l, i, 1) != first) continue;
            b->second[n] = (uint8_t)(quarter_of(l, i, 2) * ROW + quarter_of(l, i, 3));
            b->point[n++] = i;
        }
    }
    b->start[QUARTER * QUARTER] = n;
}

/* Made at first use. */
static const book *book_get(tare_lattice_id id) {
    static book books[TARE_LATTICE_COUNT];
    static atomic_bool is_ready[TARE_LATTICE_COUNT];
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static tare_process process;
    if (atomic_load(&is_ready[id])) return &books[id];
    if (tare_process_is_new(&process)) {
        pthread_mutex_init(&mutex, NULL);
        tare_process_renewed(&process);
    }
    pthread_mutex_lock(&mutex);
    if (!atomic_load(&is_ready[id])) fill(&books[id], tare_lattice_get(id));
    atomic_store(&is_ready[id], true);
    pthread_mutex_unlock(&mutex);
    return &books[id];
}

/* ---- the nearest point ----------------------------------------------------------------------- */

typedef struct nearest {
    float error;
    unsigned place; /* in the lists */
} nearest;

/* Errors of each combination of each quarter, and of the second halves; least ones. */
typedef struct errors {
    float quarters[4][ROW], second[QUARTER * ROW];
    float least[4], least_second;
} errors;

static inline float lower(float a, float b) {
    return a < b ? a : b;
}

static inline float least_of(const float *v, int n) {
    float least = v[0];
    for (int i = 1; i < n; i++) least = lower(v[i], least);
    return least;
}

/* sums[i * ROW + k] = a[i] + b[k]. */
static inline void add_quarters(float *sums, const float *a, const float *b, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < ROW; k++) sums[i * ROW + k] = a[i] + b[k];
}

/* Of each combination of a quarter, from `lanes` of each level of each lane: the sum, or the lower
 * one. */
static inline void fill_quarter(float *out, float lanes[][LEVELS], int n_lanes, int n_levels,
                                bool is_sum) {
    memset(out, 0, ROW * sizeof *out);
    for (int v = 0; v < n_levels; v++) {
        float first = lanes[0][v];
        if (n_lanes == 1) out[v] = first;
        for (int k = 0; n_lanes == 2 && k < n_levels; k++)
            out[v * n_levels + k] = is_sum ? first + lanes[1][k] : lower(first, lanes[1][k]);
    }
}

static inline void walk_list(nearest *best, const book *b, int list, float first,
                             const float *second) {
    for (unsigned i = b->start[list]; i < b->start[list + 1]; i++) {
        float error = first + second[b->second[i]];
        if (error < best->error) *best = (nearest){error, i};
    }
}

static inline int place_of(const float *v, int n, float value) {
    int at = 0;
    for (int i = 0; i < n; i++)
        if (v[i] == value) at = i;
    return at;
}

/* A point with an error below `limit`, if there is one. */
static inline nearest find_nearest(const book *b, const errors *e, int n, float limit) {
    nearest best = {limit, 0};
    int i0 = place_of(e->quarters[0], n, e->least[0]),
        k0 = place_of(e->quarters[1], n, e->least[1]);
    /* The best first half goes first, so that few others need be walked. */
    walk_list(&best, b, i0 * QUARTER + k0, e->least[0] + e->least[1], e->second);
    for (int i = 0; i < n; i++) {
        float first = e->quarters[0][i];
        if (!(first + e->least[1] + e->least_second < best.error)) continue;
        for (int k = 0; k < n; k++) {
            float both = first + e->quarters[1][k];
            if (both + e->least_second < best.error)
                walk_list(&best, b, i * QUARTER + k, both, e->second);
        }
    }
    return best;
}

/* One list with the sign flipped in the first half or in the second. */
static inline void walk_turned(nearest *best, const book *b, const errors *e, const errors *t,
                               int i, int k) {
    float plain = e->quarters[0][i] + e->quarters[1][k];
    float turned =
        lower(t->quarters[0][i] + e->quarters[1][k], e->quarters[0][i] + t->quarters[1][k]);
    if (turned + e->least_second < best->error)
        walk_list(best, b, i * QUARTER + k, turned, e->second);
    if (plain + t->least_second < best->error)
        walk_list(best, b, i * QUARTER + k, plain, t->second);
}

/* The same where one sign has to be flipped: t has the errors of quarters that contain it, and
 * t->second those of second halves that contain it. */
static inline nearest find_turned(const book *b, const errors *e, const errors *t, int n) {
    nearest best = {INFINITY, 0};
    walk_turned(&best, b, e, t, place_of(e->quarters[0], n, e->least[0]),
                place_of(e->quarters[1], n, e->least[1]));
    for (int i = 0; i < n; i++) {
        float in_first = lower(t->quarters[0][i] + e->least[1], e->quarters[0][i] + t->least[1]);
        float in_second = e->quarters[0][i] + e->least[1];
        if (in_first + e->least_second < best.error || in_second + t->least_second < best.error)
            for (int k = 0; k < n; k++) walk_turned(&best, b, e, t, i, k);
    }
    return best;
}

typedef enum shifts { SHIFT_NONE, SHIFT_PART, SHIFT_POINT } shifts;

/* How the formats differ. */
typedef struct iq_form {
    tare_lattice_id lattice;
    tare_super super;
    tare_walk walk;
    float values[LEVELS]; /* of levels, before any shift */
    bool has_even_signs;  /* the number of minus signs of eight elements is even */
    shifts shifts;        /* iq1: numbers keep their signs, values are shifted up or down */
} iq_form;

/* Codes of one part. */
typedef struct iq_choice {
    uint16_t points[8];
    uint8_t signs[4]; /* of eight elements; iq1: of each point, whether it is shifted down */
} iq_choice;

/* Numbers of one point, or their magnitudes, under a scale. */
typedef struct target {
    float x[8];
    const float *weights;
    const float *values; /* of the levels */
    float scale;
} target;

static inline void fill_errors(errors *e, const target *t, int n_lanes, int n_levels) {
    float lanes[8][LEVELS];
    int n = n_lanes == 8 ? QUARTER : LEVELS;
    for (int i = 0; i < n_lanes; i++)
        for (int v = 0; v < n_levels; v++) {
            float r = t->x[i] - t->scale * t->values[v];
            lanes[i][v] = t->weights[i] * r * r;
        }
    for (int k = 0; k < 4; k++) {
        fill_quarter(e->quarters[k], lanes + k * (n_lanes / 4), n_lanes / 4, n_levels, true);
        e->least[k] = least_of(e->quarters[k], n);
    }
    add_quarters(e->second, e->quarters[2], e->quarters[3], n);
    e->least_second = e->least[2] + e->least[3];
}

/* Including the cost of flipping the cheapest sign. */
static inline void fill_turned(errors *turned, const errors *e, const target *t, int n_lanes,
                               int n_levels) {
    float costs[8][LEVELS], other[QUARTER * ROW];
    int n = n_lanes == 8 ? QUARTER : LEVELS;
    for (int i = 0; i < n_lanes; i++)
        for (int v = 0; v < n_levels; v++)
            costs[i][v] = 4 * t->weights[i] * t->x[i] * t->scale * t->values[v];
    for (int k = 0; k < 4; k++) {
        float *quarter = turned->quarters[k];
        fill_quarter(quarter, costs + k * (n_lanes / 4), n_lanes / 4, n_levels, false);
        for (int i = 0; i < ROW; i++) quarter[i] += e->quarters[k][i];
        turned->least[k] = least_of(quarter, n);
    }
    add_quarters(turned->second, turned->quarters[2], e->quarters[3], n);
    add_quarters(other, e->quarters[2], turned->quarters[3], n);
    for (int i = 0; i < n * ROW; i++) turned->second[i] = lower(turned->second[i], other[i]);
    turned->least_second = lower(turned->least[2] + e->least[3], e->least[2] + turned->least[3]);
}

/* The nearest point, if it beats plain->error, and the nearest one if one sign has to be turned;
 * either NULL: not needed. */
static inline void search_point(nearest *plain, nearest *turned, const book *b, const target *t,
                                int n_lanes, int n_levels) {
    errors e, of_turned;
    int n = n_lanes == 8 ? QUARTER : LEVELS;
    fill_errors(&e, t, n_lanes, n_levels);
    if (plain) *plain = find_nearest(b, &e, n, plain->error);
    if (!turned) return;
    fill_turned(&of_turned, &e, t, n_lanes, n_levels);
    *turned = find_turned(b, &e, &of_turned, n);
}

static void choose_point(nearest *plain, nearest *turned, const book *b, const tare_lattice *l,
                         const target *t) {
    if (l->lanes == 8)
        search_point(plain, turned, b, t, 8, 3);
    else
        search_point(plain, turned, b, t, 4, 8);
}

static void add_element(tare_fit *fit, float x, float weight, float scale, float q) {
    float r = x - scale * q;
    fit->error += weight * r * r;
    fit->rq += weight * r * q;
    fit->qq += weight * q * q;
}

/* ---- iq2, iq3: magnitudes and signs ---------------------------------------------------------- */

/* The element of a point whose sign is cheapest to flip. */
static int cheapest_turn(const iq_form *form, const tare_lattice *l, const target *t,
                         uint32_t point) {
    int at = 0;
    float least = INFINITY;
    for (int i = 0; i < l->lanes; i++) {
        float cost = t->weights[i] * t->x[i] * form->values[tare_lattice_level(l, point, i)];
        if (cost < least) {
            least = cost;
            at = i;
        }
    }
    return at;
}

/* Points of eight elements where one sign has to be flipped; returns which. */
static int choose_turned(uint16_t *points, const iq_form *form, const book *b,
                         const tare_lattice *l, const target *t, int n) {
    nearest plain[2] = {{0, 0}, {0, 0}}, turned[2];
    int turn = 0;
    for (int k = 0; k < n; k++) {
        if (n > 1) plain[k].error = INFINITY;
        choose_point(n > 1 ? &plain[k] : NULL, &turned[k], b, l, &t[k]);
        points[k] = b->point[plain[k].place];
        if (turned[k].error - plain[k].error < turned[turn].error - plain[turn].error) turn = k;
    }
    points[turn] = b->point[turned[turn].place];
    return turn * l->lanes + cheapest_turn(form, l, &t[turn], points[turn]);
}

/* Points and signs of eight elements, one point or two. */
static void choose_eight(tare_fit *fit, uint16_t *points, uint8_t *signs, const iq_form *form,
                         const tare_lattice *l, const float *x, const float *weights, float scale) {
    const book *b = book_get(form->lattice);
    int n = 8 / l->lanes;
    target t[2];
    unsigned minus = 0;
    for (int i = 0; i < 8; i++) {
        minus |= (unsigned)(x[i] < 0) << i;
        t[i / l->lanes].x[i % l->lanes] = fabsf(x[i]);
    }
    for (int k = 0; k < n; k++) {
        t[k].weights = weights + k * l->lanes;
        t[k].values = form->values;
        t[k].scale = scale;
    }
    if (form->has_even_signs && __builtin_parity(minus)) {
        minus ^= 1u << choose_turned(points, form, b, l, t, n);
    } else {
        for (int k = 0; k < n; k++) {
            nearest plain = {INFINITY, 0};
            choose_point(&plain, NULL, b, l, &t[k]);
            points[k] = b->point[plain.place];
        }
    }
    for (int i = 0; i < 8; i++) {
        float q = form->values[tare_lattice_level(l, points[i / l->lanes], i % l->lanes)];
        add_element(fit, x[i], weights[i], scale, minus >> i & 1 ? -q : q);
    }
    *signs = (uint8_t)(form->has_even_signs ? minus & 127 : minus);
}

/* ---- iq1: shifted values --------------------------------------------------------------------- */

/* Points of n times eight elements under one shift; an infinite error if it is not below `limit`.
 */
static tare_fit choose_shifted(uint16_t *points, const iq_form *form, const tare_lattice *l,
                               const float *x, const float *weights, size_t n, float scale,
                               float shift, float limit) {
    const book *b = book_get(form->lattice);
    tare_fit fit = {0};
    float values[LEVELS];
    for (int v = 0; v < l->levels; v++) values[v] = form->values[v] + shift;
    for (size_t k = 0; k < n; k++) {
        target t = {.weights = weights + 8 * k, .values = values, .scale = scale};
        memcpy(t.x, x + 8 * k, sizeof t.x);
        nearest found = {limit - fit.error, 0};
        choose_point(&found, NULL, b, l, &t);
        if (!(found.error < limit - fit.error)) return (tare_fit){INFINITY, 0, 0};
        points[k] = b->point[found.place];
        for (int i = 0; i < 8; i++)
            add_element(&fit, t.x[i], t.weights[i], scale,
                        values[tare_lattice_level(l, points[k], i)]);
    }
    return fit;
}

/* Points of n times eight elements and the better of both shifts. */
static void choose_shift(tare_fit *fit, uint16_t *points, uint8_t *is_down, const iq_form *form,
                         const tare_lattice *l, const float *x, const float *weights, size_t n,
                         float scale) {
    uint16_t other[4];
    tare_fit up = choose_shifted(points, form, l, x, weights, n, scale, TARE_IQ1_SHIFT, INFINITY);
    tare_fit down = choose_shifted(other, form, l, x, weights, n, scale, -TARE_IQ1_SHIFT, up.error);
    *is_down = down.error < up.error;
    if (*is_down) {
        memcpy(points, other, n * sizeof *points);
        up = down;
    }
    fit->error += up.error;
    fit->rq += up.rq;
    fit->qq += up.qq;
}

/* ---- super-blocks ---------------------------------------------------------------------------- */

static tare_fit choose(iq_choice *c, const tare_part *p, float scale) {
    const iq_form *form = p->form;
    const tare_lattice *l = tare_lattice_get(form->lattice);
    tare_fit fit = {0};
    size_t n = p->n / 8;
    if (form->shifts == SHIFT_PART) {
        choose_shift(&fit, c->points, c->signs, form, l, p->x, p->weights, n, scale);
        return fit;
    }
    for (size_t k = 0; k < n; k++) {
        const float *x = p->x + 8 * k, *weights = p->weights + 8 * k;
        uint16_t *points = c->points + k * (8u / l->lanes);
        if (form->shifts == SHIFT_POINT)
            choose_shift(&fit, points, &c->signs[k], form, l, x, weights, 1, scale);
        else
            choose_eight(&fit, points, &c->signs[k], form, l, x, weights, scale);
    }
    return fit;
}

static tare_fit fit_points(const tare_part *p, float scale) {
    iq_choice c;
    return choose(&c, p, scale);
}

static void search_256(tare_iq_codes *codes, const tare_best_block *b, const iq_form *form) {
    const tare_lattice *l = tare_lattice_get(form->lattice);
    tare_part parts[TARE_MOST_PARTS];
    size_t n_parts = (size_t)form->super.n_parts, n = 256 / n_parts, n_points = n / l->lanes;
    size_t n_signs = form->shifts == SHIFT_PART ? 1 : n / 8;
    for (size_t j = 0; j < n_parts; j++)
        parts[j] = (tare_part){.x = b->x + j * n,
                               .weights = b->weights + j * n,
                               .n = n,
                               .fit = fit_points,
                               .form = form,
                               .walk = form->walk};
    tare_super_found found = tare_search_super(parts, &form->super);
    memset(codes, 0, sizeof *codes);
    codes->d = found.d;
    for (size_t j = 0; j < n_parts; j++) {
        iq_choice c;
        choose(&c, &parts[j], found.scales[j]);
        codes->scales[j] = found.index[j];
        memcpy(codes->points + j * n_points, c.points, n_points * sizeof c.points[0]);
        memcpy(codes->signs + j * n_signs, c.signs, n_signs);
    }
}

#define DEFINE_BEST(name, NAME, ...)                                                               \
    static void improve_##name(uint8_t *y, const tare_best_block *b) {                             \
        static const iq_form form = {.lattice = __VA_ARGS__};                                      \
        tare_iq_codes codes;                                                                       \
        search_256(&codes, b, &form);                                                              \
        tare_pack_##name(y, &codes);                                                               \
    }                                                                                              \
    TARE_DEFINE_BEST(name, NAME)

#define IQ2_VALUES .values = {8, 25, 43}, .walk = {43, 1.3f, 1.2f, 2.5f, 32}
#define IQ1_VALUES .values = {-1, 0, 1}, .walk = {1.125f, 1.06f, 1.25f, 2, 32}
DEFINE_BEST(iq2_xxs, IQ2_XXS, TARE_LATTICE_IQ2_XXS, .super = {8, 1, 2, 16, 0.125f, false, 1, 2},
            .has_even_signs = true, IQ2_VALUES)
DEFINE_BEST(iq2_xs, IQ2_XS, TARE_LATTICE_IQ2_XS, .super = {16, 1, 2, 16, 0.125f, false, 1, 2},
            .has_even_signs = true, IQ2_VALUES)
DEFINE_BEST(iq2_s, IQ2_S, TARE_LATTICE_IQ2_S, .super = {16, 1, 2, 16, 0.125f, false, 1, 2},
            IQ2_VALUES)
DEFINE_BEST(iq3_xxs, IQ3_XXS, TARE_LATTICE_IQ3_XXS, .super = {8, 1, 2, 16, 0.25f, false, 1, 2},
            .has_even_signs = true, .values = {4, 12, 20, 28, 36, 44, 52, 62},
            .walk = {62, 1.3f, 1.13f, 2.5f, 48})
DEFINE_BEST(iq3_s, IQ3_S, TARE_LATTICE_IQ3_S, .super = {8, 1, 2, 16, 1, false, 1, 2},
            .values = {1, 3, 5, 7, 9, 11, 13, 15}, .walk = {15, 1.3f, 1.13f, 2.5f, 48})
DEFINE_BEST(iq1_s, IQ1_S, TARE_LATTICE_IQ1, .super = {8, 1, 2, 8, 1, false, 1, 2},
            .shifts = SHIFT_PART, IQ1_VALUES)
DEFINE_BEST(iq1_m, IQ1_M, TARE_LATTICE_IQ1, .super = {16, 1, 2, 8, 1, false, 1, 2},
            .shifts = SHIFT_POINT, IQ1_VALUES)

void tare_kernels_init_best_iq(tare_kernels *k) {
    k->encode_best[TARE_ENCODING_IQ2_XXS] = encode_best_iq2_xxs;
    k->encode_best[TARE_ENCODING_IQ2_XS] = encode_best_iq2_xs;
    k->encode_best[TARE_ENCODING_IQ2_S] = encode_best_iq2_s;
    k->encode_best[TARE_ENCODING_IQ3_XXS] = encode_best_iq3_xxs;
    k->encode_best[TARE_ENCODING_IQ3_S] = encode_best_iq3_s;
    k->encode_best[TARE_ENCODING_IQ1_S] = encode_best_iq1_s;
    k->encode_best[TARE_ENCODING_IQ1_M] = encode_best_iq1_m;
}
