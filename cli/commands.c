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

/* Words of other programs for what tare does. */
static const struct {
    const char *word, *command;
} other_words[] = {
    {"cat", "extract"},
    {"check", "verify"},
    {"cmp", "diff"},
    {"compare", "diff"},
    {"compress", "pack"},
    {"copy", "convert"},
    {"cp", "convert"},
    {"decompress", "unpack"},
    {"dump", "info -t -m"},
    {"export", "convert"},
    {"hash", "verify --write-manifest"},
    {"inspect", "info"},
    {"list", "info -t"},
    {"ls", "info -t"},
    {"merge", "convert --apply-adapter"},
    {"mv", "name"},
    {"rename", "name"},
    {"restore", "unpack"},
    {"set", "edit --set"},
    {"sha256sum", "verify --write-manifest"},
    {"show", "info"},
    {"split", "convert --shard-size"},
    {"stat", "info"},
    {"test", "verify"},
    {"uncompress", "unpack"},
    {"validate", "verify"},
    {"version", "--version"},
    {"view", "report"},
    {"zip", "pack"},
};

cli_guess cli_command_guess(const char *word) {
    cli_guess guess = {""};
    const char *meant = NULL;
    for (size_t i = 0; i < sizeof other_words / sizeof *other_words; i++)
        if (strcmp(word, other_words[i].word) == 0) meant = other_words[i].command;
    const char *nearest = meant ? NULL : cli_nearest(word, command_name_at, NULL);
    if (meant) snprintf(guess.text, sizeof guess.text, ": that is tare %s", meant);
    if (nearest) snprintf(guess.text, sizeof guess.text, "; did you mean %s?", nearest);
    return guess;
}
