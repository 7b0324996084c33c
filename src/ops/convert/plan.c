/* SPDX-License-Identifier: MIT
 *
 * Planning a conversion: everything is known before a byte is written, including the sizes of all
 * files. docs/behaviour.md, "Conversion". */
#include <tare/experimental/llama.h>

#include <string.h>

#include "base/arith.h"
#include "base/os_path.h"
#include "base/outfile.h"
#include "base/report.h"
#include "base/str.h"
#include "model/adapter_set.h"
#include "ops/convert/plan.h"

/* ---- what is asked for ----------------------------------------------------------------------- */

static tare_status find_format(tare_plan *p, const char *path, tare_error *err) {
    TARE_TRY(tare_format_of_output(&p->format, p->options.to, path, err));
    if (!p->format->write.plan) {
        tare_fail(err, TARE_ERR_UNSUPPORTED, "the format of the output is only read, not written");
        tare_error_detail(err, "%s", p->format->name);
        return TARE_ERR_UNSUPPORTED;
    }
    if (p->mcf.dedup != TARE_DEDUP_TIED && !(p->format->stored.extras & TARE_EXTRA_SAME))
        return tare_fail(err, TARE_ERR_ARG,
                         "only MCF offers a choice of which tensors with equal bytes are stored "
                         "once; the output's format stores each of them");
    if (p->wcodec.n_bases && !p->format->write.pack)
        return tare_fail(err, TARE_ERR_ARG,
                         "only a .wcodec can be stored as differences from a base");
    if (p->wcodec.effort != TARE_EFFORT_FAST && !p->format->write.pack)
        return tare_fail(err, TARE_ERR_ARG, "`effort` applies to .wcodec output only");
    return TARE_OK;
}

/* The directory part of a path, "." if it has none. False: too long. */
static bool parent_of(char *out, size_t size, const char *path) {
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (n + 2 > size) return false;
    memcpy(out, path, n);
    strcpy(out + n, ".");
    return true;
}

/* A plan gives no names: what would then be neither llama.cpp's nor Hugging Face's is refused. */
static tare_status check_names(const tare_plan *p, tare_error *err) {
    if (p->changes || !tare_llama_changes_names(p->in, p->format->name, p->options.names))
        return TARE_OK;
    tare_fail(err, TARE_ERR_UNSUPPORTED,
              "its tensors have to be renamed for the output's format, which a plan does not do: "
              "tare_convert and tare_llama_translate do, `keep_names` leaves them");
    tare_error_code(err, TARE_CODE_NEEDS_NAMES);
    return TARE_ERR_UNSUPPORTED;
}

/* The output may be neither a file of the input nor the directory that contains them. */
static tare_status check_not_input(const tare_plan *p, tare_error *err) {
    if (p->changes && p->changes->replaces_input) return TARE_OK;
    for (size_t i = 0; p->out_path && i < p->in->n_files; i++) {
        const tare_open_file *file = &p->in->files[i];
        char parent[TARE_PATH_MOST];
        const bool is_file = file->reader.has_identity;
        if (tare_same_file(p->out_path, &file->reader) ||
            (is_file && parent_of(parent, sizeof parent, file->name) &&
             tare_same_path(p->out_path, parent))) {
            tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_IS_INPUT, "the output is the input");
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
    if (!layout || layout->version == p->format->write.version) return;
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.version");
    tare_report_addf(p->options.context->report, &f, "%s version %u becomes version %u",
                     p->format->name, layout->version, p->format->write.version);
}

/* GGUF converted from another format holds the model's numbers, but not what llama.cpp needs. */
static void report_not_llama_cpp(const tare_plan *p) {
    if (p->format->stored.program != TARE_PROGRAM_LLAMA_CPP || p->catalog.layout ||
        p->catalog.n_tensors == 0)
        return;
    if (tare_catalog_get_str(&p->in->catalog, "general.architecture").len > 0) return;
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.not-llama-cpp");
    tare_report_addf(p->options.context->report, &f,
                     "the output is not a llama.cpp model: tensor names and metadata are kept as "
                     "they are, no tokenizer or architecture keys are made");
}

/* So does a directory of Hugging Face that is made of a GGUF file whose names are kept. */
static void report_not_hugging_face(const tare_plan *p) {
    if (p->format->stored.program != TARE_PROGRAM_TRANSFORMERS || p->catalog.n_tensors == 0) return;
    if (tare_model_find_resource(p->in, TARE_STR("config.json")) >= 0) return;
    tare_str architecture = tare_catalog_get_str(&p->in->catalog, "general.architecture");
    if (architecture.len == 0) return;
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.not-hugging-face");
    tare_report_addf(
        p->options.context->report, &f,
        "the output is not a Hugging Face model: tensor names and metadata are kept as "
        "they are, no config.json or tokenizer files are made");
}

static tare_status copy_resources(tare_plan *p, tare_error *err) {
    const tare_catalog *in = &p->in->catalog;
    const tare_resource_entry *from = p->changes ? p->changes->resources : in->resources;
    const size_t n = p->changes ? p->changes->n_resources : in->n_resources;
    p->catalog.resources = TARE_NEW_ARRAY(&p->arena, tare_resource_entry, n);
    if (!p->catalog.resources) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    if (n) memcpy(p->catalog.resources, from, n * sizeof *from);
    p->catalog.n_resources = n;
    if (p->mcf.compat == TARE_COMPAT_NONE || !p->format->write.imitate) return TARE_OK;
    return p->format->write.imitate(&p->catalog, p->in, &p->arena, p->options.context->report, err);
}

/* A type of unknown structure cannot change its byte order, so no other may be requested; nor does
 * the record of carried tensors state their byte order. */
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

/* The input shard of each tensor, if shards are kept. */
static tare_status keep_split(const tare_plan *p, tare_arena *arena, tare_write_options *options,
                              tare_error *err) {
    const tare_format *from = tare_format_find(p->in->format);
    const bool is_set = from && from->stored.shards == TARE_SHARDS_NUMBERED;
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
                                  .extras = p->extras,
                                  .order = p->options.order,
                                  .alignment = p->options.alignment,
                                  .is_edited = p->changes != NULL,
                                  .keeps_place = p->changes && p->changes->keeps_place,
                                  .spare = p->changes ? p->changes->spare : 0,
                                  .shard_size = p->options.shard_size,
                                  .stays = stays,
                                  .stays_ctx = p,
                                  .stem = stem_of(p),
                                  .report = p->options.context->report,
                                  .limits = &p->limits};
    if (!options.stem) return tare_fail(err, TARE_ERR_NOMEM, "output name");
    if (p->options.keep_split) TARE_TRY(keep_split(p, &p->arena, &options, err));
    p->files.arena = &p->arena;
    TARE_TRY(p->format->write.plan(&p->files, &p->catalog, &options, err));
    for (size_t i = 0; i < p->files.n_extents; i++) {
        const tare_extent *e = &p->files.extents[i];
        if (e->kind == TARE_EXTENT_TENSOR) p->tensors[e->item].file = e->file;
    }
    return check_unknown(p, err);
}

/* ---- what callers see ------------------------------------------------------------------------ */

static tare_plan_tensor public_tensor(const tare_plan *p, size_t i) {
    const tare_planned *planned = &p->tensors[i];
    const tare_origin from = tare_tensor_origin(p->in, planned->source);
    const tare_tensor *to = &p->catalog.tensors[i];
    /* A mapping decoded or made it already; what is left to do is to copy that. */
    const bool is_new =
        from.is_made || from.encoding != p->in->catalog.tensors[planned->source].encoding;
    const tare_tensor_action action =
        planned->action == TARE_ACTION_COPY && is_new ? TARE_ACTION_ENCODE : planned->action;
    return (tare_plan_tensor){.name = to->name,
                              .from = from.encoding,
                              .becomes = planned->becomes->encoding,
                              .to = to->encoding,
                              .action = action,
                              .from_bytes = from.size_bytes,
                              .to_bytes = to->size_bytes,
                              .file = planned->file,
                              .source = planned->source};
}

static tare_status describe(tare_plan *p, tare_error *err) {
    const size_t n = p->catalog.n_tensors, n_files = p->files.n_files;
    p->public_tensors = TARE_NEW_ARRAY(&p->arena, tare_plan_tensor, n);
    p->public_files = TARE_NEW_ARRAY(&p->arena, tare_file_info, n_files);
    if (!p->public_tensors || !p->public_files) return tare_fail(err, TARE_ERR_NOMEM, "plan");
    p->summary = (tare_plan_summary){.format = p->format->name,
                                     .n_tensors = n,
                                     .n_files = n_files,
                                     .is_identity = p->is_identity,
                                     .is_directory = p->files.is_directory};
    for (size_t i = 0; i < n; i++) {
        p->public_tensors[i] = public_tensor(p, i);
        p->summary.read_bytes += p->public_tensors[i].from_bytes;
    }
    for (size_t i = 0; i < n_files; i++) {
        const tare_write_file *file = &p->files.files[i];
        const char *name = file->name ? file->name : p->out_path ? p->out_path : "-";
        uint64_t size = p->files.content_bytes ? p->files.content_bytes : file->size;
        p->public_files[i] = (tare_file_info){name, size};
        p->summary.write_bytes += size;
    }
    return TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static tare_status plan_all(tare_plan *p, const char *path, tare_error *err) {
    TARE_TRY(find_format(p, path, err));
    TARE_TRY(check_names(p, err));
    TARE_TRY(tare_plan_packed(p, err));
    const tare_layout *layout = p->in->catalog.layout;
    if (path) {
        p->out_path = tare_arena_str(&p->arena, tare_str_of(path)).ptr;
        if (!p->out_path) return tare_fail(err, TARE_ERR_NOMEM, "output path");
    }
    TARE_TRY(check_not_input(p, err));
    if (layout && layout->format == p->format) p->catalog.layout = layout;
    TARE_TRY(tare_merge_new(&p->merge, p->in, p->options.merges, p->options.n_merges,
                            p->options.context->report, p->options.context->allocator, err));
    for (size_t i = 0; i < p->options.n_merges; i++) {
        const tare_finding loss = tare_peft_loss(&p->options.merges[i].set->left);
        tare_strict_loss(&p->strict, &loss);
    }
    TARE_TRY(tare_plan_tensors(p, err));
    TARE_TRY(tare_strict_check(&p->strict, err)); /* before tensors are read */
    TARE_TRY(tare_plan_adapters(p, err));
    TARE_TRY(tare_plan_importance(p, err));
    TARE_TRY(tare_plan_outliers(p, err));
    TARE_TRY(tare_plan_bounds(p, err));
    TARE_TRY(tare_plan_duplicates(p, err));
    TARE_TRY(tare_plan_metadata(p, err));
    TARE_TRY(tare_plan_verdict(p, err));
    TARE_TRY(copy_resources(p, err));
    TARE_TRY(tare_plan_typed_config(p, err));
    tare_strict_left_out(&p->strict, p->in);
    report_version(p);
    report_not_llama_cpp(p);
    report_not_hugging_face(p);
    TARE_TRY(tare_strict_check(&p->strict, err));
    TARE_TRY(lay_out(p, err));
    return describe(p, err);
}

/* The request, with all defaults filled in. */
static tare_status read_options(tare_plan *p, const tare_convert_options *options,
                                tare_error *err) {
    tare_convert_options *o = &p->options;
    TARE_TRY(tare_options_read(o, sizeof *o, options, err));
    TARE_TRY(tare_context_keep(&p->context, &o->context, err));
    TARE_TRY(tare_output_keep(&p->output, &o->output, err));
    TARE_REQUIRE(o->n_rules == 0 || o->rules, err);
    TARE_REQUIRE(!o->type || !o->mix, err);
    TARE_REQUIRE(!o->keep_split || o->shard_size == 0, err);
    TARE_REQUIRE(o->n_overrides == 0 || o->overrides, err);
    TARE_REQUIRE(o->n_merges == 0 || o->merges, err);
    TARE_TRY(tare_options_read(&p->mix, sizeof p->mix, o->mix, err));
    TARE_TRY(tare_options_read(&p->mcf, sizeof p->mcf, o->mcf, err));
    TARE_TRY(tare_options_read(&p->infq, sizeof p->infq, o->infq, err));
    TARE_TRY(tare_options_read(&p->wcodec, sizeof p->wcodec, o->wcodec, err));
    TARE_REQUIRE(p->infq.n_adapters == 0 || p->infq.adapters, err);
    TARE_REQUIRE(p->infq.outlier_threshold >= 0, err);
    TARE_REQUIRE(p->infq.outlier_share >= 0 && p->infq.outlier_share <= 1, err);
    TARE_REQUIRE(p->infq.outlier_threshold == 0 || p->infq.outlier_share == 0, err);
    TARE_REQUIRE(p->wcodec.n_bases == 0 || p->wcodec.bases, err);
    return tare_options_read(&p->limits, sizeof p->limits, o->context->limits, err);
}

/* Drops references to what the caller lent for planning only. */
static void forget_options(tare_plan *p) {
    p->options.rules = NULL;
    p->options.n_rules = 0;
    p->options.mix = NULL;
    p->options.overrides = NULL;
    p->options.n_overrides = 0;
    p->options.merges = NULL;
    p->options.n_merges = 0;
    p->options.names = NULL;
    p->options.mcf = NULL;
    p->options.infq = NULL;
    p->options.wcodec = NULL;
    p->infq.adapters = NULL;
    p->infq.n_adapters = 0;
}

tare_status tare_plan_new(tare_plan **out, const char *out_path, const tare_model *in,
                          const tare_convert_options *options, tare_error *err) {
    return tare_plan_changed(out, out_path, in, options, NULL, err);
}

tare_status tare_plan_changed(tare_plan **out, const char *out_path, const tare_model *in,
                              const tare_convert_options *options, const tare_plan_changes *changes,
                              tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(in, err);
    tare_plan asked = {.in = in,
                       .changes = changes,
                       .options = tare_convert_options_default(),
                       .mix = tare_mix_options_default(),
                       .mcf = tare_convert_mcf_options_default(),
                       .infq = tare_convert_infq_options_default(),
                       .wcodec = tare_convert_wcodec_options_default(),
                       .limits = in->limits};
    TARE_TRY(read_options(&asked, options, err));
    tare_plan *p = tare_alloc(asked.options.context->allocator, sizeof *p);
    if (!p) return tare_fail(err, TARE_ERR_NOMEM, "plan");
    *p = asked;
    p->options.context = &p->context;
    p->options.output = &p->output;
    p->strict =
        (tare_strict){.report = p->options.context->report, .is_strict = p->options.output->strict};
    tare_arena_init(&p->arena, p->options.context->allocator);
    tare_status status = plan_all(p, out_path, err);
    forget_options(p);
    if (status == TARE_OK)
        *out = p;
    else
        tare_plan_free(p);
    return status;
}

void tare_plan_free(tare_plan *plan) {
    if (!plan) return;
    tare_merge_free(plan->merge);
    tare_model_free(plan->plain);
    tare_arena_free(&plan->arena);
    tare_free(plan->options.context->allocator, plan, sizeof *plan);
}

/* ---- getters --------------------------------------------------------------------------------- */

const tare_plan_summary *tare_plan_summarize(const tare_plan *plan) {
    return &plan->summary;
}

const tare_plan_tensor *tare_plan_tensor_at(const tare_plan *plan, size_t i) {
    return i < plan->catalog.n_tensors ? &plan->public_tensors[i] : NULL;
}

const tare_file_info *tare_plan_file_at(const tare_plan *plan, size_t i) {
    return i < plan->files.n_files ? &plan->public_files[i] : NULL;
}
