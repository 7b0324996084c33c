/* SPDX-License-Identifier: MIT
 *
 * Guards against: a call that goes on for long after another thread has asked it to stop, or leaves
 * something behind; a verb that starts threads of its own although it was given some. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/experimental/containers.h>
#include <tare/experimental/unpack.h>
#include <tare/inspect.h>
#include <tare/model.h>
#include <tare/output.h>
#include <tare/private/bench.h>
#include <tare/private/synth.h>
#include <tare/read.h>

#include "convert_help.h"

typedef struct stopper {
    tare_cancel *cancel;
    int after_ms;
    double asked; /* processor seconds */
} stopper;

/* Of the processor, so that what else the machine does is not counted. How long a call went on after
 * it was asked to stop is printed, not judged: that it stopped before its end is what counts, and
 * all of them take seconds to get there. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *stop_later(void *arg) {
    stopper *s = arg;
    struct timespec wait = {0, s->after_ms * 1000000L};
    nanosleep(&wait, NULL);
    tare_cancel_request(s->cancel);
    s->asked = seconds(); /* behind: this thread may have to wait for its turn */
    return NULL;
}

typedef tare_status (*verb)(const tare_model *model, const tare_cancel *cancel, tare_error *err);

static tare_status convert(const tare_model *m, const char *name, const tare_convert_options *o,
                           const tare_cancel *cancel, tare_error *err) {
    tare_convert_options options = *o;
    const tare_context context = {.size = sizeof context, .threads = 2, .cancel = cancel};
    const tare_output_options output = {.size = sizeof output, .no_sync = true};
    options.context = &context;
    options.output = &output;
    return tare_convert(help_path(name), m, &options, err);
}

static tare_status convert_best(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    tare_convert_options o = tare_convert_options_default();
    o.type = tare_encoding_get(TARE_ENCODING_Q3_K);
    o.quality = TARE_QUALITY_BEST;
    return convert(m, "best.gguf", &o, cancel, err);
}

static tare_status convert_packed(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    tare_convert_options o = tare_convert_options_default();
    return convert(m, "all.wcodec", &o, cancel, err);
}

static tare_status digest(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    tare_context o = tare_context_default();
    tare_digest whole;
    o.threads = 2;
    o.cancel = cancel;
    return tare_model_digest(NULL, &whole, m, &o, err);
}

static tare_status digest_one(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    tare_context o = tare_context_default();
    tare_digest d;
    o.cancel = cancel;
    for (size_t i = 0; i < tare_model_summarize(m)->n_tensors; i++) {
        const tare_status status = tare_tensor_digest(&d, m, i, &o, err);
        if (status != TARE_OK) return status;
    }
    return TARE_OK;
}

static tare_status diff(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    tare_diff_options o = tare_diff_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_diff *d;
    context.threads = 2;
    context.cancel = cancel;
    tare_status status = tare_diff_new(&d, m, m, &o, err);
    tare_diff_free(d);
    return status;
}

static tare_status extract(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    tare_extract_options o = tare_extract_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    output.no_sync = true;
    context.cancel = cancel;
    return tare_extract(help_path("one.npy"), m, 0, TARE_EXTRACT_NPY, &o, err);
}

static tare_status verify(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    tare_context o = tare_context_default();
    o.report = tare_report_new();
    o.threads = 2;
    o.cancel = cancel;
    tare_status status = tare_verify_data(m, &o, err);
    tare_report_free(o.report);
    return status;
}

static tare_status manifest(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    tare_context o = tare_context_default();
    const tare_output_options output = {.size = sizeof output, .no_sync = true};
    o.threads = 2;
    o.cancel = cancel;
    return tare_manifest_write(help_path("sums"), m, &output, &o, err);
}

static tare_status bench(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    tare_bench_options o = tare_bench_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_bench_rows *rows;
    context.threads = 2;
    context.cancel = cancel;
    const tare_status status = tare_bench_run(&rows, m, &o, err);
    tare_bench_free(rows);
    return status;
}

static void ignore(void *ctx, size_t tensor, const tare_tensor_stats *stats) {
    (void)ctx, (void)tensor, (void)stats;
}

static tare_status stats(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    tare_context o = tare_context_default();
    o.threads = 2;
    o.cancel = cancel;
    return tare_model_stats(m, NULL, 0, ignore, NULL, &o, err);
}

static tare_status plan_outliers(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    tare_convert_options o = tare_convert_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_convert_infq_options infq = tare_convert_infq_options_default();
    tare_plan *plan;
    infq.outlier_share = 0.001;
    o.to = "infq";
    o.infq = &infq;
    context.threads = 2;
    context.cancel = cancel;
    tare_status status = tare_plan_new(&plan, NULL, m, &o, err);
    tare_plan_free(plan);
    return status;
}

static tare_status read_all(const tare_model *m, const tare_cancel *cancel, tare_error *err) {
    const size_t n = tare_model_summarize(m)->n_tensors;
    tare_read_job *jobs = calloc(n, sizeof *jobs);
    tare_read_options o = tare_read_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    uint64_t most = 0;
    assert_non_null(jobs);
    for (size_t i = 0; i < n; i++) {
        uint64_t size;
        tare_read_job_init(&jobs[i], sizeof *jobs);
        jobs[i].tensor = i;
        jobs[i].as = TARE_ENCODING_F16;
        assert_int_equal(tare_read_job_bytes(&size, m, &jobs[i], NULL), TARE_OK);
        if (size > most) most = size;
    }
    jobs[0].dst = malloc((size_t)most);
    context.threads = 1; /* all into the same memory */
    context.cancel = cancel;
    for (size_t i = 0; i < n; i++) jobs[i].dst = jobs[0].dst;
    tare_status status = tare_read_many(m, jobs, n, &o, err);
    free(jobs[0].dst);
    free(jobs);
    return status;
}

/* Outputs of calls that ended before they were asked to stop. */
static void remove_outputs(void) {
    static const char *const names[] = {"best.gguf", "all.wcodec", "one.npy", "sums"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) help_remove(help_path(names[i]));
}

/* A fast machine may be done before `after_ms` have passed: then nothing is left to stop. */
static void check_stops(verb run, int after_ms) {
    stopper s = {.cancel = tare_cancel_new(), .after_ms = after_ms};
    tare_model *m;
    tare_error err;
    pthread_t thread;
    assert_int_equal(tare_synth_open(&m, "llama-300m", NULL, NULL), TARE_OK);
    assert_int_equal(pthread_create(&thread, NULL, stop_later, &s), 0);
    tare_status status = run(m, s.cancel, &err);
    const double took = seconds();
    pthread_join(thread, NULL);
    if (status == TARE_OK && took <= s.asked) {
        print_message("ended before it was asked to stop\n");
        remove_outputs();
    } else {
        assert_int_equal(status, TARE_ERR_CANCELLED);
        assert_int_equal(err.status, TARE_ERR_CANCELLED);
        print_message("stopped after %.3f s\n", took - s.asked);
    }
    assert_int_equal(help_count_entries(help_dir), 0);
    tare_model_free(m);
    tare_cancel_free(s.cancel);
}

static void long_calls_stop_soon(void **state) {
    static const verb verbs[] = {convert_best, convert_packed, digest,   diff,
                                 extract,      verify,         manifest, bench,
                                 stats,        plan_outliers,  read_all, digest_one};
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        check_stops(verbs[i], 0); /* likely before it begins */
        check_stops(verbs[i], 150);
    }
}

static void packing_stops_soon(void **state) {
    tare_convert_options plain = tare_convert_options_default();
    tare_pack_options o = tare_pack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    stopper s = {.cancel = tare_cancel_new(), .after_ms = 60};
    tare_model *m;
    tare_error err;
    pthread_t thread;
    (void)state;
    assert_int_equal(tare_synth_open(&m, "llama-44m", NULL, NULL), TARE_OK);
    help_convert(help_path("in.gguf"), m, &plain);
    tare_model_free(m);
    m = help_open(help_path("in.gguf"));
    context.threads = 2;
    context.cancel = s.cancel;
    assert_int_equal(pthread_create(&thread, NULL, stop_later, &s), 0);
    tare_status status = tare_pack(NULL, help_path("out.wcodec"), m, &o, &err);
    const double took = seconds();
    pthread_join(thread, NULL);
    assert_int_equal(status, TARE_ERR_CANCELLED);
    print_message("stopped after %.3f s\n", took - s.asked);
    assert_int_equal(help_count_entries(help_dir), 1);
    tare_model_free(m);
    tare_cancel_free(s.cancel);
    help_remove(help_path("in.gguf"));
}

static void a_flag_can_serve_again(void **state) {
    tare_cancel *cancel = tare_cancel_new();
    tare_error err;
    made_model made;
    (void)state;
    tare_model *m = help_make(&made, HELP_COMMON);
    assert_false(tare_cancel_is_requested(cancel));
    assert_int_equal(digest(m, cancel, &err), TARE_OK);
    tare_cancel_request(cancel);
    assert_true(tare_cancel_is_requested(cancel));
    assert_int_equal(digest(m, cancel, &err), TARE_ERR_CANCELLED);
    tare_cancel_reset(cancel);
    assert_int_equal(digest(m, cancel, &err), TARE_OK);
    tare_cancel_free(cancel);
    tare_cancel_free(NULL);
    made_free(&made);
}

/* ---- threads of the caller ------------------------------------------------------------------- */

static void count_calls(void *ctx, unsigned n, void (*body)(void *body_ctx, unsigned i),
                        void *body_ctx) {
    ++*(int *)ctx;
    for (unsigned i = 0; i < n; i++) body(body_ctx, i);
}

static void no_stats(void *ctx, size_t tensor, const tare_tensor_stats *stats) {
    (void)ctx, (void)tensor, (void)stats;
}

static void every_verb_takes_the_callers_threads(void **state) {
    tare_convert_options convert_options = tare_convert_options_default();
    tare_pack_options pack_options = tare_pack_options_default();
    tare_unpack_options unpack_options = tare_unpack_options_default();
    tare_diff_options diff_options = tare_diff_options_default();
    tare_bench_options bench_options = tare_bench_options_default();
    tare_read_options read_options = tare_read_options_default();
    tare_read_job job = tare_read_job_default();
    static uint8_t room[1 << 20];
    const tare_source packed = {.size = sizeof(tare_source),
                                .kind = TARE_SOURCE_PATH,
                                .name = help_path("p.wcodec"),
                                .fd = -1};
    made_model made;
    tare_digest whole;
    tare_bench_rows *rows;
    tare_diff *d;
    int calls = 0;
    (void)state;
    tare_context context = tare_context_default();
    context.threads = 2;
    context.parallel = count_calls;
    context.parallel_ctx = &calls;
    convert_options.context = pack_options.context = unpack_options.context = diff_options.context =
        bench_options.context = read_options.context = &context;
    tare_model *m = help_make(&made, HELP_COMMON);
    help_convert(help_path("c.gguf"), m, &convert_options);
    assert_int_equal(calls, 1);
    tare_model *opened = help_open(help_path("c.gguf"));
    calls = 0;
    assert_int_equal(tare_pack(NULL, help_path("p.wcodec"), opened, &pack_options, NULL), TARE_OK);
    assert_true(calls >= 1); /* layers, and digests of what may be duplicates */
    calls = 0;
    assert_int_equal(tare_unpack(NULL, help_path("u.gguf"), &packed, &unpack_options, NULL),
                     TARE_OK);
    assert_int_equal(calls, 1);
    calls = 0;
    assert_int_equal(tare_model_digest(NULL, &whole, opened, &context, NULL), TARE_OK);
    assert_int_equal(tare_verify_data(opened, &context, NULL), TARE_OK);
    assert_int_equal(tare_manifest_write(help_path("sums"), opened, NULL, &context, NULL), TARE_OK);
    assert_int_equal(tare_manifest_check(help_path("sums"), opened, &context, NULL), TARE_OK);
    assert_int_equal(calls, 4);
    calls = 0;
    context.report = tare_report_new();
    assert_int_equal(tare_verify_against(opened, m, &context, NULL), TARE_OK);
    tare_report_free(context.report);
    context.report = NULL;
    assert_true(calls > 0);
    calls = 0;
    assert_int_equal(tare_model_stats(opened, NULL, 0, no_stats, NULL, &context, NULL), TARE_OK);
    assert_int_equal(calls, 1);
    calls = 0;
    job.dst = room;
    assert_int_equal(tare_read_many(opened, &job, 1, &read_options, NULL), TARE_OK);
    assert_int_equal(calls, 1);
    calls = 0;
    assert_int_equal(tare_diff_new(&d, opened, m, &diff_options, NULL), TARE_OK);
    tare_diff_free(d);
    assert_int_equal(calls, 1);
    calls = 0;
    assert_int_equal(tare_bench_run(&rows, opened, &bench_options, NULL), TARE_OK);
    assert_true(calls > 0);
    assert_null(tare_bench_row(rows, tare_model_summarize(opened)->n_tensors));
    tare_bench_free(rows);
    tare_model_free(opened);
    made_free(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(long_calls_stop_soon, help_set_up, help_tear_down),
        cmocka_unit_test_setup_teardown(packing_stops_soon, help_set_up, help_tear_down),
        cmocka_unit_test(a_flag_can_serve_again),
        cmocka_unit_test_setup_teardown(every_verb_takes_the_callers_threads, help_set_up,
                                        help_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
