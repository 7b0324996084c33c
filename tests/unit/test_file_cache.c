/* SPDX-License-Identifier: MIT
 *
 * Guards against: a model of more files than there are descriptors, which cannot be read; a file that
 * was exchanged between two reads and is read as if it were the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file_cache.h"
#include "base/outfile.h"
#include "base/pool.h"
#include "support/scratch_name.h"

enum { N_FILES = 100 };
static char dir[SCRATCH_NAME_SIZE];
static char names[N_FILES][SCRATCH_PATH_SIZE];
static tare_reader readers[N_FILES];

static void put(const char *name, char first, unsigned second) {
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_true(fprintf(f, "%c%03u", first, second) == 4);
    assert_int_equal(fclose(f), 0);
}

static int make(void **state) {
    (void)state;
    if (!mkdtemp(scratch_name(dir))) return -1;
    for (unsigned i = 0; i < N_FILES; i++) {
        snprintf(names[i], sizeof names[i], "%s/%u", dir, i);
        put(names[i], 'a', i);
    }
    return 0;
}

static int drop(void **state) {
    (void)state;
    for (unsigned i = 0; i < N_FILES; i++) unlink(names[i]);
    return rmdir(dir);
}

static tare_status read_one(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    char expected[8], text[4];
    (void)ctx, (void)worker;
    const unsigned i = (unsigned)(task * 37 % N_FILES);
    snprintf(expected, sizeof expected, "a%03u", i);
    TARE_TRY(tare_reader_read(&readers[i], 0, text, sizeof text, err));
    return memcmp(text, expected, sizeof text) == 0 ? TARE_OK
                                                    : tare_fail(err, TARE_ERR_CORRUPT, "");
}

static tare_file_cache *open_all(void) {
    tare_file_cache *cache = tare_file_cache_new(NULL);
    assert_non_null(cache);
    for (unsigned i = 0; i < N_FILES; i++) {
        assert_int_equal(tare_reader_open(&readers[i], names[i], false, NULL), TARE_OK);
        assert_int_equal(tare_file_cache_put(cache, &readers[i], NULL), TARE_OK);
        assert_true(readers[i].fd < 0 && readers[i].size == 4);
    }
    return cache;
}

static void close_all(tare_file_cache *cache) {
    for (unsigned i = 0; i < N_FILES; i++) tare_reader_close(&readers[i]);
    tare_file_cache_free(cache);
}

static void many_files_need_few_descriptors(void **state) {
    (void)state;
    struct rlimit limit, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(tare_files_kept_open(), 16);
    tare_file_cache *cache = open_all();
    const tare_run run = {.context.threads = 4, .n_tasks = 10 * N_FILES, .task = read_one};
    assert_int_equal(tare_run_parallel(&run, NULL), TARE_OK);
    close_all(cache);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void which_file_it_is_stays_known(void **state) {
    (void)state;
    tare_file_cache *cache = open_all();
    assert_true(tare_same_file(names[3], &readers[3]));
    assert_false(tare_same_file(names[4], &readers[3]));
    assert_true(tare_holds_file(dir, &readers[3]));
    close_all(cache);
}

static void an_exchanged_file_is_not_read(void **state) {
    (void)state;
    char other[SCRATCH_PATH_SIZE], text[4];
    tare_error err;
    tare_file_cache *cache = open_all();
    snprintf(other, sizeof other, "%s/other", dir);
    put(other, 'b', 5);
    assert_int_equal(rename(other, names[5]), 0);
    assert_int_equal(tare_reader_read(&readers[5], 0, text, sizeof text, &err), TARE_ERR_IO);
    assert_string_equal(err.file, names[5]);
    close_all(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_files_need_few_descriptors),
        cmocka_unit_test(which_file_it_is_stays_known),
        cmocka_unit_test(an_exchanged_file_is_not_read),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
