/* SPDX-License-Identifier: MIT
 *
 * Options in texts of the library. It names them between backquotes, with a value where one is meant,
 * and each front end spells them as its users write them. */
#include <string.h>

#include "cli.h"

static bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_of_value(char c) {
    return is_of_name(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Where the option that `at` begins ends: the second backquote; NULL: it is none. */
static char *end_of_option(char *at, size_t *n_name) {
    char *end = at + 1;
    while (is_of_name(*end)) end++;
    *n_name = (size_t)(end - at) - 1;
    if (*end == ' ')
        for (end++; is_of_value(*end);) end++;
    return *n_name && *end == '`' ? end : NULL;
}

void cli_spell(char *text) {
    for (char *at = text; (at = strchr(at, '`')) != NULL;) {
        size_t n;
        char *end = end_of_option(at, &n);
        if (!end) {
            at++;
            continue;
        }
        /* As long as before: two dashes for two backquotes. */
        memmove(at + 2, at + 1, (size_t)(end - at) - 1);
        memcpy(at, "--", 2);
        for (size_t i = 2; i < n + 2; i++)
            if (at[i] == '_') at[i] = '-';
        at = end;
    }
}
