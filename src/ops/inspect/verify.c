/* SPDX-License-Identifier: MIT
 *
 * tare_verify_data: checks that need all of a model's data. Each kind of defect is one finding per
 * tensor, at its first position and with a count: a broken tensor may have millions of them. The
 * rules of the directory are checked while opening. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tare/convert.h>
#include <tare/experimental/parts.h>
#include <tare/inspect.h>
#include <tare/model.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/report.h"
#include "base/share.h"
#include "base/str.h"
#include "model/adapter_set.h"
#include "ops/checksums.h"
#include "ops/digest.h"
#include "ops/inspect/bad_patterns.h"
#include "ops/inspect/verify_files.h"
#include "ops/inspect/verify_records.h"
#include "ops/item_walk.h"
#include "ops/packing/verify_packed.h"
#include "ops/steps.h"

typedef struct verify_walk {
    const tare_model *model;
    tare_report *report;
    const tare_filler *fillers;
    size_t n_fillers;
    tare_zero_run *zeros;    /* of each tensor */
    bool is_of_factors;      /* the model is that of a package's adapters, two tensors each */
    tare_packed_faults told; /* of the .wcodec that it lies in */
    bool *is_ours;           /* of each item; NULL: all are */
} verify_walk;

/* Items are the tensors, the fillers, the files that are read whole, and members of archives. */
static uint64_t item_size(const void *ctx, size_t item) {
    const verify_walk *w = ctx;
    if (w->is_ours && !w->is_ours[item]) return 0;
    const size_t n = w->model->catalog.n_tensors;
    uint8_t digest[32];
    if (item < n) return w->model->catalog.tensors[item].size_bytes;
    if (item < n + w->n_fillers) return w->fillers[item - n].size;
    item -= n + w->n_fillers;
    if (item >= w->model->n_files) return w->model->stated_crcs[item - w->model->n_files].size;
    return tare_has_named_digest(w->model, item, digest) ? w->model->files[item].reader.size : 0;
}

static tare_str file_name(const verify_walk *w, uint32_t file) {
    return tare_str_of(w->model->n_files > 1 ? w->model->files[file].name : NULL);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static const struct {
    tare_level level;
    const char *code, *one, *many;
} oddity_texts[TARE_BAD_COUNT] = {
    [TARE_BAD_NAN] = {TARE_LEVEL_ERROR, "data.nan", "value is not a number",
                      "values are not numbers"},
    [TARE_BAD_INF] = {TARE_LEVEL_ERROR, "data.inf", "value is infinite", "values are infinite"},
    [TARE_BAD_SCALE] = {TARE_LEVEL_ERROR, "data.scale", "scale is not a finite number",
                        "scales are not finite numbers"},
    [TARE_BAD_CODE] = {TARE_LEVEL_ERROR, "data.code", "value is outside its range",
                       "values are outside their range"},
    [TARE_BAD_LOWEST] = {TARE_LEVEL_WARNING, "data.lowest-code",
                         "code is the lowest, which is not used",
                         "codes are the lowest, which is not used"},
    [TARE_BAD_PADDING] = {TARE_LEVEL_WARNING, "data.padding-codes",
                          "code beyond the last column is not 0",
                          "codes beyond the last column are not 0"},
};

/* What a finding about a tensor is about. */
static void set_item(const verify_walk *w, tare_finding *f, size_t tensor) {
    f->item_kind = w->is_of_factors ? TARE_ITEM_ADAPTER : TARE_ITEM_TENSOR;
    f->item = (int64_t)(w->is_of_factors ? tensor / 2 : tensor);
    f->item_name = w->model->catalog.tensors[tensor].name;
}

static void report_nonfinite(const verify_walk *w, size_t tensor, uint32_t plane,
                             const tare_bad_patterns *sum) {
    const tare_tensor *t = &w->model->catalog.tensors[tensor];
    for (size_t kind = 0; kind < TARE_BAD_COUNT; kind++) {
        if (sum->n[kind] == 0) continue;
        tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CORRUPT, oddity_texts[kind].code);
        f.level = oddity_texts[kind].level;
        set_item(w, &f, tensor);
        f.offset = t->planes[plane].offset + sum->first[kind];
        f.file = file_name(w, t->planes[plane].file);
        const bool is_one = sum->n[kind] == 1;
        tare_report_addf(w->report, &f, "%" PRIu64 " %s", sum->n[kind],
                         is_one ? oddity_texts[kind].one : oddity_texts[kind].many);
    }
}

/* The bytes of a plane that are present: a model may be truncated, which opening has reported. */
static uint64_t bytes_there(const tare_model *m, const tare_plane *plane) {
    uint64_t size = m->files[plane->file].reader.size;
    return plane->offset >= size ? 0 : tare_min_u64(plane->size, size - plane->offset);
}

/* What the bytes of a tensor are: of scales of packed weights its type may not say it. */
static const tare_encoding *numbers_of(const tare_model *m, size_t tensor) {
    const tare_encoding *numbers = m->notes ? m->notes[tensor].numbers : NULL;
    return numbers ? numbers : m->catalog.tensors[tensor].encoding;
}

/* `hash` NULL: no digest is needed. */
static tare_status verify_plane(const verify_walk *w, size_t tensor, uint32_t p, tare_sha256 *hash,
                                const tare_walk_job *job, tare_error *err) {
    const tare_tensor *t = &w->model->catalog.tensors[tensor];
    const uint32_t unit = t->encoding->planes[p].unit_bytes;
    const size_t piece = tare_walk_piece(t, p);
    tare_pattern_site sites[TARE_MAX_PATTERNS];
    const size_t n_sites = tare_patterns_of(sites, numbers_of(w->model, tensor));

    uint64_t there = bytes_there(w->model, &t->planes[p]);
    tare_bad_patterns sum = {{0}, {0}};
    for (uint64_t at = 0; at < there; at += piece) {
        /* only whole units have members to look at */
        size_t n = (size_t)tare_min_u64(there - at, piece) / unit * unit;
        TARE_TRY(tare_tensor_read(job->scratch, w->model, tensor, p, at, n, err));
        if (hash) tare_sha256_update(hash, job->scratch, n);
        tare_zero_run_add(&w->zeros[tensor], job->scratch, n);
        for (size_t i = 0; i < n_sites; i++)
            if (sites[i].plane == p)
                tare_find_bad_units(&sum, &sites[i], job->scratch, n / unit, unit, at);
        tare_find_bad_codes(&sum, t->encoding, p, t->cols, job->scratch, at / unit, n / unit);
        TARE_TRY(tare_walk_tick(job, n, err));
    }
    report_nonfinite(w, tensor, p, &sum);
    return TARE_OK;
}

/* ---- fillers --------------------------------------------------------------------------------- */

static uint64_t count_nonzero(const uint8_t *bytes, size_t n, uint64_t position, uint64_t *first) {
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++) count += bytes[i] != 0;
    for (size_t i = 0; count && *first == TARE_NO_OFFSET && i < n; i++)
        if (bytes[i]) *first = position + i;
    return count;
}

/* How much of a filler is padding: all of it, except what follows the last tensor and its padding,
 * which opening has reported whatever its contents. */
static uint64_t padding_size(const verify_walk *w, const tare_filler *filler) {
    const uint64_t file_size = w->model->files[filler->file].reader.size;
    const uint32_t alignment = w->model->catalog.layout->alignment;
    uint64_t end;
    if (filler->offset + filler->size < file_size || alignment == 0) return filler->size;
    if (!tare_align_u64(filler->offset, alignment, &end)) return filler->size;
    return tare_min_u64(end - filler->offset, filler->size);
}

static tare_status verify_filler(const verify_walk *w, const tare_filler *filler,
                                 const tare_walk_job *job, tare_error *err) {
    const tare_reader *reader = &w->model->files[filler->file].reader;
    const uint64_t size = padding_size(w, filler);
    uint64_t count = 0, first = TARE_NO_OFFSET;
    for (uint64_t at = 0; at < size; at += TARE_PIECE) {
        size_t n = (size_t)tare_min_u64(size - at, TARE_PIECE);
        TARE_TRY(tare_reader_read(reader, filler->offset + at, job->scratch, n, err));
        count += count_nonzero(job->scratch, n, filler->offset + at, &first);
        TARE_TRY(tare_walk_tick(job, n, err));
    }
    if (count == 0) return TARE_OK;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "data.padding");
    f.offset = first;
    f.file = file_name(w, filler->file);
    tare_report_addf(w->report, &f, "%" PRIu64 " of %" PRIu64 " bytes outside all tensors %s",
                     count, size, count == 1 ? "is not zero" : "are not zero");
    return TARE_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static tare_status verify_tensor(const verify_walk *w, size_t item, tare_sha256 *hash,
                                 const tare_walk_job *job, tare_error *err) {
    const tare_tensor *t = &w->model->catalog.tensors[item];
    for (uint32_t p = 0; p < t->encoding->n_planes; p++)
        TARE_TRY(verify_plane(w, item, p, hash, job, err));
    return TARE_OK;
}

/* Compares the hash with what the container states. */
static void end_digest(const verify_walk *w, size_t item, tare_sha256 *hash) {
    uint8_t found[32];
    const tare_tensor *t = &w->model->catalog.tensors[item];
    tare_sha256_final(hash, found);
    if (memcmp(found, w->model->catalog.digests[item]->bytes, sizeof found) == 0) return;
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CHECKSUM, "data.checksum");
    set_item(w, &f, item);
    f.offset = t->planes[0].offset;
    f.file = file_name(w, t->planes[0].file);
    f.text = TARE_STR(TARE_WRONG_DIGEST);
    tare_report_add(w->report, &f);
}

/* Compares a member of an archive with the CRC that is stated of it. */
static tare_status verify_member(const verify_walk *w, size_t k, const tare_walk_job *job,
                                 tare_error *err) {
    const tare_stated_crc *of = &w->model->stated_crcs[k];
    bool is_right;
    TARE_TRY(tare_crc_compare(&is_right, w->model, k, job, err));
    if (is_right) return TARE_OK;
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CHECKSUM, "data.checksum");
    const int64_t tensor = tare_crc_tensor(w->model, k);
    if (tensor >= 0) {
        set_item(w, &f, (size_t)tensor);
    } else if (!w->model->files[of->file].reader.has_crc) {
        f.item_kind = TARE_ITEM_RESOURCE;
        f.item_name = of->name;
    }
    f.offset = of->offset;
    f.file = file_name(w, of->file);
    f.text = TARE_STR(TARE_WRONG_CRC);
    tare_report_add(w->report, &f);
    return TARE_OK;
}

/* A failure that is news. */
static tare_status unless_told(const verify_walk *w, tare_status status) {
    bool is_told = (w->told.is_damaged && tare_status_is_loss(status)) ||
                   (w->told.lacks_base && status == TARE_ERR_ARG);
    return is_told ? TARE_OK : status;
}

static tare_status verify_item(void *ctx, size_t item, const tare_walk_job *job, tare_error *err) {
    verify_walk *w = ctx;
    const size_t n = w->model->catalog.n_tensors;
    if (w->is_ours && !w->is_ours[item]) return TARE_OK;
    if (item >= n + w->n_fillers + w->model->n_files)
        return verify_member(w, item - n - w->n_fillers - w->model->n_files, job, err);
    if (item >= n + w->n_fillers)
        return tare_verify_named_digest(w->model, item - n - w->n_fillers, w->report, job, err);
    if (item >= n) return unless_told(w, verify_filler(w, &w->fillers[item - n], job, err));
    const bool is_stated = w->model->catalog.digests && w->model->catalog.digests[item];
    tare_sha256 hash;
    if (is_stated) tare_sha256_init(&hash);
    tare_status s = verify_tensor(w, item, is_stated ? &hash : NULL, job, err);
    if (is_stated && s == TARE_OK) end_digest(w, item, &hash);
    if (s == TARE_OK)
        s = tare_verify_records(w->model, item, w->is_of_factors, w->report, job->scratch,
                                TARE_PIECE, err);
    s = unless_told(w, s);
    return s == TARE_OK ? TARE_OK : tare_walk_blame(s, w->model, item, err);
}

/* ---- in order -------------------------------------------------------------------------------- */

/* Tensors in their order, then fillers; within one of them by offset. */
static int in_order(const void *a, const void *b) {
    const tare_finding *x = *(const tare_finding *const *)a;
    const tare_finding *y = *(const tare_finding *const *)b;
    if ((x->item < 0) != (y->item < 0)) return x->item < 0 ? 1 : -1;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    int c = tare_str_compare(x->file, y->file);
    if (c) return c;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return strcmp(x->code, y->code);
}

/* Threads report findings in any order; the caller gets them in a fixed one. */
static tare_status hand_over(tare_report *to, const tare_report *from, const tare_allocator *a,
                             tare_error *err) {
    const size_t n = tare_report_count(from);
    if (n == 0) return TARE_OK;
    const tare_finding **order = tare_alloc(a, n * sizeof *order);
    if (!order) return tare_fail(err, TARE_ERR_NOMEM, "findings");
    for (size_t i = 0; i < n; i++) order[i] = tare_report_at(from, i);
    qsort(order, n, sizeof *order, in_order);
    for (size_t i = 0; i < n; i++) tare_report_add(to, order[i]);
    tare_free(a, order, n * sizeof *order);
    return TARE_OK;
}

/* Items in a row, by their bytes and one more: those without a byte are spread, too. */
static void choose_items(verify_walk *w, size_t n_items, tare_share share) {
    bool *const is_ours = w->is_ours;
    uint64_t total = 0, at = 0;
    w->is_ours = NULL; /* sizes of all are asked for */
    for (size_t i = 0; i < n_items; i++) total += item_size(w, i) + 1;
    for (size_t i = 0; i < n_items; i++) {
        const uint64_t size = item_size(w, i) + 1;
        is_ours[i] = tare_share_side(share, total, at + size / 2) == 0;
        at += size;
    }
    w->is_ours = is_ours;
}

static tare_status take_memory(verify_walk *w, size_t n_items, tare_share share, tare_arena *arena,
                               tare_error *err) {
    const size_t n = w->model->catalog.n_tensors;
    w->zeros = TARE_NEW_ARRAY(arena, tare_zero_run, n + 1);
    if (share.count) w->is_ours = TARE_NEW_ARRAY(arena, bool, n_items + 1);
    w->report = tare_report_new();
    if (!w->zeros || !w->report || (share.count && !w->is_ours))
        return tare_fail(err, TARE_ERR_NOMEM, "findings");
    memset(w->zeros, 0, (n + 1) * sizeof *w->zeros);
    if (share.count) choose_items(w, n_items, share);
    return TARE_OK;
}

static tare_status verify_model(const tare_model *model, bool is_of_factors,
                                tare_packed_faults told, tare_share share,
                                const tare_context *context, tare_error *err) {
    const tare_context o = *context;
    verify_walk w = {.model = model, .is_of_factors = is_of_factors, .told = told};
    tare_arena arena;
    if (model->catalog.layout) {
        w.fillers = model->catalog.layout->fillers;
        w.n_fillers = model->catalog.layout->n_fillers;
    }
    const size_t n_items =
        model->catalog.n_tensors + w.n_fillers + model->n_files + model->n_stated;
    tare_arena_init(&arena, o.allocator);
    tare_status s = take_memory(&w, n_items, share, &arena, err);
    if (s == TARE_OK)
        s = tare_walk_run(&(tare_walk){.n_items = n_items,
                                       .size_of = item_size,
                                       .visit = verify_item,
                                       .ctx = &w,
                                       .scratch_size = TARE_PIECE,
                                       .context = o},
                          err);
    if (s == TARE_OK && !is_of_factors) s = tare_verify_zeros(model, w.zeros, w.report, err);
    tare_arena_free(&arena);
    if (o.report && w.report) {
        tare_status handed = hand_over(o.report, w.report, o.allocator, s == TARE_OK ? err : NULL);
        if (s == TARE_OK) s = handed;
    }
    tare_report_free(w.report);
    return s;
}

/* What is packed, before the pass over all data that is shown. */
static tare_status verify_packed(tare_packed_faults *told, const tare_model *model,
                                 tare_share share, const tare_context *context, tare_error *err) {
    const tare_layout *layout = model->catalog.layout;
    tare_steps before = {.progress = context->progress,
                         .ctx = context->progress_ctx,
                         .total = tare_catalog_tensor_bytes(&model->catalog)};
    for (size_t i = 0; layout && i < layout->n_fillers; i++)
        before.total += layout->fillers[i].size;
    const tare_context waiting = tare_steps_context_retain(context, &before);
    return tare_verify_packed(told, model, share, &waiting, err);
}

static tare_status verify_share(const tare_model *model, tare_share share,
                                const tare_context *context, tare_error *err) {
    tare_context o = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, context, err));
    tare_packed_faults told;
    TARE_TRY(verify_packed(&told, model, share, &o, err));
    TARE_TRY(verify_model(model, false, told, share, &o, err));
    return model->adapters ? verify_model(model->adapters->factors, true, told, share, &o, err)
                           : TARE_OK;
}

tare_status tare_verify_data(const tare_model *model, const tare_context *context,
                             tare_error *err) {
    TARE_REQUIRE(model, err);
    return verify_share(model, (tare_share){.count = 0}, context, err);
}

tare_status tare_part_of_verify(const tare_model *model, uint32_t index, uint32_t count,
                                const tare_context *context, tare_error *err) {
    TARE_REQUIRE(model && index >= 1 && index <= count && count <= TARE_PARTS_MOST, err);
    return verify_share(model, (tare_share){index, count}, context, err);
}
