/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/folder.h: folders that hold several models, as programs that run GGUF keep them, and
 * stores of Ollama.
 */
#ifndef TARE_EXPERIMENTAL_FOLDER_H
#define TARE_EXPERIMENTAL_FOLDER_H

#include <tare/base.h>
#include <tare/model.h>
#include <tare/output.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The models in a folder. */
typedef struct tare_folder_models tare_folder_models;

/* Lists the models in a folder of several, which tare_model_open does not open: files whose names
 * have a suffix of a format, the first of those that belong together, in the order of their names; of
 * its folders those of GGUF; of a pipeline of diffusers the folders of its models, with those that its
 * index names and that are missing. `source`: a path or a URL; of hf://ORG/NAME:TYPE the models of that type, or
 * all where none is. Empty: it is no folder, or one of a single model. Reads names only, and
 * opens the folder if it may be one model. To be freed. */
TARE_API tare_status tare_folder_models_list(tare_folder_models **out, const tare_source *source,
                                             tare_error *err);
/* How many they are; list may be NULL. */
TARE_API size_t tare_folder_models_count(const tare_folder_models *list);
/* The name of model i in the folder, and its path or URL; "" beyond the end. Both live as long as the
 * list. */
TARE_API const char *tare_folder_models_name(const tare_folder_models *list, size_t i);
TARE_API const char *tare_folder_models_path(const tare_folder_models *list, size_t i);
/* NULL is fine. */
TARE_API void tare_folder_models_free(tare_folder_models *list);

/* ---- a store of Ollama ------------------------------------------------------------------------ */

/* A store is a folder ROOT with the folders "blobs" and "manifests"; the model NAME:TAG is what
 * ROOT/manifests/registry.ollama.ai/library/NAME/TAG lists. */

/* Before a model is written for it: whether there is a store and room for its name (`force`: one that is
 * there is replaced). Makes the folders that lead to `weights`, a path in ROOT/blobs, but in a dry run.
 * `output` NULL: the defaults. ERR_ARG: no such path, no store, or the name is taken
 * (TARE_CODE_OUTPUT_EXISTS). */
TARE_API tare_status tare_ollama_begin(const char *manifest, const char *weights,
                                       const tare_output_options *output, tare_error *err);
/* A GGUF file in ROOT/blobs, under any name, becomes the model of that manifest: it gets the name that
 * follows from its bytes, or is removed where the store has it, and the manifest is written last. There is
 * no layer for its template (a finding "ollama.no-template", if it has one). Errors as above, and of
 * opening `weights`, after any of which it may still lie there. */
TARE_API tare_status tare_ollama_add(const char *manifest, const char *weights,
                                     const tare_output_options *output, const tare_context *context,
                                     tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
