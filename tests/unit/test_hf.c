/* SPDX-License-Identifier: MIT
 *
 * Guards against: side files of a Hugging Face directory that are lost or taken for what they are
 * not, links that are not followed, directories that come back changed, names that leave the
 * output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "format/format.h"
#include "unit/plan_bytes.h"
#include "unit/safetensors_sample.h"
#include "unit/temp_folder.h"

static const char header_a[] =
    "{\"__metadata__\": {\"format\": \"pt\"}, \"a\": {\"dtype\":\"U8\",\"shape\":[2],"
    "\"data_offsets\":[0,2]}}";
static const char header_b[] = "{\"b\":{\"dtype\":\"I16\",\"shape\":[1],\"data_offsets\":[0,2]}}";

static void write_weights(const char *name, const char *header) {
    sample s = sample_of(header, 2);
    write_temp(name, s.bytes, s.size);
    free(s.bytes);
}

static tare_model *open_folder(const char *name, tare_report *report) {
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.report = report;
    tare_error err;
    tare_model *m;
    if (tare_open_path(&m, temp_path(name), &options, &err)) {
        fail_msg("%s: %s", name, err.what);
    }
    return m;
}

static void assert_resource(const tare_model *m, size_t i, const char *name, const char *text) {
    const tare_resource *r = tare_model_resource(m, i);
    assert_non_null(r);
    assert_true(tare_str_is(r->name, name));
    assert_int_equal(r->size, strlen(text));
    char bytes[64];
    assert_int_equal(tare_resource_read(bytes, m, i, 0, (size_t)r->size, NULL), TARE_OK);
    assert_memory_equal(bytes, text, (size_t)r->size);
}

static void assert_finding(const tare_report *report, const char *code, const char *item) {
    for (size_t i = 0; i < tare_report_count(report); i++) {
        const tare_finding *f = tare_report_at(report, i);
        if (strcmp(f->code, code) == 0 && tare_str_is(f->item_name, item)) return;
    }
    fail_msg("no finding %s of %s", code, item);
}

static void side_files_are_resources(void **state) {
    (void)state;
    write_weights("model.safetensors", header_a);
    write_weights("other.safetensors", header_b);
    write_temp_text("tokenizer.json", "{\"t\":1}");
    write_temp_text("config.json", "{\"model_type\":\"x\"}");
    write_temp_text("pytorch_model.bin", "pickle");
    write_temp_text("merges.txt", "");
    mkdir(temp_path("1_Pooling"), 0700);
    write_temp_text("1_Pooling/config.json", "{\"p\":1}");
    mkdir(temp_path("1_Pooling/deep"), 0700);
    write_temp_text("1_Pooling/deep/model.safetensors", "a module's");
    mkdir(temp_path("onnx"), 0700);
    write_temp_text("onnx/model.onnx", "for others");
    mkdir(temp_path(".git"), 0700);
    write_temp_text(".git/config", "history");
    assert_int_equal(symlink("1_Pooling", temp_path("link")), 0);
    assert_int_equal(symlink("nowhere", temp_path("broken.txt")), 0);
    tare_report *report = tare_report_new();
    tare_model *m = open_folder("", report);
    assert_string_equal(m->format, "hf");
    assert_int_equal(m->catalog.n_tensors, 1);
    assert_int_equal(m->catalog.n_metadata, 1);
    assert_resource(m, 0, "1_Pooling/config.json", "{\"p\":1}");
    assert_resource(m, 1, "1_Pooling/deep/model.safetensors", "a module's");
    assert_resource(m, 2, "config.json", "{\"model_type\":\"x\"}");
    assert_resource(m, 3, "merges.txt", "");
    assert_resource(m, 4, "tokenizer.json", "{\"t\":1}");
    assert_null(tare_model_resource(m, 5));
    assert_true(tare_str_is(tare_model_architecture(m), "x"));
    assert_int_equal(tare_report_count(report), 6);
    assert_int_equal(m->n_left_out, 2); /* what goes with the model, as far as one can tell */
    assert_finding(report, "hf.other-weights", "other.safetensors");
    assert_finding(report, "hf.other-weights", "pytorch_model.bin");
    assert_finding(report, "hf.other-weights", "onnx/model.onnx");
    assert_finding(report, "hf.skipped", ".git");
    assert_finding(report, "hf.sub-folder", "link");
    assert_finding(report, "hf.not-a-file", "broken.txt");
    tare_model_free(m);
    tare_report_free(report);
}

/* Download caches keep the content elsewhere and fill the folder with links. */
static void links_are_followed(void **state) {
    (void)state;
    mkdir(temp_path("blobs"), 0700);
    mkdir(temp_path("snapshot"), 0700);
    write_weights("blobs/1", header_a);
    write_temp_text("blobs/2", "{}");
    assert_int_equal(symlink("../blobs/1", temp_path("snapshot/model.safetensors")), 0);
    assert_int_equal(symlink("../blobs/2", temp_path("snapshot/config.json")), 0);
    tare_report *report = tare_report_new();
    tare_model *m = open_folder("snapshot", report);
    assert_int_equal(tare_report_count(report), 0);
    assert_int_equal(m->catalog.n_tensors, 1);
    assert_resource(m, 0, "config.json", "{}");
    tare_model_free(m);
    tare_report_free(report);
}

/* A directory of a training run may hold anything: what is opened has bounds. */
static void a_folder_of_many_files_is_left_out(void **state) {
    (void)state;
    write_weights("model.safetensors", header_a);
    mkdir(temp_path("few"), 0700);
    write_temp_text("few/1", "");
    mkdir(temp_path("many"), 0700);
    for (int i = 0; i < 257; i++) {
        char name[32];
        snprintf(name, sizeof name, "many/%d", i);
        write_temp_text(name, "");
    }
    tare_report *report = tare_report_new();
    tare_model *m = open_folder("", report);
    assert_resource(m, 0, "few/1", "");
    assert_null(tare_model_resource(m, 1));
    assert_int_equal(tare_report_count(report), 1);
    assert_finding(report, "hf.sub-folder", "many");
    tare_model_free(m);
    tare_report_free(report);
}

static void large_files_are_left_out(void **state) {
    (void)state;
    write_weights("model.safetensors", header_a);
    write_temp_text("a.txt", "1234");
    write_temp_text("b.txt", "12345");
    tare_limits limits = tare_limits_default();
    limits.resource_bytes = 4;
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.limits = &limits;
    context.report = tare_report_new();
    tare_model *m;
    assert_int_equal(tare_open_path(&m, temp_folder, &options, NULL), TARE_OK);
    assert_resource(m, 0, "a.txt", "1234");
    assert_null(tare_model_resource(m, 1));
    assert_finding(context.report, "hf.large-file", "b.txt");
    tare_model_free(m);
    tare_report_free(context.report);
}

static void expect_refusal(tare_status status) {
    tare_model *m;
    tare_error err;
    assert_int_equal(tare_open_path(&m, temp_folder, NULL, &err), status);
    assert_null(m);
}

static void the_weights_are_chosen_by_rule(void **state) {
    (void)state;
    expect_refusal(TARE_ERR_UNSUPPORTED); /* an empty directory */
    write_weights("x.safetensors", header_a);
    tare_model *m = open_folder("", NULL); /* the only one */
    tare_model_free(m);
    write_weights("y.safetensors", header_b);
    expect_refusal(TARE_ERR_UNSUPPORTED); /* which of the two? */
    write_temp_text("z.safetensors.index.json", "{\"weight_map\":{\"a\":\"x.safetensors\","
                                                "\"b\":\"y.safetensors\"}}");
    m = open_folder("", NULL); /* the only index */
    assert_int_equal(m->catalog.n_tensors, 2);
    assert_null(tare_model_resource(m, 0));
    tare_model_free(m);
    write_weights("model.safetensors", header_b);
    m = open_folder("", NULL); /* the usual name comes first */
    assert_int_equal(m->catalog.n_tensors, 1);
    tare_model_free(m);
}

static void a_missing_shard_is_named(void **state) {
    (void)state;
    write_temp_text("model.safetensors.index.json",
                    "{\"weight_map\":{\"a\":\"model-00001-of-00001.safetensors\"}}");
    tare_model *m;
    tare_error err;
    assert_int_equal(tare_open_path(&m, temp_folder, NULL, &err), TARE_ERR_IO);
    assert_non_null(strstr(err.file, "model-00001-of-00001.safetensors"));
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct planned {
    tare_arena arena;
    tare_write_plan plan;
} planned;

static tare_status plan_hf(planned *p, const tare_catalog *c, const tare_model *source,
                           bool is_identity, tare_error *err) {
    const tare_limits limits = tare_limits_default();
    tare_write_options options = {.source = source, .is_identity = is_identity, .limits = &limits};
    memset(p, 0, sizeof *p);
    tare_arena_init(&p->arena, NULL);
    p->plan.arena = &p->arena;
    return tare_format_hf.write.plan(&p->plan, c, &options, err);
}

/* Each planned file has the bytes of the file of its name in the folder the model came from. */
static void assert_plan_is_folder(const planned *p, const tare_model *m, size_t n_files) {
    assert_true(p->plan.is_directory);
    assert_int_equal(p->plan.n_files, n_files);
    for (uint32_t i = 0; i < n_files; i++) {
        uint8_t *bytes = plan_bytes(&p->plan, m, i);
        FILE *f = fopen(temp_path(p->plan.files[i].name), "rb");
        assert_non_null(f);
        uint8_t there[4096];
        assert_int_equal(fread(there, 1, sizeof there, f), p->plan.files[i].size);
        assert_memory_equal(bytes, there, (size_t)p->plan.files[i].size);
        fclose(f);
        free(bytes);
    }
}

static void an_unchanged_directory_keeps_its_bytes(void **state) {
    (void)state;
    write_temp_text("config.json", "{\n}");
    write_temp_text("empty", "");
    write_weights("only.safetensors", header_a);
    planned p;
    tare_error err;
    tare_model *m = open_folder("", NULL);
    assert_int_equal(plan_hf(&p, &m->catalog, m, true, &err), TARE_OK);
    assert_plan_is_folder(&p, m, 3);
    tare_arena_free(&p.arena);
    tare_model_free(m);

    write_weights("second.safetensors", header_b);
    write_temp_text("all.safetensors.index.json",
                    "{ \"weight_map\" : {\"b\":\"second.safetensors\",\n"
                    "\"a\":\"only.safetensors\"}, \"metadata\":{\"x\":1}}");
    m = open_folder("", NULL);
    assert_int_equal(m->n_files, 4);
    assert_int_equal(plan_hf(&p, &m->catalog, m, true, &err), TARE_OK);
    assert_plan_is_folder(&p, m, 5);
    tare_arena_free(&p.arena);

    /* another name in one shard: the index is made anew */
    tare_tensor tensors[2] = {m->catalog.tensors[0], m->catalog.tensors[1]};
    tare_catalog changed = m->catalog;
    changed.tensors = tensors;
    tensors[1].name = TARE_STR("other");
    assert_int_equal(plan_hf(&p, &changed, m, true, &err), TARE_OK);
    for (uint32_t i = 0; i < p.plan.n_files; i++) {
        uint8_t *bytes = plan_bytes(&p.plan, m, i);
        if (strcmp(p.plan.files[i].name, "all.safetensors.index.json") == 0) {
            static const char line[] = "\"other\": \"second.safetensors\"";
            assert_non_null(memmem(bytes, (size_t)p.plan.files[i].size, line, sizeof line - 1));
        }
        free(bytes);
    }
    tare_arena_free(&p.arena);
    tare_model_free(m);
}

static void typed_keys_and_resources_have_their_places(void **state) {
    (void)state;
    sample s = sample_of(
        "{\"__metadata__\":{\"tare.metadata\":\"[{\\\"key\\\":\\\"a.n\\\",\\\"type\\\":\\\"u32\\\","
        "\\\"value\\\":7}]\",\"tare.resources\":\"{\\\"config.json\\\":{\\\"text\\\":\\\"{}\\\"}}"
        "\"},"
        "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
        2);
    tare_model *m;
    tare_error err;
    assert_int_equal(open_bytes(&m, s.bytes, s.size, NULL, &err), TARE_OK);
    planned p;
    assert_int_equal(plan_hf(&p, &m->catalog, m, false, &err), TARE_OK);
    assert_int_equal(p.plan.n_files, 2);
    for (uint32_t i = 0; i < 2; i++) {
        uint8_t *bytes = plan_bytes(&p.plan, m, i);
        write_temp(p.plan.files[i].name, bytes, (size_t)p.plan.files[i].size);
        free(bytes);
    }
    tare_arena_free(&p.arena);
    tare_model_free(m);
    free(s.bytes);

    m = open_folder("", NULL);
    assert_int_equal(m->catalog.n_metadata, 1);
    assert_true(tare_str_is(m->catalog.metadata[0].key, "a.n"));
    assert_resource(m, 0, "config.json", "{}");
    assert_null(tare_model_resource(m, 1));
    tare_model_free(m);
}

static void a_file_stands_before_its_copy_in_the_header(void **state) {
    (void)state;
    write_weights("model.safetensors",
                  "{\"__metadata__\":{\"tare.resources\":\"{\\\"x\\\":{\\\"text\\\":\\\"old\\\"},"
                  "\\\"y\\\":{\\\"text\\\":\\\"kept\\\"}}\"},"
                  "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}");
    write_temp_text("x", "new");
    tare_report *report = tare_report_new();
    tare_model *m = open_folder("", report);
    assert_resource(m, 0, "x", "new");
    assert_resource(m, 1, "y", "kept");
    assert_null(tare_model_resource(m, 2));
    assert_finding(report, "hf.resource-twice", "x");
    tare_model_free(m);
    tare_report_free(report);
}

static void names_that_leave_the_directory_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {
        "../x", "/x", "..", ".", "", "a//b", "a/../b", "a/", "model.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tare_resource_entry r = {.info = {tare_str_of(names[i]), 1}, .bytes = (const uint8_t *)"x"};
        tare_catalog c = {.resources = &r, .n_resources = 1};
        planned p;
        tare_error err;
        assert_int_equal(plan_hf(&p, &c, NULL, false, &err), TARE_ERR_UNSUPPORTED);
        assert_int_equal(err.item_kind, TARE_ITEM_RESOURCE);
        assert_int_equal(err.item, 0);
        tare_arena_free(&p.arena);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_temp_folder, remove_temp_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(side_files_are_resources),
        TEST(links_are_followed),
        TEST(a_folder_of_many_files_is_left_out),
        TEST(large_files_are_left_out),
        TEST(the_weights_are_chosen_by_rule),
        TEST(a_missing_shard_is_named),
        TEST(an_unchanged_directory_keeps_its_bytes),
        TEST(typed_keys_and_resources_have_their_places),
        TEST(a_file_stands_before_its_copy_in_the_header),
        TEST(names_that_leave_the_directory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
