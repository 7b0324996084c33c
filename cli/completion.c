/* SPDX-License-Identifier: MIT
 *
 * Completions of a shell by its name; completion_SHELL.c writes them in its language. */
#include <string.h>

#include "completion.h"

bool cli_completion(FILE *out, const char *shell) {
#define SHELL_ROW(name) {#name, cli_completion_##name},
    static const struct {
        const char *name;
        void (*write)(FILE *out);
    } shells[] = {CLI_SHELLS(SHELL_ROW)};
#undef SHELL_ROW
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, shell) != 0) continue;
        shells[i].write(out);
        return true;
    }
    return false;
}
