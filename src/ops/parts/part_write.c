/* SPDX-License-Identifier: MIT
 *
 * Making one part: when its bytes are on the disk the record appears. Whoever is killed before has
 * done nothing that counts. */
#include <string.h>

#include "base/arith.h"
#include "base/os_file.h"
#include "base/share.h"
#include "ops/convert/execute.h"
#include "ops/digest.h"
#include "ops/output/replaced.h"
#include "ops/packing/pack_run.h"
#include "ops/parts/part_record.h"
#include "ops/parts/part_sink.h"
#include "ops/steps.h"

typedef struct part {
    tare_part_options options;
    tare_context context;
    tare_output_options output;
    tare_arena arena;
    tare_part_layout layout;
    tare_part_record record;
    tare_part_result result;
    const char *out_path, *path, *record_path, *shared_path;
    tare_part_sink sink;
} part;

/* ---- options --------------------------------------------------------------------------------- */

static tare_status begin(part *p, const char *out_path, const tare_part_options *options,
                         const tare_context *context, tare_error *err) {
    *p = (part){.options = tare_part_options_default(),
                .result = tare_part_result_default(),
                .out_path = out_path};
    TARE_TRY(tare_options_read(&p->options, sizeof p->options, options, err));
    tare_part_options *o = &p->options;
    if (context) o->context = context;
    TARE_TRY(tare_context_keep(&p->context, &o->context, err));
    TARE_TRY(tare_output_keep(&p->output, &o->output, err));
    TARE_REQUIRE(o->count >= 1 && o->count <= TARE_PARTS_MOST, err);
    TARE_REQUIRE(o->index >= 1 && o->index <= o->count, err);
    tare_arena_init(&p->arena, p->context.allocator);
    p->path = tare_part_path(&p->arena, out_path, o->index, o->count);
    p->record_path = p->path ? tare_part_record_path(&p->arena, p->path) : NULL;
    p->shared_path = tare_part_shared_path(&p->arena, out_path);
    return p->record_path && p->shared_path ? TARE_OK
                                            : tare_fail(err, TARE_ERR_NOMEM, "name of a part");
}

static void end(part *p) {
    tare_part_sink_free(&p->sink);
    tare_arena_free(&p->arena);
}

/* ---- what is there already ------------------------------------------------------------------- */

static bool is_there(const part *p, const tare_part_record *old) {
    const tare_part_record *r = &p->record;
    tare_file_facts facts;
    if (memcmp(old->plan, r->plan, sizeof r->plan) != 0 || old->is_shared != r->is_shared ||
        old->is_packed != r->is_packed || old->begin != r->begin || old->end != r->end ||
        old->index != r->index)
        return false;
    if (r->is_shared) return tare_entry_stat(&facts, TARE_HERE, p->shared_path, true) == 0;
    return tare_entry_stat(&facts, TARE_HERE, p->path, true) == 0 &&
           facts.size == tare_part_bytes(old);
}

/* An output that is whole already is not made again; neither is a part of this plan. */
static tare_status look_around(part *p, tare_error *err) {
    tare_part_record old;
    if (p->output.force) return TARE_OK;
    if (tare_path_has_entry(p->out_path)) {
        tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_EXISTS,
                       "the output exists: joined already? `force` makes its parts again");
        tare_error_file(err, p->out_path);
        return TARE_ERR_ARG;
    }
    if (!tare_path_has_entry(p->record_path)) return TARE_OK;
    const tare_status status = tare_part_record_read(&old, p->record_path, &p->arena, err);
    if (status == TARE_ERR_NOMEM) return status;
    if (status == TARE_OK && is_there(p, &old)) {
        p->result.was_done = true;
        return TARE_OK;
    }
    if (status == TARE_OK && memcmp(old.plan, p->record.plan, sizeof old.plan) == 0) return TARE_OK;
    tare_fail(err, TARE_ERR_ARG,
              "this part exists already, made from another input, with other options or by another "
              "version of tare: remove it, or give `force`");
    tare_error_file(err, p->record_path);
    return TARE_ERR_ARG;
}

/* ---- from beginning to end ------------------------------------------------------------------- */

static void note_part(part *p, uint64_t total) {
    tare_part_record *r = &p->record;
    r->output = tare_part_output_name(p->out_path);
    memcpy(r->plan, p->layout.digest, sizeof r->plan);
    r->index = p->options.index;
    r->count = p->options.count;
    r->total = total;
    r->is_directory = p->layout.is_directory;
    r->is_shared = p->options.is_shared;
    p->result.begin = r->begin;
    p->result.end = r->end;
    p->result.total_bytes = r->total;
}

static tare_status lay_out(part *p, tare_error *err) {
    tare_part_record *r = &p->record;
    note_part(p, p->layout.starts[p->layout.n_files]);
    TARE_TRY(tare_part_pieces(r, &p->layout, &p->arena, err));
    return look_around(p, err);
}

/* An old record goes first: what it tells of is about to change. */
static tare_status remove_record(const part *p, tare_error *err) {
    if (!tare_path_has_entry(p->record_path)) return TARE_OK;
    const int e = tare_entry_remove(TARE_HERE, p->record_path);
    if (!e) return TARE_OK;
    const tare_status status = tare_fail_errno(err, e, "the old record cannot be removed");
    tare_error_file(err, p->record_path);
    return status;
}

static tare_status begin_output(part *p, tare_sink *out, tare_error *err) {
    TARE_TRY(remove_record(p, err));
    p->sink = (tare_part_sink){.record = &p->record,
                               .layout = &p->layout,
                               .path = p->options.is_shared ? p->shared_path : p->path,
                               .output = &p->output,
                               .context = &p->context};
    return tare_part_sink_begin(&p->sink, out, err);
}

static tare_status end_output(part *p, tare_error *err) {
    TARE_TRY(tare_part_sink_end(&p->sink, err));
    return tare_part_record_write(p->record_path, &p->record, &p->output, &p->context, err);
}

/* ---- of a plan ------------------------------------------------------------------------------- */

typedef struct cuts {
    tare_cut from, to;
} cuts;

static tare_status cut_plan(part *p, cuts *c, const tare_execution *x, tare_error *err) {
    const tare_part_options *o = &p->options;
    const uint64_t work = tare_execution_work(x);
    TARE_TRY(tare_execution_cut(&c->from, x, tare_share_end(work, o->index - 1, o->count), err));
    TARE_TRY(tare_execution_cut(&c->to, x, tare_share_end(work, o->index, o->count), err));
    const uint64_t *starts = p->layout.starts;
    p->record.begin = o->index == 1 ? 0 : starts[c->from.file] + c->from.offset;
    p->record.end =
        o->index == o->count ? starts[p->layout.n_files] : starts[c->to.file] + c->to.offset;
    p->result.work = c->to.work - c->from.work;
    p->result.total_work = work;
    return TARE_OK;
}

static tare_status run_plan(part *p, const tare_plan *plan, tare_execution *x, const cuts *c,
                            tare_error *err) {
    const tare_context quiet = tare_steps_context_quiet(plan->options.context);
    tare_watch watch = {0};
    tare_sink sink;
    TARE_TRY(tare_digests_check(tare_model_as_stored(plan->in), &quiet, err));
    tare_status status = tare_watch_begin(&watch, plan, err);
    if (status == TARE_OK) status = begin_output(p, &sink, err);
    if (status == TARE_OK)
        status = tare_execution_run_between(x, &c->from, &c->to, &sink, &watch, err);
    if (status == TARE_OK) status = tare_watch_report(&watch, plan, err);
    if (status == TARE_OK) status = end_output(p, err);
    tare_watch_end(&watch, plan);
    return status;
}

/* What has no parts is the output. */
static tare_status fail_output(const part *p, tare_status status, tare_error *err) {
    if (status != TARE_OK) tare_error_file(err, p->out_path);
    return status;
}

static tare_status make_of_plan(part *p, const tare_plan *plan, tare_error *err) {
    tare_execution *x;
    cuts c;
    if (plan->options.verify)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "`verify` reads a whole output back: verify it when it is joined");
    TARE_TRY(fail_output(p, tare_plan_check_ranges(plan, err), err));
    TARE_TRY(tare_part_layout_of_plan(&p->layout, plan, &p->options, &p->arena, err));
    TARE_TRY(tare_execution_new(&x, plan, true, err));
    tare_status status = fail_output(p, cut_plan(p, &c, x, err), err);
    p->record.withheld = tare_model_withheld(plan->in);
    if (status == TARE_OK) status = lay_out(p, err);
    if (status == TARE_OK && !p->result.was_done && !p->output.dry_run)
        status = run_plan(p, plan, x, &c, err);
    tare_execution_free(x);
    return status;
}

tare_status tare_part_of_plan(tare_part_result *out, const tare_plan *plan,
                              const tare_part_options *options, tare_error *err) {
    part p;
    TARE_REQUIRE(plan && plan->out_path && options, err);
    if (out) TARE_TRY(tare_result_check(out, err));
    tare_status status = begin(&p, plan->out_path, options, plan->options.context, err);
    if (status == TARE_OK) status = make_of_plan(&p, plan, err);
    if (status == TARE_OK && out) tare_result_write(out, &p.result, sizeof p.result);
    end(&p);
    return status;
}

/* ---- of a view ------------------------------------------------------------------------------- */

#define READ_BYTES ((size_t)4 << 20)

/* The beginning of what is made at once around a byte of the row. */
static uint64_t cut_view(const part *p, const tare_view *view, uint64_t at) {
    uint64_t begin, end;
    if (at == 0 || at >= p->layout.starts[p->layout.n_files]) return at;
    const size_t file = tare_part_layout_file(&p->layout, at);
    tare_view_grain(&begin, &end, view, file, at - p->layout.starts[file]);
    return p->layout.starts[file] + begin;
}

static tare_status run_view_piece(const part *p, tare_view *view, const tare_part_piece *piece,
                                  const tare_sink *sink, uint8_t *room, tare_error *err) {
    for (uint64_t done = 0; done < piece->n_bytes;) {
        const uint64_t at = piece->offset + done;
        const size_t n = (size_t)tare_min_u64(READ_BYTES, piece->n_bytes - done);
        TARE_TRY(tare_view_read(room, view, piece->row, at, n, err));
        TARE_TRY(sink->put(sink->ctx, piece->row, at, room, n, NULL, err));
        done += n;
        TARE_TRY(tare_cancel_check(p->context.cancel, err));
    }
    return TARE_OK;
}

static tare_status run_view(part *p, tare_view *view, tare_error *err) {
    tare_sink sink;
    TARE_TRY(begin_output(p, &sink, err));
    uint8_t *room = tare_arena_take(&p->arena, READ_BYTES);
    if (!room) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    for (size_t i = 0; i < p->record.n_pieces; i++)
        TARE_TRY(run_view_piece(p, view, &p->record.pieces[i], &sink, room, err));
    return end_output(p, err);
}

/* Permissions that an input does not give. */
static uint16_t withheld_of(const tare_part_options *o) {
    tare_file_facts facts;
    unsigned withheld = 0;
    for (size_t i = 0; i < o->n_inputs; i++)
        if (tare_entry_stat(&facts, TARE_HERE, o->inputs[i], true) == 0 &&
            facts.kind == TARE_PATH_FILE)
            withheld |= ~(unsigned)facts.mode & 0777u;
    return (uint16_t)withheld;
}

static tare_status make_of_view(part *p, tare_view *view, tare_error *err) {
    const tare_part_options *o = &p->options;
    const tare_str base = tare_part_output_name(p->out_path);
    TARE_TRY(tare_part_layout_of_view(&p->layout, view, base, o, &p->arena, err));
    const uint64_t total = p->layout.starts[p->layout.n_files];
    p->record.begin = cut_view(p, view, tare_share_end(total, o->index - 1, o->count));
    p->record.end = cut_view(p, view, tare_share_end(total, o->index, o->count));
    p->result.work = p->record.end - p->record.begin;
    p->result.total_work = total;
    p->record.withheld = withheld_of(o);
    TARE_TRY(lay_out(p, err));
    return p->result.was_done || p->output.dry_run ? TARE_OK : run_view(p, view, err);
}

tare_status tare_part_of_view(tare_part_result *out, const char *out_path, tare_view *view,
                              const tare_part_options *options, tare_error *err) {
    part p;
    TARE_REQUIRE(out_path && view && options, err);
    if (out) TARE_TRY(tare_result_check(out, err));
    tare_status status = begin(&p, out_path, options, NULL, err);
    if (status == TARE_OK) status = make_of_view(&p, view, err);
    if (status == TARE_OK && out) tare_result_write(out, &p.result, sizeof p.result);
    end(&p);
    return status;
}

/* ---- of a packing ---------------------------------------------------------------------------- */

typedef struct packed_part {
    part *p;
    const tare_model *model;
    const tare_pack_options *options;
} packed_part;

static tare_status begin_packed(void *ctx, bool *is_done, const tare_pack_part *of,
                                const tare_pack_files *files, tare_error *err) {
    const packed_part *x = ctx;
    part *p = x->p;
    tare_part_record *r = &p->record;
    TARE_TRY(tare_part_layout_of_pack(&p->layout, x->model, files, x->options, &p->options,
                                      &p->arena, err));
    const tare_share which = of->share.of;
    r->begin = tare_share_end(of->share.total, which.index - 1, which.count);
    r->end = tare_share_end(of->share.total, which.index, which.count);
    r->withheld = of->withheld;
    note_part(p, of->share.total);
    p->result.work = r->end - r->begin;
    p->result.total_work = of->share.total;
    TARE_TRY(look_around(p, err));
    *is_done = p->result.was_done;
    return *is_done || p->output.dry_run ? TARE_OK : remove_record(p, err);
}

static tare_status record_packed(part *p, uint64_t n_bytes, tare_error *err) {
    tare_part_piece *piece = TARE_NEW(&p->arena, tare_part_piece);
    if (!piece) return tare_fail(err, TARE_ERR_NOMEM, "record of a part");
    *piece = (tare_part_piece){.file = tare_view_file_default(), .n_bytes = n_bytes};
    piece->file.n_bytes = n_bytes;
    p->record.pieces = piece;
    p->record.n_pieces = 1;
    TARE_TRY(tare_part_piece_crc(&piece->crc, piece, p->path, 0, &p->context, err));
    return tare_part_record_write(p->record_path, &p->record, &p->output, &p->context, err);
}

static tare_status make_of_pack(part *p, const tare_model *in, const tare_pack_options *options,
                                tare_error *err) {
    tare_pack_options o = tare_pack_options_default();
    tare_output_options output = p->output;
    tare_pack_summary sum = tare_pack_summary_default();
    tare_pack_source source;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    if (p->options.is_shared)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "how many bytes a part of a .wcodec has is known only when it is made: "
                         "parts are files of their own");
    if (o.lossy) return tare_fail(err, TARE_ERR_UNSUPPORTED, "packing with loss has no parts");
    o.context = &p->context;
    o.output = &output;
    output.force = true; /* look_around has seen what is there */
    packed_part x = {p, tare_model_as_stored(in), &o};
    tare_pack_part share = {
        .share = {.of = {p->options.index, p->options.count}}, .begin = begin_packed, .ctx = &x};
    p->record.is_packed = true;
    TARE_TRY(tare_pack_source_of(&source, in, &o, err));
    source.part = &share;
    TARE_TRY(tare_pack_run(&sum, p->path, &source, &o, err));
    return p->result.was_done || p->output.dry_run ? TARE_OK : record_packed(p, sum.to_bytes, err);
}

tare_status tare_part_of_pack(tare_part_result *out, const char *out_path, const tare_model *in,
                              const tare_pack_options *pack_options,
                              const tare_part_options *options, tare_error *err) {
    part p;
    TARE_REQUIRE(out_path && in && options, err);
    if (out) TARE_TRY(tare_result_check(out, err));
    tare_status status = begin(&p, out_path, options, NULL, err);
    if (status == TARE_OK) status = make_of_pack(&p, in, pack_options, err);
    if (status == TARE_OK && out) tare_result_write(out, &p.result, sizeof p.result);
    end(&p);
    return status;
}

/* ---- of a manifest --------------------------------------------------------------------------- */

/* Lines from `first` to `end`, of tensors in the order of their names. */
typedef struct lines {
    const tare_model *model;
    const tare_tensor **order;
    size_t first, end;
    tare_digest *digests; /* of these */
} lines;

static uint64_t line_bytes(const void *ctx, size_t item) {
    const lines *x = ctx;
    return x->order[x->first + item]->size_bytes;
}

static tare_status make_line(void *ctx, size_t item, const tare_walk_job *job, tare_error *err) {
    const lines *x = ctx;
    const size_t tensor = (size_t)(x->order[x->first + item] - x->model->catalog.tensors);
    TARE_TRY(tare_tensor_check(x->model, tensor, NULL, err));
    return tare_digest_visit(&x->digests[item], x->model, tensor, job, err);
}

/* Which lines are this part's: those of the tensors that have their middle in its share of all bytes. */
static tare_status cut_lines(part *p, lines *x, tare_error *err) {
    const size_t n = x->model->catalog.n_tensors;
    const uint64_t work = tare_catalog_tensor_bytes(&x->model->catalog);
    const tare_share ours = {p->options.index, p->options.count};
    const tare_digest none = {{0}};
    uint64_t at = 0, total = 0;
    tare_buffer line;
    tare_buffer_init(&line, p->context.allocator);
    for (size_t i = 0; i < n; i++) {
        const uint64_t size = x->order[i]->size_bytes, middle = at + size / 2;
        const int side = tare_share_side(ours, work, middle);
        line.size = 0;
        tare_manifest_line(&line, &none, x->order[i]->name);
        at += size;
        total += line.size;
        if (side < 0) x->first = i + 1;
        if (side < 0) p->record.begin = total;
        if (side > 0) continue;
        x->end = i + 1;
        p->record.end = total;
        if (side == 0) p->result.work += size;
    }
    p->result.total_work = work;
    const tare_status status = tare_buffer_status(&line, err);
    tare_buffer_free(&line);
    TARE_TRY(status);
    return tare_part_layout_of_manifest(&p->layout, x->model, total, &p->options, &p->arena, err);
}

static tare_status put_lines(part *p, const lines *x, tare_error *err) {
    tare_sink sink;
    tare_buffer text;
    tare_buffer_init(&text, p->context.allocator);
    for (size_t i = x->first; i < x->end; i++)
        tare_manifest_line(&text, &x->digests[i - x->first], x->order[i]->name);
    tare_status status = tare_buffer_status(&text, err);
    if (status == TARE_OK) status = begin_output(p, &sink, err);
    if (status == TARE_OK && text.size)
        status = sink.put(sink.ctx, 0, p->record.begin, text.data, text.size, NULL, err);
    tare_buffer_free(&text);
    return status == TARE_OK ? end_output(p, err) : status;
}

static tare_status make_of_manifest(part *p, const tare_model *model, tare_error *err) {
    const size_t n = model->catalog.n_tensors;
    lines x = {.model = model, .order = TARE_NEW_ARRAY(&p->arena, const tare_tensor *, n)};
    if (!x.order) return tare_fail(err, TARE_ERR_NOMEM, "the manifest");
    TARE_TRY(tare_walk_guard(model, p->out_path, err));
    tare_manifest_order(x.order, model->catalog.tensors, n);
    TARE_TRY(cut_lines(p, &x, err));
    TARE_TRY(lay_out(p, err));
    if (p->result.was_done || p->output.dry_run) return TARE_OK;
    x.digests = TARE_NEW_ARRAY(&p->arena, tare_digest, x.end - x.first);
    if (!x.digests) return tare_fail(err, TARE_ERR_NOMEM, "the manifest");
    TARE_TRY(tare_walk_run(&(tare_walk){.n_items = x.end - x.first,
                                        .size_of = line_bytes,
                                        .visit = make_line,
                                        .ctx = &x,
                                        .scratch_size = TARE_PIECE,
                                        .context = p->context},
                           err));
    return put_lines(p, &x, err);
}

tare_status tare_part_of_manifest(tare_part_result *out, const char *out_path,
                                  const tare_model *model, const tare_part_options *options,
                                  tare_error *err) {
    part p;
    TARE_REQUIRE(out_path && model && options, err);
    if (out) TARE_TRY(tare_result_check(out, err));
    tare_status status = begin(&p, out_path, options, NULL, err);
    if (status == TARE_OK) status = make_of_manifest(&p, model, err);
    if (status == TARE_OK && out) tare_result_write(out, &p.result, sizeof p.result);
    end(&p);
    return status;
}

TARE_DEFINE_INIT(tare_part_options)
TARE_DEFINE_INIT(tare_part_result)
