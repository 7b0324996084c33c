/* SPDX-License-Identifier: MIT
 *
 * A Hugging Face directory as one model: its safetensors weights, or else those that PyTorch or
 * Flax wrote, and the other files of it and of the folders in it as resources. Links are followed, since download caches consist of them. Which
 * weights are the model's follows huggingface transformers: model.safetensors, else the index and
 * its shards; else the only index, set of numbered shards or file. */
#include "base/report.h"
#include "base/str.h"
#include "format/hf/hf_folder.h"
#include "format/hf/hf_torch.h"
#include "format/safetensors/safetensors.h"

/* ---- which weights --------------------------------------------------------------------------- */

/* The only file with a suffix; *n: how many there are. */
static tare_hf_entry *only(const tare_hf_folder *f, const char *suffix, size_t *n) {
    tare_hf_entry *found = NULL;
    *n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (!tare_hf_has_suffix(&f->entries[i], suffix)) continue;
        found = &f->entries[i];
        ++*n;
    }
    return *n == 1 ? found : NULL;
}

static bool is_of_set(const tare_safetensors_shard_name *a, const tare_safetensors_shard_name *b) {
    return tare_str_equal(a->stem, b->stem) && a->count == b->count && a->width == b->width;
}

/* A member of the only set of numbered shards; a set called "model" comes before others. *n: how
 * many sets there are, as far as that matters. */
static tare_hf_entry *member_of_set(const tare_hf_folder *f, size_t *n) {
    tare_safetensors_shard_name first = {0}, name;
    tare_hf_entry *found = NULL;
    *n = 0;
    for (size_t i = 0; i < f->n; i++) {
        tare_hf_entry *e = &f->entries[i];
        if (!tare_hf_has_suffix(e, TARE_SAFETENSORS_SUFFIX) ||
            !tare_safetensors_parse_shard_name(&name, e->name) ||
            (found && is_of_set(&name, &first)))
            continue;
        const bool is_usual = tare_str_is(name.stem, TARE_SAFETENSORS_MODEL);
        if (found && !is_usual && tare_str_is(first.stem, TARE_SAFETENSORS_MODEL)) continue;
        *n = found && is_usual == tare_str_is(first.stem, TARE_SAFETENSORS_MODEL) ? *n + 1 : 1;
        found = e;
        first = name;
    }
    return *n == 1 ? found : NULL;
}

/* The file that leads to the weights: a safetensors file, a member of a set, or an index. NULL:
 * none, or it is ambiguous (*is_ambiguous). */
static tare_hf_entry *choose(const tare_hf_folder *f, bool *is_ambiguous) {
    static const char *const preferred[] = {
        TARE_SAFETENSORS_MODEL TARE_SAFETENSORS_SUFFIX,
        TARE_SAFETENSORS_MODEL TARE_SAFETENSORS_INDEX_SUFFIX,
    };
    *is_ambiguous = false;
    for (size_t i = 0; i < 2; i++) {
        tare_hf_entry *e = tare_hf_find(f, tare_str_of(preferred[i]));
        if (e && e->kind == TARE_PATH_FILE) return e;
    }
    size_t n_indexes, n_sets, n_files;
    tare_hf_entry *index = only(f, TARE_SAFETENSORS_INDEX_SUFFIX, &n_indexes);
    tare_hf_entry *member = member_of_set(f, &n_sets);
    tare_hf_entry *file = only(f, TARE_SAFETENSORS_SUFFIX, &n_files);
    *is_ambiguous =
        n_indexes > 1 || (n_indexes == 0 && (n_sets > 1 || (n_sets == 0 && n_files > 1)));
    return n_indexes ? index : n_sets ? member : file;
}

/* ---- the driver ------------------------------------------------------------------------------ */

static tare_status open_single(tare_model *m, tare_safetensors_layout *layout,
                               const tare_hf_folder *f, tare_str name,
                               const tare_open_options *options, tare_error *err) {
    TARE_TRY(tare_safetensors_make_shards(m, layout, 1, err));
    TARE_TRY(tare_safetensors_open_shard(m, layout, 0, f->path, name, options->map, err));
    tare_status s =
        tare_safetensors_load(m, layout, &tare_format_hf, options->context->report, err);
    if (s != TARE_OK) tare_error_file(err, m->files[layout->shards[0].file].name);
    return s;
}

static tare_status open_index(tare_model *m, tare_safetensors_layout *layout,
                              const tare_hf_folder *f, tare_str name,
                              const tare_open_options *options, tare_error *err) {
    layout->index_name = tare_arena_str(&m->arena, name).ptr;
    const char *path = tare_join_path(&m->arena, f->path, name);
    layout->index_path = path;
    if (!layout->index_name || !path) return tare_fail(err, TARE_ERR_NOMEM, "index");
    tare_reader reader;
    tare_status status = tare_files_open(f->files, &reader, path, false, err);
    if (status == TARE_OK) {
        status = tare_safetensors_read_index(m, layout, &reader, err);
        tare_reader_close(&reader);
    }
    if (status != TARE_OK) {
        tare_error_file(err, path);
        return status;
    }
    return tare_safetensors_open_index(m, layout, f->path, &tare_format_hf, options, err);
}

static tare_status open_weights(tare_model *m, tare_safetensors_layout *layout,
                                const tare_hf_folder *f, tare_hf_entry *main_file,
                                const tare_open_options *options, tare_error *err) {
    tare_safetensors_shard_name name;
    main_file->is_weights = true;
    if (tare_hf_has_suffix(main_file, TARE_SAFETENSORS_INDEX_SUFFIX))
        return open_index(m, layout, f, main_file->name, options, err);
    if (tare_safetensors_parse_shard_name(&name, main_file->name))
        return tare_safetensors_open_numbered(m, layout, f->path, &name, &tare_format_hf, options,
                                              err);
    return open_single(m, layout, f, main_file->name, options, err);
}

/* A link that would lead to weights; NULL: none leads nowhere. */
static const tare_hf_entry *lost_link(const tare_hf_folder *f) {
    for (size_t i = 0; i < f->n; i++) {
        const tare_hf_entry *e = &f->entries[i];
        if (e->is_link && e->kind == TARE_PATH_NOTHING &&
            (tare_str_ends(e->name, TARE_STR(TARE_SAFETENSORS_SUFFIX)) ||
             tare_str_ends(e->name, TARE_STR(TARE_SAFETENSORS_INDEX_SUFFIX))))
            return e;
    }
    return NULL;
}

static bool is_of_weights(tare_str name) {
    const tare_str suffix = TARE_STR(TARE_SAFETENSORS_SUFFIX);
    for (; name.len >= suffix.len; name = tare_str_cut(name, 1))
        if (tare_str_starts(name, suffix)) return true;
    return false;
}

/* A file that would be weights once it is whole; NULL: none. */
static const tare_hf_entry *unfinished(const tare_hf_folder *f) {
    for (size_t i = 0; i < f->n; i++) {
        const tare_hf_entry *e = &f->entries[i];
        if (e->kind == TARE_PATH_FILE && tare_said_by_file_name(e->name) && is_of_weights(e->name))
            return e;
    }
    return NULL;
}

/* Why there are no weights to open, and what to do about it. */
static const char *missing_weights(const tare_hf_folder *f, bool is_ambiguous) {
    if (is_ambiguous) return "a directory with several safetensors models: name a file";
    for (size_t i = 0; i < f->n; i++)
        if (tare_str_is(f->entries[i].name, "weights.bin"))
            return "a directory with the weights of INFQ but without its manifest.json, or with "
                   "another file of that name";
    const char *what = tare_foreign_folder(f->files, f->path);
    if (what) return what;
    for (size_t i = 0; i < f->n; i++) {
        const tare_hf_entry *e = &f->entries[i];
        if (tare_hf_has_suffix(e, ".bin") || tare_hf_has_suffix(e, ".pt") ||
            tare_hf_has_suffix(e, ".pth")) {
            return "a directory without safetensors weights, or pytorch_model.bin: name the file";
        }
    }
    return "a directory without safetensors weights";
}

static tare_status fail_without_weights(const tare_hf_folder *f, bool is_ambiguous,
                                        tare_error *err) {
    const tare_hf_entry *link = lost_link(f), *part = unfinished(f);
    if (!link && (!part || is_ambiguous))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, missing_weights(f, is_ambiguous));
    tare_fail(err, TARE_ERR_UNSUPPORTED,
              link ? TARE_HF_LOST_LINK : "a directory whose safetensors weights are incomplete");
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, link ? link->name : part->name);
    if (!link) tare_error_detail(err, "%s", tare_said_by_file_name(part->name));
    return TARE_ERR_UNSUPPORTED;
}

static tare_status open_torch(tare_model *m, tare_hf_folder *f, tare_hf_entry *main_file,
                              const tare_open_options *options, tare_error *err) {
    tare_torch_set set = {.m = m, .strided = {.m = m}, .report = options->context->report};
    TARE_TRY(tare_hf_torch_open(&set, f, main_file, options, err));
    TARE_TRY(tare_hf_list_folders(f, err));
    TARE_TRY(tare_hf_add_resources(m, f, set.report, err));
    TARE_TRY(tare_strided_end(&set.strided, err));
    return tare_model_finish(m, set.report, err);
}

static tare_status open_folder(tare_model *m, tare_hf_folder *f, const tare_open_options *options,
                               tare_error *err) {
    bool is_ambiguous;
    tare_hf_entry *main_file = choose(f, &is_ambiguous);
    tare_hf_entry *of_torch = main_file || is_ambiguous ? NULL : tare_hf_torch_choose(f);
    if (of_torch) return open_torch(m, f, of_torch, options, err);
    if (!main_file) return fail_without_weights(f, is_ambiguous, err);
    tare_safetensors_layout *layout = TARE_NEW(&m->arena, tare_safetensors_layout);
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    layout->files = f->files;
    TARE_TRY(open_weights(m, layout, f, main_file, options, err));
    TARE_TRY(tare_hf_list_folders(f, err));
    for (size_t i = 0; i < layout->n_shards; i++) {
        tare_hf_entry *e = tare_hf_find(f, tare_str_of(layout->shards[i].name));
        if (e) e->is_weights = true;
    }
    TARE_TRY(tare_hf_add_resources(m, f, options->context->report, err));
    return tare_model_finish(m, options->context->report, err);
}

static tare_status open_hf(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    if (ctx->source->kind != TARE_SOURCE_PATH || !ctx->probe->is_directory) {
        return tare_fail(err, TARE_ERR_ARG, "a Hugging Face model is a directory, given by path");
    }
    tare_hf_folder f;
    tare_status status = tare_hf_list(&f, ctx->probe->files, ctx->source->name, m->allocator, err);
    if (status == TARE_OK) status = open_folder(m, &f, ctx->options, err);
    tare_hf_folder_free(&f);
    return status;
}

static bool probe(const tare_probe *p) {
    tare_hf_folder f;
    bool is_ours = false;
    if (tare_hf_probe(&f, p)) {
        bool is_ambiguous;
        is_ours = choose(&f, &is_ambiguous) || is_ambiguous || tare_hf_torch_choose(&f) ||
                  tare_hf_find(&f, TARE_STR("config.json")) || lost_link(&f);
    }
    tare_hf_folder_free(&f);
    return is_ours;
}

const tare_format tare_format_hf = {
    .name = "hf",
    .description = "Hugging Face directory: safetensors, PyTorch's or Flax's files, and side files",
    .suffix = "",
    .is_directory = true,
    .caps = &tare_safetensors_caps,
    .read = {probe, open_hf, tare_safetensors_index_file, NULL},
    .write = {.plan = tare_hf_plan},
    .stored = {.program = TARE_PROGRAM_TRANSFORMERS, .keys = TARE_KEY_FORM_PAIRS},
};
