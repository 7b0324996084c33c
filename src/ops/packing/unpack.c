/* SPDX-License-Identifier: MIT
 *
 * Unpacking: the ranges of each file record are decoded and written where they belong. A range is
 * cut where segments of its region end, so that they are decoded once and straight into the
 * buffer that is written; while one thread writes, others decode. */
#include <stdatomic.h>
#include <string.h>

#include "base/arith.h"
#include "base/pool.h"
#include "base/report.h"
#include "base/str.h"
#include "format/format.h"
#include "ops/output/destination.h"
#include "ops/output/replaced.h"
#include "ops/output/sinks.h"
#include "ops/packing/bases.h"
#include "ops/packing/unpack_digests.h"
#include "ops/packing/unpack_losses.h"
#include "ops/packing/unpack_run.h"
#include "ops/packing/unpack_salvage.h"
#include "ops/packing/write_turns.h"
#include "ops/steps.h"

/* A range of a file that is read from one region, in tasks. */
typedef struct job {
    const tare_packed_range *range;
    uint32_t file;
    uint64_t offset; /* in the file */
    uint64_t step;   /* of the region: tasks begin at multiples of it */
    uint64_t first_task;
} job;

typedef struct unpacking {
    tare_unpack_options options;
    tare_context context; /* of the options */
    tare_output_options output;
    tare_packed *store;
    tare_packed_contents contents;
    tare_unpack_losses losses;
    job *jobs;
    size_t n_jobs;
    uint64_t n_tasks, total;
    size_t buffer_size;
    tare_write_turns *turns;
    _Atomic uint64_t *left; /* tasks, of each file */
    _Atomic uint64_t *hinted;
    _Atomic uint64_t done;
    tare_outset *set;
    tare_sink sink;
    tare_unpack_result result;
    bool may_convert, is_model; /* without files, which can be converted, if it was lossy */
} unpacking;

/* ---- cutting --------------------------------------------------------------------------------- */

static uint64_t tasks_of(const job *j) {
    return (j->range->offset + j->range->length - 1) / j->step - j->range->offset / j->step + 1;
}

/* A link says what it leads to, and has that one's bytes for readers that know no links. */
static bool is_file(const tare_packed_file *f) {
    return f->entry.kind == TARE_PACKED_FILE;
}
static uint32_t n_ranges(const tare_packed_file *f) {
    return is_file(f) ? f->n_ranges : 0;
}

static tare_status cut(unpacking *u, tare_error *err) {
    const tare_allocator *a = u->options.context->allocator;
    for (uint32_t f = 0; f < u->contents.n_files; f++) u->n_jobs += n_ranges(&u->contents.files[f]);
    u->jobs = tare_alloc(a, u->n_jobs * sizeof *u->jobs);
    u->left = tare_alloc(a, u->contents.n_files * sizeof *u->left);
    u->hinted = tare_alloc(a, u->contents.n_files * sizeof *u->hinted);
    if (!u->jobs || !u->left || !u->hinted) return tare_fail(err, TARE_ERR_NOMEM, "list of tasks");
    job *j = u->jobs;
    for (uint32_t f = 0; f < u->contents.n_files; f++) {
        const tare_packed_file *file = &u->contents.files[f];
        uint64_t before = u->n_tasks, offset = 0;
        for (uint32_t i = 0; i < n_ranges(file); i++, j++) {
            const tare_packed_range *r = &file->ranges[i];
            *j = (job){r, f, offset, tare_packed_step(u->store, r->layer, r->region), u->n_tasks};
            u->n_tasks += tasks_of(j);
            offset += r->length;
            uint64_t most = tare_min_u64(j->step, r->length);
            if (most > u->buffer_size) u->buffer_size = (size_t)most;
        }
        atomic_init(&u->left[f], u->n_tasks - before);
        atomic_init(&u->hinted[f], 0);
        u->total += is_file(file) ? file->size : 0;
    }
    return TARE_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static const job *job_of(const unpacking *u, uint64_t task) {
    return &u->jobs[tare_part_of(&u->jobs->first_task, u->n_jobs, sizeof *u->jobs, task)];
}

static tare_status write_piece(void *ctx, const tare_write_piece *p, tare_error *err) {
    unpacking *u = ctx;
    TARE_TRY(u->sink.put(u->sink.ctx, p->file, p->offset, p->bytes, p->n, NULL, err));
    atomic_fetch_add_explicit(&u->done, p->n, memory_order_relaxed);
    if (atomic_fetch_sub(&u->left[p->file], 1) == 1 && u->sink.file_done)
        return u->sink.file_done(u->sink.ctx, p->file, err);
    return TARE_OK;
}

static tare_status run_task(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    unpacking *u = ctx;
    const job *j = job_of(u, task);
    const tare_packed_range *r = j->range;
    uint64_t block = r->offset / j->step + (task - j->first_task);
    uint64_t from = tare_max_u64(block * j->step, r->offset);
    uint64_t to = tare_min_u64((block + 1) * j->step, r->offset + r->length);
    const tare_write_piece piece = {.bytes = tare_write_turns_buffer(u->turns, worker),
                                    .n = (size_t)(to - from),
                                    .file = j->file,
                                    .offset = j->offset + (from - r->offset)};
    TARE_TRY(tare_packed_read(u->store, r->layer, r->region, from, piece.bytes, piece.n, err));
    return tare_write_turns_put(u->turns, worker, &piece, err);
}

static tare_status run_tasks(unpacking *u, tare_error *err) {
    const tare_unpack_options *o = &u->options;
    tare_run run = {.context = *o->context,
                    .n_tasks = u->n_tasks,
                    .task = run_task,
                    .ctx = u,
                    .total = u->total,
                    .done = &u->done};
    if (u->sink.is_sequential) run.context.threads = 1;
    TARE_TRY(tare_write_turns_new(&u->turns, tare_run_threads(&run), u->buffer_size, write_piece, u,
                                  o->context->allocator, err));
    TARE_TRY(tare_run_parallel(&run, err));
    TARE_TRY(tare_write_turns_finish(u->turns, err));
    TARE_TRY(tare_unpack_losses_report(&u->losses, u->store, o, &u->result, err));
    return tare_unpack_salvage_end(&u->result, &u->losses.segments, u->store, o, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

static tare_status open_store(unpacking *u, const tare_source *in, tare_error *err) {
    const tare_limits limits = tare_limits_default();
    tare_limits own = limits;
    tare_reader file;
    TARE_TRY(tare_options_read(&own, sizeof own, u->options.context->limits, err));
    tare_blocks *blocks = NULL;
    const tare_allocator *a = u->options.context->allocator;
    tare_packed_damage damage = {.is_unchecked = false};
    tare_status status = tare_source_open(&file, in, false, &blocks, err);
    if (status == TARE_OK)
        status = u->options.salvage ? tare_packed_salvage(&u->store, &damage, &file, &own, a, err)
                                    : tare_packed_open(&u->store, &file, &own, a, err);
    tare_blocks_note_opened(blocks);
    tare_blocks_release(blocks);
    TARE_TRY(status);
    u->contents = tare_packed_describe(u->store);
    TARE_TRY(
        tare_unpack_salvage_begin(&u->result, &damage, u->store, u->options.context->report, err));
    u->is_model = u->contents.n_files == 0;
    if (u->is_model && !(u->may_convert && !u->options.salvage && !u->options.is_coarse))
        return tare_fail(err, TARE_ERR_ARG,
                         "the container holds a model but no files: convert it instead");
    if (u->is_model) return TARE_OK;
    TARE_TRY(tare_unpack_losses_init(&u->losses, u->store, &u->options, err));
    tare_packed_watch(u->store, &u->losses.watch,
                      u->options.is_coarse ? u->options.groups : TARE_PACKED_ALL_GROUPS);
    TARE_TRY(tare_packed_use_device(u->store, u->options.device, err));
    const tare_context run = tare_steps_context_quiet(&u->context);
    return tare_bases_use(u->store, u->options.bases, u->options.n_bases, &run, err);
}

/* The file that the caller wants, alone. */
static tare_status choose_file(unpacking *u, tare_error *err) {
    const char *name = u->options.file;
    if (!name) return TARE_OK;
    for (uint32_t i = 0; i < u->contents.n_files; i++) {
        if (!tare_str_is(u->contents.files[i].name, name) || !is_file(&u->contents.files[i]))
            continue;
        u->contents.files += i;
        u->contents.n_files = 1;
        u->contents.is_directory = false;
        return TARE_OK;
    }
    tare_fail(err, TARE_ERR_ARG, "the container has no file of this name");
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, tare_str_of(name));
    return TARE_ERR_ARG;
}

static tare_status begin(unpacking *u, const tare_source *in, const tare_unpack_options *options,
                         bool may_convert, tare_error *err) {
    *u = (unpacking){.options = tare_unpack_options_default(), .may_convert = may_convert};
    TARE_TRY(tare_options_read(&u->options, sizeof u->options, options, err));
    TARE_TRY(tare_context_keep(&u->context, &u->options.context, err));
    TARE_TRY(tare_output_keep(&u->output, &u->options.output, err));
    tare_source source;
    TARE_TRY(tare_source_read(&source, in, err));
    if (source.kind == TARE_SOURCE_SHARDS || source.kind == TARE_SOURCE_FOLDER)
        return tare_fail(err, TARE_ERR_ARG, "a .wcodec is one file");
    if (u->options.is_coarse && u->options.salvage)
        return tare_fail(err, TARE_ERR_ARG,
                         "what is read in part cannot be checked: damage would not be found");
    if (u->options.file && (u->options.is_coarse || u->options.salvage))
        return tare_fail(err, TARE_ERR_ARG, "a file alone is unpacked whole, and not salvaged");
    TARE_TRY(open_store(u, in, err));
    TARE_TRY(choose_file(u, err));
    u->result.is_directory = u->contents.is_directory;
    u->result.n_files = u->contents.n_files;
    u->result.packed_bytes = tare_packed_source(u->store)->size;
    TARE_TRY(cut(u, err));
    u->result.n_bytes = u->total;
    return TARE_OK;
}

static void end(unpacking *u) {
    const tare_allocator *a = u->options.context->allocator;
    tare_outset_free(u->set);
    tare_write_turns_free(u->turns);
    if (u->store) {
        tare_free(a, u->jobs, u->n_jobs * sizeof *u->jobs);
        tare_free(a, u->left, u->contents.n_files * sizeof *u->left);
        tare_free(a, u->hinted, u->contents.n_files * sizeof *u->hinted);
        tare_unpack_losses_free(&u->losses, u->store);
    }
    tare_packed_free(u->store);
}

static tare_status finish(unpacking *u, tare_status status, tare_unpack_result *out) {
    if (out) tare_result_write(out, &u->result, sizeof u->result);
    end(u);
    return status;
}

/* What is damaged is known once it is decoded. */
static tare_status run_dry(unpacking *u, tare_error *err) {
    u->sink = tare_sink_of_nothing();
    return u->options.salvage ? run_tasks(u, err) : TARE_OK;
}

/* ---- into files ------------------------------------------------------------------------------ */

static tare_status add_output(const unpacking *u, const tare_packed_file *f, tare_error *err) {
    uint32_t index;
    const tare_packed_entry *e = &f->entry;
    const char *name = u->result.is_directory ? f->name.ptr : NULL;
    if (is_file(f))
        TARE_TRY(tare_outset_add(u->set, name, f->size, &index, err));
    else
        TARE_TRY(tare_outset_add_entry(
            u->set, name, e->kind == TARE_PACKED_LINK ? e->target.ptr : NULL, &index, err));
    if (e->is_stated && name) tare_outset_stamp(u->set, index, e->mode, e->seconds, e->nanoseconds);
    return TARE_OK;
}

static tare_status begin_output(unpacking *u, const char *out_path, tare_error *err) {
    const tare_unpack_options *o = &u->options;
    const tare_reader *file = tare_packed_source(u->store);
    tare_out_options options = {.is_directory = u->result.is_directory,
                                .force = o->output->force,
                                .no_sync = o->output->no_sync,
                                .has_folders = true,
                                .withheld = file->withheld,
                                .total_size = u->total,
                                .report = o->context->report,
                                .store = tare_output_store(o->output)};
    if (o->is_coarse)
        TARE_TRY(tare_output_refuse_store(o->output, out_path,
                                          "what is unpacked in part is changed when it is there: "
                                          "write a file and upload it",
                                          err));
    if (tare_holds_file(out_path, file))
        return tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_IS_INPUT,
                              "the output is the input, or holds it");
    for (size_t i = 0; i < o->n_bases; i++)
        if (tare_replaces_model(out_path, o->bases[i]))
            return tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_IS_INPUT,
                                  "the output is a base, or holds one");
    if (options.is_directory && o->output->force) TARE_TRY(tare_check_replaced(out_path, err));
    if (o->output->dry_run)
        return tare_outset_check(out_path, &options, o->context->allocator, err);
    TARE_TRY(tare_outset_new(&u->set, out_path, &options, o->context->allocator, err));
    for (uint32_t i = 0; i < u->contents.n_files; i++) {
        const tare_packed_file *f = &u->contents.files[i];
        const tare_status status = add_output(u, f, err);
        if (status == TARE_OK) continue;
        tare_error_item(err, TARE_ITEM_RESOURCE, i, f->name);
        return status;
    }
    return TARE_OK;
}

/* Files without a byte have no task that would end them. */
static tare_status run_files(unpacking *u, const char *out_path, const tare_source *in,
                             tare_error *err) {
    TARE_TRY(begin_output(u, out_path, err));
    if (u->output.dry_run) return run_dry(u, err);
    tare_file_sink files = {u->set, u->hinted};
    u->sink = tare_sink_of_files(&files);
    for (uint32_t i = 0; i < u->contents.n_files; i++)
        if (is_file(&u->contents.files[i]) && u->contents.files[i].size == 0)
            TARE_TRY(tare_outset_member_done(u->set, i, err));
    TARE_TRY(run_tasks(u, err));
    if (u->result.n_coarse) {
        const tare_unpack_digests digests = {u->store, &u->losses, u->set};
        TARE_TRY(tare_unpack_mend_digests(&digests, in, &u->options, err));
    }
    return tare_outset_commit(u->set, err);
}

tare_status tare_unpack_files(tare_unpack_result *out, bool *is_model, const char *out_path,
                              const tare_source *in, const tare_unpack_options *options,
                              tare_error *err) {
    unpacking u;
    tare_status status = begin(&u, in, options, true, err);
    *is_model = status == TARE_OK && u.is_model;
    if (status == TARE_OK && !u.is_model) status = run_files(&u, out_path, in, err);
    return finish(&u, status, out);
}

/* ---- elsewhere ------------------------------------------------------------------------------- */

/* `output` NULL: a descriptor. Ranges follow each other without gaps. */
static tare_status run_elsewhere(unpacking *u, const tare_output *output, int fd, tare_error *err) {
    tare_stream_sink stream = {.output = output, .fd = fd};
    if (u->result.is_directory)
        return tare_fail(err, TARE_ERR_ARG, "only a single file can go to standard output");
    if (u->output.dry_run) return run_dry(u, err);
    u->sink =
        output && !output->in_order ? tare_sink_of_output(output) : tare_sink_of_stream(&stream);
    return run_tasks(u, err);
}

static tare_status unpack_elsewhere(tare_unpack_result *out, const tare_output *output, int fd,
                                    const tare_source *in, const tare_unpack_options *options,
                                    tare_error *err) {
    if (out) TARE_TRY(tare_result_check(out, err));
    unpacking u;
    tare_status status = begin(&u, in, options, false, err);
    if (status == TARE_OK) status = run_elsewhere(&u, output, fd, err);
    return finish(&u, status, out);
}

tare_status tare_unpack_fd(tare_unpack_result *out, int fd, const tare_source *in,
                           const tare_unpack_options *options, tare_error *err) {
    TARE_REQUIRE(fd >= 0 && in, err);
    return unpack_elsewhere(out, NULL, fd, in, options, err);
}

tare_status tare_unpack_to(tare_unpack_result *out, const tare_output *output,
                           const tare_source *in, const tare_unpack_options *options,
                           tare_error *err) {
    TARE_REQUIRE(output && in, err);
    tare_output own;
    TARE_TRY(tare_output_read(&own, output, err));
    return unpack_elsewhere(out, &own, -1, in, options, err);
}
