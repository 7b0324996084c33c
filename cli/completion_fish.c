/* SPDX-License-Identifier: MIT
 *
 * The completion for fish, which matches in any case by itself. A helper reads the line from the
 * left: an option that takes a value hides the next word, what is left counts as arguments. */
#include "completion.h"

/* Inside single quotes. */
static void put_quoted(FILE *out, const char *text) {
    fputc('\'', out);
    cli_complete_put_text(out, text, "'\\", "\\");
    fputc('\'', out);
}

static void put_offer(FILE *out, const char *choices, cli_complete kind) {
    if (cli_complete_has_words(choices, kind)) {
        fputs(" -a '", out);
        cli_complete_put_words(out, choices, kind);
        fputc('\'', out);
    } else if (kind == CLI_COMPLETE_FILE) {
        fputs(" -F", out);
    }
}

static void put_option(FILE *out, const cli_command *command, const cli_option *o) {
    fprintf(out, "complete -c tare -n '__tare_runs %s' -l %s", command->name, o->name);
    if (o->letter) fprintf(out, " -s %c", o->letter);
    if (o->arg) {
        fputs(o->complete == CLI_COMPLETE_FILE ? " -r" : " -x", out);
        put_offer(out, o->choices, o->complete);
    }
    fputs(" -d ", out);
    put_quoted(out, o->help);
    fputc('\n', out);
}

static void put_arguments(FILE *out, const cli_command *command) {
    for (int i = 0; i < cli_complete_places(command); i++) {
        fprintf(out, "complete -c tare -n '__tare_runs %s", command->name);
        if (command->max_args >= 0) fprintf(out, " %d", i);
        fputc('\'', out);
        put_offer(out, NULL, cli_complete_argument(command, i));
        fputc('\n', out);
    }
}

/* A line of the helper: the options of a command that take a value. */
static void put_valued(FILE *out, const cli_command *command) {
    const cli_option *o;
    bool is_first = true;
    for (size_t i = 0; (o = cli_option_at(command, i)) != NULL; i++) {
        if (!o->arg) continue;
        if (is_first) fputs("            case", out);
        is_first = false;
        fprintf(out, " %s:--%s", command->name, o->name);
        if (o->letter) fprintf(out, " %s:-%c", command->name, o->letter);
    }
    if (!is_first) fputs("\n                set -e words[1]\n", out);
}

void cli_completion_fish(FILE *out) {
    const cli_command *command;
    fputs("# fish completion of tare, made by `tare completion fish`\n"
          "function __tare_runs -d 'whether COMMAND is typed, and N arguments of it: COMMAND [N]'\n"
          "    set -l words (commandline -opc)\n"
          "    test \"$words[2]\" = $argv[1]; or return\n"
          "    set -q argv[2]; or return 0\n"
          "    set -e words[1..2]\n"
          "    set -l n 0\n"
          "    while set -q words[1]\n"
          "        switch $argv[1]:$words[1]\n",
          out);
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) put_valued(out, command);
    fputs(
        "            case '*:-?*'\n"
        "            case '*'\n"
        "                set n (math $n + 1)\n"
        "        end\n"
        "        set -e words[1]\n"
        "    end\n"
        "    test $n = $argv[2]\n"
        "end\n"
        "complete -c tare -f\n"
        "complete -c tare -n 'test (count (commandline -opc)) = 1' -l help -d 'show help'\n"
        "complete -c tare -n 'test (count (commandline -opc)) = 1' -l version -d 'show version'\n",
        out);
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        fprintf(out, "complete -c tare -n 'test (count (commandline -opc)) = 1' -a %s -d ",
                command->name);
        put_quoted(out, command->summary);
        fputc('\n', out);
        const cli_option *o;
        for (size_t k = 0; (o = cli_option_at(command, k)) != NULL; k++)
            put_option(out, command, o);
        put_arguments(out, command);
    }
}
