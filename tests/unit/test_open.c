/* SPDX-License-Identifier: MIT
 *
 * Guards against kinds of sources that give other models than the file, formats told by anything
 * but content, wrong arguments that crash, and failures that leave something behind. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include <tare/convert.h>
#include <tare/model.h>
#include <tare/private/synth.h>

#include "support/memory_source.h"
#include "support/scratch_name.h"
#include "unit/gguf_build.h"

static char path[SCRATCH_NAME_SIZE];
static gguf_build sample;

static int make_sample(void **state) {
    (void)state;
    build_begin(&sample, 3, false);
    build_key_str(&sample, "general.name", "sample");
    build_tensor(&sample, "w", 2, (uint64_t[]){4, 2}, 0, 32);
    build_end(&sample);
    int fd = mkstemp(scratch_name(path));
    if (fd < 0) return -1;
    ssize_t n = write(fd, sample.b.data, sample.b.size);
    close(fd);
    return n == (ssize_t)sample.b.size ? 0 : -1;
}

static int remove_sample(void **state) {
    (void)state;
    tare_buffer_free(&sample.b);
    return unlink(path);
}

static tare_status read_sample(void *ctx, uint64_t offset, void *buf, size_t n) {
    (void)ctx;
    memcpy(buf, sample.b.data + offset, n);
    return TARE_OK;
}

static tare_status read_nothing(void *ctx, uint64_t offset, void *buf, size_t n) {
    (void)ctx, (void)offset, (void)buf, (void)n;
    return TARE_ERR_IO;
}

static void check_source(tare_source source, bool map, bool can_borrow) {
    tare_open_options options = tare_open_options_default();
    options.map = map;
    tare_model *m;
    assert_int_equal(tare_model_open(&m, &source, &options, NULL), TARE_OK);
    assert_true(tare_str_is(tare_model_metadata(m, 0)->key, "general.name"));
    uint8_t bytes[32];
    assert_int_equal(tare_tensor_read(bytes, m, 0, 0, 0, 32, NULL), TARE_OK);
    assert_memory_equal(bytes, sample.b.data + sample.b.size - 32, 32);
    float rows[4];
    assert_int_equal(tare_tensor_rows_f32(rows, m, 0, 1, 1, NULL), TARE_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(tare_f32_bits(rows[i]), tare_load_le32(bytes + 16 + 4 * i));
    const uint8_t *p;
    tare_status s = tare_tensor_borrow(&p, m, 0, 0, 1, NULL);
    assert_int_equal(s, can_borrow ? TARE_OK : TARE_ERR_UNSUPPORTED);
    if (can_borrow) assert_memory_equal(p, bytes, 32);
    tare_model_free(m);
}

static void test_kinds(void **state) {
    (void)state;
    check_source((tare_source){.size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = path},
                 false, false);
    check_source((tare_source){.size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = path},
                 true, true);
    check_source(memory_source(sample.b.data, sample.b.size), false, true);
    check_source((tare_source){.size = sizeof(tare_source),
                               .kind = TARE_SOURCE_CALLBACK,
                               .read = read_sample,
                               .n_bytes = sample.b.size},
                 false, false);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    check_source((tare_source){.size = sizeof(tare_source), .kind = TARE_SOURCE_FD, .fd = fd},
                 false, false);
    check_source((tare_source){.size = sizeof(tare_source), .kind = TARE_SOURCE_FD, .fd = fd}, true,
                 true);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0); /* borrowed: neither moved nor closed */
    close(fd);
}

static tare_model *open_mapped(tare_map_mode map, const char *name) {
    tare_open_options options = tare_open_options_default();
    tare_model *m;
    options.map = map;
    assert_int_equal(tare_open_path(&m, name, &options, NULL), TARE_OK);
    return m;
}

static void test_private_map(void **state) {
    (void)state;
    const uint8_t *stored = sample.b.data + sample.b.size - 32;
    uint8_t *own, *other, bytes[32];
    const uint8_t *seen;
    tare_error err;
    tare_model *m = open_mapped(TARE_MAP_READ, path);
    assert_int_equal(tare_tensor_borrow_mut(&own, m, 0, 0, 1, &err), TARE_ERR_UNSUPPORTED);
    assert_null(own);
    tare_model_free(m);
    m = open_mapped(TARE_MAP_PRIVATE, path);
    tare_model *second = open_mapped(TARE_MAP_PRIVATE, path);
    assert_int_equal(tare_tensor_borrow_mut(&own, m, 0, 0, 0, &err), TARE_OK);
    assert_memory_equal(own, stored, 32);
    memset(own, 0x77, 32);
    assert_int_equal(tare_tensor_borrow(&seen, m, 0, 0, 0, &err), TARE_OK);
    assert_ptr_equal(seen, own);
    assert_int_equal(tare_tensor_read(bytes, m, 0, 0, 0, 32, &err), TARE_OK);
    assert_memory_equal(bytes, stored, 32); /* the file is as it was */
    assert_int_equal(tare_tensor_borrow_mut(&other, second, 0, 0, 0, &err), TARE_OK);
    assert_memory_equal(other, stored, 32);
    tare_model_free(m);
    tare_model_free(second);
}

static void test_alignment(void **state) {
    (void)state;
    const uint8_t *p;
    uint8_t *copy = malloc(sample.b.size + 64), *odd = copy + (65 - (uintptr_t)copy % 64) % 64;
    tare_error err;
    tare_model *m = open_mapped(TARE_MAP_READ, path);
    assert_int_equal(tare_tensor_borrow(&p, m, 0, 0, 32, &err), TARE_OK);
    assert_int_equal((uintptr_t)p % 32, 0);
    assert_int_equal(tare_tensor_borrow(&p, m, 0, 0, 48, &err), TARE_ERR_ARG);
    tare_model_free(m);
    assert_non_null(copy);
    memcpy(odd, sample.b.data, sample.b.size); /* one byte behind a multiple of 64 */
    const tare_source source = memory_source(odd, sample.b.size);
    assert_int_equal(tare_model_open(&m, &source, NULL, NULL), TARE_OK);
    assert_int_equal(tare_tensor_borrow(&p, m, 0, 0, 1, &err), TARE_OK);
    assert_int_equal(tare_tensor_borrow(&p, m, 0, 0, 2, &err), TARE_ERR_UNSUPPORTED);
    assert_string_equal(err.code, TARE_CODE_NOT_ALIGNED);
    assert_string_equal(err.item_name, "w");
    assert_null(p);
    tare_model_free(m);
    free(copy);
}

static void test_places(void **state) {
    (void)state;
    tare_plane place;
    uint8_t bytes[32];
    tare_model *m = open_mapped(TARE_MAP_NONE, path);
    assert_true(tare_tensor_place(&place, m, 0, 0));
    assert_int_equal(place.size, 32);
    assert_string_equal(tare_model_file(m, place.file)->name, path);
    int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, bytes, 32, (off_t)place.offset), 32);
    assert_memory_equal(bytes, sample.b.data + sample.b.size - 32, 32);
    close(fd);
    assert_false(tare_tensor_place(&place, m, 0, 1));
    assert_false(tare_tensor_place(&place, m, 1, 0));
    assert_false(tare_resource_place(&place, m, 0));
    char packed[SCRATCH_NAME_SIZE + 8];
    tare_error err;
    snprintf(packed, sizeof packed, "%s.wcodec", path);
    assert_int_equal(tare_pack(NULL, packed, m, NULL, &err), TARE_OK);
    tare_model_free(m);
    m = open_mapped(TARE_MAP_READ, packed);
    assert_false(tare_tensor_place(&place, m, 0, 0));
    tare_model_free(m);
    unlink(packed);
    assert_int_equal(tare_synth_open(&m, "llama-tiny", NULL, NULL), TARE_OK);
    const uint8_t *p;
    assert_false(tare_tensor_place(&place, m, 0, 0)); /* computed */
    assert_false(tare_resource_place(&place, m, 0));
    assert_int_equal(tare_resource_borrow(&p, m, 0, 0, &err), TARE_OK); /* made by opening */
    const tare_resource *r = tare_model_resource(m, 0);
    uint8_t *read = malloc((size_t)r->size);
    assert_int_equal(tare_resource_read(read, m, 0, 0, (size_t)r->size, &err), TARE_OK);
    assert_memory_equal(read, p, (size_t)r->size);
    free(read);
    assert_int_equal(tare_resource_borrow(&p, m, 1, 0, &err), TARE_ERR_ARG);
    tare_model_free(m);
}

static void test_arguments(void **state) {
    (void)state;
    tare_error err;
    tare_model *m = (tare_model *)path;
    assert_int_equal(tare_open_path(&m, "/tmp/tare-no-such-file", NULL, &err), TARE_ERR_IO);
    assert_null(m);
    assert_int_equal(tare_open_path(NULL, path, NULL, &err), TARE_ERR_ARG);
    assert_int_equal(tare_open_path(&m, NULL, NULL, &err), TARE_ERR_ARG);
    assert_int_equal(tare_model_open(&m, NULL, NULL, &err), TARE_ERR_ARG);
    tare_source none = {.size = sizeof(tare_source), .kind = TARE_SOURCE_CALLBACK};
    assert_int_equal(tare_model_open(&m, &none, NULL, &err), TARE_ERR_ARG);
    tare_source broken = {.size = sizeof(tare_source),
                          .kind = TARE_SOURCE_CALLBACK,
                          .read = read_nothing,
                          .n_bytes = 100};
    assert_int_equal(tare_model_open(&m, &broken, NULL, &err), TARE_ERR_IO);
    tare_open_options options = tare_open_options_default();
    options.format = "gguf";
    assert_int_equal(tare_open_path(&m, path, &options, &err), TARE_OK);
    assert_int_equal(tare_tensor_read(path, m, 0, 0, 30, 4, &err), TARE_ERR_ARG);
    assert_int_equal(tare_tensor_read(path, m, 0, 1, 0, 0, &err), TARE_ERR_ARG);
    assert_int_equal(tare_tensor_read(path, m, 1, 0, 0, 0, &err), TARE_ERR_ARG);
    assert_int_equal(tare_tensor_rows_f32(NULL, m, 0, 0, 3, &err), TARE_ERR_ARG);
    assert_int_equal(tare_resource_read(path, m, 0, 0, 0, &err), TARE_ERR_ARG);
    assert_null(tare_model_tensor(m, 1));
    assert_null(tare_model_metadata(m, 1));
    assert_null(tare_model_resource(m, 0));
    assert_false(tare_tensor_can_decode(m, 1));
    tare_model_free(m);
    tare_model_free(NULL);
    options.format = "none";
    assert_int_equal(tare_open_path(&m, path, &options, &err), TARE_ERR_ARG);
}

static void check_content(const char *bytes, size_t size, tare_status status, const char *what) {
    tare_source source = memory_source(bytes, size);
    tare_model *m;
    tare_error err;
    assert_int_equal(tare_model_open(&m, &source, NULL, &err), status);
    if (!strstr(err.what, what)) fail_msg("\"%s\" does not say %s", err.what, what);
}

#define CHECK_CONTENT(bytes, status, what) check_content(bytes, sizeof(bytes) - 1, status, what)

static void test_other_content(void **state) {
    (void)state;
    CHECK_CONTENT("", TARE_ERR_TRUNCATED, "empty");
    CHECK_CONTENT("GG", TARE_ERR_TRUNCATED, "magic");
    CHECK_CONTENT("gguf\3\0\0\0", TARE_ERR_CORRUPT, "format");
    CHECK_CONTENT("\x80\x02}q\1", TARE_ERR_TRUNCATED, "pickle");
    CHECK_CONTENT("PK\3\4..........................archive/data.pkl", TARE_ERR_TRUNCATED, "zip");
    CHECK_CONTENT("PK\3\4................arr_0.npy", TARE_ERR_UNSUPPORTED, "FILE.zip::MEMBER");
    CHECK_CONTENT("PK\3\4................other", TARE_ERR_UNSUPPORTED, "zip");
    CHECK_CONTENT("tjgg\3\0\0\0", TARE_ERR_UNSUPPORTED, "GGJT");
    CHECK_CONTENT("version https://git-lfs.github.com/spec/v1\n", TARE_ERR_UNSUPPORTED, "LFS");
    CHECK_CONTENT("\xef\xbb\xbf \n<!DocType html>", TARE_ERR_UNSUPPORTED, "HTML");
    CHECK_CONTENT("\x08\x07\x12\x07pytorch\x42\x02\x10\x11", TARE_ERR_CORRUPT, "no graph");
    CHECK_CONTENT("\x08\x05\x12\x2a\x0a\x11\x0a\x05input\x12\x08"
                  "an image",
                  TARE_ERR_UNSUPPORTED, "Core ML");
    CHECK_CONTENT("\x1f\x8b\x08\x00", TARE_ERR_UNSUPPORTED, "gzip");
    CHECK_CONTENT("\x28\xb5\x2f\xfd\x04", TARE_ERR_UNSUPPORTED, "zstd");
}

static void test_formats(void **state) {
    (void)state;
    tare_format_info info = tare_format_info_default();
    assert_true(tare_format_at(&info, 0));
    size_t n = 0;
    while (tare_format_at(&info, n)) n++;
    assert_false(tare_format_at(&info, n + 1));
    assert_string_equal(tare_format_of_path("a/b.gguf"), "gguf");
    assert_null(tare_format_of_path("a/b.gguf.tmp"));
    assert_null(tare_format_of_path(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),     cmocka_unit_test(test_private_map),
        cmocka_unit_test(test_alignment), cmocka_unit_test(test_places),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_other_content),
        cmocka_unit_test(test_formats),
    };
    return cmocka_run_group_tests(tests, make_sample, remove_sample);
}
