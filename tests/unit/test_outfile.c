/* SPDX-License-Identifier: MIT
 *
 * Guards against: half-written files under the final name, an old file damaged by a failed run,
 * leftovers of failed and of killed runs, modes that differ from those of a new file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/outfile.h"
#include "base/outfile_stale.h"
#include "support/scratch_name.h"

static char dir[SCRATCH_NAME_SIZE];
static char out[SCRATCH_PATH_SIZE];

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(scratch_name(dir))) return -1;
    snprintf(out, sizeof out, "%s/out", dir);
    return 0;
}

static void remove_tree(const char *path) {
    DIR *d = opendir(path);
    if (!d) {
        unlink(path);
        return;
    }
    for (struct dirent *e; (e = readdir(d));) {
        char inner[512];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        remove_tree(inner);
    }
    closedir(d);
    rmdir(path);
}

static int tear_down(void **state) {
    (void)state;
    remove_tree(dir);
    return 0;
}

static size_t n_entries(const char *path) {
    DIR *d = opendir(path);
    size_t n = 0;
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static void put_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void check_file(const char *path, const char *text) {
    char buf[64] = {0};
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fread(buf, 1, sizeof buf - 1, f), strlen(text));
    fclose(f);
    assert_string_equal(buf, text);
}

/* Begins a single file and writes "new" into it. */
static tare_outset *begin_file(const tare_out_options *options) {
    tare_outset *set;
    uint32_t index;
    assert_int_equal(tare_outset_new(&set, out, options, NULL, NULL), TARE_OK);
    assert_int_equal(tare_outset_add(set, NULL, 3, &index, NULL), TARE_OK);
    assert_int_equal(index, 0);
    assert_int_equal(tare_outset_write(set, 0, 0, "new", 3, NULL), TARE_OK);
    return set;
}

static tare_outset *begin_directory(const tare_out_options *options) {
    tare_outset *set;
    uint32_t a, b;
    assert_int_equal(tare_outset_new(&set, out, options, NULL, NULL), TARE_OK);
    assert_int_equal(tare_outset_add(set, "a", 1, &a, NULL), TARE_OK);
    assert_int_equal(tare_outset_add(set, "b", 0, &b, NULL), TARE_OK);
    assert_int_equal(tare_outset_write(set, a, 0, "A", 1, NULL), TARE_OK);
    return set;
}

static void a_file_appears_with_the_commit(void **state) {
    (void)state;
    for (int named = 0; named < 2; named++) {
        tare_outset *set = begin_file(&(tare_out_options){.is_named = named});
        assert_int_not_equal(access(out, F_OK), 0);
        char back[3];
        assert_int_equal(tare_outset_read(set, 0, 0, back, 3, NULL), TARE_OK);
        assert_memory_equal(back, "new", 3);
        assert_int_equal(tare_outset_commit(set, NULL), TARE_OK);
        tare_outset_free(set);
        check_file(out, "new");
        assert_int_equal(n_entries(dir), 1);
        unlink(out);
    }
}

static void the_mode_is_that_of_a_new_file(void **state) {
    (void)state;
    mode_t old = umask(027);
    for (int named = 0; named < 2; named++) {
        struct stat st;
        tare_outset *set = begin_file(&(tare_out_options){.no_sync = true, .is_named = named});
        assert_int_equal(tare_outset_commit(set, NULL), TARE_OK);
        tare_outset_free(set);
        assert_int_equal(stat(out, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0640);
        unlink(out);
    }
    struct stat st;
    tare_outset *set = begin_directory(&(tare_out_options){.is_directory = true});
    assert_int_equal(tare_outset_commit(set, NULL), TARE_OK);
    tare_outset_free(set);
    umask(old);
    assert_int_equal(stat(out, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0750);
}

static void nothing_is_left_without_a_commit(void **state) {
    (void)state;
    put_file(out, "old");
    for (int named = 0; named < 2; named++) {
        tare_outset_free(begin_file(&(tare_out_options){.force = true, .is_named = named}));
        check_file(out, "old");
        assert_int_equal(n_entries(dir), 1);
    }
    unlink(out);
    tare_outset_free(begin_directory(&(tare_out_options){.is_directory = true}));
    assert_int_equal(n_entries(dir), 0);
}

static void an_existing_output_needs_force(void **state) {
    (void)state;
    tare_outset *set;
    tare_error err;
    put_file(out, "old");
    assert_int_equal(tare_outset_new(&set, out, &(tare_out_options){0}, NULL, &err), TARE_ERR_ARG);
    assert_null(set);
    assert_string_equal(err.file, out);
    check_file(out, "old");
    for (int named = 0; named < 2; named++) {
        set = begin_file(&(tare_out_options){.force = true, .is_named = named});
        check_file(out, "old");
        assert_int_equal(tare_outset_commit(set, NULL), TARE_OK);
        tare_outset_free(set);
        check_file(out, "new");
        put_file(out, "old");
    }
    assert_int_equal(n_entries(dir), 1);
}

/* Somebody else makes OUT while we work: without force it is theirs. */
static void an_output_that_appears_meanwhile_stays(void **state) {
    (void)state;
    tare_outset *set = begin_file(&(tare_out_options){0});
    put_file(out, "theirs");
    assert_int_equal(tare_outset_commit(set, NULL), TARE_ERR_ARG);
    tare_outset_free(set);
    check_file(out, "theirs");
    assert_int_equal(n_entries(dir), 1);
}

static void only_files_and_flat_directories_are_replaced(void **state) {
    (void)state;
    tare_outset *set;
    char inner[SCRATCH_PATH_SIZE + 8];
    tare_out_options force = {.force = true}, force_dir = {.force = true, .is_directory = true};
    assert_int_equal(mkfifo(out, 0600), 0);
    assert_int_equal(tare_outset_new(&set, out, &force, NULL, NULL), TARE_ERR_ARG);
    assert_int_equal(tare_outset_new(&set, out, &force_dir, NULL, NULL), TARE_ERR_ARG);
    unlink(out);
    mkdir(out, 0700);
    snprintf(inner, sizeof inner, "%s/inner", out);
    mkdir(inner, 0700);
    assert_int_equal(tare_outset_new(&set, out, &force, NULL, NULL), TARE_ERR_ARG);
    assert_int_equal(tare_outset_new(&set, out, &force_dir, NULL, NULL), TARE_ERR_ARG);
    assert_int_equal(n_entries(out), 1);
}

static void paths_that_name_nothing_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"/", ".", "..", "/tmp/.."};
    tare_outset *set;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tare_outset_new(&set, wrong[i], &(tare_out_options){0}, NULL, NULL),
                         TARE_ERR_ARG);
    char missing[SCRATCH_PATH_SIZE + 16];
    snprintf(missing, sizeof missing, "%s/missing/out", dir);
    assert_int_equal(tare_outset_new(&set, missing, &(tare_out_options){0}, NULL, NULL),
                     TARE_ERR_IO);
}

/* Whatever the tries to find a free name end with, the cause is told. */
static void a_directory_that_is_gone_is_the_cause(void **state) {
    (void)state;
    char before[512];
    tare_outset *set;
    tare_error err;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(mkdir(out, 0777), 0);
    assert_int_equal(chdir(out), 0);
    assert_int_equal(rmdir(out), 0);
    for (int kind = 0; kind < 2; kind++) {
        tare_out_options options = {.is_named = true, .is_directory = kind};
        assert_int_equal(tare_outset_new(&set, "x", &options, NULL, &err), TARE_ERR_IO);
        assert_int_equal(err.os_error, ENOENT);
    }
    assert_int_equal(chdir(before), 0);
}

static void a_link_is_followed(void **state) {
    (void)state;
    char real[SCRATCH_PATH_SIZE + 8];
    struct stat st;
    snprintf(real, sizeof real, "%s/real", dir);
    put_file(real, "old");
    assert_int_equal(symlink(real, out), 0);
    tare_outset *set = begin_file(&(tare_out_options){.force = true});
    assert_int_equal(tare_outset_commit(set, NULL), TARE_OK);
    tare_outset_free(set);
    assert_int_equal(lstat(out, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    check_file(real, "new");
}

/* What a link names may be made by way of it; relative names are those of the link's directory. */
static void a_dangling_link_is_followed(void **state) {
    (void)state;
    char real[SCRATCH_PATH_SIZE + 8], other[SCRATCH_PATH_SIZE + 8];
    struct stat st;
    snprintf(real, sizeof real, "%s/real", dir);
    snprintf(other, sizeof other, "%s/other", dir);
    for (int is_absolute = 0; is_absolute < 2; is_absolute++) {
        assert_int_equal(symlink("other", out), 0);
        assert_int_equal(symlink(is_absolute ? real : "real", other), 0);
        tare_outset *set = begin_file(&(tare_out_options){0});
        assert_int_equal(tare_outset_commit(set, NULL), TARE_OK);
        tare_outset_free(set);
        assert_int_equal(lstat(out, &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        assert_int_equal(lstat(other, &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        check_file(real, "new");
        unlink(real);
        unlink(other);
        unlink(out);
    }
}

static void links_in_a_circle_are_an_error(void **state) {
    (void)state;
    char other[SCRATCH_PATH_SIZE + 8];
    tare_outset *set;
    tare_error err;
    const tare_out_options options = {.force = true};
    snprintf(other, sizeof other, "%s/other", dir);
    assert_int_equal(symlink("other", out), 0);
    assert_int_equal(symlink("out", other), 0);
    assert_int_equal(tare_outset_new(&set, out, &options, NULL, &err), TARE_ERR_IO);
    assert_int_equal(err.os_error, ELOOP);
    assert_int_equal(n_entries(dir), 2);
}

static void a_directory_is_exchanged(void **state) {
    (void)state;
    char path[SCRATCH_PATH_SIZE + 8];
    tare_out_options options = {.is_directory = true};
    tare_outset *set = begin_directory(&options);
    assert_int_equal(tare_outset_commit(set, NULL), TARE_OK);
    tare_outset_free(set);
    assert_int_equal(n_entries(out), 2);
    snprintf(path, sizeof path, "%s/old", out);
    put_file(path, "old");
    options.force = true;
    set = begin_directory(&options);
    check_file(path, "old");
    assert_int_equal(tare_outset_member_done(set, 0, NULL), TARE_OK);
    char back;
    assert_int_equal(tare_outset_read(set, 0, 0, &back, 1, NULL), TARE_OK); /* opened again */
    tare_status status = tare_outset_commit(set, NULL);
    tare_outset_free(set);
    if (status == TARE_ERR_UNSUPPORTED) { /* this file system cannot: all is as before */
        check_file(path, "old");
    } else {
        assert_int_equal(status, TARE_OK);
        assert_int_not_equal(access(path, F_OK), 0);
        snprintf(path, sizeof path, "%s/a", out);
        check_file(path, "A");
        assert_int_equal(n_entries(out), 2);
    }
    assert_int_equal(n_entries(dir), 1);
}

static void member_names_are_plain(void **state) {
    (void)state;
    static const char *const wrong[] = {"", ".", "..", "a/b", "/a"};
    tare_outset *set;
    uint32_t index;
    tare_out_options options = {.is_directory = true};
    assert_int_equal(tare_outset_new(&set, out, &options, NULL, NULL), TARE_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tare_outset_add(set, wrong[i], 1, &index, NULL), TARE_ERR_ARG);
    assert_int_equal(tare_outset_add(set, NULL, 1, &index, NULL), TARE_ERR_ARG);
    tare_outset_free(set);
}

static tare_outset *begin_in_folders(bool force) {
    static const char *const names[] = {"a/b/x", "a/y", "z", "a/b/w", "c/v"};
    tare_outset *set;
    uint32_t index;
    tare_out_options options = {.is_directory = true, .has_folders = true, .force = force};
    assert_int_equal(tare_outset_new(&set, out, &options, NULL, NULL), TARE_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(tare_outset_add(set, names[i], 1, &index, NULL), TARE_OK);
        assert_int_equal(tare_outset_write(set, index, 0, names[i] + strlen(names[i]) - 1, 1, NULL),
                         TARE_OK);
    }
    return set;
}

/* Folders are made, go with the temporary, and keep a directory from being replaced. */
static void members_lie_in_folders(void **state) {
    (void)state;
    char path[512], deep[2 * TARE_FOLDERS_MOST + 4];
    uint32_t index;
    tare_outset_free(begin_in_folders(false));
    assert_int_equal(n_entries(dir), 0);
    tare_outset *set = begin_in_folders(false), *other;
    static const char *const wrong[] = {"", "a/../b", "/a", "a//b", "a/", "./a", ".."};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tare_outset_add(set, wrong[i], 1, &index, NULL), TARE_ERR_ARG);
    for (size_t i = 0; i + 1 < sizeof deep; i++) deep[i] = "d/"[i % 2];
    deep[sizeof deep - 1] = '\0';
    assert_int_equal(tare_outset_add(set, deep, 1, &index, NULL), TARE_ERR_ARG);
    assert_int_equal(tare_outset_add(set, deep + 2, 0, &index, NULL), TARE_OK);
    assert_int_equal(tare_outset_add(set, "z/file", 1, &index, NULL), TARE_OK);
    tare_error err;
    assert_int_equal(tare_outset_write(set, index, 0, "", 1, &err), TARE_ERR_IO); /* z is a file */
    assert_string_equal(err.file, "z/file");
    tare_outset_free(set);
    assert_int_equal(n_entries(dir), 0);

    set = begin_in_folders(false);
    assert_int_equal(tare_outset_commit(set, NULL), TARE_OK);
    tare_outset_free(set);
    snprintf(path, sizeof path, "%s/a/b/w", out);
    check_file(path, "w");
    snprintf(path, sizeof path, "%s/c/v", out);
    check_file(path, "v");
    assert_int_equal(n_entries(out), 3);
    tare_out_options options = {.is_directory = true, .has_folders = true, .force = true};
    assert_int_equal(tare_outset_new(&other, out, &options, NULL, NULL), TARE_ERR_ARG);
    tare_remove_tree(AT_FDCWD, out, TARE_FOLDERS_MOST);
    assert_int_equal(n_entries(dir), 0);
}

static void more_members_than_descriptors(void **state) {
    (void)state;
    struct rlimit old, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    tare_outset *set;
    tare_out_options options = {.is_directory = true, .no_sync = true};
    assert_int_equal(tare_outset_new(&set, out, &options, NULL, NULL), TARE_OK);
    for (uint32_t i = 0; i < 200; i++) {
        char name[16];
        uint32_t index;
        snprintf(name, sizeof name, "%u", i);
        assert_int_equal(tare_outset_add(set, name, 4, &index, NULL), TARE_OK);
    }
    for (uint32_t i = 0; i < 200; i++) {
        assert_int_equal(tare_outset_write(set, i, 0, &i, 4, NULL), TARE_OK);
        assert_int_equal(tare_outset_member_done(set, i, NULL), TARE_OK);
    }
    assert_int_equal(tare_outset_commit(set, NULL), TARE_OK);
    tare_outset_free(set);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(n_entries(out), 200);
}

static void free_space_is_checked_first(void **state) {
    (void)state;
    tare_outset *set;
    tare_out_options options = {.total_size = UINT64_C(1) << 62};
    assert_int_equal(tare_outset_new(&set, out, &options, NULL, NULL), TARE_ERR_NOSPACE);
    assert_int_equal(n_entries(dir), 0);
}

/* A limit on the size of files stands for the full disk: the write in the middle fails. */
static void a_write_that_fails_leaves_the_old_file(void **state) {
    (void)state;
    put_file(out, "old");
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {.rlim_cur = 8192, .rlim_max = RLIM_INFINITY};
        static const char page[4096];
        tare_outset *set;
        uint32_t index;
        tare_out_options options = {.force = true, .is_directory = false};
        tare_status status = tare_outset_new(&set, out, &options, NULL, NULL);
        if (status == TARE_OK) status = tare_outset_add(set, NULL, 16384, &index, NULL);
        signal(SIGXFSZ, SIG_IGN);
        if (status != TARE_OK || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(100);
        for (uint64_t at = 0; status == TARE_OK && at < 16384; at += sizeof page)
            status = tare_outset_write(set, 0, at, page, sizeof page, NULL);
        tare_outset_free(set);
        _exit((int)status);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(WEXITSTATUS(result), TARE_ERR_NOSPACE);
    check_file(out, "old");
    assert_int_equal(n_entries(dir), 1);
}

/* A run that dies without a word: forks one that writes and kills itself. */
static void run_and_die(const tare_out_options *options) {
    pid_t child = fork();
    if (child == 0) {
        if (options->is_directory)
            begin_directory(options);
        else
            begin_file(options);
        kill(getpid(), SIGKILL);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result));
}

static void the_next_run_removes_what_a_dead_one_left(void **state) {
    (void)state;
    put_file(out, "old");
    tare_out_options options = {.force = true, .is_named = true};
    run_and_die(&options);
    assert_int_equal(n_entries(dir), 2);
    check_file(out, "old");
    options.report = tare_report_new();
    tare_outset *set = begin_file(&options);
    assert_int_equal(n_entries(dir), 2); /* ours and the old one */
    assert_int_equal(tare_report_count(options.report), 1);
    assert_string_equal(tare_report_at(options.report, 0)->code, "output.stale");
    tare_report_free(options.report);
    assert_int_equal(tare_outset_commit(set, NULL), TARE_OK);
    tare_outset_free(set);
    assert_int_equal(n_entries(dir), 1);
    unlink(out);
    options = (tare_out_options){.is_directory = true};
    run_and_die(&options);
    assert_int_equal(n_entries(dir), 1);
    tare_outset_free(begin_directory(&options));
    assert_int_equal(n_entries(dir), 0);
    pid_t child = fork();
    if (child == 0) {
        begin_in_folders(false);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(n_entries(dir), 1);
    tare_outset_free(begin_directory(&options));
    assert_int_equal(n_entries(dir), 0);
}

static void a_live_run_keeps_its_temporary(void **state) {
    (void)state;
    tare_out_options options = {.is_named = true};
    tare_outset *first = begin_file(&options);
    tare_outset *second = begin_file(&options);
    assert_int_equal(n_entries(dir), 2);
    assert_int_equal(tare_outset_commit(first, NULL), TARE_OK);
    assert_int_equal(tare_outset_commit(second, NULL), TARE_ERR_ARG);
    tare_outset_free(first);
    tare_outset_free(second);
    assert_int_equal(n_entries(dir), 1);
}

/* Only temporaries of this OUT are ours to remove. */
static void other_names_stay(void **state) {
    (void)state;
    static const char *const others[] = {".out2.tare-abcdef", ".out.tare-abcdefg", ".out.tare-abc",
                                         "out.tare-abcdef", ".out.tare_abcdef"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char path[SCRATCH_PATH_SIZE + 8];
        snprintf(path, sizeof path, "%s/%s", dir, others[i]);
        put_file(path, "x");
    }
    tare_outset_free(begin_file(&(tare_out_options){0}));
    assert_int_equal(n_entries(dir), sizeof others / sizeof *others);
}

static void long_names_fit(void **state) {
    (void)state;
    char name[256], path[400], temp[TARE_TEMP_NAME_SIZE];
    memset(name, 'n', 255);
    name[255] = '\0';
    tare_temp_name(temp, name);
    assert_int_equal(strlen(temp), 255);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    tare_outset *set;
    uint32_t index;
    tare_out_options options = {.is_named = true};
    assert_int_equal(tare_outset_new(&set, path, &options, NULL, NULL), TARE_OK);
    assert_int_equal(tare_outset_add(set, NULL, 0, &index, NULL), TARE_OK);
    assert_int_equal(tare_outset_commit(set, NULL), TARE_OK);
    tare_outset_free(set);
    assert_int_equal(access(path, F_OK), 0);
}

static void a_copy_is_one_however_it_is_made(void **state) {
    (void)state;
    char in[SCRATCH_PATH_SIZE + 8], scratch[SCRATCH_PATH_SIZE + 16], back[3000];
    static char bytes[3000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7);
    snprintf(in, sizeof in, "%s/in", dir);
    int fd = open(in, O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
    int pipe_fds[2]; /* cannot be read at an offset: a failure of both ways */
    assert_int_equal(pipe(pipe_fds), 0);
    tare_outset *set;
    uint32_t index;
    assert_int_equal(tare_outset_new(&set, out, &(tare_out_options){0}, NULL, NULL), TARE_OK);
    assert_int_equal(tare_outset_add(set, NULL, 3000, &index, NULL), TARE_OK);
    tare_error err;
    assert_int_equal(tare_outset_copy(set, 0, 5, fd, 10, 2990, scratch, sizeof scratch, NULL),
                     TARE_OK);
    tare_outset_flush_hint(set, 0, 0, 3000);
    assert_int_equal(tare_outset_read(set, 0, 5, back, 2990, NULL), TARE_OK);
    assert_memory_equal(back, bytes + 10, 2990);
    assert_int_equal(tare_outset_copy(set, 0, 0, fd, 2999, 2, scratch, sizeof scratch, &err),
                     TARE_ERR_TRUNCATED);
    assert_int_equal(err.offset, 3000);
    assert_int_not_equal(
        tare_outset_copy(set, 0, 0, pipe_fds[0], 0, 2, scratch, sizeof scratch, NULL), TARE_OK);
    assert_int_equal(tare_outset_read(set, 0, 2999, back, 2, &err), TARE_ERR_TRUNCATED);
    tare_outset_free(set);
    tare_reader reader;
    assert_int_equal(tare_reader_fd(&reader, fd, in, false, NULL), TARE_OK);
    assert_true(tare_same_file(in, &reader));
    assert_true(tare_same_path(in, in));
    assert_false(tare_same_path(in, dir));
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    close(fd);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_file_appears_with_the_commit),
        T(the_mode_is_that_of_a_new_file),
        T(nothing_is_left_without_a_commit),
        T(an_existing_output_needs_force),
        T(an_output_that_appears_meanwhile_stays),
        T(only_files_and_flat_directories_are_replaced),
        T(paths_that_name_nothing_are_refused),
        T(a_directory_that_is_gone_is_the_cause),
        T(a_link_is_followed),
        T(a_dangling_link_is_followed),
        T(links_in_a_circle_are_an_error),
        T(a_directory_is_exchanged),
        T(member_names_are_plain),
        T(members_lie_in_folders),
        T(more_members_than_descriptors),
        T(free_space_is_checked_first),
        T(a_write_that_fails_leaves_the_old_file),
        T(the_next_run_removes_what_a_dead_one_left),
        T(a_live_run_keeps_its_temporary),
        T(other_names_stay),
        T(long_names_fit),
        T(a_copy_is_one_however_it_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
