/* SPDX-License-Identifier: MIT
 *
 * Guards against: a model read through a device that has other bytes than without; reads in part, by
 * several threads, of layers that the device keeps; damage that a device hides; a device that is
 * said to be used and is not. The library that is loaded is the emulation. */
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

enum { TENSORS = 3, ROWS = 600, COLUMNS = 1024, N = ROWS * COLUMNS };

static char folder[SCRATCH_NAME_SIZE], tuned[SCRATCH_PATH_SIZE], packed[SCRATCH_PATH_SIZE],
    loose[SCRATCH_PATH_SIZE];

static tare_source source_of(const char *path) {
    tare_source s = tare_source_default();
    s.name = path;
    return s;
}

/* Against itself. */
static tare_status pack_tuned(const tare_model *model) {
    const tare_model *bases[] = {model};
    tare_pack_options o = tare_pack_options_default();
    o.bases = bases;
    o.n_bases = 1;
    snprintf(tuned, sizeof tuned, "%s/t.wcodec", folder);
    return tare_pack(NULL, tuned, model, &o, NULL);
}

/* A safetensors file of int8 tensors, packed alone and against itself. */
static int set_up(void **state) {
    (void)state;
    char header[512];
    uint64_t x = 3;
    if (!mkdtemp(scratch_name(folder))) return -1;
    snprintf(packed, sizeof packed, "%s/m.wcodec", folder);
    snprintf(loose, sizeof loose, "%s/m.safetensors", folder);
    int n = snprintf(header, sizeof header, "{");
    for (int i = 0; i < TENSORS; i++)
        n += snprintf(header + n, sizeof header - (size_t)n,
                      "%s\"t%d\":{\"dtype\":\"I8\",\"shape\":[%d,%d],\"data_offsets\":[%d,%d]}",
                      i ? "," : "", i, ROWS, COLUMNS, i * N, (i + 1) * N);
    n += snprintf(header + n, sizeof header - (size_t)n, "}");
    const uint64_t size = (uint64_t)n;
    FILE *f = fopen(loose, "wb");
    if (!f) return -1;
    fwrite(&size, sizeof size, 1, f);
    fwrite(header, 1, (size_t)n, f);
    for (int i = 0; i < TENSORS * N; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        fputc((int)((x >> 60) + (x >> 40 & 15) + (x >> 30 & 7)), f);
    }
    fclose(f);
    const tare_source in = source_of(loose);
    tare_model *model;
    if (tare_model_open(&model, &in, NULL, NULL) != TARE_OK) return -1;
    tare_status status = tare_pack(NULL, packed, model, NULL, NULL);
    if (status == TARE_OK) status = pack_tuned(model);
    tare_model_free(model);
    return status == TARE_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    return unlink(packed) | unlink(tuned) | unlink(loose) | rmdir(folder);
}

static tare_model *open_model(tare_device *device) {
    const tare_source in = source_of(packed);
    tare_open_options o = tare_open_options_default();
    tare_model *model;
    o.device = device;
    assert_int_equal(tare_model_open(&model, &in, &o, NULL), TARE_OK);
    return model;
}

/* All tensors at once, by four threads. */
static uint8_t *read_all(const tare_model *model, tare_status meant) {
    tare_read_job jobs[TENSORS];
    tare_read_options o = tare_read_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    uint8_t *bytes = calloc(TENSORS, N);
    assert_non_null(bytes);
    for (size_t i = 0; i < TENSORS; i++) {
        jobs[i] = tare_read_job_default();
        jobs[i].tensor = i;
        jobs[i].dst = bytes + i * N;
    }
    context.threads = 4;
    assert_int_equal(tare_read_many(model, jobs, TENSORS, &o, NULL), meant);
    return bytes;
}

static tare_device_counts counts_of(const tare_device *device) {
    tare_device_counts c = tare_device_counts_default();
    assert_int_equal(tare_device_count(&c, device), TARE_OK);
    return c;
}

static void the_device_reads_the_same(void **state) {
    (void)state;
    tare_device *device;
    assert_int_equal(tare_device_open(&device, "cuda:0", NULL), TARE_OK);
    assert_true(strlen(tare_device_name(device)) > 0);
    tare_model *by_device = open_model(device), *by_cpu = open_model(NULL);
    uint8_t *made = read_all(by_device, TARE_OK), *meant = read_all(by_cpu, TARE_OK);
    assert_memory_equal(made, meant, TENSORS * N);
    for (size_t at = 1; at < N; at += 70001) { /* the layers are kept: they are not decoded again */
        uint8_t some[300];
        size_t n = N - at < sizeof some ? N - at : sizeof some;
        assert_int_equal(tare_tensor_read(some, by_device, 1, 0, at, n, NULL), TARE_OK);
        assert_memory_equal(some, meant + N + at, n);
    }
    const tare_device_counts c = counts_of(device);
    assert_int_equal(c.n_layers, TENSORS);
    assert_int_equal(c.n_bytes, TENSORS * N);
    assert_int_equal(c.n_left, 0);
    assert_null(c.reason);
    tare_model_free(by_device);
    tare_model_free(by_cpu);
    tare_device_free(device);
    free(made);
    free(meant);
}

static void all_checks_can_use_it(void **state) {
    (void)state;
    tare_device *device;
    tare_context o = tare_context_default();
    assert_int_equal(tare_device_open(&device, "cuda", NULL), TARE_OK);
    tare_model *model = open_model(device);
    o.report = tare_report_new();
    assert_int_equal(tare_verify_data(model, &o, NULL), TARE_OK);
    assert_int_equal(tare_report_count(o.report), 0);
    assert_true(counts_of(device).n_layers >= TENSORS);
    tare_report_free(o.report);
    tare_model_free(model);
    tare_device_free(device);
}

static void differences_from_a_base_are_decoded(void **state) {
    (void)state;
    tare_device *device;
    tare_open_options o = tare_open_options_default();
    const tare_source in = source_of(tuned), base_in = source_of(loose);
    tare_model *base, *model;
    assert_int_equal(tare_device_open(&device, "cuda", NULL), TARE_OK);
    assert_int_equal(tare_model_open(&base, &base_in, NULL, NULL), TARE_OK);
    const tare_model *bases[] = {base};
    o.bases = bases;
    o.n_bases = 1;
    o.device = device;
    assert_int_equal(tare_model_open(&model, &in, &o, NULL), TARE_OK);
    uint8_t *made = read_all(model, TARE_OK), *meant = read_all(base, TARE_OK);
    assert_memory_equal(made, meant, TENSORS * N);
    const tare_device_counts c = counts_of(device);
    assert_int_equal(c.n_layers, TENSORS);
    assert_int_equal(c.n_left, 0);
    assert_true(c.n_segments >= TENSORS);
    free(made);
    free(meant);
    tare_model_free(model);
    tare_model_free(base);
    tare_device_free(device);
}

/* A layer stays on the device, decoded there again and again. */
static void layers_stay_on_the_device(void **state) {
    (void)state;
    tare_device *device;
    tare_device_layer *layer;
    tare_coded *coded;
    uint8_t *made = malloc(N);
    void *regions[] = {made};
    assert_non_null(made);
    assert_int_equal(tare_device_open(&device, "cuda", NULL), TARE_OK);
    tare_model *model = open_model(NULL);
    uint8_t *meant = read_all(model, TARE_OK);
    assert_int_equal(tare_tensor_coded(&coded, NULL, model, 2, NULL, NULL), TARE_OK);
    assert_int_equal(tare_device_layer_new(&layer, device, coded, NULL), TARE_OK);
    for (int i = 0; i < 3; i++) {
        memset(made, i, N);
        assert_int_equal(tare_device_layer_decode(layer, NULL), TARE_OK);
        assert_int_equal(tare_device_layer_fetch(regions, layer, NULL), TARE_OK);
        assert_memory_equal(made, meant + 2 * (size_t)N, N);
    }
    assert_int_equal(counts_of(device).n_layers, 3);
    tare_device_layer_free(layer);
    tare_coded_free(coded);
    tare_model_free(model);
    tare_device_free(device);
    free(made);
    free(meant);
}

static void damage_is_found(void **state) {
    (void)state;
    tare_device *device;
    FILE *f = fopen(packed, "r+b");
    assert_non_null(f);
    fseek(f, N, SEEK_SET);
    int byte = fgetc(f);
    fseek(f, N, SEEK_SET);
    fputc(byte ^ 1, f);
    fclose(f);
    tare_model *by_cpu = open_model(NULL);
    free(read_all(by_cpu, TARE_ERR_CORRUPT));
    assert_int_equal(tare_device_open(&device, "cuda", NULL), TARE_OK);
    tare_model *model = open_model(device);
    free(read_all(model, TARE_ERR_CORRUPT));
    assert_int_equal(counts_of(device).n_left, 0); /* damage is not the device's fault */
    tare_model_free(model);
    tare_model_free(by_cpu);
    tare_device_free(device);
}

static void names_of_devices_are_checked(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "gpu", "cuda:", "cuda:x", "cuda0", "cuda:1x"};
    tare_device *device;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tare_device_open(&device, wrong[i], NULL), TARE_ERR_ARG);
    assert_int_equal(tare_device_open(&device, "cuda:7", NULL), TARE_ERR_UNSUPPORTED);
    assert_null(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_reads_the_same),
        cmocka_unit_test(all_checks_can_use_it),
        cmocka_unit_test(differences_from_a_base_are_decoded),
        cmocka_unit_test(layers_stay_on_the_device),
        cmocka_unit_test(names_of_devices_are_checked),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
