/* SPDX-License-Identifier: MIT
 *
 * Parts of downloads. Fault guarded against: a process that opened the part before another one finished
 * it, and locked it after, went on with, or emptied, the finished file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/part_file.h"
#include "unit/temp_folder.h"

static const char *const part_name = ".x.part", *const final_name = "x";
static int n_finished; /* what is left of times that another process is quicker */

/* Between opening and locking, another process gives the part its final name. */
int flock(int fd, int operation) {
    if (n_finished > 0) {
        n_finished--;
        assert_int_equal(rename(part_name, final_name), 0);
    }
    return (int)syscall(SYS_flock, fd, operation);
}

static void write_part(const char *text) {
    FILE *f = fopen(part_name, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void finished_file_is_left_alone(void **state) {
    (void)state;
    tare_part_file part;
    tare_error err;
    char text[8] = "";
    write_part("whole");
    n_finished = 1;
    assert_int_equal(tare_part_open(&part, part_name, &err), TARE_OK);
    assert_int_equal(n_finished, 0);
    assert_int_equal(part.size, 0); /* another file, of that name */
    assert_int_equal(tare_part_restart(&part, &err), TARE_OK);
    assert_int_equal(tare_part_append(&part, "new", 3, &err), TARE_OK);
    tare_part_close(&part);
    FILE *f = fopen(final_name, "rb");
    assert_non_null(f);
    assert_int_equal(fread(text, 1, sizeof text, f), 5);
    assert_memory_equal(text, "whole", 5);
    fclose(f);
}

static void never_ending_race_is_an_error(void **state) {
    (void)state;
    tare_part_file part;
    tare_error err;
    write_part("whole");
    n_finished = 1000;
    assert_int_equal(tare_part_open(&part, part_name, &err), TARE_ERR_IO);
    assert_int_equal(part.fd, -1);
    n_finished = 0;
}

static void part_goes_on_where_it_was(void **state) {
    (void)state;
    tare_part_file part, other;
    tare_error err;
    char text[8];
    write_part("abc");
    assert_int_equal(tare_part_open(&part, part_name, &err), TARE_OK);
    assert_int_equal(part.size, 3);
    assert_int_equal(tare_part_open(&other, part_name, &err), TARE_ERR_IO); /* locked */
    assert_int_equal(tare_part_append(&part, "de", 2, &err), TARE_OK);
    assert_int_equal(tare_part_read(&part, 1, text, 4, &err), TARE_OK);
    assert_memory_equal(text, "bcde", 4);
    assert_int_equal(tare_part_finish(&part, part_name, final_name, true, &err), TARE_OK);
    assert_int_equal(access(part_name, F_OK), -1);
    assert_int_equal(errno, ENOENT);
}

/* The names are relative, as most are that users say. */
static int enter_folder(void **state) {
    return make_temp_folder(state) || chdir(temp_folder);
}

#define T(name) cmocka_unit_test_setup_teardown(name, enter_folder, remove_temp_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(finished_file_is_left_alone),
        T(never_ending_race_is_an_error),
        T(part_goes_on_where_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
