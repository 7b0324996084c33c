/* SPDX-License-Identifier: MIT
 *
 * The completion for bash. The words of the line are read once, from the left: an option that takes
 * a value hides the next word, what is left counts as arguments. bash splits "--to=gguf" at the
 * sign. */
#include "completion.h"

/* The pattern of case that an option is found by: "convert:--to|convert:-t". */
static void put_pattern(FILE *out, const cli_command *command, const cli_option *o) {
    fprintf(out, "%s:--%s", command->name, o->name);
    if (o->letter) fprintf(out, "|%s:-%c", command->name, o->letter);
}

static void put_offer(FILE *out, const char *choices, cli_complete kind) {
    if (cli_complete_has_words(choices, kind)) {
        fputs("_tare_offer ", out);
        cli_complete_put_words(out, choices, kind);
    } else {
        fputs(kind == CLI_COMPLETE_FILE ? "compopt -o default" : ":", out);
    }
    fputs(" ;;\n", out);
}

/* All options of a command with a value, as one pattern. */
static void put_valued(FILE *out, const cli_command *command) {
    const cli_option *o;
    const char *between = "        ";
    for (size_t i = 0; (o = cli_option_at(command, i)) != NULL; i++) {
        if (!o->arg) continue;
        fputs(between, out);
        put_pattern(out, command, o);
        between = "|";
    }
    if (*between == '|') fputs(") is_value=1 ;;\n", out);
}

static void put_values(FILE *out, const cli_command *command) {
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(command, i)) != NULL; i++) {
        if (!o->arg) continue;
        fputs("    ", out);
        put_pattern(out, command, o);
        fputs(") ", out);
        put_offer(out, o->choices, o->complete);
    }
}

static void put_options(FILE *out, const cli_command *command) {
    const cli_option *o;
    fprintf(out, "    %s:-*) _tare_offer", command->name);
    for (size_t i = 0; (o = cli_option_at(command, i)) != NULL; i++) {
        fprintf(out, " --%s", o->name);
    }
    fputs(" ;;\n", out);
}

static void put_arguments(FILE *out, const cli_command *command) {
    for (int i = 0; i < cli_complete_places(command); i++) {
        if (command->max_args < 0) {
            fprintf(out, "    %s:*) ", command->name);
        } else {
            fprintf(out, "    %s:%d) ", command->name, i);
        }
        put_offer(out, NULL, cli_complete_argument(command, i));
    }
}

static void put_all(FILE *out, void (*put)(FILE *out, const cli_command *command)) {
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) put(out, command);
}

void cli_completion_bash(FILE *out) {
    fputs("# bash completion of tare, made by `tare completion bash`\n"
          "_tare_offer() { # WORD...: those that begin with what is typed, in whatever case\n"
          "    local word\n"
          "    for word; do\n"
          "        [[ ${word,,} != \"${cur,,}\"* ]] || COMPREPLY+=(\"$word\")\n"
          "    done\n"
          "}\n"
          "_tare() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
          "    local i option='' is_value=0 n=0\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        _tare_offer --help --version ",
          out);
    cli_complete_put_words(out, NULL, CLI_COMPLETE_COMMAND);
    fputs("\n        return\n    fi\n"
          "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "        if [[ ${COMP_WORDS[i]} = '=' ]]; then continue; fi\n"
          "        if ((is_value)); then is_value=0; continue; fi\n"
          "        option=${COMP_WORDS[i]}\n"
          "        case $command:$option in\n",
          out);
    put_all(out, put_valued);
    fputs("        *:-?*) ;;\n"
          "        *) n=$((n + 1)) ;;\n"
          "        esac\n"
          "    done\n"
          "    if [[ $cur = '=' ]]; then cur=''; fi\n"
          "    if ((is_value)); then\n"
          "        case $command:$option in\n",
          out);
    put_all(out, put_values);
    fputs("        esac\n        return\n    fi\n    case $command:$cur in\n", out);
    put_all(out, put_options);
    fputs("    *) case $command:$n in\n", out);
    put_all(out, put_arguments);
    fputs("    esac ;;\n    esac\n}\ncomplete -F _tare tare\n", out);
}
