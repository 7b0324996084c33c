/* SPDX-License-Identifier: MIT
 *
 * Sets of shards without an index: the name of a member says how many there are, and what the
 * others are called (model-00001-of-00003.safetensors). */
#include "base/str.h"
#include "format/safetensors/safetensors.h"

/* A run of 5 to 9 digits at the end of *text, which is cut off. */
static bool cut_number(tare_str *text, uint32_t *number, int *width) {
    size_t n = 0;
    while (n < 9 && n < text->len && text->ptr[text->len - n - 1] >= '0' &&
           text->ptr[text->len - n - 1] <= '9') {
        n++;
    }
    text->len -= n;
    *number = 0;
    *width = (int)n;
    for (size_t i = 0; i < n; i++) {
        *number = *number * 10 + (uint32_t)(text->ptr[text->len + i] - '0');
    }
    return n >= 5;
}

static bool cut_suffix(tare_str *text, const char *suffix) {
    tare_str s = tare_str_of(suffix);
    if (!tare_str_ends(*text, s)) return false;
    text->len -= s.len;
    return true;
}

bool tare_safetensors_parse_shard_name(tare_safetensors_shard_name *out, tare_str name) {
    int width;
    if (!cut_suffix(&name, TARE_SAFETENSORS_SUFFIX) ||
        !cut_number(&name, &out->count, &out->width) || !cut_suffix(&name, "-of-") ||
        !cut_number(&name, &out->number, &width) || !cut_suffix(&name, "-")) {
        return false;
    }
    out->stem = name;
    return width == out->width && out->number >= 1 && out->number <= out->count;
}

tare_status tare_safetensors_open_numbered(tare_model *m, tare_safetensors_layout *layout,
                                           const char *directory,
                                           const tare_safetensors_shard_name *name,
                                           const tare_format *format,
                                           const tare_open_options *options, tare_error *err) {
    TARE_TRY(tare_safetensors_make_shards(m, layout, name->count, err));
    for (uint32_t i = 0; i < name->count; i++) {
        tare_buffer text;
        tare_buffer_init(&text, m->allocator);
        tare_buffer_printf(&text, "%.*s-%0*u-of-%0*u" TARE_SAFETENSORS_SUFFIX, (int)name->stem.len,
                           name->stem.ptr, name->width, i + 1, name->width, name->count);
        tare_status status = tare_buffer_status(&text, err);
        if (status == TARE_OK) {
            tare_str member = {(const char *)text.data, text.size};
            status =
                tare_safetensors_open_shard(m, layout, i, directory, member, options->map, err);
        }
        tare_buffer_free(&text);
        TARE_TRY(status);
    }
    return tare_safetensors_load(m, layout, format, options->context->report, err);
}
