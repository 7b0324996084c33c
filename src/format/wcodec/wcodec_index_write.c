/* SPDX-License-Identifier: MIT
 *
 * Header, index and footer of a .wcodec, written. */
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "format/wcodec/wcodec_crcs.h"
#include "format/wcodec/wcodec_index.h"
#include "format/wcodec/wcodec_records.h"
#include "wcodec/wc_varint.h"

static void put_u16(tare_buffer *out, uint16_t v) {
    tare_buffer_put_u8(out, (uint8_t)v);
    tare_buffer_put_u8(out, (uint8_t)(v >> 8));
}
static void put_u32(tare_buffer *out, uint32_t v) {
    tare_buffer_put_u32(out, v, false);
}
static void put_u64(tare_buffer *out, uint64_t v) {
    tare_buffer_put_u64(out, v, false);
}

/* A record begins with its size, which is known when it ends. */
static size_t begin_record(tare_buffer *out) {
    size_t at = out->size;
    put_u32(out, 0);
    return at;
}
static void end_record(tare_buffer *out, size_t at) {
    if (!out->failed) tare_store_le32(out->data + at, (uint32_t)(out->size - at));
}

static void put_stream(tare_buffer *out, const tare_coded_stream *p) {
    tare_buffer_put_u8(out, p->field.region);
    tare_buffer_put_u8(out, p->field.value_bits);
    tare_buffer_put_u8(out, p->field.log2_segment);
    tare_buffer_put_u8(out, (uint8_t)(p->field.is_big_endian | p->field.is_packed_scales << 1));
    put_u32(out, p->field.stride);
    put_u32(out, p->field.offset);
    put_u32(out, p->field.width);
    tare_buffer_put_u8(out, (uint8_t)(p->field.scale_stream - 1)); /* none: 255 */
    tare_buffer_put_u8(out, p->field.scale_form);
    put_u16(out, p->field.join.high_bits != 0);
    put_u32(out, p->field.values_per_scale);
    put_u32(out, p->head_bytes);
    if (p->field.join.high_bits) {
        put_u32(out, p->field.join.high_offset);
        tare_buffer_put_u8(out, p->field.join.high_bits);
        tare_buffer_put_u8(out, p->field.join.log2_values);
        tare_buffer_put(out, p->field.join.place, p->field.join.log2_values);
    }
    for (uint64_t i = 0; i < p->n_segments; i++) tare_wc_put_varint(out, p->sizes[i]);
}

static void put_layer(tare_buffer *out, const tare_wcodec_layer *l, bool is_bound) {
    size_t at = begin_record(out);
    tare_buffer_put_u8(out, l->kind);
    tare_buffer_put_u8(out, l->n_dims);
    tare_buffer_put_u8(out, l->coded.n_regions);
    tare_buffer_put_u8(out, l->coded.n_streams);
    tare_buffer_put_u8(out, l->base);
    tare_buffer_put_u8(out, l->is_big_endian);
    put_u16(out, (uint16_t)l->name.len);
    put_u16(out, (uint16_t)l->encoding.len);
    put_u16(out, 0);
    put_u32(out, l->coded.crc);
    put_u32(out, 0);
    put_u64(out, l->coded.offset);
    put_u64(out, l->coded.size);
    for (unsigned i = 0; i < l->n_dims; i++) put_u64(out, l->dims[i]);
    for (unsigned i = 0; i < l->coded.n_regions; i++) put_u64(out, l->coded.region_bytes[i]);
    tare_buffer_put_str(out, l->name);
    tare_buffer_put_str(out, l->encoding);
    for (unsigned i = 0; i < l->coded.n_streams; i++) put_stream(out, &l->coded.streams[i]);
    if (is_bound) tare_wcodec_crcs_put(out, &l->coded);
    tare_wcodec_derivation_put(out, &l->derived);
    end_record(out, at);
}

static void put_base(tare_buffer *out, const tare_packed_base *b) {
    size_t at = begin_record(out);
    put_u16(out, (uint16_t)b->hint.len);
    put_u16(out, 0);
    tare_buffer_put(out, b->digest, sizeof b->digest);
    tare_buffer_put_str(out, b->hint);
    end_record(out, at);
}

static void put_file(tare_buffer *out, const tare_packed_file *f, tare_wcodec_ends *ends) {
    size_t at = begin_record(out);
    uint32_t layer = 0;
    put_u16(out, (uint16_t)f->name.len);
    put_u16(out, 0);
    put_u64(out, f->size);
    put_u32(out, f->n_ranges);
    tare_buffer_put_str(out, f->name);
    ends->file++;
    for (uint32_t i = 0; i < f->n_ranges; i++) {
        const tare_packed_range *r = &f->ranges[i];
        uint64_t *end = tare_wcodec_end(ends, r->layer, r->region);
        tare_wc_put_varint(out, tare_wc_zigzag((int64_t)r->layer - (int64_t)layer));
        tare_wc_put_varint(out, r->region);
        tare_wc_put_varint(out, tare_wc_zigzag((int64_t)(r->offset - *end)));
        tare_wc_put_varint(out, r->length);
        layer = r->layer;
        *end = r->offset + r->length;
    }
    if (f->entry.is_stated) tare_wcodec_entry_put(out, &f->entry);
    end_record(out, at);
}

bool tare_wcodec_ends_init(tare_wcodec_ends *ends, uint32_t n_layers,
                           const tare_allocator *allocator) {
    *ends = (tare_wcodec_ends){.allocator = allocator};
    ends->n = (size_t)n_layers * TARE_CODED_MAX_REGIONS;
    if (!ends->n) return true;
    ends->ends = tare_alloc(allocator, ends->n * sizeof *ends->ends);
    ends->files = tare_alloc(allocator, ends->n * sizeof *ends->files);
    if (ends->files) memset(ends->files, 0, ends->n * sizeof *ends->files);
    return ends->ends && ends->files;
}

void tare_wcodec_ends_free(tare_wcodec_ends *ends) {
    tare_free(ends->allocator, ends->ends, ends->n * sizeof *ends->ends);
    tare_free(ends->allocator, ends->files, ends->n * sizeof *ends->files);
}

uint64_t *tare_wcodec_end(tare_wcodec_ends *ends, uint32_t layer, uint8_t region) {
    size_t i = (size_t)layer * TARE_CODED_MAX_REGIONS + region;
    if (ends->files[i] != ends->file) ends->ends[i] = 0;
    ends->files[i] = ends->file;
    return &ends->ends[i];
}

void tare_wcodec_files_write(tare_buffer *out, const tare_wcodec_index *index) {
    tare_wcodec_ends ends;
    if (index->file_records.ptr) {
        tare_buffer_put_str(out, index->file_records);
        return;
    }
    if (!tare_wcodec_ends_init(&ends, index->n_layers, out->allocator)) out->failed = true;
    for (uint32_t i = 0; i < index->n_files && !out->failed; i++)
        put_file(out, &index->files[i], &ends);
    tare_wcodec_ends_free(&ends);
}

/* The index's own 64 bytes; the sizes of the three runs of records are filled in later. */
static void put_counts(tare_buffer *out, const tare_wcodec_index *index) {
    put_u32(out, index->n_layers);
    put_u32(out, index->n_bases);
    put_u32(out, index->n_files);
    tare_buffer_put_u8(out, index->files_form);
    tare_buffer_put_zeros(out, 3 + 24 + 24);
}

/* Whether it is known of all layers which segments are theirs. */
static bool are_bound(const tare_wcodec_index *index) {
    for (uint32_t i = 0; i < index->n_layers; i++)
        if (!tare_wc_is_bound(&index->layers[i].coded)) return false;
    return true;
}

/* The lowest version whose readers understand everything in the file; its records may be packed
 * beside. */
static uint16_t minor_of(const tare_wcodec_index *index) {
    uint16_t minor = 0;
    for (uint32_t i = 0; i < index->n_layers; i++) {
        const tare_wcodec_derivation *d = &index->layers[i].derived;
        const uint16_t needs = d->divisors ? TARE_WCODEC_PACKED
                               : d->pieces ? TARE_WCODEC_PIECES
                                           : TARE_WCODEC_DERIVED;
        if (d->is_set && minor < needs) minor = needs;
    }
    if (minor) return minor;
    if (are_bound(index)) return TARE_WCODEC_CRCS;
    for (uint32_t i = 0; i < index->n_files && index->files; i++)
        if (index->files[i].entry.is_stated) minor = TARE_WCODEC_ENTRIES;
    return minor;
}

static void fill_header(uint8_t h[TARE_WCODEC_HEADER], const tare_wcodec_index *index,
                        uint16_t minor, uint64_t offset, uint64_t size) {
    memset(h, 0, TARE_WCODEC_HEADER);
    memcpy(h, "WCODEC", 6);
    tare_store_le16(h + 8, 1);
    tare_store_le16(h + 10, minor);
    memcpy(h + 12, index->digest, 32);
    h[44] = index->base_quant;
    h[45] = index->tile_rows;
    h[46] = index->tile_cols;
    tare_store_le32(h + 47, index->n_layers);
    tare_store_le64(h + 51, offset);
    tare_store_le64(h + 64, offset + size + TARE_WCODEC_FOOTER);
    tare_store_le64(h + 72, size);
    tare_store_le32(h + 80, index->zstd_version);
}

void tare_wcodec_index_write(tare_buffer *out, uint8_t header[TARE_WCODEC_HEADER],
                             const tare_wcodec_index *index, uint64_t offset) {
    size_t start = out->size, marks[4];
    put_counts(out, index);
    marks[0] = out->size;
    uint16_t minor = minor_of(index);
    const bool is_bound = are_bound(index);
    for (uint32_t i = 0; i < index->n_layers; i++) put_layer(out, &index->layers[i], is_bound);
    /* Readers of older versions know no derived layers either. */
    const size_t unpacked =
        minor >= TARE_WCODEC_DERIVED ? tare_wcodec_records_pack(out, marks[0], index->n_layers) : 0;
    if (unpacked) minor = TARE_WCODEC_PACKED;
    marks[1] = out->size;
    for (uint32_t i = 0; i < index->n_bases; i++) put_base(out, &index->bases[i]);
    marks[2] = out->size;
    tare_wcodec_files_write(out, index);
    marks[3] = out->size;
    if (out->failed) return;
    for (unsigned i = 0; i < 3; i++)
        tare_store_le64(out->data + start + 16 + 8 * i, marks[i + 1] - marks[i]);
    tare_store_le64(out->data + start + 40, unpacked);
    uint64_t size = out->size - start;
    fill_header(header, index, minor, offset, size);
    uint32_t crc = tare_crc32(0, header, TARE_WCODEC_HEADER);
    crc = tare_crc32(crc, out->data + start, (size_t)size);
    put_u64(out, offset);
    put_u64(out, size);
    put_u32(out, crc);
    put_u32(out, 0);
    tare_buffer_put(out, "WCODEC\0\1", 8);
}
