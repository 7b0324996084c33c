/* SPDX-License-Identifier: MIT
 *
 * Opening an input of a fuzz target under small limits, and checking what must hold of it. */
#ifndef TARE_FUZZ_OPEN_INPUT_H
#define TARE_FUZZ_OPEN_INPUT_H

#include <tare/tare.h>

#include "fuzz_check.h"

/* Limits that keep one input within milliseconds. */
tare_limits fuzz_limits(void);

/* Opens bytes in memory as `format` (NULL: found by content), checks what a failure must say, and
 * that a callback source ends the same way. NULL: refused. */
tare_model *fuzz_open(const uint8_t *data, size_t size, const char *format);

/* Opens, walks, reads and verifies: all that reading has. */
void fuzz_read(const uint8_t *data, size_t size, const char *format);

/* A failure must carry its status and a text. */
void fuzz_check_error(tare_status status, const tare_error *err);

#endif
