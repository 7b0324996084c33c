/* SPDX-License-Identifier: MIT
 *
 * Preparing an edit: an interrupted one is settled first, the model is opened and read, its new
 * lists are built and checked, and laid out as by a conversion into its own format. A set of GGUF
 * shards is treated as one model per file: each file keeps its tensors. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os_path.h"
#include "base/report.h"
#include "base/str.h"
#include "format/ollama.h"
#include "ops/edit/edit_state.h"

TARE_DEFINE_INIT(tare_edit_options)

/* ---- opening --------------------------------------------------------------------------------- */

static tare_status settle_old(const tare_edit *e, tare_error *err) {
    tare_edit_recovery what;
    if (e->options.output->dry_run || e->options.out_path) return TARE_OK;
    TARE_TRY(tare_edit_recover(&what, e->path, e->options.context->allocator, err));
    if (what == TARE_EDIT_NOTHING) return TARE_OK;
    const bool is_finished = what == TARE_EDIT_FINISHED;
    tare_finding f = TARE_FINDING(INFO, TARE_OK, is_finished ? "edit.finished" : "edit.undone");
    f.text = is_finished ? TARE_STR("an earlier edit was interrupted: it is finished now")
                         : TARE_STR("an earlier edit was interrupted before it changed anything; "
                                    "its journal is removed");
    tare_report_add(e->options.context->report, &f);
    return TARE_OK;
}

static tare_status open_model(tare_model **out, const tare_edit *e, const char *path,
                              bool one_shard, tare_error *err) {
    tare_open_options options = tare_open_options_default();
    const tare_context context = {.size = sizeof context,
                                  .allocator = e->context.allocator,
                                  .limits = &e->limits,
                                  .report = one_shard ? NULL : e->context.report};
    options.context = &context;
    options.one_shard = one_shard;
    options.stored = true;
    return tare_open_path(out, path, &options, err);
}

static tare_status check_format(tare_edit *e, const tare_model *m, tare_error *err) {
    if (e->format && !e->format->write.plan)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "files of this format are only read: convert it, and edit that");
    if (!e->format || e->format->write.pack || m->held_format)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "a packed model is not edited: unpack it, edit that, and pack it again");
    if (!e->format->is_directory && m->n_files > 1 &&
        e->format->stored.shards != TARE_SHARDS_NUMBERED)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "one of several shards: name their directory");
    if (m->summary.is_truncated)
        return tare_fail(err, TARE_ERR_TRUNCATED,
                         "the file ends too early: data of some tensor is missing");
    return TARE_OK;
}

/* What is changed where it lies are files here, under names that may go on being theirs. */
static tare_status check_place(tare_edit *e, const tare_model *m, tare_error *err) {
    const char *entered;
    if (e->options.out_path) return TARE_OK;
    for (size_t i = 0; i < m->n_files; i++)
        if (tare_path_stat(m->files[i].name, NULL) != TARE_PATH_FILE)
            return tare_fail(err, TARE_ERR_UNSUPPORTED,
                             "a model in an archive is only read: write elsewhere, with -o");
    TARE_TRY(tare_ollama_enter(&entered, e->path, &e->arena, NULL, err));
    if (entered != e->path)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "files in a store of Ollama have the names that follow from their bytes: "
                         "write elsewhere, with -o");
    return TARE_OK;
}

/* The directory of a model in a directory format, with a trailing slash. */
static tare_status find_directory(tare_edit *e, tare_error *err) {
    tare_str path = tare_str_of(e->path);
    if (!e->format->is_directory) return TARE_OK;
    const tare_path_kind kind = tare_path_stat(e->path, NULL);
    if (kind != TARE_PATH_NOTHING && kind != TARE_PATH_FOLDER) {
        while (path.len && path.ptr[path.len - 1] != '/') path.len--;
        if (!path.len) path = TARE_STR(".");
    }
    while (path.len > 1 && path.ptr[path.len - 1] == '/') path.len--;
    e->root = tare_arena_str(&e->arena, path).ptr;
    if (e->root) e->directory = tare_join_path(&e->arena, e->root, TARE_STR("/"));
    return e->directory ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "paths");
}

static tare_status open_parts(tare_edit *e, tare_error *err) {
    tare_model *whole;
    TARE_TRY(open_model(&whole, e, e->path, false, err));
    e->format = tare_format_find(whole->format);
    const bool is_set = whole->n_files > 1 && !e->options.out_path && e->format &&
                        e->format->stored.shards == TARE_SHARDS_NUMBERED;
    const size_t n = is_set ? whole->n_files : 1;
    e->parts = TARE_NEW_ARRAY(&e->arena, tare_edit_part, n);
    if (!e->parts) {
        tare_model_free(whole);
        return tare_fail(err, TARE_ERR_NOMEM, "edit");
    }
    tare_status status = check_format(e, whole, err);
    if (status == TARE_OK) status = check_place(e, whole, err);
    if (!is_set || status != TARE_OK) {
        e->parts[e->n_parts++].model = whole;
        return status;
    }
    while (status == TARE_OK && e->n_parts < n) {
        status =
            open_model(&e->parts[e->n_parts].model, e, whole->files[e->n_parts].name, true, err);
        if (status == TARE_OK) e->n_parts++;
    }
    tare_model_free(whole);
    return status;
}

/* ---- laying out ------------------------------------------------------------------------------ */

/* An edit keeps the format, and the name of what it writes says so. */
static tare_status check_output(const tare_edit *e, tare_error *err) {
    const char *named = e->options.out_path ? tare_format_of_path(e->options.out_path) : NULL;
    if (!named || strcmp(named, e->format->name) == 0) return TARE_OK;
    tare_fail(err, TARE_ERR_ARG, "the output's name is that of another format: edit keeps it");
    tare_error_file(err, e->options.out_path);
    return TARE_ERR_ARG;
}

static tare_status lay_out(tare_edit *e, tare_edit_part *p, tare_error *err) {
    tare_convert_options o = tare_convert_options_default();
    o.to = e->format->name;
    /* A directory keeps its shards by itself, but for one that loses tensors. */
    o.keep_split = p->model->n_files > 1 && (!e->format->is_directory || p->changes.has_dropped);
    const tare_output_options output = {.size = sizeof output,
                                        .force = e->output.force || !e->options.out_path,
                                        .no_sync = e->output.no_sync,
                                        .dry_run = e->output.dry_run};
    o.output = &output;
    o.context = &e->context;
    const char *path = e->options.out_path ? e->options.out_path
                       : e->directory      ? e->directory
                                           : p->model->files[0].name;
    return tare_plan_changed(&p->plan, path, p->model, &o, &p->changes, err);
}

/* An edit that is written elsewhere must not name a file of the model. */
static void summarize_output(tare_edit *e) {
    const tare_plan_summary *s = tare_plan_summarize(e->parts[0].plan);
    e->summary.written_bytes = s->write_bytes;
}

/* The key that a step sets, in `buf` where its name is made; empty: none. */
static tare_str key_of(const tare_edit_step *step, char *buf, size_t size) {
    switch (step->kind) {
    case TARE_EDIT_SET_KEY:
        return step->name;
    case TARE_EDIT_CHAT_TEMPLATE:
        return TARE_STR("tokenizer.chat_template");
    case TARE_EDIT_SPECIAL_TOKEN:
        snprintf(buf, size, "tokenizer.ggml.%.*s_token_id", (int)step->name.len, step->name.ptr);
        return tare_str_of(buf);
    default:
        return TARE_STR("");
    }
}

/* Of two values for a key one would be dropped. */
static tare_status check_twice(const tare_edit *e, tare_error *err) {
    char buf_a[160], buf_b[160];
    for (size_t i = 0; i < e->n_steps; i++)
        for (size_t k = 0; k < i; k++) {
            const tare_str a = key_of(&e->steps[i], buf_a, sizeof buf_a);
            const tare_str b = key_of(&e->steps[k], buf_b, sizeof buf_b);
            if (a.len == 0 || !tare_str_equal(a, b)) continue;
            tare_fail(err, TARE_ERR_ARG, "two values for this key");
            tare_error_item(err, TARE_ITEM_KEY, -1, a);
            return TARE_ERR_ARG;
        }
    return TARE_OK;
}

static tare_status settle(tare_edit *e, tare_error *err) {
    TARE_TRY(check_twice(e, err));
    TARE_TRY(settle_old(e, err));
    TARE_TRY(open_parts(e, err));
    TARE_TRY(find_directory(e, err));
    TARE_TRY(check_output(e, err));
    e->summary.format = e->format->name;
    TARE_TRY(tare_edit_make_lists(e, err));
    TARE_TRY(tare_edit_list_changes(e, err));
    TARE_TRY(tare_edit_guard(e, err));
    for (size_t i = 0; i < e->n_parts; i++) TARE_TRY(lay_out(e, &e->parts[i], err));
    if (!e->options.out_path) return tare_edit_find_targets(e, err);
    summarize_output(e);
    return TARE_OK;
}

tare_status tare_edit_new(tare_edit **out, const char *path, const tare_edit_step *steps,
                          size_t n_steps, const tare_edit_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(path && (steps || n_steps == 0), err);
    tare_edit_options asked = tare_edit_options_default();
    tare_context context;
    tare_output_options output;
    tare_limits limits = tare_limits_default();
    TARE_TRY(tare_options_read(&asked, sizeof asked, options, err));
    TARE_TRY(tare_context_keep(&context, &asked.context, err));
    TARE_TRY(tare_output_keep(&output, &asked.output, err));
    TARE_TRY(tare_options_read(&limits, sizeof limits, asked.context->limits, err));
    tare_edit *e = tare_alloc(asked.context->allocator, sizeof *e);
    if (!e) return tare_fail(err, TARE_ERR_NOMEM, "edit");
    *e = (tare_edit){.options = asked, .limits = limits, .steps = steps, .n_steps = n_steps};
    e->context = context;
    e->context.limits = &e->limits;
    e->output = output;
    e->options.context = &e->context;
    e->options.output = &e->output;
    tare_arena_init(&e->arena, asked.context->allocator);
    e->path = tare_arena_str(&e->arena, tare_str_of(path)).ptr;
    if (asked.out_path)
        e->options.out_path = tare_arena_str(&e->arena, tare_str_of(asked.out_path)).ptr;
    e->n_matches = TARE_NEW_ARRAY(&e->arena, size_t, n_steps);
    tare_status status = e->path && e->n_matches && (!asked.out_path || e->options.out_path)
                             ? settle(e, err)
                             : tare_fail(err, TARE_ERR_NOMEM, "edit");
    e->steps = NULL;
    if (status == TARE_OK)
        *out = e;
    else
        tare_edit_free(e);
    return status;
}

void tare_edit_free(tare_edit *edit) {
    if (!edit) return;
    for (size_t i = 0; i < edit->n_parts; i++) {
        tare_plan_free(edit->parts[i].plan);
        tare_model_free(edit->parts[i].model);
    }
    tare_arena_free(&edit->arena);
    tare_free(edit->options.context->allocator, edit, sizeof *edit);
}

/* ---- getters --------------------------------------------------------------------------------- */

const tare_edit_summary *tare_edit_summarize(const tare_edit *edit) {
    return &edit->summary;
}

const tare_edit_change *tare_edit_change_at(const tare_edit *edit, size_t i) {
    return i < edit->summary.n_changes ? &edit->changes[i] : NULL;
}

const tare_edit_file *tare_edit_file_at(const tare_edit *edit, size_t i) {
    return i < edit->summary.n_files ? &edit->files[i] : NULL;
}

tare_status tare_edit_run(const tare_edit *edit, tare_error *err) {
    TARE_REQUIRE(edit, err);
    if (edit->output.dry_run && !edit->options.out_path) return TARE_OK;
    return tare_edit_run_watched(edit, NULL, err);
}
