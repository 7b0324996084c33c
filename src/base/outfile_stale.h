/* SPDX-License-Identifier: MIT
 *
 * The names of temporaries, and the removal of those whose run is dead. */
#ifndef TARE_BASE_OUTFILE_STALE_H
#define TARE_BASE_OUTFILE_STALE_H

#include <stdbool.h>

#include <tare/base.h>

#define TARE_TEMP_NAME_SIZE 256 /* NAME_MAX of every system we know, and a NUL */

#define TARE_FOLDERS_MOST                                                                          \
    32 /* levels of folders in an output; each takes a descriptor to remove                        \
        */

/* n random characters [0-9A-Za-z] and a NUL; another process will not draw the same ones. */
void tare_random_name(char *out, size_t n);
/* Writes a fresh .OUT.tare-XXXXXX; a long OUT is cut so that the whole fits. */
void tare_temp_name(char out[TARE_TEMP_NAME_SIZE], const char *final_name);
/* Whether a name is that of a temporary. */
bool tare_is_temp_name(tare_str name);
/* Removes the temporaries of `final_name` in a directory whose lock is free, and reports each
 * ("output.stale"; NULL: to nobody). Anything that cannot be inspected or removed stays: it does no
 * harm. */
void tare_remove_stale(int parent_fd, const char *final_name, tare_report *report);
/* Removes a file, or a directory and its contents, including up to `depth` levels of folders; 0:
 * the directory and the files in it. Deeper folders stay, and the directory with them. */
void tare_remove_tree(int parent_fd, const char *name, unsigned depth);
/* Whether a directory has subdirectories. 0, or an errno. */
int tare_directory_is_flat(int parent_fd, const char *name, bool *has_subdirectory);

#endif
