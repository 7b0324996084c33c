/* SPDX-License-Identifier: MIT
 *
 * What completions offer: words of the table of commands, and lists that the library knows (types,
 * formats, shapes). completion_SHELL.c writes them in the language of each shell. */
#include <string.h>

#include <tare/private/synth.h>

#include "completion.h"

static const char *encoding_word(size_t i) {
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *encoding = tare_encoding_get((tare_encoding_id)id);
        if (encoding && tare_encoding_can_encode(encoding) && i-- == 0) return encoding->name;
    }
    return NULL;
}

static const char *format_word(size_t i, bool any) {
    tare_format_info format = tare_format_info_default();
    for (size_t k = 0; tare_format_at(&format, k); k++) {
        if ((any || format.can_write) && i-- == 0) return format.name;
    }
    return NULL;
}

static const char *mix_word(size_t i) {
    const tare_mix *mix = tare_mix_at(i);
    return mix ? mix->name : NULL;
}

static const char *shell_word(size_t i) {
#define SHELL_NAME(name) #name,
    static const char *const names[] = {CLI_SHELLS(SHELL_NAME)};
#undef SHELL_NAME
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const char *command_word(size_t i) {
    const cli_command *command = cli_command_at(i);
    return command ? command->name : NULL;
}

const char *cli_complete_word(cli_complete kind, size_t i) {
    switch (kind) {
    case CLI_COMPLETE_TYPE:
        return encoding_word(i);
    case CLI_COMPLETE_FORMAT:
        return format_word(i, false);
    case CLI_COMPLETE_CONTAINER:
        return format_word(i, true);
    case CLI_COMPLETE_TARGET:
        return i == 0 ? "mlx" : format_word(i - 1, false);
    case CLI_COMPLETE_SYNTH:
        return tare_synth_shape(i);
    case CLI_COMPLETE_SHELL:
        return shell_word(i);
    case CLI_COMPLETE_COMMAND:
        return command_word(i);
    case CLI_COMPLETE_MIX:
        return mix_word(i);
    case CLI_COMPLETE_NOTHING:
    case CLI_COMPLETE_FILE:
    case CLI_COMPLETE_TENSOR:
        break;
    }
    return NULL;
}

cli_complete cli_complete_argument(const cli_command *command, int i) {
    if (command->max_args >= 0 && i >= command->max_args) return CLI_COMPLETE_NOTHING;
    if (command->out_at && i == command->out_at) return CLI_COMPLETE_FILE;
    const int last = command->max_args - 1 - (command->out_at == command->max_args - 1);
    return command->last && i == last ? command->last : command->complete;
}

int cli_complete_places(const cli_command *command) {
    return command->max_args >= 0 ? command->max_args : 1;
}

void cli_complete_put_words(FILE *out, const char *choices, cli_complete kind) {
    if (choices) {
        fputs(choices, out);
        return;
    }
    const char *word;
    for (size_t i = 0; (word = cli_complete_word(kind, i)) != NULL; i++) {
        fprintf(out, "%s%s", i ? " " : "", word);
    }
}

bool cli_complete_has_words(const char *choices, cli_complete kind) {
    return choices || cli_complete_word(kind, 0);
}

void cli_complete_put_text(FILE *out, const char *text, const char *special, const char *escape) {
    for (; *text; text++) {
        if (strchr(special, *text)) fputs(escape, out);
        fputc(*text, out);
    }
}
