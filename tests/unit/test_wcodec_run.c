/* SPDX-License-Identifier: MIT
 *
 * Fault guarded against: bytes of layers that depend on the number of threads or on who was first;
 * a failed read that hangs the others, or is told as something else; places that do not fit; a
 * layer that its visitor never sees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "wc_random.h"
#include "wcodec/layer/wc_cut.h"
#include "wcodec/layer/wc_layer_write.h"

enum { LAYERS = 24, MOST = 24 << 20 };

typedef struct made {
    tare_arena arena;
    tare_reader reader;
    uint8_t *bytes, *out;
    tare_wc_layer layers[LAYERS];
    tare_wc_layer_job jobs[LAYERS];
    uint64_t size, failing; /* reads that reach this byte fail */
} made;

static tare_status read_made(void *ctx, uint64_t offset, void *buf, size_t n) {
    const made *m = ctx;
    if (offset + n > m->failing) return TARE_ERR_IO;
    memcpy(buf, m->bytes + offset, n);
    return TARE_OK;
}

static tare_status write_made(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n,
                              tare_error *err) {
    made *m = ctx;
    if (offset + n > MOST) return tare_fail(err, TARE_ERR_NOSPACE, "the test's output");
    memcpy(m->out + offset, bytes, n);
    return TARE_OK;
}

/* Layers of many encodings, empty, tiny and of several segments, one after the other. */
static void make(made *m) {
    static const tare_encoding_id ids[] = {TARE_ENCODING_BF16, TARE_ENCODING_Q4_K,
                                           TARE_ENCODING_I8,   TARE_ENCODING_F32,
                                           TARE_ENCODING_I64,  TARE_ENCODING_K6};
    static const uint64_t rows[] = {1, 300, 0, 7, 700, 33, 4, 500};
    const tare_wc_effort effort = TARE_WC_EFFORT_FAST;
    uint64_t at = 0, state = 7;
    *m = (made){.failing = UINT64_MAX};
    tare_arena_init(&m->arena, NULL);
    m->bytes = test_malloc(MOST);
    m->out = test_malloc(MOST);
    for (size_t i = 0; i < MOST; i++) m->bytes[i] = (uint8_t)(wc_random(&state) >> 60);
    tare_reader_callback(&m->reader, read_made, m, MOST, "made");
    for (size_t i = 0; i < LAYERS; i++) {
        const tare_encoding *e = tare_encoding_get(ids[i % 6]);
        const uint64_t dims[] = {rows[i % 8], 768};
        uint64_t sizes[TARE_MAX_PLANES];
        tare_wc_cut *cut = TARE_NEW(&m->arena, tare_wc_cut);
        assert_int_equal(tare_encoding_sizes(sizes, e, dims, 2, NULL), TARE_OK);
        tare_wc_cut_tensor(cut, e, sizes, dims, 2, false, &effort);
        assert_int_equal(tare_wc_apply_cut(&m->layers[i], cut, &m->arena, NULL), TARE_OK);
        m->jobs[i] = (tare_wc_layer_job){.layer = &m->layers[i], .how = cut->how};
        for (unsigned r = 0; r < cut->n_regions; r++) {
            m->jobs[i].own.readers[r] = &m->reader;
            m->jobs[i].own.starts[r] = at;
            at += sizes[r];
        }
    }
    assert_true(at < MOST);
    m->size = at;
}

static void unmake(made *m) {
    test_free(m->bytes);
    test_free(m->out);
    tare_arena_free(&m->arena);
}

static tare_status run(made *m, unsigned threads, uint64_t *end, tare_error *err) {
    tare_wc_target target = {write_made, m};
    tare_wc_run run = {
        .jobs = m->jobs, .n_jobs = LAYERS, .offset = 128, .how = {.threads = threads}};
    tare_status status = tare_wc_run_jobs(&run, &target, &m->arena, err);
    *end = run.offset;
    return status;
}

static void threads_change_nothing(void **state) {
    (void)state;
    made m;
    make(&m);
    uint64_t end, first_end = 0;
    uint8_t *first = test_malloc(MOST);
    uint64_t offsets[LAYERS];
    uint32_t crcs[LAYERS];
    for (unsigned threads = 1; threads <= 7; threads += 3) {
        tare_error err;
        memset(m.out, 0xee, MOST);
        assert_int_equal(run(&m, threads, &end, &err), TARE_OK);
        if (threads == 1) {
            memcpy(first, m.out, MOST);
            first_end = end;
        }
        assert_int_equal(end, first_end);
        assert_memory_equal(first, m.out, (size_t)end);
        for (size_t i = 0; i < LAYERS; i++) {
            if (threads == 1) {
                offsets[i] = m.layers[i].offset;
                crcs[i] = m.layers[i].crc;
            }
            assert_int_equal(m.layers[i].offset, offsets[i]);
            assert_int_equal(m.layers[i].crc, crcs[i]);
        }
    }
    test_free(first);
    unmake(&m);
}

static void layers_fill_the_file(void **state) {
    (void)state;
    made m;
    make(&m);
    uint64_t end, at = 128;
    assert_int_equal(run(&m, 3, &end, NULL), TARE_OK);
    for (size_t i = 0; i < LAYERS; i++) {
        const tare_wc_layer *l = &m.layers[i];
        uint64_t position = 0;
        assert_int_equal(l->offset, l->size ? at : 128);
        assert_int_equal(l->size % 128, 0);
        at += l->size;
        for (unsigned p = 0; l->size && p < l->n_streams; p++) {
            assert_int_equal(l->streams[p].position, position);
            position += l->streams[p].head_bytes;
            for (uint64_t s = 0; s < l->streams[p].n_segments; s++)
                position += (uint64_t)l->streams[p].sizes[s] * 64;
        }
        if (l->size) assert_in_range(l->offset + position, at - 64, at);
    }
    assert_int_equal(at, end);
    unmake(&m);
}

static void a_failed_read_is_told(void **state) {
    (void)state;
    made m;
    make(&m);
    for (uint64_t part = 1; part < 10; part += 4) {
        for (unsigned threads = 1; threads <= 4; threads += 3) {
            uint64_t end;
            tare_error err = {0};
            m.failing = m.size * part / 10;
            assert_int_equal(run(&m, threads, &end, &err), TARE_ERR_IO);
        }
    }
    unmake(&m);
}

typedef struct visits {
    _Atomic unsigned n[LAYERS];
    size_t failing;
} visits;

static tare_status visit(void *ctx, size_t number, tare_error *err) {
    visits *v = ctx;
    assert_in_range(number, 100, 100 + LAYERS - 1);
    v->n[number - 100]++;
    return number == v->failing ? tare_fail(err, TARE_ERR_UNSUPPORTED, "visited") : TARE_OK;
}

/* Small layers and large ones, and a failure at the first, at some, at none. */
static void each_layer_is_visited_once(void **state) {
    (void)state;
    made m;
    make(&m);
    tare_wc_target target = {write_made, &m};
    for (size_t i = 0; i < LAYERS; i++) m.jobs[i].number = 100 + i;
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        for (size_t failing = 100; failing <= 100 + LAYERS; failing += 6) {
            visits v = {.failing = failing};
            tare_wc_run run = {.jobs = m.jobs,
                               .n_jobs = LAYERS,
                               .offset = 128,
                               .how = {.threads = threads},
                               .visitor = {visit, &v}};
            const bool fails = failing < 100 + LAYERS;
            assert_int_equal(tare_wc_run_jobs(&run, &target, &m.arena, NULL),
                             fails ? TARE_ERR_UNSUPPORTED : TARE_OK);
            for (size_t i = 0; i < LAYERS; i++) assert_in_range(v.n[i], fails ? 0 : 1, 1);
        }
    }
    unmake(&m);
}

static bool stop(void *ctx, uint64_t done, uint64_t total) {
    (void)ctx;
    assert_true(done <= total);
    return true;
}

static void stopping_stops(void **state) {
    (void)state;
    made m;
    make(&m);
    tare_wc_target target = {write_made, &m};
    tare_wc_run run = {
        .jobs = m.jobs, .n_jobs = LAYERS, .offset = 128, .how = {.threads = 3, .progress = stop}};
    assert_int_equal(tare_wc_run_jobs(&run, &target, &m.arena, NULL), TARE_ERR_CANCELLED);
    unmake(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_nothing), cmocka_unit_test(layers_fill_the_file),
        cmocka_unit_test(a_failed_read_is_told),  cmocka_unit_test(each_layer_is_visited_once),
        cmocka_unit_test(stopping_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
