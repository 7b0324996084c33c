/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: what a server says. The input is a list of files as the hub gives it, and the same
 * bytes as lines of a header: lists are refused with a place inside them or hold sorted paths that
 * stay in the model; ranges of a header make sense or are faults. */
#include <string.h>

#include "base/str.h"
#include "fuzz_check.h"
#include "remote/hub.h"
#include "remote/response.h"

static void check_path(tare_str path) {
    FUZZ_CHECK(path.len > 0 && path.ptr[0] != '/' && !memchr(path.ptr, 0, path.len));
    for (size_t i = 0; i + 1 < path.len; i++)
        FUZZ_CHECK(memcmp(path.ptr + i, "..", 2) != 0 || (i > 0 && path.ptr[i - 1] != '/') ||
                   (i + 2 < path.len && path.ptr[i + 2] != '/'));
}

static void check_list(tare_str text) {
    const tare_limits limits = tare_limits_default();
    tare_listing list;
    tare_arena arena;
    tare_error err = {0};
    tare_arena_init(&arena, NULL);
    if (tare_hub_list_parse(&list, text, &arena, &limits, &err) == TARE_OK) {
        FUZZ_CHECK(list.commit.len == 0 || tare_hub_is_commit(list.commit));
        for (size_t i = 0; i < list.n; i++) {
            check_path(list.files[i].path);
            FUZZ_CHECK(i == 0 || tare_str_compare(list.files[i - 1].path, list.files[i].path) < 0);
        }
    } else {
        FUZZ_CHECK(err.what && (err.offset == TARE_NO_OFFSET || err.offset <= text.len));
        FUZZ_CHECK(list.n == 0);
    }
    tare_arena_free(&arena);
}

static void check_lines(tare_str text) {
    tare_response r = {.status = 0};
    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t n = end ? (size_t)(end - text.ptr) + 1 : text.len;
        tare_response_line(&r, text.ptr, n);
        text = tare_str_cut(text, n);
    }
    FUZZ_CHECK(r.status < 1000);
    FUZZ_CHECK(strlen(r.etag) < sizeof r.etag && strlen(r.commit) < sizeof r.commit);
    FUZZ_CHECK(r.fault || !r.has_range || r.first <= r.last);
    FUZZ_CHECK(r.fault || !r.has_range || !r.has_total || r.last < r.total);
    FUZZ_CHECK(tare_response_fault(&r, true) && tare_response_fault(&r, false));
    FUZZ_CHECK(tare_response_wait(&r, 0) <= 3600 || tare_response_wait(&r, 0) == UINT32_MAX);
}

static void check_page(tare_str path) {
    tare_str kind, rest;
    const char *end = path.ptr + path.len;
    if (!tare_hub_page(&kind, &rest, path)) return;
    FUZZ_CHECK(kind.ptr >= path.ptr && kind.ptr + kind.len <= rest.ptr + rest.len);
    FUZZ_CHECK(rest.ptr + rest.len == end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tare_str text = {size ? (const char *)data : "", size};
    check_list(text);
    check_lines(text);
    check_page(text);
    return 0;
}
