/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the way back from GGUF to Hugging Face. A file that opens is refused with a text, or
 * restored: its .json files are JSON, and every tensor can be read. What is lost is reported. After
 * "PAIR" and the size of a text model, 32 bits, come that and its encoder, which become one model. */
#include <string.h>

#include "base/bytes.h"
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
        const tare_json_node *root;
        if (!tare_str_ends(r->info.name, TARE_STR(".json"))) continue;
        FUZZ_CHECK(r->bytes && r->info.size > 0);
        FUZZ_CHECK(tare_json_tree(&root, (tare_str){(const char *)r->bytes, (size_t)r->info.size},
                                  &arena, NULL) == TARE_OK);
    }
    tare_arena_free(&arena);
}

static void restore(const tare_model *gguf, const tare_model *tower) {
    tare_llama_restore_options options = tare_llama_restore_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_error err = TARE_ERROR_NONE;
    tare_model *m;
    const bool is_truncated = tare_model_summarize(gguf)->is_truncated ||
                              (tower && tare_model_summarize(tower)->is_truncated);
    options.tower = tower;
    context.report = tare_report_new();
    tare_status status = tare_llama_restore(&m, gguf, &options, &err);
    FUZZ_CHECK((status == TARE_OK) == (m != NULL));
    if (status == TARE_OK) {
        check_files(m);
        status = visit_model(m);
        FUZZ_CHECK(status == TARE_OK || (status == TARE_ERR_TRUNCATED && is_truncated));
        FUZZ_CHECK((m->loss.code != NULL) ==
                   (tare_report_count_level(context.report, TARE_LEVEL_WARNING) > 0));
        tare_model_free(m);
    } else {
        fuzz_check_error(status, &err);
    }
    tare_report_free(context.report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { HEAD = 8 };
    size_t n = size;
    const bool is_pair = size >= HEAD && memcmp(data, "PAIR", 4) == 0;
    if (is_pair) {
        data += HEAD, size -= HEAD;
        n = tare_load_le32(data - 4);
        if (n > size) return 0;
    }
    tare_model *gguf = fuzz_open(data, n, "gguf");
    tare_model *tower = is_pair ? fuzz_open(data + n, size - n, "gguf") : NULL;
    if (gguf && (tower || !is_pair)) restore(gguf, tower);
    tare_model_free(tower);
    tare_model_free(gguf);
    return 0;
}
