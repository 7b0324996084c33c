/* SPDX-License-Identifier: MIT
 *
 * Resources as a JSON text, for containers that are one file: one member a resource, with its bytes
 * as a text where they are UTF-8, else in base64 (RFC 4648, section 4). */
#include "base/arith.h"
#include "base/json.h"
#include "base/str.h"
#include "format/resources.h"

/* ---- base64 ---------------------------------------------------------------------------------- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_base64(tare_buffer *out, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i < 3 ? n - i : 3;
        uint32_t group = (uint32_t)bytes[i] << 16;
        if (left > 1) group |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2) group |= bytes[i + 2];
        char four[4] = {digits[group >> 18], digits[group >> 12 & 63], digits[group >> 6 & 63],
                        digits[group & 63]};
        if (left < 3) four[3] = '=';
        if (left < 2) four[2] = '=';
        tare_buffer_put(out, four, 4);
    }
}

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes into bytes (3/4 of the text's length); false: it is not base64. Padding and zero spare
 * bits are required, so that every byte string has exactly one text. */
static bool get_base64(uint8_t *bytes, size_t *n, tare_str text) {
    size_t end = text.len;
    *n = 0;
    if (end % 4 != 0) return false;
    while (end > 0 && text.len - end < 2 && text.ptr[end - 1] == '=') end--;
    uint32_t bits = 0, n_bits = 0;
    for (size_t i = 0; i < end; i++) {
        int digit = base64_digit(text.ptr[i]);
        if (digit < 0) return false;
        bits = bits << 6 | (uint32_t)digit;
        n_bits += 6;
        if (n_bits < 8) continue;
        n_bits -= 8;
        bytes[(*n)++] = (uint8_t)(bits >> n_bits);
        bits &= (1U << n_bits) - 1;
    }
    return bits == 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct resource_walk {
    tare_json j;
    tare_arena *arena;  /* of the result */
    tare_arena scratch; /* unescaped texts */
} resource_walk;

static bool no_memory(resource_walk *w) {
    return tare_json_fail(&w->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "resources");
}

static bool take_bytes(resource_walk *w, tare_resource_entry *r, const tare_json_value *value,
                       bool is_base64) {
    tare_str text = tare_json_text(value, &w->scratch);
    if (!text.ptr) return no_memory(w);
    size_t n = is_base64 ? text.len / 4 * 3 : text.len;
    uint8_t *bytes = tare_arena_take(w->arena, n);
    if (!bytes) return no_memory(w);
    if (!is_base64) {
        memcpy(bytes, text.ptr, n);
    } else if (!get_base64(bytes, &n, text)) {
        return tare_json_fail(&w->j, TARE_ERR_CORRUPT, value->offset, "resources: not base64");
    }
    r->bytes = bytes;
    r->info.size = n;
    return true;
}

/* The value of one member: an object with "text" or "base64". */
static bool take_resource(resource_walk *w, const tare_json_value *name, tare_resource_entry *r) {
    tare_json_value object, key, value;
    tare_str text = tare_json_text(name, &w->scratch);
    r->info.name = text.ptr ? tare_arena_str(w->arena, text) : text;
    if (!r->info.name.ptr) return no_memory(w);
    bool is_good = tare_json_next(&w->j, &object) == TARE_JSON_OBJECT &&
                   tare_json_key(&w->j, &key) != TARE_JSON_END &&
                   tare_json_next(&w->j, &value) == TARE_JSON_STRING;
    bool is_base64 = is_good && tare_json_is(&key, "base64");
    if (!is_good || !(is_base64 || tare_json_is(&key, "text"))) {
        return tare_json_fail(&w->j, TARE_ERR_CORRUPT, name->offset,
                              "resources: {\"text\": ...} or {\"base64\": ...} expected");
    }
    if (!take_bytes(w, r, &value, is_base64)) return false;
    if (tare_json_key(&w->j, &key) == TARE_JSON_END) return w->j.err.status == TARE_OK;
    return tare_json_fail(&w->j, TARE_ERR_CORRUPT, key.offset, "resources: one member expected");
}

/* How many members the text's object has; proves it to be JSON. */
static tare_status count_members(tare_str text, size_t *n, tare_error *err) {
    tare_json j;
    tare_json_value value, key;
    tare_json_init(&j, text, 0, 2);
    if (tare_json_begin(&j, &value) != TARE_JSON_OBJECT) {
        tare_json_fail(&j, TARE_ERR_CORRUPT, value.offset, "resources: object expected");
    }
    for (*n = 0; tare_json_key(&j, &key) != TARE_JSON_END; ++*n) {
        tare_json_next(&j, &value);
        tare_json_skip(&j, &value, NULL);
    }
    tare_json_finish(&j);
    return tare_json_status(&j, err);
}

tare_status tare_resources_from_json(tare_resource_entry **out, size_t *n, tare_str text,
                                     tare_arena *arena, tare_error *err) {
    size_t count;
    TARE_TRY(count_members(text, &count, err));
    tare_resource_entry *list = TARE_NEW_ARRAY(arena, tare_resource_entry, count);
    if (!list) return tare_fail(err, TARE_ERR_NOMEM, "resources");

    resource_walk w = {.arena = arena};
    tare_json_value value, name;
    tare_arena_init(&w.scratch, arena->allocator);
    tare_json_init(&w.j, text, 0, 2);
    tare_json_begin(&w.j, &value);
    for (size_t i = 0; i < count; i++) {
        tare_json_key(&w.j, &name);
        if (!take_resource(&w, &name, &list[i])) break;
    }
    tare_arena_free(&w.scratch);
    TARE_TRY(tare_json_status(&w.j, err));
    *out = list;
    *n = count;
    return TARE_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_resource(tare_buffer *out, tare_str name, tare_str bytes) {
    tare_buffer_put_json(out, name);
    if (tare_str_is_utf8(bytes)) {
        tare_buffer_put_text(out, ":{\"text\":");
        tare_buffer_put_json(out, bytes);
        tare_buffer_put_u8(out, '}');
    } else {
        tare_buffer_put_text(out, ":{\"base64\":\"");
        put_base64(out, (const uint8_t *)bytes.ptr, bytes.len);
        tare_buffer_put_text(out, "\"}");
    }
}

/* A resource that lies in a file, through a buffer of its size. */
static tare_status put_file_resource(tare_buffer *out, const tare_resource_entry *r,
                                     const tare_model *source, tare_error *err) {
    size_t size;
    if (!tare_size_of_u64(r->info.size, &size)) return tare_fail(err, TARE_ERR_LIMIT, "resource");
    char *bytes = tare_alloc(out->allocator, size);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "resource");
    const tare_reader *reader = &source->files[r->file].reader;
    tare_status status = tare_reader_read(reader, r->offset, bytes, size, err);
    if (status == TARE_OK) put_resource(out, r->info.name, (tare_str){bytes, size});
    tare_free(out->allocator, bytes, size);
    return status;
}

tare_status tare_resources_to_json(tare_buffer *out, const tare_resource_entry *resources, size_t n,
                                   const tare_model *source, tare_error *err) {
    tare_buffer_put_u8(out, '{');
    for (size_t i = 0; i < n; i++) {
        const tare_resource_entry *r = &resources[i];
        if (i > 0) tare_buffer_put_u8(out, ',');
        if (!tare_str_is_utf8(r->info.name)) {
            tare_fail(err, TARE_ERR_UNSUPPORTED, "resource: its name is not UTF-8");
            tare_error_item(err, TARE_ITEM_RESOURCE, (int64_t)i, r->info.name);
            return TARE_ERR_UNSUPPORTED;
        }
        if (r->bytes) {
            put_resource(out, r->info.name,
                         (tare_str){(const char *)r->bytes, (size_t)r->info.size});
        } else {
            TARE_TRY(put_file_resource(out, r, source, err));
        }
    }
    tare_buffer_put_u8(out, '}');
    return tare_buffer_status(out, err);
}
