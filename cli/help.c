/* SPDX-License-Identifier: MIT
 *
 * Help from the table of commands: examples first, then usage, what it does, options. */
#include <string.h>

#include "cli.h"

#define WIDTH_MAX     96
#define OPTION_COLUMN 28 /* where the words about an option begin */

static size_t width_of(FILE *out) {
    size_t columns = cli_columns(out);
    if (columns == 0) return 80;
    return columns < 40 ? 40 : columns > WIDTH_MAX ? WIDTH_MAX : columns;
}

void cli_wrap(FILE *out, const char *text, size_t indent, size_t width) {
    size_t column = indent;
    bool is_first = true;
    while (*text) {
        if (*text == '\n') {
            fprintf(out, "\n%*s", text[1] == '\n' ? 0 : (int)indent, "");
            column = indent;
            is_first = true;
            text++;
            continue;
        }
        size_t n = strcspn(text, " \n");
        if (!is_first && column + 1 + n > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)n, text);
        column += n;
        is_first = false;
        text += n + (text[n] == ' ');
    }
    fputc('\n', out);
}

void cli_option_value(char *buf, size_t size, const cli_option *option) {
    const char *value = option->choices ? option->choices : option->arg ? option->arg : "";
    snprintf(buf, size, "%s", value);
    for (char *c = buf; option->choices && *c; c++) {
        if (*c == ' ') *c = '|';
    }
}

static void heading(FILE *out, const char *text) {
    fprintf(out, "\n%s%s%s\n", cli_style_on(out, CLI_BOLD), text, cli_style_off(out));
}

static void print_option(FILE *out, const cli_option *option) {
    char letter[8] = "    ", value[80];
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    cli_option_value(value, sizeof value, option);
    int n = fprintf(out, "  %s--%s%s%s", letter, option->name, *value ? " " : "", value);
    if (n + 2 > OPTION_COLUMN) {
        fprintf(out, "\n%*s", OPTION_COLUMN, "");
    } else {
        fprintf(out, "%*s", OPTION_COLUMN - n, "");
    }
    cli_wrap(out, option->help, OPTION_COLUMN, width_of(out));
}

static void print_examples(FILE *out, const cli_example *examples) {
    for (; examples->line; examples++) {
        fprintf(out, "  %s\n      ", examples->line);
        cli_wrap(out, examples->what, 6, width_of(out));
    }
}

static void print_topic(FILE *out, const cli_topic *topic) {
    const char *what, *row;
    heading(out, topic->title);
    for (size_t i = 0; (row = topic->row(i, &what)) != NULL; i++) {
        fprintf(out, "  %-10s ", row);
        cli_wrap(out, what, 13, width_of(out));
    }
}

void cli_help_command(FILE *out, const cli_command *command) {
    fprintf(out, "tare %s: %s\n", command->name, command->summary);
    heading(out, "Examples");
    print_examples(out, command->examples);
    heading(out, "Usage");
    for (const char *form = command->usage; *form;) {
        size_t n = strcspn(form, "\n");
        fprintf(out, "  tare %s %.*s\n", command->name, (int)n, form);
        form += n + (form[n] == '\n');
    }
    fputs("\n", out);
    cli_wrap(out, command->description, 0, width_of(out));
    if (command->topic.title) print_topic(out, &command->topic);
    if (command->options && command->options->name) {
        heading(out, "Options");
        for (const cli_option *o = command->options; o->name; o++) print_option(out, o);
    }
    heading(out, "Common options");
    const cli_option *option;
    for (size_t i = 0; (option = cli_common_option(command, i)) != NULL; i++) {
        print_option(out, option);
    }
}

static const cli_example first_examples[] = {
    {"tare info model.gguf", "what is in a model file"},
    {"tare convert a.safetensors b.gguf --type q8_0", "another format, other types"},
    {"tare quantize a.gguf b.gguf Q4_K_M", "a mix of types as llama.cpp has it"},
    {"tare verify --deep model.gguf", "is the file sound?"},
    {"tare diff a.safetensors b.gguf", "do both hold the same?"},
    {NULL, NULL},
};

void cli_help_all(FILE *out) {
    fputs("tare: open, inspect, verify and convert model files\n", out);
    heading(out, "Examples");
    for (const cli_example *e = first_examples; e->line; e++) {
        fprintf(out, "  %-48s %s\n", e->line, e->what);
    }
    heading(out, "Commands");
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        fprintf(out, "  %-12s %s\n", command->name, command->summary);
    }
    fputs("\nMore: tare help COMMAND, tare COMMAND --help, tare --version\n", out);
}
