/* SPDX-License-Identifier: MIT
 *
 * Output on file systems that lack what others take for granted: mounts of object stores, HDFS, unions
 * of disks. Some cannot rename or link, some take a file only from its first byte to its last. There
 * a complete output is copied to its name in one go, and removed if that fails. */
#include <errno.h>

#include "base/os_file.h"
#include "base/outfile_os.h"
#include "base/outfile_set.h"
#include "base/report.h"
#include "base/str.h"

/* ---- what a file system can do --------------------------------------------------------------- */

int tare_outset_open_elsewhere(const char **path) {
    static const char *const places[] = {"/var/tmp/", "/tmp/"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int fd;
        *path = places[i];
        if (tare_fd_open(&fd, TARE_HERE, places[i], TARE_OPEN_FOLDER, 0) != 0) continue;
        if (tare_folder_can_write(fd) == 0) return fd;
        tare_fd_close(fd);
    }
    return -1;
}

/* The second byte before the first, as threads write. */
static int try_file(int fd, bool is_kept) {
    int failed = tare_os_set_size(fd, 2);
    if (!failed) failed = tare_fd_write(fd, 1, "", 1);
    if (!failed) failed = tare_fd_write(fd, 0, "", 1);
    if (!failed && is_kept) failed = tare_fd_resize(fd, 0);
    return tare_os_is_unsupported(failed) || failed == EPERM || failed == ESPIPE ? ENOTSUP : 0;
}

int tare_outset_try_writing(const tare_outset *set, int unnamed) {
    static const char name[] = "0";
    int fd;
    if (unnamed >= 0) return try_file(unnamed, false);
    if (!set->options.is_directory) return try_file(set->temp_fd, true);
    int failed = tare_fd_open(&fd, set->temp_fd, name, TARE_OPEN_WRITE | TARE_OPEN_NEW, 0600);
    if (failed) return tare_os_is_unsupported(failed) ? ENOTSUP : 0;
    failed = try_file(fd, false);
    tare_fd_close(fd);
    return tare_entry_remove(set->temp_fd, name) == 0 ? failed : ENOTSUP;
}

bool tare_out_lacks_names(int os_error) {
    return os_error == EPERM || os_error == EXDEV || os_error == EMLINK ||
           os_error == ENAMETOOLONG || tare_os_is_unsupported(os_error);
}

/* ---- copying --------------------------------------------------------------------------------- */

/* Whether the permissions of a file or folder of the temporary are those that the output shall have:
 * one with a name in a folder that all may write to is closed to others. */
static bool has_mode(const tare_outset *set, int in_fd) {
    return in_fd != set->temp_fd || !set->temp_name[0] || set->temp_parent_fd == set->parent_fd;
}

/* Permissions and times, as far as the file system has them. */
static void copy_stamps(const tare_outset *set, int in_fd, int out_fd) {
    tare_file_facts facts;
    if (tare_fd_stat(&facts, in_fd) != 0) return;
    if (has_mode(set, in_fd))
        (void)tare_fd_set_mode(out_fd, facts.mode);
    else
        (void)tare_outset_withhold(set, out_fd);
    if (facts.kind != TARE_PATH_FOLDER) (void)tare_fd_set_time(out_fd, &facts);
}

/* Nobody may read a file meanwhile who may not afterwards. */
static uint16_t first_mode(const tare_outset *set, int in_fd) {
    tare_file_facts facts;
    if (!has_mode(set, in_fd)) return (uint16_t)(0666 & ~set->options.withheld);
    return tare_fd_stat(&facts, in_fd) == 0 ? facts.mode & 0666 : 0600;
}

int tare_out_copy_bytes(int in_fd, int fd, uint8_t *scratch) {
    size_t got = TARE_OUT_COPY_BYTES;
    int failed = 0;
    for (uint64_t at = 0; !failed && got == TARE_OUT_COPY_BYTES; at += got) {
        failed = tare_fd_read(&got, in_fd, at, scratch, TARE_OUT_COPY_BYTES);
        if (!failed) failed = tare_fd_put(fd, scratch, got);
    }
    return failed;
}

/* Some file systems store a file when it is closed: that may fail, too. 0 or an errno; *is_begun:
 * what had the name, if anything did, is no longer whole. */
static int copy_file(bool *is_begun, const tare_outset *set, int in_fd, int folder,
                     const char *name, unsigned how, uint8_t *scratch) {
    int fd;
    int failed =
        tare_fd_open(&fd, folder, name, TARE_OPEN_PUT | TARE_OPEN_MAKE | TARE_OPEN_NO_LINK | how,
                     first_mode(set, in_fd));
    *is_begun = !failed;
    if (failed) return failed;
    failed = tare_out_copy_bytes(in_fd, fd, scratch);
    if (!failed) copy_stamps(set, in_fd, fd);
    if (!failed && !set->options.no_sync) failed = tare_os_sync(fd);
    const int failed_to_close = tare_fd_close(fd);
    return failed ? failed : failed_to_close;
}

static int copy_link(int from_fd, int to_fd, const char *name) {
    char target[TARE_PATH_MOST];
    const int failed = tare_link_read(target, sizeof target, from_fd, name);
    return failed ? failed : tare_link_make(to_fd, name, target);
}

typedef struct copying {
    const tare_outset *set;
    int from, to; /* folders */
    unsigned depth;
    uint8_t *scratch;
} copying;

static int copy_entry(void *ctx, const char *name);

static int copy_folder(const copying *c, int in, const char *name) {
    copying inside = *c;
    if (c->depth == 0) return ELOOP;
    int failed = tare_folder_make(c->to, name, 0777);
    if (!failed) failed = tare_fd_open(&inside.to, c->to, name, TARE_OPEN_FOLDER, 0);
    if (failed) return failed;
    inside.from = in;
    inside.depth--;
    failed = tare_folder_names(in, copy_entry, &inside);
    if (!failed) copy_stamps(c->set, in, inside.to);
    tare_fd_close(inside.to);
    return failed;
}

static int copy_entry(void *ctx, const char *name) {
    const copying *c = ctx;
    tare_file_facts facts;
    bool is_begun;
    int in;
    int failed = tare_entry_stat(&facts, c->from, name, false);
    if (failed) return failed;
    if (facts.kind == TARE_PATH_LINK) return copy_link(c->from, c->to, name);
    const bool is_folder = facts.kind == TARE_PATH_FOLDER;
    failed =
        tare_fd_open(&in, c->from, name, TARE_OPEN_NO_LINK | (is_folder ? TARE_OPEN_FOLDER : 0), 0);
    if (failed) return failed;
    failed = is_folder ? copy_folder(c, in, name)
                       : copy_file(&is_begun, c->set, in, c->to, name, TARE_OPEN_NEW, c->scratch);
    tare_fd_close(in);
    return failed;
}

static int place_directory(bool *is_begun, const tare_outset *set, uint8_t *scratch) {
    copying c = {set, set->temp_fd, -1, TARE_FOLDERS_MOST, scratch};
    if (set->options.force) tare_remove_tree(set->parent_fd, set->final_name, 0);
    int failed = tare_folder_make(set->parent_fd, set->final_name, 0777);
    *is_begun = !failed;
    if (!failed) failed = tare_fd_open(&c.to, set->parent_fd, set->final_name, TARE_OPEN_FOLDER, 0);
    if (failed) return failed;
    (void)tare_outset_withhold(set, c.to); /* nor may anyone look into a folder meanwhile */
    failed = tare_folder_names(set->temp_fd, copy_entry, &c);
    if (!failed) copy_stamps(set, set->temp_fd, c.to);
    tare_fd_close(c.to);
    return failed;
}

static void note(const tare_outset *set) {
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "output.copied");
    f.file = tare_str_of(set->path);
    f.text =
        set->has_short_names
            ? TARE_STR("this file system's names are too short for a temporary one: the output "
                       "was copied to its name, not put there in one step")
        : set->temp_parent_fd == set->parent_fd
            ? TARE_STR("this file system cannot rename files: the output was copied to its "
                       "name, not put there in one step")
            : TARE_STR("this file system takes files only from the first byte to the last: "
                       "the output was made elsewhere and copied");
    tare_report_add(set->options.report, &f);
}

tare_status tare_outset_place(tare_outset *set, tare_error *err) {
    tare_file_facts facts;
    const bool exists = tare_entry_stat(&facts, set->parent_fd, set->final_name, false) == 0;
    if (exists && !set->options.force) return tare_outset_fail_exists(set, err);
    if (exists && set->options.keeps_old)
        return tare_outset_fail(err, TARE_ERR_UNSUPPORTED,
                                "this file system cannot rename files, or writes them only from "
                                "the first byte to the last, so the old one cannot be kept until "
                                "the new one is there: choose another output",
                                set->path);
    uint8_t *scratch = tare_alloc(set->allocator, TARE_OUT_COPY_BYTES);
    if (!scratch) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    const unsigned how = set->options.force ? TARE_OPEN_EMPTY : TARE_OPEN_NEW;
    bool is_begun;
    const int failed = set->options.is_directory
                           ? place_directory(&is_begun, set, scratch)
                           : copy_file(&is_begun, set, set->temp_fd, set->parent_fd,
                                       set->final_name, how, scratch);
    tare_free(set->allocator, scratch, TARE_OUT_COPY_BYTES);
    if (failed == EEXIST && !set->options.force) return tare_outset_fail_exists(set, err);
    if (failed) {
        const bool is_lost = exists && (is_begun || set->options.is_directory);
        if (is_begun) tare_remove_tree(set->parent_fd, set->final_name, TARE_FOLDERS_MOST);
        return tare_outset_fail_errno(
            err, failed,
            is_lost ? "the output cannot be copied to its name, and the old one, which had to give "
                      "way, is lost"
                    : "the output cannot be copied to its name",
            set->path);
    }
    note(set);
    tare_outset_remove_temporary(set, TARE_FOLDERS_MOST);
    set->is_committed = true;
    return TARE_OK;
}
