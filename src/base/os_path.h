/* SPDX-License-Identifier: MIT
 *
 * What paths lead to. */
#ifndef TARE_BASE_OS_PATH_H
#define TARE_BASE_OS_PATH_H

#include <stdbool.h>
#include <stdint.h>

typedef enum tare_path_kind {
    TARE_PATH_NOTHING = 0,
    TARE_PATH_FILE,
    TARE_PATH_FOLDER,
    TARE_PATH_OTHER, /* a device, a pipe */
} tare_path_kind;

/* Links are followed; one that leads nowhere is nothing. *os_error, which may be NULL: why nothing,
 * an errno, else 0. */
tare_path_kind tare_path_look(const char *path, int *os_error);
/* Whether there is an entry, be it a link that leads nowhere. */
bool tare_path_has_entry(const char *path);
/* Whether a folder may be listed and searched by who runs the program: 0, or an errno. */
int tare_path_check_folder(const char *path);
/* The size of an open file; false: the system does not say. */
bool tare_descriptor_size(int fd, uint64_t *size);

#endif
