/* SPDX-License-Identifier: MIT
 *
 * Guards against: an index that does not come back as it was written; names that are there twice or
 * lead out of the folder, ranges beyond their region, planes that leave bytes out or take them
 * twice, all of which a stranger's file may hold under a right CRC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "format/wcodec_index.h"

#define TEXT(s)                                                                                    \
    { s, sizeof s - 1 }

typedef struct made {
    tare_wcodec_index index;
    tare_wcodec_layer layers[3];
    tare_wcodec_plane planes[3][2];
    uint32_t sizes[3][2];
    tare_wcodec_file files[2];
    tare_wcodec_range ranges[2][3];
    tare_wcodec_base base;
} made;

/* Two tensors of two planes and a run of bytes, one file of them; 64 bytes a segment. */
static void make(made *m) {
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < 3; i++) {
        m->layers[i] = (tare_wcodec_layer){
            .kind = i < 2 ? TARE_WCODEC_TENSOR : TARE_WCODEC_BYTES,
            .n_dims = i < 2 ? 2 : 0,
            .n_regions = 1,
            .n_planes = i < 2 ? 2 : 1,
            .base = i == 1,
            .crc = 77,
            .offset = 128 + i * 128,
            .size = 128,
            .dims = {4, 8},
            .region_bytes = {60},
            .name = {(const char *[]){"first", "second", "bytes"}[i], (size_t[]){5, 6, 5}[i]},
            .planes = m->planes[i],
        };
        if (i < 2) m->layers[i].encoding = (tare_str)TEXT("i8");
        for (unsigned p = 0; p < m->layers[i].n_planes; p++) {
            m->sizes[i][p] = 1;
            m->planes[i][p] = (tare_wcodec_plane){
                .shape = {8, 14, false},
                .scale_plane = TARE_WCODEC_NO_SCALES,
                .stride = i < 2 ? 6 : 1,
                .offset = p * 2,
                .width = i < 2 ? 2 + p * 2 : 1,
                .n_segments = 1,
                .sizes = &m->sizes[i][p],
            };
        }
    }
    m->ranges[0][0] = (tare_wcodec_range){2, 0, 0, 10};
    m->ranges[0][1] = (tare_wcodec_range){0, 0, 0, 60};
    m->ranges[0][2] = (tare_wcodec_range){2, 0, 5, 1};
    m->ranges[1][0] = (tare_wcodec_range){2, 0, 59, 1};
    m->files[0] = (tare_wcodec_file){TEXT("a/b.bin"), 71, 3, m->ranges[0]};
    m->files[1] = (tare_wcodec_file){TEXT("c"), 1, 1, m->ranges[1]};
    m->base = (tare_wcodec_base){{1, 2, 3}, TEXT("base.gguf")};
    m->index = (tare_wcodec_index){.files_form = 2,
                                   .n_layers = 3,
                                   .n_bases = 1,
                                   .n_files = 2,
                                   .layers = m->layers,
                                   .bases = &m->base,
                                   .files = m->files};
}

/* Writes the index, reads it; compares with what was written where that is sound. */
static tare_status read_back(made *m, const char **what) {
    static tare_error err;
    const tare_limits limits = TARE_LIMITS_INIT;
    uint8_t header[TARE_WCODEC_HEADER];
    uint64_t offset, size, end = 128 + 3 * 128;
    tare_wcodec_index got;
    tare_buffer out;
    tare_arena arena;
    tare_arena_init(&arena, NULL);
    tare_buffer_init(&out, NULL);
    tare_wcodec_index_write(&out, header, &m->index, end);
    assert_int_equal(tare_buffer_status(&out, &err), TARE_OK);
    err = (tare_error){.what = ""};
    tare_status status =
        tare_wcodec_find_index(&offset, &size, header, end + out.size, &limits, &err);
    assert_int_equal(status, TARE_OK);
    status = tare_wcodec_index_read(&got, header, out.data, offset, size, &limits, &arena, &err);
    if (status == TARE_OK) {
        assert_int_equal(got.n_layers, 3);
        assert_int_equal(got.layers[1].planes[1].position, 128 + 128 + 64);
        assert_int_equal(got.layers[1].planes[1].n_bytes, 40);
        assert_int_equal(got.layers[1].base, 1);
        assert_int_equal(got.layers[0].dims[1], 8);
        assert_memory_equal(got.bases[0].digest, m->base.digest, 32);
        for (unsigned f = 0; f < 2; f++)
            for (uint32_t i = 0; i < m->files[f].n_ranges; i++) {
                assert_int_equal(got.files[f].ranges[i].layer, m->ranges[f][i].layer);
                assert_true(got.files[f].ranges[i].offset == m->ranges[f][i].offset);
            }
    }
    *what = err.what;
    tare_buffer_free(&out);
    tare_arena_free(&arena);
    return status;
}

static void a_sound_index_comes_back(void **state) {
    (void)state;
    static made m;
    const char *what;
    make(&m);
    assert_int_equal(read_back(&m, &what), TARE_OK);
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
        m->planes[0][1].width = 3;
        break;
    case 8:
        m->planes[0][1].offset = 1;
        break;
    case 9:
        m->planes[0][1].stride = 5;
        break;
    case 10:
        m->layers[0].region_bytes[0] = 61;
        break;
    case 11:
        m->sizes[0][0] = 3;
        break;
    case 12:
        m->layers[1].base = 2;
        break;
    case 13:
        m->layers[1].offset = 128;
        break;
    case 14:
        m->layers[2].n_dims = 1;
        break;
    case 15:
        m->planes[0][1].scale_plane = 0;
        break;
    case 16:
        m->planes[0][0].shape.item = 5;
        break;
    default:
        m->planes[0][0].shape.log2_segment = 27;
        break;
    }
}

static void spoilt_indexes_are_refused(void **state) {
    (void)state;
    static const char *const words[] = {
        "name of a layer", "name of a file", "name of a file", "name of a file", "range",
        "range",           "file: its size", "plane",          "planes of",      "plane",
        "plane",           "size of a seg",  "layer",          "layers",         "layer",
        "plane: scales",   "plane: bits",    "plane: size"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        static made m;
        const char *what;
        make(&m);
        spoil(&m, i);
        tare_status status = read_back(&m, &what);
        if (status != TARE_ERR_CORRUPT || strncmp(what, words[i], strlen(words[i])) != 0)
            fail_msg("case %u: status %d, %s", i, (int)status, what);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_index_comes_back),
        cmocka_unit_test(spoilt_indexes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
