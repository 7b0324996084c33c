/* SPDX-License-Identifier: MIT
 *
 * Files and directories by path, in the file system or in what stands for it. */
#include "format/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"

tare_status tare_files_open(const tare_files *files, tare_reader *out, const char *path, bool map,
                            tare_error *err) {
    return files ? files->open(files, out, path, err) : tare_reader_open(out, path, map, err);
}

static tare_status list_directory(DIR *directory, tare_files_visit visit, void *ctx,
                                  tare_error *err) {
    const struct dirent *d;
    while ((d = readdir(directory)) != NULL) {
        tare_files_entry e = {.name = d->d_name};
        struct stat st;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0) continue;
        if (fstatat(dirfd(directory), d->d_name, &st, 0) == 0) {
            e.size = (uint64_t)st.st_size;
            e.mode = st.st_mode;
        }
        TARE_TRY(visit(ctx, &e, err));
    }
    return TARE_OK;
}

tare_status tare_files_list(const tare_files *files, const char *path, tare_files_visit visit,
                            void *ctx, tare_error *err) {
    if (files) return files->list(files, path, visit, ctx, err);
    DIR *directory = opendir(path);
    if (!directory) return tare_fail_errno(err, errno, "opening the directory");
    tare_status status = list_directory(directory, visit, ctx, err);
    closedir(directory);
    return status;
}
