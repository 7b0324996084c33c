/* SPDX-License-Identifier: MIT
 *
 * What the paths of a model lead to: the file system, or the files that are packed in one file.
 * Drivers that look for files next to the one they were given go through it. */
#ifndef TARE_BASE_FILES_H
#define TARE_BASE_FILES_H

#include "base/alloc.h"
#include "base/os_path.h"
#include "base/reader.h"

/* An entry of a directory; links are followed, NOTHING is one that leads nowhere. */
typedef struct tare_files_entry {
    const char *name;
    uint64_t size;
    tare_path_kind kind;
    bool is_link;
} tare_files_entry;

typedef tare_status (*tare_files_visit)(void *ctx, const tare_files_entry *entry, tare_error *err);

typedef struct tare_files {
    tare_status (*open)(const struct tare_files *files, tare_reader *out, const char *path,
                        tare_error *err);
    tare_status (*list)(const struct tare_files *files, const char *path, tare_files_visit visit,
                        void *ctx, tare_error *err);
} tare_files;

/* As tare_reader_open. `files` NULL: the file system. */
tare_status tare_files_open(const tare_files *files, tare_reader *out, const char *path,
                            tare_map_mode map, tare_error *err);
/* Hands the entries of a directory to `visit`, in any order, without "." and "..", until it fails.
 */
tare_status tare_files_list(const tare_files *files, const char *path, tare_files_visit visit,
                            void *ctx, tare_error *err);

/* Files of a directory and of its folders as a sorted list of paths. */
typedef struct tare_file_list {
    size_t n;
    /* The path of file i within the directory; *entry gets all but its name. */
    tare_str (*at)(const void *ctx, size_t i, tare_files_entry *entry);
    const void *ctx;
} tare_file_list;

/* As tare_files_list, for a folder in it ("": itself). Names are made in the arena. */
tare_status tare_file_list_visit(const tare_file_list *list, tare_str folder, tare_arena *arena,
                                 tare_files_visit visit, void *ctx, tare_error *err);
/* The same by a path, where the list is what lies in the directory of the path `root`. */
tare_status tare_file_list_at(const tare_file_list *list, const char *root, const char *path,
                              tare_arena *arena, tare_files_visit visit, void *ctx,
                              tare_error *err);
/* The part of a path after that of a directory; NULL: it is not inside. */
const char *tare_path_within(const char *root, const char *path);

/* directory + name in the arena; NULL: memory is out. */
const char *tare_join_path(tare_arena *arena, const char *directory, tare_str name);
/* Whether a path's last part names something that programs keep next to a model and that should not
 * be copied with it: version control data, download caches and what tells of a download that has not
 * ended, what macOS knows about a file ("._NAME"), temporaries of our own. */
bool tare_files_is_bookkeeping(tare_str path);
/* A valid file name in a directory: not empty, "." or "..", without '/' and NUL. */
bool tare_is_plain_name(tare_str name);
/* Plain names separated by '/': a file in a subfolder of the directory. */
bool tare_is_inner_path(tare_str path);

#endif
