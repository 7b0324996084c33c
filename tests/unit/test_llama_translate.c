/* SPDX-License-Identifier: MIT
 *
 * Guards against: a program that converts through the library and gets other names than the command
 * gives; names that change although they are to be kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/private/synth.h>
#include <tare/tare.h>

#include "unit/temp_folder.h"

static bool has(const tare_model *m, const char *tensor) {
    return tare_model_find_tensor(m, (tare_str){tensor, strlen(tensor)}) >= 0;
}

static tare_model *open_temp(const char *name) {
    tare_error err;
    tare_model *m;
    if (tare_open_path(&m, temp_path(name), NULL, &err)) fail_msg("%s: %s", name, err.what);
    return m;
}

/* Writes a model in the format that the name or `to` says. */
static void write_as(const char *name, const tare_model *in, const char *to) {
    tare_convert_options o = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_error err;
    o.to = to;
    output.no_sync = true;
    if (tare_convert(temp_path(name), in, &o, &err)) fail_msg("%s: %s", name, err.what);
}

/* The same under the names that it has. */
static void write_kept(const char *name, const tare_model *in) {
    tare_llama_translate_options names = tare_llama_translate_options_default();
    tare_convert_options o = tare_convert_options_default();
    tare_error err;
    names.keep_names = true;
    o.names = &names;
    if (tare_convert(temp_path(name), in, &o, &err)) fail_msg("%s: %s", name, err.what);
}

/* A small model as a directory "hf" without a tokenizer. */
static int make_model(void **state) {
    tare_error err;
    tare_model *m;
    if (make_temp_folder(state)) return -1;
    if (tare_synth_open(&m, "llama-tiny", NULL, &err)) return -1;
    write_as("hf", m, "hf");
    tare_model_free(m);
    return 0;
}

static tare_llama_translate_options options_of(const tare_llama_options *llama) {
    tare_llama_translate_options o = tare_llama_translate_options_default();
    o.llama = llama;
    return o;
}

/* There and back, as a caller does it; and the same through a .wcodec. */
static void names_go_there_and_back(void **state) {
    (void)state;
    tare_llama_options llama = tare_llama_options_default();
    llama.no_tokenizer = true;
    const tare_llama_translate_options to_gguf = options_of(&llama);
    tare_error err;
    tare_model *hf = open_temp("hf"), *out;
    assert_int_equal(tare_llama_naming_of(hf, "gguf", &to_gguf), TARE_LLAMA_NAMES_LLAMA_CPP);
    assert_int_equal(tare_llama_translate(&out, hf, "gguf", &to_gguf, &err), TARE_OK);
    assert_true(has(out, "blk.1.attn_q.weight") && !has(out, "model.norm.weight"));
    write_as("m.gguf", out, NULL);
    tare_model_free(out);
    tare_model *gguf = open_temp("m.gguf");
    assert_int_equal(tare_llama_naming_of(gguf, "hf", NULL), TARE_LLAMA_NAMES_HUGGING_FACE);
    assert_int_equal(tare_llama_translate(&out, gguf, "hf", NULL, &err), TARE_OK);
    assert_true(has(out, "model.layers.1.self_attn.q_proj.weight"));
    tare_model_free(out);
    tare_pack_options pack = tare_pack_options_default();
    tare_output_options output = tare_output_options_default();
    pack.output = &output;
    output.no_sync = true;
    assert_int_equal(tare_pack(NULL, temp_path("hf.wcodec"), hf, &pack, &err), TARE_OK);
    tare_model *packed = open_temp("hf.wcodec");
    assert_int_equal(tare_llama_translate(&out, packed, "gguf", &to_gguf, &err), TARE_OK);
    assert_true(has(out, "blk.1.attn_q.weight"));
    tare_model_free(out);
    tare_model_free(packed);
    tare_model_free(gguf);
    tare_model_free(hf);
}

static void check_kept(const tare_model *in, const char *to,
                       const tare_llama_translate_options *options) {
    tare_error err;
    tare_model *out;
    assert_int_equal(tare_llama_naming_of(in, to, options), TARE_LLAMA_NAMES_KEPT);
    assert_int_equal(tare_llama_translate(&out, in, to, options, &err), TARE_OK);
    assert_null(out);
}

static void names_are_kept(void **state) {
    (void)state;
    tare_llama_translate_options keep = tare_llama_translate_options_default(), opaque = keep;
    keep.keep_names = true;
    opaque.opaque = true;
    tare_model *hf = open_temp("hf"), *gguf;
    check_kept(hf, "gguf", &keep);
    check_kept(hf, "safetensors", NULL);
    check_kept(hf, NULL, NULL);
    write_kept("kept.gguf", hf);
    gguf = open_temp("kept.gguf");
    check_kept(gguf, "hf", &keep);
    check_kept(gguf, "hf", &opaque);
    check_kept(gguf, "gguf", NULL);
    tare_model_free(gguf);
    tare_model_free(hf);
}

static bool file_equals(const char *a, const char *b) {
    FILE *f = fopen(temp_path(a), "rb"), *g = fopen(temp_path(b), "rb");
    assert_true(f && g);
    int x, y;
    do x = getc(f), y = getc(g);
    while (x == y && x != EOF);
    fclose(f), fclose(g);
    return x == y;
}

/* What the command does, step by step and in one call; a plan alone does not rename. */
static void one_call_gives_names(void **state) {
    (void)state;
    tare_llama_options llama = tare_llama_options_default();
    tare_convert_options o = tare_convert_options_default();
    tare_error err;
    tare_plan *plan;
    llama.no_tokenizer = true;
    llama.directory = "somewhere/hf";
    tare_llama_translate_options names = options_of(&llama);
    tare_model *hf = open_temp("hf"), *out;
    assert_int_equal(tare_llama_translate(&out, hf, "gguf", &names, &err), TARE_OK);
    write_as("steps.gguf", out, NULL);
    llama.directory = NULL;
    o.names = &names;
    assert_int_equal(tare_convert(temp_path("call.gguf"), hf, &o, &err), TARE_OK);
    assert_true(file_equals("steps.gguf", "call.gguf"));
    assert_int_equal(tare_plan_new(&plan, temp_path("p.gguf"), hf, &o, &err), TARE_ERR_UNSUPPORTED);
    assert_string_equal(err.code, TARE_CODE_NEEDS_NAMES);
    assert_int_equal(tare_convert(temp_path("p.gguf"), hf, NULL, &err), TARE_ERR_UNSUPPORTED);
    assert_string_equal(err.code, TARE_CODE_NO_TOKENIZER); /* said by the mapping */
    write_as("back", out, "hf");
    tare_model *back = open_temp("back");
    assert_true(has(back, "model.layers.1.self_attn.q_proj.weight"));
    assert_int_equal(tare_quantize(temp_path("q.gguf"), hf, (tare_str){"q8_0", 4}, &o, &err),
                     TARE_OK);
    tare_model *q = open_temp("q.gguf");
    assert_true(has(q, "blk.1.attn_q.weight"));
    tare_model *const all[] = {q, back, out, hf};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tare_model_free(all[i]);
}

/* Models that were made, not opened, have no format. */
static void models_without_a_format_keep_names(void **state) {
    (void)state;
    tare_error err;
    tare_builder *b;
    tare_model *made;
    const uint64_t dims[] = {2, 2};
    static const float one[4] = {1, 2, 3, 4};
    tare_build_tensor t = tare_build_tensor_default();
    t.name = (tare_str){"w", 1}, t.encoding = tare_encoding_get(TARE_ENCODING_F32);
    t.dims = dims, t.n_dims = 2, t.planes[0] = one;
    assert_int_equal(tare_builder_new(&b, NULL, &err), TARE_OK);
    assert_int_equal(tare_builder_add_tensor(b, &t, &err), TARE_OK);
    assert_int_equal(tare_builder_finish(&made, b, &err), TARE_OK);
    check_kept(made, "gguf", NULL);
    assert_false(tare_llama_changes_names(made, "hf", NULL));
    write_as("made.gguf", made, NULL);
    tare_model_free(made);
}

static void put_file(const char *name, const char *text) {
    FILE *f = fopen(temp_path(name), "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* A model with its tokenizer stays one of Hugging Face in every container. */
static void containers_are_mapped(void **state) {
    (void)state;
    static const char *const files[] = {"c.mcf", "c.infq"};
    tare_model *hf = open_temp("hf");
    write_as("with", hf, "hf");
    tare_model_free(hf);
    put_file("with/tokenizer.json", "{}");
    hf = open_temp("with");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_as(files[i], hf, NULL);
        tare_model *m = open_temp(files[i]);
        assert_int_equal(tare_llama_naming_of(m, "gguf", NULL), TARE_LLAMA_NAMES_LLAMA_CPP);
        tare_model_free(m);
    }
    tare_model_free(hf);
}

/* Weights in one file are mapped if they come with a tokenizer, or if options ask for it. */
static void weights_alone_are_not_mapped(void **state) {
    (void)state;
    tare_llama_options llama = tare_llama_options_default();
    tare_model *hf = open_temp("hf");
    write_as("w.safetensors", hf, NULL);
    tare_model *weights = open_temp("w.safetensors");
    tare_llama_translate_options o = options_of(&llama);
    llama.directory = "w";
    check_kept(weights, "gguf", &o);
    llama.name = "w";
    assert_int_equal(tare_llama_naming_of(weights, "gguf", &o), TARE_LLAMA_NAMES_LLAMA_CPP);
    tare_model_free(weights);
    tare_model_free(hf);
}

static void what_cannot_be_done_is_said(void **state) {
    (void)state;
    tare_llama_options llama = tare_llama_options_default();
    tare_error err;
    tare_model *hf = open_temp("hf"), *out = hf;
    llama.vocab_only = true;
    const tare_llama_translate_options o = options_of(&llama);
    assert_int_equal(tare_llama_translate(&out, hf, "safetensors", &o, &err), TARE_ERR_ARG);
    assert_null(out);
    assert_int_equal(tare_llama_translate(&out, hf, "gguf", NULL, &err), TARE_ERR_UNSUPPORTED);
    assert_null(out); /* there is no tokenizer */
    tare_model_free(hf);
    static const char text[] = "{\"model_type\": \"novel\"}";
    write_temp_text("hf/config.json", text);
    hf = open_temp("hf");
    tare_llama_translate_options kept = tare_llama_translate_options_default();
    kept.keep_names = true;
    assert_int_equal(tare_llama_translate(&out, hf, "gguf", NULL, &err), TARE_ERR_UNSUPPORTED);
    assert_null(out);
    assert_string_equal(err.code, TARE_CODE_UNKNOWN_ARCHITECTURE);
    assert_int_equal(tare_llama_translate(&out, hf, "gguf", &kept, &err), TARE_OK);
    assert_null(out);
    tare_model_free(hf);
}

/* A file that the model should have had is lost under other names, too. */
static void what_is_left_out_is_lost(void **state) {
    (void)state;
    tare_llama_options llama = tare_llama_options_default();
    tare_llama_translate_options o = options_of(&llama);
    tare_convert_options strict = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    strict.output = &output;
    tare_error err;
    tare_plan *plan;
    llama.no_tokenizer = true;
    assert_int_equal(symlink("nowhere", temp_path("hf/notes.txt")), 0);
    tare_model *hf = open_temp("hf"), *out;
    assert_int_equal(tare_llama_translate(&out, hf, "gguf", &o, &err), TARE_OK);
    output.strict = true;
    strict.type = tare_encoding_get(TARE_ENCODING_F32);
    assert_int_equal(tare_plan_new(&plan, temp_path("s.gguf"), out, &strict, &err),
                     TARE_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.item_name, "notes.txt"));
    tare_model_free(out);
    tare_model_free(hf);
}

/* Only where that brings the names of the other; whatever the container. */
static void names_are_those_of_the_other(void **state) {
    (void)state;
    tare_llama_options llama = tare_llama_options_default();
    tare_error err;
    tare_model *hf = open_temp("hf"), *mapped, *out;
    llama.no_tokenizer = true;
    assert_int_equal(tare_llama_map(&mapped, hf, &llama, &err), TARE_OK);
    assert_false(tare_model_shares_names(hf, mapped));
    write_as("like.gguf", mapped, NULL);
    write_as("like.mcf", hf, NULL);
    tare_model *gguf = open_temp("like.gguf"), *mcf = open_temp("like.mcf"), *other;
    assert_int_equal(tare_llama_map_like(&out, hf, gguf, NULL, &err), TARE_OK);
    assert_true(out && has(out, "blk.1.attn_q.weight"));
    tare_model_free(out);
    assert_int_equal(tare_llama_map_like(&out, mcf, gguf, NULL, &err), TARE_OK);
    assert_true(out && tare_model_shares_names(out, gguf));
    tare_model_free(out);
    assert_int_equal(tare_llama_map_like(&out, hf, mcf, NULL, &err), TARE_OK);
    assert_null(out); /* they share names */
    assert_int_equal(tare_llama_map_like(&out, gguf, hf, NULL, &err), TARE_OK);
    assert_null(out); /* nothing to be mapped */
    static const char one[] = "5\0\0\0\0\0\0\0"
                              "{\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}1";
    const tare_source source = {.size = sizeof source,
                                .kind = TARE_SOURCE_MEMORY,
                                .memory = one,
                                .n_bytes = sizeof one - 1};
    assert_int_equal(tare_model_open(&other, &source, NULL, &err), TARE_OK);
    assert_int_equal(tare_llama_map_like(&out, hf, other, NULL, &err), TARE_OK);
    assert_null(out); /* other names then, too */
    assert_int_equal(tare_llama_map_like(&out, NULL, hf, NULL, &err), TARE_ERR_ARG);
    tare_model *const all[] = {other, mcf, gguf, mapped, hf};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) tare_model_free(all[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_go_there_and_back, make_model, remove_temp_folder),
        cmocka_unit_test_setup_teardown(one_call_gives_names, make_model, remove_temp_folder),
        cmocka_unit_test_setup_teardown(models_without_a_format_keep_names, make_model,
                                        remove_temp_folder),
        cmocka_unit_test_setup_teardown(names_are_kept, make_model, remove_temp_folder),
        cmocka_unit_test_setup_teardown(names_are_those_of_the_other, make_model,
                                        remove_temp_folder),
        cmocka_unit_test_setup_teardown(containers_are_mapped, make_model, remove_temp_folder),
        cmocka_unit_test_setup_teardown(weights_alone_are_not_mapped, make_model,
                                        remove_temp_folder),
        cmocka_unit_test_setup_teardown(what_cannot_be_done_is_said, make_model,
                                        remove_temp_folder),
        cmocka_unit_test_setup_teardown(what_is_left_out_is_lost, make_model, remove_temp_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
