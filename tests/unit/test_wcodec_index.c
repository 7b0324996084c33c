/* SPDX-License-Identifier: MIT
 *
 * Guards against: an index that does not come back as it was written; names that are there twice or
 * lead out of the folder, ranges beyond their region, planes that leave bytes out or take them
 * twice, all of which a stranger's file may hold under a right CRC; faults that are told elsewhere
 * than they are; files of later versions that are refused for what they add. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "format/wcodec/wcodec_index.h"

#define TEXT(s)                                                                                    \
    { s, sizeof s - 1 }

typedef struct made {
    tare_wcodec_index index;
    tare_wcodec_layer layers[3];
    tare_coded_stream streams[3][2];
    tare_wc_record records[3][2];
    uint32_t sizes[3][2];
    tare_packed_file files[2];
    tare_packed_range ranges[2][3];
    tare_packed_base base;
} made;

/* Two tensors of two planes and a run of bytes, one file of them; 64 bytes a segment. */
static void make(made *m) {
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < 3; i++) {
        m->layers[i] = (tare_wcodec_layer){
            .kind = i < 2 ? TARE_WCODEC_TENSOR : TARE_WCODEC_BYTES,
            .n_dims = i < 2 ? 2 : 0,
            .coded.n_regions = 1,
            .coded.n_streams = i < 2 ? 2 : 1,
            .base = i == 1,
            .coded.crc = 77,
            .coded.offset = 128 + i * 128,
            .coded.size = 128,
            .dims = {4, 8},
            .coded.region_bytes = {60},
            .name = {(const char *[]){"first", "second", "bytes"}[i], (size_t[]){5, 6, 5}[i]},
            .coded.streams = m->streams[i],
            .coded.records = m->records[i],
        };
        if (i < 2) m->layers[i].encoding = (tare_str)TEXT("i8");
        for (unsigned p = 0; p < m->layers[i].coded.n_streams; p++) {
            m->sizes[i][p] = 1;
            m->streams[i][p] = (tare_coded_stream){
                .field = {.value_bits = 8,
                          .log2_segment = 14,
                          .stride = i < 2 ? 6 : 1,
                          .offset = p * 2,
                          .width = i < 2 ? 2 + p * 2 : 1},
                .n_segments = 1,
                .sizes = &m->sizes[i][p],
            };
        }
    }
    m->ranges[0][0] = (tare_packed_range){2, 0, 0, 10};
    m->ranges[0][1] = (tare_packed_range){0, 0, 0, 60};
    m->ranges[0][2] = (tare_packed_range){2, 0, 5, 1};
    m->ranges[1][0] = (tare_packed_range){2, 0, 59, 1};
    m->files[0] = (tare_packed_file){
        .name = TEXT("a/b.bin"), .size = 71, .n_ranges = 3, .ranges = m->ranges[0]};
    m->files[1] =
        (tare_packed_file){.name = TEXT("c"), .size = 1, .n_ranges = 1, .ranges = m->ranges[1]};
    m->base = (tare_packed_base){{1, 2, 3}, TEXT("base.gguf")};
    m->index = (tare_wcodec_index){.files_form = 2,
                                   .n_layers = 3,
                                   .n_bases = 1,
                                   .n_files = 2,
                                   .layers = m->layers,
                                   .bases = &m->base,
                                   .files = m->files};
}

/* An index as it is stored; the layers' data before it is not there. */
typedef struct written {
    uint8_t header[TARE_WCODEC_HEADER];
    tare_buffer bytes; /* index and footer */
} written;

enum { DATA_END = 128 + 3 * 128 };

static void write_index(written *w, const made *m) {
    tare_buffer_init(&w->bytes, NULL);
    tare_wcodec_index_write(&w->bytes, w->header, &m->index, DATA_END);
    assert_int_equal(tare_buffer_status(&w->bytes, NULL), TARE_OK);
}

/* Makes sizes and CRC right again after a change. */
static void seal(written *w) {
    size_t size = w->bytes.size - TARE_WCODEC_FOOTER;
    uint8_t *footer = w->bytes.data + size;
    tare_store_le64(w->header + 64, DATA_END + w->bytes.size);
    tare_store_le64(w->header + 72, size);
    tare_store_le64(footer + 8, size);
    uint32_t crc = tare_crc32(0, w->header, TARE_WCODEC_HEADER);
    tare_store_le32(footer + 16, tare_crc32(crc, w->bytes.data, size));
}

static tare_status read_written(tare_wcodec_index *got, const written *w, tare_arena *arena,
                                tare_error *err) {
    const tare_limits limits = tare_limits_default();
    uint64_t offset, size;
    *err = (tare_error){.what = ""};
    TARE_TRY(
        tare_wcodec_find_index(&offset, &size, w->header, DATA_END + w->bytes.size, &limits, err));
    return tare_wcodec_index_read(got, w->header, w->bytes.data, offset, size, &limits, arena, err);
}

static void check_same(const tare_wcodec_index *got, const made *m) {
    assert_int_equal(got->n_layers, 3);
    assert_int_equal(got->layers[1].coded.streams[1].position, 64);
    assert_int_equal(got->layers[1].coded.streams[1].n_bytes, 40);
    assert_int_equal(got->layers[1].base, 1);
    assert_int_equal(got->layers[0].dims[1], 8);
    assert_memory_equal(got->bases[0].digest, m->base.digest, 32);
    for (unsigned f = 0; f < 2; f++)
        for (uint32_t i = 0; i < m->files[f].n_ranges; i++) {
            assert_int_equal(got->files[f].ranges[i].layer, m->ranges[f][i].layer);
            assert_true(got->files[f].ranges[i].offset == m->ranges[f][i].offset);
        }
}

/* Writes the index, reads it; compares with what was written where that is sound. */
static tare_status read_back(made *m, tare_error *err) {
    written w;
    tare_wcodec_index got;
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    write_index(&w, m);
    tare_status status = read_written(&got, &w, &arena, err);
    if (status == TARE_OK) check_same(&got, m);
    tare_buffer_free(&w.bytes);
    tare_arena_free(&arena);
    return status;
}

static void a_sound_index_comes_back(void **state) {
    (void)state;
    static made m;
    tare_error err;
    make(&m);
    assert_int_equal(read_back(&m, &err), TARE_OK);
}

/* One change each, and what must be said of it. */
static void spoil(made *m, unsigned i) {
    switch (i) {
    case 0:
        m->layers[1].name = m->layers[0].name;
        break;
    case 1:
        m->files[1].name = m->files[0].name;
        break;
    case 2:
        m->files[0].name = (tare_str)TEXT("a/../b");
        break;
    case 3:
        m->files[0].name = (tare_str)TEXT("/b");
        break;
    case 4:
        m->ranges[0][1].length = 61;
        break;
    case 5:
        m->ranges[0][1].region = 1;
        break;
    case 6:
        m->files[0].size = 70;
        break;
    case 7:
        m->streams[0][1].field.width = 3;
        break;
    case 8:
        m->streams[0][1].field.offset = 1;
        break;
    case 9:
        m->streams[0][1].field.stride = 5;
        break;
    case 10:
        m->layers[0].coded.region_bytes[0] = 61;
        break;
    case 11:
        m->sizes[0][0] = 3;
        break;
    case 12:
        m->layers[1].base = 2;
        break;
    case 13:
        m->layers[1].coded.offset = 128;
        break;
    case 14:
        m->layers[2].n_dims = 1;
        break;
    case 15:
        m->streams[0][1].field.scale_stream = 1;
        break;
    case 16:
        m->streams[0][0].field.value_bits = 5;
        break;
    case 17:
        m->streams[0][0].field.log2_segment = 27;
        break;
    case 18:
        m->streams[0][0].head_bytes = 12800 + 64; /* more than any head needs */
        break;
    default:
        m->layers[2].coded.n_streams = 0;
        m->layers[2].coded.size = m->layers[2].coded.region_bytes[0] = 0;
        break;
    }
}

static void spoilt_indexes_are_refused(void **state) {
    (void)state;
    static const char *const words[] = {"name of a layer",
                                        "name of a file",
                                        "name of a file",
                                        "name of a file",
                                        "range",
                                        "range",
                                        "file: its size",
                                        "stream",
                                        "streams of",
                                        "stream",
                                        "stream",
                                        "size of a seg",
                                        "layer",
                                        "layers",
                                        "layer",
                                        "stream: scales",
                                        "stream: bits",
                                        "stream: size",
                                        "stream: size of the head",
                                        "layer: it has no data"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        static made m;
        tare_error err;
        make(&m);
        spoil(&m, i);
        tare_status status = read_back(&m, &err);
        if (status != TARE_ERR_CORRUPT || strncmp(err.what, words[i], strlen(words[i])) != 0)
            fail_msg("case %u: status %d, %s", i, (int)status, err.what);
    }
}

/* ---- joins ----------------------------------------------------------------------------------- */

/* The first layer: in its units of 6 bytes a byte, a high bit of each of eight values, their four
 * bytes of nibbles. */
static void make_joined(made *m) {
    make(m);
    m->streams[0][0].field.width = 1;
    tare_coded_stream *p = &m->streams[0][1];
    p->field.value_bits = 6;
    p->field.offset = 2;
    p->field.width = 4;
    p->field.join = (tare_coded_join){1, 1, 3, {2, 0, 1}};
}

static void joined_planes_come_back(void **state) {
    (void)state;
    static made m;
    written w;
    tare_wcodec_index got;
    tare_arena arena;
    tare_error err;
    make_joined(&m);
    tare_arena_init(&arena, NULL);
    write_index(&w, &m);
    assert_int_equal(read_written(&got, &w, &arena, &err), TARE_OK);
    check_same(&got, &m);
    const tare_coded_stream *p = &got.layers[0].coded.streams[1];
    assert_int_equal(p->field.join.high_offset, 1);
    assert_memory_equal(&p->field.join, &m.streams[0][1].field.join, sizeof p->field.join);
    assert_int_equal(p->n_bytes, 60);
    assert_int_equal(got.layers[0].coded.streams[0].field.join.high_bits, 0);
    tare_buffer_free(&w.bytes);
    tare_arena_free(&arena);
}

static void spoil_join(tare_coded_stream *p, unsigned i) {
    if (i == 0) p->field.value_bits = 8;
    if (i == 1) p->field.width = 2;
    if (i == 2) p->field.join.place[1] = 2;
    if (i == 3) p->field.join.place[0] = 3;
    if (i == 4) p->field.join.high_bits = 3;
    if (i == 5) p->field.join.log2_values = 2;
    if (i == 6) p->field.join.log2_values = 11;
    if (i == 7) p->field.join.high_offset = 6;
    if (i == 8) p->field.join.high_offset = UINT32_MAX;
    if (i == 9) p->field.join.high_offset = 0;
    if (i == 10) p->field.join.high_offset = 3;
}

static void spoilt_joins_are_refused(void **state) {
    (void)state;
    static const char *const words[] = {"stream: a joined",
                                        "join: not the width",
                                        "join",
                                        "join",
                                        "join",
                                        "join",
                                        "join",
                                        "join: its",
                                        "join: its",
                                        "streams of",
                                        "streams of"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        static made m;
        tare_error err;
        make_joined(&m);
        spoil_join(&m.streams[0][1], i);
        tare_status status = read_back(&m, &err);
        if (status != TARE_ERR_CORRUPT || strncmp(err.what, words[i], strlen(words[i])) != 0)
            fail_msg("case %u: status %d, %s", i, (int)status, err.what);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The first record of a run (0 layers, 1 bases, 2 files) in the index. */
static size_t run_of(const written *w, unsigned run) {
    size_t at = 64;
    for (unsigned i = 0; i < run; i++) at += (size_t)tare_load_le64(w->bytes.data + 16 + 8 * i);
    return at;
}

/* What is at fault is told where it begins, for each run of bytes that must be 0. */
static void what_must_be_zero_is_told_where_it_is(void **state) {
    (void)state;
    enum { HEADER, INDEX, LAYER, PLANE, BASE, FILE_RECORD, FOOTER };
    static const struct {
        unsigned part;
        size_t first, n;
    } zeros[] = {{HEADER, 59, 5}, {HEADER, 84, 44},    {INDEX, 13, 3}, {INDEX, 48, 16},
                 {LAYER, 9, 1},   {LAYER, 14, 2},      {LAYER, 20, 4}, {PLANE, 3, 1},
                 {PLANE, 18, 2},  {FILE_RECORD, 6, 2}, {BASE, 6, 2},   {FOOTER, 20, 4}};
    static made m;
    make(&m);
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++) {
        written w;
        tare_wcodec_index got;
        tare_arena arena;
        tare_error err;
        write_index(&w, &m);
        tare_arena_init(&arena, NULL);
        size_t names = m.layers[0].name.len + m.layers[0].encoding.len;
        const size_t starts[] = {[INDEX] = 0,
                                 [LAYER] = run_of(&w, 0),
                                 [PLANE] = run_of(&w, 0) + 40 + 8 * 3 + names,
                                 [BASE] = run_of(&w, 1),
                                 [FILE_RECORD] = run_of(&w, 2),
                                 [FOOTER] = w.bytes.size - TARE_WCODEC_FOOTER};
        size_t at = zeros[i].part == HEADER ? 0 : starts[zeros[i].part];
        uint8_t *part = zeros[i].part == HEADER ? w.header : w.bytes.data + at;
        part[zeros[i].first + zeros[i].n - 1] = 0x80;
        seal(&w);
        assert_int_equal(read_written(&got, &w, &arena, &err), TARE_ERR_CORRUPT);
        uint64_t expected = (zeros[i].part == HEADER ? 0 : DATA_END + at) + zeros[i].first;
        if (err.offset != expected)
            fail_msg("run %zu: %s at %" PRIu64 ", not at %" PRIu64, i, err.what, err.offset,
                     expected);
        tare_buffer_free(&w.bytes);
        tare_arena_free(&arena);
    }
}

static void names_and_sizes_are_told_where_they_are(void **state) {
    (void)state;
    static made m;
    written w;
    tare_error err;
    make(&m);
    write_index(&w, &m);
    size_t first = run_of(&w, 0), second = first + tare_load_le32(w.bytes.data + first);
    tare_buffer_free(&w.bytes);
    m.layers[0].coded.region_bytes[0] = UINT64_C(1) << 63;
    assert_int_equal(read_back(&m, &err), TARE_ERR_CORRUPT);
    assert_int_equal(err.offset, DATA_END + first + 40 + 8 * 2);
    make(&m);
    m.layers[0].name = (tare_str)TEXT("other");
    m.layers[1].name = m.layers[0].name;
    assert_int_equal(read_back(&m, &err), TARE_ERR_CORRUPT);
    assert_int_equal(err.offset, DATA_END + second + 40 + 8 * 3);
}

/* ---- later versions -------------------------------------------------------------------------- */

/* More bytes at the end of the first record of a run. */
static void lengthen(written *w, unsigned run, size_t n) {
    size_t at = run_of(w, run), size = tare_load_le32(w->bytes.data + at);
    assert_non_null(tare_buffer_extend(&w->bytes, n));
    uint8_t *bytes = w->bytes.data, *end = bytes + at + size;
    memmove(end + n, end, w->bytes.size - n - at - size);
    memset(end, 0xa5, n);
    tare_store_le32(bytes + at, (uint32_t)(size + n));
    tare_store_le64(bytes + 16 + 8 * run, tare_load_le64(bytes + 16 + 8 * run) + n);
    seal(w);
}

/* A higher minor version may have more at the end of a record; this one does not. */
static void what_later_versions_add_is_skipped(void **state) {
    (void)state;
    static made m;
    make(&m);
    for (uint8_t minor = 0; minor < 2; minor++)
        for (unsigned run = 0; run < 3; run++) {
            written w;
            tare_wcodec_index got;
            tare_arena arena;
            tare_error err;
            write_index(&w, &m);
            w.header[10] = minor;
            size_t end = run_of(&w, run);
            end += tare_load_le32(w.bytes.data + end);
            lengthen(&w, run, 7);
            tare_arena_init(&arena, NULL);
            tare_status status = read_written(&got, &w, &arena, &err);
            assert_int_equal(status, minor ? TARE_OK : TARE_ERR_CORRUPT);
            if (minor)
                check_same(&got, &m);
            else
                assert_int_equal(err.offset, DATA_END + end);
            tare_buffer_free(&w.bytes);
            tare_arena_free(&arena);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_index_comes_back),
        cmocka_unit_test(spoilt_indexes_are_refused),
        cmocka_unit_test(joined_planes_come_back),
        cmocka_unit_test(spoilt_joins_are_refused),
        cmocka_unit_test(what_must_be_zero_is_told_where_it_is),
        cmocka_unit_test(names_and_sizes_are_told_where_they_are),
        cmocka_unit_test(what_later_versions_add_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
