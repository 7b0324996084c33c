/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: importance matrices of both forms. What opens has finite values, entries that are
 * found by their names and whole slices; opening through a callback ends the same way; choosing
 * entries leaves those that are chosen. */
#include "open_input.h"

#include <math.h>
#include <string.h>

static void check_entry(const tare_importance *m, size_t i) {
    const tare_importance_entry *e = tare_importance_at(m, i);
    FUZZ_CHECK(e->n_values > 0);
    FUZZ_CHECK(e->n_slices == 0 || e->n_values % e->n_slices == 0);
    for (uint64_t k = 0; k < e->n_values; k++) FUZZ_CHECK(isfinite(e->values[k]));
    FUZZ_CHECK(tare_importance_find(m, e->name) == (int64_t)i);
}

static void check_matrix(tare_importance *m) {
    static const char *const parts[] = {"a", "ffn"};
    tare_importance_summary before, after;
    before = *tare_importance_summarize(m);
    FUZZ_CHECK(before.n_entries > 0);
    for (size_t i = 0; i < before.n_entries; i++) check_entry(m, i);
    for (size_t i = 0; i < before.n_datasets; i++) (void)tare_importance_dataset(m, i);
    for (int included = 0; included < 2; included++) {
        tare_importance_select(m, parts, 2, included);
        after = *tare_importance_summarize(m);
        FUZZ_CHECK(after.n_entries <= before.n_entries);
        for (size_t i = 0; i < after.n_entries; i++) check_entry(m, i);
    }
    FUZZ_CHECK(after.n_entries == 0); /* none is chosen both times */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_content content = {data, size};
    const tare_limits limits = fuzz_limits();
    tare_source sources[2];
    tare_error errors[2];
    tare_status status[2];
    fuzz_sources(sources, &content);
    for (int i = 0; i < 2; i++) {
        tare_importance *m;
        tare_open_options options = tare_open_options_default();
        tare_context context = tare_context_default();
        options.context = &context;
        context.limits = &limits;
        context.report = tare_report_new();
        status[i] = tare_importance_open(&m, &sources[i], &options, &errors[i]);
        FUZZ_CHECK((status[i] == TARE_OK) == (m != NULL));
        if (status[i] == TARE_OK)
            check_matrix(m);
        else
            fuzz_check_error(status[i], &errors[i]);
        tare_importance_free(m);
        tare_report_free(context.report);
    }
    FUZZ_CHECK(status[0] == status[1]);
    if (status[0] != TARE_OK) FUZZ_CHECK(fuzz_same_error(&errors[0], &errors[1]));
    return 0;
}
