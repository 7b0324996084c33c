/* SPDX-License-Identifier: MIT
 *
 * The one table of commands. */
#include <string.h>

#include "commands.h"

static const cli_command *const commands[] = {
    &cmd_info,    &cmd_verify, &cmd_convert, &cmd_quantize, &cmd_pack,       &cmd_unpack, &cmd_diff,
    &cmd_extract, &cmd_bench,  &cmd_synth,   &cmd_name,     &cmd_completion, &cmd_help,
};

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
