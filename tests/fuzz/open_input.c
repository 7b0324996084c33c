/* SPDX-License-Identifier: MIT
 *
 * Opening an input of a fuzzer; see open_input.h. */
#include "open_input.h"

#include <stdlib.h>
#include <string.h>

#include "support/memory_source.h"
#include "support/visit.h"

tare_limits fuzz_limits(void) {
    tare_limits limits = tare_limits_default();
    limits.tensors = 1 << 12;
    limits.keys = 1 << 12;
    limits.array_elements = 1 << 16;
    limits.metadata_bytes = 1 << 20;
    limits.safetensors_header = 1 << 20;
    limits.resource_bytes = 1 << 16;
    limits.shards = 16;
    return limits;
}

void fuzz_check_error(tare_status status, const tare_error *err) {
    char line[512];
    FUZZ_CHECK(err->status == status);
    FUZZ_CHECK(err->what != NULL && err->what[0] != 0);
    FUZZ_CHECK(tare_error_format(line, sizeof line, err, "input") > 0);
}

static tare_status read_content(void *ctx, uint64_t offset, void *buf, size_t n) {
    const fuzz_content *c = ctx;
    FUZZ_CHECK(offset <= c->size && n <= c->size - offset); /* no read goes past the end */
    if (n > 0) memcpy(buf, c->bytes + offset, n);
    return TARE_OK;
}

void fuzz_sources(tare_source sources[2], fuzz_content *c) {
    sources[0] = memory_source(c->bytes, c->size);
    sources[1] = (tare_source){.size = sizeof(tare_source),
                               .kind = TARE_SOURCE_CALLBACK,
                               .n_bytes = c->size,
                               .read = read_content,
                               .read_ctx = c,
                               .fd = -1};
}

bool fuzz_same_error(const tare_error *a, const tare_error *b) {
    return a->status == b->status && a->offset == b->offset && a->item_kind == b->item_kind &&
           a->item == b->item && strcmp(a->what, b->what) == 0;
}

static tare_report *new_report(void) {
    tare_report *report = tare_report_new();
    FUZZ_CHECK(report != NULL);
    return report;
}

tare_model *fuzz_open(const uint8_t *data, size_t size, const char *format) {
    fuzz_content c = {data, size};
    tare_source sources[2];
    const tare_limits limits = fuzz_limits();
    tare_report *reports[2] = {new_report(), new_report()};
    tare_model *models[2] = {NULL, NULL};
    tare_error errors[2];
    tare_status status[2];
    fuzz_sources(sources, &c);
    for (int i = 0; i < 2; i++) {
        tare_open_options options = tare_open_options_default();
        tare_context context = tare_context_default();
        options.context = &context;
        context.limits = &limits;
        context.report = reports[i];
        options.format = format;
        status[i] = tare_model_open(&models[i], &sources[i], &options, &errors[i]);
        FUZZ_CHECK((status[i] == TARE_OK) == (models[i] != NULL));
        if (status[i] != TARE_OK) fuzz_check_error(status[i], &errors[i]);
    }
    FUZZ_CHECK(status[0] == status[1]);
    if (status[0] != TARE_OK) FUZZ_CHECK(fuzz_same_error(&errors[0], &errors[1]));
    if (status[0] == TARE_OK) {
        FUZZ_CHECK(tare_report_count(reports[0]) == tare_report_count(reports[1]));
    }
    tare_report_free(reports[0]);
    tare_report_free(reports[1]);
    tare_model_free(models[1]);
    return models[0];
}

void fuzz_check_same(const tare_model *a, const tare_model *b) {
    tare_digest da, db;
    tare_context run = tare_context_default();
    tare_diff_options options = tare_diff_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    run.threads = context.threads = 1;
    FUZZ_CHECK(tare_model_digest(NULL, &da, a, &run, NULL) == TARE_OK);
    FUZZ_CHECK(tare_model_digest(NULL, &db, b, &run, NULL) == TARE_OK);
    FUZZ_CHECK(memcmp(&da, &db, sizeof da) == 0);
    tare_diff *diff;
    FUZZ_CHECK(tare_diff_new(&diff, a, b, &options, NULL) == TARE_OK);
    FUZZ_CHECK(tare_diff_is_same(diff));
    tare_diff_free(diff);
}

bool fuzz_is_damaged(const tare_model *m, const uint8_t *data, size_t size) {
    if (size < 2 || memcmp(data, "PK", 2) != 0 || tare_model_summarize(m)->is_truncated)
        return false;
    bool is_damaged = false;
    tare_report *report = new_report();
    tare_context options = tare_context_default();
    options.report = report;
    options.threads = 1;
    FUZZ_CHECK(tare_verify_data(m, &options, NULL) == TARE_OK);
    for (size_t i = 0; i < tare_report_count(report); i++)
        is_damaged |= tare_report_at(report, i)->status == TARE_ERR_CHECKSUM;
    tare_report_free(report);
    return is_damaged;
}

void fuzz_read(const uint8_t *data, size_t size, const char *format) {
    tare_model *m = fuzz_open(data, size, format);
    if (m == NULL) return;
    const tare_model_summary *summary = tare_model_summarize(m);
    tare_status status = visit_model(m);
    FUZZ_CHECK(status == TARE_OK || (status == TARE_ERR_TRUNCATED && summary->is_truncated));
    if (!summary->is_truncated) {
        tare_report *report = new_report();
        tare_context options = tare_context_default();
        options.report = report;
        options.threads = 1;
        FUZZ_CHECK(tare_verify_data(m, &options, NULL) == TARE_OK);
        tare_report_free(report);
    }
    tare_model_free(m);
}
