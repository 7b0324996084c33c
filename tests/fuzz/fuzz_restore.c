/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the way back from GGUF to Hugging Face. A file that opens is refused with a text, or
 * restored: its .json files are JSON, and every tensor can be read. What is lost is reported. */
#include <string.h>

#include "base/str.h"
#include "llama/config.h"
#include "model/catalog.h"
#include "open_input.h"
#include "support/visit.h"

static void check_files(const tare_model *m) {
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    FUZZ_CHECK(tare_model_find_resource(m, TARE_STR("config.json")) >= 0);
    for (size_t i = 0; i < m->catalog.n_resources; i++) {
        const tare_resource_entry *r = &m->catalog.resources[i];
        const tare_llama_node *root;
        if (!tare_str_ends(r->info.name, TARE_STR(".json"))) continue;
        FUZZ_CHECK(r->bytes && r->info.size > 0);
        FUZZ_CHECK(tare_llama_json_read(&root,
                                        (tare_str){(const char *)r->bytes, (size_t)r->info.size},
                                        &arena, NULL) == TARE_OK);
    }
    tare_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tare_llama_restore_options options = TARE_LLAMA_RESTORE_OPTIONS_INIT;
    tare_error err = TARE_ERROR_NONE;
    tare_model *gguf = fuzz_open(data, size, "gguf"), *m;
    if (gguf == NULL) return 0;
    const bool is_truncated = tare_model_summarize(gguf)->is_truncated;
    options.report = tare_report_new();
    tare_status status = tare_llama_restore(&m, gguf, &options, &err);
    FUZZ_CHECK((status == TARE_OK) == (m != NULL));
    if (status == TARE_OK) {
        check_files(m);
        status = visit_model(m);
        FUZZ_CHECK(status == TARE_OK || (status == TARE_ERR_TRUNCATED && is_truncated));
        FUZZ_CHECK((m->loss.code != NULL) ==
                   (tare_report_count_level(options.report, TARE_LEVEL_WARNING) > 0));
        tare_model_free(m);
    } else {
        fuzz_check_error(status, &err);
    }
    tare_report_free(options.report);
    tare_model_free(gguf);
    return 0;
}
