/* SPDX-License-Identifier: MIT
 *
 * The one table of commands. */
#include <string.h>

#include "commands.h"

#define COMMAND_ROW(name) &cmd_##name,
static const cli_command *const commands[] = {CLI_COMMANDS(COMMAND_ROW)};

const cli_command *cli_command_at(size_t i) {
    return i < sizeof commands / sizeof *commands ? commands[i] : NULL;
}

const cli_command *cli_command_find(const char *name) {
    for (size_t i = 0; cli_command_at(i); i++) {
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    }
    return NULL;
}

static const char *command_name_at(void *ctx, size_t i) {
    (void)ctx;
    const cli_command *command = cli_command_at(i);
    return command ? command->name : NULL;
}

const char *cli_command_nearest(const char *word) {
    return cli_nearest(word, command_name_at, NULL);
}
