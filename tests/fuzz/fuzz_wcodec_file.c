/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a .wcodec of any bytes is refused with a place, or its regions can be read; parts of
 * segments that are handed out lie inside them, and what decodes can be parsed. The CRC of the
 * index is made right first, else nothing would get past it. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "format/wcodec/wcodec_salvage.h"
#include "format/wcodec/wcodec_virtual.h"
#include "fuzz_check.h"
#include "wcodec/layer/coded.h"

enum {
    MOST_SEGMENTS = 32,
    MOST = 1 << 18
}; /* bytes of a region that are read: from its beginning and its end */

static void read_layer(const tare_reader *file, const tare_wcodec_layer *l, tare_arena *arena) {
    tare_wc_opened opened;
    tare_wc_scratch scratch;
    tare_error err = TARE_ERROR_NONE;
    uint8_t *bytes = malloc(MOST);
    FUZZ_CHECK(bytes);
    tare_wc_scratch_init(&scratch, NULL);
    tare_status status = tare_wc_open_layer(&opened, file, &l->coded, arena, &err);
    for (unsigned r = 0; r < l->coded.n_regions && status == TARE_OK; r++) {
        size_t n = l->coded.region_bytes[r] < MOST ? (size_t)l->coded.region_bytes[r] : MOST;
        status = tare_wc_read_region(bytes, &opened, r, 0, n, &scratch, &err);
        if (status == TARE_OK)
            status = tare_wc_read_region(bytes, &opened, r, l->coded.region_bytes[r] - n, n,
                                         &scratch, &err);
    }
    if (status == TARE_OK) status = tare_wc_check_layer(&opened, &err);
    FUZZ_CHECK(status == TARE_OK || (err.what && err.what[0]));
    tare_wc_scratch_free(&scratch);
    free(bytes);
}

static void check_inside(const tare_coded_segment *s, uint32_t at, uint64_t n) {
    FUZZ_CHECK((uint64_t)at + n <= s->stored_bytes);
}

static void check_parts(const tare_coded_segment *s, const tare_coded_head *head,
                        uint8_t value_bits) {
    check_inside(s, s->body, s->body_bytes);
    for (unsigned i = 0; i < 2; i++) check_inside(s, s->words[i], 2 * (uint64_t)s->n_words[i]);
    check_inside(s, s->patches, s->patches_bytes);
    for (unsigned g = 0; g < s->n_groups; g++) check_inside(s, s->groups[g], s->groups_bytes[g]);
    if (s->mode != TARE_CODED_DIRECT) return;
    FUZZ_CHECK(s->rule < head->n_rules);
    FUZZ_CHECK(s->first_table + (s->n_classes ? s->n_classes : 1u) <=
               (value_bits == 4 ? head->n_tables16 : head->n_tables64));
    FUZZ_CHECK(!s->n_classes || s->class_table < head->n_tables16);
}

static void parse_layer(const tare_reader *file, const tare_wcodec_layer *l) {
    tare_coded *coded;
    uint8_t *bytes = malloc(MOST);
    FUZZ_CHECK(bytes);
    if (tare_coded_in_file(&coded, &l->coded, file, NULL, NULL, NULL) != TARE_OK) goto out;
    const tare_coded_layer *of = tare_coded_describe(coded);
    for (unsigned i = 0; i < of->n_streams; i++) {
        const tare_coded_stream *stream = &of->streams[i];
        for (uint64_t s = 0; s < stream->n_segments && s < MOST_SEGMENTS; s++) {
            tare_coded_segment parsed = tare_coded_segment_default();
            tare_coded_options o = tare_coded_options_default();
            tare_context context = tare_context_default();
            o.context = &context;
            context.threads = 1;
            tare_status status = tare_coded_parse_segment(&parsed, coded, i, s, NULL);
            if (status == TARE_OK)
                check_parts(&parsed, tare_coded_stream_head(coded, i), stream->field.value_bits);
            else if (stream->segment_bytes <= MOST)
                FUZZ_CHECK(tare_coded_decode_segments(bytes, coded, i, s, 1, &o, NULL) != TARE_OK);
        }
    }
    tare_coded_free(coded);
out:
    free(bytes);
}

/* Derived layers, which are made of others while they are read. */
static void read_derived(const uint8_t *data, size_t size) {
    const tare_limits limits = tare_limits_default();
    tare_error err = TARE_ERROR_NONE;
    tare_packed *store;
    tare_reader file;
    uint8_t *bytes = malloc(MOST);
    FUZZ_CHECK(bytes);
    tare_reader_memory(&file, data, size, "input");
    if (tare_packed_open(&store, &file, &limits, NULL, NULL) == TARE_OK) {
        const tare_wcodec_index *x = tare_wcodec_store_index(store);
        for (uint32_t i = 0; i < x->n_layers; i++) {
            const uint64_t n = x->layers[i].coded.region_bytes[0];
            if (!x->layers[i].derived.is_set) continue;
            tare_status status =
                tare_packed_read(store, i, 0, 0, bytes, n < MOST ? (size_t)n : MOST, &err);
            FUZZ_CHECK(status == TARE_OK || (err.what && err.what[0]));
        }
        tare_packed_free(store);
    }
    free(bytes);
}

/* The same bytes as they are, by whatever is left of their directory. */
static void salvage(const uint8_t *data, size_t size) {
    const tare_limits limits = tare_limits_default();
    tare_error err = TARE_ERROR_NONE;
    tare_packed_damage damage;
    tare_wcodec_index index;
    uint64_t directory_bytes;
    tare_reader reader;
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    tare_reader_memory(&reader, data, size, "input");
    tare_status status =
        tare_wcodec_salvage(&index, &damage, &directory_bytes, &reader, &limits, &arena, &err);
    FUZZ_CHECK(status == TARE_OK || (err.what && err.what[0]));
    for (uint32_t i = 0; status == TARE_OK && i < index.n_layers; i++)
        read_layer(&reader, &index.layers[i], &arena);
    tare_reader_close(&reader);
    tare_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tare_limits limits = tare_limits_default();
    uint64_t offset, n;
    tare_error err = TARE_ERROR_NONE;
    tare_wcodec_index index;
    tare_reader reader;
    tare_arena arena;
    salvage(data, size);
    if (size < TARE_WCODEC_HEADER) return 0;
    if (tare_wcodec_find_index(&offset, &n, data, size, &limits, &err) != TARE_OK) {
        FUZZ_CHECK(err.what && err.what[0] && err.offset != TARE_NO_OFFSET);
        return 0;
    }
    uint8_t *copy = malloc(size);
    FUZZ_CHECK(copy);
    memcpy(copy, data, size);
    uint32_t crc = tare_crc32(tare_crc32(0, copy, TARE_WCODEC_HEADER), copy + offset, (size_t)n);
    tare_store_le32(copy + offset + n + 16, crc);
    tare_arena_init(&arena, NULL);
    tare_reader_memory(&reader, copy, size, "input");
    tare_status status =
        tare_wcodec_index_read(&index, copy, copy + offset, offset, n, &limits, &arena, &err);
    FUZZ_CHECK(status == TARE_OK || (err.what && err.what[0]));
    for (uint32_t i = 0; status == TARE_OK && i < index.n_layers; i++) {
        read_layer(&reader, &index.layers[i], &arena);
        parse_layer(&reader, &index.layers[i]);
    }
    read_derived(copy, size);
    tare_arena_free(&arena);
    free(copy);
    return 0;
}
