/* SPDX-License-Identifier: MIT
 *
 * The record of tensors that were packed with loss, written: docs/wcodec.md, 14. */
#include "model/lossy_record.h"

#include <inttypes.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/str.h"
#include "model/value.h"

float tare_lossy_factor(int quarters) {
    static const float parts[] = {1.0f, 0x1.306fe0p+0f, 0x1.6a09e6p+0f, 0x1.ae89fap+0f};
    const int octaves = (quarters + 64) / 4 - 16;
    const float part = parts[(quarters + 64) % 4];
    return octaves < 0 ? part / (float)(1 << -octaves) : part * (float)(1 << octaves);
}

/* Numbers as JSON has them, whatever the locale. */
static void put_number(tare_buffer *b, const char *name, double v) {
    const size_t from = b->size;
    tare_buffer_printf(b, ",\"%s\":%.16g", name, v);
    for (size_t i = from + 1; !b->failed && i < b->size; i++)
        if (b->data[i] == ',') b->data[i] = '.';
}

static void put_columns(tare_buffer *b, const int8_t *columns, uint64_t n) {
    tare_buffer_put_text(b, ",\"columns\":\"");
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t c = (uint8_t)('0' + columns[i] + 32);
        if (c == '\\') tare_buffer_put_u8(b, '\\');
        tare_buffer_put_u8(b, c);
    }
    tare_buffer_put_u8(b, '"');
}

static void put_record(tare_buffer *b, const tare_lossy *lossy, const tare_lossy_tensor *tensors,
                       const uint64_t *cols, size_t n) {
    char hex[2 * sizeof lossy->source + 1];
    tare_hex(hex, lossy->source, sizeof lossy->source);
    tare_buffer_put_text(b, "{\"version\":1,\"container\":");
    tare_buffer_put_json(b, lossy->container);
    tare_buffer_put_text(b, ",\"method\":");
    tare_buffer_put_json(b, lossy->method);
    if (lossy->target_bpw > 0) put_number(b, "target_bpw", lossy->target_bpw);
    if (lossy->target_bytes > 0) put_number(b, "target_bytes", lossy->target_bytes);
    if (lossy->target_damage > 0) put_number(b, "target_damage", lossy->target_damage);
    put_number(b, "lambda", lossy->lambda);
    put_number(b, "damage", lossy->damage);
    tare_buffer_printf(b, ",\"is_weighted\":%s,\"source\":\"%s\",\"tensors\":[",
                       lossy->is_weighted ? "true" : "false", hex);
    for (size_t i = 0; i < n; i++) {
        const tare_lossy_tensor *t = &tensors[i];
        tare_buffer_printf(b, "%s{\"tensor\":%zu,\"type\":\"%s\"", i ? "," : "", t->tensor,
                           tare_encoding_get(t->type)->name);
        if (t->step > 0) tare_buffer_printf(b, ",\"step\":%" PRIu32, tare_f32_bits(t->step));
        if (t->columns) put_columns(b, t->columns, cols[i]);
        tare_buffer_put_u8(b, '}');
    }
    tare_buffer_put_text(b, "]}");
}

tare_status tare_lossy_record(tare_metadata *out, const tare_lossy *lossy,
                              const tare_lossy_tensor *tensors, const uint64_t *cols, size_t n,
                              tare_arena *arena, tare_error *err) {
    tare_buffer b;
    tare_buffer_init(&b, arena->allocator);
    put_record(&b, lossy, tensors, cols, n);
    return tare_metadata_take_text(out, TARE_STR(TARE_LOSSY_KEY), &b, "record of the loss", arena,
                                   err);
}
