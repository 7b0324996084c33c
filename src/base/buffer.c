/* SPDX-License-Identifier: MIT
 *
 * A growing run of bytes with a latched failure. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/str.h"

void tare_buffer_init(tare_buffer *b, const tare_allocator *allocator) {
    *b = (tare_buffer){.allocator = allocator};
}

void tare_buffer_free(tare_buffer *b) {
    tare_free(b->allocator, b->data, b->capacity);
    tare_buffer_init(b, b->allocator);
}

void tare_buffer_reserve(tare_buffer *b, size_t n) {
    if (b->failed || n <= b->capacity) return;
    void *data = tare_resize(b->allocator, b->data, b->capacity, n);
    b->failed = !data;
    if (!data) return;
    b->data = data;
    b->capacity = n;
}

uint8_t *tare_buffer_extend(tare_buffer *b, size_t n) {
    void *data = b->data;
    if (b->failed || n > SIZE_MAX - b->size ||
        !tare_grow(b->allocator, &data, &b->capacity, b->size + n, 1)) {
        b->failed = true;
        return NULL;
    }
    b->data = data;
    uint8_t *p = b->data ? b->data + b->size : NULL;
    b->size += n;
    return p;
}

void tare_buffer_put(tare_buffer *b, const void *bytes, size_t n) {
    if (n == 0) return;
    uint8_t *p = tare_buffer_extend(b, n);
    if (p) memcpy(p, bytes, n);
}

void tare_buffer_put_str(tare_buffer *b, tare_str text) {
    tare_buffer_put(b, text.ptr, text.len);
}

void tare_buffer_put_text(tare_buffer *b, const char *text) {
    tare_buffer_put(b, text, strlen(text));
}

void tare_buffer_put_u8(tare_buffer *b, uint8_t v) {
    tare_buffer_put(b, &v, 1);
}

void tare_buffer_put_u32(tare_buffer *b, uint32_t v, bool is_big_endian) {
    uint8_t *p = tare_buffer_extend(b, 4);
    if (p) tare_store_u32(p, v, is_big_endian);
}

void tare_buffer_put_u64(tare_buffer *b, uint64_t v, bool is_big_endian) {
    uint8_t *p = tare_buffer_extend(b, 8);
    if (p) tare_store_u64(p, v, is_big_endian);
}

void tare_buffer_put_zeros(tare_buffer *b, size_t n) {
    if (n == 0) return;
    uint8_t *p = tare_buffer_extend(b, n);
    if (p) memset(p, 0, n);
}

void tare_buffer_printf(tare_buffer *b, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    /* vsnprintf needs room for the NUL, which is given back afterwards. */
    char *p = n < 0 ? NULL : (char *)tare_buffer_extend(b, (size_t)n + 1);
    if (p) {
        vsnprintf(p, (size_t)n + 1, format, again);
        b->size--;
    } else {
        b->failed = true;
    }
    va_end(again);
}

tare_status tare_buffer_status(const tare_buffer *b, tare_error *err) {
    return b->failed ? tare_fail(err, TARE_ERR_NOMEM, "buffer") : TARE_OK;
}

tare_status tare_buffer_text(tare_str *out, const tare_buffer *b, tare_arena *arena,
                             tare_error *err) {
    TARE_TRY(tare_buffer_status(b, err));
    *out = tare_arena_str(arena, (tare_str){(const char *)b->data, b->size});
    return out->ptr ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "text");
}
