/* SPDX-License-Identifier: MIT
 *
 * Guards against: an MCF file cut anywhere that opens or is refused without a place; a spoilt byte
 * of header, directory, index or description that leads outside the file; a file that reads
 * otherwise mapped than through pread, from memory or from a descriptor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>

#include <tare/inspect.h>

#include "convert_help.h"
#include "support/memory_source.h"

static uint8_t *file;
static size_t file_size;

/* A tensor of each kind: plain, of blocks, of blocks under supers with a row that ends inside one,
 * under one scale with and without zero point, without elements; keys of every type; resources. */
static int make_file(void **state) {
    static const uint64_t plain[] = {2, 3}, matrix[] = {2, 40}, vector[] = {5}, none[] = {4, 0};
    made_model made;
    if (help_set_up(state)) return -1;
    made_begin(&made, 1 << 12, 8, 8);
    help_add(&made, "plain", TARE_ENCODING_F32, plain, 2);
    help_add(&made, "blocks", TARE_ENCODING_Q8, matrix, 2);
    help_add(&made, "supers", TARE_ENCODING_K3, matrix, 2);
    help_add(&made, "scaled", TARE_ENCODING_MCF_INT4, vector, 1);
    help_add(&made, "zero", TARE_ENCODING_MCF_INT8_ZERO, vector, 1);
    help_add(&made, "empty", TARE_ENCODING_BF16, none, 2);
    help_add_metadata(&made);
    tare_model *m = made_finish(&made, false, NULL, 0);
    m->catalog.layout = NULL; /* made by nobody's format */
    tare_convert_options options = tare_convert_options_default();
    help_convert(help_path("all.mcf"), m, &options);
    made_free(&made);
    file = help_read(help_path("all.mcf"), &file_size);
    return 0;
}

static int free_file(void **state) {
    free(file);
    return help_tear_down(state);
}

static tare_status open_bytes(tare_model **m, const uint8_t *bytes, size_t n, tare_report *report,
                              tare_error *err) {
    tare_source source = memory_source(bytes, n);
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    options.format = "mcf";
    context.report = report;
    return tare_model_open(m, &source, &options, err);
}

static void every_cut_is_told(void **state) {
    (void)state;
    for (size_t n = 0; n < file_size; n++) {
        uint8_t *copy = malloc(n + (n == 0)); /* its end is what the sanitizer watches */
        memcpy(copy, file, n);
        tare_error err;
        tare_model *m;
        if (open_bytes(&m, copy, n, NULL, &err) != TARE_ERR_TRUNCATED || err.offset > n)
            fail_msg("cut at %zu: \"%s\" at %d", n, err.what, (int)err.offset);
        assert_null(m);
        free(copy);
    }
}

/* What opens must be readable to its end: every plane inside the file, every resource. */
static void read_all(const tare_model *m) {
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        const tare_tensor *t = tare_model_tensor(m, i);
        for (int p = 0; p < t->encoding->n_planes; p++) {
            const tare_plane *plane = &t->planes[p];
            if (plane->size == 0) continue;
            assert_true(plane->offset <= file_size && plane->size <= file_size - plane->offset);
        }
    }
    for (size_t i = 0; i < m->catalog.n_resources; i++) {
        size_t n = (size_t)tare_model_resource(m, i)->size;
        assert_true(n <= file_size);
        uint8_t *bytes = malloc(n + 1);
        assert_int_equal(tare_resource_read(bytes, m, i, 0, n, NULL), TARE_OK);
        free(bytes);
    }
}

static void try_spoilt(size_t at, uint8_t value, bool *is_noticed) {
    tare_error err;
    tare_model *m;
    tare_report *report = tare_report_new();
    uint8_t was = file[at];
    file[at] = value;
    tare_status status = open_bytes(&m, file, file_size, report, &err);
    if (status == TARE_OK) {
        tare_context options = tare_context_default();
        options.threads = 1;
        options.report = report;
        read_all(m);
        assert_int_equal(tare_verify_data(m, &options, &err), TARE_OK);
    } else if (err.offset > file_size) {
        fail_msg("byte %zu as %u: \"%s\" at no place", at, value, err.what);
    }
    *is_noticed = status != TARE_OK || tare_report_count(report) > 0;
    tare_model_free(m);
    tare_report_free(report);
    file[at] = was;
}

/* Every byte of the file, data included: lowest bit, highest bit, all bits. */
static void every_flip_is_survived(void **state) {
    (void)state;
    bool is_noticed;
    for (size_t i = 0; i < file_size; i++) {
        try_spoilt(i, file[i] ^ 1, &is_noticed);
        try_spoilt(i, file[i] ^ 0x80, &is_noticed);
        try_spoilt(i, file[i] ^ 0xFF, &is_noticed);
    }
}

/* Nothing of the header is there for nothing. */
static void every_flip_of_the_header_is_noticed(void **state) {
    (void)state;
    for (size_t i = 0; i < 40; i++) {
        bool is_noticed;
        try_spoilt(i, file[i] ^ 0x81, &is_noticed);
        if (!is_noticed) fail_msg("byte %zu of the header is not looked at", i);
    }
}

/* Borrowed bytes are those that reading gives. */
static void check_borrowed(const tare_model *m, bool can_borrow) {
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        const tare_tensor *t = tare_model_tensor(m, i);
        for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
            const uint8_t *at = NULL;
            tare_status status = tare_tensor_borrow(&at, m, i, p, 1, NULL);
            if (!can_borrow) assert_int_not_equal(status, TARE_OK);
            if (!can_borrow || t->planes[p].size == 0) continue;
            assert_int_equal(status, TARE_OK);
            assert_memory_equal(at, file + t->planes[p].offset, (size_t)t->planes[p].size);
        }
    }
}

static void every_way_reads_the_same(void **state) {
    (void)state;
    const char *path = help_path("all.mcf");
    tare_model *plain = help_open(path), *other;
    tare_open_options options = tare_open_options_default();
    check_borrowed(plain, false);

    options.map = TARE_MAP_READ;
    assert_int_equal(tare_open_path(&other, path, &options, NULL), TARE_OK);
    check_borrowed(other, true);
    help_check_same(plain, other);
    tare_model_free(other);

    assert_int_equal(open_bytes(&other, file, file_size, NULL, NULL), TARE_OK);
    check_borrowed(other, true);
    help_check_same(plain, other);
    tare_model_free(other);

    tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_FD, .fd = open(path, O_RDONLY)};
    assert_int_equal(tare_model_open(&other, &source, NULL, NULL), TARE_OK);
    check_borrowed(other, false);
    help_check_same(plain, other);
    tare_model_free(other);
    close(source.fd);
    tare_model_free(plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_is_told),
        cmocka_unit_test(every_flip_is_survived),
        cmocka_unit_test(every_flip_of_the_header_is_noticed),
        cmocka_unit_test(every_way_reads_the_same),
    };
    return cmocka_run_group_tests(tests, make_file, free_file);
}
