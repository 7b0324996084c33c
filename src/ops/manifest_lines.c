/* SPDX-License-Identifier: MIT
 *
 * The lines of a manifest: one a tensor in the form of sha256sum, sorted by name. As there, a name
 * with a newline, a carriage return or a backslash is written with \n, \r and \\, and its line
 * begins with a backslash. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "model/catalog.h"
#include "ops/digest.h"

#define HEX (2 * sizeof(tare_digest)) /* characters of a SHA-256 */

static bool needs_escape(tare_str name) {
    return name.len && (memchr(name.ptr, '\n', name.len) || memchr(name.ptr, '\r', name.len) ||
                        memchr(name.ptr, '\\', name.len));
}

void tare_manifest_line(tare_buffer *line, const tare_digest *digest, tare_str name) {
    char hex[HEX + 1];
    const bool is_escaped = needs_escape(name);
    tare_hex(hex, digest->bytes, sizeof digest->bytes);
    if (is_escaped) tare_buffer_put_u8(line, '\\');
    tare_buffer_put(line, hex, HEX);
    tare_buffer_put_text(line, "  ");
    if (!is_escaped) tare_buffer_put_str(line, name);
    for (size_t i = 0; is_escaped && i < name.len; i++) {
        switch (name.ptr[i]) {
        case '\n':
            tare_buffer_put_text(line, "\\n");
            break;
        case '\r':
            tare_buffer_put_text(line, "\\r");
            break;
        case '\\':
            tare_buffer_put_text(line, "\\\\");
            break;
        default:
            tare_buffer_put_u8(line, (uint8_t)name.ptr[i]);
        }
    }
    tare_buffer_put_u8(line, '\n');
}

static int by_name(const void *a, const void *b) {
    const tare_tensor *const *x = a, *const *y = b;
    return tare_str_compare((*x)->name, (*y)->name);
}

void tare_manifest_order(const tare_tensor **order, const tare_tensor *tensors, size_t n) {
    for (size_t i = 0; i < n; i++) order[i] = &tensors[i];
    if (n) qsort(order, n, sizeof *order, by_name);
}

tare_status tare_manifest_lines(const tare_tensor *tensors, const tare_digest *digests, size_t n,
                                const tare_allocator *allocator, tare_line_fn take, void *ctx,
                                tare_error *err) {
    if (n == 0) return TARE_OK;
    const tare_tensor **order = tare_alloc(allocator, n * sizeof *order);
    if (!order) return tare_fail(err, TARE_ERR_NOMEM, "the manifest");
    tare_manifest_order(order, tensors, n);

    tare_buffer line;
    tare_buffer_init(&line, allocator);
    for (size_t i = 0; i < n; i++) {
        line.size = 0;
        tare_manifest_line(&line, &digests[order[i] - tensors], order[i]->name);
        if (line.failed) break;
        take(ctx, &line);
    }
    tare_status s = tare_buffer_status(&line, err);
    tare_buffer_free(&line);
    tare_free(allocator, order, n * sizeof *order);
    return s;
}
