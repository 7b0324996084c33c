/* SPDX-License-Identifier: MIT
 *
 * An edit from inside: edit.c opens and settles it, edit_lists.c makes the lists that a model shall
 * have, edit_value.c reads values, edit_guard.c refuses what breaks a model, edit_targets.c finds
 * what that means for each file, edit_view.c shows files as they will be, edit_run.c writes, and
 * edit_journal.c carries out what one rename cannot. edit_rename.c is for models that are not written. */
#ifndef TARE_OPS_EDIT_EDIT_STATE_H
#define TARE_OPS_EDIT_EDIT_STATE_H

#include <tare/experimental/edit.h>

#include "base/os_file.h"
#include "ops/convert/plan.h"
#include "ops/edit/edit_journal.h"

/* A model that is laid out by itself: the whole, or a file of a GGUF set. */
typedef struct tare_edit_part {
    tare_model *model;
    tare_metadata *metadata;
    size_t *key_origins; /* index among the model's; SIZE_MAX: new */
    size_t n_metadata, metadata_capacity;
    tare_str *names;
    tare_resource_entry *resources;
    size_t n_resources;
    tare_plan_changes changes;
    tare_plan *plan;
} tare_edit_part;

/* A file of the output. */
typedef struct tare_edit_target {
    const tare_edit_part *part;
    uint32_t file;         /* of the part's plan */
    bool has_tensors;      /* else `runs` is all of it */
    tare_edit_piece *runs; /* PATCHED, and WRITTEN without tensors: the new bytes */
    size_t n_runs;
    tare_file_facts was; /* PATCHED and WRITTEN: the file when it was read; no names: it is new */
} tare_edit_target;

struct tare_edit {
    tare_context context; /* of the options, which point to both */
    tare_output_options output;
    tare_edit_options options;
    tare_limits limits;
    tare_arena arena;
    const char *path;
    const char *root;      /* of a model that is a directory; NULL: a file or a set of files */
    const char *directory; /* the same with a slash at its end */
    const tare_format *format;
    const tare_edit_step *steps;
    size_t n_steps;
    size_t *n_matches; /* of each step */
    tare_edit_part *parts;
    size_t n_parts;
    tare_edit_change *changes;
    tare_edit_target *targets;
    tare_edit_file *files; /* of each target */
    tare_edit_summary summary;
};

/* The lists of all parts after the steps, and which of them differ. */
tare_status tare_edit_make_lists(tare_edit *e, tare_error *err);
/* ARG: the names of a step that renames are not of the form that they have to be. */
tare_status tare_edit_check_renaming(const tare_edit_step *s, tare_error *err);
/* A value of a type, from text. `type` NULL: that of `old`; neither: what the text looks like. */
tare_status tare_edit_value(tare_value *out, tare_str text, const char *type, const tare_value *old,
                            tare_arena *arena, const tare_limits *limits, tare_error *err);
/* The same value in another type, as text would be. */
tare_status tare_edit_retype(tare_value *out, const tare_value *old, const char *type,
                             tare_arena *arena, const tare_limits *limits, tare_error *err);
/* ARG where a change would break the model and is not forced, or is never allowed. */
tare_status tare_edit_guard(const tare_edit *e, tare_error *err);
/* Lists what differs: e->changes. */
tare_status tare_edit_list_changes(tare_edit *e, tare_error *err);
/* Determines what has to be done for each file of the plans: e->targets, e->files. */
tare_status tare_edit_find_targets(tare_edit *e, tare_error *err);
/* Opens a part as it will be and compares it with its plan. fds[i] >= 0: target i has already been
 * written there. */
tare_status tare_edit_check(const tare_edit *e, const tare_edit_part *part, const int *fds,
                            tare_error *err);
/* tare_edit_piece; `watch` is asked before each step that changes a file, NULL: nobody is. */
tare_status tare_edit_run_watched(const tare_edit *e, const tare_edit_watch *watch,
                                  tare_error *err);

#endif
