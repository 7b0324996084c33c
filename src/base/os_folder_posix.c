/* SPDX-License-Identifier: MIT
 *
 * Listing a folder with POSIX's readdir. */
#include "base/os_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* What leads nowhere is there with nothing in it; a file that cannot be looked at is no such
 * thing. */
static tare_status look_at(tare_files_entry *e, int directory, tare_error *err) {
    struct stat own, st;
    bool is_known = fstatat(directory, e->name, &own, AT_SYMLINK_NOFOLLOW) == 0;
    e->is_link = is_known && S_ISLNK(own.st_mode);
    if (is_known && fstatat(directory, e->name, &st, 0) == 0) {
        e->size = (uint64_t)st.st_size;
        e->kind = S_ISREG(st.st_mode)   ? TARE_PATH_FILE
                  : S_ISDIR(st.st_mode) ? TARE_PATH_FOLDER
                                        : TARE_PATH_OTHER;
    } else if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR &&
               !(e->is_link && errno == EACCES)) {
        tare_fail_errno(err, errno, "looking at a file of the directory");
        tare_error_file(err, e->name);
        return TARE_ERR_IO;
    }
    return TARE_OK;
}

static tare_status list_directory(DIR *directory, tare_files_visit visit, void *ctx,
                                  tare_error *err) {
    const struct dirent *d;
    while (errno = 0, (d = readdir(directory)) != NULL) {
        tare_files_entry e = {.name = d->d_name};
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0) continue;
        TARE_TRY(look_at(&e, dirfd(directory), err));
        TARE_TRY(visit(ctx, &e, err));
    }
    return errno ? tare_fail_errno(err, errno, "listing the directory") : TARE_OK;
}

tare_status tare_folder_visit(const char *path, tare_files_visit visit, void *ctx,
                              tare_error *err) {
    DIR *directory = opendir(path);
    if (!directory) return tare_fail_errno(err, errno, "opening the directory");
    tare_status status = list_directory(directory, visit, ctx, err);
    closedir(directory);
    return status;
}
