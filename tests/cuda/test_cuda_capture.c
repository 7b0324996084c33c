/* SPDX-License-Identifier: MIT
 *
 * Guards against: decoding that allocates, copies or waits, so that no CUDA graph could capture it;
 * a captured decoding that depends on what memory held when it was captured, or on being done only
 * once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/wg_emulated_device.h"
#include "cuda_runner.h"

enum { N = 300001, STRIDE = 210, UNITS = 1024 };

static void fill(uint8_t *bytes, size_t n) {
    uint64_t x = 5;
    for (size_t i = 0; i < n; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (uint8_t)((x >> 60) + (x >> 33 & 7) + (x >> 40 & 15));
    }
}

static tare_status capture(tare_cuda_batch *batch, const tare_cuda_decode_options *o,
                           tare_error *err) {
    const wg_device_counts before = wg_device_count();
    wg_device_begin_capture();
    tare_status status = tare_cuda_decode(batch, o, err);
    wg_device_end_capture();
    const wg_device_counts after = wg_device_count();
    assert_int_equal(after.n_memory, before.n_memory);
    assert_int_equal(after.n_copies, before.n_copies);
    assert_int_equal(after.n_waits, before.n_waits);
    assert_true(after.n_enqueued > before.n_enqueued + 1);
    return status;
}
static tare_status capture_and_replay(tare_cuda_batch *batch, const tare_cuda_decode_options *o,
                                      tare_error *err) {
    tare_status status = capture(batch, o, err);
    for (unsigned i = 0; status == TARE_OK && i < 3; i++) {
        wg_device_replay();
        assert_int_equal(tare_cuda_finish(NULL, batch, err), TARE_OK);
    }
    return status;
}

/* A layer of one field and, if that leaves some, of the bytes after it. */
static tare_coded *encode(const uint8_t *bytes, size_t n, const tare_coded_field *fields,
                          size_t n_fields, const uint8_t *base) {
    const tare_coded_region region = {bytes, n, base};
    tare_coded *coded;
    assert_int_equal(tare_coded_encode(&coded, &region, 1, fields, n_fields, NULL, NULL), TARE_OK);
    return coded;
}

static void check(const tare_coded_field *fields, size_t n_fields, size_t n, bool has_base) {
    const cuda_how hows[] = {{.decode = capture}, {.decode = capture_and_replay}};
    uint8_t *bytes = malloc(n), *base = malloc(n), *made = malloc(n);
    assert_true(bytes && base && made);
    fill(bytes, n);
    for (size_t i = 0; i < n; i++) base[i] = (uint8_t)(bytes[i] - (i % 5 == 0));
    tare_coded *coded = encode(bytes, n, fields, n_fields, has_base ? base : NULL);
    for (unsigned i = 0; i < 2; i++) {
        const void *bases[1] = {base};
        cuda_counts counts;
        memset(made, 0xa5, n);
        tare_status status = cuda_decode(&made, coded, bases, &hows[i], &counts, NULL, NULL);
        if (i) {
            assert_int_equal(status, TARE_OK);
            assert_memory_equal(made, bytes, n);
        } else {
            for (size_t at = 0; at < n; at++) assert_int_equal(made[at], 0xa5); /* nothing ran */
        }
    }
    tare_coded_free(coded);
    free(bytes);
    free(base);
    free(made);
}

static void decoding_can_be_captured(void **state) {
    (void)state;
    const tare_coded_field bytes[] = {{.value_bits = 8, .log2_segment = 14}};
    const tare_coded_field q6_k[] = {
        {.value_bits = 6,
         .log2_segment = 14,
         .stride = STRIDE,
         .width = 128,
         .join = {128, 2, 8, {1, 2, 3, 4, 5, 6, 0, 7}}},
        {.value_bits = 8, .log2_segment = 14, .stride = STRIDE, .offset = 192, .width = 18}};
    check(bytes, 1, N, false);
    check(bytes, 1, N, true);
    check(q6_k, 2, (size_t)STRIDE * UNITS, false);
}

/* The emulation does find what must not be captured. */
static void waiting_cannot_be_captured(void **state) {
    (void)state;
    tare_cuda *cuda;
    void *memory;
    assert_int_equal(tare_cuda_open(&cuda, 0, NULL), TARE_OK);
    wg_device_begin_capture();
    assert_int_equal(tare_cuda_alloc(&memory, cuda, 1, NULL), TARE_ERR_IO);
    wg_device_end_capture();
    assert_int_equal(tare_cuda_alloc(&memory, cuda, 1, NULL), TARE_OK);
    tare_cuda_release(cuda, memory);
    tare_cuda_close(cuda);
}

/* Buffers of a ring take what they have room for, once; batches memory that is aligned. */
static void room_is_checked(void **state) {
    (void)state;
    tare_cuda *cuda;
    tare_cuda_stage *stage;
    tare_cuda_plan *plan;
    tare_cuda_batch *batch;
    void *buffer, *memory, *stream;
    assert_int_equal(tare_cuda_open(&cuda, 0, NULL), TARE_OK);
    assert_int_equal(tare_cuda_stage_new(&stage, cuda, 64, 0, NULL), TARE_ERR_ARG);
    assert_int_equal(tare_cuda_stage_new(&stage, cuda, 64, 2, NULL), TARE_OK);
    assert_int_equal(tare_cuda_stream_new(&stream, cuda, NULL), TARE_OK);
    assert_int_equal(tare_cuda_alloc(&memory, cuda, 4096, NULL), TARE_OK);
    assert_int_equal(tare_cuda_stage_send(memory, stage, 1, stream, NULL), TARE_ERR_ARG);
    assert_int_equal(tare_cuda_stage_next(&buffer, stage, NULL), TARE_OK);
    memset(buffer, 7, 64);
    assert_int_equal(tare_cuda_stage_send(memory, stage, 65, stream, NULL), TARE_ERR_ARG);
    assert_int_equal(tare_cuda_stage_send(memory, stage, 64, stream, NULL), TARE_OK);
    assert_int_equal(tare_cuda_stage_send(memory, stage, 64, stream, NULL), TARE_ERR_ARG);
    assert_int_equal(tare_cuda_stream_wait(cuda, stream, NULL), TARE_OK);
    assert_memory_equal(memory, buffer, 64);
    assert_int_equal(tare_cuda_plan_new(&plan, NULL, 0, NULL, NULL), TARE_OK);
    assert_int_equal(
        tare_cuda_batch_new_at(&batch, cuda, plan, NULL, NULL, (char *)memory + 64, stream, NULL),
        TARE_ERR_ARG);
    tare_cuda_plan_free(plan);
    tare_cuda_stage_free(stage);
    tare_cuda_stream_free(cuda, stream);
    tare_cuda_release(cuda, memory);
    tare_cuda_close(cuda);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_can_be_captured),
        cmocka_unit_test(waiting_cannot_be_captured),
        cmocka_unit_test(room_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
