/* SPDX-License-Identifier: MIT
 *
 * The models of a folder as one. */
#ifndef TARE_OPS_LADDER_LADDER_H
#define TARE_OPS_LADDER_LADDER_H

#include <tare/experimental/packing.h>
#include <tare/importance.h>

#include "format/packed.h"
#include "model/catalog.h"

/* A model among those of a folder. */
typedef struct tare_ladder_model {
    tare_str name; /* of its file, from the folder on */
    const char *path;
    tare_model *model;
    int64_t packed;  /* number of the file in the container; -1: it lies in the folder */
    uint32_t file;   /* of `all` */
    double bits;     /* a weight */
    size_t first, n; /* its tensors, among all */
} tare_ladder_model;

/* A file beside models: of these, JSON texts. */
typedef struct tare_ladder_note {
    tare_str name;
    const char *path;
    int64_t packed; /* as of models */
} tare_ladder_note;

/* What a tensor may be made of: a tensor of a model, which is one among all, or pieces of such. */
typedef struct tare_ladder_source {
    const tare_model *from;
    size_t tensor;                  /* of it */
    const tare_composition *pieces; /* of tensors among all; NULL: `from` is all */
} tare_ladder_source;

/* What llama.cpp makes of tensors of a Hugging Face directory. */
typedef struct tare_ladder_alias {
    tare_str name; /* its name for it */
    size_t model;  /* the last of those whose tensors it is made of */
    tare_ladder_source source;
} tare_ladder_alias;

/* A Hugging Face directory as llama.cpp takes it, and what that reads. */
typedef struct tare_ladder_directory {
    struct tare_ladder_directory *next;
    tare_reader *readers; /* of its files */
    size_t n_readers;
    tare_model *hf;
    tare_model *mapped[2]; /* the text model and its tower, where there are such */
} tare_ladder_directory;

typedef struct tare_ladder {
    tare_arena arena;
    tare_context context;
    tare_ladder_model *models; /* the one with most bits per weight first */
    size_t n_models, models_capacity;
    tare_importance **matrices;
    tare_str *matrix_names;
    size_t n_matrices, matrices_capacity, names_capacity;
    tare_ladder_note *notes;
    size_t n_notes, notes_capacity;
    tare_ladder_directory *directories;
    tare_ladder_alias *aliases; /* sorted by name and model */
    size_t n_aliases, aliases_capacity;
    tare_model *container;             /* that more is added to; NULL: none */
    tare_model *all;                   /* their tensors, each named "FILE::TENSOR" */
    tare_pack_derivation *derivations; /* of each tensor */
} tare_ladder;

/* Opens what lies in a folder and in its folders: GGUF, safetensors and PyTorch's files, each alone, and importance
 * matrices (files with "imatrix" in their names). */
tare_status tare_ladder_open(tare_ladder *out, const char *folder, const tare_context *context,
                             tare_error *err);
/* The files of a container, and what lies at `path`: a file, or such a folder. */
tare_status tare_ladder_open_more(tare_ladder *out, const char *container, const char *path,
                                  const tare_context *context, tare_error *err);
void tare_ladder_free(tare_ladder *ladder);
/* A file of the folder, or of the container; `path` must live as long as the reader. */
tare_status tare_ladder_reader(tare_reader *out, const tare_ladder *ladder, const char *path,
                               int64_t packed, tare_error *err);
/* Finds out what llama.cpp makes of tensors of Hugging Face directories. */
tare_status tare_ladder_name(tare_ladder *ladder, tare_error *err);
/* What has this name in a model, or is made for llama.cpp of its tensors and of those before; false:
 * nothing. */
bool tare_ladder_find(tare_ladder_source *out, const tare_ladder *ladder, size_t model,
                      tare_str name);
/* A tensor's name within its model. */
tare_str tare_ladder_tensor_name(const tare_ladder *ladder, size_t model, size_t tensor);
/* Fills `derivations`: for each tensor the way of making it that a sample speaks for. */
tare_status tare_ladder_derive(tare_ladder *ladder, tare_error *err);

#endif
