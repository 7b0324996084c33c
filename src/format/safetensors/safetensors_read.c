/* SPDX-License-Identifier: MIT
 *
 * The safetensors driver, reading: one file, files given as the shards of one model, an index, or a
 * member of a set that is found by its name (README of huggingface/safetensors, "Format"; the names
 * of shards and index are those of huggingface transformers). */

#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "format/safetensors/safetensors.h"

/* ---- the driver ------------------------------------------------------------------------------ */

/* An index is a JSON object too; no header's text begins at byte 0. */
static bool is_index(const tare_probe *p) {
    static const char word[] = "\"weight_map\"";
    const bool is_marked = tare_str_starts(tare_probe_text(p), TARE_STR(TARE_UTF8_MARK));
    size_t i = is_marked ? sizeof TARE_UTF8_MARK - 1 : 0;
    while (i < p->head_size && strchr(" \t\r\n", p->head[i]) && p->head[i]) i++;
    if (i == p->head_size || p->head[i] != '{') return false;
    for (; i + sizeof word - 1 <= p->head_size; i++) {
        if (memcmp(p->head + i, word, sizeof word - 1) == 0) return true;
    }
    return false;
}

static tare_status open_single(tare_model *m, tare_safetensors_layout *layout, tare_reader *reader,
                               const tare_open_options *options, tare_error *err) {
    TARE_TRY(tare_safetensors_make_shards(m, layout, 1, err));
    TARE_TRY(tare_safetensors_add_reader(m, &layout->shards[0], reader, err));
    return tare_safetensors_load(m, layout, &tare_format_safetensors, options->context->report,
                                 err);
}

static tare_status open_sources(tare_model *m, tare_safetensors_layout *layout,
                                const tare_open_context *ctx, tare_error *err) {
    const tare_source *set = ctx->source;
    TARE_TRY(tare_safetensors_make_shards(m, layout, set->n_shards, err));
    for (size_t i = 0; i < set->n_shards; i++) {
        tare_reader reader;
        TARE_TRY(tare_source_open(&reader, tare_source_shard(set, i), ctx->options->map,
                                  ctx->blocks, err));
        TARE_TRY(tare_safetensors_add_reader(m, &layout->shards[i], &reader, err));
    }
    return tare_safetensors_load(m, layout, &tare_format_safetensors, ctx->options->context->report,
                                 err);
}

/* A path up to its last slash, "" where there is none; in the arena. */
static const char *directory_of(tare_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    return tare_arena_str(arena, (tare_str){path, slash ? (size_t)(slash - path) + 1 : 0}).ptr;
}

static tare_status open_index(tare_model *m, tare_safetensors_layout *layout,
                              const tare_reader *reader, const tare_open_options *options,
                              tare_error *err) {
    const char *directory = directory_of(&m->arena, reader->name);
    if (!directory) return tare_fail(err, TARE_ERR_NOMEM, "path of the index");
    layout->index_name =
        tare_arena_str(&m->arena, tare_str_of(reader->name + strlen(directory))).ptr;
    layout->index_path = tare_arena_str(&m->arena, tare_str_of(reader->name)).ptr;
    if (!layout->index_name || !layout->index_path)
        return tare_fail(err, TARE_ERR_NOMEM, "name of the index");
    TARE_TRY(tare_safetensors_read_index(m, layout, reader, err));
    return tare_safetensors_open_index(m, layout, directory, &tare_format_safetensors, options,
                                       err);
}

/* Whether the set that was opened contains the member through which it was found. */
static tare_status check_member(const tare_safetensors_layout *layout, const char *member,
                                tare_error *err) {
    for (size_t i = 0; i < layout->n_shards; i++) {
        if (strcmp(layout->shards[i].name, member) == 0) return TARE_OK;
    }
    return tare_fail(err, TARE_ERR_CORRUPT,
                     "the index beside this shard does not list it: open it as one shard alone");
}

/* The whole set of a member: by the index next to it, else by the numbers in the names. */
static tare_status open_set(tare_model *m, tare_safetensors_layout *layout, const char *path,
                            const tare_safetensors_shard_name *name,
                            const tare_open_options *options, tare_error *err) {
    const char *directory = directory_of(&m->arena, path);
    if (!directory) return tare_fail(err, TARE_ERR_NOMEM, "path of the set");
    const char *stem = tare_join_path(&m->arena, directory, name->stem);
    if (!stem) return tare_fail(err, TARE_ERR_NOMEM, "path of the set");
    const char *index = tare_join_path(&m->arena, stem, TARE_STR(TARE_SAFETENSORS_INDEX_SUFFIX));
    if (!index) return tare_fail(err, TARE_ERR_NOMEM, "path of the index");

    tare_reader reader;
    tare_error fault = TARE_ERROR_NONE;
    tare_status status = tare_files_open(layout->files, &reader, index, false, &fault);
    if (status == TARE_OK) {
        status = open_index(m, layout, &reader, options, err);
        tare_reader_close(&reader);
        if (status != TARE_OK) return status;
        return check_member(layout, path + strlen(directory), err);
    }
    if (tare_error_is_absent(&fault))
        return tare_safetensors_open_numbered(m, layout, directory, name, &tare_format_safetensors,
                                              options, err);
    if (err) *err = fault;
    return status;
}

static tare_status open_any(tare_model *m, tare_safetensors_layout *layout,
                            const tare_open_context *ctx, tare_error *err) {
    const char *path = ctx->source->kind == TARE_SOURCE_PATH ? ctx->source->name : NULL;
    if (ctx->source->kind == TARE_SOURCE_SHARDS) return open_sources(m, layout, ctx, err);
    if (is_index(ctx->probe)) {
        if (path) return open_index(m, layout, ctx->first, ctx->options, err);
        return tare_fail(
            err, TARE_ERR_UNSUPPORTED,
            "an index of safetensors shards: open it by path, or its shards cannot be found");
    }
    tare_safetensors_shard_name name;
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (path && !ctx->options->one_shard &&
        tare_safetensors_parse_shard_name(&name, tare_str_of(slash ? slash + 1 : path))) {
        return open_set(m, layout, path, &name, ctx->options, err);
    }
    return open_single(m, layout, ctx->first, ctx->options, err);
}

static tare_status open_safetensors(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    tare_safetensors_layout *layout = TARE_NEW(&m->arena, tare_safetensors_layout);
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    layout->files = ctx->probe->files;
    TARE_TRY(open_any(m, layout, ctx, err));
    return tare_model_finish(m, ctx->options->context->report, err);
}

/* A header's size, then its brace. A size that fits the file and something that JSON could begin
 * with is also enough, so that a header the format forbids is reported as such. */
static bool probe(const tare_probe *p) {
    if (p->is_directory) return false;
    if (is_index(p)) return true;
    if (p->head_size <= TARE_SAFETENSORS_SIZE_BYTES) return false;
    uint64_t size = tare_load_le64(p->head);
    const char *first = (const char *)p->head + TARE_SAFETENSORS_SIZE_BYTES;
    if (first[0] == '{') {
        bool is_all = p->head_size == TARE_SAFETENSORS_SIZE_BYTES + 1;
        return is_all || strchr("\"} \t\r\n", first[1]) != NULL;
    }
    return size >= 2 && size <= p->file_size - TARE_SAFETENSORS_SIZE_BYTES &&
           size <= TARE_SAFETENSORS_MAX_HEADER && first[0] && strchr("[\" \t\r\n", first[0]);
}

bool tare_safetensors_index_file(const char **path, tare_str *text, const tare_model *m) {
    const tare_safetensors_layout *layout = m->catalog.layout->detail;
    if (!layout) return false;
    *path = layout->index_path;
    *text = layout->index_text;
    return *path && (*path)[0];
}

/* Numbered parts belong to the directory that they are in. */
static bool is_part(tare_str name) {
    tare_safetensors_shard_name part;
    return tare_safetensors_parse_shard_name(&part, name);
}

const tare_format tare_format_safetensors = {
    .name = "safetensors",
    .description = "safetensors file, or shards and their index",
    .suffix = TARE_SAFETENSORS_SUFFIX,
    .caps = &tare_safetensors_caps,
    .read = {probe, open_safetensors, tare_safetensors_index_file, is_part},
    .write = {.plan = tare_safetensors_plan},
    .stored = {.keys = TARE_KEY_FORM_PAIRS},
};
