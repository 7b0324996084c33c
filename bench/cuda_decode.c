/* SPDX-License-Identifier: MIT
 *
 * Questions: how fast does libtare_cuda decode tensors of a .wcodec whose stored bytes are in device
 * memory: the largest one, the 8 and 64 largest, all? How fast are all loaded from the file, beside
 * those of a file that is not packed? Every byte is compared with the library's.
 *
 *   bench_cuda [-d DEVICE] [-n RUNS] [-p PLAIN] FILE.wcodec
 *
 * Times are those of the host from the launch until all is done: the median of the runs, with the
 * CRC of segments and without. Loads are tare_device_load, from the page cache and after its pages of
 * the file were dropped; PLAIN is the same model, not packed: what copying it costs. bench_cuda_emulated
 * does the same in emulation, which says nothing of speed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tare/cuda.h>
#include <tare/experimental/device.h>
#include <tare/experimental/unpack.h>
#include <tare/tare.h>

enum { MOST_RUNS = 101, COLD_RUNS = 3, NAME = 32 };

typedef struct layer {
    tare_coded *coded;
    const tare_coded_layer *about;
    const tare_coded_head *heads[TARE_CODED_MAX_STREAMS];
    const tare_coded_segment *segments[TARE_CODED_MAX_STREAMS];
} layer;

typedef struct subject {
    tare_model *model;
    tare_cuda *cuda;
    size_t n; /* of layers, the largest first */
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
    if (status != TARE_OK) die(err->what ? err->what : tare_status_text(status));
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

static int compare_layers(const void *a, const void *b) {
    const layer *x = a, *y = b;
    return (x->about->size < y->about->size) - (x->about->size > y->about->size);
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
    qsort(s->layers, s->n, sizeof *s->layers, compare_layers);
}

/* Of the first n layers. */
static void make_plan(subject *s, size_t n) {
    tare_error err;
    tare_cuda_layer *layers = room(n * sizeof *layers);
    for (size_t i = 0; i < n; i++)
        layers[i] =
            (tare_cuda_layer){s->layers[i].about, s->layers[i].heads, s->layers[i].segments, 0};
    must(tare_cuda_plan_new(&s->plan, layers, n, NULL, &err), &err);
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

static double median(double *times, unsigned n) {
    qsort(times, n, sizeof *times, compare_times);
    return times[n / 2];
}

static double measure(tare_cuda_batch *batch, unsigned n_runs, bool with_crc) {
    tare_cuda_decode_options o = tare_cuda_decode_options_default();
    tare_error err;
    double times[MOST_RUNS];
    o.without_crc = !with_crc;
    for (unsigned i = 0; i < n_runs; i++) {
        double start = now();
        must(tare_cuda_decode(batch, &o, &err), &err);
        must(tare_cuda_finish(NULL, batch, &err), &err);
        times[i] = now() - start;
    }
    return median(times, n_runs);
}

/* The first n layers together. */
static void measure_layers(subject *s, size_t n, unsigned n_runs) {
    tare_error err;
    tare_cuda_batch *batch;
    make_plan(s, n);
    fill_host_area(s);
    must(tare_cuda_batch_new(&batch, s->cuda, s->plan, s->buffers, s->host_area, &err), &err);
    const double bytes = (double)s->needs.decoded_bytes, with = measure(batch, n_runs, true),
                 without = measure(batch, n_runs, false);
    printf("%7zu %9.1f %9llu %5llu %8u %9.3f %8.1f %9.3f %8.1f\n", n, bytes / 1e6,
           (unsigned long long)s->needs.n_segments, (unsigned long long)s->needs.n_host_segments,
           s->needs.n_launches, with * 1e3, bytes / with / 1e9, without * 1e3,
           bytes / without / 1e9);
    tare_cuda_batch_free(batch);
    tare_cuda_release(s->cuda, s->host_area);
    tare_cuda_plan_free(s->plan);
}

static void measure_all(subject *s, unsigned n_runs) {
    printf("%7s %9s %9s %5s %8s %9s %8s %9s %8s\n", "tensors", "MB", "segments", "host", "launches",
           "CRC, ms", "GB/s", "none, ms", "GB/s");
    for (size_t n = 1; n < s->n; n *= 8) measure_layers(s, n, n_runs);
    measure_layers(s, s->n, n_runs);
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

static void release_layers(const subject *s) {
    for (size_t i = 0; i < s->n; i++) {
        const layer *l = &s->layers[i];
        for (unsigned k = 0; k < l->about->n_streams; k++) free((void *)(uintptr_t)l->segments[k]);
        tare_coded_free(l->coded);
        tare_cuda_release(s->cuda, (void *)(uintptr_t)s->buffers[i].stored);
        for (unsigned r = 0; r < TARE_CODED_MAX_REGIONS; r++)
            tare_cuda_release(s->cuda, s->buffers[i].regions[r]);
    }
    free(s->layers);
    free(s->buffers);
}

/* ---- loading --------------------------------------------------------------------------------- */

static tare_model *open_model(const char *path) {
    tare_source source = tare_source_default();
    tare_model *model;
    tare_error err;
    source.name = path;
    must(tare_model_open(&model, &source, NULL, &err), &err);
    return model;
}

static unsigned n_planes(const tare_tensor *t) {
    return t->encoding->n_planes ? t->encoding->n_planes : 1;
}

/* Memory of the device for all tensors. */
static tare_device_job *make_jobs(size_t *n, tare_device *device, const tare_model *model) {
    tare_error err;
    for (*n = 0; tare_model_tensor(model, *n);) ++*n;
    tare_device_job *jobs = room(*n * sizeof *jobs);
    for (size_t i = 0; i < *n; i++) {
        const tare_tensor *t = tare_model_tensor(model, i);
        tare_device_job_init(&jobs[i], sizeof jobs[i]);
        jobs[i].tensor = i;
        for (unsigned p = 0; p < n_planes(t); p++)
            if (t->planes[p].size)
                must(tare_device_alloc(&jobs[i].planes[p], device, (size_t)t->planes[p].size, &err),
                     &err);
    }
    return jobs;
}

/* What was loaded is what the CPU reads. */
static void compare_loaded(tare_device *device, const tare_model *model,
                           const tare_device_job *jobs, size_t n) {
    tare_error err;
    for (size_t i = 0; i < n; i++) {
        const tare_tensor *t = tare_model_tensor(model, i);
        for (unsigned p = 0; p < n_planes(t); p++) {
            size_t size = (size_t)t->planes[p].size;
            uint8_t *made = room(size), *meant = room(size);
            must(tare_device_download(made, device, jobs[i].planes[p], size, &err), &err);
            must(tare_tensor_read(meant, model, i, p, 0, size, &err), &err);
            if (memcmp(made, meant, size) != 0) die("the device has loaded other bytes");
            free(made);
            free(meant);
        }
    }
}

/* The next reads come from the disk, if the file system has one. Pages that a model has mapped and
 * read stay. */
static void drop_pages(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fsync(file) != 0 || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0)
        die("the file's pages cannot be dropped");
    close(file);
}

static void measure_load(tare_device *device, const char *path, const char *name, bool is_cold,
                         unsigned n_runs) {
    tare_error err;
    double times[MOST_RUNS];
    size_t n;
    tare_model *model = open_model(path);
    tare_device_job *jobs = make_jobs(&n, device, model);
    for (unsigned i = 0; i < n_runs; i++) {
        if (is_cold) {
            tare_model_free(model);
            drop_pages(path);
            model = open_model(path);
        }
        double start = now();
        must(tare_device_load(device, model, jobs, n, NULL, &err), &err);
        times[i] = now() - start;
    }
    const double time = median(times, n_runs),
                 bytes = (double)tare_model_summarize(model)->tensor_bytes;
    printf("load, %s, from the %s: %.3f ms, %.2f GB/s of tensors\n", name,
           is_cold ? "disk" : "page cache", time * 1e3, bytes / time / 1e9);
    compare_loaded(device, model, jobs, n);
    for (size_t i = 0; i < n; i++)
        for (unsigned p = 0; p < TARE_MAX_PLANES; p++)
            tare_device_release(device, jobs[i].planes[p]);
    free(jobs);
    tare_model_free(model);
}

static void measure_loads(int number, const char *packed, const char *plain, unsigned n_runs) {
    char name[NAME];
    tare_device *device;
    tare_error err;
    snprintf(name, sizeof name, "cuda:%d", number);
    must(tare_device_open(&device, name, &err), &err);
    for (int is_cold = 0; is_cold < 2; is_cold++) {
        unsigned n = is_cold && n_runs > COLD_RUNS ? COLD_RUNS : n_runs;
        measure_load(device, packed, "packed", is_cold, n);
        if (plain) measure_load(device, plain, "not packed", is_cold, n);
    }
    tare_device_free(device);
}

int main(int argc, char **argv) {
    subject s = {0};
    tare_error err;
    const char *plain = NULL;
    int device = 0, n_runs = 21;
    for (int o; (o = getopt(argc, argv, "d:n:p:")) != -1;) {
        if (o == 'd') device = atoi(optarg);
        if (o == 'n') n_runs = atoi(optarg);
        if (o == 'p') plain = optarg;
        if (o == '?') return 2;
    }
    if (optind + 1 != argc || n_runs < 1 || n_runs > MOST_RUNS) die("one file, 1 to 101 runs");
    s.model = open_model(argv[optind]);
    must(tare_cuda_open(&s.cuda, device, &err), &err);
    open_layers(&s);
    if (!s.n) die("the file has no tensors that are packed");
    upload_layers(&s);
    printf("%s: %s\n", tare_cuda_name(s.cuda), argv[optind]);
    measure_all(&s, (unsigned)n_runs);
    compare(&s);
    printf("all bytes are the library's\n");
    release_layers(&s);
    measure_loads(device, argv[optind], plain, (unsigned)n_runs);
    tare_model_free(s.model);
    tare_cuda_close(s.cuda);
    return 0;
}
