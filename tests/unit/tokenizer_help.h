/* SPDX-License-Identifier: MIT
 *
 * Reading tokenizers out of side files in memory, and asking for the keys that come of it. */
#ifndef TARE_UNIT_TOKENIZER_HELP_H
#define TARE_UNIT_TOKENIZER_HELP_H

#include "base/buffer.h"
#include "llama/tokenizer/tokenizer.h"
#include "support/side_files.h"

typedef struct key_run {
    tare_arena arena;
    tare_metadata *entries;
    size_t n;
    tare_status status;
    tare_error err;
    tare_report *report;
} key_run;

static inline void run_end(key_run *r) {
    tare_arena_free(&r->arena);
    tare_report_free(r->report);
}

static inline void run_keys(key_run *r, const side_file *files, size_t n,
                            const tare_llama_tokenizer_options *options) {
    static const tare_llama_tokenizer_options none = {0};
    *r = (key_run){.err = TARE_ERROR_NONE, .report = tare_report_new()};
    tare_arena_init(&r->arena, NULL);
    tare_model *m = model_of_files(files, n, NULL);
    assert_non_null(m);
    r->status = tare_llama_tokenizer_keys(&r->entries, &r->n, m, options ? options : &none,
                                          &r->arena, r->report, &r->err);
    tare_model_free(m); /* the entries are the arena's */
}

#define RUN(r, options, ...)                                                                       \
    run_keys(r, (const side_file[]){__VA_ARGS__},                                                  \
             sizeof((const side_file[]){__VA_ARGS__}) / sizeof(side_file), options)

static inline void assert_run(const key_run *r) {
    char line[512];
    if (r->status == TARE_OK) return;
    tare_error_format(line, sizeof line, &r->err, NULL);
    fail_msg("%s", line);
}

static inline const tare_value *key_of(const key_run *r, const char *key) {
    for (size_t i = 0; i < r->n; i++)
        if (tare_str_is(r->entries[i].key, key)) return &r->entries[i].value;
    return NULL;
}

/* All keys in their order, without "tokenizer." and "ggml.", joined by blanks. */
static inline void assert_order(const key_run *r, const char *expected) {
    char text[1024] = "";
    for (size_t i = 0; i < r->n; i++) {
        tare_str key = tare_str_cut(r->entries[i].key, strlen("tokenizer."));
        if (tare_str_starts(key, TARE_STR("ggml."))) key = tare_str_cut(key, 5);
        strcat(text, i ? " " : "");
        strncat(text, key.ptr, key.len);
    }
    assert_string_equal(text, expected);
}

static inline void assert_str(const key_run *r, const char *key, const char *expected) {
    const tare_value *v = key_of(r, key);
    assert_non_null(v);
    assert_int_equal(v->type, TARE_VALUE_STRING);
    if (!tare_str_is(v->as.s, expected))
        fail_msg("%s: %.*s, not %s", key, (int)v->as.s.len, v->as.s.ptr, expected);
}

static inline void assert_number(const key_run *r, const char *key, uint64_t expected) {
    const tare_value *v = key_of(r, key);
    uint64_t n;
    assert_non_null(v);
    assert_true(tare_value_u64(&n, v));
    assert_int_equal(n, expected);
}

/* The elements of an array as text, joined by bars: strings, or numbers as %g writes them. */
static inline void assert_array(const key_run *r, const char *key, const char *expected) {
    const tare_value *v = key_of(r, key);
    tare_array_walk walk;
    tare_value element;
    tare_buffer b;
    double number;
    assert_non_null(v);
    assert_int_equal(v->type, TARE_VALUE_ARRAY);
    tare_buffer_init(&b, NULL);
    tare_array_begin(&walk, &v->as.a);
    while (tare_array_next(&element, &walk)) {
        if (b.size) tare_buffer_put_text(&b, "|");
        if (element.type == TARE_VALUE_STRING)
            tare_buffer_put_str(&b, element.as.s);
        else if (tare_value_f64(&number, &element))
            tare_buffer_printf(&b, "%g", number);
    }
    assert_int_equal(walk.index, v->as.a.count);
    tare_buffer_put_u8(&b, 0);
    assert_string_equal((const char *)b.data, expected);
    tare_buffer_free(&b);
}

static inline bool has_finding(const key_run *r, const char *code) {
    for (size_t i = 0; i < tare_report_count(r->report); i++)
        if (strcmp(tare_report_at(r->report, i)->code, code) == 0) return true;
    return false;
}

/* A failure in a file: its status, place, and words that its text has. */
static inline void assert_fault(const key_run *r, tare_status status, const char *file,
                                uint64_t offset, const char *words) {
    assert_int_equal(r->status, status);
    assert_int_equal(r->err.item_kind, TARE_ITEM_RESOURCE);
    assert_string_equal(r->err.item_name, file);
    assert_int_equal(r->err.offset, offset);
    if (!strstr(r->err.what, words)) fail_msg("\"%s\" says nothing of \"%s\"", r->err.what, words);
    assert_int_equal(r->n, 0);
}

#endif
