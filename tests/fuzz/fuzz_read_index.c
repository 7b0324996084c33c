/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: models of several files. The input is an archive: a byte that says what is opened
 * (0: the folder, n: the n-th file), then files one after the other: u8 length of the name, the
 * name, u16 (little-endian) length of the content, the content. The files are laid into a folder;
 * it is refused, or can be read to its end. */
#include <ctype.h>
#include <string.h>

#include "open_input.h"
#include "scratch.h"
#include "support/visit.h"

#define MAX_FILES 16

typedef struct archive {
    const uint8_t *pos, *end;
} archive;

static size_t take(archive *a, uint8_t *out, size_t n) {
    size_t left = (size_t)(a->end - a->pos);
    if (n > left) n = left;
    memcpy(out, a->pos, n);
    a->pos += n;
    return n;
}

/* Lays out one file; false at the end or for a name that no file can have. */
static bool unpack(archive *a, char name[256]) {
    uint8_t length, sizes[2];
    static uint8_t content[UINT16_MAX];
    if (take(a, &length, 1) != 1 || take(a, (uint8_t *)name, length) != length) return false;
    name[length] = 0;
    if (length == 0 || (name[0] == '.' && strcmp(name, ".metadata") != 0) ||
        strlen(name) != length || strchr(name, '/') != NULL) {
        return false;
    }
    if (take(a, sizes, 2) != 2) return false;
    size_t size = take(a, content, (size_t)(sizes[0] | sizes[1] << 8));
    scratch_write(name, content, size);
    return true;
}

static void open_path(const char *path, bool one_shard) {
    const tare_limits limits = fuzz_limits();
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.limits = &limits;
    options.one_shard = one_shard;
    context.report = tare_report_new();
    tare_model *m;
    tare_error err;
    tare_status status = tare_open_path(&m, path, &options, &err);
    if (status == TARE_OK) {
        const tare_model_summary *summary = tare_model_summarize(m);
        status = visit_model(m);
        /* A record of outliers may be about no element, and chunks may leave out some: that is found
         * when the tensor is read. */
        const bool is_late =
            strcmp(summary->format, "infq") == 0 || strcmp(summary->format, "dcp") == 0;
        FUZZ_CHECK(status == TARE_OK || summary->is_truncated ||
                   (is_late && status == TARE_ERR_CORRUPT));
        tare_model_free(m);
    } else {
        fuzz_check_error(status, &err);
    }
    tare_report_free(context.report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    archive a = {data, data + size};
    uint8_t chosen;
    char name[256], opened[256] = "", path[1024];
    if (take(&a, &chosen, 1) != 1) return 0;
    scratch_clear();
    for (uint8_t i = 1; i <= MAX_FILES && unpack(&a, name); i++) {
        if (i == (chosen & 0x7f)) memcpy(opened, name, sizeof opened);
    }
    scratch_path(path, sizeof path, opened);
    if (opened[0] == 0) path[strlen(path) - 1] = 0; /* the folder itself */
    open_path(path, chosen & 0x80);
    return 0;
}
