/* SPDX-License-Identifier: MIT
 *
 * tare completion: what a shell loads to complete tare's commands and options. */
#include <stdlib.h>

#include "commands.h"

static int run(int argc, const char **argv) {
    (void)argc;
    if (cli_completion(stdout, argv[0])) return CLI_YES;
    char *word = cli_escape_path(argv[0]);
    int code = cli_usage(&cmd_completion, "no completion for \"%s\": bash, zsh or fish", word);
    free(word);
    return code;
}

const cli_command cmd_completion = {
    .name = "completion",
    .summary = "print completions for a shell",
    .usage = "bash|zsh|fish",
    .description = "An installed tare has these files already.",
    .examples = {{"source <(tare completion bash)", "in this shell, now"},
                 {"tare completion zsh > ~/.zfunc/_tare", "for zsh, where ~/.zfunc is in fpath"},
                 {"tare completion fish > ~/.config/fish/completions/tare.fish", "for fish"}},
    .complete = CLI_COMPLETE_SHELL,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
