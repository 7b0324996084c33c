/* SPDX-License-Identifier: MIT
 *
 * Question: is any plane larger with full effort than zstd -19 makes it? For planes like those of
 * models and for those of model files: the stored bytes, compared with the order-0 entropy and a
 * zstd -19 frame of the plane's bytes.
 *
 *   bench_wc_full [-v] [-n VALUES] [PLANE...]     planes that are made here
 *   bench_wc_full [-v] -m FILE...                 all planes of the models' tensors
 *
 * Of files a row says how all their planes do; a row of its own has each plane that is worse than
 * zstd by more than a thousandth (and 400 bytes, where it has less than 4 Mi values), with -v every
 * plane. The exit status is 1 if any is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "contest.h"
#include "model/catalog.h"
#include "wc_subject.h"
#include "wcodec/layer/wc_cut.h"
#include "wcodec/layer/wc_gather.h"

enum { LEVEL = 19, SMALL = 1 << 22, FRAMING = 400, NAME = 64 };

typedef struct sums {
    size_t n_planes, n_worse;
    double plane, entropy, stored, zstd;
} sums;

static bool is_verbose;

static void print_row(const char *name, const sums *s) {
    printf("| %s | %.0f | %.0f | %.0f | %.0f | %+.2f %% | %+.2f %% |\n", name, s->plane, s->entropy,
           s->stored, s->zstd, s->entropy > 0 ? (s->stored / s->entropy - 1) * 100 : 0,
           (s->stored / s->zstd - 1) * 100);
    fflush(stdout);
}

static double zstd_bytes(const uint8_t *plane, size_t n) {
    size_t room = ZSTD_compressBound(n);
    void *frame = bench_room(room);
    size_t size = ZSTD_compress(frame, room, plane, n, LEVEL);
    if (ZSTD_isError(size)) bench_die("zstd");
    free(frame);
    return (double)size;
}

/* Measures the plane that the subject has taken, and adds it to the sums. */
static void measure(sums *all, bench_wc_subject *s, const char *name, bool is_shown) {
    uint64_t n_values = tare_wc_values_of(s->shape.value_bits, s->n_bytes);
    sums one = {.n_planes = 1, .plane = s->n_bytes, .entropy = s->entropy / 8};
    one.stored = (double)bench_wc_encode(s);
    one.zstd = zstd_bytes(s->plane, s->n_bytes);
    one.n_worse = one.stored > one.zstd * 1.001 + (n_values < SMALL ? FRAMING : 0);
    if (is_shown || one.n_worse) print_row(name, &one);
    all->n_planes++;
    all->n_worse += one.n_worse;
    all->plane += one.plane;
    all->entropy += one.entropy;
    all->stored += one.stored;
    all->zstd += one.zstd;
}

/* ---- made here ------------------------------------------------------------------------------- */

static void measure_kinds(sums *all, bench_wc_subject *s, char **names, size_t n_values) {
    uint8_t *plane = bench_room(2 * n_values);
    for (size_t i = 0; i < bench_wc_n_kinds; i++) {
        const bench_wc_kind *k = &bench_wc_kinds[i];
        if (!bench_wc_is_wanted(k->name, names)) continue;
        s->options.trellis = k->states;
        bench_wc_take(s, plane, bench_wc_make(plane, k, n_values), k->value_bits, 0);
        measure(all, s, k->name, true);
    }
    free(plane);
}

/* ---- of models ------------------------------------------------------------------------------- */

static void measure_plane(sums *all, bench_wc_subject *s, const tare_coded_stream *p,
                          const tare_wc_source *source, const char *name) {
    if (!p->n_bytes || p->n_bytes > UINT32_MAX) return;
    uint8_t *bytes = bench_room((size_t)p->n_bytes);
    if (tare_wc_gather(bytes, p, source, 0, p->n_bytes, NULL)) bench_die("reading");
    bench_wc_take(s, bytes, (uint32_t)p->n_bytes, p->field.value_bits, p->field.log2_segment);
    s->shape.is_big_endian = p->field.is_big_endian;
    s->shape.is_scales = p->field.is_packed_scales;
    measure(all, s, name, is_verbose);
    free(bytes);
}

static void measure_tensor(sums *all, bench_wc_subject *s, const tare_model *m,
                           const tare_tensor *t) {
    const tare_wc_effort effort = {.is_full = true, .mode = TARE_CODED_SMALLEST};
    uint64_t sizes[TARE_MAX_PLANES];
    tare_wc_source source = {{0}, {0}};
    tare_wc_cut cut;
    for (uint32_t r = 0; r < t->encoding->n_planes; r++) {
        sizes[r] = t->planes[r].size;
        source.readers[r] = &m->files[t->planes[r].file].reader;
        source.starts[r] = t->planes[r].offset;
    }
    bool is_big_endian = m->catalog.layout && m->catalog.layout->is_big_endian;
    tare_wc_cut_tensor(&cut, t->encoding, sizes, t->dims, t->n_dims, is_big_endian, &effort);
    for (unsigned p = 0; p < cut.n_streams; p++) {
        char name[NAME];
        snprintf(name, sizeof name, "%.*s: %s, plane %u",
                 (int)(t->name.len < 32 ? t->name.len : 32), t->name.ptr, t->encoding->name, p);
        s->options = tare_wc_options_of(&cut.streams[p].field, cut.how);
        measure_plane(all, s, &cut.streams[p], &source, name);
    }
}

static void measure_file(sums *all, bench_wc_subject *s, const char *path) {
    const tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = path};
    tare_model *model;
    tare_error err;
    sums here = {0};
    if (tare_model_open(&model, &source, NULL, &err) != TARE_OK) bench_die(path);
    for (size_t i = 0; i < model->catalog.n_tensors; i++)
        measure_tensor(&here, s, model, &model->catalog.tensors[i]);
    tare_model_free(model);
    char name[NAME];
    const char *last = strrchr(path, '/');
    snprintf(name, sizeof name, "**%s**, %zu planes, %zu worse", last ? last + 1 : path,
             here.n_planes, here.n_worse);
    if (here.n_planes) print_row(name, &here);
    all->n_planes += here.n_planes;
    all->n_worse += here.n_worse;
}

int main(int argc, char **argv) {
    static bench_wc_subject s;
    sums all = {0};
    size_t n_values = 1 << 22;
    bool is_model = false;
    for (argv++; *argv && **argv == '-'; argv++) {
        is_verbose |= strcmp(*argv, "-v") == 0;
        is_model |= strcmp(*argv, "-m") == 0;
        if (strcmp(*argv, "-n") == 0 && argv[1]) n_values = strtoull(*++argv, NULL, 10);
    }
    (void)argc;
    if (n_values % BENCH_WC_COLS || !n_values) bench_die("-n: rows of 4096 values, please");
    bench_wc_init(&s);
    s.options.is_full = true;
    printf(
        "zstd %s\n\n| plane | bytes | entropy | full effort | zstd -19 | over entropy | over zstd "
        "|\n|---|---|---|---|---|---|---|\n",
        ZSTD_versionString());
    for (; is_model && *argv; argv++) measure_file(&all, &s, *argv);
    if (!is_model) measure_kinds(&all, &s, argv, n_values);
    printf("\n%zu planes, %zu worse than zstd -19\n", all.n_planes, all.n_worse);
    bench_wc_free(&s);
    return all.n_worse != 0;
}
