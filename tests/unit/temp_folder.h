/* SPDX-License-Identifier: MIT
 *
 * A folder for one test: made by its set-up, gone with its tear-down. */
#ifndef TARE_UNIT_TEMP_FOLDER_H
#define TARE_UNIT_TEMP_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/scratch_name.h"

static char temp_folder[SCRATCH_NAME_SIZE];

static inline int make_temp_folder(void **state) {
    (void)state;
    return mkdtemp(scratch_name(temp_folder)) ? 0 : -1;
}

static inline int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline int remove_temp_folder(void **state) {
    (void)state;
    return nftw(temp_folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path of a name in the folder; good until the eighth call after this. */
static inline const char *temp_path(const char *name) {
    static char paths[8][1024];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", temp_folder, name);
    return path;
}

static inline void write_temp(const char *name, const void *bytes, size_t size) {
    FILE *f = fopen(temp_path(name), "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f) != 0) abort();
}

static inline void write_temp_text(const char *name, const char *text) {
    write_temp(name, text, strlen(text));
}

#endif
