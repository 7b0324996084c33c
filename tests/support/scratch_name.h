/* SPDX-License-Identifier: MIT
 *
 * Where tests put files: below TMPDIR, else in memory where there is room, else below /tmp. */
#ifndef TARE_TEST_SCRATCH_NAME_H
#define TARE_TEST_SCRATCH_NAME_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { SCRATCH_NAME_SIZE = 128, SCRATCH_PATH_SIZE = SCRATCH_NAME_SIZE + 64 };

static inline const char *scratch_base(void) {
    static const char memory[] = "/dev/shm";
    const uint64_t enough = UINT64_C(1) << 30; /* containers often have 64 MiB there */
    const char *base = getenv("TMPDIR");
    struct statvfs fs;
    if (base && base[0]) return base;
    if (access(memory, W_OK) != 0 || statvfs(memory, &fs) != 0) return "/tmp";
    return (uint64_t)fs.f_bavail * fs.f_frsize >= enough ? memory : "/tmp";
}

/* A name for mkdtemp or mkstemp; returns `name`, of SCRATCH_NAME_SIZE bytes. */
static inline char *scratch_name(char *name) {
    if (snprintf(name, SCRATCH_NAME_SIZE, "%s/tare-test-XXXXXX", scratch_base()) >=
        SCRATCH_NAME_SIZE) {
        fputs("TMPDIR: the path is too long for tests\n", stderr);
        abort();
    }
    return name;
}

#endif
