/* SPDX-License-Identifier: MIT
 *
 * Guards against: opcodes that make another value than Python makes of them, in any protocol; a
 * failure without a place. What hostile pickles must not do is in tests/golden/torch_cases.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/pickle.h"
#include "base/str.h"

static tare_arena arena;
static tare_buffer shown;

/* As Python's repr, more or less. */
static void show(const tare_pickle_value *v);

static void show_list(const tare_pickle_list *list, const char *open, const char *close) {
    tare_buffer_put_text(&shown, open);
    for (size_t i = 0; i < list->n; i++) {
        if (i) tare_buffer_put_u8(&shown, ' ');
        show(&list->items[i]);
    }
    tare_buffer_put_text(&shown, close);
}

static void show_object(const tare_pickle_value *v) {
    static const char *const open[] = {"[", "(", "{", "{: ", "<", "call(", "persistent("};
    static const char *const close[] = {"]", ")", "}", "}", ">", ")", ")"};
    const tare_pickle_object *o = v->as.object;
    const size_t k = v->kind - TARE_PICKLE_LIST;
    show_list(&o->items, open[k], close[k]);
    if (!o->more) return;
    show_list(&o->more->added, "+[", "]");
    show_list(&o->more->pairs, "+{", "}");
    if (o->more->has_state) show(&o->more->state);
}

static void show(const tare_pickle_value *v) {
    switch (v->kind) {
    case TARE_PICKLE_NONE:
        tare_buffer_put_text(&shown, "None");
        return;
    case TARE_PICKLE_BOOL:
        tare_buffer_put_text(&shown, v->as.i ? "True" : "False");
        return;
    case TARE_PICKLE_INT:
        tare_buffer_printf(&shown, "%lld", (long long)v->as.i);
        return;
    case TARE_PICKLE_FLOAT:
        tare_buffer_printf(&shown, "%g", v->as.f);
        return;
    case TARE_PICKLE_LONG:
        tare_buffer_printf(&shown, "long%zu", v->as.s.len);
        return;
    case TARE_PICKLE_BYTES:
        tare_buffer_put_u8(&shown, 'b');
        tare_buffer_put_json(&shown, v->as.s);
        return;
    case TARE_PICKLE_TEXT:
        tare_buffer_put_json(&shown, v->as.s);
        return;
    default:
        show_object(v);
    }
}

typedef struct sample {
    const char *bytes;
    size_t size;
    const char *value;
} sample;

#define SAMPLE(bytes, value)                                                                       \
    { bytes, sizeof(bytes) - 1, value }

static const sample samples[] = {
    SAMPLE("N.", "None"),
    SAMPLE("\x88.", "True"),
    SAMPLE("\x89.", "False"),
    SAMPLE("I01\n.", "True"),
    SAMPLE("I00\n.", "False"),
    SAMPLE("I-12\n.", "-12"),
    SAMPLE("L-12L\n.", "-12"),
    SAMPLE("L99999999999999999999L\n.", "long20"),
    SAMPLE("K\xff.", "255"),
    SAMPLE("M\xff\xff.", "65535"),
    SAMPLE("J\xfe\xff\xff\xff.", "-2"),
    SAMPLE("\x8a\x00.", "0"),
    SAMPLE("\x8a\x01\xff.", "-1"),
    SAMPLE("\x8a\x02\xff\x00.", "255"),
    SAMPLE("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", "-9223372036854775808"),
    SAMPLE("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00.", "long9"),
    SAMPLE("\x8b\x01\x00\x00\x00\x05.", "5"),
    SAMPLE("G?\xf8\x00\x00\x00\x00\x00\x00.", "1.5"),
    SAMPLE("F-1.5e3\n.", "-1500"),
    SAMPLE("F-inf\n.", "-inf"),
    SAMPLE("S'a\\n\\x41\\\\\\''\n.", "b\"a\\nA\\\\'\""),
    SAMPLE("Va\\u00e9\\U0001f600\\n\xe9\n.", "\"a\xc3\xa9\xf0\x9f\x98\x80\\\\n\xc3\xa9\""),
    SAMPLE("X\x02\x00\x00\x00\xc3\xa9.", "\"\xc3\xa9\""),
    SAMPLE("\x8c\x01z.", "\"z\""),
    SAMPLE("\x8d\x01\x00\x00\x00\x00\x00\x00\x00z.", "\"z\""),
    SAMPLE("U\x01z.", "b\"z\""),
    SAMPLE("T\x01\x00\x00\x00z.", "b\"z\""),
    SAMPLE("C\x01z.", "b\"z\""),
    SAMPLE("B\x01\x00\x00\x00z.", "b\"z\""),
    SAMPLE("\x8e\x01\x00\x00\x00\x00\x00\x00\x00z.", "b\"z\""),
    SAMPLE("\x96\x01\x00\x00\x00\x00\x00\x00\x00z\x98.", "b\"z\""),
    SAMPLE(").", "()"),
    SAMPLE("K\x01\x85.", "(1)"),
    SAMPLE("K\x01K\x02\x86.", "(1 2)"),
    SAMPLE("K\x01K\x02K\x03\x87.", "(1 2 3)"),
    SAMPLE("(K\x01K\x02K\x03K\x04t.", "(1 2 3 4)"),
    SAMPLE("](K\x01K\x02"
           "eK\x03"
           "a.",
           "[1 2 3]"),
    SAMPLE("(K\x01l.", "[1]"),
    SAMPLE("}(NK\x01\x88K\x02uNK\x03s.", "{: None 1 True 2 None 3}"),
    SAMPLE("(NK\x01"
           "d.",
           "{: None 1}"),
    SAMPLE("\x8f(K\x01\x90.", "{1}"),
    SAMPLE("(K\x01\x91.", "{1}"),
    SAMPLE("cos\nsystem\n.", "<\"os\" \"system\">"),
    SAMPLE("\x8c\x01m\x8c\x01n\x93.", "<\"m\" \"n\">"),
    SAMPLE("cm\nn\n(K\x01tR.", "call(<\"m\" \"n\"> (1))"),
    SAMPLE("cm\nn\n)\x81}b.", "call(<\"m\" \"n\"> ())+[]+{}{: }"),
    SAMPLE("cm\nn\n)}\x92.", "call(<\"m\" \"n\"> () {: })"),
    SAMPLE("(K\x01im\nn\n.", "call(<\"m\" \"n\"> (1))"),
    SAMPLE("(cm\nn\nK\x01o.", "call(<\"m\" \"n\"> (1))"),
    SAMPLE("cm\nn\n)RK\x01"
           "aNK\x02s.",
           "call(<\"m\" \"n\"> ())+[1]+{None 2}"),
    SAMPLE("K\x07Q.", "persistent(7)"),
    SAMPLE("Pseven\n.", "persistent(\"seven\")"),
    SAMPLE("K\x01q\x03"
           "0h\x03.",
           "1"),
    SAMPLE("K\x01r\x03\x00\x00\x00"
           "0j\x03\x00\x00\x00.",
           "1"),
    SAMPLE("K\x01p3\n0g3\n.", "1"),
    SAMPLE("K\x01\x94K\x02\x94h\x00\x86.", "(2 1)"),
    SAMPLE("K\x01"
           "2\x86.",
           "(1 1)"),
    SAMPLE("N(K\x01K\x02"
           "1.",
           "None"),
    SAMPLE("N(0.", "None"),
    SAMPLE("\x80\x05\x95\x02\x00\x00\x00\x00\x00\x00\x00N.rest", "None"),
    SAMPLE("]q\x00h\x00"
           "0.",
           "[]"),
};

static tare_status read_bytes(tare_pickle *out, const char *bytes, size_t size, tare_error *err) {
    return tare_pickle_read(out, (tare_str){bytes, size}, 100, &arena, err);
}

static void opcodes_make_what_python_makes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        tare_pickle p;
        tare_error err;
        if (read_bytes(&p, samples[i].bytes, samples[i].size, &err) != TARE_OK)
            fail_msg("sample %zu: byte %llu: %s", i, (unsigned long long)err.offset, err.what);
        shown.size = 0;
        show(&p.root);
        tare_buffer_put_u8(&shown, '\0');
        assert_string_equal((const char *)shown.data, samples[i].value);
    }
}

/* Cut anywhere, a sample is TRUNCATED, at a byte that is not behind its end, or misses a value. */
static void cut_samples_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        tare_pickle p;
        assert_int_equal(read_bytes(&p, samples[i].bytes, samples[i].size, NULL), TARE_OK);
        const size_t size = (size_t)p.end - 100;
        for (size_t n = 0; n < size; n++) {
            tare_error err;
            const tare_status status = read_bytes(&p, samples[i].bytes, n, &err);
            if (status == TARE_OK && samples[i].bytes[n - 1] == '.') continue; /* in a number */
            if (status != TARE_ERR_TRUNCATED)
                fail_msg("sample %zu cut to %zu: %s", i, n, status ? err.what : "no failure");
            assert_true(err.offset >= 100 && err.offset <= 100 + n);
        }
    }
}

static void the_end_and_the_names_are_known(void **state) {
    static const char bytes[] = "cm\nn\n)Rcx\ny\n\x86.more";
    tare_pickle p;
    (void)state;
    assert_int_equal(read_bytes(&p, bytes, sizeof bytes - 1, NULL), TARE_OK);
    assert_int_equal(p.end, 100 + sizeof bytes - 1 - 4);
    assert_int_equal(p.n_globals, 2);
    assert_true(tare_pickle_is_global(&p.globals[0], "m", "n"));
    assert_true(p.globals[0].as.object->is_called);
    assert_false(p.globals[1].as.object->is_called);
    assert_int_equal(p.globals[1].offset, 107);
}

static int begin(void **state) {
    (void)state;
    tare_arena_init(&arena, NULL);
    tare_buffer_init(&shown, NULL);
    return 0;
}

static int end(void **state) {
    (void)state;
    tare_arena_free(&arena);
    tare_buffer_free(&shown);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opcodes_make_what_python_makes),
        cmocka_unit_test(cut_samples_are_refused),
        cmocka_unit_test(the_end_and_the_names_are_known),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
