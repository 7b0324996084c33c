/* SPDX-License-Identifier: MIT
 *
 * Question: how does the codec of .wcodec compare with zstd, and with the fastest known rANS
 * coders, on the int8 codes of weights? One core, 16 Mi codes of one scale a row of a synthetic
 * model, from memory into memory that has been written; processor's time, best of several runs in
 * turns. The codec is listed twice: whole calls of the library, and its loops without CRC-32, which
 * the rANS coders have none of either.
 *
 *     build/release/bench/bench_wc_rivals [LIBRARY...]
 *
 * A LIBRARY is a shared object around another coder, with
 *     const char *rival_name(void);
 *     size_t rival_encode(const uint8_t *in, size_t n, uint8_t *out, size_t room);
 *     size_t rival_decode(const uint8_t *in, size_t size, uint8_t *out, size_t n); */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tare/private/synth.h>
#include <tare/tare.h>
#include <zstd.h>

#include "contest.h"
#include "wc_subject.h"

enum { RUNS = 7, ROWS = 8192, MOST_RIVALS = 12 };

typedef struct plane {
    uint8_t *codes, *back, *coded;
    size_t n, room;
} plane;

typedef struct rival {
    const char *(*name)(void);
    size_t (*encode)(const uint8_t *in, size_t n, uint8_t *out, size_t room);
    size_t (*decode)(const uint8_t *in, size_t size, uint8_t *out, size_t n);
    int encode_runs;
    bool is_loop; /* of values, without patches: what comes back may differ */
} rival;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- ours ------------------------------------------------------------------------------------ */

static tare_coded *coded;

static const char *tare_name(void) {
    return "tare";
}

static tare_coded_options one_thread(void) {
    tare_coded_options o = tare_coded_options_default();
    static const tare_context context = {.size = sizeof context, .threads = 1};
    o.context = &context;
    return o;
}

static size_t tare_put(const uint8_t *in, size_t n, uint8_t *out, size_t room) {
    const tare_coded_field field = {.value_bits = 8, .is_signed = true};
    const tare_coded_region region = {in, n, NULL};
    const tare_coded_options o = one_thread();
    tare_coded_layer layer;
    (void)out;
    (void)room;
    tare_coded_free(coded);
    if (tare_coded_encode(&coded, &region, 1, &field, 1, &o, NULL)) bench_die("encoding");
    layer = *tare_coded_describe(coded);
    return layer.size;
}

static size_t tare_take(const uint8_t *in, size_t size, uint8_t *out, size_t n) {
    const tare_coded_options o = one_thread();
    (void)in;
    (void)size;
    return tare_coded_decode_region(out, coded, 0, 0, n, &o, NULL) ? 0 : n;
}

static bench_wc_subject subject;

static const char *bare_name(void) {
    return "tare, without CRC";
}

static size_t bare_put(const uint8_t *in, size_t n, uint8_t *out, size_t room) {
    (void)out;
    (void)room;
    if (subject.plane != in) bench_wc_take(&subject, (uint8_t *)(uintptr_t)in, (uint32_t)n, 8, 0);
    return bench_wc_encode(&subject);
}

static size_t bare_take(const uint8_t *in, size_t size, uint8_t *out, size_t n) {
    (void)in;
    (void)size;
    bench_wc_decode(&subject, out, true);
    return n;
}

/* ---- zstd ------------------------------------------------------------------------------------ */

static const char *zstd3_name(void) {
    return "zstd -3";
}
static const char *zstd19_name(void) {
    return "zstd -19";
}
static size_t zstd3(const uint8_t *in, size_t n, uint8_t *out, size_t room) {
    return ZSTD_compress(out, room, in, n, 3);
}
static size_t zstd19(const uint8_t *in, size_t n, uint8_t *out, size_t room) {
    return ZSTD_compress(out, room, in, n, 19);
}
static size_t unzstd(const uint8_t *in, size_t size, uint8_t *out, size_t n) {
    return ZSTD_decompress(out, n, in, size);
}

/* ---- others ---------------------------------------------------------------------------------- */

static void *find(void *library, const char *name) {
    void *f = dlsym(library, name);
    if (!f) bench_die(dlerror());
    return f;
}

static rival load(const char *path) {
    rival r = {.encode_runs = 3};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) bench_die(dlerror());
    void *const functions[] = {find(library, "rival_name"), find(library, "rival_encode"),
                               find(library, "rival_decode")};
    memcpy(&r.name, &functions[0], sizeof r.name); /* ISO C has no cast for it */
    memcpy(&r.encode, &functions[1], sizeof r.encode);
    memcpy(&r.decode, &functions[2], sizeof r.decode);
    return r;
}

/* ---- codes ----------------------------------------------------------------------------------- */

/* The int8 codes of rows of the model's largest matrices, one scale a row. */
static plane make_plane(const char *spec) {
    const tare_encoding *e = tare_encoding_find((tare_str){"int8_rowwise", 12});
    tare_model *model;
    if (tare_synth_open(&model, spec, NULL, NULL)) bench_die("synth");
    const char name[] = "model.layers.0.mlp.up_proj.weight";
    int64_t i = tare_model_find_tensor(model, (tare_str){name, sizeof name - 1});
    if (i < 0) bench_die("tensor");
    const tare_tensor *t = tare_model_tensor(model, (size_t)i);
    uint64_t n_rows = t->n_rows < ROWS ? t->n_rows : ROWS;
    plane p = {.n = (size_t)(n_rows * t->cols)};
    float *values = bench_room(p.n * sizeof *values);
    p.room = ZSTD_compressBound(p.n) + p.n / 4;
    p.codes = bench_room(p.n);
    p.back = bench_room(p.n);
    p.coded = bench_room(p.room);
    uint8_t *other = bench_room((size_t)n_rows * 16);
    tare_rows_mut rows = {.n_rows = n_rows, .cols = t->cols};
    for (unsigned k = 0; k < e->n_planes; k++)
        rows.planes[k] = e->planes[k].scope == TARE_PLANE_ELEMENTS ? p.codes : other;
    if (tare_tensor_rows_f32(values, model, (size_t)i, 0, n_rows, NULL) ||
        tare_encode_rows(&rows, e, values, NULL, NULL))
        bench_die("rows");
    free(values);
    free(other);
    tare_model_free(model);
    return p;
}

/* ---- the contest ----------------------------------------------------------------------------- */

static void run(const plane *p, const char *what, const rival *rivals, int n) {
    double encode[MOST_RIVALS], decode[MOST_RIVALS];
    size_t size[MOST_RIVALS];
    uint8_t *kept[MOST_RIVALS];
    double copy = 1e9;
    for (int i = 0; i < n; i++) {
        encode[i] = decode[i] = 1e9;
        for (int r = 0; r < rivals[i].encode_runs; r++) {
            double start = now();
            size[i] = rivals[i].encode(p->codes, p->n, p->coded, p->room);
            double seconds = now() - start;
            if (seconds < encode[i]) encode[i] = seconds;
        }
        kept[i] = bench_room(size[i] + 4096);
        memcpy(kept[i], p->coded, size[i]);
    }
    for (int r = 0; r < RUNS; r++) {
        for (int i = 0; i < n; i++) {
            double start = now();
            if (rivals[i].decode(kept[i], size[i], p->back, p->n) != p->n) bench_die("decoding");
            double seconds = now() - start;
            if (seconds < decode[i]) decode[i] = seconds;
            if (rivals[i].is_loop || memcmp(p->back, p->codes, p->n) == 0) continue;
            fprintf(stderr, "%s: ", rivals[i].name());
            bench_die("another plane came back");
        }
        double start = now();
        memcpy(p->back, p->codes, p->n);
        double seconds = now() - start;
        if (seconds < copy) copy = seconds;
    }
    for (int i = 0; i < n; i++) {
        printf("| %s | %s | %.4f | %.3f | %.2f |\n", what, rivals[i].name(),
               8 * (double)size[i] / (double)p->n, (double)p->n / encode[i] / 1e9,
               (double)p->n / decode[i] / 1e9);
        free(kept[i]);
    }
    printf("| %s | memcpy | 8 | | %.2f |\n", what, (double)p->n / copy / 1e9);
}

int main(int argc, char **argv) {
    static const char *const specs[] = {"llama-1b:normal", "llama-1b:t5", "llama-1b:outliers"};
    rival rivals[MOST_RIVALS] = {{tare_name, tare_put, tare_take, 3, false},
                                 {bare_name, bare_put, bare_take, 3, true},
                                 {zstd3_name, zstd3, unzstd, 2, false},
                                 {zstd19_name, zstd19, unzstd, 1, false}};
    int n = 4;
    bench_wc_init(&subject);
    for (int i = 1; i < argc && n < MOST_RIVALS; i++) rivals[n++] = load(argv[i]);
    printf("zstd %s\n\n| values | coder | bits a code | encode GB/s | decode GB/s |\n"
           "|---|---|---|---|---|\n",
           ZSTD_versionString());
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        plane p = make_plane(specs[i]);
        run(&p, strchr(specs[i], ':') + 1, rivals, n);
        subject.plane = NULL; /* the next plane may lie where this one was */
        free(p.codes);
        free(p.back);
        free(p.coded);
    }
    bench_wc_free(&subject);
    tare_coded_free(coded);
    return 0;
}
