/* SPDX-License-Identifier: MIT
 *
 * Hints to the system about memory. */
#ifndef TARE_BASE_PAGES_H
#define TARE_BASE_PAGES_H

#include <stddef.h>

/* All of n bytes at p are about to be written: where they are fresh from the system, it may use
 * large pages, which cost far less than hundreds of small ones. Changes no bytes and takes no more
 * memory, since all of it will be used. */
void tare_pages_to_fill(void *p, size_t n);

#endif
