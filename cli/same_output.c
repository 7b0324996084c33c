/* SPDX-License-Identifier: MIT
 *
 * Whether two outputs, which need not be there yet, would be one file. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "system.h"

/* A path by the true name of its directory: the file need not be there yet. NULL: no directory. */
static char *resolved(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *given = slash ? cli_copy(path, (size_t)(name - path)) : cli_copy(".", 1);
    char *dir = cli_true_path(given), *whole = NULL;
    free(given);
    if (!dir) return NULL;
    const size_t size = strlen(dir) + strlen(name) + 2;
    whole = cli_grow(NULL, size, 1);
    snprintf(whole, size, "%s/%s", dir, name);
    free(dir);
    return whole;
}

bool cli_is_same_output(const char *a, const char *b) {
    char *one = resolved(a), *other = resolved(b);
    const bool is_same = one && other && strcmp(one, other) == 0;
    free(one);
    free(other);
    return is_same;
}
