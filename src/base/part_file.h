/* SPDX-License-Identifier: MIT
 *
 * A file that grows from its beginning under a name of its own, over several runs if need be, and gets
 * its final name when it is complete. Whoever was killed leaves what was written, to go on from. */
#ifndef TARE_BASE_PART_FILE_H
#define TARE_BASE_PART_FILE_H

#include "base/status.h"

typedef struct tare_part_file {
    int fd;        /* -1: not open */
    uint64_t size; /* that is there */
} tare_part_file;

/* Opens or makes the file at `path`, and the folders that lead to it; nobody else writes it meanwhile,
 * and it is the file of that name, not one that has just got its final name. IO: somebody does. */
tare_status tare_part_open(tare_part_file *out, const char *path, tare_error *err);
tare_status tare_part_append(tare_part_file *part, const void *bytes, size_t n, tare_error *err);
/* Exactly n bytes of what is there. */
tare_status tare_part_read(const tare_part_file *part, uint64_t offset, void *buf, size_t n,
                           tare_error *err);
/* Empties it. */
tare_status tare_part_restart(tare_part_file *part, tare_error *err);
/* Gives it the name `to`, in the same folder, or copies it there where nothing can be renamed; unless
 * `no_sync`, durably. Closes it. */
tare_status tare_part_finish(tare_part_file *part, const char *path, const char *to, bool no_sync,
                             tare_error *err);
/* Closes it and leaves it where it is. */
void tare_part_close(tare_part_file *part);

#endif
