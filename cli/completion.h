/* SPDX-License-Identifier: MIT
 *
 * What the completions of the shells share: each is written from the table of commands. */
#ifndef TARE_CLI_COMPLETION_H
#define TARE_CLI_COMPLETION_H

#include "cli.h"

#define CLI_SHELLS(SHELL) SHELL(bash) SHELL(zsh) SHELL(fish)

#define CLI_DECLARE_SHELL(name) void cli_completion_##name(FILE *out);
CLI_SHELLS(CLI_DECLARE_SHELL)
#undef CLI_DECLARE_SHELL

/* The kind of argument i of a command; CLI_COMPLETE_NOTHING beyond the last. */
cli_complete cli_complete_argument(const cli_command *command, int i);
/* The number of arguments after which a shell offers the same again: 1 where any number may follow.
 */
int cli_complete_places(const cli_command *command);

/* The values that an option or argument may have, separated by spaces: `choices`, or all of a kind.
 */
void cli_complete_put_words(FILE *out, const char *choices, cli_complete kind);
bool cli_complete_has_words(const char *choices, cli_complete kind);
/* The text with `escape` before each character of `special`. */
void cli_complete_put_text(FILE *out, const char *text, const char *special, const char *escape);

#endif
