/* SPDX-License-Identifier: MIT
 *
 * Guards against: partial files under the final name, damage to the old output, and leftovers that
 * the next run does not remove, when a conversion is killed or the disk fills up at any moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "convert_help.h"

#define MOMENTS 16

/* What is converted again and again: 6 MiB, so that one run takes long enough to be hit. */
static tare_model *make(made_model *made) {
    static const uint64_t dims[] = {24, 65536};
    made_begin(made, (size_t)8 << 20, 2, 8);
    help_add(made, "first.weight", TARE_ENCODING_F32, dims + 1, 1);
    help_add(made, "second.weight", TARE_ENCODING_F32, dims, 2);
    tare_model *m = made_finish(made, false, NULL, 0);
    m->catalog.layout = NULL;
    return m;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void wait_for(double seconds) {
    struct timespec t = {(time_t)seconds, (long)(fmod(seconds, 1.0) * 1e9)};
    nanosleep(&t, NULL);
}

/* Converts in a process of its own, which is killed after `seconds`. Returns whether it died. */
static bool convert_and_kill(const char *out, const tare_model *m,
                             const tare_convert_options *options, double seconds) {
    pid_t child = fork();
    if (child == 0) _exit((int)tare_convert(out, m, options, NULL));
    assert_true(child > 0);
    wait_for(seconds);
    kill(child, SIGKILL);
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    if (!WIFSIGNALED(result)) assert_int_equal(WEXITSTATUS(result), TARE_OK);
    return WIFSIGNALED(result);
}

/* The first file of an output of either form. */
static const char *first_file(const char *out) {
    struct stat st;
    static char path[300];
    if (stat(out, &st) != 0 || !S_ISDIR(st.st_mode)) return out;
    DIR *d = opendir(out);
    assert_non_null(d);
    path[0] = '\0';
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, "-00001-of-")) snprintf(path, sizeof path, "%s/%s", out, e->d_name);
    closedir(d);
    return path;
}

/* OUT is whole: it opens, and every byte of every tensor is that of the model before or after. */
static void check_whole(const char *out, const tare_model *before, const tare_model *after) {
    tare_model *found = help_open(first_file(out));
    bool is_after = tare_model_tensor(found, 1)->encoding == tare_model_tensor(after, 1)->encoding;
    help_check_same(is_after ? after : before, found);
    tare_model_free(found);
}

static void kill_at_many_moments(const tare_convert_options *options, const char *name) {
    made_model made;
    const tare_model *m = make(&made);
    const char *out = help_path(name), *wanted = help_path("wanted.gguf");
    tare_convert_options first = *options, single = *options;
    first.type = NULL;
    help_convert(out, m, &first);
    single.shard_size = 0;
    help_convert(wanted, m, &single);
    tare_model *after = help_open(wanted);
    double begun = now();
    help_convert(help_path("time.gguf"), m, &single);
    double whole = now() - begun;
    help_remove(help_path("time.gguf"));
    unsigned n_killed = 0;
    for (unsigned i = 0; i < MOMENTS; i++) {
        n_killed += convert_and_kill(out, m, options, whole * 1.5 * i / MOMENTS);
        check_whole(out, m, after);
    }
    print_message("%s: killed %u of %u runs\n", name, n_killed, MOMENTS);
    assert_true(n_killed > 0);
    help_convert(out, m, options);
    check_whole(out, after, after);
    assert_int_equal(help_count_entries(help_dir), 2); /* OUT and what we compare with */
    tare_model_free(after);
    made_free(&made);
}

static void killed_runs_leave_a_file_whole(void **state) {
    (void)state;
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    output.force = true;
    options.type = tare_encoding_get(TARE_ENCODING_Q8_0);
    context.threads = 2;
    kill_at_many_moments(&options, "out.gguf");
}

static void killed_runs_leave_a_directory_whole(void **state) {
    (void)state;
    tare_convert_options options = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    options.to = "gguf";
    output.force = true;
    options.type = tare_encoding_get(TARE_ENCODING_BF16);
    options.shard_size = 1 << 20;
    kill_at_many_moments(&options, "out");
}

/* ---- a full disk ----------------------------------------------------------------------------- */

/* A small disk of our own, where this system lets us have one; in a process of its own. */
static bool mount_small(const char *dir, size_t size) {
    char option[32];
    snprintf(option, sizeof option, "size=%zu", size);
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    (void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    return mount("tmpfs", dir, "tmpfs", 0, option) == 0;
}

/* Takes space away, a little at a time, until none is left; killed by its parent. */
static pid_t begin_filling(const char *path, double pause) {
    pid_t child = fork();
    if (child != 0) return child;
    static const char page[16384];
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    while (fd >= 0 && write(fd, page, sizeof page) > 0) wait_for(pause);
    for (;;) wait_for(1);
}

enum { RESULT_SKIP = 77, RESULT_WRONG = 99 };

/* Returns how many runs met the full disk, or what went wrong. */
static int fill_up(const char *dir, const tare_model *m, const tare_convert_options *options) {
    char out[200], filler[200];
    snprintf(out, sizeof out, "%s/out.gguf", dir);
    snprintf(filler, sizeof filler, "%s/filler", dir);
    tare_convert_options small = *options;
    small.type = tare_encoding_get(TARE_ENCODING_Q4_0);
    if (tare_convert(out, m, &small, NULL) != TARE_OK) return RESULT_WRONG;
    size_t n_old, n_new;
    uint8_t *old = help_read(out, &n_old);
    int n_full = 0;
    for (int i = 0; i < MOMENTS; i++) {
        pid_t child = begin_filling(filler, 1e-5 * (double)(1 << i % 8));
        if (i == 0) wait_for(0.2); /* full before the first byte */
        tare_status status = tare_convert(out, m, options, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        unlink(filler);
        if (help_count_entries(dir) != 1) return RESULT_WRONG;
        if (status == TARE_OK) {
            if (tare_convert(out, m, &small, NULL) != TARE_OK) return RESULT_WRONG;
        } else if (status != TARE_ERR_NOSPACE) {
            return RESULT_WRONG;
        } else {
            n_full++;
        }
        uint8_t *found = help_read(out, &n_new);
        bool is_same = n_new == n_old && memcmp(old, found, n_old) == 0;
        free(found);
        if (!is_same) return RESULT_WRONG;
    }
    free(old);
    return n_full;
}

static void a_full_disk_leaves_the_old_file(void **state) {
    (void)state;
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    const tare_model *m = make(&made);
    output.force = true;
    pid_t child = fork();
    if (child == 0) {
        /* Of 7.5 MiB the old file takes 0.9, the new one needs 6.3. */
        if (!mount_small(help_dir, 15 << 19)) _exit(RESULT_SKIP);
        _exit(fill_up(help_dir, m, &options));
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    made_free(&made);
    assert_true(WIFEXITED(result));
    if (WEXITSTATUS(result) == RESULT_SKIP) {
        print_message("SKIP: no small file system can be mounted here, 1 case not run\n");
        skip();
    }
    assert_in_range(WEXITSTATUS(result), 1, MOMENTS);
    print_message("full disk: %d of %d runs met it\n", WEXITSTATUS(result), MOMENTS);
}

#define T(f) cmocka_unit_test_setup_teardown(f, help_set_up, help_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(killed_runs_leave_a_file_whole),
        T(killed_runs_leave_a_directory_whole),
        T(a_full_disk_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
