/* SPDX-License-Identifier: MIT
 *
 * Question: how fast does libtare_cuda decode all tensors of a .wcodec whose stored bytes are in
 * device memory? One plan for all of them; every byte is compared with the library's.
 *
 *   bench_cuda [-d DEVICE] [-n RUNS] FILE.wcodec
 *
 * Times are those of the host from the launch until all is done: the median of the runs, with the
 * CRC of segments and without. bench_cuda_emulated does the same in emulation, which says nothing
 * of speed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tare/cuda.h>
#include <tare/tare.h>
#include <tare/unpack.h>

enum { MOST_RUNS = 101 };

typedef struct layer {
    tare_coded *coded;
    const tare_coded_layer *about;
    const tare_coded_head *heads[TARE_CODED_MAX_STREAMS];
    const tare_coded_segment *segments[TARE_CODED_MAX_STREAMS];
} layer;

typedef struct subject {
    tare_model *model;
    tare_cuda *cuda;
    size_t n;
    layer *layers;
    tare_cuda_buffers *buffers;
    tare_cuda_plan *plan;
    tare_cuda_needs needs;
    void *host_area;
} subject;

static _Noreturn void die(const char *what) {
    fprintf(stderr, "bench_cuda: %s\n", what);
    exit(1);
}
static void must(tare_status status, const tare_error *err) {
    if (status != TARE_OK) die(err->what);
}
static void *room(size_t n) {
    void *memory = calloc(n ? n : 1, 1);
    if (!memory) die("memory");
    return memory;
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the model ------------------------------------------------------------------------------- */

static void parse_layer(layer *l) {
    tare_error err;
    l->about = tare_coded_describe(l->coded);
    for (unsigned i = 0; i < l->about->n_streams; i++) {
        uint64_t n = l->about->streams[i].n_segments;
        tare_coded_segment *s = room((size_t)n * sizeof *s);
        for (uint64_t k = 0; k < n; k++) {
            tare_coded_segment_init(&s[k], sizeof s[k]);
            must(tare_coded_parse_segment(&s[k], l->coded, i, k, &err), &err);
        }
        l->heads[i] = tare_coded_stream_head(l->coded, i);
        l->segments[i] = s;
    }
}

/* Layers of tensors; those that several tensors share come once for each. */
static void open_layers(subject *s) {
    tare_error err;
    size_t n_tensors = 0;
    while (tare_model_tensor(s->model, n_tensors)) n_tensors++;
    s->layers = room(n_tensors * sizeof *s->layers);
    for (size_t i = 0; i < n_tensors; i++) {
        layer *l = &s->layers[s->n];
        if (tare_tensor_coded(&l->coded, NULL, s->model, i, NULL, &err) != TARE_OK) continue;
        if (tare_coded_describe(l->coded)->base) die("the model refers to a base");
        parse_layer(l);
        s->n++;
    }
}

static void make_plan(subject *s) {
    tare_error err;
    tare_cuda_layer *layers = room(s->n * sizeof *layers);
    for (size_t i = 0; i < s->n; i++)
        layers[i] =
            (tare_cuda_layer){s->layers[i].about, s->layers[i].heads, s->layers[i].segments, 0};
    must(tare_cuda_plan_new(&s->plan, layers, s->n, NULL, &err), &err);
    tare_cuda_needs_init(&s->needs, sizeof s->needs);
    must(tare_cuda_plan_needs(&s->needs, s->plan), &err);
    free(layers);
}

/* ---- the device ------------------------------------------------------------------------------ */

static void upload_layers(subject *s) {
    tare_error err;
    s->buffers = room(s->n * sizeof *s->buffers);
    for (size_t i = 0; i < s->n; i++) {
        const tare_coded_layer *l = s->layers[i].about;
        uint8_t *bytes = room((size_t)l->size);
        void *stored;
        must(tare_coded_read(bytes, s->layers[i].coded, 0, (size_t)l->size, &err), &err);
        must(tare_cuda_alloc(&stored, s->cuda, (size_t)l->size, &err), &err);
        must(tare_cuda_upload(stored, s->cuda, bytes, (size_t)l->size, &err), &err);
        s->buffers[i].stored = stored;
        for (unsigned r = 0; r < l->n_regions; r++)
            must(tare_cuda_alloc(&s->buffers[i].regions[r], s->cuda, (size_t)l->region_bytes[r],
                                 &err),
                 &err);
        free(bytes);
    }
}

static void fill_host_area(subject *s) {
    tare_error err;
    tare_cuda_host_segment h;
    uint8_t *area = room((size_t)s->needs.host_bytes);
    for (uint64_t i = 0; tare_cuda_plan_host_segment(&h, s->plan, i); i++)
        must(tare_coded_decode_segments(area + h.position, s->layers[h.layer].coded, h.stream,
                                        h.segment, 1, NULL, &err),
             &err);
    must(tare_cuda_alloc(&s->host_area, s->cuda, (size_t)s->needs.host_bytes, &err), &err);
    if (s->needs.host_bytes)
        must(tare_cuda_upload(s->host_area, s->cuda, area, (size_t)s->needs.host_bytes, &err),
             &err);
    free(area);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int compare_times(const void *a, const void *b) {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void measure(tare_cuda_batch *batch, const subject *s, unsigned n_runs, bool with_crc) {
    tare_cuda_decode_options o = TARE_CUDA_DECODE_OPTIONS_INIT;
    tare_error err;
    double times[MOST_RUNS];
    o.without_crc = !with_crc;
    for (unsigned i = 0; i < n_runs; i++) {
        double start = now();
        must(tare_cuda_decode(batch, &o, &err), &err);
        must(tare_cuda_finish(NULL, batch, &err), &err);
        times[i] = now() - start;
    }
    qsort(times, n_runs, sizeof *times, compare_times);
    double median = times[n_runs / 2];
    printf("%s CRC: %.3f ms, %.1f GB/s of decoded bytes\n", with_crc ? "with" : "without",
           median * 1e3, (double)s->needs.decoded_bytes / median / 1e9);
}

static void compare(const subject *s) {
    tare_error err;
    for (size_t i = 0; i < s->n; i++) {
        const tare_coded_layer *l = s->layers[i].about;
        for (unsigned r = 0; r < l->n_regions; r++) {
            size_t n = (size_t)l->region_bytes[r];
            uint8_t *made = room(n), *meant = room(n);
            must(tare_coded_decode_region(meant, s->layers[i].coded, r, 0, n, NULL, &err), &err);
            if (n) must(tare_cuda_download(made, s->cuda, s->buffers[i].regions[r], n, &err), &err);
            if (memcmp(made, meant, n) != 0) die("the device gives other bytes");
            free(made);
            free(meant);
        }
    }
}

int main(int argc, char **argv) {
    subject s = {0};
    tare_error err;
    tare_cuda_batch *batch;
    int device = 0, n_runs = 21;
    for (int o; (o = getopt(argc, argv, "d:n:")) != -1;) {
        if (o == 'd') device = atoi(optarg);
        if (o == 'n') n_runs = atoi(optarg);
        if (o == '?') return 2;
    }
    if (optind + 1 != argc || n_runs < 1 || n_runs > MOST_RUNS) die("one file, 1 to 101 runs");
    tare_source source = TARE_SOURCE_INIT;
    source.name = argv[optind];
    must(tare_model_open(&s.model, &source, NULL, &err), &err);
    must(tare_cuda_open(&s.cuda, device, &err), &err);
    open_layers(&s);
    make_plan(&s);
    upload_layers(&s);
    fill_host_area(&s);
    must(tare_cuda_batch_new(&batch, s.cuda, s.plan, s.buffers, s.host_area, &err), &err);
    printf("%s: %zu tensors, %llu segments, %llu of them for the host, %u launches\n",
           tare_cuda_name(s.cuda), s.n, (unsigned long long)s.needs.n_segments,
           (unsigned long long)s.needs.n_host_segments, s.needs.n_launches);
    measure(batch, &s, (unsigned)n_runs, true);
    measure(batch, &s, (unsigned)n_runs, false);
    compare(&s);
    printf("all bytes are the library's\n");
    tare_cuda_batch_free(batch);
    tare_cuda_plan_free(s.plan);
    tare_model_free(s.model);
    tare_cuda_close(s.cuda);
    return 0;
}
