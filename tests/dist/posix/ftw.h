/* SPDX-License-Identifier: MIT
 *
 * posix.h: a walk through folders, what is in one before it. */
#ifndef TESTS_DIST_POSIX_FTW_H
#define TESTS_DIST_POSIX_FTW_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FTW_DEPTH = 8, FTW_PHYS = 1, FTW_F = 0, FTW_D = 1 };

struct FTW {
    int base, level;
};

static inline int nftw(const char *path,
                       int (*visit)(const char *, const struct stat *, int, struct FTW *), int n,
                       int how) {
    struct stat st;
    struct FTW none = {0, 0};
    struct dirent *e;
    int code = 0;
    char name[1024];
    DIR *d = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    while (d && code == 0 && (e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        code = nftw(name, visit, n, how);
    }
    if (d) closedir(d);
    return code ? code : visit(path, &st, d ? FTW_D : FTW_F, &none);
}

#endif
