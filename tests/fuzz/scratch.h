/* SPDX-License-Identifier: MIT
 *
 * A folder of its own for targets that need files, in memory where the system has such a place. */
#ifndef TARE_FUZZ_SCRATCH_H
#define TARE_FUZZ_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* The folder's path; made at the first call, removed with its content when the program ends. */
const char *scratch_folder(void);
/* Removes everything in the folder. */
void scratch_clear(void);
/* Writes FOLDER/name. `name` has no slash. */
void scratch_write(const char *name, const uint8_t *bytes, size_t size);
/* FOLDER/name in buf. */
const char *scratch_path(char *buf, size_t size, const char *name);
/* The whole of FOLDER/name; free() it. */
uint8_t *scratch_read(const char *name, size_t *size);

#endif
