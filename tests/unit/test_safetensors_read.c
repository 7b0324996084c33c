/* SPDX-License-Identifier: MIT
 *
 * Guards against: a rule of the safetensors format that is not enforced, or told at the wrong byte
 * or of the wrong tensor; sizes that wrap; a header believed beyond the file; time that is not
 * linear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/memory_source.h"
#include "unit/safetensors_sample.h"

#define ONE "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}"

/* What is wrong with a file: after the mark "@", which is taken out, comes the byte that the error
 * names. */
typedef struct fault_case {
    const char *name;
    const char *header;
    size_t n_data;
    tare_status status;
    const char *tensor; /* "": none */
} fault_case;

static const fault_case faults[] = {
    {"header does not begin with a brace", "@ {" ONE "}", 2, TARE_ERR_CORRUPT, ""},
    {"header is an array", "@[]", 0, TARE_ERR_CORRUPT, ""},
    {"bad UTF-8 in a name", "{\"@\xff\":1}", 0, TARE_ERR_CORRUPT, ""},
    {"bytes that are no JSON", "{@\xff}", 0, TARE_ERR_CORRUPT, ""},
    {"something behind the object", "{" ONE "}@x", 2, TARE_ERR_CORRUPT, ""},
    {"other padding than spaces", "{" ONE "}  @\1", 2, TARE_ERR_CORRUPT, ""},
    {"nested too deeply", "{\"a\":{\"x\":[[[[[[@[1]]]]]]]}}", 0, TARE_ERR_LIMIT, ""},
    {"entry is no object", "{\"a\":@[1]}", 0, TARE_ERR_CORRUPT, "a"},
    {"dtype missing", "{\"a\":@{\"shape\":[2],\"data_offsets\":[0,2]}}", 2, TARE_ERR_CORRUPT, "a"},
    {"shape missing", "{\"a\":@{\"dtype\":\"U8\",\"data_offsets\":[0,2]}}", 2, TARE_ERR_CORRUPT,
     "a"},
    {"offsets missing", "{\"a\":@{\"dtype\":\"U8\",\"shape\":[2]}}", 2, TARE_ERR_CORRUPT, "a"},
    {"dtype unknown", "{\"a\":{\"dtype\":@\"Q4\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2,
     TARE_ERR_UNSUPPORTED, "a"},
    {"dtype in lower case", "{\"a\":{\"dtype\":@\"u8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2,
     TARE_ERR_UNSUPPORTED, "a"},
    {"dtype no string", "{\"a\":{\"dtype\":@8,\"shape\":[2],\"data_offsets\":[0,2]}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"shape no array", "{\"a\":{\"dtype\":\"U8\",\"shape\":@2,\"data_offsets\":[0,2]}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"fractional dimension", "{\"a\":{\"dtype\":\"U8\",\"shape\":[@2.0],\"data_offsets\":[0,2]}}",
     2, TARE_ERR_CORRUPT, "a"},
    {"dimension with exponent",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[@2e0],\"data_offsets\":[0,2]}}", 2, TARE_ERR_CORRUPT,
     "a"},
    {"negative dimension", "{\"a\":{\"dtype\":\"U8\",\"shape\":[@-2],\"data_offsets\":[0,2]}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"dimension in a string",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[@\"2\"],\"data_offsets\":[0,2]}}", 2, TARE_ERR_CORRUPT,
     "a"},
    {"dimension beyond 64 bits",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[@18446744073709551616],\"data_offsets\":[0,2]}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"nine dimensions",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,@2],\"data_offsets\":[0,2]}}", 2,
     TARE_ERR_LIMIT, "a"},
    {"shape product wraps to the size",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":@[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
     TARE_ERR_LIMIT, "a"},
    {"bits wrap",
     "{\"a\":{\"dtype\":\"F64\",\"shape\":@[2305843009213693952],\"data_offsets\":[0,0]}}", 0,
     TARE_ERR_LIMIT, "a"},
    {"bits fill no byte", "{\"a\":{\"dtype\":\"F4\",\"shape\":@[3],\"data_offsets\":[0,1]}}", 1,
     TARE_ERR_CORRUPT, "a"},
    {"six bits fill no byte",
     "{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":@[2],\"data_offsets\":[0,1]}}", 1, TARE_ERR_CORRUPT,
     "a"},
    {"begin beyond end", "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":@[2,0]}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"one offset", "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":@[0]}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"three offsets", "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2,@3]}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"fractional offset", "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,@2.0]}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"negative offset", "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[@-0,2]}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"offsets no array", "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":@2}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"offset beyond 64 bits",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],"
     "\"data_offsets\":@[18446744073709551615,18446744073709551615]}}",
     0, TARE_ERR_CORRUPT, "a"},
    {"size smaller than shape", "{\"a\":{\"dtype\":\"U16\",\"shape\":[2],\"data_offsets\":@[0,2]}}",
     2, TARE_ERR_CORRUPT, "a"},
    {"size larger than shape", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":@[0,2]}}",
     2, TARE_ERR_CORRUPT, "a"},
    {"bytes for an empty shape", "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":@[0,2]}}",
     2, TARE_ERR_CORRUPT, "a"},
    {"field twice",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],@\"dtype\":\"U8\",\"data_offsets\":[0,2]}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"field twice, once escaped",
     "{\"a\":{\"dtype\":\"U8\",@\"\\u0064type\":\"I8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2,
     TARE_ERR_CORRUPT, "a"},
    {"name twice", "{" ONE ",@\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}", 3,
     TARE_ERR_CORRUPT, "a"},
    {"name twice, once escaped",
     "{" ONE ",@\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}", 3,
     TARE_ERR_CORRUPT, "a"},
    {"name twice over the same bytes", "{" ONE ",@" ONE "}", 2, TARE_ERR_CORRUPT, "a"},
    {"empty name twice",
     "{\"\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "@\"\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[2,3]}}",
     3, TARE_ERR_CORRUPT, ""},
    {"hole at the start", "{@\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}", 3,
     TARE_ERR_CORRUPT, "a"},
    {"hole between", "{" ONE ",@\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[3,4]}}", 4,
     TARE_ERR_CORRUPT, "b"},
    {"overlap", "{" ONE ",@\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}", 3,
     TARE_ERR_CORRUPT, "b"},
    {"the same bytes for two",
     "{" ONE ",@\"b\":{\"dtype\":\"I8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2,
     TARE_ERR_CORRUPT, "b"},
    {"empty tensor inside another",
     "{" ONE ",@\"b\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[1,1]}}", 2,
     TARE_ERR_CORRUPT, "b"},
    {"empty tensor behind all",
     "{" ONE ",@\"b\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[3,3]}}", 2,
     TARE_ERR_CORRUPT, "b"},
    {"bytes behind the last tensor", "{" ONE "}", 3, TARE_ERR_CORRUPT, ""},
    {"metadata no object", "{\"__metadata__\":@7," ONE "}", 2, TARE_ERR_CORRUPT, ""},
    {"metadata twice", "{\"__metadata__\":{},@\"__metadata__\":{}," ONE "}", 2, TARE_ERR_CORRUPT,
     ""},
    {"metadata twice, once escaped", "{\"__metadata__\":{},@\"\\u005f_metadata__\":{}," ONE "}", 2,
     TARE_ERR_CORRUPT, ""},
    {"metadata value a number", "{\"__metadata__\":{\"k\":@1}," ONE "}", 2, TARE_ERR_CORRUPT, ""},
    {"metadata value an object", "{\"__metadata__\":{\"k\":@{}}," ONE "}", 2, TARE_ERR_CORRUPT, ""},
    {"metadata key twice", "{\"__metadata__\":{\"k\":\"1\",@\"k\":\"1\"}," ONE "}", 2,
     TARE_ERR_CORRUPT, "k"},
    {"metadata key twice, once escaped",
     "{\"__metadata__\":{\"k\":\"1\",@\"\\u006b\":\"1\"}," ONE "}", 2, TARE_ERR_CORRUPT, "k"},
};

/* The header without its mark; *at is the byte of the file it stood before. */
static sample marked_sample(const fault_case *c, uint64_t *at) {
    char text[512];
    const char *mark = strchr(c->header, '@');
    size_t before = mark ? (size_t)(mark - c->header) : 0;
    snprintf(text, sizeof text, "%.*s%s", (int)before, c->header, mark ? mark + 1 : c->header);
    *at = mark ? 8 + before : 8 + strlen(text) + 2;
    return sample_of(text, c->n_data);
}

static void rules_name_byte_and_tensor(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        uint64_t at;
        sample s = marked_sample(&faults[i], &at);
        tare_error err;
        tare_model *m;
        tare_status status = open_bytes(&m, s.bytes, s.size, NULL, &err);
        if (status != faults[i].status || err.offset != at ||
            strcmp(err.item_name, faults[i].tensor) != 0) {
            fail_msg("%s: %s at %d, item \"%s\", \"%s\"; expected %s at %d", faults[i].name,
                     tare_status_text(status), (int)err.offset, err.item_name,
                     status ? err.what : "", tare_status_text(faults[i].status), (int)at);
        }
        assert_null(m);
        free(s.bytes);
    }
}

static void expect_size_fault(uint64_t header_size, size_t n, tare_status status, uint64_t at) {
    uint8_t bytes[16] = {0};
    tare_model *m;
    tare_error err;
    tare_store_le64(bytes, header_size);
    bytes[8] = '{', bytes[9] = '}';
    assert_int_equal(open_bytes(&m, bytes, n, NULL, &err), status);
    assert_int_equal(err.offset, at);
}

/* The difference would wrap to the size of the shape. */
static void offsets_do_not_wrap(void **state) {
    (void)state;
    sample s = sample_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[18446744073709551614],"
                         "\"data_offsets\":[2,0]}}",
                         2);
    tare_error err;
    tare_model *m;
    assert_int_equal(open_bytes(&m, s.bytes, s.size, NULL, &err), TARE_ERR_CORRUPT);
    assert_string_equal(err.what, "data_offsets: begin is after end");
    free(s.bytes);
}

static void the_header_size_is_checked(void **state) {
    (void)state;
    expect_size_fault(2, 7, TARE_ERR_TRUNCATED, 7);
    expect_size_fault(2, 0, TARE_ERR_TRUNCATED, 0);
    expect_size_fault(0, 8, TARE_ERR_CORRUPT, 0);
    expect_size_fault(1, 9, TARE_ERR_CORRUPT, 0);
    expect_size_fault(3, 10, TARE_ERR_TRUNCATED, 0);
    expect_size_fault(100000000, 10, TARE_ERR_TRUNCATED, 0);
    expect_size_fault(100000001, 10, TARE_ERR_LIMIT, 0);
    expect_size_fault(UINT64_MAX, 10, TARE_ERR_LIMIT, 0);
    expect_size_fault(2, 11, TARE_ERR_CORRUPT, 10); /* a byte behind an empty model */
}

/* Opens with one limit changed; the error is at the byte where `at` stands in the header. */
static void expect_limit(const sample *s, const tare_limits *limits, const char *at) {
    tare_source source = memory_source(s->bytes, s->size);
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.limits = limits;
    tare_model *m;
    tare_error err;
    tare_status status = tare_model_open(&m, &source, &options, &err);
    if (!at) {
        assert_int_equal(status, TARE_OK);
        tare_model_free(m);
        return;
    }
    const char *header = (const char *)s->bytes + 8;
    assert_int_equal(status, TARE_ERR_LIMIT);
    assert_int_equal(err.offset, at[0] ? (size_t)(strstr(header, at) - header) + 8 : 0);
}

static void limits_are_kept(void **state) {
    (void)state;
    sample s = sample_of("{\"__metadata__\":{\"k\":\"1\",\"l\":\"2\"},\"abc\":{\"dtype\":\"U8\","
                         "\"shape\":[1,1],\"data_offsets\":[0,1]},\"d\":{\"dtype\":\"U8\","
                         "\"shape\":[1],\"data_offsets\":[1,2]}}",
                         2);
    tare_limits limits;
#define EXPECT_LIMIT(field, value, at)                                                             \
    do {                                                                                           \
        limits = tare_limits_default();                                                            \
        limits.field = value;                                                                      \
        expect_limit(&s, &limits, at);                                                             \
    } while (0)
    EXPECT_LIMIT(tensors, 1, "\"d\"");
    EXPECT_LIMIT(keys, 1, "\"l\"");
    EXPECT_LIMIT(name_bytes, 2, "\"abc\"");
    EXPECT_LIMIT(dims, 1, "1],\"data_offsets\":[0,");
    EXPECT_LIMIT(nesting, 2, "[1,1]");
    EXPECT_LIMIT(metadata_bytes, 20, "");
    EXPECT_LIMIT(safetensors_header, 20, "");
    EXPECT_LIMIT(tensors, 2, NULL);
    EXPECT_LIMIT(keys, 2, NULL);
    EXPECT_LIMIT(name_bytes, 12, NULL);
    EXPECT_LIMIT(dims, 2, NULL);
    EXPECT_LIMIT(nesting, 3, NULL);
#undef EXPECT_LIMIT
    free(s.bytes);
}

static const char rich[] =
    "{\"__metadata__\": {\"format\":\"pt\", \"\\u00e9\":\"x\\ny\"},\n"
    " \"w\": {\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]},\n"
    " \"\\\"q\\\"\": {\"shape\":[],\"data_offsets\":[0,8],\"dtype\":\"I64\"},"
    " \"none\":{\"dtype\":\"BF16\",\"shape\":[4,0],\"data_offsets\":[32,32]}}      ";

static void a_file_is_read_as_it_is(void **state) {
    (void)state;
    sample s = sample_of(rich, 32);
    tare_report *report = tare_report_new();
    tare_error err;
    tare_model *m;
    assert_int_equal(open_bytes(&m, s.bytes, s.size, report, &err), TARE_OK);
    assert_int_equal(tare_report_count(report), 0);
    const tare_model_summary *sum = tare_model_summarize(m);
    assert_string_equal(sum->format, "safetensors");
    assert_int_equal(sum->n_tensors, 3);
    assert_int_equal(sum->n_parameters, 7);
    assert_int_equal(sum->tensor_bytes, 32);
    assert_int_equal(sum->file_bytes, s.size);
    assert_int_equal(sum->directory_bytes, s.size - 32);
    assert_int_equal(sum->alignment, 1);
    assert_false(sum->is_big_endian || sum->is_truncated);

    const tare_tensor *t = tare_model_tensor(m, 0);
    assert_true(tare_str_is(t->name, "w"));
    assert_int_equal(t->encoding->id, TARE_ENCODING_F32);
    assert_int_equal(t->n_dims, 2);
    assert_int_equal(t->dims[1], 3);
    assert_int_equal(t->planes[0].offset, s.size - 24);
    t = tare_model_tensor(m, 1);
    assert_true(tare_str_is(t->name, "\"q\""));
    assert_int_equal(t->n_dims, 0);
    assert_int_equal(t->n_elements, 1);
    uint8_t bytes[8];
    assert_int_equal(tare_tensor_read(bytes, m, 1, 0, 0, 8, &err), TARE_OK);
    assert_memory_equal(bytes, s.bytes + s.size - 32, 8);
    assert_int_equal(tare_model_tensor(m, 2)->n_elements, 0);

    const tare_metadata *entry = tare_model_metadata(m, 1);
    assert_true(tare_str_is(entry->key, "\xC3\xA9"));
    assert_true(tare_str_is(entry->value.as.s, "x\ny"));
    assert_int_equal(entry->space, TARE_KEYS_SAFETENSORS);
    assert_int_equal(s.bytes[entry->offset], '"');
    assert_int_equal(tare_model_find_key(m, TARE_STR("format")), 0);
    tare_model_free(m);
    tare_report_free(report);
    free(s.bytes);
}

/* A cut in the header is an error with a byte in the file; a cut in the data leaves the directory
 * readable and says so. */
static void every_cut_is_told(void **state) {
    (void)state;
    sample s = sample_of(rich, 32);
    size_t data = s.size - 32;
    for (size_t n = 0; n < s.size; n++) {
        uint8_t *copy = malloc(n + (n == 0)); /* its end is what the sanitizer watches */
        memcpy(copy, s.bytes, n);
        tare_error err;
        tare_model *m;
        tare_report *report = tare_report_new();
        tare_status status = open_bytes(&m, copy, n, report, &err);
        if (n < data) {
            assert_int_equal(status, TARE_ERR_TRUNCATED);
            assert_true(err.offset <= n);
        } else {
            tare_model_summary sum;
            assert_int_equal(status, TARE_OK);
            sum = *tare_model_summarize(m);
            assert_true(sum.is_truncated);
            assert_true(tare_report_count_level(report, TARE_LEVEL_ERROR) > 0);
        }
        tare_model_free(m);
        tare_report_free(report);
        free(copy);
    }
    free(s.bytes);
}

static void every_flip_is_survived(void **state) {
    (void)state;
    sample s = sample_of(rich, 32);
    for (size_t i = 0; i < s.size - 32; i++) {
        for (int bit = 0; bit < 8; bit++) {
            tare_error err;
            tare_model *m;
            s.bytes[i] = (uint8_t)(s.bytes[i] ^ 1 << bit);
            tare_status status = open_bytes(&m, s.bytes, s.size, NULL, &err);
            assert_true(status == TARE_OK || err.offset <= s.size);
            tare_model_free(m);
            s.bytes[i] = (uint8_t)(s.bytes[i] ^ 1 << bit);
        }
    }
    free(s.bytes);
}

static void all_dtypes_have_their_size(void **state) {
    (void)state;
    static const struct {
        const char *dtype;
        tare_encoding_id id;
        size_t size; /* of 8 elements */
    } cases[] = {
        {"BOOL", TARE_ENCODING_BOOL, 8},
        {"F4", TARE_ENCODING_F4, 4},
        {"F6_E2M3", TARE_ENCODING_F6_E2M3, 6},
        {"F6_E3M2", TARE_ENCODING_F6_E3M2, 6},
        {"U8", TARE_ENCODING_U8, 8},
        {"I8", TARE_ENCODING_I8, 8},
        {"F8_E5M2", TARE_ENCODING_F8_E5M2, 8},
        {"F8_E4M3", TARE_ENCODING_F8_E4M3, 8},
        {"F8_E8M0", TARE_ENCODING_F8_E8M0, 8},
        {"F8_E4M3FNUZ", TARE_ENCODING_F8_E4M3FNUZ, 8},
        {"F8_E5M2FNUZ", TARE_ENCODING_F8_E5M2FNUZ, 8},
        {"I16", TARE_ENCODING_I16, 16},
        {"U16", TARE_ENCODING_U16, 16},
        {"F16", TARE_ENCODING_F16, 16},
        {"BF16", TARE_ENCODING_BF16, 16},
        {"I32", TARE_ENCODING_I32, 32},
        {"U32", TARE_ENCODING_U32, 32},
        {"F32", TARE_ENCODING_F32, 32},
        {"C64", TARE_ENCODING_C64, 64},
        {"F64", TARE_ENCODING_F64, 64},
        {"I64", TARE_ENCODING_I64, 64},
        {"U64", TARE_ENCODING_U64, 64},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[128];
        snprintf(header, sizeof header,
                 "{\"t\":{\"dtype\":\"%s\",\"shape\":[4,2],\"data_offsets\":[0,%zu]}}",
                 cases[i].dtype, cases[i].size);
        sample s = sample_of(header, cases[i].size);
        tare_error err;
        tare_model *m;
        if (open_bytes(&m, s.bytes, s.size, NULL, &err)) fail_msg("%s: %s", header, err.what);
        assert_int_equal(tare_model_tensor(m, 0)->encoding->id, cases[i].id);
        tare_model_free(m);
        free(s.bytes);
    }
}

static void unknown_fields_are_reported(void **state) {
    (void)state;
    sample s = sample_of("{\"a\":{\"dtype\":\"U8\",\"x\":{\"y\":[1]},\"shape\":[2],"
                         "\"data_offsets\":[0,2]}}",
                         2);
    tare_report *report = tare_report_new();
    tare_error err;
    tare_model *m;
    assert_int_equal(open_bytes(&m, s.bytes, s.size, report, &err), TARE_OK);
    assert_int_equal(tare_report_count(report), 1);
    const tare_finding *f = tare_report_at(report, 0);
    assert_string_equal(f->code, "safetensors.unknown-field");
    assert_int_equal(f->level, TARE_LEVEL_WARNING);
    assert_int_equal(f->offset, 8 + 19);
    assert_true(tare_str_is(f->item_name, "a"));
    tare_model_free(m);
    tare_report_free(report);
    free(s.bytes);
}

static void our_records_become_keys_and_resources(void **state) {
    (void)state;
    sample s = sample_of(
        "{\"__metadata__\":{\"format\":\"pt\",\"tare.metadata\":\"[{\\\"key\\\":\\\"a.n\\\","
        "\\\"type\\\":\\\"u32\\\",\\\"value\\\":7}]\",\"tare.resources\":\"{\\\"x.txt\\\":{"
        "\\\"text\\\":\\\"h\\u00e9\\\\n\\\"},\\\"y.bin\\\":{\\\"base64\\\":\\\"AP8=\\\"}}\"}}",
        0);
    tare_error err;
    tare_model *m;
    assert_int_equal(open_bytes(&m, s.bytes, s.size, NULL, &err), TARE_OK);
    assert_null(tare_model_metadata(m, 2));
    const tare_metadata *entry = tare_model_metadata(m, 1);
    assert_true(tare_str_is(entry->key, "a.n"));
    assert_int_equal(entry->space, TARE_KEYS_MODEL);
    assert_int_equal(entry->value.type, TARE_VALUE_U32);
    assert_int_equal(entry->value.as.u, 7);
    assert_null(tare_model_resource(m, 2));
    assert_true(tare_str_is(tare_model_resource(m, 0)->name, "x.txt"));
    char bytes[4];
    assert_int_equal(tare_model_resource(m, 0)->size, 4);
    assert_int_equal(tare_resource_read(bytes, m, 0, 0, 4, &err), TARE_OK);
    assert_memory_equal(bytes, "h\xC3\xA9\n", 4);
    assert_int_equal(tare_model_resource(m, 1)->size, 2);
    assert_int_equal(tare_resource_read(bytes, m, 1, 0, 2, &err), TARE_OK);
    assert_memory_equal(bytes, "\0\xFF", 2);
    tare_model_free(m);
    free(s.bytes);
}

/* Other programs may use our names for something else: then these are ordinary pairs. */
static void other_texts_under_our_names_stay_pairs(void **state) {
    (void)state;
    static const char *const headers[] = {
        "{\"__metadata__\":{\"tare.metadata\":\"hello\"}}",
        "{\"__metadata__\":{\"tare.metadata\":\"[{\\\"key\\\":1}]\"}}",
        "{\"__metadata__\":{\"tare.resources\":\"[]\"}}",
        "{\"__metadata__\":{\"tare.resources\":\"{\\\"x\\\":{\\\"base64\\\":\\\"AP9=\\\"}}\"}}",
        "{\"__metadata__\":{\"tare.resources\":\"{\\\"x\\\":{\\\"base64\\\":\\\"A\\\"}}\"}}",
        "{\"__metadata__\":{\"tare.resources\":\"{\\\"x\\\":{\\\"text\\\":1}}\"}}",
        "{\"__metadata__\":{\"tare.resources\":\"{\\\"x\\\":{}}\"}}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        sample s = sample_of(headers[i], 0);
        tare_report *report = tare_report_new();
        tare_error err;
        tare_model *m;
        assert_int_equal(open_bytes(&m, s.bytes, s.size, report, &err), TARE_OK);
        assert_int_equal(tare_report_count(report), 1);
        assert_string_equal(tare_report_at(report, 0)->code, "safetensors.not-our-record");
        assert_int_equal(tare_model_metadata(m, 0)->space, TARE_KEYS_SAFETENSORS);
        assert_null(tare_model_resource(m, 0));
        tare_model_free(m);
        tare_report_free(report);
        free(s.bytes);
    }
}

/* Quadratic steps (names, overlaps) would take minutes here. */
static void many_tensors_open(void **state) {
    (void)state;
    enum { n = 100000 };
    size_t size = 0, capacity = (size_t)n * 80;
    char *header = malloc(capacity);
    header[size++] = '{';
    for (unsigned i = 0; i < n; i++) {
        unsigned at = (i * 7919U) % n; /* data in another order than the names */
        size +=
            (size_t)snprintf(header + size, capacity - size,
                             "%s\"t%u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%u,%u]}",
                             i ? "," : "", i, at, at + 1);
    }
    header[size++] = '}';
    sample s = sample_of_text((tare_str){header, size}, n);
    tare_error err;
    tare_model *m;
    assert_int_equal(open_bytes(&m, s.bytes, s.size, NULL, &err), TARE_OK);
    assert_int_equal(tare_model_find_tensor(m, TARE_STR("t99999")), 99999);
    tare_model_free(m);
    free(s.bytes);
    free(header);
}

/* Real files, where they are. */
static void real_files_open(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t size;
    } files[] = {{"silero_vad_16k.safetensors", 1239748}, {"voices.safetensors", 291806}};
    const char *folder = getenv("TARE_TEST_DATA");
    if (!folder) {
        print_message("SKIP 2 files: TARE_TEST_DATA is not set\n");
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        tare_report *report = tare_report_new();
        tare_open_options options = tare_open_options_default();
        tare_context context = tare_context_default();
        options.context = &context;
        context.report = report;
        tare_error err;
        tare_model *m;
        if (tare_open_path(&m, path, &options, &err)) fail_msg("%s: %s", path, err.what);
        assert_int_equal(tare_report_count(report), 0);
        const tare_model_summary *sum = tare_model_summarize(m);
        assert_int_equal(sum->file_bytes, files[i].size);
        assert_int_equal(sum->tensor_bytes + sum->directory_bytes, sum->file_bytes);
        assert_true(sum->n_tensors > 0);
        tare_model_free(m);
        tare_report_free(report);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_name_byte_and_tensor),
        cmocka_unit_test(offsets_do_not_wrap),
        cmocka_unit_test(the_header_size_is_checked),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(a_file_is_read_as_it_is),
        cmocka_unit_test(every_cut_is_told),
        cmocka_unit_test(every_flip_is_survived),
        cmocka_unit_test(all_dtypes_have_their_size),
        cmocka_unit_test(unknown_fields_are_reported),
        cmocka_unit_test(our_records_become_keys_and_resources),
        cmocka_unit_test(other_texts_under_our_names_stay_pairs),
        cmocka_unit_test(many_tensors_open),
        cmocka_unit_test(real_files_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
