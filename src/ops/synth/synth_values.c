/* SPDX-License-Identifier: MIT
 *
 * Values by inverse transform: 32 random bits are a sign, a cell of a quantile table and a place
 * between its ends. All of it is integer arithmetic; then one conversion to float, one
 * multiplication and one addition, each rounded once. So every compiler on every IEEE machine makes
 * the same bits.
 *
 * The tables come from + - * / alone, by summing the density from its far end inwards. They are
 * rounded to 2^-20 of a standard deviation: coarse against the error of the sums (below 2^-40), so
 * that a system whose last bits differ still gets the same table. */
#include "ops/synth/synth_values.h"

#define UNIT_BITS  25 /* one standard deviation is 2^25, so that 2^31 holds 64 of them */
#define TABLE_BITS 20
#define CELL_BITS  12
#define PLACE_BITS 19 /* 32 bits less the sign and the cell */

/* ---- densities ------------------------------------------------------------------------------- */

/* exp(-x * x / 2), not normalised: the series at a 1024th of the exponent, squared ten times. */
static double normal_density(double x) {
    double y = x * x / 2048, term = 1, sum = 1;
    for (int k = 1; k <= 8; k++) {
        term = term * -y / k;
        sum = sum + term;
    }
    for (int i = 0; i < 10; i++) sum = sum * sum;
    return sum;
}

static double t5_density(double x) {
    double y = 1 + x * x / 5;
    return 1 / (y * y * y);
}

/* What t5_density leaves beyond x: its expansion in 5 / x^2, integrated term by term. */
static double t5_beyond(double x) {
    double y = 5 / (x * x), power = 125 / (x * x * x * x * x), sum = 0;
    for (int k = 0; k < 8; k++) {
        double coefficient = (k + 1) * (k + 2) / 2;
        sum = sum + (k % 2 ? -coefficient : coefficient) * power / (5 + 2 * k);
        power = power * y;
    }
    return sum;
}

/* How a law is summed: from `end`, beyond which `beyond` lies, inwards in steps of 1/512: at four
 * deviations the fourth derivative of a normal density is 256 times the density, so that Simpson's
 * rule errs by 256 / 512^4 / 2880, about 2^-40, of the mass. */
typedef struct density {
    double (*at)(double x);
    double end, beyond;
    double deviation; /* its standard deviation */
} density;

#define STEPS 512

static double simpson(const density *d, double from, double to) {
    return (to - from) / 6 * (d->at(from) + 4 * d->at((from + to) / 2) + d->at(to));
}

static density density_of(tare_synth_law law) {
    if (law == TARE_LAW_NORMAL) return (density){normal_density, 8, 0, 1};
    /* sqrt(5 / 3), written out: the nearest double */
    return (density){t5_density, 64, t5_beyond(64), 1.2909944487358056};
}

/* ---- quantiles ------------------------------------------------------------------------------- */

/* A walk down from the density's end: `above` is the mass beyond x = step / STEPS. */
typedef struct walk {
    density d;
    int step;
    double above;
} walk;

static double step_mass(const density *d, int step) {
    return simpson(d, (double)(step - 1) / STEPS, (double)step / STEPS);
}

static double total_mass(const density *d) {
    double sum = d->beyond;
    for (int step = (int)d->end * STEPS; step > 0; step--) sum = sum + step_mass(d, step);
    return sum;
}

/* The x beyond which `mass` lies; calls come with growing mass. Newton's method within a step. */
static double quantile(walk *w, double mass) {
    while (w->step > 1) {
        double next = step_mass(&w->d, w->step);
        if (w->above + next >= mass) break;
        w->above = w->above + next;
        w->step--;
    }
    double end = (double)w->step / STEPS, x = end;
    for (int i = 0; i < 4; i++) {
        double error = mass - w->above - simpson(&w->d, x, end);
        x = x - error / w->d.at(x);
        if (x < 0) x = 0;
    }
    return x;
}

static int32_t table_entry(const walk *w, double x) {
    double units = x / w->d.deviation * (1 << TABLE_BITS);
    return (int32_t)(units + 0.5) * (1 << (UNIT_BITS - TABLE_BITS));
}

void tare_quantiles_init(tare_quantiles *q, tare_synth_law law) {
    walk w = {.d = density_of(law)};
    double total = total_mass(&w.d);
    double cell = total / TARE_LAW_CELLS, fine = cell / TARE_LAW_CELLS;
    w.step = (int)w.d.end * STEPS;
    w.above = w.d.beyond;
    /* the outermost cell ends where half of it lies beyond */
    q->tail[TARE_LAW_CELLS] = table_entry(&w, quantile(&w, fine / 2));
    for (int i = 1; i <= TARE_LAW_CELLS; i++)
        q->tail[TARE_LAW_CELLS - i] = table_entry(&w, quantile(&w, fine * i));
    for (int i = 1; i <= TARE_LAW_CELLS; i++)
        q->body[TARE_LAW_CELLS - i] = table_entry(&w, quantile(&w, cell * i));
    q->body[0] = 0;
}

/* ---- the generator --------------------------------------------------------------------------- */

/* The finisher of SplitMix64 (Steele, Lea, Flood 2014) over a Weyl sequence. */
static inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t word(uint64_t key, uint64_t n) {
    return mix(key + (n + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

uint64_t tare_synth_word(uint64_t key, uint64_t n) {
    return word(key, n);
}

uint64_t tare_synth_key(uint64_t seed, const char *name, size_t length) {
    uint64_t key = mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    for (size_t i = 0; i < length; i++) key = mix(key ^ (unsigned char)name[i]);
    return key;
}

/* A value in units of 2^-25. */
static inline int32_t value_of(const tare_quantiles *q, uint32_t bits) {
    uint32_t cell = (bits >> PLACE_BITS) & (TARE_LAW_CELLS - 1);
    int64_t place = bits & ((UINT32_C(1) << PLACE_BITS) - 1);
    int32_t v;
    if (cell < TARE_LAW_CELLS - 1) {
        int32_t from = q->body[cell];
        v = from + (int32_t)((q->body[cell + 1] - from) * place >> PLACE_BITS);
    } else { /* the place chooses a cell of the tail, its last bits the place there */
        uint32_t fine = (uint32_t)place >> (PLACE_BITS - CELL_BITS);
        int64_t rest = place & ((1 << (PLACE_BITS - CELL_BITS)) - 1);
        int32_t from = q->tail[fine];
        v = from + (int32_t)((q->tail[fine + 1] - from) * rest >> (PLACE_BITS - CELL_BITS));
    }
    int32_t sign = -(int32_t)(bits >> 31);
    return (v ^ sign) - sign;
}

void tare_synth_fill(float *out, const tare_quantiles *q, uint64_t key, uint64_t first,
                     size_t count, float sigma, float mean) {
    const float unit = sigma / (float)(1 << UNIT_BITS);
    for (size_t i = 0; i < count; i += 2) {
        uint64_t bits = word(key, (first + i) / 2);
        float z = (float)value_of(q, (uint32_t)bits);
        float scaled = z * unit;
        out[i] = mean + scaled;
        if (i + 1 == count) break;
        z = (float)value_of(q, (uint32_t)(bits >> 32));
        scaled = z * unit;
        out[i + 1] = mean + scaled;
    }
}
