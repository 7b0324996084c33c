/* SPDX-License-Identifier: MIT
 *
 * The common factor of all steps at which what is asked for is met. Sizes fall with the factor, and
 * damage rises; but where a tensor comes to another level, as where it becomes worthwhile to store
 * it without loss, both jump. So factors are kept in an interval, of which one end fits and the
 * other is too heavy; if it becomes narrow with a jump inside, as many tensors jump as there is room
 * for, the others are held where they are, and the search goes on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tare/experimental/fitting.h>

#include "ops/lossy/lossy.h"

enum { MOST_FACTORS = 64, MOST_SECANTS = 6 /* before halving an interval */ };

/* Tensors that take less are all but lost. */
#define LEAST_BITS 0.3
/* For what is not in the bits of tensors, about: tables and frames; index and header of a file. */
#define ROOM         1.03
#define ROOM_OF_FILE 1280
/* How near a target is near enough: of the bits of what is lossy. */
#define CLOSE 0.0004
/* Less than the target by more than this is as close as it gets only because of a jump. */
#define FAR 0.002
/* Intervals of so many octaves are not worth halving. */
#define NARROW 0.002
/* The first steps go no further. */
#define MOST_OCTAVES 2.0

typedef struct total {
    double bytes, damage;
    double n_lossy;  /* weights that lose something */
    double n_moving; /* of these, whose steps follow the factor */
    double bits;     /* of those that lose something */
    bool is_finest;  /* steps cannot become shorter */
    bool is_bound;   /* nor can a tensor that is lossy be stored without loss */
} total;

/* Factors are octaves from 1. */
typedef struct search {
    tare_lossy_run *r;
    tare_lossy_bench *benches; /* of each worker */
    double at, fitting, heavy; /* the factor that is tried, and the ends of the interval */
    bool has_fitting, has_heavy;
    unsigned n_secants;
} search;

/* ---- a factor -------------------------------------------------------------------------------- */

static tare_status choose_for(const search *s, tare_lossy_target *t, unsigned worker,
                              tare_error *err) {
    tare_lossy_bench *b = &s->benches[worker];
    if (!b->counts) TARE_TRY(tare_lossy_bench_init(b, s->r->options->context->allocator, err));
    return tare_lossy_choose_for(t, s->r, b, err);
}

static tare_status choose(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    const search *s = ctx;
    return choose_for(s, &s->r->targets[task], worker, err);
}

static total add_up(const tare_lossy_run *r) {
    total sum = {.bytes = r->other_bytes, .is_finest = true, .is_bound = true};
    for (size_t i = 0; i < r->n_targets; i++) {
        const tare_lossy_target *t = &r->targets[i];
        sum.bytes += t->choice.is_kept ? t->kept_bytes : t->choice.bytes;
        if (t->choice.is_kept) continue;
        sum.is_finest &= t->choice.is_finest;
        sum.is_bound &= t->highest < TARE_LOSSY_KEPT;
        sum.damage += t->choice.damage;
        sum.n_lossy += (double)t->n;
        if (!t->choice.is_stretched) sum.n_moving += (double)t->n;
        sum.bits += 8 * t->choice.bytes;
    }
    if (sum.n_moving == 0) sum.n_moving = sum.n_lossy;
    return sum;
}

static tare_status try_factor(total *out, search *s, tare_error *err) {
    tare_lossy_run *r = s->r;
    const tare_run run = {.context = tare_steps_context_retain(r->options->context, &r->before),
                          .n_tasks = r->n_targets,
                          .task = choose,
                          .ctx = s};
    r->factor = tare_lossy_exp2(s->at);
    TARE_TRY(tare_run_parallel(&run, err));
    *out = add_up(r);
    r->bytes = out->bytes;
    return TARE_OK;
}

static bool is_for_damage(const tare_lossy_run *r) {
    return r->target_bytes == UINT64_MAX;
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
    double bits = is_for_damage(r) ? 4 : 8 * bytes / n;
    bits = bits < 1 ? 1 : bits > 14 ? 14 : bits;
    return sum / n + 2.05 - bits;
}

/* ---- the interval ---------------------------------------------------------------------------- */

/* What is limited. */
static double load_of(const tare_lossy_run *r, double bytes, double damage) {
    return is_for_damage(r) ? damage : bytes;
}

static double limit_of(const tare_lossy_run *r) {
    return is_for_damage(r) ? r->damage : (double)r->target_bytes;
}

/* By how many octaves all that is lossy may become heavier, if steps are all that changes: a bit
 * per weight is an octave, and damage goes with the square. */
static double octaves_left(const tare_lossy_run *r, const total *sum) {
    if (is_for_damage(r))
        return sum->damage > 0 ? tare_lossy_log2(r->damage / sum->damage) / 2 : MOST_OCTAVES;
    return sum->n_lossy > 0 ? ((double)r->target_bytes - sum->bytes) * 8 / sum->n_moving
                            : -MOST_OCTAVES;
}

static void set_end(search *s, bool fits) {
    if (fits)
        s->fitting = s->at;
    else
        s->heavy = s->at;
    *(fits ? &s->has_fitting : &s->has_heavy) = true;
    for (size_t i = 0; i < s->r->n_targets; i++) {
        tare_lossy_target *t = &s->r->targets[i];
        *(fits ? &t->fitting : &t->heavy) = t->choice;
    }
}

static bool is_narrow(const search *s) {
    return s->has_fitting && s->has_heavy && fabs(s->fitting - s->heavy) < NARROW;
}

/* The next factor: where the last one says that it is, if that lies inside the interval. */
static void aim(search *s, const total *sum) {
    const double spare = sum->n_lossy > 0 ? CLOSE / 2 * sum->bits / sum->n_moving : 0;
    double by = octaves_left(s->r, sum) - spare;
    if (sum->is_finest && by > 0 && !is_for_damage(s->r)) by = MOST_OCTAVES;
    by = by > MOST_OCTAVES ? MOST_OCTAVES : by < -MOST_OCTAVES ? -MOST_OCTAVES : by;
    double next = s->at + (is_for_damage(s->r) ? by : -by);
    if (s->has_fitting && s->has_heavy) {
        const bool is_inside = (next - s->fitting) * (next - s->heavy) < 0;
        if (!is_inside || s->n_secants++ >= MOST_SECANTS) next = (s->fitting + s->heavy) / 2;
    }
    s->at = next;
}

/* ---- jumps ----------------------------------------------------------------------------------- */

typedef struct jump {
    tare_lossy_target *target;
    double more; /* of what is limited */
} jump;

static void allow_all(tare_lossy_target *t) {
    t->lowest = TARE_LOSSY_COARSE;
    t->highest = TARE_LOSSY_KEPT;
}

static double load_of_choice(const tare_lossy_run *r, const tare_lossy_target *t,
                             const tare_lossy_choice *c) {
    return load_of(r, c->is_kept ? t->kept_bytes : c->bytes, c->is_kept ? 0 : c->damage);
}

static int by_load(const void *a, const void *b) {
    const jump *x = a, *y = b;
    if (x->more != y->more) return x->more > y->more ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

/* To the side of its jump on which `c` is, and not `other`. */
static void bind(tare_lossy_target *t, const tare_lossy_choice *c, const tare_lossy_choice *other) {
    if (c->level > other->level) {
        t->lowest = c->level;
        if (t->highest < t->lowest) t->highest = t->lowest;
    } else {
        t->highest = (uint8_t)(other->level - 1);
        if (t->lowest > t->highest) t->lowest = t->highest;
    }
}

static size_t list_jumps(jump *jumps, const search *s, double *room) {
    size_t n = 0;
    *room = limit_of(s->r) - (is_for_damage(s->r) ? 0 : s->r->other_bytes);
    for (size_t i = 0; i < s->r->n_targets; i++) {
        tare_lossy_target *t = &s->r->targets[i];
        const double fitting = load_of_choice(s->r, t, &t->fitting);
        *room -= fitting;
        if (t->fitting.level == t->heavy.level) continue;
        jumps[n++] = (jump){t, load_of_choice(s->r, t, &t->heavy) - fitting};
    }
    return n;
}

/* Room only becomes less as steps become shorter. */
static void bind_large(search *s, double room) {
    for (size_t i = 0; i < s->r->n_targets && !is_for_damage(s->r); i++) {
        tare_lossy_target *t = &s->r->targets[i];
        if (t->lowest < TARE_LOSSY_KEPT && t->highest == TARE_LOSSY_KEPT && !t->fitting.is_kept &&
            t->kept_bytes - t->fitting.bytes > room)
            t->highest = TARE_LOSSY_FINE;
    }
}

/* In a narrow interval: the tensors that jump there do or do not, the largest first. *any: there
 * were some, and the interval is open again on its heavy side. */
static tare_status bind_jumps(bool *any, search *s, tare_error *err) {
    const tare_allocator *a = s->r->options->context->allocator;
    const size_t size = s->r->n_targets * sizeof(jump);
    double room;
    jump *jumps = tare_alloc(a, size);
    if (!jumps) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    const size_t n = list_jumps(jumps, s, &room);
    if (n) qsort(jumps, n, sizeof *jumps, by_load);
    for (size_t i = 0; i < n; i++) {
        const bool fits = jumps[i].more <= room;
        if (fits) room -= jumps[i].more;
        tare_lossy_target *t = jumps[i].target;
        bind(t, fits ? &t->heavy : &t->fitting, fits ? &t->fitting : &t->heavy);
    }
    tare_free(a, jumps, size);
    bind_large(s, room);
    *any = n > 0;
    s->at = s->fitting;
    s->has_heavy = false;
    s->n_secants = 0;
    return TARE_OK;
}

/* ---- room that is left ----------------------------------------------------------------------- */

/* A tensor that was held on the coarse side of its jump is made fine with longer steps than those of
 * all, as short as fit into the room, if that is less damage. */
static tare_status refine(search *s, tare_lossy_target *t, double *room, tare_error *err) {
    enum { HALVINGS = 8 };
    tare_lossy_run *r = s->r;
    const tare_lossy_choice held = t->choice;
    tare_lossy_choice finer = held;
    double fitting = MOST_OCTAVES / 2, heavy = 0;
    t->lowest = t->highest = TARE_LOSSY_FINE;
    for (unsigned i = 0; i < HALVINGS; i++) {
        const double octaves = (fitting + heavy) / 2;
        r->factor = tare_lossy_exp2(s->fitting + octaves);
        TARE_TRY(choose_for(s, t, 0, err));
        const bool fits = !t->choice.is_kept && t->choice.bytes - held.bytes <= *room;
        *(fits ? &fitting : &heavy) = octaves;
        if (fits && t->choice.damage < finer.damage) finer = t->choice;
    }
    t->choice = finer;
    *room -= finer.bytes - held.bytes;
    return TARE_OK;
}

/* With no tensor left whose steps follow the factor, those that were held back may use the room. */
static tare_status fill(search *s, tare_error *err) {
    tare_lossy_run *r = s->r;
    double room = (double)r->target_bytes - r->bytes;
    for (size_t i = 0; i < r->n_targets; i++)
        if (r->targets[i].choice.is_stretched) TARE_TRY(refine(s, &r->targets[i], &room, err));
    r->factor = tare_lossy_exp2(s->fitting);
    r->bytes = (double)r->target_bytes - room;
    return TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* "1,234,567" */
static void put_grouped(char *out, size_t size, double n) {
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%.0f", n);
    size_t k = 0;
    for (int i = 0; i < length && k + 2 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0) out[k++] = ',';
        out[k++] = digits[i];
    }
    out[k] = '\0';
}

/* `sum`: of steps so long that they leave less than the least of some weights. */
static tare_status too_small(const tare_lossy_run *r, const total *sum, tare_error *err) {
    const double least = ROOM * (sum->bytes + (LEAST_BITS * sum->n_lossy - sum->bits) / 8) +
                         (r->wish->target_bytes ? ROOM_OF_FILE : 0);
    char bytes[32];
    tare_fail_code(
        err, TARE_ERR_ARG, TARE_CODE_TARGET_TOO_SMALL,
        "the target is too small for what is not lossy and 0.3 bits for each weight that is");
    put_grouped(bytes, sizeof bytes, ceil(least));
    tare_error_detail(err, "at least about %s bytes (%.2f bits/weight)", bytes,
                      8 * least / (double)r->n_weights);
    return TARE_ERR_ARG;
}

/* The end of the interval that fits is the answer; without one the last attempt is. */
static tare_status take_fitting(search *s, tare_error *err) {
    tare_lossy_run *r = s->r;
    for (size_t i = 0; i < r->n_targets && s->has_fitting; i++)
        r->targets[i].choice = r->targets[i].fitting;
    const total sum = add_up(r);
    r->bytes = sum.bytes;
    if (s->has_fitting) r->factor = tare_lossy_exp2(s->fitting);
    r->is_closest = load_of(r, sum.bytes, sum.damage) < (1 - FAR) * limit_of(r);
    if (!r->is_closest || !s->has_fitting || is_for_damage(r)) return TARE_OK;
    TARE_TRY(fill(s, err));
    r->is_closest = r->bytes < (1 - FAR) * (double)r->target_bytes;
    return TARE_OK;
}

/* Whether no factor can come closer, though what is left is not little. */
static bool is_end(const tare_lossy_run *r, const total *sum, bool fits) {
    return fits && !is_for_damage(r) && (sum->n_lossy == 0 || (sum->is_finest && sum->is_bound));
}

static tare_status find(search *s, tare_error *err) {
    tare_lossy_run *r = s->r;
    total sum;
    for (unsigned i = 0; i < MOST_FACTORS; i++) {
        TARE_TRY(try_factor(&sum, s, err));
        const double left = octaves_left(r, &sum);
        const bool fits = load_of(r, sum.bytes, sum.damage) <= limit_of(r);
        if (!fits && !is_for_damage(r) && sum.bits < LEAST_BITS * sum.n_lossy)
            return too_small(r, &sum, err);
        if (fits && sum.n_lossy > 0 && left * sum.n_moving < CLOSE * sum.bits) return TARE_OK;
        set_end(s, fits);
        if (is_end(r, &sum, fits)) break;
        bool is_open = true;
        if (is_narrow(s))
            TARE_TRY(bind_jumps(&is_open, s, err));
        else
            aim(s, &sum);
        if (!is_open) break;
    }
    return take_fitting(s, err);
}

tare_status tare_lossy_find_factor(tare_lossy_run *r, tare_error *err) {
    const unsigned n =
        r->options->context->threads ? r->options->context->threads : tare_default_threads();
    const tare_allocator *a = r->options->context->allocator;
    search s = {.r = r, .benches = tare_alloc(a, n * sizeof *s.benches)};
    if (!s.benches) return tare_fail(err, TARE_ERR_NOMEM, "numbers");
    for (unsigned i = 0; i < n; i++) s.benches[i] = (tare_lossy_bench){.counts = NULL};
    for (size_t i = 0; i < r->n_targets; i++) allow_all(&r->targets[i]);
    s.at = r->factor > 0 ? tare_lossy_log2(r->factor) : first_factor(r);
    r->is_closest = false;
    tare_status status = find(&s, err);
    for (unsigned i = 0; i < n; i++) tare_lossy_bench_free(&s.benches[i]);
    tare_free(a, s.benches, n * sizeof *s.benches);
    return status;
}
