/* SPDX-License-Identifier: MIT
 *
 * Guards against: unpacked files that differ in a byte; an output that appears though its input is
 * damaged; salvage that loses more, or tells less, than what is damaged; coarse numbers that are
 * off by more than the bits that were left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>

#include <tare/convert.h>
#include <tare/experimental/unpack.h>
#include <tare/inspect.h>
#include <tare/model.h>
#include <tare/output.h>
#include <tare/private/synth.h>

#include "base/bytes.h"
#include "convert_help.h"
#include "format/wcodec/wcodec_virtual.h"
#include "wc_random.h"
#include "wcodec_build.h"

static void save(const char *name, const uint8_t *bytes, size_t size) {
    FILE *f = fopen(help_path(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static tare_status unpack(const char *from, const char *to, tare_unpack_options o,
                          tare_unpack_result *result, tare_error *err) {
    tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = help_path(from), .fd = -1};
    tare_output_options output = o.output ? *o.output : tare_output_options_default();
    output.no_sync = true;
    o.output = &output;
    return tare_unpack(result, help_path(to), &source, &o, err);
}

static void must_unpack(const char *from, const char *to, tare_unpack_options o,
                        tare_unpack_result *result) {
    tare_error err;
    if (unpack(from, to, o, result, &err) == TARE_OK) return;
    char line[512];
    tare_error_format(line, sizeof line, &err, from);
    fail_msg("%s", line);
}

static void write_model(const char *name, const char *format, unsigned content, bool is_big,
                        uint64_t shard_size) {
    made_model made;
    tare_model *m = help_make(&made, content);
    tare_convert_options o = tare_convert_options_default();
    o.to = format;
    o.shard_size = shard_size;
    if (is_big) o.order = TARE_ORDER_BIG;
    help_convert(help_path(name), m, &o);
    made_free(&made);
}

static void pack(const char *from, unsigned form) {
    tare_model *m = help_open(help_path(from));
    size_t size;
    uint8_t *bytes = build_packed(m, form, &size);
    save("packed.wcodec", bytes, size);
    free(bytes);
    tare_model_free(m);
}

static void check_file(const char *name, const char *format, unsigned content, bool is_big) {
    tare_unpack_options o = tare_unpack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_unpack_result r = tare_unpack_result_default();
    tare_error err;
    write_model(name, format, content, is_big, 0);
    pack(name, 1);
    for (context.threads = 1; context.threads <= 3; context.threads += 2) {
        must_unpack("packed.wcodec", "again", o, &r);
        help_check_same_file(help_path(name), help_path("again"));
        assert_false(r.is_directory);
        assert_int_equal(r.n_files, 1);
        assert_int_equal(unpack("packed.wcodec", "again", o, NULL, &err), TARE_ERR_ARG);
        help_remove(help_path("again"));
    }
    help_remove(help_path(name));
}

static void files_come_back(void **state) {
    (void)state;
    check_file("a.gguf", "gguf", HELP_COMMON | HELP_CARRIED | HELP_BLOCKS | HELP_METADATA, false);
    check_file("big.gguf", "gguf", HELP_COMMON | HELP_METADATA, true);
    check_file("a.safetensors", "safetensors", HELP_COMMON | HELP_CARRIED | HELP_METADATA, false);
    check_file("a.mcf", "mcf", HELP_COMMON | HELP_METADATA, false);
}

static void directories_come_back(void **state) {
    (void)state;
    tare_unpack_options o = tare_unpack_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_unpack_result r = tare_unpack_result_default();
    char path[512], again[512];
    write_model("set", "gguf", HELP_COMMON | HELP_METADATA, false, 4000);
    tare_model *m = help_open(help_path("set"));
    pack("set", 2);
    for (unsigned i = 0; i < 2; i++) {
        output.force = i > 0;
        must_unpack("packed.wcodec", "set.again", o, &r);
    }
    assert_true(r.is_directory);
    assert_int_equal(r.n_files, m->n_files);
    assert_int_equal(help_count_entries(help_path("set.again")), m->n_files);
    for (size_t i = 0; i < m->n_files; i++) {
        const char *name = strrchr(m->files[i].name, '/');
        snprintf(path, sizeof path, "%s/set%s", help_dir, name);
        snprintf(again, sizeof again, "%s/set.again%s", help_dir, name);
        help_check_same_file(path, again);
    }
    tare_model_free(m);
    help_remove(help_path("set"));
    help_remove(help_path("set.again"));
}

static void a_stream_has_the_same_bytes(void **state) {
    (void)state;
    tare_source source = {.size = sizeof(tare_source),
                          .kind = TARE_SOURCE_PATH,
                          .name = help_path("packed.wcodec"),
                          .fd = -1};
    tare_error err;
    write_model("a.gguf", "gguf", HELP_COMMON | HELP_METADATA, false, 0);
    pack("a.gguf", 1);
    int fd = open(help_path("stream"), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(tare_unpack_fd(NULL, fd, &source, NULL, &err), TARE_OK);
    close(fd);
    help_check_same_file(help_path("a.gguf"), help_path("stream"));
    help_remove(help_path("stream"));
}

/* A directory of the files `names`, each of them its number in `text`. */
static void build_directory(const char *to, const char *const *names, uint32_t n) {
    static const char text[] = "0123456789";
    static wcodec_build b;
    tare_packed_file files[8];
    tare_packed_range ranges[8];
    size_t size;
    build_start(&b);
    build_bytes(&b, TARE_WCODEC_BYTES, "text", text, sizeof text - 1);
    for (uint32_t i = 0; i < n; i++) {
        ranges[i] = (tare_packed_range){0, 0, i, 1};
        files[i] = (tare_packed_file){
            .name = {names[i], strlen(names[i])}, .size = 1, .n_ranges = 1, .ranges = &ranges[i]};
    }
    b.index.files_form = 2;
    b.index.n_files = n;
    b.index.files = files;
    uint8_t *bytes = build_end(&b, &size);
    save(to, bytes, size);
    free(bytes);
}

static void folders_come_back(void **state) {
    (void)state;
    static const char *const names[] = {"onnx/model.onnx", "a.txt", "x/y/z.bin", "x/y.bin"};
    static const char *const clash[] = {"a", "a/b"};
    tare_unpack_options o = tare_unpack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_unpack_result r = tare_unpack_result_default();
    tare_error err;
    char path[64];
    size_t n;
    build_directory("folders.wcodec", names, 4);
    must_unpack("folders.wcodec", "folders", o, &r);
    assert_int_equal(r.n_files, 4);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "folders/%s", names[i]);
        uint8_t *bytes = help_read(help_path(path), &n);
        assert_true(n == 1 && bytes[0] == '0' + i);
        free(bytes);
    }
    build_directory("clash.wcodec", clash, 2);
    context.threads = 1;
    assert_int_equal(unpack("clash.wcodec", "clash", o, NULL, &err), TARE_ERR_IO);
    assert_string_equal(err.file, "a/b");
    assert_true(access(help_path("clash"), F_OK) != 0);
}

enum { LARGEST = 66 << 20 /* a segment and something */ };

static void *bounded_alloc(void *ctx, size_t size) {
    return size > *(size_t *)ctx ? NULL : malloc(size);
}

static void *bounded_resize(void *ctx, void *ptr, size_t old_size, size_t size) {
    (void)old_size;
    return size > *(size_t *)ctx ? NULL : realloc(ptr, size);
}

static void bounded_free(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    (void)size;
    free(ptr);
}

static tare_status read_zeros(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    (void)ctx;
    (void)offset;
    (void)err;
    memset(buf, 0, n);
    return TARE_OK;
}

/* A file says how large a unit of its regions is: memory goes by segments all the same. */
static void units_of_any_size_take_bounded_memory(void **state) {
    (void)state;
    static wcodec_build b;
    const uint32_t n = (72 << 20) + 1; /* more than the bytes that a segment may have */
    size_t size, largest = LARGEST;
    const tare_allocator bounded = {&largest, bounded_alloc, bounded_resize, bounded_free};
    tare_unpack_options o = tare_unpack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_unpack_result result = tare_unpack_result_default();
    tare_reader zeros = {.name = "zeros", .size = n, .fd = -1, .fetch = read_zeros};
    tare_wc_source source = {{&zeros}, {0}};
    tare_packed_range range = {0, 0, 0, n};
    tare_packed_file file = {.name = {"zeros", 5}, .size = n, .n_ranges = 1, .ranges = &range};
    build_start(&b);
    build_layer(&b,
                (tare_wcodec_layer){.kind = TARE_WCODEC_BYTES,
                                    .coded.n_regions = 1,
                                    .coded.region_bytes = {n},
                                    .name = {"zeros", 5}},
                &source);
    b.layers[0].coded.streams[0].field.stride = b.layers[0].coded.streams[0].field.width = n;
    b.index.files = &file;
    b.index.n_files = b.index.files_form = 1;
    uint8_t *bytes = build_end(&b, &size);
    save("unit.wcodec", bytes, size);
    context.allocator = &bounded;
    context.threads = 1;
    must_unpack("unit.wcodec", "unit", o, &result);
    assert_int_equal(result.n_bytes, n);
    help_remove(help_path("unit"));
    free(bytes);
}

static void what_is_wrong_leaves_nothing(void **state) {
    (void)state;
    tare_unpack_options o = tare_unpack_options_default();
    tare_output_options o_output = tare_output_options_default();
    o.output = &o_output;
    static wcodec_build b;
    tare_error err;
    size_t size;
    o_output.force = true;
    assert_int_equal(unpack("packed.wcodec", "packed.wcodec", o, NULL, &err), TARE_ERR_ARG);
    assert_string_equal(err.what, "the output is the input, or holds it");
    build_start(&b);
    uint8_t *bytes = build_end(&b, &size);
    save("nothing.wcodec", bytes, size);
    free(bytes);
    assert_int_equal(unpack("nothing.wcodec", "again", o, NULL, &err), TARE_ERR_ARG);
    assert_true(access(help_path("again"), F_OK) != 0);
}

/* ---- damage ---------------------------------------------------------------------------------- */

enum { N_VALUES = 60000 };

/* A tensor of two planes of several segments, as a file of its own; returns the container. */
static uint8_t *build_numbers(uint8_t *numbers, const char *encoding, unsigned item, size_t *size) {
    static wcodec_build b;
    static tare_packed_file file;
    static tare_packed_range range;
    uint64_t seed = 5;
    for (uint32_t i = 0; i < N_VALUES; i++) {
        float x = (float)wc_normal(&seed) / 4096;
        uint32_t bits = tare_f32_bits(x);
        if (item == 16)
            tare_store_le16(numbers + 2 * i, (uint16_t)(bits >> 16));
        else
            tare_store_le32(numbers + 4 * i, bits);
    }
    size_t n = item == 16 ? 2 * N_VALUES - 2 : 4 * N_VALUES - 4;
    tare_reader reader;
    tare_reader_memory(&reader, numbers, n, "numbers");
    tare_wc_source source = {{&reader}, {0}};
    build_start(&b);
    tare_wcodec_layer l = {.kind = TARE_WCODEC_TENSOR,
                           .n_dims = 1,
                           .coded.n_regions = 1,
                           .dims = {N_VALUES - 1},
                           .coded.region_bytes = {n},
                           .name = TARE_STR("numbers"),
                           .encoding = tare_str_of(encoding)};
    build_layer(&b, l, &source);
    range = (tare_packed_range){0, 0, 0, n};
    file = (tare_packed_file){
        .name = TARE_STR("numbers.bin"), .size = n, .n_ranges = 1, .ranges = &range};
    b.index.files_form = 1;
    b.index.n_files = 1;
    b.index.files = &file;
    return build_end(&b, size);
}

static tare_packed *open_bytes(const uint8_t *bytes, size_t size) {
    const tare_limits limits = tare_limits_default();
    tare_packed *store;
    tare_reader reader;
    tare_reader_memory(&reader, bytes, size, "packed");
    assert_int_equal(tare_packed_open(&store, &reader, &limits, NULL, NULL), TARE_OK);
    return store;
}

/* The bytes of a plane of F32 that became zeros. */
static void expect_zeros(uint8_t *numbers, const tare_coded_stream *p, uint64_t first,
                         uint64_t end) {
    for (uint64_t i = first; i < end && i < p->n_bytes; i++)
        numbers[i / p->field.width * p->field.stride + p->field.offset + i % p->field.width] = 0;
}

/* What verifying finds of segments is what salvaging loses: the same items at the same offsets. */
static void check_verified(const char *name, const tare_report *lost) {
    tare_context o = tare_context_default();
    tare_error err;
    tare_model *m = help_open(help_path(name));
    tare_report *all = tare_report_new();
    o.report = all;
    assert_int_equal(tare_verify_data(m, &o, &err), TARE_OK);
    size_t n = 0;
    for (size_t i = 0; i < tare_report_count(all); i++) {
        const tare_finding *f = tare_report_at(all, i), *other = tare_report_at(lost, n);
        if (strcmp(f->code, "wcodec.segment") != 0) continue;
        assert_non_null(other);
        assert_int_equal(f->offset, other->offset);
        assert_int_equal(f->status, other->status);
        assert_true(tare_str_equal(f->item_name, other->item_name));
        n++;
    }
    assert_int_equal(n, help_findings(lost, "unpack.lost"));
    assert_int_equal(help_findings(all, "wcodec.digest"), 0);
    tare_report_free(all);
    tare_model_free(m);
}

/* The second segment of the first plane, the head of the second. */
static void damage(uint8_t *bytes, const tare_coded_stream *planes) {
    assert_true(planes[1].head_bytes > 0);
    bytes += TARE_WCODEC_HEADER; /* the layer comes first */
    bytes[planes[0].position + planes[0].head_bytes + 64 * (uint64_t)planes[0].sizes[0] + 300] ^= 4;
    bytes[planes[1].position + 3] ^= 1;
}

static void only_damaged_segments_are_lost(void **state) {
    (void)state;
    tare_unpack_options o = tare_unpack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_unpack_result r = tare_unpack_result_default();
    tare_error err;
    size_t size, n = 4 * N_VALUES - 4, n_got;
    uint8_t *numbers = malloc(4 * N_VALUES);
    uint8_t *bytes = build_numbers(numbers, "f32", 32, &size);
    tare_packed *store = open_bytes(bytes, size);
    const tare_coded_stream *planes = tare_wcodec_store_index(store)->layers[0].coded.streams;
    uint64_t lost = UINT64_C(1) << planes[0].field.log2_segment;
    expect_zeros(numbers, &planes[0], 2 * lost, 4 * lost);
    expect_zeros(numbers, &planes[1], 0, planes[1].n_bytes);
    damage(bytes, planes);
    save("damaged.wcodec", bytes, size);

    assert_int_equal(unpack("damaged.wcodec", "rest", o, NULL, &err), TARE_ERR_CHECKSUM);
    assert_string_equal(err.item_name, "numbers");
    assert_true(access(help_path("rest"), F_OK) != 0);
    o.salvage = true;
    for (context.threads = 1; context.threads <= 3; context.threads++) {
        context.report = tare_report_new();
        must_unpack("damaged.wcodec", "rest", o, &r);
        uint8_t *got = help_read(help_path("rest"), &n_got);
        assert_int_equal(n_got, n);
        assert_memory_equal(got, numbers, n);
        assert_int_equal(r.n_lost, 2);
        assert_int_equal(help_findings(context.report, "unpack.lost"), 2);
        assert_int_equal(help_findings(context.report, "unpack.not-whole"), 1);
        assert_int_equal(r.n_tensors_damaged, 1);
        check_verified("damaged.wcodec", context.report);
        tare_report_free(context.report);
        free(got);
        output.force = true;
    }
    tare_packed_free(store);
    free(bytes);
    free(numbers);
}

/* Whatever is wrong in the header of a segment, it is that segment which is damaged. */
static void damaged_headers_lose_their_segment_alone(void **state) {
    (void)state;
    tare_unpack_options o = tare_unpack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_unpack_result r = tare_unpack_result_default();
    tare_error err;
    size_t size, n = 4 * N_VALUES - 4, n_got;
    uint8_t *numbers = malloc(4 * N_VALUES);
    uint8_t *bytes = build_numbers(numbers, "f32", 32, &size);
    tare_packed *store = open_bytes(bytes, size);
    const tare_coded_stream *p = &tare_wcodec_store_index(store)->layers[0].coded.streams[0];
    uint64_t lost = UINT64_C(1) << p->field.log2_segment;
    uint64_t at = TARE_WCODEC_HEADER + p->position + p->head_bytes + 64 * (uint64_t)p->sizes[0];
    expect_zeros(numbers, p, 2 * lost, 4 * lost);
    output.force = true;
    context.threads = 1;
    for (unsigned i = 0; i < TARE_WC_SEGMENT_HEADER; i++) {
        uint8_t flipped = (uint8_t)(1u << i % 2); /* of byte 1: a predictor, and there is no base */
        bytes[at + i] ^= flipped;
        save("header.wcodec", bytes, size);
        o.salvage = false;
        tare_status status = unpack("header.wcodec", "rest", o, NULL, &err);
        assert_true(tare_status_is_loss(status));
        if (i == 1) assert_true(status == TARE_ERR_CORRUPT && err.offset == at + 1);
        o.salvage = true;
        must_unpack("header.wcodec", "rest", o, &r);
        assert_int_equal(r.n_lost, 1);
        uint8_t *got = help_read(help_path("rest"), &n_got);
        assert_int_equal(n_got, n);
        assert_memory_equal(got, numbers, n);
        free(got);
        help_remove(help_path("rest"));
        bytes[at + i] ^= flipped;
    }
    tare_packed_free(store);
    free(bytes);
    free(numbers);
}

/* Damage in many places: the first of each layer are told one by one, all of them counted. */
static void findings_about_a_layer_are_bounded(void **state) {
    (void)state;
    enum { N = 80 << 14, TOLD = 64 };
    static wcodec_build b;
    tare_context o = tare_context_default();
    tare_error err;
    size_t size;
    uint8_t *numbers = malloc(N);
    uint64_t seed = 9;
    for (size_t i = 0; i < N; i++) numbers[i] = (uint8_t)(wc_random(&seed) >> 56);
    build_start(&b);
    build_bytes(&b, TARE_WCODEC_RESOURCE, "noise", numbers, N - 1);
    uint8_t *bytes = build_end(&b, &size);
    tare_packed *store = open_bytes(bytes, size);
    const tare_coded_stream *p = &tare_wcodec_store_index(store)->layers[0].coded.streams[0];
    assert_int_equal(p->n_segments, N >> 14);
    uint64_t at = TARE_WCODEC_HEADER + p->position + p->head_bytes;
    for (uint64_t i = 0; i < p->n_segments; at += 64 * (uint64_t)p->sizes[i++]) bytes[at + 40] ^= 1;
    tare_packed_free(store);
    save("noise.wcodec", bytes, size);
    tare_model *m = help_open(help_path("noise.wcodec"));
    o.report = tare_report_new();
    assert_int_equal(tare_verify_data(m, &o, &err), TARE_OK);
    assert_int_equal(help_findings(o.report, "wcodec.segment"), TOLD + 1);
    const tare_finding *last = tare_report_at(o.report, TOLD);
    assert_true(tare_str_is(last->text, "16 more segments: damaged"));
    tare_report_free(o.report);
    tare_model_free(m);
    free(bytes);
    free(numbers);
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* Each group more halves what is off, until nothing is. */
static void coarse_numbers_are_near(void **state) {
    (void)state;
    tare_unpack_options o = tare_unpack_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_unpack_result r = tare_unpack_result_default();
    tare_error err;
    size_t size, n;
    double worst = 1;
    uint8_t *numbers = malloc(4 * N_VALUES), *bytes = build_numbers(numbers, "bf16", 16, &size);
    save("numbers.wcodec", bytes, size);
    free(bytes);
    o.is_coarse = output.force = true;
    for (o.groups = 1; worst > 0; o.groups++) {
        double off = 0;
        assert_true(o.groups < 5);
        tare_status status = unpack("numbers.wcodec", "coarse", o, &r, &err);
        if (status == TARE_ERR_UNSUPPORTED) break; /* nothing is left out any more */
        assert_int_equal(status, TARE_OK);
        assert_int_equal(r.n_coarse, 1);
        uint8_t *got = help_read(help_path("coarse"), &n);
        for (uint32_t i = 0; i + 1 < N_VALUES; i++) {
            float x = tare_f32_of_bits((uint32_t)tare_load_le16(numbers + 2 * i) << 16);
            float y = tare_f32_of_bits((uint32_t)tare_load_le16(got + 2 * i) << 16);
            if (x != 0) off = fmax(off, fabs((double)x - (double)y) / fabs((double)x));
        }
        assert_true(off < worst / 2 && off > 0);
        worst = off;
        free(got);
    }
    assert_true(o.groups > 1);
    free(numbers);
}

static void what_cannot_be_coarse_is_said(void **state) {
    (void)state;
    tare_unpack_options o = tare_unpack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_error err;
    size_t size;
    uint8_t *numbers = malloc(4 * N_VALUES), *bytes = build_numbers(numbers, "i16", 16, &size);
    save("integers.wcodec", bytes, size);
    o.is_coarse = true;
    o.groups = 1;
    context.report = tare_report_new();
    assert_int_equal(unpack("integers.wcodec", "whole", o, NULL, &err), TARE_ERR_UNSUPPORTED);
    assert_int_equal(help_findings(context.report, "unpack.whole"), 1);
    assert_true(access(help_path("whole"), F_OK) != 0);
    tare_report_free(context.report);
    free(bytes);
    free(numbers);
}

/* A package whose tensors can be coarse, and which states their digests. */
static void pack_package(void) {
    tare_convert_options to = tare_convert_options_default();
    tare_pack_options o = tare_pack_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_model *m;
    tare_error err;
    to.to = "infq";
    assert_int_equal(tare_synth_open(&m, "llama-tiny:normal", NULL, &err), TARE_OK);
    help_convert(help_path("package.infq"), m, &to);
    tare_model_free(m);
    m = help_open(help_path("package.infq"));
    output.no_sync = true;
    o.directory = help_path("package.infq");
    if (tare_pack(NULL, help_path("package.wcodec"), m, &o, &err) != TARE_OK)
        fail_msg("%s", err.what);
    tare_model_free(m);
}

/* Stops when the bytes that files have are unpacked, and what follows them has begun. */
static bool stop_after_files(void *ctx, uint64_t done, uint64_t total) {
    uint64_t *files = ctx;
    (void)done;
    if (!*files) *files = total;
    return total != *files;
}

static void digests_are_not_the_end_of_cancelling(void **state) {
    (void)state;
    tare_unpack_options o = tare_unpack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_error err;
    uint64_t files = 0;
    pack_package();
    o.is_coarse = output.force = true;
    context.threads = 3;
    must_unpack("package.wcodec", "stopped", o, NULL);
    help_remove(help_path("stopped"));
    context.progress = stop_after_files;
    context.progress_ctx = &files;
    assert_int_equal(unpack("package.wcodec", "stopped", o, NULL, &err), TARE_ERR_CANCELLED);
    assert_true(access(help_path("stopped"), F_OK) != 0);
}

/* The container needs nothing that this limit forbids, the text of the package does. */
static void a_package_that_is_not_opened_is_told(void **state) {
    (void)state;
    tare_unpack_options o = tare_unpack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_limits limits = tare_limits_default();
    tare_error err;
    o.is_coarse = true;
    context.limits = &limits;
    limits.nesting = 0;
    assert_int_equal(unpack("package.wcodec", "refused", o, NULL, &err), TARE_ERR_LIMIT);
    assert_true(access(help_path("refused"), F_OK) != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(directories_come_back),
        cmocka_unit_test(a_stream_has_the_same_bytes),
        cmocka_unit_test(folders_come_back),
        cmocka_unit_test(units_of_any_size_take_bounded_memory),
        cmocka_unit_test(what_is_wrong_leaves_nothing),
        cmocka_unit_test(only_damaged_segments_are_lost),
        cmocka_unit_test(damaged_headers_lose_their_segment_alone),
        cmocka_unit_test(findings_about_a_layer_are_bounded),
        cmocka_unit_test(coarse_numbers_are_near),
        cmocka_unit_test(what_cannot_be_coarse_is_said),
        cmocka_unit_test(digests_are_not_the_end_of_cancelling),
        cmocka_unit_test(a_package_that_is_not_opened_is_told),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
