/* SPDX-License-Identifier: MIT
 *
 * Guards against: a position of a box that receives the wrong element, or bytes written outside of
 * it; parts that differ from the whole, in any container and with any number of threads; segments
 * of a .wcodec that are decoded more than once; jobs that are reported twice or not at all; an
 * invalid job that is noticed only after others have been read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/experimental/packing.h>
#include <tare/experimental/unpack.h>
#include <tare/read.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "convert_help.h"
#include "wc_random.h"

/* ---- models ---------------------------------------------------------------------------------- */

static void fill_bytes(uint8_t *p, uint64_t n, uint64_t seed) {
    for (uint64_t i = 0; i < n; i++) p[i] = (uint8_t)(wc_random(&seed) >> 24);
}

/* Floats of about normal size, which a codec makes something of. */
static void fill_plain(uint8_t *p, uint64_t n, tare_encoding_id id, uint64_t seed) {
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t r = wc_random(&seed);
        const float v = (float)(r % 2000) / 1000.0F - 1;
        const uint32_t bits = tare_f32_bits(v * v * v);
        if (id == TARE_ENCODING_F32)
            tare_store_le32(p + 4 * i, bits);
        else
            tare_store_le16(p + 2 * i, (uint16_t)(bits >> 16));
    }
}

typedef struct row {
    tare_encoding_id id;
    uint32_t n_dims;
    uint64_t dims[4];
} row;

/* What GGUF can hold. */
static const row plain_rows[] = {
    {TARE_ENCODING_F32, 3, {7, 5, 33}},    {TARE_ENCODING_BF16, 2, {300, 1037}},
    {TARE_ENCODING_F32, 2, {2100, 640}},   {TARE_ENCODING_I8, 1, {1000}},
    {TARE_ENCODING_F16, 4, {3, 4, 5, 60}}, {TARE_ENCODING_Q8_0, 2, {130, 320}},
    {TARE_ENCODING_Q4_K, 2, {900, 1024}},  {TARE_ENCODING_Q6_K, 3, {3, 20, 512}},
    {TARE_ENCODING_F64, 2, {9, 11}},       {TARE_ENCODING_I64, 2, {6, 10}},
};

/* And what it cannot. */
static const row other_rows[] = {
    {TARE_ENCODING_BOOL, 2, {5, 7}},
    {TARE_ENCODING_F4, 2, {6, 64}},
    {TARE_ENCODING_F8_E4M3, 2, {300, 260}},
    {TARE_ENCODING_INT8_ROWWISE, 2, {70, 131}},
    {TARE_ENCODING_INT4_ROWWISE, 2, {9, 35}},
    {TARE_ENCODING_MCF_INT4, 2, {64, 128}},
    {TARE_ENCODING_K4, 2, {40, 512}},
    {TARE_ENCODING_U16, 5, {0}},
    {TARE_ENCODING_F32, 0, {0}},
    {TARE_ENCODING_Q8, 2, {33, 65}},
};
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static void add_row(made_model *made, const row *r, size_t number) {
    static const uint64_t five[] = {2, 3, 2, 3, 5};
    char name[32];
    snprintf(name, sizeof name, "t%zu", number);
    uint8_t *bytes =
        made_add(made, tare_str_of(name), r->id, r->n_dims == 5 ? five : r->dims, r->n_dims);
    const tare_tensor *t = &made->model->catalog.tensors[made->model->catalog.n_tensors - 1];
    if (r->id == TARE_ENCODING_F32 || r->id == TARE_ENCODING_BF16)
        fill_plain(bytes, t->n_elements, r->id, number);
    else
        fill_bytes(bytes, t->size_bytes, number);
}

static tare_model *make_model(made_model *made, bool with_others) {
    made_begin(made, 16 << 20, 40, 0);
    for (size_t i = 0; i < COUNT(plain_rows); i++) add_row(made, &plain_rows[i], i);
    for (size_t i = 0; i < COUNT(other_rows) && with_others; i++)
        add_row(made, &other_rows[i], 100 + i);
    if (with_others) {
        const row scales = {TARE_ENCODING_F32, 2, {3, 3}};
        add_row(made, &scales, 0);
        made->model->catalog.tensors[made->model->catalog.n_tensors - 1].name =
            tare_str_of("t102_scale_inv"); /* of 128 x 128 of the F8 tensor */
    }
    return made_finish(made, false, NULL, 0);
}

/* ---- expected -------------------------------------------------------------------------------- */

typedef struct box {
    uint64_t start[TARE_MAX_DIMS], count[TARE_MAX_DIMS];
    int64_t step[TARE_MAX_DIMS], strides[TARE_MAX_DIMS];
} box;

/* All cells of a tensor, row by row: read once, until forget() is called. */
enum { MAX_TENSORS = 24, WAYS = TARE_MAX_PLANES + 3 };
static uint8_t *known[MAX_TENSORS][WAYS];

static void forget(void) {
    for (size_t i = 0; i < MAX_TENSORS; i++)
        for (size_t k = 0; k < WAYS; k++) {
            free(known[i][k]);
            known[i][k] = NULL;
        }
}

static size_t way_of(const tare_read_job *job) {
    const size_t after = TARE_MAX_PLANES;
    if (!job->as) return job->plane;
    return job->as == TARE_ENCODING_F32 ? after : after + (job->as == TARE_ENCODING_F16 ? 1 : 2);
}

static const uint8_t *whole(const tare_model *m, const tare_read_job *job) {
    const tare_tensor *t = tare_model_tensor(m, job->tensor);
    const uint64_t size = job->as ? t->n_elements * 4 : t->planes[job->plane].size;
    assert_in_range(job->tensor, 0, MAX_TENSORS - 1);
    uint8_t **place = &known[job->tensor][way_of(job)], *all = *place;
    if (all) return all;
    *place = all = malloc((size_t)size + 1);
    assert_non_null(all);
    if (job->as)
        assert_int_equal(tare_tensor_rows_as(all, job->as, m, job->tensor, 0, t->n_rows, NULL),
                         TARE_OK);
    else
        assert_int_equal(tare_tensor_read(all, m, job->tensor, job->plane, 0, (size_t)size, NULL),
                         TARE_OK);
    return all;
}

static size_t width_of(const tare_tensor *t, const tare_read_job *job) {
    if (job->as) return job->as == TARE_ENCODING_F32 ? 4 : 2;
    return t->encoding->planes[job->plane].unit_bytes;
}

/* Puts each position where it belongs, one after the other. */
static void put_expected(uint8_t *dst, const tare_model *m, const tare_read_job *job,
                         const box *b) {
    const tare_tensor *t = tare_model_tensor(m, job->tensor);
    const size_t width = width_of(t, job);
    const uint64_t unit = job->as ? 1 : t->encoding->planes[job->plane].unit;
    uint64_t index[TARE_MAX_DIMS] = {0}, counts[TARE_MAX_DIMS], n = 1;
    const uint8_t *all = whole(m, job);
    for (uint32_t d = 0; d < t->n_dims; d++) {
        counts[d] = d + 1 == t->n_dims ? tare_ceil_div_u64(b->count[d], unit) : b->count[d];
        n *= counts[d];
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t cell = 0;
        int64_t at = 0;
        for (uint32_t d = 0; d < t->n_dims; d++) {
            const bool is_last = d + 1 == t->n_dims;
            const uint64_t start = is_last ? b->start[d] / unit : b->start[d];
            cell = cell * (is_last ? tare_ceil_div_u64(t->dims[d], unit) : t->dims[d]) +
                   (uint64_t)((int64_t)start + (int64_t)index[d] * b->step[d]);
            at += (int64_t)index[d] * b->strides[d];
        }
        memcpy(dst + at, all + cell * width, width);
        for (uint32_t d = t->n_dims; d-- > 0;) {
            if (++index[d] < counts[d]) break;
            index[d] = 0;
        }
    }
}

/* ---- random boxes ---------------------------------------------------------------------------- */

enum { ROOM = 48 << 20, MARGIN = 256 };

/* A box, and strides that leave gaps or turn dimensions round; gives the bytes that dst needs and
 * where in them the first position lies. */
static uint64_t random_box(box *b, const tare_tensor *t, uint64_t unit, size_t width,
                           uint64_t *first, uint64_t *seed) {
    uint64_t bytes = width;
    *first = 0;
    for (uint32_t d = t->n_dims; d-- > 0;) {
        const bool is_last = d + 1 == t->n_dims;
        const uint64_t u = is_last ? unit : 1, size = tare_ceil_div_u64(t->dims[d], u);
        const bool is_whole = wc_random(seed) % 3 == 0;
        uint64_t start = is_whole ? 0 : wc_random(seed) % size, count;
        int64_t step = is_whole || u > 1 ? 1 : (int64_t)(wc_random(seed) % 3 + 1);
        if (wc_random(seed) % 11 == 0 && u == 1) step = (int64_t)size / 2 + 1;
        count = (size - start + (uint64_t)step - 1) / (uint64_t)step;
        if (!is_whole) count = wc_random(seed) % count + 1;
        if (u == 1 && wc_random(seed) % 4 == 0) { /* from the other end */
            start += (count - 1) * (uint64_t)step;
            step = -step;
        }
        b->start[d] = start * u;
        b->count[d] = tare_min_u64(count * u, t->dims[d] - b->start[d] * (u > 1));
        if (u == 1) b->count[d] = count;
        b->step[d] = step;
        const uint64_t gap = wc_random(seed) % 5 == 0 ? wc_random(seed) % 40 : 0;
        const uint64_t distance = bytes + gap;
        b->strides[d] = (int64_t)distance;
        bytes = distance * (count - 1) + bytes;
        if (wc_random(seed) % 5 == 0) {
            b->strides[d] = -(int64_t)distance;
            *first += distance * (count - 1);
        }
    }
    return bytes;
}

static _Atomic unsigned told[64];

static void note_done(void *ctx, size_t job) {
    (void)ctx;
    atomic_fetch_add(&told[job], 1);
}

/* Several random jobs in one call, held against one position after the other. */
static void check_boxes(const tare_model *m, unsigned threads, uint64_t *seed) {
    enum { JOBS = 12 };
    static uint8_t *room, *expected;
    tare_read_job jobs[JOBS];
    box boxes[JOBS];
    uint64_t used = MARGIN;
    size_t n = 0;
    if (!room) {
        room = malloc(ROOM);
        expected = malloc(ROOM);
        assert_true(room && expected);
    }
    for (size_t i = 0; i < JOBS; i++) {
        static const tare_encoding_id as[] = {TARE_ENCODING_UNKNOWN, TARE_ENCODING_F32,
                                              TARE_ENCODING_F16, TARE_ENCODING_BF16};
        tare_read_job *job = &jobs[n];
        const size_t n_tensors = tare_model_summarize(m)->n_tensors;
        *job = tare_read_job_default();
        job->tensor = (size_t)(wc_random(seed) % n_tensors);
        job->as = as[wc_random(seed) % 4];
        const tare_tensor *t = tare_model_tensor(m, job->tensor);
        if (job->as && !tare_tensor_can_decode(m, job->tensor)) continue;
        job->plane = (uint32_t)(wc_random(seed) % t->encoding->n_planes);
        if (!job->as && t->encoding->planes[job->plane].scope != TARE_PLANE_ELEMENTS) continue;
        const uint64_t unit = job->as ? 1 : t->encoding->planes[job->plane].unit;
        if (!job->as && t->encoding->is_bit_packed && t->cols % unit) continue;
        uint64_t first, size, dense;
        size = random_box(&boxes[n], t, unit, width_of(t, job), &first, seed);
        if (used + size + MARGIN > ROOM) break;
        job->start = boxes[n].start;
        job->count = boxes[n].count;
        job->step = boxes[n].step;
        job->strides = boxes[n].strides;
        job->dst = room + used + (size_t)first;
        assert_int_equal(tare_read_job_bytes(&dense, m, job, NULL), TARE_OK);
        assert_true(dense <= size);
        used += size + MARGIN;
        atomic_store(&told[n++], 0);
    }
    memset(room, 0xa5, (size_t)used);
    memset(expected, 0xa5, (size_t)used);
    for (size_t i = 0; i < n; i++)
        put_expected(expected + ((uint8_t *)jobs[i].dst - room), m, &jobs[i], &boxes[i]);
    tare_read_options o = tare_read_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_error err;
    context.threads = threads;
    o.job_done = note_done;
    if (tare_read_many(m, jobs, n, &o, &err) != TARE_OK) fail_msg("%s %s", err.item_name, err.what);
    const bool is_same = memcmp(room, expected, (size_t)used) == 0;
    for (uint64_t i = 0; i < used && !is_same; i++)
        if (room[i] != expected[i]) fail_msg("byte %llu", (unsigned long long)i);
    for (size_t i = 0; i < n; i++) assert_int_equal(atomic_load(&told[i]), 1);
}

/* ---- all of all ------------------------------------------------------------------------------ */

/* Every tensor whole, stored and decoded, in one call. */
static void check_whole(const tare_model *m, unsigned threads) {
    const size_t n_tensors = tare_model_summarize(m)->n_tensors;
    tare_read_job *jobs = calloc(n_tensors * 4, sizeof *jobs);
    tare_read_options o = tare_read_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    size_t n = 0;
    tare_error err;
    assert_non_null(jobs);
    for (size_t i = 0; i < n_tensors; i++) {
        const tare_tensor *t = tare_model_tensor(m, i);
        for (uint32_t p = 0; p < t->encoding->n_planes; p++, n++) {
            tare_read_job_init(&jobs[n], sizeof *jobs);
            jobs[n].tensor = i;
            jobs[n].plane = p;
        }
        if (!tare_tensor_can_decode(m, i)) continue;
        tare_read_job_init(&jobs[n], sizeof *jobs);
        jobs[n].tensor = i;
        jobs[n++].as = TARE_ENCODING_F32;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t size;
        assert_int_equal(tare_read_job_bytes(&size, m, &jobs[i], NULL), TARE_OK);
        jobs[i].dst = malloc((size_t)size + 1);
    }
    context.threads = threads;
    if (tare_read_many(m, jobs, n, &o, &err) != TARE_OK) fail_msg("%s %s", err.item_name, err.what);
    for (size_t i = 0; i < n; i++) {
        uint64_t size;
        const uint8_t *expected = whole(m, &jobs[i]);
        assert_int_equal(tare_read_job_bytes(&size, m, &jobs[i], NULL), TARE_OK);
        assert_memory_equal(jobs[i].dst, expected, (size_t)size);
        free(jobs[i].dst);
    }
    free(jobs);
}

static void check_model(const tare_model *m) {
    uint64_t seed = 1;
    check_whole(m, 1);
    check_whole(m, 3);
    for (int i = 0; i < 24; i++) check_boxes(m, 1 + (unsigned)i % 4, &seed);
    forget();
}

static void test_memory(void **state) {
    (void)state;
    made_model made;
    check_model(make_model(&made, true));
    made_free(&made);
}

static void test_files(void **state) {
    (void)state;
    made_model made;
    tare_model *m = make_model(&made, false), *opened;
    tare_convert_options o = tare_convert_options_default();
    tare_open_options open = tare_open_options_default();
    o.to = "gguf";
    help_convert(help_path("m.gguf"), m, &o);
    o.order = TARE_ORDER_BIG;
    help_convert(help_path("b.gguf"), m, &o);
    check_model(opened = help_open(help_path("m.gguf")));
    tare_model_free(opened);
    check_model(opened = help_open(help_path("b.gguf")));
    tare_model_free(opened);
    open.map = TARE_MAP_READ;
    assert_int_equal(tare_open_path(&opened, help_path("m.gguf"), &open, NULL), TARE_OK);
    check_model(opened);
    tare_model_free(opened);
    made_free(&made);
}

/* ---- .wcodec --------------------------------------------------------------------------------- */

typedef struct counted {
    FILE *file;
    _Atomic uint64_t n_bytes;
} counted;

static tare_status read_counted(void *ctx, uint64_t offset, void *buf, size_t n) {
    counted *c = ctx;
    atomic_fetch_add(&c->n_bytes, n);
    return pread(fileno(c->file), buf, n, (off_t)offset) == (ssize_t)n ? TARE_OK : TARE_ERR_IO;
}

static void test_packed(void **state) {
    (void)state;
    made_model made;
    tare_model *m = make_model(&made, false);
    tare_convert_options o = tare_convert_options_default();
    tare_pack_options pack = tare_pack_options_default();
    struct stat st;
    tare_error err;
    o.to = "gguf";
    help_convert(help_path("p.gguf"), m, &o);
    made_free(&made);
    m = help_open(help_path("p.gguf"));
    pack.log2_segment = 14;
    assert_int_equal(tare_pack(NULL, help_path("m.wcodec"), m, &pack, &err), TARE_OK);
    tare_model_free(m);
    check_model(m = help_open(help_path("m.wcodec")));
    tare_model_free(m);

    counted c = {.file = fopen(help_path("m.wcodec"), "rb")};
    assert_non_null(c.file);
    assert_int_equal(fstat(fileno(c.file), &st), 0);
    const tare_source source = {.size = sizeof(tare_source),
                                .kind = TARE_SOURCE_CALLBACK,
                                .n_bytes = (uint64_t)st.st_size,
                                .read = read_counted,
                                .read_ctx = &c};
    const uint64_t start[] = {0, 100}, count[] = {2100, 30};
    tare_read_job jobs[] = {tare_read_job_default(), tare_read_job_default(),
                            tare_read_job_default()};
    jobs[0].tensor = 2; /* columns of 1.3 million floats */
    jobs[0].start = start;
    jobs[0].count = count;
    jobs[1].tensor = 6;
    jobs[1].as = TARE_ENCODING_BF16;
    jobs[2].tensor = 1;
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        for (size_t i = 0; i < COUNT(jobs); i++) {
            tare_read_options r = tare_read_options_default();
            tare_context context = tare_context_default();
            r.context = &context;
            uint64_t packed, size;
            context.threads = threads;
            assert_int_equal(tare_model_open(&m, &source, NULL, &err), TARE_OK);
            assert_true(tare_tensor_packed_bytes(&packed, m, jobs[i].tensor));
            assert_int_equal(tare_read_job_bytes(&size, m, &jobs[i], NULL), TARE_OK);
            jobs[i].dst = malloc((size_t)size);
            atomic_store(&c.n_bytes, 0);
            assert_int_equal(tare_read_many(m, &jobs[i], 1, &r, &err), TARE_OK);
            assert_in_range(atomic_load(&c.n_bytes), 1, packed + 64);
            free(jobs[i].dst);
            tare_model_free(m);
        }
    }
    fclose(c.file);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void expect(const tare_model *m, const tare_read_job *job, tare_status status,
                   const char *what) {
    uint8_t fine[64 * 1024];
    tare_read_job jobs[2] = {tare_read_job_default(), *job};
    tare_error err;
    uint64_t n;
    memset(fine, 0x11, sizeof fine);
    jobs[0].dst = fine;
    assert_int_equal(tare_read_many(m, jobs, 2, NULL, &err), status);
    assert_non_null(strstr(err.what, what));
    assert_int_equal(fine[0], 0x11); /* nothing was read */
    assert_int_equal(tare_read_job_bytes(&n, m, job, &err), status);
}

static void test_wrong_jobs(void **state) {
    (void)state;
    made_model made;
    tare_model *m = make_model(&made, true);
    uint8_t dst[64];
    const tare_read_job start_from = {sizeof(tare_read_job), .dst = dst};
    tare_read_job job = start_from;
    job.tensor = 999;
    expect(m, &job, TARE_ERR_ARG, "tensor");
    job = start_from;
    job.plane = 1;
    expect(m, &job, TARE_ERR_ARG, "plane");
    job = start_from;
    job.offset = 7 * 5 * 33 * 4 + 1;
    expect(m, &job, TARE_ERR_ARG, "range");
    job.offset = 8, job.n_bytes = UINT64_MAX - 4;
    expect(m, &job, TARE_ERR_ARG, "range");
    job = start_from;
    job.as = TARE_ENCODING_Q8_0;
    expect(m, &job, TARE_ERR_ARG, "f32, f16 or bf16");
    const uint64_t beyond[] = {6, 0, 31}, two[] = {2, 1, 2}, none[] = {0, 5, 1};
    const int64_t steps[] = {1, 1, 2}, zero[] = {1, 0, 1}, back[] = {-7, 1, 1};
    job = start_from;
    job.start = beyond, job.count = two;
    expect(m, &job, TARE_ERR_ARG, "beyond");
    const uint64_t one[] = {1, 1, 2};
    job.count = one, job.step = steps;
    expect(m, &job, TARE_ERR_ARG, "beyond");
    job.step = zero;
    expect(m, &job, TARE_ERR_ARG, "step");
    job.step = back, job.count = two;
    expect(m, &job, TARE_ERR_ARG, "beyond");
    const uint64_t block[] = {0, 16}, blocks[] = {1, 32};
    job = start_from;
    job.tensor = 5, job.start = block, job.count = blocks;
    expect(m, &job, TARE_ERR_ARG, "units");
    job = start_from;
    const size_t rowwise = COUNT(plain_rows) + 3;
    job.tensor = rowwise, job.plane = 1, job.count = blocks;
    expect(m, &job, TARE_ERR_ARG, "elements");
    /* empty boxes are fine, and need no memory */
    tare_error err;
    uint64_t n = 1;
    job = start_from;
    job.count = none, job.dst = NULL;
    assert_int_equal(tare_read_many(m, &job, 1, NULL, &err), TARE_OK);
    assert_int_equal(tare_read_job_bytes(&n, m, &job, &err), TARE_OK);
    assert_int_equal(n, 0);
    assert_int_equal(tare_read_many(m, NULL, 0, NULL, &err), TARE_OK);
    made_free(&made);
}

static bool stop(void *ctx, uint64_t done, uint64_t total) {
    (void)ctx, (void)done, (void)total;
    return true;
}

static void test_cancelled(void **state) {
    (void)state;
    made_model made;
    tare_model *m = make_model(&made, false);
    tare_read_options o = tare_read_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_read_job job = tare_read_job_default();
    tare_error err;
    job.tensor = 2;
    job.dst = malloc(2100 * 640 * 4);
    tare_cancel *flag = tare_cancel_new();
    tare_cancel_request(flag);
    context.cancel = flag;
    assert_int_equal(tare_read_many(m, &job, 1, &o, &err), TARE_ERR_CANCELLED);
    tare_cancel_free(flag);
    context.cancel = NULL;
    context.progress = stop;
    assert_int_equal(tare_read_many(m, &job, 1, &o, &err), TARE_ERR_CANCELLED);
    free(job.dst);
    made_free(&made);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_files),
        cmocka_unit_test(test_packed),    cmocka_unit_test(test_wrong_jobs),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
