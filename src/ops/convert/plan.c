/* SPDX-License-Identifier: MIT
 *
 * Planning a conversion: everything is known before a byte is written, the sizes of all files
 * too. docs/behaviour.md, "Conversion". */
#include <limits.h>
#include <string.h>

#include "base/arith.h"
#include "base/outfile.h"
#include "base/report.h"
#include "base/str.h"
#include "ops/convert/plan.h"

/* ---- what is asked for ----------------------------------------------------------------------- */

static tare_status find_format(tare_plan *p, const char *path, tare_error *err) {
    const char *name = p->options.to;
    if (!name && path) name = tare_format_of_path(path);
    if (!name)
        return tare_fail(err, TARE_ERR_ARG,
                         "the output's name does not determine a format: say which one");
    p->format = tare_format_find(name);
    if (!p->format) return tare_fail(err, TARE_ERR_ARG, "the output format is not known");
    if (!p->format->plan)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "the output format cannot be written");
    if (p->options.dedup != TARE_DEDUP_TIED && !p->format->shares_data)
        return tare_fail(err, TARE_ERR_ARG,
                         "which tensors of the same bytes are stored once can be chosen only for "
                         "MCF: the output's format stores each by itself");
    if (p->options.n_bases && !p->format->is_packed)
        return tare_fail(err, TARE_ERR_ARG,
                         "only a .wcodec can be stored as what it differs in from a base");
    if (p->options.effort != TARE_EFFORT_FAST && !p->format->is_packed)
        return tare_fail(err, TARE_ERR_ARG, "effort applies to .wcodec output only");
    return TARE_OK;
}

/* The directory part of a path, "." where it has none. False: too long. */
static bool parent_of(char *out, size_t size, const char *path) {
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (n + 2 > size) return false;
    memcpy(out, path, n);
    strcpy(out + n, ".");
    return true;
}

/* The output may be neither a file of the input nor the directory they lie in. */
static tare_status check_not_input(const tare_plan *p, tare_error *err) {
    for (size_t i = 0; p->out_path && i < p->in->n_files; i++) {
        const tare_open_file *file = &p->in->files[i];
        char parent[PATH_MAX];
        if (file->reader.fd < 0) continue;
        if (tare_same_file(p->out_path, file->reader.fd) ||
            (parent_of(parent, sizeof parent, file->name) && tare_same_path(p->out_path, parent))) {
            tare_fail(err, TARE_ERR_ARG, "the output is the input");
            tare_error_file(err, p->out_path);
            return TARE_ERR_ARG;
        }
    }
    return TARE_OK;
}

/* "dir/model.gguf" -> "model", for names of shards. */
static const char *stem_of(tare_plan *p) {
    if (!p->out_path) return "model";
    tare_str path = tare_str_of(p->out_path), suffix = tare_str_of(p->format->suffix);
    while (path.len > 1 && path.ptr[path.len - 1] == '/') path.len--;
    size_t from = path.len;
    while (from > 0 && path.ptr[from - 1] != '/') from--;
    tare_str base = {path.ptr + from, path.len - from};
    if (suffix.len && base.len > suffix.len && tare_str_ends(base, suffix)) base.len -= suffix.len;
    return base.len ? tare_arena_str(&p->arena, base).ptr : "model";
}

/* ---- laying out ------------------------------------------------------------------------------ */

static void report_version(const tare_plan *p) {
    const tare_layout *layout = p->catalog.layout;
    if (!layout || layout->version == p->format->version) return;
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.version");
    tare_report_addf(p->options.report, &f, "%s version %u becomes version %u", p->format->name,
                     layout->version, p->format->version);
}

/* GGUF made of something else holds the numbers of the model, but not what llama.cpp needs. */
static void report_not_llama_cpp(const tare_plan *p) {
    if (!p->format->is_llama_cpp || p->catalog.layout || p->catalog.n_tensors == 0) return;
    if (tare_catalog_get_str(&p->in->catalog, "general.architecture").len > 0) return;
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.not-llama-cpp");
    tare_report_addf(p->options.report, &f,
                     "the output is not a llama.cpp model: tensor names and metadata are kept as "
                     "they are, no tokenizer or architecture keys are made");
}

static tare_status copy_resources(tare_plan *p, tare_error *err) {
    const tare_catalog *in = &p->in->catalog;
    p->catalog.resources = TARE_NEW_ARRAY(&p->arena, tare_resource_entry, in->n_resources);
    if (!p->catalog.resources) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    if (in->n_resources)
        memcpy(p->catalog.resources, in->resources, in->n_resources * sizeof *in->resources);
    p->catalog.n_resources = in->n_resources;
    if (p->options.compat == TARE_COMPAT_NONE || !p->format->imitate) return TARE_OK;
    return p->format->imitate(&p->catalog, p->in, &p->arena, p->options.report, err);
}

/* A type of unknown structure cannot change its byte order, so none may be asked for; nor does a
 * record tell the order of bytes that are carried. */
static tare_status check_unknown(const tare_plan *p, tare_error *err) {
    bool was_big = tare_model_is_big_endian(p->in);
    for (size_t i = 0; i < p->catalog.n_tensors; i++) {
        const tare_tensor *t = p->tensors[i].becomes;
        bool stays = p->catalog.tensors[i].encoding->kind == TARE_KIND_UNKNOWN;
        if (t->encoding->kind != TARE_KIND_UNKNOWN || was_big == (stays && p->files.is_big_endian))
            continue;
        tare_fail(err, TARE_ERR_UNSUPPORTED, "a type of unknown structure keeps its byte order");
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)p->tensors[i].source, t->name);
        return TARE_ERR_UNSUPPORTED;
    }
    return TARE_OK;
}

/* The shard of the input that each tensor lies in, where these are kept. Every file of a GGUF set
 * counts, even one without tensors; of a directory only those that have some. */
static tare_status keep_split(const tare_plan *p, tare_arena *arena, tare_write_options *options,
                              tare_error *err) {
    bool is_set = strcmp(p->in->format, tare_format_gguf.name) == 0;
    uint32_t *part_of = TARE_NEW_ARRAY(arena, uint32_t, p->catalog.n_tensors), last_file = 0;
    if (!part_of) return tare_fail(err, TARE_ERR_NOMEM, "shards");
    options->n_parts = is_set ? (uint32_t)p->in->n_files : 0;
    for (size_t i = 0; i < p->catalog.n_tensors; i++) {
        uint32_t file = p->in->catalog.tensors[p->tensors[i].source].planes[0].file;
        if (i > 0 && file < last_file)
            return tare_fail(err, TARE_ERR_UNSUPPORTED, "the tensors of the shards are mixed");
        if (!is_set && (i == 0 || file != last_file)) options->n_parts++;
        part_of[i] = is_set ? file : options->n_parts - 1;
        last_file = file;
    }
    options->part_of = options->n_parts > 1 ? part_of : NULL;
    return TARE_OK;
}

bool tare_plan_is_straight(const tare_plan *p, size_t i) {
    const tare_tensor *from = &p->in->catalog.tensors[p->tensors[i].source];
    return !tare_planned_is_made(&p->tensors[i]) &&
           tare_model_is_big_endian(p->in) == p->files.is_big_endian &&
           from->encoding->n_planes == p->catalog.tensors[i].encoding->n_planes;
}

static bool stays(const void *plan, size_t tensor) {
    return tare_plan_is_straight(plan, tensor);
}

static tare_status lay_out(tare_plan *p, tare_error *err) {
    tare_write_options options = {.is_identity = p->is_identity,
                                  .source = p->in,
                                  .order = p->options.order,
                                  .alignment = p->options.alignment,
                                  .shard_size = p->options.shard_size,
                                  .stays = stays,
                                  .stays_ctx = p,
                                  .stem = stem_of(p),
                                  .report = p->options.report,
                                  .limits = &p->limits};
    if (!options.stem) return tare_fail(err, TARE_ERR_NOMEM, "output name");
    if (p->options.keep_split) TARE_TRY(keep_split(p, &p->arena, &options, err));
    p->files.arena = &p->arena;
    TARE_TRY(p->format->plan(&p->files, &p->catalog, &options, err));
    for (size_t i = 0; i < p->files.n_extents; i++) {
        const tare_extent *e = &p->files.extents[i];
        if (e->kind == TARE_EXTENT_TENSOR) p->tensors[e->item].file = e->file;
    }
    return check_unknown(p, err);
}

static tare_status plan_all(tare_plan *p, const char *path, tare_error *err) {
    const tare_layout *layout = p->in->catalog.layout;
    TARE_TRY(find_format(p, path, err));
    if (path) {
        p->out_path = tare_arena_str(&p->arena, tare_str_of(path)).ptr;
        if (!p->out_path) return tare_fail(err, TARE_ERR_NOMEM, "output path");
    }
    TARE_TRY(check_not_input(p, err));
    if (layout && layout->format == p->format) p->catalog.layout = layout;
    TARE_TRY(tare_merge_new(&p->merge, p->in, p->options.merges, p->options.n_merges,
                            p->options.report, p->options.allocator, err));
    TARE_TRY(tare_plan_tensors(p, err));
    TARE_TRY(tare_strict_check(&p->strict, err)); /* before tensors are read */
    TARE_TRY(tare_plan_adapters(p, err));
    TARE_TRY(tare_plan_importance(p, err));
    TARE_TRY(tare_plan_outliers(p, err));
    TARE_TRY(tare_plan_bounds(p, err));
    TARE_TRY(tare_plan_duplicates(p, err));
    TARE_TRY(tare_plan_metadata(p, err));
    TARE_TRY(copy_resources(p, err));
    tare_strict_left_out(&p->strict, p->in);
    report_version(p);
    report_not_llama_cpp(p);
    TARE_TRY(tare_strict_check(&p->strict, err));
    return lay_out(p, err);
}

tare_status tare_plan_new(tare_plan **out, const char *out_path, const tare_model *in,
                          const tare_convert_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(out_path && in, err);
    tare_convert_options opt = TARE_CONVERT_OPTIONS_INIT;
    TARE_TRY(tare_options_read(&opt, sizeof opt, options, err));
    TARE_REQUIRE(opt.n_rules == 0 || opt.rules, err);
    TARE_REQUIRE(!opt.type || !opt.mix, err);
    TARE_REQUIRE(!opt.keep_split || opt.shard_size == 0, err);
    TARE_REQUIRE(opt.n_overrides == 0 || opt.overrides, err);
    TARE_REQUIRE(opt.n_merges == 0 || opt.merges, err);
    TARE_REQUIRE(opt.n_adapters == 0 || opt.adapters, err);
    TARE_REQUIRE(opt.outlier_threshold >= 0, err);
    TARE_REQUIRE(opt.outlier_share >= 0 && opt.outlier_share <= 1, err);
    TARE_REQUIRE(opt.outlier_threshold == 0 || opt.outlier_share == 0, err);
    tare_mix_options mix = TARE_MIX_OPTIONS_INIT;
    TARE_TRY(tare_options_read(&mix, sizeof mix, opt.mix, err));
    tare_limits limits = in->limits;
    TARE_TRY(tare_options_read(&limits, sizeof limits, opt.limits, err));
    tare_plan *p = tare_alloc(opt.allocator, sizeof *p);
    if (!p) return tare_fail(err, TARE_ERR_NOMEM, "plan");
    *p = (tare_plan){.in = in,
                     .options = opt,
                     .mix = mix,
                     .limits = limits,
                     .strict = {.report = opt.report, .is_strict = opt.strict}};
    tare_arena_init(&p->arena, opt.allocator);
    p->packed_bytes = &p->packed;
    tare_status status = plan_all(p, strcmp(out_path, "-") == 0 ? NULL : out_path, err);
    /* These were the caller's for this call only. */
    p->options.rules = NULL;
    p->options.n_rules = 0;
    p->options.mix = NULL;
    p->options.overrides = NULL;
    p->options.n_overrides = 0;
    p->options.merges = NULL;
    p->options.n_merges = 0;
    p->options.adapters = NULL;
    p->options.n_adapters = 0;
    if (status == TARE_OK)
        *out = p;
    else
        tare_plan_free(p);
    return status;
}

void tare_plan_free(tare_plan *plan) {
    if (!plan) return;
    tare_merge_free(plan->merge);
    tare_arena_free(&plan->arena);
    tare_free(plan->options.allocator, plan, sizeof *plan);
}

/* ---- getters --------------------------------------------------------------------------------- */

/* What a file has, or before it is packed what goes into it. */
static uint64_t file_bytes(const tare_plan *plan, size_t i) {
    if (!plan->format->is_packed) return plan->files.files[i].size;
    return *plan->packed_bytes ? *plan->packed_bytes : tare_catalog_bytes(&plan->catalog);
}

void tare_plan_summarize(const tare_plan *plan, tare_plan_summary *out) {
    *out = (tare_plan_summary){.format = plan->format->name,
                               .n_tensors = plan->catalog.n_tensors,
                               .n_files = plan->files.n_files,
                               .is_identity = plan->is_identity,
                               .is_directory = plan->files.is_directory};
    for (size_t i = 0; i < plan->catalog.n_tensors; i++)
        out->read_bytes += plan->in->catalog.tensors[plan->tensors[i].source].size_bytes;
    for (size_t i = 0; i < plan->files.n_files; i++) out->write_bytes += file_bytes(plan, i);
}

bool tare_plan_tensor_at(const tare_plan *plan, size_t i, tare_plan_tensor *out) {
    if (i >= plan->catalog.n_tensors) return false;
    const tare_planned *planned = &plan->tensors[i];
    const tare_tensor *from = &plan->in->catalog.tensors[planned->source];
    const tare_tensor *to = &plan->catalog.tensors[i];
    *out = (tare_plan_tensor){.name = to->name,
                              .from = from->encoding,
                              .becomes = planned->becomes->encoding,
                              .to = to->encoding,
                              .action = planned->action,
                              .from_bytes = from->size_bytes,
                              .to_bytes = to->size_bytes,
                              .file = planned->file};
    return true;
}

bool tare_plan_file_at(const tare_plan *plan, size_t i, tare_file_info *out) {
    if (i >= plan->files.n_files) return false;
    const tare_write_file *file = &plan->files.files[i];
    const char *name = file->name ? file->name : plan->out_path ? plan->out_path : "-";
    *out = (tare_file_info){.name = name, .size = file_bytes(plan, i)};
    return true;
}
