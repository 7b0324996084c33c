/* SPDX-License-Identifier: MIT
 *
 * Parts shared by files that are newly written and files that are written back: __metadata__, a
 * header with its padding, an index, texts. */
#include "base/bytes.h"
#include "base/str.h"
#include "format/safetensors/safetensors.h"

#define SIZE_BYTES TARE_SAFETENSORS_SIZE_BYTES

void tare_safetensors_put_metadata(tare_buffer *out, const tare_safetensors_pairs *pairs,
                                   bool with_ours) {
    bool is_first = true;
    for (size_t i = 0; i < pairs->n; i++) {
        const tare_safetensors_pair *p = &pairs->items[i];
        if (p->is_ours && !with_ours) continue;
        tare_buffer_put_text(out, is_first ? "\"" TARE_SAFETENSORS_METADATA "\":{" : ",");
        is_first = false;
        tare_buffer_put_json(out, p->key);
        tare_buffer_put_u8(out, ':');
        tare_buffer_put_json(out, p->value);
    }
    if (is_first && pairs->is_asked_for)
        tare_buffer_put_text(out, "\"" TARE_SAFETENSORS_METADATA "\":{}");
    if (!is_first) tare_buffer_put_u8(out, '}');
}

void tare_safetensors_put_number(tare_buffer *out, uint64_t n) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    tare_buffer_put(out, digits + at, sizeof digits - at);
}

/* Adds bytes at the start of a file. */
static tare_status add_bytes(tare_safetensors_writer *w, uint32_t file, tare_str bytes,
                             tare_error *err) {
    bytes = tare_arena_str(w->out->arena, bytes);
    if (!bytes.ptr) return tare_fail(err, TARE_ERR_NOMEM, "safetensors header");
    tare_extent extent = {.kind = TARE_EXTENT_BYTES,
                          .file = file,
                          .size = bytes.len,
                          .bytes = (const uint8_t *)bytes.ptr};
    return tare_write_plan_add(w->out, &extent, err);
}

tare_status tare_safetensors_add_header(tare_safetensors_writer *w, uint32_t file,
                                        tare_buffer *header, uint64_t size, uint64_t *data_offset,
                                        tare_error *err) {
    if (size > TARE_SAFETENSORS_MAX_HEADER) {
        return tare_fail(err, TARE_ERR_LIMIT,
                         "safetensors header: more than the 100,000,000 bytes readers accept");
    }
    size_t padding = (size_t)size + SIZE_BYTES - header->size;
    uint8_t *spaces = tare_buffer_extend(header, padding);
    TARE_TRY(tare_buffer_status(header, err));
    memset(spaces, ' ', padding);
    tare_store_le64(header->data, size);
    *data_offset = header->size;
    return add_bytes(w, file, (tare_str){(const char *)header->data, header->size}, err);
}

tare_status tare_safetensors_plan_text(tare_safetensors_writer *w, const char *name, tare_str text,
                                       tare_error *err) {
    uint32_t file;
    TARE_TRY(tare_write_plan_add_file(w->out, name, &file, err));
    w->out->files[file].size = text.len;
    return add_bytes(w, file, text, err);
}

tare_status tare_safetensors_plan_index(tare_safetensors_writer *w, const char *name,
                                        const tare_safetensors_part *parts, size_t n,
                                        tare_error *err) {
    const tare_catalog *c = w->catalog;
    const uint64_t total = tare_catalog_tensor_bytes(c);
    tare_buffer text;
    tare_buffer_init(&text, w->out->arena->allocator);
    tare_buffer_put_text(&text, "{\n  \"metadata\": {\n    \"total_size\": ");
    tare_safetensors_put_number(&text, total);
    tare_buffer_put_text(&text, "\n  },\n  \"weight_map\": {");
    for (size_t k = 0; k < n; k++) {
        for (size_t i = parts[k].first; i < parts[k].first + parts[k].n; i++) {
            tare_buffer_put_text(&text, i > 0 ? ",\n    " : "\n    ");
            tare_buffer_put_json(&text, c->tensors[i].name);
            tare_buffer_put_text(&text, ": ");
            tare_buffer_put_json(&text, tare_str_of(parts[k].name));
        }
    }
    tare_buffer_put_text(&text, "\n  }\n}\n");
    tare_status status = tare_buffer_status(&text, err);
    if (status == TARE_OK) {
        tare_str bytes = {(const char *)text.data, text.size};
        status = tare_safetensors_plan_text(w, name, bytes, err);
    }
    tare_buffer_free(&text);
    return status;
}
