/* SPDX-License-Identifier: MIT
 *
 * Opening an input of a fuzz target under small limits, and checking what must hold of it. */
#ifndef TARE_FUZZ_OPEN_INPUT_H
#define TARE_FUZZ_OPEN_INPUT_H

#include <tare/tare.h>

#include "fuzz_check.h"

/* Limits that keep one input within milliseconds. */
tare_limits fuzz_limits(void);

/* The bytes of an input, as a memory source and as a callback source, which checks that no
 * read goes past the end. */
typedef struct fuzz_content {
    const uint8_t *bytes;
    size_t size;
} fuzz_content;
void fuzz_sources(tare_source sources[2], fuzz_content *content);

/* Opens bytes in memory as `format` (NULL: found by content), checks what a failure must say, and
 * that a callback source ends the same way. NULL: refused. */
tare_model *fuzz_open(const uint8_t *data, size_t size, const char *format);

/* Whether an archive states checksums of members that are not theirs: nothing is made of it then. */
bool fuzz_is_damaged(const tare_model *m, const uint8_t *data, size_t size);

/* Opens, walks, reads and verifies: all that reading has. */
void fuzz_read(const uint8_t *data, size_t size, const char *format);

/* Both have the same digest and content. */
void fuzz_check_same(const tare_model *a, const tare_model *b);

/* A failure must carry its status and a text. */
void fuzz_check_error(tare_status status, const tare_error *err);
/* Whether two failures are the same to whoever reads them. */
bool fuzz_same_error(const tare_error *a, const tare_error *b);

#endif
