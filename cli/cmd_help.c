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
        if (is_man)
            cli_man_all(stdout);
        else
            cli_help_all(stdout, NULL);
        return CLI_YES;
    }
    const cli_command *command = cli_command_find(argv[0]);
    if (!command) {
        char *word = cli_escape_path(argv[0]);
        cli_usage(&cmd_help, "no command \"%s\"%s", word, cli_command_guess(argv[0]).text);
        free(word);
        return CLI_USAGE;
    }
    if (is_man)
        cli_man_command(stdout, command);
    else
        cli_page(cli_help_command, command);
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
    .main = "man list",
    .complete = CLI_COMPLETE_COMMAND,
    .max_args = 1,
    .run = run,
};
