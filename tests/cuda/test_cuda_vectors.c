/* SPDX-License-Identifier: MIT
 *
 * Guards against: a kernel that gives other bytes than the library for any mode, width, form, place
 * or predictor of the test vectors, read whole or in part; a byte written that belongs to no
 * stream of the call. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_coverage.h"
#include "cuda_runner.h"
#include "unit/wcodec_vector.h"
#include "wcodec/layer/coded.h"

static void open_vector(vector *o, const char *name) {
    tare_error err;
    o->bytes = vector_read(name, &o->size);
    assert_int_equal(vector_open(o, &err), TARE_OK);
}

static void close_vector(vector *o) {
    tare_arena_free(&o->arena);
    free(o->bytes);
}

/* ---- a layer --------------------------------------------------------------------------------- */

typedef struct regions {
    unsigned n;
    uint8_t *bytes[TARE_CODED_MAX_REGIONS];
    size_t sizes[TARE_CODED_MAX_REGIONS];
} regions;

static regions new_regions(const tare_coded_layer *l, uint8_t fill) {
    regions r = {.n = l->n_regions};
    for (unsigned i = 0; i < r.n; i++) {
        r.sizes[i] = (size_t)l->region_bytes[i];
        r.bytes[i] = malloc(r.sizes[i] + 1);
        assert_non_null(r.bytes[i]);
        memset(r.bytes[i], fill, r.sizes[i]);
    }
    return r;
}
static void free_regions(regions *r) {
    for (unsigned i = 0; i < r->n; i++) free(r->bytes[i]);
}
static void assert_same(const regions *a, const regions *b) {
    for (unsigned i = 0; i < a->n; i++) assert_memory_equal(a->bytes[i], b->bytes[i], a->sizes[i]);
}

static void set_bases(const void *bases[TARE_CODED_MAX_REGIONS], const regions *from) {
    for (unsigned i = 0; i < from->n; i++) bases[i] = from->bytes[i];
}

typedef struct totals {
    uint64_t n_layers, n_segments, n_host;
    cuda_coverage coverage;
} totals;

/* As the library decodes it, with the same groups of bypass bits; 6: with all, by the general
 * kernel. */
static void check_groups(const tare_coded *coded, const void *const *bases, unsigned n_groups,
                         totals *sum) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    const cuda_how how = {.is_coarse = n_groups < 5,
                          .without_crc = n_groups % 2,
                          .is_general = n_groups == 6,
                          .n_groups = n_groups};
    cuda_counts counts;
    tare_cuda_fault fault = tare_cuda_fault_default();
    tare_error err = {0};
    regions meant = new_regions(tare_coded_describe(coded), 0), made = meant;
    made = new_regions(tare_coded_describe(coded), 0xa5);
    o.is_coarse = how.is_coarse;
    o.n_groups = n_groups;
    context.threads = 1;
    assert_int_equal(tare_coded_decode_layer((void *const *)meant.bytes, coded, &o, NULL), TARE_OK);
    tare_status status = cuda_decode(made.bytes, coded, bases, &how, &counts, &fault, &err);
    if (status != TARE_OK) fail_msg("%s: layer, stream %u", err.what, fault.stream);
    assert_int_equal(fault.n_faults, 0);
    assert_same(&made, &meant);
    sum->n_segments += counts.n_segments;
    sum->n_host += counts.n_host;
    free_regions(&made);
    free_regions(&meant);
}

/* Bytes that a stream writes to a region. */
static size_t bytes_in(const tare_coded_field *f, const regions *in, unsigned region) {
    size_t width = f->width;
    if (f->join.high_bits) width += (size_t)f->join.high_bits << f->join.log2_values >> 3;
    return f->region == region ? in->sizes[region] / f->stride * width : 0;
}

/* One stream alone, with its scales if it has any, leaves the bytes of the others. */
static void check_alone(const tare_coded *coded, const void *const *bases, unsigned stream) {
    const tare_coded_layer *l = tare_coded_describe(coded);
    const cuda_how how = {.streams = 1u << stream};
    cuda_counts counts;
    regions a = new_regions(l, 0x00), b = new_regions(l, 0xff), whole = new_regions(l, 0);
    assert_int_equal(tare_coded_decode_layer((void *const *)whole.bytes, coded, NULL, NULL), 0);
    assert_int_equal(cuda_decode(a.bytes, coded, bases, &how, &counts, NULL, NULL), TARE_OK);
    assert_int_equal(cuda_decode(b.bytes, coded, bases, &how, &counts, NULL, NULL), TARE_OK);
    for (unsigned r = 0; r < a.n; r++) {
        size_t n_written = 0;
        for (size_t i = 0; i < a.sizes[r]; i++) {
            if (a.bytes[r][i] != b.bytes[r][i]) continue; /* nobody wrote there */
            assert_int_equal(a.bytes[r][i], whole.bytes[r][i]);
            n_written++;
        }
        const tare_coded_field *f = &l->streams[stream].field;
        size_t n_meant = bytes_in(f, &a, r);
        if (f->scale_stream) n_meant += bytes_in(&l->streams[f->scale_stream - 1].field, &a, r);
        assert_int_equal(n_written, n_meant);
    }
    free_regions(&a);
    free_regions(&b);
    free_regions(&whole);
}

static void check_layer(vector *o, vector *base, uint32_t i, totals *sum) {
    tare_coded *coded, *of_base = NULL;
    tare_error err;
    regions base_regions = {0};
    const void *bases[TARE_CODED_MAX_REGIONS];
    tare_reader readers[TARE_CODED_MAX_REGIONS];
    tare_wc_source source = {{0}, {0}};
    const tare_wcodec_layer *l = &o->index.layers[i];
    if (l->base) {
        assert_int_equal(tare_coded_in_file(&of_base, &base->index.layers[i].coded, &base->reader,
                                            NULL, NULL, &err),
                         TARE_OK);
        base_regions = new_regions(tare_coded_describe(of_base), 0);
        assert_int_equal(
            tare_coded_decode_layer((void *const *)base_regions.bytes, of_base, NULL, &err), 0);
        set_bases(bases, &base_regions);
        for (unsigned r = 0; r < base_regions.n; r++) {
            tare_reader_memory(&readers[r], bases[r], base_regions.sizes[r], "base");
            source.readers[r] = &readers[r];
        }
    }
    assert_int_equal(
        tare_coded_in_file(&coded, &l->coded, &o->reader, l->base ? &source : NULL, NULL, &err), 0);
    for (unsigned groups = 0; groups <= 6; groups++)
        check_groups(coded, l->base ? bases : NULL, groups, sum);
    for (unsigned s = 0; s < l->coded.n_streams; s++) check_alone(coded, l->base ? bases : NULL, s);
    sum->n_layers++;
    cuda_cover(&sum->coverage, coded);
    tare_coded_free(coded);
    tare_coded_free(of_base);
    free_regions(&base_regions);
}

static void check_vector(const char *name, totals *sum) {
    vector o, base;
    open_vector(&o, name);
    open_vector(&base, "base.wcodec");
    for (uint32_t i = 0; i < o.index.n_layers; i++) /* derived ones are made by the CPU alone */
        if (!o.index.layers[i].derived.is_set) check_layer(&o, &base, i, sum);
    close_vector(&o);
    close_vector(&base);
}

static void vectors_decode_as_on_the_cpu(void **state) {
    (void)state;
    totals sum = {.n_layers = 0};
    DIR *vectors = opendir(vector_folder);
    assert_non_null(vectors);
    for (const struct dirent *e; (e = readdir(vectors)) != NULL;)
        if (strstr(e->d_name, ".wcodec")) check_vector(e->d_name, &sum);
    closedir(vectors);
    printf("%llu layers, %llu segments decoded, %llu of them by the host\n",
           (unsigned long long)sum.n_layers, (unsigned long long)sum.n_segments,
           (unsigned long long)sum.n_host);
    assert_true(sum.n_segments > 2 * sum.n_host); /* which derived layers are left to */
    assert_int_equal(cuda_uncovered(&sum.coverage, IN_VECTORS), 0);
}

/* [FOLDER of the vectors] */
int main(int argc, char **argv) {
    if (argc > 1) vector_folder = argv[1];
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors_decode_as_on_the_cpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
