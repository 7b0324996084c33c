/* SPDX-License-Identifier: MIT
 *
 * What paths lead to. */
#ifndef TARE_BASE_OS_PATH_H
#define TARE_BASE_OS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TARE_NAME_MOST 255  /* bytes of a name, on every system that we know */
#define TARE_PATH_MOST 4096 /* bytes of a path that is kept in a fixed place, with a NUL */

typedef enum tare_path_kind {
    TARE_PATH_NOTHING = 0,
    TARE_PATH_FILE,
    TARE_PATH_FOLDER,
    TARE_PATH_OTHER, /* a device, a pipe */
    TARE_PATH_LINK,  /* only where links are not followed (os_file.h) */
    TARE_PATH_DISK,  /* a block device, only there */
} tare_path_kind;

/* Links are followed; one that leads nowhere is nothing. *os_error, which may be NULL: why nothing,
 * an errno, else 0. */
tare_path_kind tare_path_stat(const char *path, int *os_error);
/* Whether there is an entry, be it a link that leads nowhere. */
bool tare_path_has_entry(const char *path);
/* Whether a folder may be listed and searched by who runs the program: 0, or an errno. */
int tare_path_check_folder(const char *path);
/* Whether a path begins at the root of a file system. */
bool tare_path_is_whole(const char *path);
/* Whether a file of this system can have a part of a path as its name. */
bool tare_path_is_name(const char *name, size_t n);
/* The path without links, from the root on, for free(); NULL, with errno: it leads nowhere. */
char *tare_path_real(const char *path);

#endif
