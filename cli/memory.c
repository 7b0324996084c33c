/* SPDX-License-Identifier: MIT
 *
 * Memory of the command's own. It needs little; if even that is not available, the command says so
 * and exits. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

void *cli_checked(void *ptr) {
    if (ptr) return ptr;
    fputs("tare: out of memory\n", cli_error_stream());
    exit(CLI_MEMORY);
}

void *cli_alloc(size_t n, size_t size) {
    return cli_checked(calloc(n ? n : 1, size));
}

void *cli_grow(void *ptr, size_t n, size_t size) {
    return cli_checked(n > SIZE_MAX / size ? NULL : realloc(ptr, n * size));
}

char *cli_copy(const char *text, size_t n) {
    char *copy = cli_checked(malloc(n + 1));
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

tare_report *cli_report_new(void) {
    return cli_checked(tare_report_new());
}
