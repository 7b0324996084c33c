/* SPDX-License-Identifier: MIT
 *
 * Where a broken promise of a fuzz target ends. */
#include "fuzz_check.h"

#include <stdio.h>
#include <stdlib.h>

void fuzz_broken(const char *what, const char *file, int line) {
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}
