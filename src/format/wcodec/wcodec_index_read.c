/* SPDX-License-Identifier: MIT
 *
 * Header, index and footer of a .wcodec, read. Nothing in them is trusted: counts must be backed by
 * enough bytes, sizes are used only after checked sums. */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/outfile_stale.h"
#include "format/wcodec/wcodec_crcs.h"
#include "format/wcodec/wcodec_index.h"
#include "format/wcodec/wcodec_records.h"
#include "model/names.h"
#include "wcodec/wc_head.h"
#include "wcodec/wc_varint.h"

enum { LAYER_FIXED = 40, BASE_FIXED = 40, FILE_FIXED = 20, COUNTS = 64 };

static const uint8_t magic[8] = {'W', 'C', 'O', 'D', 'E', 'C', 0, 0};
static const uint8_t end_magic[8] = {'W', 'C', 'O', 'D', 'E', 'C', 0, 1};

typedef struct reader {
    tare_wcodec_index *index;
    const tare_limits *limits;
    tare_arena *arena;
    tare_error *err;
    tare_cursor c;    /* of the run of records that is being read */
    uint32_t *n_lost; /* file records that were left out; NULL: none may be */
} reader;

static const char layer_ends[] = "layer: the record ends inside its fields";
static const char base_ends[] = "base: the record ends inside its fields";
static const char file_ends[] = "file: the record ends inside its fields";
static const char stream_ends[] = "stream: the record of the layer ends inside it";
static const char join_ends[] = "join: the record of the layer ends inside it";

static tare_status refuse(const reader *r, uint64_t at, const char *what) {
    return tare_fail_at(r->err, TARE_ERR_CORRUPT, at, what);
}
/* Says which record a fault is in. */
static tare_status named(const reader *r, tare_status status, const char *list, uint32_t i) {
    if (status != TARE_OK) tare_error_field(r->err, list, i, NULL, NULL);
    return status;
}

static tare_status no_memory(const reader *r) {
    return tare_fail(r->err, TARE_ERR_NOMEM, "index");
}
/* What a larger minor version has at the end of a record is not known here, and skipped. */
static tare_status end_record(const reader *r, const tare_cursor *c, const char *what) {
    if (r->index->minor || !tare_cursor_left(c)) return TARE_OK;
    return refuse(r, tare_cursor_offset(c), what);
}

/* ---- header ---------------------------------------------------------------------------------- */

tare_status tare_wcodec_find_index(uint64_t *offset, uint64_t *size,
                                   const uint8_t h[TARE_WCODEC_HEADER], uint64_t file_size,
                                   const tare_limits *limits, tare_error *err) {
    uint64_t end;
    *offset = tare_load_le64(h + 51);
    *size = tare_load_le64(h + 72);
    if (memcmp(h, magic, sizeof magic) != 0)
        return tare_fail_at(err, TARE_ERR_CORRUPT, 0, "magic: expected WCODEC");
    if (tare_load_le16(h + 8) != 1)
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, 8, "version: expected 1");
    if (!tare_wc_is_zero(h + 59, 5))
        return tare_fail_at(err, TARE_ERR_CORRUPT, 59, "header: a reserved byte is not 0");
    if (!tare_wc_is_zero(h + 84, 44))
        return tare_fail_at(err, TARE_ERR_CORRUPT, 84, "header: a reserved byte is not 0");
    if (*size > limits->metadata_bytes)
        return tare_fail_at(err, TARE_ERR_LIMIT, 72,
                            "size of the index: more bytes than metadata may have");
    bool fits = tare_add_u64(*offset, *size, &end) && tare_add_u64(end, TARE_WCODEC_FOOTER, &end);
    if (!fits || *offset % TARE_WC_LAYER_ALIGN || *offset < TARE_WCODEC_HEADER || *size < COUNTS)
        return tare_fail_at(err, TARE_ERR_CORRUPT, 51,
                            "offset of the index: expected a multiple of 128, at least 128, with "
                            "room for the index after it");
    if (end != tare_load_le64(h + 64))
        return tare_fail_at(err, TARE_ERR_CORRUPT, 64,
                            "size of the file: the index does not end there");
    if (end > file_size)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, file_size,
                            "file: ends too early, before its index");
    if (end < file_size)
        return tare_fail_at(err, TARE_ERR_CORRUPT, end, "file: bytes follow its footer");
    return TARE_OK;
}

static tare_status check_footer(const reader *r, const uint8_t *header, const uint8_t *bytes,
                                uint64_t offset, uint64_t size) {
    const uint8_t *f = bytes + size;
    uint64_t at = offset + size;
    if (memcmp(f + 24, end_magic, sizeof end_magic) != 0)
        return refuse(r, at + 24, "footer: magic: expected WCODEC");
    if (tare_load_le64(f) != offset) return refuse(r, at, "footer: not the header's offset");
    if (tare_load_le64(f + 8) != size) return refuse(r, at + 8, "footer: not the header's size");
    if (tare_load_le32(f + 20)) return refuse(r, at + 20, "footer: a reserved byte is not 0");
    uint32_t crc = tare_crc32(0, header, TARE_WCODEC_HEADER);
    if (tare_crc32(crc, bytes, (size_t)size) != tare_load_le32(f + 16))
        return tare_fail_at(r->err, TARE_ERR_CHECKSUM, at + 16,
                            "CRC-32 of header and index: does not match");
    return TARE_OK;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static tare_status read_sizes(reader *r, tare_coded_stream *p, tare_cursor *c, uint64_t *position) {
    uint64_t at = tare_cursor_offset(c);
    if (!tare_cursor_fits(c, p->n_segments, 1, at,
                          "sizes of segments: the record is too small for their number"))
        return tare_cursor_status(c, r->err);
    uint32_t *sizes = TARE_NEW_ARRAY(r->arena, uint32_t, p->n_segments);
    if (!sizes) return no_memory(r);
    p->sizes = sizes;
    p->position = *position;
    bool fits = tare_add_u64(*position, p->head_bytes, position);
    for (uint64_t i = 0; i < p->n_segments; i++) {
        at = tare_cursor_offset(c);
        uint64_t units = tare_wc_varint(c, "size of a segment: the record ends inside it, or it is "
                                           "not a number in the fewest bytes");
        TARE_TRY(tare_cursor_status(c, r->err));
        uint32_t most = tare_wc_align(TARE_WC_SEGMENT_HEADER + tare_wc_segment_bytes(p, i));
        if (units == 0 || units > most / TARE_CODED_UNIT)
            return refuse(r, at, "size of a segment: not between 1 and that of RAW");
        sizes[i] = (uint32_t)units;
        fits = fits && tare_add_u64(*position, units * TARE_CODED_UNIT, position);
    }
    return fits ? TARE_OK : refuse(r, at, "sizes of segments: their sum overflows");
}

/* A stream without high bits would look like one that is not joined. */
static tare_status read_join(const reader *r, tare_coded_stream *p, tare_cursor *c) {
    const uint64_t at = tare_cursor_offset(c);
    p->field.join.high_offset = tare_cursor_u32(c, join_ends);
    p->field.join.high_bits = tare_cursor_u8(c, join_ends);
    p->field.join.log2_values = tare_cursor_u8(c, join_ends);
    TARE_TRY(tare_cursor_status(c, r->err));
    if (!p->field.join.high_bits) return refuse(r, at + 4, "join: no high bits");
    if (p->field.join.log2_values > TARE_WC_MAX_JOIN)
        return refuse(r, at + 5, "join: size of a unit: more values than a join may have");
    const uint8_t *place = tare_cursor_take(c, p->field.join.log2_values, join_ends);
    if (!place) return tare_cursor_status(c, r->err);
    memcpy(p->field.join.place, place, p->field.join.log2_values);
    return TARE_OK;
}

static tare_status read_stream(reader *r, tare_wcodec_layer *l, unsigned i, tare_cursor *c,
                               uint64_t *position) {
    tare_coded_stream *p = &l->coded.streams[i];
    uint64_t at = tare_cursor_offset(c);
    p->field.region = tare_cursor_u8(c, stream_ends);
    p->field.value_bits = tare_cursor_u8(c, stream_ends);
    p->field.log2_segment = tare_cursor_u8(c, stream_ends);
    uint8_t flags = tare_cursor_u8(c, stream_ends);
    p->field.is_big_endian = flags & 1;
    p->field.is_packed_scales = flags >> 1 & 1;
    p->field.stride = tare_cursor_u32(c, stream_ends);
    p->field.offset = tare_cursor_u32(c, stream_ends);
    p->field.width = tare_cursor_u32(c, stream_ends);
    p->field.scale_stream = (uint8_t)(tare_cursor_u8(c, stream_ends) + 1); /* 255: none */
    p->field.scale_form = tare_cursor_u8(c, stream_ends);
    uint16_t is_joined = tare_cursor_u16(c, stream_ends);
    p->field.values_per_scale = tare_cursor_u32(c, stream_ends);
    p->head_bytes = tare_cursor_u32(c, stream_ends);
    TARE_TRY(tare_cursor_status(c, r->err));
    if (flags > 3) return refuse(r, at + 3, "stream: a reserved bit is not 0");
    if (is_joined > 1) return refuse(r, at + 18, "stream: the joined flag is neither 0 nor 1");
    if (is_joined) TARE_TRY(read_join(r, p, c));
    TARE_TRY(tare_wc_check_stream(&l->coded, i, at, r->err));
    tare_wc_measure_stream(p, l->coded.region_bytes[p->field.region]);
    return read_sizes(r, p, c, position);
}

static tare_status check_layer(const reader *r, const tare_wcodec_layer *l, uint64_t at) {
    if (l->kind >= TARE_WCODEC_KIND_COUNT) return refuse(r, at + 4, "layer: unknown kind");
    if (l->n_dims > 8 || l->coded.n_regions < 1 || l->coded.n_regions > TARE_CODED_MAX_REGIONS ||
        l->coded.n_streams > TARE_CODED_MAX_STREAMS)
        return refuse(r, at + 5,
                      "layer: expected at most 8 dimensions, 1 to 4 regions, at most 32 streams");
    if (l->kind != TARE_WCODEC_TENSOR && (l->n_dims || l->coded.n_regions != 1 || l->encoding.len))
        return refuse(r, at + 5, "layer: only tensors have dimensions and an encoding");
    if (l->base > r->index->n_bases)
        return refuse(r, at + 8, "layer: number of its base out of range");
    if (l->coded.offset % TARE_WC_LAYER_ALIGN || l->coded.size % TARE_WC_LAYER_ALIGN ||
        l->coded.offset < TARE_WCODEC_HEADER)
        return refuse(r, at + 24, "layer: its data is not at multiples of 128");
    if (!l->coded.size && l->coded.offset != TARE_WCODEC_HEADER)
        return refuse(r, at + 24, "layer: it has no data, so its offset must be 128");
    return TARE_OK;
}

static tare_status take_text(reader *r, tare_str *out, tare_cursor *c, size_t n, const char *what) {
    const uint8_t *bytes = tare_cursor_take(c, n, what);
    if (!bytes) return tare_cursor_status(c, r->err);
    *out = tare_arena_str(r->arena, (tare_str){(const char *)bytes, n});
    return out->ptr ? TARE_OK : no_memory(r);
}

/* The fields that every layer has. */
static tare_status read_layer_fields(reader *r, tare_wcodec_layer *l, tare_cursor *c, uint64_t at) {
    l->kind = tare_cursor_u8(c, layer_ends);
    l->n_dims = tare_cursor_u8(c, layer_ends);
    l->coded.n_regions = tare_cursor_u8(c, layer_ends);
    l->coded.n_streams = tare_cursor_u8(c, layer_ends);
    l->base = tare_cursor_u8(c, layer_ends);
    uint8_t flags = tare_cursor_u8(c, layer_ends);
    l->name.len = tare_cursor_u16(c, layer_ends);
    l->encoding.len = tare_cursor_u16(c, layer_ends);
    uint16_t zero = tare_cursor_u16(c, layer_ends);
    l->coded.crc = tare_cursor_u32(c, layer_ends);
    uint32_t zeros = tare_cursor_u32(c, layer_ends);
    l->coded.offset = tare_cursor_u64(c, layer_ends);
    l->coded.size = tare_cursor_u64(c, layer_ends);
    TARE_TRY(tare_cursor_status(c, r->err));
    if (flags > 1) return refuse(r, at + 9, "layer: a reserved bit is not 0");
    if (zero || zeros) return refuse(r, at + (zero ? 14 : 20), "layer: a reserved byte is not 0");
    l->is_big_endian = flags & 1;
    l->coded.has_base = l->base != 0;
    return check_layer(r, l, at);
}

static tare_status read_streams(reader *r, tare_wcodec_layer *l, tare_cursor *c, uint64_t at) {
    if (!tare_cursor_fits(c, l->coded.n_streams, TARE_WC_STREAM_RECORD, at + 7,
                          "streams of a layer: the record is too small for their number"))
        return tare_cursor_status(c, r->err);
    l->coded.streams = TARE_NEW_ARRAY(r->arena, tare_coded_stream, l->coded.n_streams);
    l->coded.records = TARE_NEW_ARRAY(r->arena, tare_wc_record, l->coded.n_streams);
    if (!l->coded.streams || !l->coded.records) return no_memory(r);
    uint64_t position = 0, end;
    for (unsigned i = 0; i < l->coded.n_streams; i++) TARE_TRY(read_stream(r, l, i, c, &position));
    TARE_TRY(tare_wcodec_crcs_read(&l->coded, c, at, r->index->minor, r->arena, r->err));
    if (r->index->minor) TARE_TRY(tare_wcodec_derivation_read(&l->derived, c, r->arena, r->err));
    l->coded.has_base |= l->derived.is_set;
    TARE_TRY(end_record(r, c, "layer: bytes after its last stream"));
    if (!tare_align_u64(position, TARE_WC_LAYER_ALIGN, &end) || end != l->coded.size)
        return refuse(r, at + 32, "layer: its size is not that of its streams");
    return tare_wc_check_cover(&l->coded, at, r->err);
}

static tare_status read_layer(reader *r, tare_wcodec_layer *l) {
    uint64_t at = tare_cursor_offset(&r->c);
    uint32_t size = tare_cursor_u32(&r->c, "layer: the records end inside it");
    if (size < LAYER_FIXED)
        return refuse(r, at, "layer: size of the record: below that of its fields");
    tare_cursor c = tare_cursor_sub(&r->c, size - 4u, "layer: its record runs past the last one");
    TARE_TRY(tare_cursor_status(&r->c, r->err));
    TARE_TRY(read_layer_fields(r, l, &c, at));
    for (unsigned i = 0; i < l->n_dims; i++)
        l->dims[i] = tare_cursor_u64(&c, "dimension: the record ends inside it");
    for (unsigned i = 0; i < l->coded.n_regions; i++) {
        l->coded.region_bytes[i] =
            tare_cursor_u64(&c, "size of a region: the record ends inside it");
        if (l->coded.region_bytes[i] >> 63)
            return refuse(r, tare_cursor_offset(&c) - 8,
                          "size of a region: larger than 2^63 bytes");
    }
    TARE_TRY(take_text(r, &l->name, &c, l->name.len, "name of a layer: the record ends inside it"));
    TARE_TRY(take_text(r, &l->encoding, &c, l->encoding.len,
                       "encoding of a layer: the record ends inside it"));
    return read_streams(r, l, &c, at);
}

typedef struct span {
    uint64_t offset, size;
} span;

static int by_offset(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->size < y->size ? -1 : x->size > y->size;
}

/* Layers' data must be contiguous from the header to the index. */
static tare_status check_spans(const reader *r, uint64_t index_offset) {
    uint32_t n = 0;
    uint64_t at = TARE_WCODEC_HEADER;
    span *spans = TARE_NEW_ARRAY(r->arena, span, r->index->n_layers);
    if (!spans) return no_memory(r);
    for (uint32_t i = 0; i < r->index->n_layers; i++) {
        const tare_wcodec_layer *l = &r->index->layers[i];
        if (l->coded.size) spans[n++] = (span){l->coded.offset, l->coded.size};
    }
    if (n) qsort(spans, n, sizeof *spans, by_offset);
    for (uint32_t i = 0; i < n; i++) {
        bool is_same = i && by_offset(&spans[i], &spans[i - 1]) == 0;
        if (is_same) continue; /* stored once */
        if (spans[i].offset != at || !tare_add_u64(at, spans[i].size, &at))
            return refuse(r, spans[i].offset, "layers: a gap or an overlap in their data");
    }
    if (at != index_offset) return refuse(r, at, "layers: their data does not end at the index");
    return TARE_OK;
}

static bool is_same_kind(const void *a, const void *b) {
    const tare_wcodec_layer *x = a, *y = b;
    return x->kind == y->kind;
}

/* Where record i stands in the run that `c` begins; it was read before. */
static uint64_t record_offset(tare_cursor c, uint32_t i) {
    for (; i > 0; i--) tare_cursor_take(&c, tare_cursor_u32(&c, "record") - 4u, "record");
    return tare_cursor_offset(&c);
}

/* Names are unique within a kind; runs of bytes may share theirs. */
static tare_status check_names(const reader *r, const tare_cursor *records) {
    const tare_wcodec_index *x = r->index;
    tare_name_index names;
    uint32_t n_metadata = 0;
    TARE_TRY(tare_name_index_init(&names, r->arena, x->n_layers, r->err));
    for (uint32_t i = 0; i < x->n_layers; i++) {
        const tare_wcodec_layer *l = &x->layers[i];
        n_metadata += l->kind == TARE_WCODEC_METADATA;
        bool is_second = l->kind != TARE_WCODEC_BYTES &&
                         tare_name_index_add(&names, x->layers, sizeof *l, i, is_same_kind) >= 0;
        if (!is_second && n_metadata < 2) continue;
        size_t fields = LAYER_FIXED + 8 * ((size_t)l->n_dims + l->coded.n_regions);
        refuse(r, record_offset(*records, i) + fields, "name of a layer: another layer has it");
        tare_error_item(r->err,
                        l->kind == TARE_WCODEC_TENSOR ? TARE_ITEM_TENSOR : TARE_ITEM_RESOURCE, -1,
                        l->name);
        return TARE_ERR_CORRUPT;
    }
    return TARE_OK;
}

static tare_status check_derivations(const reader *r, const tare_cursor *records) {
    tare_wcodec_index *x = r->index;
    for (uint32_t i = 0; i < x->n_layers; i++) {
        if (!x->layers[i].derived.is_set || tare_wcodec_derivation_check(x, i, 0, NULL) == TARE_OK)
            continue;
        const uint64_t at = record_offset(*records, i);
        return named(r, tare_wcodec_derivation_check(x, i, at, r->err), "layers", i);
    }
    return TARE_OK;
}

/* ---- bases and files ------------------------------------------------------------------------- */

static tare_status read_base(reader *r, tare_packed_base *b) {
    uint64_t at = tare_cursor_offset(&r->c);
    uint32_t size = tare_cursor_u32(&r->c, "base: the records end inside it");
    if (size < BASE_FIXED)
        return refuse(r, at, "base: size of the record: below that of its fields");
    tare_cursor c = tare_cursor_sub(&r->c, size - 4u, "base: its record runs past the last one");
    TARE_TRY(tare_cursor_status(&r->c, r->err));
    uint16_t n = tare_cursor_u16(&c, base_ends), zero = tare_cursor_u16(&c, base_ends);
    const uint8_t *digest = tare_cursor_take(&c, sizeof b->digest, base_ends);
    TARE_TRY(tare_cursor_status(&c, r->err));
    if (zero) return refuse(r, at + 6, "base: a reserved byte is not 0");
    memcpy(b->digest, digest, sizeof b->digest);
    TARE_TRY(take_text(r, &b->hint, &c, n, "hint of a base: the record ends inside it"));
    return end_record(r, &c, "base: bytes after its hint");
}

/* Relative, no part empty, "." or "..", no NUL. */
static bool is_name_good(tare_str name) {
    size_t start = 0;
    for (size_t i = 0; i <= name.len; i++) {
        if (i < name.len && name.ptr[i] == 0) return false;
        if (i < name.len && name.ptr[i] != '/') continue;
        size_t n = i - start;
        bool is_dots = (n == 1 || n == 2) && memcmp(name.ptr + start, "..", n) == 0;
        if (n == 0 || is_dots) return false;
        start = i + 1;
    }
    return true;
}

static tare_status read_range(reader *r, tare_packed_range *range, tare_cursor *c, uint32_t *layer,
                              tare_wcodec_ends *ends) {
    const tare_wcodec_index *index = r->index;
    uint64_t at = tare_cursor_offset(c);
    uint64_t number =
        *layer +
        (uint64_t)tare_wc_unzigzag(tare_wc_varint(
            c, "range: the record ends inside it, or it is not a number in the fewest bytes"));
    uint64_t region = tare_wc_varint(
        c, "range: the record ends inside it, or it is not a number in the fewest bytes");
    uint64_t skip = tare_wc_varint(
                 c, "range: the record ends inside it, or it is not a number in the fewest bytes"),
             length = tare_wc_varint(
                 c, "range: the record ends inside it, or it is not a number in the fewest bytes"),
             past;
    TARE_TRY(tare_cursor_status(c, r->err));
    if (number >= index->n_layers || region >= index->layers[number].coded.n_regions)
        return refuse(r, at, "range: number of its layer or region out of range");
    uint64_t *end = tare_wcodec_end(ends, (uint32_t)number, (uint8_t)region);
    uint64_t offset = *end + (uint64_t)tare_wc_unzigzag(skip);
    if (!length || !tare_add_u64(offset, length, &past) ||
        past > index->layers[number].coded.region_bytes[region])
        return refuse(r, at, "range: not within its region");
    *end = past;
    *layer = (uint32_t)number;
    *range = (tare_packed_range){*layer, (uint8_t)region, offset, length};
    return TARE_OK;
}

static tare_status read_file(reader *r, tare_packed_file *f, tare_wcodec_ends *ends) {
    uint64_t at = tare_cursor_offset(&r->c), total = 0;
    uint32_t size = tare_cursor_u32(&r->c, "file: the records end inside it"), layer = 0;
    if (size < FILE_FIXED)
        return refuse(r, at, "file: size of the record: below that of its fields");
    tare_cursor c = tare_cursor_sub(&r->c, size - 4u, "file: its record runs past the last one");
    TARE_TRY(tare_cursor_status(&r->c, r->err));
    uint16_t n_name = tare_cursor_u16(&c, file_ends), zero = tare_cursor_u16(&c, file_ends);
    f->size = tare_cursor_u64(&c, file_ends);
    f->n_ranges = tare_cursor_u32(&c, file_ends);
    TARE_TRY(take_text(r, &f->name, &c, n_name, "name of a file: the record ends inside it"));
    if (zero) return refuse(r, at + 6, "file: a reserved byte is not 0");
    if (!is_name_good(f->name))
        return refuse(r, at + FILE_FIXED, "name of a file: expected a relative path");
    if (!tare_cursor_fits(&c, f->n_ranges, 4, at + 16,
                          "ranges of a file: the record is too small for their number"))
        return tare_cursor_status(&c, r->err);
    f->ranges = TARE_NEW_ARRAY(r->arena, tare_packed_range, f->n_ranges);
    if (!f->ranges) return no_memory(r);
    ends->file++;
    for (uint32_t i = 0; i < f->n_ranges; i++) {
        TARE_TRY(read_range(r, &f->ranges[i], &c, &layer, ends));
        if (!tare_add_u64(total, f->ranges[i].length, &total))
            return refuse(r, at, "ranges of a file: their sum overflows");
    }
    if (r->index->minor) TARE_TRY(tare_wcodec_entry_read(&f->entry, &c, f->name, r->arena, r->err));
    if (f->entry.kind != TARE_PACKED_FILE && r->index->files_form != 2)
        return refuse(r, at, "file: only a directory has links and folders");
    if (f->entry.kind == TARE_PACKED_FOLDER && f->size)
        return refuse(r, at + 8, "file: a folder has a size");
    TARE_TRY(end_record(r, &c, "file: bytes after its last range"));
    if (total != f->size) return refuse(r, at + 8, "file: its size is not that of its ranges");
    return TARE_OK;
}

static tare_status read_files(reader *r) {
    tare_wcodec_ends ends;
    tare_wcodec_index *x = r->index;
    tare_status status = TARE_OK;
    uint32_t n_read = 0;
    if (!tare_wcodec_ends_init(&ends, x->n_layers, r->arena->allocator)) status = no_memory(r);
    for (uint32_t i = 0; status == TARE_OK && i < x->n_files; i++) {
        status = named(r, read_file(r, &x->files[n_read], &ends), "files", i);
        n_read += status == TARE_OK;
        if (r->n_lost && tare_status_is_loss(status)) {
            ++*r->n_lost;
            x->files[n_read] = (tare_packed_file){.size = 0};
            status = TARE_OK;
        }
    }
    tare_wcodec_ends_free(&ends);
    if (status == TARE_OK) x->n_files = n_read;
    return status;
}

/* Whether one of the folders of a path is a link: what is written there could end up anywhere.
 * Paths of more folders are never written. */
static bool lies_behind_link(const tare_wcodec_index *x, const tare_name_index *names,
                             tare_str path) {
    unsigned n_folders = 0;
    for (size_t n = 0; n < path.len && n_folders < TARE_FOLDERS_MOST; n++) {
        if (path.ptr[n] != '/') continue;
        n_folders++;
        int64_t at =
            tare_name_index_find(names, x->files, sizeof *x->files, (tare_str){path.ptr, n});
        if (at >= 0 && x->files[at].entry.kind == TARE_PACKED_LINK) return true;
    }
    return false;
}

static tare_status check_file_names(const reader *r, const tare_cursor *records) {
    const tare_wcodec_index *x = r->index;
    tare_name_index names;
    TARE_TRY(tare_name_index_init(&names, r->arena, x->n_files, r->err));
    for (uint32_t i = 0; i < x->n_files; i++) {
        if (tare_name_index_add(&names, x->files, sizeof *x->files, i, NULL) < 0) continue;
        refuse(r, record_offset(*records, i) + FILE_FIXED, "name of a file: another file has it");
        tare_error_item(r->err, TARE_ITEM_RESOURCE, i, x->files[i].name);
        return TARE_ERR_CORRUPT;
    }
    for (uint32_t i = 0; r->index->minor && i < x->n_files; i++) {
        if (!lies_behind_link(x, &names, x->files[i].name)) continue;
        refuse(r, record_offset(*records, i) + FILE_FIXED,
               "name of a file: its path passes through a link");
        tare_error_item(r->err, TARE_ITEM_RESOURCE, i, x->files[i].name);
        return TARE_ERR_CORRUPT;
    }
    return TARE_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static tare_status check_counts(const reader *r, const tare_wcodec_index *x, const uint8_t *bytes,
                                const uint8_t *header, uint64_t offset) {
    if (header && x->n_layers != tare_load_le32(header + 47))
        return refuse(r, offset, "index: number of layers, not the header's");
    if (x->n_layers > r->limits->tensors)
        return tare_fail_at(r->err, TARE_ERR_LIMIT, offset,
                            "index: number of layers: more than tensors may be");
    if (x->n_bases > 255)
        return refuse(r, offset + 4, "index: number of bases: expected at most 255");
    if (x->files_form > 2 || (x->files_form == 0) != (x->n_files == 0) ||
        (x->files_form == 1 && x->n_files != 1))
        return refuse(r, offset + 12,
                      "index: form of the files: expected 0 without files, 1 or 2 with some");
    if (!tare_wc_is_zero(bytes + 13, 3))
        return refuse(r, offset + 13, "index: a reserved byte is not 0");
    if (!tare_wc_is_zero(bytes + 48, 16))
        return refuse(r, offset + 48, "index: a reserved byte is not 0");
    if (header && x->minor < TARE_WCODEC_PACKED && tare_load_le64(bytes + 40))
        return refuse(r, offset + 40, "index: records of layers are packed from version 1.5 on");
    return TARE_OK;
}

/* The next run of records as r->c; the counts must fit. */
static tare_status enter_run(reader *r, tare_cursor *all, uint64_t size, uint32_t n, size_t least) {
    TARE_TRY(tare_cursor_status(all, r->err));
    r->c = tare_cursor_sub(all, size, "index: a run of records runs past the end of the index");
    TARE_TRY(tare_cursor_status(all, r->err));
    if (!tare_cursor_fits(&r->c, n, least, tare_cursor_offset(&r->c),
                          "index: a run of records is too small for its count"))
        return tare_cursor_status(&r->c, r->err);
    return TARE_OK;
}

/* Of a run of file records that may be cut short: as many as there can be. */
static tare_status enter_files(reader *r, tare_cursor *all, uint64_t size) {
    tare_wcodec_index *x = r->index;
    if (r->n_lost) {
        size = tare_min_u64(size, tare_cursor_left(all));
        const uint32_t most = (uint32_t)tare_min_u64(size / FILE_FIXED, x->n_files);
        *r->n_lost = x->n_files - most;
        x->n_files = most;
    }
    return enter_run(r, all, size, x->n_files, FILE_FIXED);
}

static tare_status leave_run(const reader *r) {
    if (tare_cursor_left(&r->c))
        return refuse(r, tare_cursor_offset(&r->c), "index: bytes after the last record");
    return TARE_OK;
}

static tare_status read_layer_run(reader *r, uint64_t index_offset) {
    tare_wcodec_index *x = r->index;
    const tare_cursor records = r->c;
    x->layers = TARE_NEW_ARRAY(r->arena, tare_wcodec_layer, x->n_layers);
    if (!x->layers) return no_memory(r);
    for (uint32_t i = 0; i < x->n_layers; i++)
        TARE_TRY(named(r, read_layer(r, &x->layers[i]), "layers", i));
    TARE_TRY(leave_run(r));
    TARE_TRY(check_spans(r, index_offset));
    TARE_TRY(check_names(r, &records));
    return check_derivations(r, &records);
}

/* The records of layers, `size` bytes of which stand there; unpacked: 0, or as many as they are of.
 * A place among those is none of the file's: that of the frame is said. */
static tare_status read_layers(reader *r, tare_cursor *all, uint64_t size, uint64_t unpacked,
                               uint64_t index_offset) {
    const uint32_t n = r->index->n_layers;
    const tare_allocator *a = r->arena->allocator;
    tare_cursor of;
    uint8_t *records;
    if (!unpacked) {
        TARE_TRY(enter_run(r, all, size, n, LAYER_FIXED));
        return read_layer_run(r, index_offset);
    }
    const uint64_t at = tare_cursor_offset(all);
    TARE_TRY(enter_run(r, all, size, 0, LAYER_FIXED));
    TARE_TRY(tare_wcodec_records_unpack(&records, unpacked, n, r->c.pos,
                                        (size_t)tare_cursor_left(&r->c), at, r->limits, a, r->err));
    tare_cursor_init(&of, records, unpacked, at);
    tare_status status = enter_run(r, &of, unpacked, n, LAYER_FIXED);
    if (status == TARE_OK) status = read_layer_run(r, index_offset);
    tare_free(a, records, (size_t)unpacked);
    if (status != TARE_OK && r->err && r->err->offset != TARE_NO_OFFSET) r->err->offset = at;
    return status;
}

static tare_status read_runs(reader *r, const uint8_t *bytes, uint64_t offset, uint64_t size) {
    tare_wcodec_index *x = r->index;
    tare_cursor all, records;
    tare_cursor_init(&all, bytes + COUNTS, size - COUNTS, offset + COUNTS);
    TARE_TRY(read_layers(r, &all, tare_load_le64(bytes + 16), tare_load_le64(bytes + 40), offset));
    TARE_TRY(enter_run(r, &all, tare_load_le64(bytes + 24), x->n_bases, BASE_FIXED));
    x->bases = TARE_NEW_ARRAY(r->arena, tare_packed_base, x->n_bases);
    if (!x->bases) return no_memory(r);
    for (uint32_t i = 0; i < x->n_bases; i++)
        TARE_TRY(named(r, read_base(r, &x->bases[i]), "bases", i));
    TARE_TRY(leave_run(r));
    TARE_TRY(enter_files(r, &all, tare_load_le64(bytes + 32)));
    records = r->c;
    x->files = TARE_NEW_ARRAY(r->arena, tare_packed_file, x->n_files);
    if (!x->files) return no_memory(r);
    TARE_TRY(read_files(r));
    if (!r->n_lost) TARE_TRY(leave_run(r));
    TARE_TRY(check_file_names(r, &records));
    if (!r->n_lost && tare_cursor_left(&all))
        return refuse(r, tare_cursor_offset(&all), "index: bytes after its records");
    return TARE_OK;
}

/* The contents of an unusable header are unknown; in that case entries are searched for. */
static tare_status read_all(reader *r, const uint8_t *header, const uint8_t *bytes, uint64_t offset,
                            uint64_t size) {
    static const uint8_t unknown[TARE_WCODEC_HEADER] = {[10] = 1};
    const uint8_t *h = header ? header : unknown;
    tare_wcodec_index *out = r->index;
    *out = (tare_wcodec_index){
        .minor = tare_load_le16(h + 10),
        .base_quant = h[44],
        .tile_rows = h[45],
        .tile_cols = h[46],
        .files_form = bytes[12],
        .zstd_version = tare_load_le32(h + 80),
        .n_layers = tare_load_le32(bytes),
        .n_bases = tare_load_le32(bytes + 4),
        .n_files = tare_load_le32(bytes + 8),
    };
    memcpy(out->digest, h + 12, sizeof out->digest);
    TARE_TRY(check_counts(r, out, bytes, header, offset));
    return read_runs(r, bytes, offset, size);
}

tare_status tare_wcodec_index_read(tare_wcodec_index *out, const uint8_t header[TARE_WCODEC_HEADER],
                                   const uint8_t *bytes, uint64_t offset, uint64_t size,
                                   const tare_limits *limits, tare_arena *arena, tare_error *err) {
    reader r = {.index = out, .limits = limits, .arena = arena, .err = err};
    TARE_TRY(check_footer(&r, header, bytes, offset, size));
    return read_all(&r, header, bytes, offset, size);
}

tare_status tare_wcodec_index_salvage(tare_wcodec_index *out, uint32_t *n_lost,
                                      const uint8_t *header, const uint8_t *bytes, uint64_t offset,
                                      uint64_t n, const tare_limits *limits, tare_arena *arena,
                                      tare_error *err) {
    reader r = {.index = out, .limits = limits, .arena = arena, .err = err, .n_lost = n_lost};
    *n_lost = 0;
    if (n < COUNTS)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, offset + n, "index: ends inside its counts");
    return read_all(&r, header, bytes, offset, n);
}
