/* SPDX-License-Identifier: MIT
 *
 * Three steps. On the lower convex hulls of all units, steps are taken in order of what they save
 * for their cost, which is the optimum of the Lagrangian for every limit that it meets exactly. The
 * rest below the limit is filled by the best change of one unit, or of two of which one pays for
 * the other, until none helps; where there are few units, and each step is a large part of the
 * whole, also of three. As that can end in a local minimum, it also starts from a few points before
 * the limit, where other units come to the fore. The tests compare it with dynamic programming. */
#include "ops/fit/fit_allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"

/* Starting points: the optimum of the hulls, and those of a few steps less. */
#define N_STARTS 6
/* Options of all units up to which changes of three are tried: a million of them. */
#define OPTIONS_OF_THREE 1024

/* A step of a hull. */
typedef struct step {
    double slope; /* loss saved for each unit of cost */
    double cost;
    size_t unit, place; /* from this point of the hull to the next */
} step;

/* A change of one unit. */
typedef struct change {
    double cost, loss; /* differences to the choice */
    size_t unit, option;
} change;

/* Of the changes that give back most the three that lose least, each of another unit. */
typedef struct least {
    size_t of[3]; /* SIZE_MAX: none */
} least;

typedef struct filler {
    const tare_fit_problem *p;
    size_t *choice;
    double limit;
    change *dear, *cheap; /* that save loss for cost; that save cost for loss */
    least *best;          /* for each of the cheap ones: among those up to it */
    size_t n_dear, n_cheap;
    bool tries_three;
} filler;

tare_fit_option tare_fit_sum(const tare_fit_problem *p, const size_t *choice) {
    tare_fit_option sum = {0, 0};
    for (size_t u = 0; u < p->n; u++) {
        const tare_fit_option *o = &p->units[u].options[choice[u]];
        sum.cost += o->cost;
        sum.loss += o->loss;
    }
    return sum;
}

/* ---- hulls ----------------------------------------------------------------------------------- */

static bool is_less(const tare_fit_option *a, const tare_fit_option *b) {
    return a->cost < b->cost || (a->cost == b->cost && a->loss < b->loss);
}

/* Whether b lies on or above the line from a to c, all of rising cost and falling loss. */
static bool is_above(const tare_fit_option *a, const tare_fit_option *b, const tare_fit_option *c) {
    return (a->loss - b->loss) * (c->cost - b->cost) <= (b->loss - c->loss) * (b->cost - a->cost);
}

size_t tare_fit_hull(size_t *out, const tare_fit_unit_options *unit) {
    const tare_fit_option *o = unit->options;
    size_t n = 0;
    /* Units have few options: they are sorted by insertion. */
    for (size_t i = 0; i < unit->n; i++) {
        size_t at = i;
        for (; at > 0 && is_less(&o[i], &o[out[at - 1]]); at--) out[at] = out[at - 1];
        out[at] = i;
    }
    for (size_t i = 0; i < unit->n; i++) {
        const size_t next = out[i];
        if (n > 0 && o[next].loss >= o[out[n - 1]].loss) continue;
        while (n > 1 && is_above(&o[out[n - 2]], &o[out[n - 1]], &o[next])) n--;
        out[n++] = next;
    }
    return n;
}

void tare_fit_cheapest(size_t *choice, const tare_fit_problem *p) {
    for (size_t u = 0; u < p->n; u++) {
        const tare_fit_unit_options *unit = &p->units[u];
        choice[u] = 0;
        for (size_t i = 1; i < unit->n; i++)
            if (is_less(&unit->options[i], &unit->options[choice[u]])) choice[u] = i;
    }
}

/* ---- the steps of all hulls ------------------------------------------------------------------ */

typedef struct ladder {
    size_t *hulls; /* one after the other */
    size_t *begin; /* of each unit's */
    step *steps;   /* the best first */
    size_t n_steps, n_options;
} ladder;

static int by_slope(const void *a, const void *b) {
    const step *x = a, *y = b;
    if (x->slope != y->slope) return x->slope > y->slope ? -1 : 1;
    if (x->unit != y->unit) return x->unit < y->unit ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static void add_steps(ladder *l, const tare_fit_problem *p, size_t u, size_t n) {
    const tare_fit_option *o = p->units[u].options;
    const size_t *hull = &l->hulls[l->begin[u]];
    for (size_t i = 0; i + 1 < n; i++) {
        double cost = o[hull[i + 1]].cost - o[hull[i]].cost;
        double loss = o[hull[i]].loss - o[hull[i + 1]].loss;
        l->steps[l->n_steps++] = (step){loss / cost, cost, u, i};
    }
}

static void free_ladder(ladder *l, const tare_fit_problem *p) {
    tare_free(p->allocator, l->hulls, l->n_options * sizeof *l->hulls);
    tare_free(p->allocator, l->begin, p->n * sizeof *l->begin);
    tare_free(p->allocator, l->steps, l->n_options * sizeof *l->steps);
}

static tare_status make_ladder(ladder *l, const tare_fit_problem *p, tare_error *err) {
    *l = (ladder){0};
    for (size_t u = 0; u < p->n; u++) l->n_options += p->units[u].n;
    l->hulls = tare_alloc(p->allocator, l->n_options * sizeof *l->hulls);
    l->begin = tare_alloc(p->allocator, p->n * sizeof *l->begin);
    l->steps = tare_alloc(p->allocator, l->n_options * sizeof *l->steps);
    if (!l->hulls || !l->begin || !l->steps) {
        free_ladder(l, p);
        return tare_fail(err, TARE_ERR_NOMEM, "choice of types");
    }
    size_t at = 0;
    for (size_t u = 0; u < p->n; u++) {
        l->begin[u] = at;
        add_steps(l, p, u, tare_fit_hull(&l->hulls[at], &p->units[u]));
        at += p->units[u].n;
    }
    qsort(l->steps, l->n_steps, sizeof *l->steps, by_slope);
    return TARE_OK;
}

/* Takes those of the first n steps that fit, in order. *slope: of the first that does not. */
static void climb(size_t *choice, double *slope, const ladder *l, const tare_fit_problem *p,
                  double limit, size_t n) {
    for (size_t u = 0; u < p->n; u++) choice[u] = l->hulls[l->begin[u]];
    double cost = tare_fit_sum(p, choice).cost;
    *slope = 0;
    for (size_t i = 0; i < n; i++) {
        const step *s = &l->steps[i];
        const size_t *hull = &l->hulls[l->begin[s->unit] + s->place];
        bool fits = choice[s->unit] == hull[0] && cost + s->cost <= limit;
        if (fits) {
            choice[s->unit] = hull[1];
            cost += s->cost;
        } else if (*slope == 0) {
            *slope = s->slope;
        }
    }
}

/* The number of steps before the first that does not fit. */
static size_t count_fitting(const ladder *l, const tare_fit_problem *p, const size_t *cheapest,
                            double limit) {
    double cost = tare_fit_sum(p, cheapest).cost;
    size_t n = 0;
    while (n < l->n_steps && cost + l->steps[n].cost <= limit) cost += l->steps[n++].cost;
    return n;
}

/* ---- filling --------------------------------------------------------------------------------- */

static int by_cost(const void *a, const void *b) {
    const change *x = a, *y = b;
    if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
    if (x->loss != y->loss) return x->loss < y->loss ? -1 : 1;
    if (x->unit != y->unit) return x->unit < y->unit ? -1 : 1;
    return x->option < y->option ? -1 : x->option > y->option;
}

static void list_changes(filler *f) {
    f->n_dear = f->n_cheap = 0;
    for (size_t u = 0; u < f->p->n; u++) {
        const tare_fit_unit_options *unit = &f->p->units[u];
        const tare_fit_option now = unit->options[f->choice[u]];
        for (size_t i = 0; i < unit->n; i++) {
            change c = {unit->options[i].cost - now.cost, unit->options[i].loss - now.loss, u, i};
            if (c.loss < 0) f->dear[f->n_dear++] = c;
            if (c.cost < 0) f->cheap[f->n_cheap++] = c;
        }
    }
    qsort(f->cheap, f->n_cheap, sizeof *f->cheap, by_cost);
}

static void keep_least(const filler *f, least *l, size_t i) {
    const change *c = f->cheap;
    size_t at = 0;
    while (at < 3 && l->of[at] != SIZE_MAX && c[l->of[at]].loss <= c[i].loss) {
        if (c[l->of[at++]].unit == c[i].unit) return;
    }
    size_t last = at; /* the place that is given up: of the same unit, or the worst */
    while (last < 2 && l->of[last] != SIZE_MAX && c[l->of[last]].unit != c[i].unit) last++;
    for (; last > at; last--) l->of[last] = l->of[last - 1];
    if (at < 3) l->of[at] = i;
}

static void find_least(filler *f) {
    least l = {{SIZE_MAX, SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < f->n_cheap; i++) {
        keep_least(f, &l, i);
        f->best[i] = l;
    }
}

/* The number of cheap changes that give back at least `cost`. */
static size_t count_paying(const filler *f, double cost) {
    size_t low = 0, high = f->n_cheap;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->cheap[mid].cost <= -cost)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The change that pays for `cost` best, of another unit than both; NULL: none does. */
static const change *find_payer(const filler *f, double cost, size_t unit, size_t other) {
    const size_t n = count_paying(f, cost);
    for (size_t i = 0; n > 0 && i < 3; i++) {
        const size_t at = f->best[n - 1].of[i];
        if (at == SIZE_MAX) return NULL;
        if (f->cheap[at].unit != unit && f->cheap[at].unit != other) return &f->cheap[at];
    }
    return NULL;
}

/* The best change of up to three units that was found. */
typedef struct exchange {
    double gain; /* loss that it takes away, negative */
    const change *of[3];
} exchange;

static void offer(exchange *best, const change *a, const change *b, const change *c) {
    const double gain = a->loss + (b ? b->loss : 0) + (c ? c->loss : 0);
    if (gain < best->gain) *best = (exchange){gain, {a, b, c}};
}

/* One change alone, or with one that pays for it. */
static void try_two(exchange *best, const filler *f, double rest) {
    for (size_t i = 0; i < f->n_dear; i++) {
        const change *a = &f->dear[i];
        const change *b = a->cost <= rest ? NULL : find_payer(f, a->cost - rest, a->unit, a->unit);
        if (b || a->cost <= rest) offer(best, a, b, NULL);
    }
}

/* Two changes, one of which at least saves loss, and one that pays for them. */
static void try_with(exchange *best, const filler *f, double rest, const change *a,
                     const change *others, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const change *b = &others[i];
        const double cost = a->cost + b->cost;
        if (b->unit == a->unit) continue;
        const change *c = cost <= rest ? NULL : find_payer(f, cost - rest, a->unit, b->unit);
        if (c || cost <= rest) offer(best, a, b, c);
    }
}

/* Makes the best change there is. False: none helps. */
static bool change_once(filler *f) {
    const tare_fit_option sum = tare_fit_sum(f->p, f->choice);
    const double rest = f->limit - sum.cost;
    /* Less is rounding, and could go back and forth. */
    exchange best = {-1e-13 * sum.loss, {NULL, NULL, NULL}};
    list_changes(f);
    find_least(f);
    try_two(&best, f, rest);
    const bool tries_three = f->tries_three && !best.of[0];
    for (size_t i = 0; tries_three && i < f->n_dear; i++) {
        try_with(&best, f, rest, &f->dear[i], f->dear, f->n_dear);
        try_with(&best, f, rest, &f->dear[i], f->cheap, f->n_cheap);
    }
    for (size_t i = 0; i < 3 && best.of[i]; i++) f->choice[best.of[i]->unit] = best.of[i]->option;
    return best.of[0] != NULL;
}

static void free_filler(filler *f, size_t n) {
    const tare_allocator *a = f->p->allocator;
    tare_free(a, f->dear, n * sizeof *f->dear);
    tare_free(a, f->cheap, n * sizeof *f->cheap);
    tare_free(a, f->best, n * sizeof *f->best);
}

tare_status tare_fit_improve(size_t *choice, const tare_fit_problem *p, double limit,
                             tare_error *err) {
    size_t n = 1;
    for (size_t u = 0; u < p->n; u++) n += p->units[u].n;
    filler f = {.p = p,
                .choice = choice,
                .limit = limit,
                .tries_three = n <= OPTIONS_OF_THREE,
                .dear = tare_alloc(p->allocator, n * sizeof *f.dear),
                .cheap = tare_alloc(p->allocator, n * sizeof *f.cheap),
                .best = tare_alloc(p->allocator, n * sizeof *f.best)};
    tare_status status = TARE_OK;
    if (!f.dear || !f.cheap || !f.best) status = tare_fail(err, TARE_ERR_NOMEM, "choice of types");
    while (status == TARE_OK && change_once(&f)) status = tare_cancel_check(p->cancel, err);
    free_filler(&f, n);
    return status;
}

tare_status tare_fit_climb(size_t *choice, double *slope, const tare_fit_problem *p, double limit,
                           tare_error *err) {
    ladder l;
    TARE_TRY(make_ladder(&l, p, err));
    climb(choice, slope, &l, p, limit, l.n_steps);
    free_ladder(&l, p);
    return TARE_OK;
}

/* All steps in order: where the last one ends is the optimum of the Lagrangian. */
tare_status tare_fit_climb_beyond(size_t *choice, bool *is_end, const tare_fit_problem *p,
                                  double cost, tare_error *err) {
    ladder l;
    TARE_TRY(make_ladder(&l, p, err));
    for (size_t u = 0; u < p->n; u++) choice[u] = l.hulls[l.begin[u]];
    double sum = tare_fit_sum(p, choice).cost;
    size_t i = 0;
    for (; i < l.n_steps && sum < cost; i++) {
        choice[l.steps[i].unit] = l.hulls[l.begin[l.steps[i].unit] + l.steps[i].place + 1];
        sum += l.steps[i].cost;
    }
    *is_end = i == l.n_steps;
    free_ladder(&l, p);
    return TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static tare_status best_of_starts(size_t *choice, size_t *trial, double *slope, const ladder *l,
                                  const tare_fit_problem *p, double limit, tare_error *err) {
    double least_loss = INFINITY, unused;
    climb(choice, slope, l, p, limit, l->n_steps);
    tare_fit_cheapest(trial, p);
    const size_t n_fitting = count_fitting(l, p, trial, limit);
    for (size_t i = 0; i < N_STARTS; i++) {
        const size_t fewer = i == 0 ? 0 : (size_t)1 << (i - 1);
        if (fewer > n_fitting) break;
        climb(trial, &unused, l, p, limit, i == 0 ? l->n_steps : n_fitting - fewer);
        TARE_TRY(tare_fit_improve(trial, p, limit, err));
        const double loss = tare_fit_sum(p, trial).loss;
        if (!(loss < least_loss)) continue;
        least_loss = loss;
        memcpy(choice, trial, p->n * sizeof *choice);
    }
    return TARE_OK;
}

tare_status tare_fit_allocate(size_t *choice, double *slope, const tare_fit_problem *p,
                              double limit, tare_error *err) {
    ladder l;
    *slope = 0;
    if (p->n == 0) return TARE_OK;
    size_t *trial = tare_alloc(p->allocator, p->n * sizeof *trial);
    if (!trial) return tare_fail(err, TARE_ERR_NOMEM, "choice of types");
    tare_status status = make_ladder(&l, p, err);
    if (status == TARE_OK) {
        status = best_of_starts(choice, trial, slope, &l, p, limit, err);
        free_ladder(&l, p);
    }
    tare_free(p->allocator, trial, p->n * sizeof *trial);
    return status;
}
