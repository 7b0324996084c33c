/* SPDX-License-Identifier: MIT
 *
 * Standard output, a pipe: descriptors that are written from one end to the other. */
#ifndef TARE_BASE_DESCRIPTOR_H
#define TARE_BASE_DESCRIPTOR_H

#include <stddef.h>

#include "base/status.h"

/* Writes all n bytes; an error has the code TARE_CODE_OUTPUT_WRITE. */
tare_status tare_descriptor_write(int fd, const void *bytes, size_t n, tare_error *err);

#endif
