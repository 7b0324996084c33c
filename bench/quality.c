/* SPDX-License-Identifier: MIT
 *
 * Question: how much smaller is the error of --quality best, and what does it cost? For every block
 * type that can be encoded: relative RMSE of the default and of the best encoder, and the gain, on
 * normal, Laplace and t5 values and, weighted, on normal values with an importance vector; million
 * elements a second of processor time of either, with importance where the type knows it.
 *
 *   bench_quality [-n ELEMENTS] [TYPE...]      a Markdown table, as in docs/ENCODINGS.md and
 *                                              docs/mcf.md; of a type without a better encoder
 *                                              the default's error alone
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tare/tare.h>

enum { COLS = 4096, LAWS = 3 };

typedef struct samples {
    size_t n;
    float *values[LAWS], *weights, *decoded;
    uint8_t *bytes;
} samples;

typedef struct outcome {
    double error, seconds;
} outcome;

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

/* Inside (0, 1). */
static double uniform(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return ((double)(random_state >> 11) + 0.5) * 0x1p-53;
}

static double normal(void) {
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static double laplace(void) {
    double u = uniform() * 2 - 1;
    return copysign(-log(1 - fabs(u)), u) / sqrt(2);
}

/* Student's t with 5 degrees of freedom, of unit variance. */
static double t5(void) {
    double z = normal(), sum = 0;
    for (int i = 0; i < 5; i++) {
        double v = normal();
        sum += v * v;
    }
    return z / sqrt(sum / 5) * sqrt(3.0 / 5);
}

static void *room(size_t n) {
    void *p = malloc(n);
    if (!p) abort();
    return p;
}

/* Weights as an importance matrix has them: mean squares of activations, spread widely. */
static void fill(samples *s, size_t n) {
    static double (*const laws[LAWS])(void) = {normal, laplace, t5};
    s->n = n;
    s->weights = room(COLS * sizeof(float));
    s->decoded = room(n * sizeof(float));
    s->bytes = room(n * sizeof(float));
    for (size_t i = 0; i < COLS; i++) s->weights[i] = (float)exp(1.5 * normal());
    for (int law = 0; law < LAWS; law++) {
        s->values[law] = room(n * sizeof(float));
        for (size_t i = 0; i < n; i++) s->values[law][i] = (float)(0.02 * laws[law]());
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* All rows; the planes one after the other. */
static tare_rows_mut rows_of(const samples *s, const tare_encoding *e) {
    tare_rows_mut rows = {.n_rows = s->n / COLS, .cols = COLS};
    uint64_t dims[2] = {rows.n_rows, COLS}, sizes[TARE_MAX_PLANES], at = 0;
    if (tare_encoding_sizes(sizes, e, dims, 2, NULL) != TARE_OK) abort();
    for (int p = 0; p < e->n_planes; p++) {
        rows.planes[p] = s->bytes + at;
        at += (sizes[p] + 63) & ~UINT64_C(63);
    }
    return rows;
}

static bool measure(outcome *o, const samples *s, const tare_encoding *e, int law, bool is_weighted,
                    tare_quality quality) {
    tare_rows_mut rows = rows_of(s, e);
    tare_rows coded = {.n_rows = rows.n_rows, .cols = COLS};
    tare_encode_params params = {.size = sizeof(tare_encode_params),
                                 .importance = is_weighted ? s->weights : NULL,
                                 .quality = quality};
    const float *x = s->values[law];
    double sum = 0, all = 0, start = now();
    if (tare_encode_rows(&rows, e, x, &params, NULL) != TARE_OK) return false;
    o->seconds = now() - start;
    for (int p = 0; p < e->n_planes; p++) coded.planes[p] = rows.planes[p];
    if (tare_decode_rows(s->decoded, e, &coded, NULL) != TARE_OK) return false;
    for (size_t i = 0; i < s->n; i++) {
        double w = is_weighted ? s->weights[i % COLS] : 1, r = (double)s->decoded[i] - x[i];
        sum += w * r * r;
        all += w * x[i] * x[i];
    }
    o->error = sqrt(sum / all);
    return true;
}

static void report_errors(outcome *plain, outcome *best, const samples *s, const tare_encoding *e,
                          int law, bool is_weighted) {
    *plain = *best = (outcome){0, 0};
    if (measure(plain, s, e, law, is_weighted, TARE_QUALITY_DEFAULT)) /* else: needs importance */
        printf(" %.5f", plain->error);
    if (measure(best, s, e, law, is_weighted, TARE_QUALITY_BEST))
        printf(", %.5f, %.1f %%", best->error, 100 * (1 - best->error / plain->error));
    printf(" |");
}

static void report(const samples *s, const tare_encoding *e) {
    outcome plain, best;
    double elements = (double)s->n * 1e-6;
    printf("| %s |", e->name);
    for (int law = 0; law < LAWS; law++) report_errors(&plain, &best, s, e, law, false);
    report_errors(&plain, &best, s, e, 0, true);
    printf(" %.3g", elements / plain.seconds);
    if (best.seconds > 0) printf(", %.3g", elements / best.seconds);
    printf(" |\n");
    fflush(stdout);
}

static bool is_wanted(const tare_encoding *e, char **names, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], e->name) == 0) return true;
    return n == 0;
}

int main(int argc, char **argv) {
    samples s;
    size_t n = 1 << 20;
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "-n") == 0) {
        n = strtoul(argv[2], NULL, 10);
        first = 3;
    }
    n -= n % COLS;
    fill(&s, n);
    printf("| type | normal | Laplace | t5 | normal, with importance | Melem/s |\n"
           "|---|---|---|---|---|---|\n");
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
        if (e->kind == TARE_KIND_BLOCK && tare_encoding_can_encode(e) &&
            is_wanted(e, argv + first, argc - first))
            report(&s, e);
    }
    for (int law = 0; law < LAWS; law++) free(s.values[law]);
    free(s.weights);
    free(s.decoded);
    free(s.bytes);
    return 0;
}
