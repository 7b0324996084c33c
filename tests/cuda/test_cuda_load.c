/* SPDX-License-Identifier: MIT
 *
 * Guards against: tensors on a device that have other bytes than those read by the CPU, whatever
 * the container, the sizes of groups and what has to be left to the CPU; buffers that are filled
 * before they are copied, or freed before the device is done (the emulation works as late as it may,
 * and the sanitizers see it); damage and stops that go unnoticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <tare/experimental/packing.h>
#include <tare/experimental/unpack.h>
#include <tare/tare.h>

#include "support/scratch_name.h"

enum { TENSORS = 6, VALUES = 70000 };

static char folder[SCRATCH_NAME_SIZE], files[4][SCRATCH_PATH_SIZE];
enum { LOOSE, PACKED, TUNED, DAMAGED };

static const struct {
    const char *name, *dtype;
    unsigned bytes;
} tensors[TENSORS] = {
    {"i8", "I8", 1},   {"bf16", "BF16", 2}, {"f32", "F32", 4},
    {"i64", "I64", 8}, {"u8", "U8", 1},     {"f16", "F16", 2},
};

/* Bytes that compress: integers small, so that ZSTD takes them; exponents alike. */
static void put_value(FILE *f, unsigned tensor, uint64_t x) {
    const unsigned n = tensors[tensor].bytes;
    for (unsigned b = 0; b < n; b++) {
        unsigned value = (unsigned)(x >> 60) + (unsigned)(x >> 40 & 15);
        if (tensor == 3) value = b ? 0 : (unsigned)(x >> 62);
        if (tensor != 3 && b + 1 == n && n > 1) value = 0x3c + (unsigned)(x >> 63);
        fputc((int)(value & 255), f);
    }
}

static int write_loose(void) {
    char header[1024];
    uint64_t x = 7;
    unsigned at = 0;
    int n = snprintf(header, sizeof header, "{");
    for (unsigned i = 0; i < TENSORS; i++) {
        const unsigned size = VALUES * tensors[i].bytes;
        n += snprintf(header + n, sizeof header - (size_t)n,
                      "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[70,1000],\"data_offsets\":[%u,%u]}",
                      i ? "," : "", tensors[i].name, tensors[i].dtype, at, at + size);
        at += size;
    }
    n += snprintf(header + n, sizeof header - (size_t)n, "}");
    while (n % 8) header[n++] = ' ';
    const uint64_t size = (uint64_t)n;
    FILE *f = fopen(files[LOOSE], "wb");
    if (!f) return -1;
    fwrite(&size, sizeof size, 1, f);
    fwrite(header, 1, (size_t)n, f);
    for (unsigned i = 0; i < TENSORS; i++)
        for (unsigned v = 0; v < VALUES; v++) {
            x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            put_value(f, i, x);
        }
    return fclose(f);
}

static tare_model *open_file(int file, const tare_model *base) {
    tare_source source = tare_source_default();
    tare_open_options o = tare_open_options_default();
    tare_model *model;
    source.name = files[file];
    o.bases = &base;
    o.n_bases = base != NULL;
    return tare_model_open(&model, &source, &o, NULL) == TARE_OK ? model : NULL;
}

/* A copy with a bit changed in the stored bytes of tensor "bf16". */
static int damage(void) {
    tare_model *model = open_file(PACKED, NULL);
    tare_coded *coded;
    const int64_t tensor = tare_model_find_tensor(model, (tare_str){"bf16", 4});
    if (tare_tensor_coded(&coded, NULL, model, (size_t)tensor, NULL, NULL) != TARE_OK) return -1;
    const tare_coded_layer *l = tare_coded_describe(coded);
    const uint64_t at = l->offset + l->streams[0].position + l->streams[0].head_bytes + 1000;
    tare_coded_free(coded);
    tare_model_free(model);
    FILE *from = fopen(files[PACKED], "rb"), *to = fopen(files[DAMAGED], "wb");
    if (!from || !to) return -1;
    uint64_t n = 0;
    for (int c; (c = fgetc(from)) != EOF; n++) fputc(n == at ? c ^ 4 : c, to);
    fclose(from);
    return fclose(to);
}

static int set_up(void **state) {
    static const char *const names[] = {"m.safetensors", "m.wcodec", "t.wcodec", "d.wcodec"};
    (void)state;
    if (!mkdtemp(scratch_name(folder))) return -1;
    for (size_t i = 0; i < 4; i++) snprintf(files[i], sizeof *files, "%s/%s", folder, names[i]);
    if (write_loose() != 0) return -1;
    tare_model *model = open_file(LOOSE, NULL);
    const tare_model *bases[] = {model};
    tare_pack_options o = tare_pack_options_default();
    o.effort = TARE_EFFORT_FULL;
    if (tare_pack(NULL, files[PACKED], model, &o, NULL) != TARE_OK) return -1;
    o.bases = bases;
    o.n_bases = 1;
    if (tare_pack(NULL, files[TUNED], model, &o, NULL) != TARE_OK) return -1;
    tare_model_free(model);
    return damage();
}

static int tear_down(void **state) {
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < 4; i++) failed |= unlink(files[i]);
    return failed | rmdir(folder);
}

static tare_device *open_device(void) {
    tare_device *device;
    assert_int_equal(tare_device_open(&device, "cuda", NULL), TARE_OK);
    return device;
}

static tare_device_counts counts_of(const tare_device *device) {
    tare_device_counts c = tare_device_counts_default();
    assert_int_equal(tare_device_count(&c, device), TARE_OK);
    return c;
}

/* Jobs for all tensors, each with device memory of exactly its size. */
static void make_jobs(tare_device_job *jobs, tare_device *device, const tare_model *model) {
    for (size_t i = 0; i < TENSORS; i++) {
        jobs[i] = tare_device_job_default();
        jobs[i].tensor = i;
        assert_int_equal(tare_device_alloc(&jobs[i].planes[0], device,
                                           tare_model_tensor(model, i)->planes[0].size, NULL),
                         TARE_OK);
    }
}

static void free_jobs(tare_device_job *jobs, tare_device *device) {
    for (size_t i = 0; i < TENSORS; i++) tare_device_release(device, jobs[i].planes[0]);
}

static void compare(const tare_device_job *jobs, tare_device *device, const tare_model *model) {
    for (size_t i = 0; i < TENSORS; i++) {
        const size_t n = tare_model_tensor(model, i)->planes[0].size;
        uint8_t *made = malloc(n), *meant = malloc(n);
        assert_true(made && meant);
        assert_int_equal(tare_device_download(made, device, jobs[i].planes[0], n, NULL), TARE_OK);
        assert_int_equal(tare_tensor_read(meant, model, i, 0, 0, n, NULL), TARE_OK);
        assert_memory_equal(made, meant, n);
        free(made);
        free(meant);
    }
}

static tare_device_counts load(int file, const tare_model *base, uint64_t window) {
    tare_device *device = open_device();
    tare_model *model = open_file(file, base);
    tare_device_job jobs[TENSORS];
    tare_device_load_options o = tare_device_load_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    assert_non_null(model);
    o.window = window;
    context.threads = 2;
    make_jobs(jobs, device, model);
    assert_int_equal(tare_device_load(device, model, jobs, TENSORS, &o, NULL), TARE_OK);
    compare(jobs, device, model);
    free_jobs(jobs, device);
    const tare_device_counts c = counts_of(device);
    tare_model_free(model);
    tare_device_free(device);
    return c;
}

static void a_packed_model_is_decoded_there(void **state) {
    (void)state;
    static const uint64_t windows[] = {0, 1, 100000, 300000}; /* all at once, each alone, some */
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        const tare_device_counts c = load(PACKED, NULL, windows[i]);
        assert_int_equal(c.n_layers, TENSORS);
        assert_int_equal(c.n_left, 0);
        assert_true(c.n_host_segments > 0 && c.n_host_segments < c.n_segments); /* i64 by ZSTD */
    }
}

static void others_are_copied(void **state) {
    (void)state;
    const tare_device_counts c = load(LOOSE, NULL, 0);
    assert_int_equal(c.n_layers, 0);
    assert_int_equal(c.n_left, 0); /* there was nothing to decode */
}

static void differences_find_their_base(void **state) {
    (void)state;
    tare_model *base = open_file(LOOSE, NULL);
    assert_int_equal(load(TUNED, base, 1).n_layers, TENSORS);
    assert_int_equal(load(TUNED, base, 0).n_layers, TENSORS);
    tare_model_free(base);
}

static void load_fails(int file, tare_status meant, const char *tensor, size_t n_left) {
    tare_device *device = open_device();
    tare_model *model = open_file(file, NULL);
    tare_device_job jobs[TENSORS];
    tare_error err;
    assert_non_null(model);
    make_jobs(jobs, device, model);
    assert_int_equal(tare_device_load(device, model, jobs, TENSORS, NULL, &err), meant);
    assert_int_equal(err.item_kind, TARE_ITEM_TENSOR);
    assert_int_equal(err.item, tare_model_find_tensor(model, (tare_str){tensor, strlen(tensor)}));
    assert_int_equal(counts_of(device).n_left, n_left);
    free_jobs(jobs, device);
    tare_model_free(model);
    tare_device_free(device);
}

static void damage_is_found(void **state) {
    (void)state;
    load_fails(DAMAGED, TARE_ERR_CORRUPT, "bf16", 0);
}

static void a_base_that_is_missing_is_said(void **state) {
    (void)state;
    load_fails(TUNED, TARE_ERR_ARG, "i8", 0);
}

static bool stop(void *ctx, uint64_t done, uint64_t total) {
    uint64_t *seen = ctx;
    assert_true(done <= total);
    *seen = done;
    return true;
}

static void it_can_be_stopped(void **state) {
    (void)state;
    tare_device *device = open_device();
    tare_model *model = open_file(PACKED, NULL);
    tare_device_job jobs[TENSORS];
    tare_device_load_options o = tare_device_load_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    uint64_t seen = 0;
    make_jobs(jobs, device, model);
    o.window = 1;
    context.progress = stop;
    context.progress_ctx = &seen;
    assert_int_equal(tare_device_load(device, model, jobs, TENSORS, &o, NULL), TARE_ERR_CANCELLED);
    assert_true(seen > 0 && seen < tare_model_summarize(model)->tensor_bytes);
    void *kept = jobs[2].planes[0];
    jobs[2].planes[0] = NULL;
    assert_int_equal(tare_device_load(device, model, jobs, TENSORS, NULL, NULL), TARE_ERR_ARG);
    jobs[2].planes[0] = (uint8_t *)kept + 2;
    assert_int_equal(tare_device_load(device, model, jobs, TENSORS, NULL, NULL), TARE_ERR_ARG);
    jobs[2].planes[0] = kept;
    free_jobs(jobs, device);
    tare_model_free(model);
    tare_device_free(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_model_is_decoded_there), cmocka_unit_test(others_are_copied),
        cmocka_unit_test(differences_find_their_base),     cmocka_unit_test(damage_is_found),
        cmocka_unit_test(a_base_that_is_missing_is_said),  cmocka_unit_test(it_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
