/* SPDX-License-Identifier: MIT
 *
 * Guards against: a file of a ladder that does not come back byte for byte; a derived tensor whose parts
 * are not those of the whole; a derivation that is taken though it is not one: of a later layer, in a
 * circle, of another shape, with importance that is not there, by an encoder of another version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/experimental/packing.h>
#include <tare/experimental/unpack.h>
#include <tare/importance.h>
#include <tare/private/synth.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "convert_help.h"
#include "format/wcodec/wcodec_records.h"
#include "format/wcodec/wcodec_virtual.h"

static void check(tare_status status, const tare_error *err) {
    char line[512];
    if (status == TARE_OK) return;
    tare_error_format(line, sizeof line, err, NULL);
    fail_msg("%s", line);
}

static void write_bytes(const char *path, const void *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void write_u32(FILE *f, uint32_t v) {
    uint8_t bytes[4];
    tare_store_le32(bytes, v);
    fwrite(bytes, 1, sizeof bytes, f);
}

/* An importance matrix of the older form: an entry for each matrix of the model. */
static void write_matrix(const char *path, const tare_model *m) {
    FILE *f = fopen(path, "wb");
    uint32_t n = 0;
    assert_non_null(f);
    for (size_t i = 0; i < m->catalog.n_tensors; i++) n += m->catalog.tensors[i].n_dims == 2;
    write_u32(f, n);
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        const tare_tensor *t = &m->catalog.tensors[i];
        if (t->n_dims != 2) continue;
        write_u32(f, (uint32_t)t->name.len);
        fwrite(t->name.ptr, 1, t->name.len, f);
        write_u32(f, 1);
        write_u32(f, (uint32_t)t->cols);
        for (uint64_t c = 0; c < t->cols; c++)
            write_u32(f, tare_f32_bits(1.0f + (float)(c * 37 % 101)));
    }
    assert_int_equal(fclose(f), 0);
}

static void quantize(const char *to, const tare_model *m, const char *type,
                     const tare_importance *importance, tare_quality quality) {
    tare_convert_options o = tare_convert_options_default();
    o.type = tare_encoding_find(tare_str_of(type));
    o.importance = importance;
    o.quality = quality;
    assert_non_null(o.type);
    help_convert(help_path(to), m, &o);
}

/* Eight matrices of BF16, small ones: what is searched for is the same in large ones. */
static void make_model(const char *path) {
    enum { MATRICES = 8, ROWS = 96, COLS = 512 };
    const uint64_t dims[] = {ROWS, COLS};
    const tare_convert_options o = tare_convert_options_default();
    made_model made;
    char name[16];
    uint32_t seed = 1;
    made_begin(&made, 2 << 20, MATRICES, 32);
    for (unsigned t = 0; t < MATRICES; t++) {
        snprintf(name, sizeof name, "matrix.%u", t);
        uint8_t *bytes = made_add(&made, tare_str_of(name), TARE_ENCODING_BF16, dims, 2);
        for (size_t i = 0; i < (size_t)ROWS * COLS; i++) {
            seed = seed * 1664525 + 1013904223;
            const uint32_t x = seed >> 8 & 0x7f, sign = seed >> 31, octave = seed >> 20 & 3;
            const uint32_t high = 0x3d00 - 0x80 * octave + x;
            tare_store_le16(bytes + 2 * i, (uint16_t)(sign << 15 | high));
        }
    }
    help_convert(path, made_finish(&made, false, NULL, 0), &o);
    made_free(&made);
}

static size_t n_as_older; /* matrices that an older encoder writes otherwise */

/* The matrices of a file of IQ1_M as ggml up to 0.21 encoded them. */
static void make_older(const char *path, const tare_model *m, const tare_importance *importance) {
    const tare_encode_params older = {.size = sizeof older, .compat = TARE_COMPAT_GGML_0_21};
    tare_model *own = help_open(help_path(path));
    size_t n_bytes;
    uint8_t *bytes = help_read(help_path(path), &n_bytes);
    for (size_t i = 0; i < own->catalog.n_tensors; i++) {
        const tare_tensor *t = &own->catalog.tensors[i];
        const int64_t from = tare_model_find_tensor(m, t->name);
        const int64_t entry = tare_importance_find(importance, t->name);
        float *values = malloc((size_t)t->n_elements * sizeof *values);
        uint8_t *made = malloc((size_t)t->size_bytes);
        const tare_rows_mut rows = {{made}, t->n_rows, t->cols};
        tare_encode_params params = older;
        tare_error err = {0};
        assert_true(t->encoding->id == TARE_ENCODING_IQ1_M && from >= 0 && entry >= 0);
        params.importance = tare_importance_at(importance, (size_t)entry)->values;
        check(tare_tensor_values_f32(values, m, (size_t)from, 0, t->n_elements, &err), &err);
        check(tare_encode_rows(&rows, t->encoding, values, &params, &err), &err);
        n_as_older += memcmp(bytes + t->planes[0].offset, made, (size_t)t->size_bytes) != 0;
        memcpy(bytes + t->planes[0].offset, made, (size_t)t->size_bytes);
        free(values);
        free(made);
    }
    assert_true(n_as_older > 0);
    tare_model_free(own);
    write_bytes(help_path(path), bytes, n_bytes);
    free(bytes);
}

/* BF16, what is made of it in all ways, a file that is of another build, and one that is none. */
static void make_folder(void) {
    tare_error err;
    tare_model *m;
    tare_importance *importance;
    size_t n;
    mkdir(help_path("f"), 0755);
    make_model(help_path("f/m-bf16.gguf"));
    m = help_open(help_path("f/m-bf16.gguf"));
    write_matrix(help_path("f/imatrix.dat"), m);
    check(tare_importance_open_path(&importance, help_path("f/imatrix.dat"), NULL, &err), &err);
    quantize("f/m-q8_0.gguf", m, "q8_0", NULL, TARE_QUALITY_DEFAULT);
    quantize("f/m-q4_k.gguf", m, "q4_k", NULL, TARE_QUALITY_DEFAULT);
    quantize("f/m-q4_k-i.gguf", m, "q4_k", importance, TARE_QUALITY_DEFAULT);
    quantize("f/m-iq2.gguf", m, "iq2_xs", importance, TARE_QUALITY_DEFAULT);
    quantize("f/m-best.gguf", m, "q5_0", NULL, TARE_QUALITY_BEST);
    quantize("f/m-iq1.gguf", m, "iq1_m", importance, TARE_QUALITY_DEFAULT);
    make_older("f/m-iq1.gguf", m, importance);
    tare_importance_free(importance);
    tare_model_free(m);
    uint8_t *bytes = help_read(help_path("f/m-q4_k.gguf"), &n);
    for (size_t at = n / 2; at < n; at += 5000) bytes[at] ^= 0x10;
    write_bytes(help_path("f/m-foreign.gguf"), bytes, n);
    free(bytes);
    write_bytes(help_path("f/readme.md"), "words\n", 6);
}

static void pack_folder(tare_pack_summary *sum) {
    tare_pack_options o = tare_pack_options_default();
    tare_output_options output = tare_output_options_default();
    tare_error err;
    output.no_sync = output.force = true;
    o.output = &output;
    *sum = tare_pack_summary_default();
    check(tare_pack_ladder(sum, help_path("f.wcodec"), help_path("f"), &o, &err), &err);
}

static uint64_t size_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(help_path(path), &st), 0);
    return (uint64_t)st.st_size;
}

static void files_come_back(void **state) {
    (void)state;
    static const char *const names[] = {
        "m-bf16.gguf", "m-q8_0.gguf", "m-q4_k.gguf",    "m-q4_k-i.gguf", "m-iq2.gguf",
        "m-best.gguf", "m-iq1.gguf",  "m-foreign.gguf", "imatrix.dat",   "readme.md"};
    tare_pack_summary sum;
    tare_error err;
    char a[64], b[64], packed[SCRATCH_PATH_SIZE];
    make_folder();
    pack_folder(&sum);
    assert_int_equal(sum.n_files, sizeof names / sizeof *names);
    snprintf(packed, sizeof packed, "%s", help_path("f.wcodec"));
    const tare_source source = {
        .size = sizeof source, .kind = TARE_SOURCE_PATH, .name = packed, .fd = -1};
    tare_output_options output = tare_output_options_default();
    tare_unpack_options o = tare_unpack_options_default();
    o.output = &output;
    output.no_sync = true;
    check(tare_unpack(NULL, help_path("g"), &source, &o, &err), &err);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(a, sizeof a, "f/%s", names[i]);
        snprintf(b, sizeof b, "g/%s", names[i]);
        help_check_same_file(help_path(a), help_path(b));
    }
    /* BF16 takes two thirds of itself, and all the rest next to nothing. */
    assert_true(sum.to_bytes < size_of("f/m-bf16.gguf") * 70 / 100 + 60000);
    o.file = "m-iq2.gguf";
    check(tare_unpack(NULL, help_path("one.gguf"), &source, &o, &err), &err);
    help_check_same_file(help_path("f/m-iq2.gguf"), help_path("one.gguf"));
    o.file = "none";
    assert_int_equal(tare_unpack(NULL, help_path("two.gguf"), &source, &o, &err), TARE_ERR_ARG);
}

static void parts_are_those_of_the_whole(void **state) {
    (void)state;
    static const char *const names[] = {"m-q4_k-i.gguf", "m-q8_0.gguf", "m-foreign.gguf"};
    char path[64], inner[300];
    uint64_t seed = 1;
    for (size_t k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "f/%s", names[k]);
        snprintf(inner, sizeof inner, "%s::%s", help_path("f.wcodec"), names[k]);
        tare_model *a = help_open(help_path(path)), *b = help_open(inner);
        help_check_same(a, b);
        for (unsigned i = 0; i < 300; i++) {
            uint8_t x[3000], y[3000];
            seed = seed * UINT64_C(6364136223846793005) + 1;
            const size_t t = (size_t)(seed >> 40) % a->catalog.n_tensors;
            const uint64_t size = a->catalog.tensors[t].size_bytes;
            const uint64_t at = (seed >> 20) % size;
            const size_t n = size - at < sizeof x ? (size_t)(size - at) : sizeof x;
            assert_int_equal(tare_tensor_read(x, a, t, 0, at, n, NULL), TARE_OK);
            assert_int_equal(tare_tensor_read(y, b, t, 0, at, n, NULL), TARE_OK);
            assert_memory_equal(x, y, n);
        }
        tare_model_free(a);
        tare_model_free(b);
    }
    snprintf(inner, sizeof inner, "%s::none", help_path("f.wcodec"));
    tare_model *m;
    assert_int_equal(tare_open_path(&m, inner, NULL, NULL), TARE_ERR_ARG);
    snprintf(inner, sizeof inner, "%s::readme.md", help_path("f.wcodec"));
    assert_int_equal(tare_open_path(&m, inner, NULL, NULL), TARE_ERR_ARG);
}

/* ---- hostile derivations --------------------------------------------------------------------- */

/* A ladder with its records of layers as they are, which readers take of any version: to be changed. */
static uint8_t *read_plain(const char *path, size_t *size) {
    size_t n;
    uint8_t *packed = help_read(help_path(path), &n), *records;
    const size_t at = (size_t)tare_load_le64(packed + 51) + 64;
    const size_t frame = (size_t)tare_load_le64(packed + at - 48);
    const size_t plain = (size_t)tare_load_le64(packed + at - 24);
    const tare_limits limits = tare_limits_default();
    assert_true(packed[10] == 5 && plain > 4 * frame);
    assert_int_equal(
        tare_wcodec_records_unpack(&records, plain, 1, packed + at, frame, at, &limits, NULL, NULL),
        TARE_OK);
    *size = n - frame + plain;
    uint8_t *out = malloc(*size);
    memcpy(out, packed, at);
    memcpy(out + at, records, plain);
    memcpy(out + at + plain, packed + at + frame, n - at - frame);
    tare_store_le64(out + at - 48, plain);
    tare_store_le64(out + at - 24, 0);
    tare_store_le64(out + 64, *size);
    tare_store_le64(out + 72, tare_load_le64(packed + 72) - frame + plain);
    tare_store_le64(out + *size - 24, tare_load_le64(out + 72));
    tare_free(NULL, records, plain);
    free(packed);
    return out;
}

/* Where the derivation of number `n` stands in the file. */
static uint8_t *find_derivation(uint8_t *bytes, size_t size, unsigned n) {
    for (size_t at = (size_t)tare_load_le64(bytes + 51); at + 24 < size; at++)
        if (memcmp(bytes + at, "DERV", 4) == 0 && n-- == 0) return bytes + at;
    fail_msg("no derivation");
    return NULL;
}

/* What an older encoder wrote is made by it, and by no other version. */
static void older_encoders_are_known(void **state) {
    (void)state;
    size_t size;
    size_t n_older = 0;
    uint8_t *bytes = read_plain("f.wcodec", &size);
    for (size_t at = (size_t)tare_load_le64(bytes + 51); at + 24 < size; at++)
        n_older += memcmp(bytes + at, "DERV", 4) == 0 && tare_load_le16(bytes + at + 20) == 2;
    assert_int_equal(n_older, n_as_older);
    free(bytes);
}

static tare_status open_changed(uint8_t *bytes, size_t size, tare_error *err) {
    const uint64_t offset = tare_load_le64(bytes + 51), n = tare_load_le64(bytes + 72);
    const uint32_t crc = tare_crc32(tare_crc32(0, bytes, 128), bytes + offset, (size_t)n);
    const tare_source source = {.size = sizeof source,
                                .kind = TARE_SOURCE_MEMORY,
                                .memory = bytes,
                                .n_bytes = size,
                                .fd = -1};
    tare_model *m;
    tare_store_le32(bytes + offset + n + 16, crc);
    const tare_status status = tare_model_open(&m, &source, NULL, err);
    tare_model_free(m);
    return status;
}

/* Opens with a field of each of some derivations changed: refused, at that place. */
static void check_refused(const uint8_t *whole, size_t size, unsigned place, unsigned width,
                          uint64_t value, tare_status expected) {
    tare_error err = {0};
    uint8_t *bytes = malloc(size);
    memcpy(bytes, whole, size);
    uint8_t *d = find_derivation(bytes, size, 3);
    for (unsigned i = 0; i < width; i++) d[place + i] = (uint8_t)(value >> 8 * i);
    assert_int_equal(open_changed(bytes, size, &err), expected);
    assert_true(err.what && err.what[0] && err.offset != TARE_NO_OFFSET);
    free(bytes);
}

static void hostile_derivations_are_refused(void **state) {
    (void)state;
    size_t size;
    uint8_t *whole = read_plain("f.wcodec", &size);
    const uint32_t n_layers = tare_load_le32(whole + 47);
    check_refused(whole, size, 4, 4, n_layers - 1, TARE_ERR_CORRUPT); /* later */
    check_refused(whole, size, 4, 4, UINT32_MAX, TARE_ERR_CORRUPT);
    check_refused(whole, size, 8, 4, UINT32_MAX, TARE_ERR_CORRUPT); /* importance */
    check_refused(whole, size, 8, 4, 1, TARE_ERR_CORRUPT);
    check_refused(whole, size, 12, 8, 8, TARE_ERR_CORRUPT);
    check_refused(whole, size, 22, 1, 9, TARE_ERR_CORRUPT);     /* quality */
    check_refused(whole, size, 23, 1, 4, TARE_ERR_UNSUPPORTED); /* view */
    check_refused(whole, size, 23, 1, 2, TARE_ERR_CORRUPT);     /* divisors of no importance */
    check_refused(whole, size, 23, 1, 1, TARE_ERR_CORRUPT);     /* pieces beside a source */
    /* A chain of derivations: each of these is of the one before. */
    for (unsigned other = 0; other < n_layers; other++) {
        uint8_t *bytes = malloc(size);
        memcpy(bytes, whole, size);
        tare_store_le32(find_derivation(bytes, size, 3) + 4, other);
        tare_error err = {0};
        const tare_status status = open_changed(bytes, size, &err);
        assert_true(status == TARE_OK || status == TARE_ERR_CORRUPT);
        free(bytes);
    }
    free(whole);
}

static tare_status read_all(const uint8_t *bytes, size_t size) {
    tare_reader file;
    const tare_limits limits = tare_limits_default();
    tare_packed *store;
    tare_status status = TARE_OK;
    static uint8_t room[1 << 16];
    tare_reader_memory(&file, bytes, size, "changed");
    assert_int_equal(tare_packed_open(&store, &file, &limits, NULL, NULL), TARE_OK);
    const tare_wcodec_index *x = tare_wcodec_store_index(store);
    for (uint32_t i = 0; i < x->n_layers && status == TARE_OK; i++)
        for (uint64_t at = 0, n; at < x->layers[i].coded.region_bytes[0] && status == TARE_OK;
             at += n) {
            n = x->layers[i].coded.region_bytes[0] - at;
            if (n > sizeof room) n = sizeof room;
            status = tare_packed_read(store, i, 0, at, room, (size_t)n, NULL);
        }
    tare_packed_free(store);
    return status;
}

/* Divisors of importance: as many as there are rows, finite and not below 0. */
static void hostile_divisors_are_refused(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = read_plain("f.wcodec", &size), *d = NULL;
    for (unsigned n = 0; !d; n++) {
        d = find_derivation(bytes, size, n);
        if (!tare_load_le32(d + 8)) d = NULL;
    }
    assert_int_equal(d[23], 2);
    assert_int_equal(d[24], 1); /* one row */
    static const struct {
        unsigned place;
        uint8_t value;
        tare_status expected;
    } changes[] = {{24, 0, TARE_ERR_CORRUPT},
                   {24, 2, TARE_ERR_TRUNCATED},
                   {24, 0x7f, TARE_ERR_TRUNCATED},
                   {28, 0xff, TARE_ERR_CORRUPT},
                   {28, 0xbf, TARE_ERR_CORRUPT}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const uint8_t was = d[changes[i].place];
        tare_error err = {0};
        d[changes[i].place] = changes[i].value;
        assert_int_equal(open_changed(bytes, size, &err), changes[i].expected);
        assert_true(err.what && err.what[0] && err.offset != TARE_NO_OFFSET);
        d[changes[i].place] = was;
    }
    memset(d + 25, 0, 4); /* a row of 1 */
    assert_int_equal(open_changed(bytes, size, NULL), TARE_OK);
    assert_int_equal(read_all(bytes, size), TARE_ERR_CHECKSUM);
    free(bytes);
}

/* What it is made of is not what it was: found when it is read, by the CRCs of segments. */
static void other_derivations_are_found(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = read_plain("f.wcodec", &size);
    assert_int_equal(open_changed(bytes, size, NULL), TARE_OK);
    assert_int_equal(read_all(bytes, size), TARE_OK);
    const uint64_t offset = tare_load_le64(bytes + 51), n = tare_load_le64(bytes + 72);
    uint8_t *d = find_derivation(bytes, size, 0);
    for (unsigned change = 0; change < 2; change++) {
        d[change ? 20 : 22] ^= change ? 2 : 1; /* another version; another quality */
        tare_store_le32(bytes + offset + n + 16,
                        tare_crc32(tare_crc32(0, bytes, 128), bytes + offset, (size_t)n));
        assert_int_equal(read_all(bytes, size), change ? TARE_ERR_UNSUPPORTED : TARE_ERR_CHECKSUM);
        d[change ? 20 : 22] ^= change ? 2 : 1;
    }
    free(bytes);
}

/* Any byte of the index changed, and its CRC right: an error or the same bytes. */
static void flips_are_found(void **state) {
    (void)state;
    size_t size;
    uint8_t *bytes = read_plain("f.wcodec", &size);
    const size_t d = (size_t)(find_derivation(bytes, size, 5) - bytes);
    for (size_t i = d; i < d + 24; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            tare_error err = {0};
            bytes[i] ^= (uint8_t)(1u << bit);
            if (open_changed(bytes, size, &err) == TARE_OK) (void)read_all(bytes, size);
            bytes[i] ^= (uint8_t)(1u << bit);
        }
    free(bytes);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* A directory of Hugging Face, and llama.cpp's file of it, whose q and k have other rows. */
static void make_directory(void) {
    tare_error err;
    tare_model *m, *mapped;
    mkdir(help_path("p"), 0755);
    check(tare_synth_open(&m, "llama-chat:bf16", NULL, &err), &err);
    tare_convert_options o = tare_convert_options_default();
    o.to = "hf";
    help_convert(help_path("p/hf"), m, &o);
    tare_model_free(m);
    m = help_open(help_path("p/hf"));
    check(tare_llama_map(&mapped, m, NULL, &err), &err);
    quantize("p/m-bf16.gguf", mapped, "bf16", NULL, TARE_QUALITY_DEFAULT);
    quantize("p/m-f32.gguf", mapped, "f32", NULL, TARE_QUALITY_DEFAULT);
    quantize("p/m-q8_0.gguf", mapped, "q8_0", NULL, TARE_QUALITY_DEFAULT);
    tare_model_free(mapped);
    tare_model_free(m);
    tare_pack_options options = tare_pack_options_default();
    tare_output_options output = tare_output_options_default();
    output.no_sync = true;
    options.output = &output;
    check(tare_pack_ladder(NULL, help_path("p.wcodec"), help_path("p"), &options, &err), &err);
}

static void all_is_made_of_the_directory(void **state) {
    (void)state;
    static const char *const names[] = {"m-bf16.gguf", "m-f32.gguf", "m-q8_0.gguf"};
    char path[64], inner[300];
    make_directory();
    for (size_t k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "p/%s", names[k]);
        snprintf(inner, sizeof inner, "%s::%s", help_path("p.wcodec"), names[k]);
        tare_model *a = help_open(help_path(path)), *b = help_open(inner);
        help_check_same(a, b);
        tare_model_free(a);
        tare_model_free(b);
    }
    /* Beside what the directory takes, headers and an index. */
    assert_true(size_of("p.wcodec") < size_of("p/hf/model.safetensors") * 67 / 100 + 80000);
}

/* The first derivation whose view is pieces. */
static uint8_t *find_pieces(uint8_t *bytes, size_t size) {
    for (size_t at = (size_t)tare_load_le64(bytes + 51); at + 40 < size; at++)
        if (memcmp(bytes + at, "DERV", 4) == 0 && bytes[at + 23] == 1) return bytes + at + 24;
    fail_msg("no pieces");
    return NULL;
}

static bool is_refused(const uint8_t *whole, size_t size, size_t place, unsigned value) {
    tare_error err = {0};
    uint8_t *bytes = malloc(size);
    memcpy(bytes, whole, size);
    find_pieces(bytes, size)[place] = (uint8_t)value;
    const tare_status status = open_changed(bytes, size, &err);
    if (status == TARE_OK) (void)read_all(bytes, size);
    free(bytes);
    return status != TARE_OK;
}

/* Type, number of pieces; source, elements (3 bytes), operation, axes, offset, axes. Whatever a byte is
 * instead: an error, or bytes whose CRC tells. */
static void hostile_pieces_are_refused(void **state) {
    (void)state;
    size_t size;
    uint8_t *whole = read_plain("p.wcodec", &size);
    const uint8_t *d = find_pieces(whole, size);
    assert_int_equal(d[0], 2); /* BF16 */
    assert_int_equal(d[1], 1);
    assert_int_equal(d[6], 0);
    assert_true(d[7] >= 3);
    assert_true(is_refused(whole, size, 0, 3));        /* a type that is none */
    assert_true(is_refused(whole, size, 1, 0));        /* no pieces */
    assert_true(is_refused(whole, size, 1, 0x7f));     /* more than there are */
    assert_true(is_refused(whole, size, 2, 0));        /* zeros with a view */
    assert_true(is_refused(whole, size, 2, 0x7f));     /* of a later layer, or another shape */
    assert_true(is_refused(whole, size, 3, d[3] ^ 1)); /* other elements */
    assert_true(is_refused(whole, size, 6, 3));        /* an operation that is none */
    assert_true(is_refused(whole, size, 7, 13));       /* too many axes */
    assert_true(is_refused(whole, size, 8, 1));        /* beyond the end of the source */
    assert_true(is_refused(whole, size, 9, 0));        /* an axis without steps */
    assert_true(is_refused(whole, size, 9, d[9] + 1));
    for (size_t i = 0; i < 24; i++)
        for (unsigned bit = 0; bit < 8; bit++) (void)is_refused(whole, size, i, d[i] ^ (1u << bit));
    free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(parts_are_those_of_the_whole),
        cmocka_unit_test(older_encoders_are_known),
        cmocka_unit_test(hostile_derivations_are_refused),
        cmocka_unit_test(hostile_divisors_are_refused),
        cmocka_unit_test(other_derivations_are_found),
        cmocka_unit_test(flips_are_found),
        cmocka_unit_test(all_is_made_of_the_directory),
        cmocka_unit_test(hostile_pieces_are_refused),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
