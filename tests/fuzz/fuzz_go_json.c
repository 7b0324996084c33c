/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: tokenizer_config.json with a template of chats, apart at the first byte 0x1E. What
 * is written is read again and then stays as it is: the first time a byte of the template that is
 * no UTF-8 stands as an escape, later as the character. */
#include <string.h>

#include "base/buffer.h"
#include "format/mcf/mcf.h"
#include "fuzz_check.h"

static bool merge(tare_buffer *out, tare_str config, tare_str chat) {
    tare_arena arena;
    tare_error err = TARE_ERROR_NONE;
    tare_arena_init(&arena, NULL);
    tare_buffer_init(out, NULL);
    tare_status s = tare_mcf_merge_template(out, config, chat, &arena, &err);
    FUZZ_CHECK(s == TARE_OK || err.what != NULL);
    tare_arena_free(&arena);
    return s == TARE_OK;
}

static tare_str text_of(const tare_buffer *b) {
    return (tare_str){(const char *)b->data, b->size};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *mark = size ? memchr(data, 0x1e, size) : NULL;
    size_t n = mark ? (size_t)(mark - data) : size;
    tare_str config = {n ? (const char *)data : "", n}, chat = {"", 0};
    if (mark) chat = (tare_str){(const char *)mark + 1, size - n - 1};
    tare_buffer first, second, third;
    bool is_read = merge(&first, config, chat);
    if (is_read && first.size > 0) {
        FUZZ_CHECK(merge(&second, text_of(&first), chat));
        FUZZ_CHECK(merge(&third, text_of(&second), chat));
        FUZZ_CHECK(second.size == third.size);
        FUZZ_CHECK(memcmp(second.data, third.data, third.size) == 0);
        tare_buffer_free(&second);
        tare_buffer_free(&third);
    }
    tare_buffer_free(&first);
    return 0;
}
