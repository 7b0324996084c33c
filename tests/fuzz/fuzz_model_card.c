/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: model cards, and the scalars of YAML in them. Whatever is in a README.md, reading it takes
 * memory as its size, and each text lies in memory that is its own. */
#include <string.h>

#include "base/str.h"
#include "fuzz_check.h"
#include "llama/model_card.h"
#include "llama/yaml_text.h"

/* Of a size that the arena gives a block of its own, so that a sanitizer watches its end. */
static void check_scalar(tare_str text) {
    enum { LARGE = 1 << 16 };
    char buf[LARGE + 2];
    tare_arena arena;
    if (text.len == 0 || text.len > 64) return;
    const size_t n = LARGE / text.len * text.len;
    for (size_t i = 0; i < n; i += text.len) memcpy(buf + 1 + i, text.ptr, text.len);
    for (size_t k = 0; k < 2; k++) {
        buf[0] = buf[n + 1] = k ? '"' : '\'';
        tare_arena_init(&arena, NULL);
        const tare_str is = tare_llama_yaml_text((tare_str){buf, n + 2}, &arena);
        FUZZ_CHECK(is.ptr && is.len <= 2 * (n + 2));
        FUZZ_CHECK(tare_llama_yaml_item((tare_str){buf, n + 2}) <= n + 2);
        tare_arena_free(&arena);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tare_str text = {size ? (const char *)data : "", size};
    const tare_json_node *card;
    tare_arena arena;
    tare_error err = {0};
    tare_arena_init(&arena, NULL);
    const tare_str valid = tare_llama_valid_text(text, &arena);
    FUZZ_CHECK(valid.ptr && tare_str_is_utf8(valid));
    FUZZ_CHECK(tare_llama_model_card_read(&card, valid, &arena, &err) == TARE_OK);
    tare_arena_free(&arena);
    check_scalar(text);
    return 0;
}
