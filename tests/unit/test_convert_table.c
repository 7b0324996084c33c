/* SPDX-License-Identifier: MIT
 *
 * The table of docs/behaviour.md, walked: for every pair of formats that can be written, A to B to
 * A gives A's content for what is copied, carried, and with `opaque` for everything. Guards
 * against: types, shapes, names, metadata or resources that some pair of formats loses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/inspect.h>

#include "convert_help.h"
#include "format/format.h"

/* The name of a file or directory of that format. */
static const char *path_for(const char *name, const tare_format_info *format) {
    char full[64];
    snprintf(full, sizeof full, "%s%s", name, format->suffix);
    return help_path(full);
}

/* There and back between two formats, through files. */
static void walk_pair(const tare_format_info *a, const tare_format_info *b, unsigned content,
                      bool opaque) {
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    const char *first = path_for("first", a), *there = path_for("there", b),
               *back = path_for("back", a);
    print_message("%s -> %s -> %s%s\n", a->name, b->name, a->name, opaque ? " --opaque" : "");
    options.opaque = opaque;
    output.strict = true; /* nothing may be lost */
    options.verify = true;
    options.to = a->name;
    help_convert(first, help_make(&made, content), &options);
    tare_model *model_a = help_open(first);
    help_check_same(made.model, model_a);
    options.to = b->name;
    help_convert(there, model_a, &options);
    tare_model *model_b = help_open(there);
    help_check_same(model_a, model_b);
    options.to = a->name;
    help_convert(back, model_b, &options);
    tare_model *model_c = help_open(back);
    help_check_same(model_a, model_c);
    tare_digest digest_a, digest_c;
    assert_int_equal(tare_model_digest(NULL, &digest_a, model_a, NULL, NULL), TARE_OK);
    assert_int_equal(tare_model_digest(NULL, &digest_c, model_c, NULL, NULL), TARE_OK);
    assert_memory_equal(&digest_a, &digest_c, sizeof digest_a);
    tare_model_free(model_c);
    tare_model_free(model_b);
    tare_model_free(model_a);
    made_free(&made);
    help_remove(first);
    help_remove(there);
    help_remove(back);
}

/* Others quantize what they are not told to carry. */
static bool keeps_floats(const tare_format_info *format) {
    return tare_format_find(format->name)->write.floats_become == TARE_ENCODING_UNKNOWN;
}

static void walk_all(unsigned content, bool opaque) {
    tare_format_info a = tare_format_info_default(), b = tare_format_info_default();
    size_t n = 0;
    for (size_t i = 0; tare_format_at(&a, i); i++)
        for (size_t k = 0; tare_format_at(&b, k); k++, n++)
            if (help_holds_any(&a) && help_holds_any(&b) &&
                (opaque || (keeps_floats(&a) && keeps_floats(&b))))
                walk_pair(&a, &b, content, opaque);
    assert_true(n >= 4);
}

static void what_all_formats_have_is_copied(void **state) {
    (void)state;
    walk_all(HELP_COMMON, false);
}

static void what_some_format_lacks_is_carried(void **state) {
    (void)state;
    walk_all(HELP_COMMON | HELP_CARRIED | HELP_METADATA, false);
}

static void opaque_carries_everything(void **state) {
    (void)state;
    walk_all(HELP_COMMON | HELP_CARRIED | HELP_ALL_BLOCKS | HELP_METADATA, true);
}

/* Within a format that has both byte orders: there and back is the same, field by field. */
static void byte_orders_hold_the_same(void **state) {
    (void)state;
    made_model made;
    tare_convert_options options = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    options.output = &output;
    const char *little = help_path("little.gguf"), *big = help_path("big.gguf"),
               *again = help_path("again.gguf"), *middle = help_path("middle.safetensors"),
               *from_big = help_path("from_big.gguf");
    unsigned all = HELP_COMMON | HELP_CARRIED | HELP_ALL_BLOCKS | HELP_METADATA;
    output.strict = options.opaque = true;
    help_convert(little, help_make(&made, all), &options);
    tare_model *a = help_open(little);
    options.order = TARE_ORDER_BIG;
    help_convert(big, a, &options);
    tare_model *b = help_open(big);
    const tare_model_summary *summary = tare_model_summarize(b);
    assert_true(summary->is_big_endian);
    help_check_same(a, b);
    options.order = TARE_ORDER_LITTLE;
    help_convert(again, b, &options);
    help_check_same_file(little, again);
    options.order = TARE_ORDER_KEEP; /* big-endian through a format that has no such order */
    help_convert(middle, b, &options);
    tare_model *c = help_open(middle);
    help_check_same(a, c);
    options.order = TARE_ORDER_BIG;
    help_convert(from_big, c, &options);
    tare_model *d = help_open(from_big);
    help_check_same(b, d);
    tare_model_free(d);
    tare_model_free(c);
    tare_model_free(b);
    tare_model_free(a);
    made_free(&made);
}

/* What is encoded on the way is turned like what is copied. */
static void byte_orders_encode_the_same(void **state) {
    (void)state;
    static const tare_encoding_id types[] = {TARE_ENCODING_Q8_0, TARE_ENCODING_F16,
                                             TARE_ENCODING_F64};
    made_model made;
    const tare_model *m = help_make(&made, HELP_COMMON);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tare_convert_options options = tare_convert_options_default();
        tare_output_options output = tare_output_options_default();
        options.output = &output;
        options.type = tare_encoding_get(types[i]);
        output.force = options.verify = true;
        help_convert(help_path("little.gguf"), m, &options);
        options.order = TARE_ORDER_BIG;
        help_convert(help_path("big.gguf"), m, &options);
        tare_model *a = help_open(help_path("little.gguf"));
        tare_model *b = help_open(help_path("big.gguf"));
        help_check_same(a, b);
        tare_model_free(b);
        tare_model_free(a);
    }
    made_free(&made);
}

/* The name that a stand-in would get is another tensor's. */
static void stand_ins_take_no_names(void **state) {
    (void)state;
    static const uint64_t dims[] = {32};
    made_model made;
    char name[101], taken[64];
    tare_convert_options options = tare_convert_options_default();
    memset(name, 'n', 100);
    name[100] = '\0';
    memset(taken, 'n', 61);
    strcpy(taken + 61, "~0");
    made_begin(&made, 4096, 2, 8);
    help_add(&made, name, TARE_ENCODING_F32, dims, 1);
    help_add(&made, taken, TARE_ENCODING_F32, dims, 1);
    tare_model *m = made_finish(&made, false, NULL, 0);
    m->catalog.layout = NULL;
    help_convert(help_path("a.gguf"), m, &options);
    tare_model *a = help_open(help_path("a.gguf"));
    help_check_same(m, a);
    tare_model_free(a);
    made_free(&made);
}

/* What the help lists for each format is asked of the drivers. */
static void formats_hold_what_their_drivers_say(void **state) {
    (void)state;
    const tare_encoding *f32 = tare_encoding_get(TARE_ENCODING_F32);
    const tare_encoding *q4_k = tare_encoding_get(TARE_ENCODING_Q4_K);
    tare_format_info format = tare_format_info_default();
    for (size_t i = 0; tare_format_at(&format, i); i++)
        assert_true(tare_format_holds(format.name, f32));
    assert_true(tare_format_holds("gguf", q4_k));
    assert_true(tare_format_holds("wcodec", q4_k));
    assert_false(tare_format_holds("safetensors", q4_k));
    assert_false(tare_format_holds("mcf", q4_k));
    assert_false(tare_format_holds("tape", f32));
    assert_false(tare_format_holds(NULL, f32));
    assert_false(tare_format_holds("gguf", NULL));
}

#define T(f) cmocka_unit_test_setup_teardown(f, help_set_up, help_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(what_all_formats_have_is_copied),     T(what_some_format_lacks_is_carried),
        T(opaque_carries_everything),           T(byte_orders_hold_the_same),
        T(byte_orders_encode_the_same),         T(stand_ins_take_no_names),
        T(formats_hold_what_their_drivers_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
