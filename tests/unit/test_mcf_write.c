/* SPDX-License-Identifier: MIT
 *
 * Guards against an MCF writer that lays out other than docs/mcf.md says: sections or regions at
 * wrong places, a flag that lies, records of QuantInfo for other tensors, tensors of the same bytes
 * stored twice, sections that are not carried, a plan whose cost grows with the tensors' data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/mcf_output.h"

/* Entry i of the tensor index. */
static const uint8_t *entry_at(const output *o, size_t i) {
    return o->bytes + find_section(o, TARE_MCF_TENSOR_INDEX).offset + 48 + 40 * i;
}

static uint64_t data_off(const output *o, size_t i) {
    return tare_load_le64(entry_at(o, i) + 24);
}

/* Plain and quantized tensors, not in the order of their names. */
static tare_model *make_mixed(made_model *made) {
    static const uint64_t matrix[] = {3, 300}, small[] = {2, 33}, vector[] = {7};
    made_begin(made, 1 << 14, 12, 3);
    help_add(made, "z.plain", TARE_ENCODING_F16, vector, 1);
    help_add(made, "q8", TARE_ENCODING_Q8, small, 2);
    help_add(made, "k3", TARE_ENCODING_K3, matrix, 2);
    help_add(made, "a.ints", TARE_ENCODING_MCF_INT4_ZERO, vector, 1);
    help_add(made, "scalar", TARE_ENCODING_F64, NULL, 0);
    help_add(made, "k2", TARE_ENCODING_K2, small, 2);
    tare_model *m = made_finish(made, false, NULL, 0);
    m->catalog.layout = NULL;
    return m;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void the_header_says_where_all_is(void **state) {
    (void)state;
    made_model made;
    output o = write_model(make_mixed(&made), 0);
    uint32_t n = tare_load_le32(o.bytes + 12), last_type = 0;
    uint64_t directory = tare_load_le64(o.bytes + 16), end = 40;
    assert_memory_equal(o.bytes, "MCF\0\1\0\1\0\x28\0\0\0", 12); /* version 1.1, 40 bytes */
    assert_int_equal(tare_load_le64(o.bytes + 24), o.size);
    assert_int_equal(tare_load_le64(o.bytes + 32), 1); /* FlagTensorDataAligned64 */
    assert_int_equal(directory % 8, 0);
    assert_int_equal(directory + 24 * n, o.size); /* the directory is last */
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *record = o.bytes + directory + (size_t)24 * i;
        uint64_t at = tare_load_le64(record + 8);
        assert_true(tare_load_le32(record) > last_type);
        assert_int_equal(tare_load_le32(record + 4), 1);
        assert_int_equal(at % 8, 0);
        for (; end < at; end++) assert_int_equal(o.bytes[end], 0);
        assert_true(at >= end);
        end = at + tare_load_le64(record + 16);
        last_type = tare_load_le32(record);
    }
    assert_true(end <= directory && directory - end < 8);
    free_output(&o);
    made_free(&made);
}

/* Names ascending; each tensor and each of its regions at a multiple of 64, zeros between them, the
 * size that of the specification. */
static void regions_lie_where_the_specification_has_them(void **state) {
    static const struct {
        const char *name;
        uint32_t dtype, rank;
        uint64_t sizes[3]; /* of regions */
    } expected[] = {
        {"a.ints", 0x11, 1, {4, 4, 4}}, /* scale, zero, 7 codes */
        {"k2", 0x33, 2, {4, 4, 32}},    /* 2 supers, 4 blocks of 8 bytes */
        {"k3", 0x32, 2, {12, 30, 360}}, /* 2 supers and 10 blocks a row, 12 bytes each */
        {"q8", 0x20, 2, {8, 128, 0}},   /* 4 blocks */
        {"scalar", 4, 0, {8, 0, 0}},    /* rank 0: one number */
        {"z.plain", 2, 1, {14, 0, 0}},
    };
    (void)state;
    made_model made;
    const tare_model *m = make_mixed(&made);
    output o = write_model(m, 0);
    section index = find_section(&o, TARE_MCF_TENSOR_INDEX);
    section data = find_section(&o, TARE_MCF_TENSOR_DATA);
    const uint8_t *head = o.bytes + index.offset;
    assert_int_equal(tare_load_le32(head), 1);
    assert_int_equal(tare_load_le32(head + 4), 3); /* sorted, UTF-8 */
    assert_int_equal(tare_load_le32(head + 8), 6);
    assert_int_equal(tare_load_le32(head + 12), 8); /* dimensions */
    uint64_t strings = index.offset + tare_load_le64(head + 32), next = data.offset;
    for (size_t i = 0; i < 6; i++) {
        const uint8_t *e = entry_at(&o, i);
        const char *name = expected[i].name;
        uint64_t at = tare_load_le64(e + 24), begin = at, end = at;
        assert_int_equal(tare_load_le32(e + 4), strlen(name));
        assert_memory_equal(o.bytes + strings + tare_load_le32(e), name, strlen(name));
        assert_int_equal(tare_load_le32(e + 8), expected[i].dtype);
        assert_int_equal(tare_load_le32(e + 12), expected[i].rank);
        assert_int_equal(tare_load_le32(e + 20), 0); /* reserved */
        assert_int_equal(at, next);
        int64_t source = tare_model_find_tensor(m, tare_str_of(name));
        for (uint32_t p = 0; p < 3 && expected[i].sizes[p]; p++) {
            size_t n = (size_t)expected[i].sizes[p];
            uint8_t plane[512];
            for (; end < (begin = (end + 63) / 64 * 64); end++) assert_int_equal(o.bytes[end], 0);
            assert_int_equal(tare_tensor_read(plane, m, (size_t)source, p, 0, n, NULL), TARE_OK);
            assert_memory_equal(o.bytes + begin, plane, n);
            end = begin + n;
        }
        assert_int_equal(tare_load_le64(e + 32), end - at); /* no padding after the last region */
        next = (end + 63) / 64 * 64;
        assert_true(i < 5 || data.offset + data.size == end);
    }
    free_output(&o);
    made_free(&made);
}

static void alignment_is_what_is_asked_for(void **state) {
    static const uint64_t dims[] = {5};
    (void)state;
    made_model made;
    made_begin(&made, 256, 2, 0);
    help_add(&made, "a", TARE_ENCODING_I8, dims, 1);
    help_add(&made, "b", TARE_ENCODING_I8, dims, 1);
    const tare_model *m = made_finish(&made, false, NULL, 0);
    static const uint32_t alignments[] = {8, 64, 256, 4096, 24};
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        uint32_t a = alignments[i];
        output o = write_model(m, a);
        assert_int_equal(data_off(&o, 0) % a, 0);
        assert_int_equal(data_off(&o, 1) - data_off(&o, 0), a);
        assert_int_equal(tare_load_le64(o.bytes + 32), a % 64 == 0); /* the flag is true */
        tare_model *back = open_output(&o, NULL);
        assert_int_equal(back->catalog.layout->alignment, a % 64 ? 8 : 64);
        tare_model_free(back);
        free_output(&o);
    }
    output o = plan_catalog(m, &m->catalog, 12);
    assert_int_equal(o.status, TARE_ERR_ARG);
    free_output(&o);
    made_free(&made);
    m = make_mixed(&made);
    o = plan_catalog(m, &m->catalog, 8); /* regions could not lie at multiples of 64 */
    assert_int_equal(o.status, TARE_ERR_ARG);
    assert_string_equal(o.err.item_name, "a.ints");
    free_output(&o);
    made_free(&made);
}

static void what_mcf_cannot_be_is_refused(void **state) {
    static const uint64_t none[] = {0, 3};
    (void)state;
    made_model made;
    made_begin(&made, 64, 1, 0);
    help_add(&made, "empty", TARE_ENCODING_F32, none, 2);
    tare_model *m = made_finish(&made, false, NULL, 0);
    output o = plan_catalog(m, &m->catalog, 0);
    assert_int_equal(o.status, TARE_ERR_UNSUPPORTED);
    assert_string_equal(o.err.item_name, "empty");
    free_output(&o);
    m->catalog.n_tensors = 0;
    tare_write_options options = {.source = m, .limits = &m->limits, .order = TARE_ORDER_BIG};
    tare_write_plan plan = {.arena = &m->arena};
    assert_int_equal(tare_mcf_plan(&plan, &m->catalog, &options, NULL), TARE_ERR_UNSUPPORTED);
    options.order = TARE_ORDER_KEEP;
    options.shard_size = 1000;
    assert_int_equal(tare_mcf_plan(&plan, &m->catalog, &options, NULL), TARE_ERR_UNSUPPORTED);
    made_free(&made);
}

/* Tensors are bytes to come: a plan for terabytes costs what one for nothing does, and every byte
 * of the output has one place. */
static void a_plan_reads_no_tensor(void **state) {
    static const uint64_t dims[] = {1 << 20, 1 << 20};
    (void)state;
    made_model made;
    made_begin(&made, 64, 4, 0);
    for (int i = 0; i < 4; i++) {
        char name[2] = {(char)('a' + i), 0};
        made_add(&made, tare_str_of(name), i == 3 ? TARE_ENCODING_F32 : TARE_ENCODING_K4, dims, 2);
    }
    tare_model *m = made_finish(&made, false, NULL, 0);
    output o = plan_catalog(m, &m->catalog, 0);
    assert_int_equal(o.status, TARE_OK);
    assert_true(o.plan.files[0].size > (UINT64_C(1) << 42));
    uint64_t end = 0;
    size_t n_planes = 0, bytes = 0;
    for (uint64_t last = 0; end < o.plan.files[0].size; last = end) {
        for (size_t i = 0; i < o.plan.n_extents; i++) {
            const tare_extent *e = &o.plan.extents[i];
            if (e->offset < last || e->offset - last >= 64) continue;
            end = e->offset + e->size;
            n_planes += e->kind == TARE_EXTENT_TENSOR;
            bytes += e->kind == TARE_EXTENT_BYTES ? (size_t)e->size : 0;
            break;
        }
        if (end == last) fail_msg("nothing begins at %llu", (unsigned long long)last);
    }
    assert_int_equal(end, o.plan.files[0].size);
    assert_int_equal(n_planes, 3 * 3 + 1);
    assert_true(bytes < 2048);
    free_output(&o);
    made_free(&made);
}

/* ---- tensors of the same bytes --------------------------------------------------------------- */

static void same_bytes_have_one_place(void **state) {
    static const uint64_t dims[] = {4, 33};
    static const size_t same_as[] = {0, 1, 0, 1, 4};
    (void)state;
    made_model made;
    made_begin(&made, 1 << 12, 5, 8);
    for (int i = 0; i < 5; i++) {
        char name[2] = {(char)('e' - i), 0};
        help_add(&made, name, TARE_ENCODING_Q4, dims, 2);
    }
    tare_model *m = made_finish(&made, false, NULL, 0);
    for (size_t i = 0; i < 5; i++) /* what the names of equal tensors promise */
        memcpy(made.bytes + m->catalog.tensors[i].planes[0].offset,
               made.bytes + m->catalog.tensors[same_as[i]].planes[0].offset,
               (size_t)m->catalog.tensors[i].size_bytes);
    output apart = write_model(m, 0);
    for (size_t i = 1; i < 5; i++) assert_true(data_off(&apart, i) > data_off(&apart, i - 1));
    output o = write_same(m, 0, same_as);
    assert_int_equal(data_off(&o, 4), data_off(&o, 2)); /* e and c */
    assert_int_equal(data_off(&o, 3), data_off(&o, 1)); /* d and b */
    assert_int_not_equal(data_off(&o, 4), data_off(&o, 3));
    assert_true(o.size < apart.size);
    tare_report *report = tare_report_new();
    tare_model *back = open_output(&o, report);
    for (size_t i = 0; i < 5; i++) help_check_tensor(m, back, i, false);
    assert_int_equal(help_findings(report, "mcf.quant-missing"), 0);
    tare_model_free(back);
    tare_report_free(report);
    free_output(&o);
    free_output(&apart);
    made_free(&made);
}

/* ---- QuantInfo ------------------------------------------------------------------------------- */

static void quantized_tensors_have_records(void **state) {
    static const tare_value_bounds bounds[] = {{0, 0, false}, {-1.5f, 2, true},
                                               {-3, 3, true}, {-0.25f, 0.75f, true},
                                               {0, 0, false}, {-8, 8, true}};
    static const struct {
        uint32_t tensor;
        uint8_t method, domain;
        uint16_t block, super;
        float min, max;
    } expected[] = {
        {0, 0x11, 1, 0, 0, -0.25f, 0.75f},
        {1, 0x33, 0, 32, 256, -8, 8},
        {2, 0x32, 0, 32, 256, -3, 3},
        {3, 0x20, 0, 32, 0, -1.5f, 2},
    };
    (void)state;
    made_model made;
    tare_model *m = make_mixed(&made);
    m->catalog.bounds = bounds;
    output o = write_model(m, 0);
    section s = find_section(&o, TARE_MCF_QUANT_INFO);
    const uint8_t *r = o.bytes + s.offset;
    assert_int_equal(s.size, 8 + 24 * 4); /* none for plain tensors */
    assert_int_equal(tare_load_le32(r), 1);
    assert_int_equal(tare_load_le32(r + 4), 4);
    for (size_t i = 0; i < 4; i++) {
        const uint8_t *q = r + 8 + 24 * i;
        assert_int_equal(tare_load_le32(q), expected[i].tensor); /* by the index's order */
        assert_int_equal(q[4], expected[i].method);
        assert_int_equal(q[5], expected[i].domain);
        assert_int_equal(tare_load_le16(q + 6), expected[i].block);
        assert_int_equal(tare_load_le16(q + 8), expected[i].super);
        for (int k = 10; k < 16; k++) assert_int_equal(q[k], 0);
        assert_true(tare_f32_of_bits(tare_load_le32(q + 16)) == expected[i].min);
        assert_true(tare_f32_of_bits(tare_load_le32(q + 20)) == expected[i].max);
    }
    free_output(&o);
    made_free(&made);
}

/* ---- resources and sections ------------------------------------------------------------------ */

static void check_section(const output *o, uint32_t type, uint32_t version, const char *text) {
    section s = find_section(o, type);
    if (!s.at) fail_msg("section %x is missing", type);
    assert_int_equal(s.version, version);
    assert_int_equal(s.size, strlen(text));
    assert_memory_equal(o->bytes + s.offset, text, strlen(text));
}

static void resources_find_their_sections(void **state) {
    static const char *const others[] = {"LICENSE", "vocab.json", "mcf-section-00000004-00000001",
                                         "mcf-section-00000100-00000009", "dir/x"};
    tare_resource_entry list[] = {
        resource("LICENSE", "free"),
        resource("merges.txt", "a b"),
        resource("mcf-section-00008001-00000007", "nobody knows"),
        resource("config.json", "{}"),
        resource("vocab.json", ""), /* an empty file has no section of its own */
        resource("tokenizer_config.json", "{ }"),
        resource("mcf-section-00000004-00000001", "no TensorData"),
        resource("tokenizer.json", "[]"),
        resource("mcf-section-00000100-00000009", "a second 0x100"),
        resource("generation_config.json", "{\"a\":1}"),
        resource("dir/x", "y"),
    };
    enum { N = sizeof list / sizeof *list };
    (void)state;
    made_model made;
    made_begin(&made, 64, 0, 0);
    made.model->catalog.resources = list;
    made.model->catalog.n_resources = N;
    tare_model *m = made_finish(&made, false, NULL, 0);
    output o = write_model(m, 0);
    check_section(&o, 0x100, 1, "{}");
    check_section(&o, 0x101, 1, "{\"a\":1}");
    check_section(&o, 0x102, 1, "[]");
    check_section(&o, 0x103, 1, "{ }");
    check_section(&o, 0x105, 1, "a b");
    check_section(&o, 0x8001, 7, "nobody knows");
    assert_int_equal(find_section(&o, 0x104).at, 0);
    const uint8_t *files = o.bytes + find_section(&o, TARE_MCF_FILES).offset;
    enum { N_OTHERS = sizeof others / sizeof *others };
    assert_int_equal(tare_load_le32(files), 1);
    assert_int_equal(tare_load_le32(files + 4), N_OTHERS);
    for (size_t i = 0; i < N_OTHERS; i++) {
        const uint8_t *r = files + 16 + 24 * i, *names = files + 16 + (size_t)24 * N_OTHERS;
        assert_int_equal(tare_load_le32(r + 4), strlen(others[i]));
        assert_memory_equal(names + tare_load_le32(r), others[i], strlen(others[i]));
        assert_int_equal(tare_load_le64(r + 8) % 8, 0);
    }
    tare_model *back = open_output(&o, NULL);
    help_check_same(m, back);
    output twice = write_model(back, 0);
    tare_model *again = open_output(&twice, NULL);
    help_check_same(m, again);
    tare_model_free(again);
    tare_model_free(back);
    free_output(&twice);
    free_output(&o);
    made_free(&made);
}

/* A file that has neither description nor metadata converts, mapped or read, to the same bytes. */
static void bare_tensors_convert(void **state) {
    (void)state;
    made_model made;
    const tare_model *m = make_mixed(&made);
    tare_convert_options options = tare_convert_options_default();
    help_convert(help_path("bare.mcf"), m, &options);
    tare_model *read = help_open(help_path("bare.mcf")), *mapped;
    assert_int_equal(read->catalog.n_metadata, 0);
    tare_open_options open = tare_open_options_default();
    open.map = TARE_MAP_READ;
    assert_int_equal(tare_open_path(&mapped, help_path("bare.mcf"), &open, NULL), TARE_OK);
    static const char *const names[][2] = {{"read.mcf", "mapped.mcf"},
                                           {"read.gguf", "mapped.gguf"},
                                           {"read.safetensors", "mapped.safetensors"}};
    for (size_t i = 0; i < 3; i++) {
        help_convert(help_path(names[i][0]), read, &options);
        help_convert(help_path(names[i][1]), mapped, &options);
        help_check_same_file(help_path(names[i][0]), help_path(names[i][1]));
    }
    help_check_same_file(help_path("bare.mcf"), help_path("read.mcf"));
    tare_model_free(mapped);
    tare_model_free(read);
    made_free(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_says_where_all_is),
        cmocka_unit_test(regions_lie_where_the_specification_has_them),
        cmocka_unit_test(alignment_is_what_is_asked_for),
        cmocka_unit_test(what_mcf_cannot_be_is_refused),
        cmocka_unit_test(a_plan_reads_no_tensor),
        cmocka_unit_test(same_bytes_have_one_place),
        cmocka_unit_test(quantized_tensors_have_records),
        cmocka_unit_test(resources_find_their_sections),
        cmocka_unit_test(bare_tensors_convert),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
