/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: what an object store says. The input is a page of a list of objects, of uploads and of
 * parts, and an error: lists are refused with a place inside them or hold what they have to; texts lie within
 * the answer. */
#include "fuzz_check.h"
#include "remote/s3.h"
#include "remote/upload_list.h"
#include "remote/xml.h"

static void check_list(tare_str text) {
    const tare_limits limits = tare_limits_default();
    tare_listing list = {.n = 0};
    tare_arena arena;
    tare_str token;
    tare_error err = {0};
    tare_arena_init(&arena, NULL);
    if (tare_s3_list_parse(&list, &token, text, TARE_STR("f/"), &arena, &limits, &err) == TARE_OK) {
        for (size_t i = 0; i < list.n; i++)
            FUZZ_CHECK(tare_listing_is_path(list.files[i].path) && list.files[i].size <= INT64_MAX);
    } else {
        FUZZ_CHECK(err.what && err.offset <= text.len);
    }
    tare_listing_drop(&list);
    tare_arena_free(&arena);
}

static void check_uploads(tare_str text) {
    tare_upload_page page;
    tare_upload_parts parts = {.n = 0};
    tare_arena arena;
    tare_error err = {0};
    tare_arena_init(&arena, NULL);
    if (tare_upload_page_parse(&page, text, &arena, &err) != TARE_OK)
        FUZZ_CHECK(err.what && err.offset <= text.len);
    else
        for (size_t i = 0; i < page.n; i++)
            FUZZ_CHECK(page.entries[i].key.len && page.entries[i].id.len);
    tare_upload_page_drop(&page, &arena);
    tare_arena_free(&arena);
    if (tare_upload_parts_parse(&parts, text, &err) != TARE_OK)
        FUZZ_CHECK(err.what && err.offset <= text.len);
    else
        FUZZ_CHECK(parts.n <= text.len);
}

static void check_error(tare_str text) {
    const tare_response r = {.status = 403};
    const tare_str code = tare_s3_code(text);
    FUZZ_CHECK(code.len <= 40 && tare_s3_fault(&r, text, true) && !tare_s3_is_busy(&r, code));
}

static void check_texts(tare_str text) {
    tare_xml xml;
    tare_xml_init(&xml, text);
    for (tare_xml_event e; (e = tare_xml_next(&xml)) != TARE_XML_DONE;) {
        FUZZ_CHECK(xml.pos <= text.len && xml.depth <= TARE_XML_DEPTH);
        if (e == TARE_XML_FAULT) break;
        tare_buffer plain;
        tare_buffer_init(&plain, NULL);
        if (tare_xml_unescape(&plain, xml.text)) FUZZ_CHECK(plain.size <= xml.text.len);
        tare_buffer_free(&plain);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tare_str text = {size ? (const char *)data : "", size};
    check_list(text);
    check_uploads(text);
    check_error(text);
    check_texts(text);
    return 0;
}
