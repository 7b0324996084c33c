/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: files of a .wcodec of any bytes are read through a view with a place, or are the same
 * however they are read: in order, and piece by piece from the end. */
#include <stdlib.h>
#include <string.h>

#include <tare/experimental/views.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "format/wcodec/wcodec_index.h"
#include "fuzz_check.h"

enum { MOST = 1 << 18, MOST_FILES = 8, STEP = 5000 };

static void read_file(tare_view *view, size_t i, uint64_t n_bytes) {
    const size_t n = n_bytes < MOST ? (size_t)n_bytes : MOST;
    uint8_t *whole = malloc(n + 1), step[STEP];
    FUZZ_CHECK(whole);
    tare_error err = TARE_ERROR_NONE;
    const tare_status status = tare_view_read(whole, view, i, 0, n, &err);
    FUZZ_CHECK(status == TARE_OK || (err.what && err.what[0]));
    for (size_t end = n; end > 0;) {
        const size_t begin = end > STEP ? end - STEP : 0;
        const tare_status s = tare_view_read(step, view, i, begin, end - begin, &err);
        FUZZ_CHECK(status != TARE_OK || s == TARE_OK);
        FUZZ_CHECK(status != TARE_OK || memcmp(step, whole + begin, end - begin) == 0);
        end = begin;
    }
    if (n_bytes) (void)tare_view_read(step, view, i, n_bytes - 1, 1, &err);
    free(whole);
}

static void read_files(const uint8_t *data, size_t size) {
    tare_view_options o = tare_view_options_default();
    tare_context context = tare_context_default();
    tare_source source = tare_source_default();
    tare_view_file file = tare_view_file_default();
    tare_view *view;
    tare_error err = TARE_ERROR_NONE;
    o.context = &context;
    context.threads = 1;
    o.no_ahead = true;
    source.kind = TARE_SOURCE_MEMORY;
    source.memory = data;
    source.n_bytes = size;
    FUZZ_CHECK(tare_view_new(&view, &o, &err) == TARE_OK);
    const tare_status status = tare_view_add_packed(view, "", &source, NULL, &err);
    FUZZ_CHECK(status == TARE_OK || (err.what && err.what[0]));
    for (size_t i = 0; status == TARE_OK && i < MOST_FILES && tare_view_at(&file, view, i); i++)
        if (file.kind == TARE_VIEW_FILE) read_file(view, i, file.n_bytes);
    tare_view_free(view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tare_limits limits = tare_limits_default();
    uint64_t offset, n;
    if (size < TARE_WCODEC_HEADER ||
        tare_wcodec_find_index(&offset, &n, data, size, &limits, NULL) != TARE_OK)
        return 0;
    uint8_t *copy = malloc(size);
    FUZZ_CHECK(copy);
    memcpy(copy, data, size);
    uint32_t crc = tare_crc32(tare_crc32(0, copy, TARE_WCODEC_HEADER), copy + offset, (size_t)n);
    tare_store_le32(copy + offset + n + 16, crc);
    read_files(copy, size);
    free(copy);
    return 0;
}
