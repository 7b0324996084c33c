/* SPDX-License-Identifier: MIT
 *
 * A folder for the files of fuzz targets; see scratch.h. */
#include "scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_check.h"
#include "support/scratch_name.h"

static char folder[SCRATCH_NAME_SIZE];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind;
    if (at->level > 0) FUZZ_CHECK(remove(path) == 0);
    return 0;
}

void scratch_clear(void) {
    FUZZ_CHECK(nftw(scratch_folder(), remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static void remove_folder(void) {
    scratch_clear();
    rmdir(folder);
}

const char *scratch_folder(void) {
    if (folder[0] == 0) {
        FUZZ_CHECK(mkdtemp(scratch_name(folder)) != NULL);
        atexit(remove_folder);
    }
    return folder;
}

const char *scratch_path(char *buf, size_t size, const char *name) {
    FUZZ_CHECK((size_t)snprintf(buf, size, "%s/%s", scratch_folder(), name) < size);
    return buf;
}

void scratch_write(const char *name, const uint8_t *bytes, size_t size) {
    char path[512];
    FILE *f = fopen(scratch_path(path, sizeof path, name), "wb");
    FUZZ_CHECK(f != NULL);
    FUZZ_CHECK(fwrite(bytes, 1, size, f) == size);
    FUZZ_CHECK(fclose(f) == 0);
}

uint8_t *scratch_read(const char *name, size_t *size) {
    char path[512];
    FILE *f = fopen(scratch_path(path, sizeof path, name), "rb");
    FUZZ_CHECK(f != NULL);
    FUZZ_CHECK(fseek(f, 0, SEEK_END) == 0);
    long end = ftell(f);
    FUZZ_CHECK(end >= 0);
    rewind(f);
    *size = (size_t)end;
    uint8_t *bytes = malloc(*size ? *size : 1);
    FUZZ_CHECK(bytes != NULL && fread(bytes, 1, *size, f) == *size);
    fclose(f);
    return bytes;
}
