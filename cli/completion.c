/* SPDX-License-Identifier: MIT
 *
 * Completions for bash, zsh and fish, written from the table of commands. Lists that the library
 * knows (types, formats, shapes) are put in as words. */
#include <string.h>

#include "cli.h"

static const char *encoding_word(size_t i) {
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *encoding = tare_encoding_get((tare_encoding_id)id);
        if (encoding && tare_encoding_can_encode(encoding) && i-- == 0) return encoding->name;
    }
    return NULL;
}

static const char *format_word(size_t i) {
    tare_format_info format;
    for (size_t k = 0; tare_format_at(k, &format); k++) {
        if (format.can_write && i-- == 0) return format.name;
    }
    return NULL;
}

static const char *mix_word(size_t i) {
    const tare_mix *mix = tare_mix_at(i);
    return mix ? mix->name : NULL;
}

static void bash(FILE *out);
static void zsh(FILE *out);
static void fish(FILE *out);

static const struct shell {
    const char *name;
    void (*write)(FILE *out);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
#define N_SHELLS (sizeof shells / sizeof *shells)

static const char *shell_word(size_t i) {
    return i < N_SHELLS ? shells[i].name : NULL;
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
        return format_word(i);
    case CLI_COMPLETE_SYNTH:
        return tare_synth_shape(i);
    case CLI_COMPLETE_SHELL:
        return shell_word(i);
    case CLI_COMPLETE_COMMAND:
        return command_word(i);
    case CLI_COMPLETE_FILE_OR_MIX:
        return mix_word(i);
    case CLI_COMPLETE_NOTHING:
    case CLI_COMPLETE_FILE:
        break;
    }
    return NULL;
}

static void put_words(FILE *out, const char *choices, cli_complete kind) {
    if (choices) fputs(choices, out);
    const char *word;
    for (size_t i = 0; (word = cli_complete_word(kind, i)) != NULL; i++) {
        fprintf(out, "%s%s", i ? " " : "", word);
    }
}

/* Single quotes inside single-quoted shell text; brackets and colons as zsh's specs need them. */
static void put_quoted(FILE *out, const char *text, bool is_zsh) {
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", out);
        } else {
            if (is_zsh && strchr("[]:\\", *text)) fputc('\\', out);
            fputc(*text, out);
        }
    }
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_values(FILE *out, const cli_command *command) {
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(command, i)) != NULL; i++) {
        if (!o->arg) continue;
        fprintf(out, "        %s:--%s", command->name, o->name);
        if (o->letter) fprintf(out, "|%s:-%c", command->name, o->letter);
        if (o->choices || cli_complete_word(o->complete, 0)) {
            fputs(") COMPREPLY=($(compgen -W \"", out);
            put_words(out, o->choices, o->complete);
            fputs("\" -- \"$cur\")) ;;\n", out);
        } else if (o->complete == CLI_COMPLETE_FILE) {
            fputs(") COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n", out);
        } else {
            fputs(") COMPREPLY=() ;;\n", out);
        }
    }
}

static void bash_words(FILE *out, const cli_command *command) {
    const cli_option *o;
    fprintf(out, "        %s:-*) COMPREPLY=($(compgen -W \"", command->name);
    for (size_t i = 0; (o = cli_option_at(command, i)) != NULL; i++) {
        fprintf(out, "%s--%s", i ? " " : "", o->name);
    }
    fputs("\" -- \"$cur\")) ;;\n", out);
    if (command->complete == CLI_COMPLETE_FILE) return; /* the last case offers files */
    fprintf(out, "        %s:*) COMPREPLY=($(compgen %s-W \"", command->name,
            command->complete == CLI_COMPLETE_FILE_OR_MIX ? "-f " : "");
    put_words(out, NULL, command->complete);
    fputs("\" -- \"$cur\")) ;;\n", out);
}

static void bash(FILE *out) {
    fputs("# bash completion of tare, made by `tare completion bash`\n"
          "_tare() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]}\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W \"",
          out);
    put_words(out, NULL, CLI_COMPLETE_COMMAND);
    fputs(" --help --version\" -- \"$cur\"))\n        return\n    fi\n"
          "    case $command:$prev in\n",
          out);
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) bash_values(out, command);
    fputs("    *)\n        case $command:$cur in\n", out);
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) bash_words(out, command);
    fputs("        *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n        esac ;;\n    esac\n}\n"
          "complete -o filenames -F _tare tare\n",
          out);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

static void zsh_action(FILE *out, const char *choices, cli_complete kind) {
    if (kind == CLI_COMPLETE_FILE_OR_MIX) {
        fputs("{ _files; compadd ", out);
        put_words(out, NULL, kind);
        fputs(" }", out);
    } else if (choices || cli_complete_word(kind, 0)) {
        fputc('(', out);
        put_words(out, choices, kind);
        fputc(')', out);
    } else if (kind == CLI_COMPLETE_FILE) {
        fputs("_files", out);
    }
}

static void zsh_option(FILE *out, const cli_option *o) {
    const char *many = o->list ? "*" : "";
    if (o->letter && !o->list) {
        fprintf(out, "            '(-%c --%s)'{-%c,--%s}'[", o->letter, o->name, o->letter,
                o->name);
    } else {
        fprintf(out, "            '%s--%s[", many, o->name);
    }
    put_quoted(out, o->help, true);
    fputc(']', out);
    if (o->arg) {
        fprintf(out, ":%s:", o->arg);
        zsh_action(out, o->choices, o->complete);
    }
    fputs("' \\\n", out);
}

static void zsh(FILE *out) {
    const cli_command *command;
    fputs("#compdef tare\n# zsh completion of tare, made by `tare completion zsh`\n"
          "_tare() {\n    local -a commands=(\n",
          out);
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        fprintf(out, "        '%s:", command->name);
        put_quoted(out, command->summary, true);
        fputs("'\n", out);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n        return\n    fi\n"
          "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
          "    case $command in\n",
          out);
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        fprintf(out, "    %s)\n        _arguments -s \\\n", command->name);
        const cli_option *o;
        for (size_t k = 0; (o = cli_option_at(command, k)) != NULL; k++) zsh_option(out, o);
        fputs("            '*:argument:", out);
        zsh_action(out, NULL, command->complete);
        fputs("' ;;\n", out);
    }
    fputs("    esac\n}\n_tare \"$@\"\n", out);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_option(FILE *out, const cli_command *command, const cli_option *o) {
    fprintf(out, "complete -c tare -n '__fish_seen_subcommand_from %s' -l %s", command->name,
            o->name);
    if (o->letter) fprintf(out, " -s %c", o->letter);
    if (o->arg && o->complete == CLI_COMPLETE_FILE) {
        fputs(" -r -F", out);
    } else if (o->arg) {
        fputs(" -x", out);
        if (o->choices || cli_complete_word(o->complete, 0)) {
            fputs(" -a '", out);
            put_words(out, o->choices, o->complete);
            fputc('\'', out);
        }
    }
    fputs(" -d '", out);
    for (const char *c = o->help; *c; c++) {
        if (*c == '\'') fputc('\\', out);
        fputc(*c, out);
    }
    fputs("'\n", out);
}

static void fish(FILE *out) {
    fputs("# fish completion of tare, made by `tare completion fish`\n", out);
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        fprintf(out, "complete -c tare -n __fish_use_subcommand -f -a %s -d '%s'\n", command->name,
                command->summary);
        const cli_option *o;
        for (size_t k = 0; (o = cli_option_at(command, k)) != NULL; k++)
            fish_option(out, command, o);
        if (command->complete == CLI_COMPLETE_FILE) continue;
        fprintf(out, "complete -c tare -n '__fish_seen_subcommand_from %s' %s-a '", command->name,
                command->complete == CLI_COMPLETE_FILE_OR_MIX ? "" : "-f ");
        put_words(out, NULL, command->complete);
        fputs("'\n", out);
    }
}

bool cli_completion(FILE *out, const char *shell) {
    for (size_t i = 0; i < N_SHELLS; i++) {
        if (strcmp(shells[i].name, shell) != 0) continue;
        shells[i].write(out);
        return true;
    }
    return false;
}
