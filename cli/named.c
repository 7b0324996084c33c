/* SPDX-License-Identifier: MIT
 *
 * Options that the library has by name (tare/experimental/options.h): it says what kind of value they
 * take, which words, what they mean, and reads them. A row of a command names them, and says what only
 * a command knows. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static tare_options *named; /* of the command that runs */

tare_options *cli_named(const cli_command *command) {
    tare_error err;
    if (!named && tare_options_new(&named, command->verb, NULL, &err) != TARE_OK)
        exit(cli_fail(&err, NULL));
    return named;
}

const tare_convert_options *cli_named_convert(const cli_command *command) {
    return tare_options_convert(cli_named(command));
}

void cli_named_free(void) {
    tare_options_free(named);
    named = NULL;
}

static bool is_name(const char *word, const char *name) {
    for (; *name && (*name == *word || (*name == '_' && *word == '-')); name++) word++;
    return *name == *word;
}

/* What stands for a value in help. */
static const char *placeholder(tare_option_kind kind) {
    static const char *const words[] = {
        [TARE_OPTION_NUMBER] = "N",    [TARE_OPTION_SIZE] = "SIZE",
        [TARE_OPTION_REAL] = "X",      [TARE_OPTION_TEXT] = "TEXT",
        [TARE_OPTION_CHOICE] = "WORD", [TARE_OPTION_TYPE] = "TYPE",
        [TARE_OPTION_RULE] = "RULE",   [TARE_OPTION_RANGE] = "MIN:MAX",
        [TARE_OPTION_SHARE] = "SHARE"};
    return (size_t)kind < sizeof words / sizeof *words ? words[kind] : "TEXT";
}

void cli_named_row(cli_option *row, const cli_command *command) {
    tare_option_info info = tare_option_info_default();
    for (size_t i = 0; tare_option_at(&info, command->verb, i); i++) {
        if (!is_name(row->name, info.name)) continue;
        if (!row->help) row->help = info.help;
        if (info.kind == TARE_OPTION_BOOL) return;
        if (!row->arg) row->arg = placeholder(info.kind);
        if (info.kind == TARE_OPTION_TYPE) row->complete = CLI_COMPLETE_TYPE;
        row->choices = info.choices;
        return;
    }
}
