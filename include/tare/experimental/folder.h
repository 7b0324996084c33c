/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/folder.h: folders that hold several models, as programs that run GGUF keep them.
 */
#ifndef TARE_EXPERIMENTAL_FOLDER_H
#define TARE_EXPERIMENTAL_FOLDER_H

#include <tare/base.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The models in a folder. */
typedef struct tare_folder_models tare_folder_models;

/* Lists the models in a folder of several, which tare_model_open does not open: files whose names
 * have a suffix of a format, the first of those that belong together, in the order of their names; of
 * its folders those of GGUF. `source`: a path or a URL; of hf://ORG/NAME:TYPE the models of that type, or
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

#ifdef __cplusplus
}
#endif
#endif
