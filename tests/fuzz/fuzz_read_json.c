/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the JSON reader, strict and as Python writes. A text is refused with a place inside it, or walked twice (token
 * by token, and skipped as a whole) to the same end; strings survive being written and read. */
#include <string.h>

#include "base/buffer.h"
#include "base/json.h"
#include "base/str.h"
#include "fuzz_check.h"

#define MAX_DEPTH 64

static void check_value(const tare_json *j, const tare_json_value *v) {
    FUZZ_CHECK(v->raw.ptr >= j->base && v->raw.ptr + v->raw.len <= j->end);
    FUZZ_CHECK(v->offset == j->base_offset + (uint64_t)(v->raw.ptr - j->base));
}

/* What was read from a string and written again reads as the same. */
static void check_string(const tare_json_value *v) {
    tare_arena arena;
    tare_buffer out;
    tare_arena_init(&arena, NULL);
    tare_buffer_init(&out, NULL);
    tare_str text = tare_json_text(v, &arena);
    FUZZ_CHECK(text.ptr != NULL && tare_str_is_utf8(text));
    tare_buffer_put_json(&out, text);
    tare_json again;
    tare_json_value value;
    tare_json_init(&again, (tare_str){(const char *)out.data, out.size}, 0, 1);
    FUZZ_CHECK(tare_json_begin(&again, &value) == TARE_JSON_STRING && tare_json_finish(&again));
    FUZZ_CHECK(tare_str_equal(tare_json_text(&value, &arena), text));
    tare_buffer_free(&out);
    tare_arena_free(&arena);
}

static void check_scalar(const tare_json_value *v) {
    uint64_t u;
    int64_t i;
    double f;
    if (v->type == TARE_JSON_STRING) check_string(v);
    if (v->type != TARE_JSON_NUMBER) return;
    if (tare_json_u64(v, &u) && u <= INT64_MAX) {
        FUZZ_CHECK(tare_json_i64(v, &i) && i == (int64_t)u);
    }
    tare_json_f64(v, &f);
}

static void walk(tare_json *j, const tare_json_value *container, unsigned depth) {
    tare_json_value key, v;
    FUZZ_CHECK(depth <= MAX_DEPTH);
    for (;;) {
        if (container->type == TARE_JSON_OBJECT) {
            if (tare_json_key(j, &key) == TARE_JSON_END) return;
            check_value(j, &key);
            check_string(&key);
        }
        if (tare_json_next(j, &v) == TARE_JSON_END) return;
        check_value(j, &v);
        check_scalar(&v);
        if (v.type == TARE_JSON_OBJECT || v.type == TARE_JSON_ARRAY) walk(j, &v, depth + 1);
    }
}

static bool is_container(const tare_json_value *v) {
    return v->type == TARE_JSON_OBJECT || v->type == TARE_JSON_ARRAY;
}

typedef void (*begin)(tare_json *j, tare_str text, uint64_t base_offset, uint32_t max_depth);

static tare_status check(tare_str text, begin init) {
    const uint64_t base = 8;
    tare_json j, skipped;
    tare_json_value v;
    tare_error err = {0}, err_skipped = {0};

    init(&j, text, base, MAX_DEPTH);
    if (tare_json_begin(&j, &v) != TARE_JSON_END) {
        check_value(&j, &v);
        check_scalar(&v);
        if (is_container(&v)) walk(&j, &v, 1);
        tare_json_finish(&j);
    }
    init(&skipped, text, base, MAX_DEPTH);
    if (tare_json_begin(&skipped, &v) != TARE_JSON_END) {
        tare_str raw = v.raw;
        if (is_container(&v)) tare_json_skip(&skipped, &v, &raw);
        tare_json_finish(&skipped);
    }
    tare_status status = tare_json_status(&j, &err);
    FUZZ_CHECK(tare_json_status(&skipped, &err_skipped) == status);
    if (status != TARE_OK) {
        FUZZ_CHECK(err.offset == err_skipped.offset);
        FUZZ_CHECK(err.offset >= base && err.offset <= base + text.len);
    }
    return status;
}

/* What is JSON to the letter is also what Python writes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tare_str text = {size ? (const char *)data : "", size};
    const tare_status strict = check(text, tare_json_init),
                      python = check(text, tare_json_init_python);
    FUZZ_CHECK(strict != TARE_OK || python == TARE_OK);
    return 0;
}
