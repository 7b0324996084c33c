/* SPDX-License-Identifier: MIT
 *
 * tare help: help and manual pages. */
#include <stdlib.h>

#include "commands.h"

static bool is_man, is_list;

static const cli_option options[] = {
    {.name = "man",
     .help = "print the manual page as roff (see it with man -l -)",
     .flag = &is_man},
    {.name = "list", .help = "print the names of the commands, for scripts", .flag = &is_list},
    {0},
};

static int run(int argc, const char **argv) {
    if (is_list) {
        for (size_t i = 0; cli_command_at(i); i++) puts(cli_command_at(i)->name);
        return CLI_YES;
    }
    if (argc == 0) {
        (is_man ? cli_man_all : cli_help_all)(stdout);
        return CLI_YES;
    }
    const cli_command *command = cli_command_find(argv[0]);
    if (!command) {
        const char *nearest = cli_command_nearest(argv[0]);
        char *word = cli_escape_path(argv[0]);
        cli_usage(&cmd_help, nearest ? "no command \"%s\"; did you mean %s?" : "no command \"%s\"",
                  word, nearest);
        free(word);
        return CLI_USAGE;
    }
    (is_man ? cli_man_command : cli_help_command)(stdout, command);
    return CLI_YES;
}

const cli_command cmd_help = {
    .name = "help",
    .summary = "show help, or a manual page",
    .usage = "[COMMAND] [--man | --list]",
    .description = "Without COMMAND: what tare can do, in a few lines.",
    .examples = {{"tare help convert", "examples and options of one command"},
                 {"tare help --man convert | man -l -", "the same as a manual page"}},
    .options = options,
    .complete = CLI_COMPLETE_COMMAND,
    .max_args = 1,
    .run = run,
};
