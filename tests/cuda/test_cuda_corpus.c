/* SPDX-License-Identifier: MIT
 *
 * Guards against: a malformed container of tests/golden of which a layer decodes on the device though
 * the library refuses it, or the reverse, or to other bytes.
 *
 *     test_cuda_corpus FOLDER */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tare/experimental/unpack.h>
#include <tare/tare.h>

#include "cuda_runner.h"

static unsigned n_files, n_refused, n_good, n_bad, n_failures;

static _Noreturn void die(const char *what) {
    fprintf(stderr, "test_cuda_corpus: %s\n", what);
    exit(1);
}

typedef struct regions {
    unsigned n;
    uint8_t *bytes[TARE_CODED_MAX_REGIONS];
} regions;

static regions new_regions(const tare_coded_layer *l) {
    regions r = {.n = l->n_regions};
    for (unsigned i = 0; i < r.n; i++) {
        r.bytes[i] = calloc(1, (size_t)l->region_bytes[i] + 1);
        if (!r.bytes[i]) die("memory");
    }
    return r;
}
static void free_regions(const regions *r) {
    for (unsigned i = 0; i < r->n; i++) free(r->bytes[i]);
}

static void check(const char *name, size_t layer, const tare_coded *coded, bool is_general) {
    const tare_coded_layer *l = tare_coded_describe(coded);
    const cuda_how how = {.is_general = is_general};
    regions meant = new_regions(l), made = new_regions(l);
    cuda_counts counts;
    tare_error cpu = {0}, gpu = {0};
    tare_status want = tare_coded_decode_layer((void *const *)meant.bytes, coded, NULL, &cpu);
    tare_status got = cuda_decode(made.bytes, coded, NULL, &how, &counts, NULL, &gpu);
    bool is_same = want == got;
    for (unsigned i = 0; want == TARE_OK && i < l->n_regions; i++)
        is_same &= memcmp(meant.bytes[i], made.bytes[i], (size_t)l->region_bytes[i]) == 0;
    if (!is_same)
        printf("FAIL %s, layer %zu: %s (%s), but the device says %s (%s)\n", name, layer,
               tare_status_text(want), cpu.what, tare_status_text(got), gpu.what);
    n_failures += !is_same;
    n_good += want == TARE_OK;
    n_bad += want != TARE_OK;
    free_regions(&meant);
    free_regions(&made);
}

static void check_file(const char *folder, const char *name) {
    char path[4096];
    tare_model *model;
    tare_coded *coded;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    tare_source source = tare_source_default();
    source.name = path;
    n_files++;
    if (tare_model_open(&model, &source, NULL, NULL) != TARE_OK) {
        n_refused++;
        return;
    }
    tare_container_info info = tare_container_info_default();
    tare_model_container(&info, model);
    for (size_t i = 0; i < info.n_layers; i++) {
        if (tare_model_layer_coded(&coded, model, i, NULL, NULL) != TARE_OK) continue;
        for (unsigned general = 0; !tare_coded_describe(coded)->base && general < 2; general++)
            check(name, i, coded, general);
        tare_coded_free(coded);
    }
    tare_model_free(model);
}

int main(int argc, char **argv) {
    static const char suffix[] = ".wcodec";
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) die("no folder");
    for (const struct dirent *e; (e = readdir(folder)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (n >= sizeof suffix && strcmp(e->d_name + n - (sizeof suffix - 1), suffix) == 0)
            check_file(argv[1], e->d_name);
    }
    closedir(folder);
    printf("%u containers, %u not opened; layers, each twice: %u good, %u bad; %u failures\n",
           n_files, n_refused, n_good, n_bad, n_failures);
    return n_failures || n_good < 20 || n_bad < 10;
}
