/* SPDX-License-Identifier: MIT
 *
 * A model of side files only, held in memory, for tests of what is read from them. */
#ifndef TARE_TESTS_SIDE_FILES_H
#define TARE_TESTS_SIDE_FILES_H

#include "base/str.h"
#include "model/catalog.h"

typedef struct side_file {
    const char *name;
    tare_str text;
} side_file;

#define SIDE_TEXT(name, text) ((side_file){name, tare_str_of(text)})

/* The files must outlive the model; free it with tare_model_free. limits NULL: the defaults. */
static inline tare_model *model_of_files(const side_file *files, size_t n,
                                         const tare_limits *limits) {
    tare_context context = tare_context_default();
    context.limits = limits;
    tare_model *m;
    if (tare_model_new(&m, &context, NULL) != TARE_OK) return NULL;
    m->format = "hf";
    m->catalog.resources = TARE_NEW_ARRAY(&m->arena, tare_resource_entry, n);
    for (size_t i = 0; i < n; i++)
        m->catalog.resources[m->catalog.n_resources++] =
            (tare_resource_entry){.info = {tare_str_of(files[i].name), files[i].text.len},
                                  .bytes = (const uint8_t *)files[i].text.ptr};
    if (tare_model_finish(m, NULL, NULL) == TARE_OK) return m;
    tare_model_free(m);
    return NULL;
}

#endif
