/* SPDX-License-Identifier: MIT
 *
 * Faults guarded against: a directory that does not come back from its .wcodec as it was: a folder,
 * a link, an empty folder, permissions or a time that is missing; a link that leads out of where it
 * is unpacked; weights behind a link that are packed as mere bytes; something left out in silence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <tare/experimental/packing.h>
#include <tare/experimental/unpack.h>
#include <tare/inspect.h>

#include "convert_help.h"
#include "format/wcodec/wcodec_virtual.h"

static void write_text(const char *name, const char *text) {
    FILE *f = fopen(help_path(name), "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void link_to(const char *target, const char *name) {
    assert_int_equal(symlink(target, help_path(name)), 0);
}

/* Weights behind a link, side files, folders. */
static void make_directory(void) {
    made_model made;
    tare_convert_options o = tare_convert_options_default();
    mkdir(help_path("in"), 0755);
    mkdir(help_path("in/w"), 0755);
    help_convert(help_path("in/w/real.safetensors"), help_make(&made, HELP_COMMON), &o);
    made_free(&made);
    link_to("w/real.safetensors", "in/model.safetensors");
    mkdir(help_path("in/1_Pooling"), 0755);
    write_text("in/1_Pooling/config.json", "{}");
    mkdir(help_path("in/1_Pooling/none"), 0755);
    write_text("in/zero", "");
}

static tare_status try_pack(tare_pack_options *o, tare_pack_summary *sum, tare_error *err) {
    tare_open_options open = tare_open_options_default();
    tare_context context = tare_context_default();
    open.context = &context;
    tare_model *m;
    context.report = o->context ? o->context->report : NULL;
    assert_int_equal(tare_open_path(&m, help_path("in"), &open, err), TARE_OK);
    o->directory = help_path("in");
    const tare_output_options *asked = o->output;
    tare_output_options output = o->output ? *o->output : tare_output_options_default();
    output.no_sync = output.force = true;
    o->output = &output;
    const tare_status status = tare_pack(sum, help_path("p.wcodec"), m, o, err);
    o->output = asked;
    tare_model_free(m);
    return status;
}

static void must_pack(tare_pack_options *o, tare_pack_summary *sum) {
    tare_error err = {0};
    if (try_pack(o, sum, &err) != TARE_OK) fail_msg("%s", err.what);
}

static void must_unpack(void) {
    tare_unpack_options o = tare_unpack_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    const tare_source in = {.size = sizeof(tare_source),
                            .kind = TARE_SOURCE_PATH,
                            .name = help_path("p.wcodec"),
                            .fd = -1};
    tare_error err = {0};
    output.no_sync = true;
    if (tare_unpack(NULL, help_path("out"), &in, &o, &err) != TARE_OK) fail_msg("%s", err.what);
}

static bool has_finding(const tare_report *report, const char *code, const char *item) {
    for (size_t i = 0; i < tare_report_count(report); i++) {
        const tare_finding *f = tare_report_at(report, i);
        if (strcmp(f->code, code) == 0 && f->item_name.len == strlen(item) &&
            memcmp(f->item_name.ptr, item, f->item_name.len) == 0)
            return true;
    }
    return false;
}

static void assert_link(const char *name, const char *target) {
    char text[128];
    const ssize_t n = readlink(help_path(name), text, sizeof text);
    assert_int_equal(n, strlen(target));
    assert_memory_equal(text, target, (size_t)n);
}

static struct stat stat_of(const char *name) {
    struct stat st;
    assert_int_equal(lstat(help_path(name), &st), 0);
    return st;
}

/* ---- what comes back ------------------------------------------------------------------------- */

static void all_comes_back(void **state) {
    (void)state;
    static const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                             {.tv_sec = 981173106, .tv_nsec = 789000000}};
    tare_pack_options o = tare_pack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_pack_summary sum = tare_pack_summary_default();
    make_directory();
    link_to("../zero", "in/1_Pooling/up");
    link_to("1_Pooling", "in/folder");
    link_to("folder/config.json", "in/over");
    link_to("nothing", "in/broken");
    assert_int_equal(chmod(help_path("in/zero"), 0640), 0);
    assert_int_equal(chmod(help_path("in/1_Pooling/config.json"), 0444), 0);
    assert_int_equal(utimensat(AT_FDCWD, help_path("in/1_Pooling/config.json"), times, 0), 0);
    context.report = tare_report_new();
    output.strict = true;
    must_pack(&o, &sum);
    assert_int_equal(sum.n_files, 9);
    assert_true(sum.n_tensors > 0); /* the weights were seen behind their link */
    assert_int_equal(tare_report_count(context.report), 0);
    tare_report_free(context.report);
    must_unpack();
    help_check_same_file(help_path("in/w/real.safetensors"), help_path("out/w/real.safetensors"));
    help_check_same_file(help_path("in/1_Pooling/config.json"),
                         help_path("out/1_Pooling/config.json"));
    assert_link("out/model.safetensors", "w/real.safetensors");
    assert_link("out/1_Pooling/up", "../zero");
    assert_link("out/folder", "1_Pooling");
    assert_link("out/over", "folder/config.json");
    assert_link("out/broken", "nothing");
    assert_true(S_ISDIR(stat_of("out/1_Pooling/none").st_mode));
    assert_int_equal(stat_of("out/zero").st_mode & 07777, 0640);
    const struct stat st = stat_of("out/1_Pooling/config.json");
    assert_int_equal(st.st_mode & 07777, 0444);
    assert_int_equal(st.st_mtim.tv_sec, 981173106);
    assert_int_equal(st.st_mtim.tv_nsec, 789000000);
}

/* Readers that know no links get what they lead to; such is the model inside. */
static void links_have_the_bytes_of_files(void **state) {
    (void)state;
    tare_pack_options o = tare_pack_options_default();
    make_directory();
    link_to("1_Pooling", "in/folder");
    link_to("folder/config.json", "in/over");
    must_pack(&o, NULL);
    tare_reader reader;
    tare_packed *store;
    tare_limits limits = tare_limits_default();
    assert_int_equal(tare_reader_open(&reader, help_path("p.wcodec"), false, NULL), TARE_OK);
    assert_int_equal(tare_packed_open(&store, &reader, &limits, NULL, NULL), TARE_OK);
    const tare_wcodec_index *x = tare_wcodec_store_index(store);
    assert_int_equal(x->minor, 2);
    size_t n_links = 0;
    for (uint32_t i = 0; i < x->n_files; i++) {
        if (x->files[i].entry.kind != TARE_PACKED_LINK) continue;
        n_links++;
        const bool is_file = !tare_str_is(x->files[i].name, "folder");
        assert_int_equal(x->files[i].n_ranges > 0, is_file);
    }
    assert_int_equal(n_links, 3);
    tare_packed_free(store);
    tare_model *a = help_open(help_path("in")), *b = help_open(help_path("p.wcodec"));
    tare_digest from, to;
    assert_int_equal(tare_model_digest(NULL, &from, a, NULL, NULL), TARE_OK);
    assert_int_equal(tare_model_digest(NULL, &to, b, NULL, NULL), TARE_OK);
    assert_memory_equal(from.bytes, to.bytes, sizeof from.bytes);
    tare_model_free(a);
    tare_model_free(b);
}

/* ---- what does not --------------------------------------------------------------------------- */

static void what_leads_out_is_its_contents(void **state) {
    (void)state;
    tare_pack_options o = tare_pack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    make_directory();
    write_text("outside", "words");
    mkdir(help_path("others"), 0755);
    write_text("others/a", "A");
    link_to("../outside", "in/link");
    link_to(help_path("others"), "in/folder");
    link_to("w/../zero", "in/round"); /* stays, but not by its looks */
    link_to("..", "in/circle");
    context.report = tare_report_new();
    must_pack(&o, NULL);
    assert_true(has_finding(context.report, "pack.link-followed", "link"));
    assert_true(has_finding(context.report, "pack.link-followed", "folder"));
    assert_true(
        has_finding(context.report, "left-out", "circle/in")); /* it lies in what it leads to */
    tare_report_free(context.report);
    must_unpack();
    help_check_same_file(help_path("outside"), help_path("out/link"));
    help_check_same_file(help_path("others/a"), help_path("out/folder/a"));
    assert_true(S_ISREG(stat_of("out/link").st_mode) && S_ISREG(stat_of("out/round").st_mode));
    assert_true(S_ISDIR(stat_of("out/folder").st_mode));
}

static void what_is_left_out_is_named(void **state) {
    (void)state;
    static const char *const patterns[] = {"*.log", "runs/", "1_Pooling/none", "mistyped"};
    tare_pack_options o = tare_pack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_error err = {0};
    make_directory();
    mkdir(help_path("in/.git"), 0755);
    mkdir(help_path("in/w/.cache"), 0755);
    mkdir(help_path("in/w/runs"), 0755);
    write_text("in/w/runs/1", "");
    write_text("in/w/a.log", "");
    write_text("in/runs", "a file, no folder");
    assert_int_equal(mkfifo(help_path("in/pipe"), 0600), 0);
    context.report = tare_report_new();
    o.exclude = patterns;
    o.n_exclude = 4;
    must_pack(&o, NULL);
    assert_true(has_finding(context.report, "pack.skipped", ".git"));
    assert_true(has_finding(context.report, "pack.skipped", "w/.cache"));
    assert_true(has_finding(context.report, "pack.excluded", "w/runs"));
    assert_true(has_finding(context.report, "pack.excluded", "w/a.log"));
    assert_true(has_finding(context.report, "pack.excluded", "1_Pooling/none"));
    assert_true(has_finding(context.report, "pack.exclude-unused", ""));
    assert_true(has_finding(context.report, "left-out", "pipe"));
    must_unpack();
    assert_int_equal(help_count_entries(help_path("out")), 5); /* and the file "runs" */
    assert_int_equal(help_count_entries(help_path("out/w")), 1);
    /* One that is lost is an error under strict, one that is excluded is not. */
    output.strict = true;
    assert_int_equal(try_pack(&o, NULL, &err), TARE_ERR_UNSUPPORTED);
    o.n_exclude = 3;
    assert_int_equal(try_pack(&o, NULL, &err), TARE_ERR_UNSUPPORTED);
    assert_string_equal(err.what, "neither a file nor a link to one: not packed");
    unlink(help_path("in/pipe"));
    must_pack(&o, NULL);
    /* Without its weights it is no model. */
    static const char *const weights[] = {"w/*.safetensors"};
    o.exclude = weights;
    o.n_exclude = 1;
    assert_int_equal(try_pack(&o, NULL, &err), TARE_ERR_ARG);
    tare_report_free(context.report);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, help_set_up, help_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(all_comes_back),
        TEST(links_have_the_bytes_of_files),
        TEST(what_leads_out_is_its_contents),
        TEST(what_is_left_out_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
