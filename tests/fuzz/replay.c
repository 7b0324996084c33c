/* SPDX-License-Identifier: MIT
 *
 * Runs a fuzz target over files: seeds, and inputs that once broke something. A plain program, so
 * that the normal tests do it under the sanitizers; also the way to look at one input.
 *
 *     replay_TARGET FILE|FOLDER... */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz_check.h"

static char current[2048];
static size_t n_run;

/* Says which input it was, where a sanitizer or an abort ends the program. */
static void name_input(void) {
    if (current[0] != 0) fprintf(stderr, "while running %s\n", current);
}

static void on_abort(int number) {
    (void)number;
    name_input();
}

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void run_file(const char *path, size_t size) {
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = malloc(size ? size : 1); /* exactly its size: ASan sees reads beyond */
    if (f == NULL || bytes == NULL || fread(bytes, 1, size, f) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(2);
    }
    fclose(f);
    snprintf(current, sizeof current, "%s", path);
    LLVMFuzzerTestOneInput(bytes, size);
    current[0] = 0;
    free(bytes);
    n_run++;
}

static void run_path(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return; /* a target without finds has no folder */
    if (!S_ISDIR(st.st_mode)) {
        run_file(path, (size_t)st.st_size);
        return;
    }
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char inner[2048];
        snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') run_path(inner);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

int main(int argc, char **argv) {
    signal(SIGABRT, on_abort);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(name_input);
    for (int i = 1; i < argc; i++) run_path(argv[i]);
    printf("%zu inputs\n", n_run);
    return n_run == 0;
}
