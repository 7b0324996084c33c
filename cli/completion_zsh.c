/* SPDX-License-Identifier: MIT
 *
 * The completion for zsh, whose _arguments reads the line; words match in any case. */
#include "completion.h"

/* Inside single quotes, and inside the brackets and between the colons of a specification. */
static void put_text(FILE *out, const char *text) {
    for (; *text; text++) {
        const char c[2] = {*text, '\0'};
        if (*text == '\'') {
            fputs("'\\''", out);
        } else {
            cli_complete_put_text(out, c, "[]:\\", "\\");
        }
    }
}

static void put_action(FILE *out, const char *choices, cli_complete kind) {
    if (cli_complete_has_words(choices, kind)) {
        fputs("_tare_words ", out);
        cli_complete_put_words(out, choices, kind);
    } else {
        fputs(kind == CLI_COMPLETE_FILE ? "_tare_files" : " ", out);
    }
}

static void put_option(FILE *out, const cli_option *o) {
    if (o->letter && !o->list) {
        fprintf(out, "            '(-%c --%s)'{-%c,--%s", o->letter, o->name, o->letter, o->name);
        fprintf(out, "%s}'[", o->arg ? "=" : "");
    } else if (o->letter) {
        fprintf(out, "            '*'{-%c,--%s%s}'[", o->letter, o->name, o->arg ? "=" : "");
    } else {
        fprintf(out, "            '%s--%s%s[", o->list ? "*" : "", o->name, o->arg ? "=" : "");
    }
    put_text(out, o->help);
    fputc(']', out);
    if (o->arg) {
        fputc(':', out);
        put_text(out, o->arg);
        fputc(':', out);
        put_action(out, o->choices, o->complete);
    }
    fputs("' \\\n", out);
}

static void put_command(FILE *out, const cli_command *command) {
    fprintf(out, "    %s)\n        _arguments -s -M $any_case \\\n", command->name);
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(command, i)) != NULL; i++) put_option(out, o);
    for (int i = 0; i < cli_complete_places(command); i++) {
        if (command->max_args < 0) {
            fputs("            '*:argument:", out);
        } else {
            fprintf(out, "            '%d:argument:", i + 1);
        }
        put_action(out, NULL, cli_complete_argument(command, i));
        fputs(i + 1 < cli_complete_places(command) ? "' \\\n" : "' ;;\n", out);
    }
}

void cli_completion_zsh(FILE *out) {
    const cli_command *command;
    fputs("#compdef tare\n# zsh completion of tare, made by `tare completion zsh`\n"
          "_tare_words() { compadd -M $any_case \"$@\" }\n"
          "_tare_files() { _files -M $any_case \"$@\" }\n"
          "_tare() {\n    local any_case='m:{[:lower:][:upper:]}={[:upper:][:lower:]}'\n"
          "    local -a commands=(\n",
          out);
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        fprintf(out, "        '%s:", command->name);
        put_text(out, command->summary);
        fputs("'\n", out);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n"
          "        _describe command commands -M $any_case\n"
          "        [[ $PREFIX != -* ]] || _tare_words -- --help --version\n"
          "        return\n    fi\n"
          "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
          "    case $command in\n",
          out);
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) put_command(out, command);
    fputs("    esac\n}\n"
          "if [[ $funcstack[1] = _tare ]]; then _tare \"$@\"; else compdef _tare tare; fi\n",
          out);
}
