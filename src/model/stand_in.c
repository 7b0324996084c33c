/* SPDX-License-Identifier: MIT
 *
 * Stand-ins, the writing side: under which type, shape and name a container stores a tensor that it
 * cannot hold as it is, and the record of that: docs/behaviour.md, "Conversion", rules (b) and (c).
 */
#include "model/stand_in.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "base/str.h"
#include "model/value.h"

bool tare_format_caps_has_name(const tare_format_caps *h, tare_str name) {
    return name.len <= h->max_name && (name.len || h->takes_empty_name) &&
           (!h->has_name || h->has_name(name));
}

bool tare_format_caps_has_rank(const tare_format_caps *h, const tare_encoding *encoding,
                               uint32_t n_dims) {
    uint32_t rank = h->rank_of ? h->rank_of(encoding) : 0;
    return n_dims <= h->max_dims && (rank == 0 || n_dims == rank);
}

bool tare_format_caps_has_shape(const tare_format_caps *h, const tare_tensor *t) {
    return tare_format_caps_has_rank(h, t->encoding, t->n_dims) &&
           !(h->lacks_empty && t->n_elements == 0) && tare_format_caps_has_name(h, t->name);
}

/* ---- encodings ------------------------------------------------------------------------------- */

const tare_encoding *tare_stand_in_encoding(const tare_format_caps *h,
                                            const tare_encoding *encoding, bool opaque) {
    /* Integers first: they are not mistaken for weights. Signed before unsigned, as in GGUF. */
    static const tare_encoding_id same_width[] = {
        TARE_ENCODING_I8,  TARE_ENCODING_U8,  TARE_ENCODING_I16, TARE_ENCODING_U16,
        TARE_ENCODING_F16, TARE_ENCODING_I32, TARE_ENCODING_U32, TARE_ENCODING_F32,
        TARE_ENCODING_I64, TARE_ENCODING_U64, TARE_ENCODING_F64,
    };
    if (opaque) return h->bytes_type;
    if (encoding->kind == TARE_KIND_BLOCK || encoding->kind == TARE_KIND_UNKNOWN) return NULL;
    const tare_plane_info *plane = &encoding->planes[0];
    for (size_t i = 0; i < sizeof same_width / sizeof *same_width; i++) {
        const tare_encoding *e = tare_encoding_get(same_width[i]);
        if (plane->unit == 1 && !encoding->is_bit_packed &&
            plane->unit_bytes == e->planes[0].unit_bytes && h->has_encoding(e))
            return e;
    }
    return h->bytes_type;
}

tare_status tare_tensor_derive(tare_tensor *t, const tare_encoding *encoding, const uint64_t *dims,
                               uint32_t n_dims, tare_arena *arena, tare_error *err) {
    uint64_t sizes[TARE_MAX_PLANES] = {0};
    uint32_t n_planes = encoding->kind == TARE_KIND_UNKNOWN ? 1 : encoding->n_planes;
    if (encoding->kind == TARE_KIND_UNKNOWN)
        sizes[0] = t->size_bytes;
    else
        TARE_TRY(tare_encoding_sizes(sizes, encoding, dims, n_dims, err));
    tare_plane *planes = TARE_NEW_ARRAY(arena, tare_plane, n_planes);
    uint64_t *own = TARE_NEW_ARRAY(arena, uint64_t, n_dims);
    if (!planes || !own) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    t->n_elements = t->n_rows = t->cols = 1;
    for (uint32_t d = 0; d < n_dims; d++) {
        own[d] = dims[d];
        t->n_elements *= dims[d];
        if (d + 1 < n_dims) t->n_rows *= dims[d];
    }
    if (n_dims) t->cols = dims[n_dims - 1];
    t->size_bytes = 0;
    for (uint32_t p = 0; p < n_planes; p++) {
        planes[p] = (tare_plane){.size = sizes[p]};
        if (!tare_add_u64(t->size_bytes, sizes[p], &t->size_bytes))
            return tare_fail(err, TARE_ERR_LIMIT, "size of the tensor");
    }
    t->encoding = encoding;
    t->n_dims = n_dims;
    t->dims = own;
    t->planes = planes;
    return TARE_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Cuts bytes off the end, whole UTF-8 characters where it is UTF-8. */
static size_t cut_text(tare_str text, size_t most) {
    if (text.len <= most) return text.len;
    while (most > 0 && ((unsigned char)text.ptr[most] & 0xC0) == 0x80) most--;
    return most;
}

/* A name that the container accepts: it is cut to the length that fits, characters that are not
 * allowed become '_', and the number distinguishes it from the others. */
static tare_status stand_in_name(tare_str *out, tare_str name, const tare_format_caps *h,
                                 size_t number, tare_arena *arena, tare_error *err) {
    char suffix[24];
    size_t n_suffix = (size_t)snprintf(suffix, sizeof suffix, "~%zu", number);
    size_t kept = h->max_name > n_suffix ? cut_text(name, h->max_name - n_suffix) : 0;
    char *text = tare_arena_take(arena, kept + n_suffix);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    if (kept) memcpy(text, name.ptr, kept);
    memcpy(text + kept, suffix, n_suffix);
    *out = (tare_str){text, kept + n_suffix};
    for (size_t i = 0; !tare_format_caps_has_name(h, *out) && i < kept; i++) {
        bool is_plain = text[i] > 0x20 && text[i] < 0x7F;
        if (!is_plain) text[i] = '_';
    }
    if (!tare_format_caps_has_name(h, *out))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "the target cannot hold the tensor's name");
    return TARE_OK;
}

/* The outer dimensions multiplied into one where there are too many, dimensions of 1 put before
 * them where there are too few. */
static uint32_t reshape(uint64_t *dims, const tare_tensor *t, const tare_format_caps *h,
                        const tare_encoding *stand_in) {
    uint32_t rank = h->rank_of ? h->rank_of(stand_in) : 0, n_dims = t->n_dims, n_added = 0;
    uint32_t most = rank ? rank : h->max_dims, n_merged = n_dims > most ? n_dims - most : 0;
    uint64_t outer = 1;
    for (; n_dims + n_added < rank; n_added++) dims[n_added] = 1;
    for (uint32_t d = 0; d < n_merged; d++) outer *= t->dims[d];
    for (uint32_t d = n_merged; d < n_dims; d++) dims[n_added + d - n_merged] = t->dims[d];
    if (n_merged) dims[0] *= outer;
    return n_dims + n_added - n_merged;
}

tare_status tare_stand_in_tensor(tare_tensor *out, const tare_tensor *t, const tare_format_caps *h,
                                 const tare_encoding *stand_in, size_t number, tare_arena *arena,
                                 tare_error *err) {
    uint64_t dims[TARE_MAX_DIMS];
    uint32_t n_dims = t->n_dims;
    tare_tensor made = *t;
    bool are_bytes = stand_in != t->encoding &&
                     (t->encoding->is_bit_packed || t->encoding->kind == TARE_KIND_BLOCK ||
                      t->encoding->kind == TARE_KIND_UNKNOWN ||
                      t->encoding->planes[0].unit_bytes != stand_in->planes[0].unit_bytes);
    if (h->lacks_empty && t->n_elements == 0) { /* a byte that is never read */
        stand_in = h->bytes_type;
        dims[0] = n_dims = 1;
    } else if (are_bytes) {
        dims[0] = t->size_bytes / stand_in->planes[0].unit_bytes;
        n_dims = 1;
    } else {
        n_dims = reshape(dims, t, h, stand_in);
    }
    TARE_TRY(tare_tensor_derive(&made, stand_in, dims, n_dims, arena, err));
    if (!tare_format_caps_has_name(h, t->name))
        TARE_TRY(stand_in_name(&made.name, t->name, h, number, arena, err));
    *out = made;
    return TARE_OK;
}

/* ---- the record ------------------------------------------------------------------------------ */

/* A name as a JSON string, or where it is not UTF-8 as {"hex":"..."}. */
static void put_name(tare_buffer *b, tare_str name) {
    if (tare_str_is_utf8(name)) {
        tare_buffer_put_json(b, name);
        return;
    }
    tare_buffer_put_text(b, "{\"hex\":\"");
    for (size_t i = 0; i < name.len; i++) {
        char hex[3];
        tare_hex(hex, (const uint8_t *)name.ptr + i, 1);
        tare_buffer_put(b, hex, 2);
    }
    tare_buffer_put_text(b, "\"}");
}

static void put_entry(tare_buffer *b, const tare_tensor *t, const tare_tensor *stored) {
    tare_buffer_put_text(b, "{\"stored\":");
    put_name(b, stored->name);
    tare_buffer_put_text(b, ",\"name\":");
    put_name(b, t->name);
    tare_buffer_printf(b, ",\"type\":\"%s\"", t->encoding->name);
    if (t->encoding->kind == TARE_KIND_UNKNOWN)
        tare_buffer_printf(b, ",\"number\":%" PRIu32, t->native_type);
    tare_buffer_put_text(b, ",\"shape\":[");
    for (uint32_t d = 0; d < t->n_dims; d++)
        tare_buffer_printf(b, "%s%" PRIu64, d ? "," : "", t->dims[d]);
    tare_buffer_put_text(b, "]}");
}

tare_status tare_stand_in_record(tare_metadata *out, const tare_tensor *const *true_tensors,
                                 const tare_tensor *const *stored, size_t n, tare_arena *arena,
                                 tare_error *err) {
    tare_buffer b;
    tare_buffer_init(&b, arena->allocator);
    tare_buffer_put_text(&b, "{\"version\":1,\"tensors\":[");
    for (size_t i = 0; i < n; i++) {
        if (i > 0) tare_buffer_put_u8(&b, ',');
        put_entry(&b, true_tensors[i], stored[i]);
    }
    tare_buffer_put_text(&b, "]}");
    return tare_metadata_take_text(out, TARE_STR(TARE_STAND_IN_KEY), &b,
                                   "record of carried tensors", arena, err);
}
