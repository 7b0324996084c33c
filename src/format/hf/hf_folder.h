/* SPDX-License-Identifier: MIT
 *
 * The contents of a Hugging Face directory, including its folders. */
#ifndef TARE_FORMAT_HF_HF_FOLDER_H
#define TARE_FORMAT_HF_HF_FOLDER_H

#include "base/files.h"
#include "format/format.h"
#include "model/catalog.h"

typedef struct tare_hf_entry {
    tare_str name; /* from the directory on, parts joined by '/'; NUL-terminated */
    uint64_t size;
    tare_path_kind kind; /* of what a link leads to; NOTHING: it leads nowhere */
    bool is_link;
    bool is_weights; /* for the caller to note */
} tare_hf_entry;

typedef struct tare_hf_folder {
    const tare_allocator *allocator;
    tare_arena arena;
    const tare_files *files;
    const char *path;       /* ends with a slash */
    tare_hf_entry *entries; /* sorted by name; of the top folder, and of those walked through */
    size_t n, capacity;
    const char *at; /* while listing: what the names of the folder at hand begin with */
} tare_hf_folder;

/* Lists a directory. *out must be freed whatever the result. */
tare_status tare_hf_list(tare_hf_folder *out, const tare_files *files, const char *path,
                         const tare_allocator *allocator, tare_error *err);
/* The same for a probe: whether it is a directory that can be listed. Without memory the probe has failed. */
bool tare_hf_probe(tare_hf_folder *out, const tare_probe *probe);
/* Replaces the folders of a listed directory by their contents. Folders that are not part of a
 * model, that a link leads to, or that have too many files stay as they are. */
tare_status tare_hf_list_folders(tare_hf_folder *folder, tare_error *err);
void tare_hf_folder_free(tare_hf_folder *folder);

tare_hf_entry *tare_hf_find(const tare_hf_folder *folder, tare_str name); /* NULL: none */
/* A file of the top folder with a suffix. */
bool tare_hf_has_suffix(const tare_hf_entry *entry, const char *suffix);

#define TARE_HF_LOST_LINK                                                                          \
    "a link whose target is gone: a download cache without the file, get it again"

/* hf_resources.c: adds the files that are no weights as resources, then those that a header has and
 * the directory lacks; what is no resource is reported, and noted where it is a loss. */
tare_status tare_hf_add_resources(tare_model *m, const tare_hf_folder *folder, tare_report *report,
                                  tare_error *err);

#endif
