/* SPDX-License-Identifier: MIT
 *
 * Running a plan: write, report unusual numbers, read back if requested, and only then make the
 * output appear. docs/behaviour.md, "Conversion" and "Writing". */
#include <string.h>

#include "base/outfile.h"
#include "base/report.h"
#include "base/str.h"
#include "ops/convert/conversion.h"
#include "ops/convert/execute.h"
#include "ops/digest.h"
#include "ops/output/destination.h"
#include "ops/output/replaced.h"

/* What one run needs. */
typedef struct conversion {
    const tare_plan *plan;
    tare_execution *execution;
    tare_watch watch; /* nonfinite: for each tensor of the plan; NULL: none is encoded */
    tare_outset *set;
    _Atomic uint64_t *hinted;
    _Atomic uint64_t done;
    uint64_t written; /* bytes of the output */
    bool is_in_place; /* whole, under its name */
} conversion;

/* ---- into files ------------------------------------------------------------------------------ */

static tare_status check_replaced(const tare_plan *p, tare_error *err) {
    return p->files.is_directory && p->options.output->force ? tare_check_replaced(p->out_path, err)
                                                             : TARE_OK;
}

static tare_out_options out_options(const tare_plan *p) {
    tare_out_options options = {.is_directory = p->files.is_directory,
                                .has_folders = p->files.is_directory,
                                .force = p->options.output->force,
                                .no_sync = p->options.output->no_sync,
                                .withheld = tare_model_withheld(p->in),
                                .report = p->options.context->report,
                                .store = tare_output_store(p->options.output)};
    for (size_t i = 0; i < p->files.n_files; i++) options.total_size += p->files.files[i].size;
    return options;
}

/* What is made again from its bytes, or read back, has to be a file. */
static tare_status check_stored(const tare_plan *p, tare_error *err) {
    const tare_output_options *o = p->options.output;
    if (p->format->write.pack)
        return tare_output_refuse_store(o, p->out_path,
                                        "what is converted and packed is made here first: write a "
                                        "file and upload it, or pack a model as it is",
                                        err);
    return p->options.verify
               ? tare_output_refuse_store(o, p->out_path,
                                          "an upload cannot be read back before it is complete: "
                                          "convert without `verify`, and verify the object",
                                          err)
               : TARE_OK;
}

tare_status tare_plan_check(const tare_plan *plan, tare_error *err) {
    TARE_REQUIRE(plan && plan->out_path, err);
    const tare_out_options options = out_options(plan);
    TARE_TRY(check_stored(plan, err));
    TARE_TRY(check_replaced(plan, err));
    return tare_outset_check(plan->out_path, &options, plan->options.context->allocator, err);
}

/* Digests that the input states, before anything is made of it. */
static tare_status check_input(const conversion *c, tare_error *err) {
    const tare_context run = tare_steps_context_quiet(c->plan->options.context);
    return tare_digests_check(tare_model_as_stored(c->plan->in), &run, err);
}

static tare_status skip(void *ctx, uint32_t file, uint64_t offset, uint64_t n, tare_error *err) {
    return tare_outset_skip(((conversion *)ctx)->set, file, offset, n, err);
}

static tare_status begin_files(conversion *c, tare_error *err) {
    const tare_plan *p = c->plan;
    const tare_out_options options = out_options(p);
    TARE_TRY(check_stored(p, err));
    TARE_TRY(check_replaced(p, err));
    TARE_TRY(tare_outset_new(&c->set, p->out_path, &options, p->options.context->allocator, err));
    for (size_t i = 0; i < p->files.n_files; i++) {
        uint32_t index;
        const tare_write_file *file = &p->files.files[i];
        TARE_TRY(tare_outset_add(c->set, file->name, file->size, &index, err));
    }
    c->hinted = tare_alloc(p->options.context->allocator, p->files.n_files * sizeof *c->hinted);
    if (!c->hinted) return tare_fail(err, TARE_ERR_NOMEM, "output files");
    for (size_t i = 0; i < p->files.n_files; i++) atomic_init(&c->hinted[i], 0);
    return tare_outset_is_stored(p->out_path, &options) ? tare_plan_gaps(p, skip, c, err) : TARE_OK;
}

/* What follows once all bytes are written, up to the output's name. */
static tare_status finish_files(conversion *c, _Atomic uint64_t *done, uint64_t total,
                                tare_error *err) {
    TARE_TRY(tare_watch_report(&c->watch, c->plan, err));
    if (c->plan->options.verify) {
        tare_compare_sink comparison = {c->set};
        const tare_sink sink = tare_sink_of_comparison(&comparison);
        TARE_TRY(tare_outset_sync(c->set, err));
        TARE_TRY(tare_execution_run(c->execution, &sink, NULL, done, total, err));
        TARE_TRY(tare_convert_check(c->plan, c->set, err));
    }
    return tare_outset_commit(c->set, err);
}

static tare_status write_files(conversion *c, tare_error *err) {
    const uint64_t work = tare_execution_bytes(c->execution);
    const uint64_t total = c->plan->options.verify ? work * 2 : work;
    tare_file_sink files = {c->set, c->hinted};
    const tare_sink sink = tare_sink_of_files(&files);
    TARE_TRY(tare_execution_run(c->execution, &sink, &c->watch, &c->done, total, err));
    return finish_files(c, &c->done, total, err);
}

/* The laid-out files never get a name: they are only the source of the output. */
static tare_status write_packed(conversion *c, tare_error *err) {
    const tare_convert_options *o = &c->plan->options;
    uint64_t work = tare_execution_bytes(c->execution);
    tare_steps steps = {.progress = o->context->progress,
                        .ctx = o->context->progress_ctx,
                        .done = work,
                        .total = work + tare_convert_pack_work(c->plan)};
    tare_file_sink files = {c->set, c->hinted};
    tare_sink sink = tare_sink_of_files(&files);
    TARE_TRY(tare_execution_run(c->execution, &sink, &c->watch, &c->done, steps.total, err));
    TARE_TRY(tare_watch_report(&c->watch, c->plan, err));
    return tare_convert_pack(&c->written, c->plan, c->set, &steps, err);
}

static void end(conversion *c) {
    const tare_plan *p = c->plan;
    tare_outset_free(c->set);
    tare_execution_free(c->execution);
    tare_watch_end(&c->watch, p);
    tare_free(p->options.context->allocator, c->hinted, p->files.n_files * sizeof *c->hinted);
}

/* Returns the measurements and the number of bytes written, once nothing can fail any more. */
static void report_results(const conversion *c, tare_convert_result *out) {
    tare_convert_result result = tare_convert_result_default();
    result.written_bytes = c->written;
    if (c->watch.measure) tare_measure_report(c->watch.measure);
    if (out) tare_result_write(out, &result, sizeof result);
}

static tare_status run(conversion *c, tare_error *err) {
    TARE_TRY(check_input(c, err));
    TARE_TRY(tare_watch_begin(&c->watch, c->plan, err));
    TARE_TRY(tare_execution_new(&c->execution, c->plan, false, err));
    TARE_TRY(begin_files(c, err));
    return c->plan->format->write.pack ? write_packed(c, err) : write_files(c, err);
}

tare_status tare_plan_run(tare_convert_result *out, const tare_plan *plan, tare_error *err) {
    TARE_REQUIRE(plan && plan->out_path, err);
    if (out) TARE_TRY(tare_result_check(out, err));
    conversion c = {.plan = plan, .written = plan->summary.write_bytes};
    tare_status status = plan->options.output->dry_run ? tare_plan_check(plan, err) : run(&c, err);
    if (status == TARE_OK) report_results(&c, out);
    end(&c);
    return status;
}

/* ---- several at once ------------------------------------------------------------------------- */

/* What a run of several plans works with, each an array with an entry for each plan. */
typedef struct conversions {
    conversion *all;
    tare_execution **executions;
    tare_file_sink *files;
    tare_sink *sinks;
    tare_watch *watches;
    size_t n;
    uint64_t total;
} conversions;

static tare_status begin_one(conversions *s, size_t i, const tare_plan *plan, tare_error *err) {
    conversion *c = &s->all[i];
    c->plan = plan;
    c->written = plan->summary.write_bytes;
    if (i == 0) TARE_TRY(check_input(c, err));
    TARE_TRY(tare_watch_begin(&c->watch, c->plan, err));
    TARE_TRY(tare_execution_new(&c->execution, plan, false, err));
    TARE_TRY(begin_files(c, err));
    s->files[i] = (tare_file_sink){c->set, c->hinted};
    s->sinks[i] = tare_sink_of_files(&s->files[i]);
    s->executions[i] = c->execution;
    s->watches[i] = c->watch;
    s->total += tare_execution_bytes(c->execution) << plan->options.verify;
    return TARE_OK;
}

static tare_status run_several(conversions *s, const tare_plan *const *plans, tare_error *err) {
    _Atomic uint64_t done;
    atomic_init(&done, 0);
    for (size_t i = 0; i < s->n; i++) TARE_TRY(begin_one(s, i, plans[i], err));
    TARE_TRY(tare_executions_run(s->executions, s->n, s->sinks, s->watches, &done, s->total, err));
    for (size_t i = 0; i < s->n; i++) {
        TARE_TRY(finish_files(&s->all[i], &done, s->total, err));
        s->all[i].is_in_place = true;
    }
    return TARE_OK;
}

/* Of a run that fails at a later output. */
static void report_in_place(const conversion *c) {
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "output.in-place");
    f.file = tare_str_of(c->plan->out_path);
    if (c->is_in_place)
        tare_report_addf(c->plan->options.context->report, &f,
                         "this output is complete and is kept");
}

static tare_status check_outputs(conversions *s, const tare_plan *const *plans, tare_error *err) {
    for (size_t i = 0; i < s->n; i++) {
        s->all[i] = (conversion){.plan = plans[i], .written = plans[i]->summary.write_bytes};
        TARE_TRY(tare_plan_check(plans[i], err));
    }
    return TARE_OK;
}

static tare_status allocate(conversions *s, tare_arena *arena, tare_error *err) {
    s->all = TARE_NEW_ARRAY(arena, conversion, s->n);
    s->executions = TARE_NEW_ARRAY(arena, tare_execution *, s->n);
    s->files = TARE_NEW_ARRAY(arena, tare_file_sink, s->n);
    s->sinks = TARE_NEW_ARRAY(arena, tare_sink, s->n);
    s->watches = TARE_NEW_ARRAY(arena, tare_watch, s->n);
    if (!s->all || !s->executions || !s->files || !s->sinks || !s->watches)
        return tare_fail(err, TARE_ERR_NOMEM, "several conversions");
    memset(s->all, 0, s->n * sizeof *s->all);
    return TARE_OK;
}

static tare_status check_several(const tare_plan *const *plans, size_t n, tare_error *err) {
    for (size_t i = 0; i < n; i++) {
        TARE_REQUIRE(plans[i] && plans[i]->out_path && plans[i]->in == plans[0]->in, err);
        if (plans[i]->format->write.pack)
            return tare_fail(err, TARE_ERR_UNSUPPORTED,
                             "packed models are not among several outputs: pack them afterwards");
    }
    return TARE_OK;
}

tare_status tare_plans_run(tare_convert_result *out, const tare_plan *const *plans, size_t n,
                           tare_error *err) {
    TARE_REQUIRE(plans && n, err);
    TARE_TRY(check_several(plans, n, err));
    conversions s = {.n = n};
    tare_arena arena;
    tare_arena_init(&arena, plans[0]->options.context->allocator);
    tare_status status = allocate(&s, &arena, err);
    const bool is_dry = plans[0]->options.output->dry_run;
    if (status == TARE_OK) status = (is_dry ? check_outputs : run_several)(&s, plans, err);
    for (size_t i = 0; s.all && i < n && s.all[i].plan; i++) {
        if (status == TARE_OK)
            report_results(&s.all[i], out ? &out[i] : NULL);
        else
            report_in_place(&s.all[i]);
        end(&s.all[i]);
    }
    tare_arena_free(&arena);
    return status;
}

/* ---- elsewhere ------------------------------------------------------------------------------- */

static tare_status run_stream(conversion *c, tare_stream_sink *stream, tare_error *err) {
    tare_sink sink = tare_sink_of_stream(stream);
    TARE_TRY(check_input(c, err));
    TARE_TRY(tare_watch_begin(&c->watch, c->plan, err));
    TARE_TRY(tare_execution_new(&c->execution, c->plan, true, err));
    TARE_TRY(tare_execution_run(c->execution, &sink, &c->watch, &c->done,
                                tare_execution_bytes(c->execution), err));
    TARE_TRY(tare_stream_sink_finish(stream, c->plan->files.files[0].size, err));
    return tare_watch_report(&c->watch, c->plan, err);
}

static tare_status run_output(conversion *c, const tare_output *output, tare_error *err) {
    tare_sink sink = tare_sink_of_output(output);
    TARE_TRY(check_input(c, err));
    TARE_TRY(tare_watch_begin(&c->watch, c->plan, err));
    TARE_TRY(tare_execution_new(&c->execution, c->plan, false, err));
    TARE_TRY(tare_execution_run(c->execution, &sink, &c->watch, &c->done,
                                tare_execution_bytes(c->execution), err));
    return tare_watch_report(&c->watch, c->plan, err);
}

/* For destinations other than files, which can neither be read back nor changed later. */
static tare_status check_elsewhere(const tare_plan *plan, tare_error *err) {
    if (plan->files.is_directory || plan->files.n_files != 1)
        return tare_fail(err, TARE_ERR_ARG, "only a single file can go to standard output");
    if (plan->format->write.pack)
        return tare_fail(err, TARE_ERR_ARG, "a packed model is not written in one go");
    if (plan->options.verify)
        return tare_fail(err, TARE_ERR_ARG, "standard output cannot be read back");
    return TARE_OK;
}

/* `output` NULL: a descriptor. */
static tare_status run_elsewhere(tare_convert_result *out, const tare_plan *plan,
                                 const tare_output *output, int fd, tare_error *err) {
    if (out) TARE_TRY(tare_result_check(out, err));
    TARE_TRY(check_elsewhere(plan, err));
    conversion c = {.plan = plan, .written = plan->summary.write_bytes};
    tare_stream_sink stream = {.output = output, .fd = fd};
    tare_status status = plan->options.output->dry_run ? TARE_OK
                         : output && !output->in_order ? run_output(&c, output, err)
                                                       : run_stream(&c, &stream, err);
    if (status == TARE_OK) report_results(&c, out);
    end(&c);
    return status;
}

tare_status tare_plan_run_fd(tare_convert_result *out, const tare_plan *plan, int fd,
                             tare_error *err) {
    TARE_REQUIRE(plan && fd >= 0, err);
    return run_elsewhere(out, plan, NULL, fd, err);
}

tare_status tare_plan_run_to(tare_convert_result *out, const tare_plan *plan,
                             const tare_output *output, tare_error *err) {
    TARE_REQUIRE(plan && output, err);
    tare_output own;
    TARE_TRY(tare_output_read(&own, output, err));
    return run_elsewhere(out, plan, &own, -1, err);
}
