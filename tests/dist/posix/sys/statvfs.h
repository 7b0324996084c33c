/* SPDX-License-Identifier: MIT
 *
 * posix.h: Windows keeps no files in memory, and is not asked for room. */
#ifndef TESTS_DIST_POSIX_STATVFS_H
#define TESTS_DIST_POSIX_STATVFS_H

struct statvfs {
    unsigned long long f_bavail, f_frsize;
};

static inline int statvfs(const char *path, struct statvfs *out) {
    (void)path, (void)out;
    return -1;
}

#endif
