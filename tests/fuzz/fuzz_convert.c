/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: conversion loses nothing. What opens goes to the other format and back, carried
 * where a format lacks something: content and digest are the same. To its own format it goes byte
 * for byte or, where the format has one form only, in that. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "open_input.h"
#include "support/memory_source.h"

typedef struct file {
    uint8_t *bytes;
    size_t size;
} file;

#define LARGEST (1 << 26) /* a small input can ask for a large output: by its alignment */

typedef enum written { WRITTEN, REFUSED, TOO_LARGE } written;

/* Writes m as `format` into memory, if the format can hold it. */
static written write_as(file *out, const tare_model *m, const char *format, bool *is_identity) {
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    options.to = format;
    context.threads = 1;
    options.opaque = true;
    tare_plan *plan;
    tare_error err;
    tare_plan_summary summary;
    tare_status status = tare_plan_new(&plan, NULL, m, &options, &err);
    if (status != TARE_OK) {
        fuzz_check_error(status, &err);
        FUZZ_CHECK(status == TARE_ERR_UNSUPPORTED || status == TARE_ERR_LIMIT);
        return REFUSED;
    }
    summary = *tare_plan_summarize(plan);
    *is_identity = summary.is_identity;
    bool is_small = summary.write_bytes <= LARGEST;
    if (is_small) {
        int fd = memfd_create("tare-convert", 0);
        FUZZ_CHECK(fd >= 0);
        FUZZ_CHECK(tare_plan_run_fd(NULL, plan, fd, &err) == TARE_OK);
        out->size = (size_t)lseek(fd, 0, SEEK_END);
        out->bytes = malloc(out->size ? out->size : 1);
        FUZZ_CHECK(out->bytes != NULL);
        FUZZ_CHECK(pread(fd, out->bytes, out->size, 0) == (ssize_t)out->size);
        close(fd);
    }
    tare_plan_free(plan);
    return is_small ? WRITTEN : TOO_LARGE;
}

static tare_model *open_again(const file *f) {
    const tare_source source = memory_source(f->bytes, f->size);
    tare_model *m;
    tare_error err;
    FUZZ_CHECK(tare_model_open(&m, &source, NULL, &err) == TARE_OK);
    return m;
}

/* A tensor of unknown type reaches to the next one: written before others, or padded, it is longer.
 * Only those that end on the alignment keep their size. */
static bool has_loose_end(const tare_model *m, uint32_t alignment) {
    const tare_tensor *t;
    for (size_t i = 0; (t = tare_model_tensor(m, i)) != NULL; i++) {
        if (t->encoding->kind == TARE_KIND_UNKNOWN && t->size_bytes % alignment != 0) return true;
    }
    return false;
}

static void there_and_back(const tare_model *a, const char *there, const char *back) {
    file f = {NULL, 0}, g = {NULL, 0};
    bool is_identity;
    if (write_as(&f, a, there, &is_identity) == WRITTEN) {
        tare_model *b = open_again(&f);
        fuzz_check_same(a, b);
        written result = write_as(&g, b, back, &is_identity);
        FUZZ_CHECK(result != REFUSED);
        if (result == WRITTEN) {
            tare_model *c = open_again(&g);
            fuzz_check_same(a, c);
            tare_model_free(c);
        }
        tare_model_free(b);
    }
    free(f.bytes);
    free(g.bytes);
}

/* A format with one form for a content: what was written is written again byte for byte. */
static void check_one_form(const tare_model *m, const char *format) {
    file f = {NULL, 0}, g = {NULL, 0};
    bool is_identity;
    if (write_as(&f, m, format, &is_identity) == WRITTEN) {
        tare_model *b = open_again(&f);
        fuzz_check_same(m, b);
        FUZZ_CHECK(write_as(&g, b, format, &is_identity) == WRITTEN);
        FUZZ_CHECK(f.size == g.size && memcmp(f.bytes, g.bytes, f.size) == 0);
        tare_model_free(b);
    }
    free(f.bytes);
    free(g.bytes);
}

static bool is_written(const char *format) {
    tare_format_info info = tare_format_info_default();
    for (size_t i = 0; tare_format_at(&info, i); i++)
        if (strcmp(info.name, format) == 0) return info.can_write;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tare_model *m = fuzz_open(data, size, NULL);
    if (m == NULL) return 0;
    if (fuzz_is_damaged(m, data, size)) {
        tare_model_free(m);
        return 0;
    }
    const tare_model_summary *summary = tare_model_summarize(m);
    bool is_gguf = strcmp(summary->format, "gguf") == 0;
    file same = {NULL, 0};
    bool is_identity;
    if (!summary->is_truncated) {
        const written own = is_written(summary->format)
                                ? write_as(&same, m, summary->format, &is_identity)
                                : REFUSED;
        if (own == WRITTEN && strcmp(summary->format, "whisper") == 0) {
            tare_model_free(m); /* a file type that is not that of its tensors is mended */
            m = open_again(&same);
            summary = tare_model_summarize(m);
        }
        if (!has_loose_end(m, summary->alignment))
            there_and_back(m, is_gguf ? "safetensors" : "gguf",
                           own == REFUSED ? "safetensors" : summary->format);
        if (strcmp(summary->format, "mcf") == 0) check_one_form(m, "mcf");
        if (own == WRITTEN && is_identity &&
            !(is_gguf && (summary->version != 3 || data[0] != 'G'))) {
            FUZZ_CHECK(same.size == size && memcmp(same.bytes, data, size) == 0);
        }
    }
    free(same.bytes);
    tare_model_free(m);
    return 0;
}
