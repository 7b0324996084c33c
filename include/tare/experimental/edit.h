/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/edit.h: changes keys, names and the set of tensors of a model, keeping its format. Tensor
 * data is never altered, and it is not moved either if the new directory fits in the space of the
 * old one. docs/edit.md describes what is atomic, and how.
 *
 * Threads: an edit belongs to one thread at a time.
 */
#ifndef TARE_EXPERIMENTAL_EDIT_H
#define TARE_EXPERIMENTAL_EDIT_H

#include <tare/base.h>
#include <tare/model.h>
#include <tare/output.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- edit steps ------------------------------------------------------------------------------ */

/* Patterns for keys and tensors are those of a shell: * ? [...], where * also matches dots and
 * slashes. A name to be renamed contains at most one *; a * in the new name stands for what it
 * matched. */
typedef enum tare_edit_kind {
    TARE_EDIT_SET_KEY = 0,        /* name = text, of type `type`, else of the key's existing type */
    TARE_EDIT_REMOVE_KEYS = 1,    /* name: a pattern */
    TARE_EDIT_RENAME_KEYS = 2,    /* name becomes text */
    TARE_EDIT_TYPE_KEY = 3,       /* converts the value of the key `name` to `type` */
    TARE_EDIT_RENAME_TENSORS = 4, /* name becomes text */
    TARE_EDIT_DROP_TENSORS = 5,   /* name: a pattern */
    TARE_EDIT_KEEP_TENSORS = 6,   /* name: a pattern; tensors that no step of this kind matches are
                                     dropped */
    TARE_EDIT_CHAT_TEMPLATE = 7,  /* text: the template, stored where the format keeps it */
    TARE_EDIT_SPECIAL_TOKEN = 8,  /* tokenizer.ggml.NAME_token_id = the id of the token `text` */
} tare_edit_kind;

/* One step; texts are borrowed until tare_edit_new returns. Values are written as JSON: 7, -0.5,
 * true, ["a", "b"]; a string is given as it is, without quotes. */
typedef struct tare_edit_step {
    tare_edit_kind kind;
    tare_str name, text;
    const char *type; /* "u32", "string", "i32[]", ...; NULL: the key's own, else what fits */
} tare_edit_step;

/* Where the bytes go. */
typedef enum tare_edit_way {
    TARE_EDIT_AUTO = 0,     /* data stays where it is if the directory fits; otherwise the file is
                               laid out anew, as by a conversion */
    TARE_EDIT_IN_PLACE = 1, /* UNSUPPORTED where the directory does not fit */
    TARE_EDIT_REWRITE = 2,  /* always laid out anew */
} tare_edit_way;

typedef struct tare_edit_options {
    size_t size;
    const tare_context *context; /* NULL: the defaults */
    /* NULL: the defaults. `force` also allows changes that can keep a program from loading the
     * model */
    const tare_output_options *output;
    const char *out_path; /* NULL: the model itself is changed */
    tare_edit_way way;
    uint64_t spare; /* bytes to leave free for later edits when a directory is laid out anew */
    bool keep_time; /* keep the modification time; backup programs that compare time and size then
                       miss the change */
} tare_edit_options;

TARE_DECLARE_INIT(tare_edit_options)

/* ---- an edit --------------------------------------------------------------------------------- */

typedef struct tare_edit tare_edit;

/* Opens the model at `path` (a file, a member of a set, a directory) and works out the result of
 * the steps, in order. Nothing is written, except that an interrupted earlier edit of the model is
 * finished or undone first (a finding "edit.finished" or "edit.undone"), unless it is a dry run (which
 * tare_edit_run leaves at that) or goes to another path. ERR_ARG: a step is wrong
 * or matches nothing, two set one key, or its effect is refused (TARE_CODE_EDIT_REFUSED) and `force` is off.
 * UNSUPPORTED: the format cannot be edited, or cannot store the result. */
TARE_API tare_status tare_edit_new(tare_edit **out, const char *path, const tare_edit_step *steps,
                                   size_t n_steps, const tare_edit_options *options,
                                   tare_error *err);
TARE_API void tare_edit_free(tare_edit *edit);

/* A model whose tensors have other names, as steps TARE_EDIT_RENAME_TENSORS give them in this order, for
 * verbs that make something of it. Nothing is written, and `in` must outlive *out. Of `options` its context
 * counts. ERR_ARG: a step of another kind, one whose names are not of that form or that matches nothing,
 * or two tensors that would have one name. */
TARE_API tare_status tare_tensors_rename(tare_model **out, const tare_model *in,
                                         const tare_edit_step *steps, size_t n_steps,
                                         const tare_open_options *options, tare_error *err);

/* The error code of a change that only `force` allows. */
#define TARE_CODE_EDIT_REFUSED "edit.refused"

/* The error of an edit that began and could not be finished: tare_edit_recover finishes it once the
 * cause is removed. */
#define TARE_CODE_EDIT_BEGUN "edit.begun"

typedef struct tare_edit_summary {
    const char *format;
    size_t n_changes; /* 0: the model already is as requested, and running writes nothing */
    size_t n_files;
    bool is_in_place;       /* no data moves */
    uint64_t changed_bytes; /* of files whose data stays where it is */
    uint64_t written_bytes; /* of files that are written anew */
} tare_edit_summary;

/* Valid as long as the edit. */
TARE_API const tare_edit_summary *tare_edit_summarize(const tare_edit *edit);

/* A difference: a key, a tensor or a side file, as it was (NULL: new) and as it will be (NULL:
 * removed). Valid as long as the edit. */
typedef struct tare_edit_change {
    tare_item_kind kind; /* KEY, TENSOR or RESOURCE */
    const tare_metadata *old_key, *new_key;
    const tare_tensor *old_tensor, *new_tensor; /* the new one: name, type and shape */
    const tare_resource *old_resource, *new_resource;
} tare_edit_change;

/* Change i, keys first; NULL beyond the end. */
TARE_API const tare_edit_change *tare_edit_change_at(const tare_edit *edit, size_t i);

typedef enum tare_edit_action {
    TARE_EDIT_KEPT = 0,    /* nothing in it changes */
    TARE_EDIT_PATCHED = 1, /* some bytes of it change */
    TARE_EDIT_WRITTEN = 2, /* it is written anew */
} tare_edit_action;

typedef struct tare_edit_file {
    const char *path;
    tare_edit_action action;
    uint64_t old_size, new_size; /* old_size 0: it is new */
    uint64_t changed_bytes;      /* PATCHED: bytes of all runs, each from the first to the last byte
                                    that differs */
} tare_edit_file;

/* File i; NULL beyond the end. */
TARE_API const tare_edit_file *tare_edit_file_at(const tare_edit *edit, size_t i);

/* Runs the edit. On failure the model is unchanged, except with TARE_CODE_EDIT_BEGUN. ERR_IO: a file
 * changed since tare_edit_new, or cannot be written. */
TARE_API tare_status tare_edit_run(const tare_edit *edit, tare_error *err);

typedef enum tare_edit_recovery {
    TARE_EDIT_NOTHING = 0,
    TARE_EDIT_UNDONE = 1,   /* it had not yet changed any file */
    TARE_EDIT_FINISHED = 2, /* the remaining changes were made */
} tare_edit_recovery;

/* Finishes or undoes an edit of the model at `path` that was interrupted, as tare_edit_new does. */
TARE_API tare_status tare_edit_recover(tare_edit_recovery *out, const char *path,
                                       const tare_allocator *allocator, tare_error *err);

/* Whether a key of a GGUF file is that of a special token: tokenizer.ggml.eot_token_id. */
TARE_API bool tare_edit_is_special_token(tare_str key);

#ifdef __cplusplus
}
#endif
#endif
