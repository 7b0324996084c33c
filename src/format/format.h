/* SPDX-License-Identifier: MIT
 *
 * A format driver: probe, open, plan. Adding a container takes one driver and one row in
 * drivers.c. Moving the bytes of a plan is done elsewhere (ops/convert/execute.c). */
#ifndef TARE_FORMAT_FORMAT_H
#define TARE_FORMAT_FORMAT_H

#include "base/files.h"
#include "format/batched.h"
#include "format/packed.h"
#include "model/catalog.h"
#include "model/stand_in.h"
#include "model/write_plan.h"

#define TARE_PROBE_BYTES 4096

/* The input of a probe. */
typedef struct tare_probe {
    const char *path;    /* PATH sources, else NULL */
    bool is_directory;   /* then head is empty */
    const uint8_t *head; /* the first bytes of the file */
    size_t head_size;    /* min(TARE_PROBE_BYTES, file size) */
    uint64_t file_size;
    const tare_files *files; /* what paths lead to; NULL: the file system */
    tare_status *failed;     /* out: why a probe could not find out; NULL: nobody asks */
} tare_probe;

typedef struct tare_open_context {
    const tare_source *source;
    const tare_open_options *options; /* complete, never NULL */
    const tare_probe *probe;
    tare_reader *first; /* the open reader of the source (not for directories and SHARDS): a driver
                           that takes it over passes it to tare_model_add_file and sets its fd -1 */
    tare_blocks **blocks; /* of the source's files: for tare_source_open */
    tare_str inner;       /* the file in a packed container that is meant; empty: all of it */
} tare_open_context;

/* Opening. A driver needs no more than `probe` and `open`. */
typedef struct tare_format_read {
    /* Whether the input is of this format, by content. */
    bool (*probe)(const tare_probe *probe);
    /* Fills m (files, catalog, directory_bytes; a layout, if there is more to say of the file than
     * the catalog does) and ends with tare_model_finish. Findings that are not errors go to
     * options->report. */
    tare_status (*open)(tare_model *m, const tare_open_context *ctx, tare_error *err);
    /* The file through which an open model of this format was found, if it is not one of its files:
     * an index of shards, its path and its text. False, or a NULL hook: there is none. */
    bool (*found_by)(const char **path, tare_str *text, const tare_model *m);
    /* Whether a name with the format's suffix is that of a part of a model, by which it is not to be
     * listed. NULL: files are models. */
    bool (*is_part)(tare_str name);
} tare_format_read;

/* Writing. Without `plan` the format is not written. */
typedef struct tare_format_write {
    uint32_t version;               /* that is written; 0: the format has none */
    tare_encoding_id floats_become; /* unless something else is asked for; UNKNOWN: they stay */
    /* Lays out `catalog` (target tensors: encoding, shape, sizes; planes of the source layout only
     * when is_identity, which it can be where the layout is_kept). */
    tare_status (*plan)(tare_write_plan *out, const tare_catalog *catalog,
                        const tare_write_options *options, tare_error *err);
    /* Makes the file, whose size is not known in advance, from what `plan` has laid out, which is
     * kept in temporary storage, and from what is taken unchanged from the input. Such a format
     * stores differences from base models, too. NULL: what `plan` lays out is the output. */
    tare_status (*pack)(tare_pack_outcome *out, const tare_pack_job *job, tare_error *err);
    /* Turns the resources of a target's catalog, which are the source's, into what the program
     * named by tare_compat would make of them. Changed or added resources have bytes, in the arena;
     * the others keep their numbers. NULL: only number formats differ. */
    tare_status (*imitate)(tare_catalog *catalog, const tare_model *source, tare_arena *arena,
                           tare_report *report, tare_error *err);
    /* Brings keys that say which types tensors have up to date with a target's catalog. NULL: those
     * are GGUF's. */
    void (*restate)(tare_catalog *catalog);
} tare_format_write;

/* The form of keys of metadata. */
typedef enum tare_key_form {
    TARE_KEY_FORM_CARRIED = 0, /* in a record of ours: the format has none */
    TARE_KEY_FORM_TYPED = 1,   /* as GGUF has them */
    TARE_KEY_FORM_PAIRS = 2,   /* new ones are pairs of strings */
} tare_key_form;

/* What the shards of a set say of each other. */
typedef enum tare_format_shards {
    TARE_SHARDS_LISTED = 0, /* an index or a manifest has their tensors */
    TARE_SHARDS_NUMBERED =
        1, /* each has its number and how many they are, so that it counts without
                                 tensors, too; none says what is in the others */
} tare_format_shards;

/* What can be in the files beside tensors, keys and resources: bits of a set. */
typedef enum tare_format_extra {
    TARE_EXTRA_BOUNDS = 1 << 0,   /* catalog.bounds: of the values of quantized tensors */
    TARE_EXTRA_SAME = 1 << 1,     /* extras.same_as: tensors of the same bytes are stored once */
    TARE_EXTRA_ADAPTERS = 1 << 2, /* extras.adapters */
    TARE_EXTRA_FILES = 1 << 3,    /* side files, although it is no directory */
} tare_format_extra;

/* What is known of the files, where verbs depend on it; zeros are what most formats have. */
typedef struct tare_format_stored {
    tare_format_program program;
    tare_key_form keys;
    tare_format_shards shards;
    unsigned extras;   /* tare_format_extra */
    bool has_one_type; /* all matrices: mixes have no exceptions */
} tare_format_stored;

typedef struct tare_format {
    const char *name; /* "gguf" */
    const char *description;
    const char *suffix; /* ".gguf", "" for directories */
    bool is_directory;
    const char *main_file; /* of a directory: what it is known by; NULL: files with suffixes */
    const tare_format_caps *caps;
    tare_format_read read;
    tare_format_write write;
    tare_format_stored stored;
} tare_format;

extern const tare_format tare_format_gguf;
extern const tare_format tare_format_safetensors;
extern const tare_format tare_format_hf;
extern const tare_format tare_format_mcf;
extern const tare_format tare_format_infq;
extern const tare_format tare_format_wcodec;
extern const tare_format tare_format_torch;
extern const tare_format tare_format_numpy;
extern const tare_format tare_format_onnx;
extern const tare_format tare_format_tflite;
extern const tare_format tare_format_whisper;
extern const tare_format tare_format_dcp;
extern const tare_format tare_format_flax;
extern const tare_format tare_format_meta;

/* tare_model_open, except for the options about bases. The options are complete. */
tare_status tare_format_open(tare_model **out, const tare_source *source,
                             const tare_open_options *options, tare_error *err);

/* Has a driver fill a new model, whose layout then says that it is the driver's. */
tare_status tare_driver_open(tare_model *m, const tare_format *format, const tare_open_context *ctx,
                             tare_error *err);

/* A caller's source, complete. */
tare_status tare_source_read(tare_source *out, const tare_source *theirs, tare_error *err);
/* Shard i of a set, as the caller has it. */
const tare_source *tare_source_shard(const tare_source *set, size_t i);
/* Opens the reader of a source of one file. A directory is ERR_ARG. *blocks, to be released by the
 * caller, is what files that are read in batches share; NULL at first. */
tare_status tare_source_open(tare_reader *out, const tare_source *source, tare_map_mode map,
                             tare_blocks **blocks, tare_error *err);

/* The files of a FOLDER source as a directory, for drivers. */
typedef struct tare_folder {
    tare_files files; /* first: what drivers are handed */
    tare_arena arena;
    const tare_source *set;
    tare_blocks **blocks;
    const char *root;     /* what stands for the folder in paths */
    tare_source **sorted; /* by name; our copies */
    size_t n;
} tare_folder;

/* To be ended whatever comes back. ERR_ARG: a file without a name, or one that leaves the folder or
 * is there twice. */
tare_status tare_folder_begin(tare_folder *out, const tare_source *source, tare_blocks **blocks,
                              const tare_allocator *allocator, tare_error *err);
void tare_folder_end(tare_folder *folder);

extern const tare_format *const tare_formats[]; /* drivers.c; NULL ends */
const tare_format *tare_format_row(size_t i);   /* NULL beyond the end */
const tare_format *tare_format_find(const char *name);
/* The one that files are packed into; NULL: none is. */
const tare_format *tare_format_packing(void);
/* That of an output: by its name (NULL: none is asked for), else by the suffix of its path (NULL: a
 * descriptor). ERR_ARG. */
tare_status tare_format_of_output(const tare_format **out, const char *name, const char *path,
                                  tare_error *err);

/* Lists the folder of a probe; what keeps it from being read is no word about what the folder is. */
static inline bool tare_probe_list(const tare_probe *p, tare_files_visit visit, void *ctx) {
    const tare_status status = tare_files_list(p->files, p->path, visit, ctx, NULL);
    if (p->failed && (status == TARE_ERR_IO || status == TARE_ERR_NOMEM)) *p->failed = status;
    return status == TARE_OK;
}

/* The first bytes, as a text. */
static inline tare_str tare_probe_text(const tare_probe *probe) {
    return (tare_str){(const char *)probe->head, probe->head_size};
}

/* What a directory is that is no model of a known format, and what to do about it, for
 * tare_error.what. NULL: unknown. */
const char *tare_foreign_folder(const tare_files *files, const char *path);

/* Warns of each file of an open model that was split into parts, or that a program was still
 * downloading: a cut file with the name of such a one, a file with what that program keeps beside
 * it. */
void tare_note_unfinished(const tare_model *m, tare_report *report);
/* That a file's name is that of a part of a split file, or of a download that has not ended; NULL:
 * neither. */
const char *tare_said_by_file_name(tare_str name);
/* After a failure to open a file: adds to the error what its name says of that kind. */
void tare_blame_unfinished(const char *path, tare_status status, tare_error *err);

/* The shared layout check, for drivers. Ranges are absolute in their file. It sorts them and
 * proves: aligned to `alignment` from `base`, inside [base, end), not overlapping (unless
 * aliases are allowed: equal ranges); collects fillers (the rest of [base, end)). Data beyond
 * `end` is a finding (and file->is_truncated) when may_be_truncated, else TRUNCATED. */
typedef struct tare_layout_rules {
    uint32_t file;
    size_t first_tensor;   /* the tensors of the file begin here: checking a set stays linear */
    uint64_t padding_from; /* padding from here to base is the first filler; 0: there is none */
    uint64_t base, end;
    uint32_t alignment;
    bool allows_gaps;
    bool allows_aliases;
    bool may_be_truncated;
    const char *truncated_code; /* of the finding: "gguf.truncated-data" */
    /* The offset at which the directory states a tensor's location, for errors; NULL: its record.
     */
    uint64_t (*place)(const void *ctx, size_t tensor);
    const void *place_ctx;
} tare_layout_rules;

tare_status tare_layout_check(tare_model *m, const tare_layout_rules *rules, tare_filler **fillers,
                              size_t *n_fillers, tare_report *report, tare_error *err);
/* What holds of every driver's models: data lie in their files, but for those of a file that the
 * driver has reported as cut short. TRUNCATED: they do not. */
tare_status tare_layout_within_files(const tare_model *m, tare_error *err);

#endif
