/* SPDX-License-Identifier: MIT
 *
 * What outfile.c and outfile_member.c both need: failures and texts. */
#include "base/outfile_set.h"

#include <string.h>

tare_status tare_outset_fail(tare_error *err, tare_status status, const char *what,
                             const char *path) {
    tare_fail(err, status, what);
    tare_error_file(err, path);
    return status;
}

tare_status tare_outset_fail_errno(tare_error *err, int os_error, const char *what,
                                   const char *path) {
    tare_status status = tare_fail_errno(err, os_error, what);
    tare_error_file(err, path);
    return status;
}

tare_status tare_outset_fail_exists(const tare_outset *set, tare_error *err) {
    tare_outset_fail(err, TARE_ERR_ARG, "the output exists", set->path);
    tare_error_code(err, TARE_CODE_OUTPUT_EXISTS);
    return TARE_ERR_ARG;
}

char *tare_outset_text(const tare_allocator *a, const char *text, size_t n, size_t *size) {
    char *copy = tare_alloc(a, n + 1);
    if (!copy) return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    *size = n + 1;
    return copy;
}
