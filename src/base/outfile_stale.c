/* SPDX-License-Identifier: MIT
 *
 * Temporaries are called .OUT.tare-XXXXXX and locked by the run they belong to, so the next run to
 * the same OUT knows the dead ones by a lock it can take: docs/behaviour.md, "Writing". */
#include "base/outfile_stale.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile_os.h"
#include "base/report.h"
#include "base/str.h"

#define MARK        ".tare-"
#define RANDOM_SIZE 6
#define ADDED_SIZE  (1 + sizeof MARK - 1 + RANDOM_SIZE) /* the dot in front, too */

/* ".OUT.tare-"; returns its length. */
static size_t temp_prefix(char out[TARE_TEMP_NAME_SIZE], const char *final_name) {
    size_t n = strlen(final_name);
    if (n > TARE_TEMP_NAME_SIZE - 1 - ADDED_SIZE) n = TARE_TEMP_NAME_SIZE - 1 - ADDED_SIZE;
    out[0] = '.';
    memcpy(out + 1, final_name, n);
    memcpy(out + 1 + n, MARK, sizeof MARK);
    return n + sizeof MARK;
}

void tare_temp_name(char out[TARE_TEMP_NAME_SIZE], const char *final_name) {
    size_t n = temp_prefix(out, final_name);
    tare_os_random_name(out + n, RANDOM_SIZE);
}

bool tare_is_temp_name(tare_str name) {
    const size_t n = name.len;
    return n > ADDED_SIZE && name.ptr[0] == '.' &&
           memcmp(name.ptr + n - RANDOM_SIZE - (sizeof MARK - 1), MARK, sizeof MARK - 1) == 0;
}

/* A directory's stream from its parent; the descriptor goes with the stream. */
static DIR *open_stream(int parent_fd, const char *name) {
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return NULL;
    DIR *dir = fdopendir(fd);
    if (!dir) close(fd);
    return dir;
}

static bool is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

void tare_remove_tree(int parent_fd, const char *name, unsigned depth) {
    DIR *dir = open_stream(parent_fd, name);
    if (!dir) {
        unlinkat(parent_fd, name, 0);
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (is_dots(entry->d_name) || unlinkat(dirfd(dir), entry->d_name, 0) == 0) continue;
        if (depth) tare_remove_tree(dirfd(dir), entry->d_name, depth - 1);
    }
    closedir(dir);
    unlinkat(parent_fd, name, AT_REMOVEDIR);
}

int tare_directory_is_flat(int parent_fd, const char *name, bool *has_subdirectory) {
    *has_subdirectory = false;
    DIR *dir = open_stream(parent_fd, name);
    if (!dir) return errno;
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat st;
        if (is_dots(entry->d_name)) continue;
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(st.st_mode))
            *has_subdirectory = true;
    }
    closedir(dir);
    return 0;
}

/* Locking through NFS asks for a descriptor that can write; a directory has none. O_NONBLOCK: the
 * name may have become a FIFO. */
static void remove_if_free(int parent_fd, const char *name, tare_report *report) {
    int fd = openat(parent_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == EISDIR)
        fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    const bool is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (is_free) tare_remove_tree(parent_fd, name, TARE_FOLDERS_MOST);
    close(fd);
    if (!is_free || faccessat(parent_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return;
    tare_finding f = TARE_FINDING(INFO, TARE_ERR_IO, "output.stale");
    f.file = tare_str_of(name);
    tare_report_addf(report, &f, "removed: a run that was killed had left it");
}

void tare_remove_stale(int parent_fd, const char *final_name, tare_report *report) {
    char prefix[TARE_TEMP_NAME_SIZE];
    size_t n = temp_prefix(prefix, final_name);
    DIR *dir = open_stream(parent_fd, ".");
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strlen(entry->d_name) == n + RANDOM_SIZE && memcmp(entry->d_name, prefix, n) == 0)
            remove_if_free(parent_fd, entry->d_name, report);
    }
    closedir(dir);
}
