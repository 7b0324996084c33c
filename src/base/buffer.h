/* SPDX-License-Identifier: MIT
 *
 * A growing run of bytes, for assembling headers. The first failure (out of memory) latches; check
 * once at the end with tare_buffer_status. */
#ifndef TARE_BASE_BUFFER_H
#define TARE_BASE_BUFFER_H

#include "base/alloc.h"

typedef struct tare_buffer {
    const tare_allocator *allocator;
    uint8_t *data;
    size_t size, capacity;
    bool failed;
} tare_buffer;

void tare_buffer_init(tare_buffer *b, const tare_allocator *allocator);
void tare_buffer_free(tare_buffer *b);
/* Room for n bytes altogether, and no more, so that up to there nothing moves. */
void tare_buffer_reserve(tare_buffer *b, size_t n);
/* n new bytes at the end, not cleared; NULL after a failure. */
uint8_t *tare_buffer_extend(tare_buffer *b, size_t n);
void tare_buffer_put(tare_buffer *b, const void *bytes, size_t n);
void tare_buffer_put_str(tare_buffer *b, tare_str text);
void tare_buffer_put_text(tare_buffer *b, const char *text);
void tare_buffer_put_u8(tare_buffer *b, uint8_t v);
void tare_buffer_put_u32(tare_buffer *b, uint32_t v, bool is_big_endian);
void tare_buffer_put_u64(tare_buffer *b, uint64_t v, bool is_big_endian);
void tare_buffer_put_zeros(tare_buffer *b, size_t n);
/* printf into the buffer; `format` is always a literal. */
void tare_buffer_printf(tare_buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A JSON string with its quotes: the escapes JSON demands and no others; bad UTF-8 bytes become
 * U+FFFD (callers that must keep them check tare_str_is_utf8 first). In json_write.c. */
void tare_buffer_put_json(tare_buffer *b, tare_str text);
tare_status tare_buffer_status(const tare_buffer *b, tare_error *err);
/* The same, and on success a copy of the bytes in an arena. */
tare_status tare_buffer_text(tare_str *out, const tare_buffer *b, tare_arena *arena,
                             tare_error *err);

#endif
