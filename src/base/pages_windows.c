/* SPDX-License-Identifier: MIT
 *
 * Large pages need a privilege on Windows: there are none. */
#include "base/pages.h"

void tare_pages_to_fill(void *p, size_t n) {
    (void)p, (void)n;
}
