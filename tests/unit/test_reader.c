/* SPDX-License-Identifier: MIT
 *
 * Guards against: reads beyond the end, kinds of input that give other bytes than the file, pipes
 * and directories taken for files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/reader.h"
#include "base/report.h"
#include "base/str.h"
#include "support/scratch_name.h"

static const char text[] = "0123456789";

static tare_status read_text(void *ctx, uint64_t offset, void *buf, size_t n) {
    ++*(int *)ctx;
    memcpy(buf, text + offset, n);
    return TARE_OK;
}

static void check(const tare_reader *r) {
    char buf[8] = {0};
    tare_error err;
    assert_int_equal(r->size, 10);
    assert_int_equal(tare_reader_read(r, 3, buf, 7, &err), TARE_OK);
    assert_string_equal(buf, "3456789");
    assert_int_equal(tare_reader_read(r, 4, buf, 7, &err), TARE_ERR_TRUNCATED);
    assert_int_equal(err.offset, 4);
    assert_int_equal(tare_reader_read(r, UINT64_MAX, buf, 2, &err), TARE_ERR_TRUNCATED);
    assert_int_equal(tare_reader_read(r, 10, buf, 0, &err), TARE_OK);
}

static void every_kind_reads_the_same(void **state) {
    (void)state;
    char path[SCRATCH_NAME_SIZE];
    int fd = mkstemp(scratch_name(path));
    assert_int_equal(write(fd, text, 10), 10);
    tare_reader r;
    for (int map = 0; map < 2; map++) {
        assert_int_equal(tare_reader_open(&r, path, map ? TARE_MAP_READ : TARE_MAP_NONE, NULL),
                         TARE_OK);
        assert_int_equal(r.map != NULL, map);
        check(&r);
        tare_reader_close(&r);
    }
    assert_int_equal(tare_reader_fd(&r, fd, "fd", false, NULL), TARE_OK);
    check(&r);
    tare_reader_close(&r);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 10); /* still open, not moved */
    close(fd);
    unlink(path);
    tare_reader_memory(&r, text, 10, "memory");
    check(&r);
    int calls = 0;
    tare_reader_callback(&r, read_text, &calls, 10, "callback");
    check(&r);
    assert_int_equal(calls, 1); /* what is out of range does not reach the callback */
}

static void what_is_in_memory_is_not_copied(void **state) {
    (void)state;
    char room[4];
    const uint8_t *seen;
    tare_reader r;
    tare_error err;
    int calls = 0;
    tare_reader_memory(&r, text, 10, "memory");
    assert_int_equal(tare_reader_view(&seen, &r, 3, room, 4, &err), TARE_OK);
    assert_ptr_equal(seen, text + 3);
    tare_reader_callback(&r, read_text, &calls, 10, "callback");
    assert_int_equal(tare_reader_view(&seen, &r, 3, room, 4, &err), TARE_OK);
    assert_ptr_equal(seen, room);
    assert_memory_equal(room, text + 3, 4);
    assert_int_equal(tare_reader_view(&seen, &r, 8, room, 4, &err), TARE_ERR_TRUNCATED);
}

static void what_is_no_file_is_refused(void **state) {
    (void)state;
    tare_reader r;
    tare_error err;
    assert_int_equal(tare_reader_open(&r, "/tmp", false, &err), TARE_ERR_ARG);
    assert_int_equal(tare_reader_open(&r, "/tmp/no such file", false, &err), TARE_ERR_IO);
    assert_string_equal(err.file, "/tmp/no such file");
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(tare_reader_fd(&r, ends[0], "pipe", false, &err), TARE_ERR_ARG);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(tare_reader_open(&r, "/dev/null", false, &err), TARE_ERR_ARG);
}

/* A pipe with a name that nobody writes to: refused at once. */
static void a_named_pipe_is_not_waited_for(void **state) {
    (void)state;
    char folder[SCRATCH_NAME_SIZE], path[SCRATCH_PATH_SIZE];
    tare_reader r;
    tare_error err;
    assert_non_null(mkdtemp(scratch_name(folder)));
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20); /* kills a test that waits */
    assert_int_equal(tare_reader_open(&r, path, false, &err), TARE_ERR_ARG);
    alarm(0);
    assert_string_equal(err.what, "is not a regular file");
    unlink(path);
    rmdir(folder);
}

static void hashes_match_their_published_vectors(void **state) {
    (void)state;
    tare_sha256 h;
    uint8_t digest[32], back[32];
    char hex[65];
    tare_sha256_init(&h);
    tare_sha256_update(&h, "abc", 3);
    tare_sha256_final(&h, digest);
    tare_hex(hex, digest, 32);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(tare_unhex(back, hex, 32));
    assert_memory_equal(back, digest, 32);
    assert_false(tare_unhex(back, "0g", 1));
    assert_int_equal(tare_crc32(0, "123456789", 9), 0xcbf43926);
}

static void report_keeps_copies(void **state) {
    (void)state;
    tare_report *r = tare_report_new();
    char name[] = "tensor";
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "test.code");
    f.item_name = tare_str_of(name);
    tare_report_addf(r, &f, "%d things", 3);
    name[0] = 'X';
    f.level = TARE_LEVEL_ERROR;
    f.text = TARE_STR("plain");
    tare_report_add(r, &f);
    tare_report_add(NULL, &f);
    assert_int_equal(tare_report_count(r), 2);
    assert_int_equal(tare_report_count_level(r, TARE_LEVEL_ERROR), 1);
    assert_int_equal(tare_report_count_level(r, TARE_LEVEL_INFO), 2);
    assert_true(tare_str_is(tare_report_at(r, 0)->text, "3 things"));
    assert_true(tare_str_is(tare_report_at(r, 0)->item_name, "tensor"));
    assert_null(tare_report_at(r, 2));
    tare_report_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_reads_the_same),
        cmocka_unit_test(what_is_in_memory_is_not_copied),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_named_pipe_is_not_waited_for),
        cmocka_unit_test(hashes_match_their_published_vectors),
        cmocka_unit_test(report_keeps_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
