/* SPDX-License-Identifier: MIT
 *
 * Opening: from the first bytes of a source to a driver. The suffix of a name decides nothing. */

#include "base/arith.h"
#include "base/os_path.h"
#include "base/str.h"
#include "format/format.h"
#include "format/ollama.h"
#include "format/pipeline.h"
#include "format/zip_folder.h"
#include "model/foreign.h"
#include "remote/hub_cache.h"
#include "remote/remote_files.h"

/* What paths lead to where it is not the file system, and what files share. */
typedef struct place {
    const tare_files *files; /* NULL: the file system */
    bool is_directory;       /* of `files`: the source is one */
    tare_blocks **blocks;
    tare_str inner; /* the file in a packed container that is meant; empty: all of it */
} place;

static bool is_directory(const tare_source *s, const place *p) {
    if (p->files) return p->is_directory;
    return s->kind == TARE_SOURCE_PATH && s->name &&
           tare_path_stat(s->name, NULL) == TARE_PATH_FOLDER;
}

/* A directory that may not be listed or searched would look like one without a model. */
static tare_status check_access(const char *path, tare_error *err) {
    const int os_error = tare_path_check_folder(path);
    return os_error ? tare_fail_errno(err, os_error, "cannot be opened") : TARE_OK;
}

/* Opens what the probes will examine: the source, or the first of its shards. */
static tare_status look(tare_probe *probe, tare_reader *first, uint8_t *head,
                        const tare_source *source, const place *p, tare_map_mode map,
                        tare_error *err) {
    tare_source shard = *source;
    const tare_source *s = &shard;
    const bool is_set = source->kind == TARE_SOURCE_SHARDS;
    if (is_set) TARE_TRY(tare_source_read(&shard, tare_source_shard(source, 0), err));
    *probe = (tare_probe){
        .path = s->kind == TARE_SOURCE_PATH ? s->name : NULL, .head = head, .files = p->files};
    if (is_directory(s, p)) {
        if (is_set) return tare_fail(err, TARE_ERR_ARG, "source: a shard is a directory");
        probe->is_directory = true;
        return p->files ? TARE_OK : check_access(s->name, err);
    }
    if (p->files)
        TARE_TRY(tare_files_open(probe->files, first, s->name, false, err));
    else
        TARE_TRY(tare_source_open(first, s, map, p->blocks, err));
    probe->file_size = first->size;
    probe->head_size = (size_t)tare_min_u64(first->size, TARE_PROBE_BYTES);
    return tare_reader_read(first, 0, head, probe->head_size, err);
}

static tare_status fail_unknown(const tare_probe *probe, tare_error *err) {
    if (probe->is_directory) {
        const tare_status status = tare_pipeline_check(probe->files, probe->path, err);
        if (status != TARE_OK) {
            tare_error_code(err, TARE_CODE_UNKNOWN_FORMAT);
            return status;
        }
        const char *what = tare_foreign_folder(probe->files, probe->path);
        return tare_fail_code(
            err, TARE_ERR_UNSUPPORTED, TARE_CODE_UNKNOWN_FORMAT,
            what ? what
                 : "a directory that is not a model: neither a Hugging Face directory "
                   "nor exactly one GGUF model; name the file");
    }
    tare_status status =
        tare_fail_at(err, TARE_ERR_CORRUPT, 0, "not a model file of any known format");
    status = tare_name_foreign(status, tare_probe_text(probe), probe->file_size, false, err);
    tare_error_code(err, TARE_CODE_UNKNOWN_FORMAT);
    return status;
}

/* *out is NULL where no driver takes it. */
static tare_status choose(const tare_format **out, const tare_probe *probe,
                          const tare_open_options *options, tare_error *err) {
    if (options->format) {
        *out = tare_format_find(options->format);
        return *out ? TARE_OK : tare_fail(err, TARE_ERR_ARG, "format: no format has this name");
    }
    tare_status failed = TARE_OK;
    tare_probe asked = *probe;
    asked.failed = &failed;
    for (size_t i = 0; failed == TARE_OK && (*out = tare_format_row(i)) != NULL; i++)
        if ((*out)->read.probe(&asked)) return TARE_OK;
    return failed == TARE_OK ? TARE_OK : tare_fail(err, failed, "what a folder holds");
}

/* A layout says which format's it is, and there is one. */
static tare_status complete_layout(tare_model *m, const tare_format *format, tare_error *err) {
    const tare_layout *theirs = m->catalog.layout;
    if (theirs && theirs->format) return TARE_OK;
    tare_layout *layout = TARE_NEW(&m->arena, tare_layout);
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    *layout = theirs ? *theirs : (tare_layout){.version = format->write.version};
    layout->format = format;
    m->catalog.layout = layout;
    return TARE_OK;
}

tare_status tare_driver_open(tare_model *m, const tare_format *format, const tare_open_context *ctx,
                             tare_error *err) {
    TARE_TRY(format->read.open(m, ctx, err));
    TARE_TRY(tare_layout_within_files(m, err));
    return complete_layout(m, format, err);
}

static tare_status open_archive(tare_model **out, const char *path, tare_str inner,
                                const tare_open_options *options, tare_reader *first,
                                tare_error *err);

/* Whether an archive is PyTorch's, whose object may lie behind its data where another program has packed
 * it. */
static bool holds_object(const char *path, const tare_open_options *options) {
    tare_zip_folder folder;
    bool is_one = false;
    if (!options->format && tare_zip_folder_begin(&folder, path, options->map,
                                                  options->context->allocator, NULL) == TARE_OK) {
        for (size_t i = 0; i < folder.n; i++)
            is_one |= tare_str_ends(folder.sorted[i]->name, TARE_STR("/data.pkl"));
        tare_zip_folder_end(&folder);
    }
    return is_one;
}

static tare_status open_path(tare_model **out, const char *root, const place *p,
                             const tare_open_options *options, tare_reader *first, tare_error *err);

/* Of no driver: an archive with a model in it, else something that may be known by name. */
static tare_status open_unknown(tare_model **out, const tare_probe *probe,
                                const tare_open_options *options, tare_reader *first,
                                tare_error *err) {
    tare_error why = TARE_ERROR_NONE;
    if (!probe->path || probe->files || probe->is_directory ||
        !tare_zip_is_folder(tare_probe_text(probe)) || tare_foreign_archive(tare_probe_text(probe)))
        return fail_unknown(probe, err);
    tare_reader_close(first);
    if (holds_object(probe->path, options)) {
        const place here = {.is_directory = false};
        tare_open_options as_torch = *options;
        as_torch.format = tare_format_torch.name;
        return open_path(out, probe->path, &here, &as_torch, first, err);
    }
    const tare_status status = open_archive(out, probe->path, TARE_STR(""), options, first, &why);
    if (status != TARE_OK && why.code && strcmp(why.code, TARE_CODE_UNKNOWN_FORMAT) == 0)
        return fail_unknown(probe, err);
    if (status != TARE_OK && err) *err = why;
    return status;
}

static tare_status open_source(tare_model **out, const tare_source *source, const place *p,
                               const tare_open_options *options, tare_reader *first,
                               tare_error *err) {
    uint8_t head[TARE_PROBE_BYTES];
    tare_probe probe;
    const tare_format *format;
    TARE_TRY(look(&probe, first, head, source, p, options->map, err));
    TARE_TRY(choose(&format, &probe, options, err));
    if (!format) return open_unknown(out, &probe, options, first, err);
    TARE_TRY(tare_model_new(out, options->context, err));
    if (source->kind == TARE_SOURCE_SHARDS) tare_reader_close(first);
    (*out)->format = format->name;
    if (p->inner.len && format != &tare_format_wcodec)
        return tare_fail(
            err, TARE_ERR_ARG,
            "only a .wcodec, and a zip archive on disk, have files in them that can be named");
    tare_open_context ctx = {source, options, &probe, first, p->blocks, p->inner};
    return tare_driver_open(*out, format, &ctx, err);
}

/* The path stands for a source that is not in the file system; drivers do not see the difference. */
static tare_status open_path(tare_model **out, const char *root, const place *p,
                             const tare_open_options *options, tare_reader *first,
                             tare_error *err) {
    const tare_source path = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = root, .fd = -1};
    return open_source(out, &path, p, options, first, err);
}

/* `inner`: the member that is meant, or a folder of them; empty: the model's folder is the archive, or
 * the only one in it. */
static tare_status open_archive(tare_model **out, const char *path, tare_str inner,
                                const tare_open_options *options, tare_reader *first,
                                tare_error *err) {
    tare_zip_folder folder;
    place p = {.files = &folder.files, .is_directory = true};
    tare_status status =
        tare_zip_folder_begin(&folder, path, options->map, options->context->allocator, err);
    if (status == TARE_OK && !inner.len) inner = tare_zip_folder_only(&folder);
    if (status == TARE_OK && inner.len) {
        const char *root = tare_join_path(&folder.arena, path, TARE_STR("/"));
        path = root ? tare_join_path(&folder.arena, root, inner) : NULL;
        if (!path)
            status = tare_fail(err, TARE_ERR_NOMEM, "path");
        else if (!tare_zip_folder_has(&folder, inner, &p.is_directory))
            status = tare_fail(err, TARE_ERR_ARG, "the archive has no member of this name");
        if (status == TARE_ERR_ARG) tare_error_item(err, TARE_ITEM_RESOURCE, -1, inner);
    }
    if (status == TARE_OK) status = open_path(out, path, &p, options, first, err);
    tare_zip_folder_end(&folder);
    return status;
}

static tare_status open_remote(tare_model **out, const tare_source *source, const place *here,
                               const tare_open_options *options, tare_reader *first,
                               tare_error *err) {
    const tare_limits limits = tare_limits_default();
    tare_remote_files files;
    TARE_REQUIRE(source->name && source->remote, err);
    tare_arena arena;
    const char *cached;
    tare_arena_init(&arena, options->context->allocator);
    tare_status found = tare_hub_cached(&cached, source->remote, source->name, &arena, err);
    if (found == TARE_OK && cached) found = open_path(out, cached, here, options, first, err);
    tare_arena_free(&arena);
    if (found != TARE_OK || cached) return found;
    tare_status status =
        tare_remote_files_begin(&files, source->remote, source->name,
                                options->context->limits ? options->context->limits : &limits, err);
    if (status == TARE_OK) {
        const place p = {
            .files = &files.files, .is_directory = files.is_directory, .inner = here->inner};
        status = open_path(out, files.root, &p, options, first, err);
    }
    tare_remote_files_end(&files, status == TARE_OK);
    return status;
}

static tare_status open_folder(tare_model **out, const tare_source *source, tare_blocks **blocks,
                               const tare_open_options *options, tare_reader *first,
                               tare_error *err) {
    tare_folder folder;
    tare_status status =
        tare_folder_begin(&folder, source, blocks, options->context->allocator, err);
    if (status == TARE_OK) {
        const place p = {.files = &folder.files, .is_directory = true, .blocks = blocks};
        status = open_path(out, folder.root, &p, options, first, err);
    }
    tare_folder_end(&folder);
    return status;
}

/* What containers end in that may be followed by "::NAME", a file in them. */
static const char *const marks[] = {".wcodec::", ".zip::", ".llamafile::"};

/* "ladder.wcodec::NAME" is a file in a container, unless there is a file of that name. *inner: NAME, or
 * empty; the source's name is what comes before, in the arena. */
static tare_status split_inner(tare_str *inner, tare_source *source, tare_arena *arena,
                               tare_error *err) {
    const bool is_named = source->kind == TARE_SOURCE_PATH || source->kind == TARE_SOURCE_URL;
    const char *at = NULL;
    *inner = (tare_str){"", 0};
    for (size_t i = 0; is_named && source->name && !at && i < sizeof marks / sizeof *marks; i++)
        if ((at = strstr(source->name, marks[i])) != NULL) at += strlen(marks[i]);
    if (!at || (source->kind == TARE_SOURCE_PATH && tare_path_has_entry(source->name)))
        return TARE_OK;
    *inner = tare_str_of(at);
    const size_t n = (size_t)(at - source->name) - strlen("::");
    source->name = tare_arena_str(arena, (tare_str){source->name, n}).ptr;
    return source->name ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "name");
}

/* A path with a file in it that is meant: in a .wcodec its driver finds it. */
static bool is_member(const tare_source *own, tare_str inner) {
    return own->kind == TARE_SOURCE_PATH && inner.len &&
           !tare_str_ends(tare_str_of(own->name), TARE_STR(".wcodec"));
}

static tare_status open_any(tare_model **out, tare_source own, const tare_open_options *options,
                            tare_str inner, tare_error *err) {
    tare_reader first = {.fd = -1};
    const bool is_set = own.kind == TARE_SOURCE_SHARDS || own.kind == TARE_SOURCE_FOLDER;
    TARE_REQUIRE(!is_set || (own.shards && own.n_shards), err);
    tare_blocks *blocks = NULL;
    const place here = {.blocks = &blocks, .inner = inner};
    tare_status s =
        is_member(&own, inner)           ? open_archive(out, own.name, inner, options, &first, err)
        : own.kind == TARE_SOURCE_URL    ? open_remote(out, &own, &here, options, &first, err)
        : own.kind == TARE_SOURCE_FOLDER ? open_folder(out, &own, &blocks, options, &first, err)
                                         : open_source(out, &own, &here, options, &first, err);
    tare_blocks_note_opened(blocks);
    tare_blocks_release(blocks);
    tare_reader_close(&first);
    if (s == TARE_OK && own.kind != TARE_SOURCE_URL)
        tare_note_unfinished(*out, options->context->report);
    if (s != TARE_OK && own.kind != TARE_SOURCE_URL) tare_blame_unfinished(own.name, s, err);
    if (s == TARE_OK) tare_model_note_summary(*out);
    if (s != TARE_OK) {
        tare_model_free(*out);
        *out = NULL;
    }
    return s;
}

tare_status tare_format_open(tare_model **out, const tare_source *source,
                             const tare_open_options *options, tare_error *err) {
    tare_source own;
    tare_str inner;
    tare_arena arena;
    *out = NULL;
    TARE_TRY(tare_source_read(&own, source, err));
    tare_arena_init(&arena, options->context->allocator);
    tare_status status = split_inner(&inner, &own, &arena, err);
    if (status == TARE_OK && own.kind == TARE_SOURCE_PATH && own.name)
        status = tare_hub_enter_cache(&own.name, own.name, &arena, err);
    if (status == TARE_OK && own.kind == TARE_SOURCE_PATH && own.name)
        status = tare_ollama_enter(&own.name, own.name, &arena, options->context->report, err);
    if (status == TARE_OK) status = open_any(out, own, options, inner, err);
    tare_arena_free(&arena);
    return status;
}
