/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the texts by which tare carries what a container lacks. The first byte chooses: the
 * input is the tare.carried record of a small GGUF (tensors under stand-in types), or the
 * tare.metadata text of a small safetensors file (typed keys). Whatever they say, the file opens or
 * is refused with a place, and what opens can be read. */
#include "base/buffer.h"
#include "open_input.h"

static void put_text(tare_buffer *b, tare_str text) {
    tare_buffer_put_u64(b, text.len, false);
    tare_buffer_put_str(b, text);
}

static void put_literal(tare_buffer *b, const char *text) {
    tare_buffer_put_u64(b, (uint64_t)__builtin_strlen(text), false);
    tare_buffer_put_text(b, text);
}

static void put_info(tare_buffer *b, const char *name, uint64_t cols, uint32_t type,
                     uint64_t offset) {
    put_literal(b, name);
    tare_buffer_put_u32(b, 1, false);
    tare_buffer_put_u64(b, cols, false);
    tare_buffer_put_u32(b, type, false);
    tare_buffer_put_u64(b, offset, false);
}

/* A GGUF with the record as its only key and tensors of 64 bytes: I8, I16 and F32. */
static void put_gguf(tare_buffer *b, tare_str record) {
    tare_buffer_put_text(b, "GGUF");
    tare_buffer_put_u32(b, 3, false);
    tare_buffer_put_u64(b, 3, false);
    tare_buffer_put_u64(b, 1, false);
    put_literal(b, "tare.carried");
    tare_buffer_put_u32(b, TARE_VALUE_STRING, false);
    put_text(b, record);
    put_info(b, "a", 64, 24, 0);
    put_info(b, "b", 32, 25, 64);
    put_info(b, "c", 16, 0, 128);
    tare_buffer_put_zeros(b, (32 - b->size % 32) % 32 + 192);
}

/* A safetensors file with the text under tare.metadata and one tensor. */
static void put_safetensors(tare_buffer *b, const tare_allocator *a, tare_str text) {
    tare_buffer header;
    tare_buffer_init(&header, a);
    tare_buffer_put_text(&header, "{\"__metadata__\":{\"tare.metadata\":");
    tare_buffer_put_json(&header, text);
    tare_buffer_put_text(&header,
                         "},\"a\":{\"dtype\":\"U8\",\"shape\":[64],\"data_offsets\":[0,64]}}");
    tare_buffer_put_u64(b, header.size, false);
    tare_buffer_put(b, header.data, header.size);
    tare_buffer_put_zeros(b, 64);
    tare_buffer_free(&header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || size > 65536) return 0;
    const tare_str text = {(const char *)data + 1, size - 1};
    bool is_gguf = data[0] % 2 == 0;
    tare_buffer b;
    tare_buffer_init(&b, NULL);
    if (is_gguf) {
        put_gguf(&b, text);
    } else {
        put_safetensors(&b, NULL, text);
    }
    FUZZ_CHECK(tare_buffer_status(&b, NULL) == TARE_OK);
    fuzz_read(b.data, b.size, is_gguf ? "gguf" : "safetensors");
    tare_buffer_free(&b);
    return 0;
}
