/* SPDX-License-Identifier: MIT
 *
 * The one table of commands. */
#include <ctype.h>
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
    {"archive", "pack"},
    {"cat", "extract"},
    {"check", "verify"},
    {"checksum", "verify --write-manifest"},
    {"clone", "get"},
    {"cmp", "diff"},
    {"compare", "diff"},
    {"compress", "pack"},
    {"copy", "convert"},
    {"cp", "convert"},
    {"decompress", "unpack"},
    {"delete", "edit --remove"},
    {"dequantize", "convert --type f32"},
    {"digest", "verify --write-manifest"},
    {"download", "get"},
    {"du", "info -t --sort size"},
    {"dump", "info -t -m"},
    {"export", "convert"},
    {"fetch", "get"},
    {"fit", "quantize --target-size"},
    {"gguf-dump", "info -t -m"},
    {"gguf-split", "convert --shard-size"},
    {"hash", "verify --write-manifest"},
    {"import", "convert"},
    {"inspect", "info"},
    {"keys", "info -m"},
    {"list", "info -t"},
    {"ls", "info -t"},
    {"man", "help --man"},
    {"md5sum", "verify --write-manifest"},
    {"merge", "convert --apply-adapter"},
    {"meta", "info -m"},
    {"metadata", "info -m"},
    {"mv", "name"},
    {"open", "info"},
    {"prune", "edit --drop-tensors"},
    {"pull", "get"},
    {"remove", "edit --remove"},
    {"rename", "edit --rename-tensor"},
    {"restore", "unpack"},
    {"rm", "edit --remove"},
    {"set", "edit --set"},
    {"sha256", "verify --write-manifest"},
    {"sha256sum", "verify --write-manifest"},
    {"shard", "convert --shard-size"},
    {"shasum", "verify --write-manifest"},
    {"show", "info"},
    {"size", "info"},
    {"split", "convert --shard-size"},
    {"stat", "info"},
    {"stats", "info -t --stats"},
    {"tensors", "info -t"},
    {"test", "verify"},
    {"umount", "mount -u"},
    {"uncompress", "unpack"},
    {"unmount", "mount -u"},
    {"unzip", "unpack"},
    {"validate", "verify"},
    {"version", "--version"},
    {"view", "report"},
    {"wget", "get"},
    {"zip", "pack"},
};

/* The one command that begins with this word, in capitals or not: "quant", "INFO"; NULL: none or several. */
static const char *begun(const char *word) {
    enum { LEAST = 3 };
    const char *found = NULL;
    for (size_t i = 0; strlen(word) >= LEAST && cli_command_at(i); i++) {
        const char *w = word;
        for (const char *c = commands[i]->name; *w && tolower((unsigned char)*w) == *c; c++) w++;
        if (*w) continue;
        if (found) return NULL;
        found = commands[i]->name;
    }
    return found;
}

cli_guess cli_command_guess(const char *word) {
    cli_guess guess = {""};
    const char *meant = NULL;
    for (size_t i = 0; i < sizeof other_words / sizeof *other_words; i++)
        if (strcmp(word, other_words[i].word) == 0) meant = other_words[i].command;
    const char *nearest = meant ? NULL : begun(word);
    if (!meant && !nearest) nearest = cli_nearest(word, command_name_at, NULL);
    if (meant) snprintf(guess.text, sizeof guess.text, ": that is tare %s", meant);
    if (nearest) snprintf(guess.text, sizeof guess.text, "; did you mean tare %s?", nearest);
    if (!meant && !nearest && cli_is_there(word))
        snprintf(guess.text, sizeof guess.text, ", but a file: tare info shows what is in it");
    return guess;
}
