/* SPDX-License-Identifier: MIT
 *
 * A zip archive as a directory: its stored members are read where they lie, which is how programs with
 * a model in them (llamafile) have it. */
#ifndef TARE_FORMAT_ZIP_FOLDER_H
#define TARE_FORMAT_ZIP_FOLDER_H

#include "base/files.h"
#include "base/zip.h"

/* Whether a file with this beginning is an archive, or a program that has one behind it. */
bool tare_zip_is_folder(tare_str head);

typedef struct tare_zip_folder {
    tare_files files; /* first: what drivers are handed */
    tare_arena arena;
    tare_map_mode map;
    const char *path;         /* of the archive, which stands for the folder in paths */
    tare_zip_member **sorted; /* by name, without folders; those of one name once */
    size_t n;
} tare_zip_folder;

/* The archive at a path of the file system. To be ended whatever comes back. */
tare_status tare_zip_folder_begin(tare_zip_folder *out, const char *path, tare_map_mode map,
                                  const tare_allocator *allocator, tare_error *err);
void tare_zip_folder_end(tare_zip_folder *folder);
/* Whether it has a member of this name, or, with is_folder, members below it. */
bool tare_zip_folder_has(const tare_zip_folder *folder, tare_str name, bool *is_folder);
/* The folder that all members are in; empty: they are in several, or in none. */
tare_str tare_zip_folder_only(const tare_zip_folder *folder);

#endif
