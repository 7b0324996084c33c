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

/* Prints text wrapped at spaces into lines of at most `width` columns, all but the first indented
 * by `indent` spaces; newlines are kept. */
static void wrap(FILE *out, const char *text, size_t indent, size_t width) {
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

const char *cli_group_of(const cli_command *command, const cli_option *option) {
    for (const cli_group *g = command->groups; g->title; g++)
        if (cli_has_word(g->names, option->name)) return g->title;
    return NULL;
}

const char *cli_option_help(const cli_option *option, const char *title) {
    const size_t n = title ? strlen(title) : 0;
    const bool is_said = n && option->help[0] && strncmp(option->help + 1, title + 1, n - 1) == 0 &&
                         strncmp(option->help + n, ": ", 2) == 0;
    return is_said ? option->help + n + 2 : option->help;
}

static void print_option(FILE *out, const cli_option *option, const char *text) {
    char letter[8] = "    ", value[80];
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    cli_option_value(value, sizeof value, option);
    int n = fprintf(out, "  %s--%s%s%s", letter, option->name, *value ? " " : "", value);
    if (n + 2 > OPTION_COLUMN) {
        fprintf(out, "\n%*s", OPTION_COLUMN, "");
    } else {
        fprintf(out, "%*s", OPTION_COLUMN - n, "");
    }
    wrap(out, text, OPTION_COLUMN, width_of(out));
}

/* A command's own options under one heading, `title` NULL: those under none. */
static void print_group(FILE *out, const cli_command *command, const char *title) {
    const char *shown = title ? title : "Options";
    const cli_option *o;
    for (size_t i = 0; (o = cli_own_option(command, i)) != NULL; i++) {
        const char *own = cli_group_of(command, o);
        if (own != title && !(own && title && strcmp(own, title) == 0)) continue;
        if (shown) heading(out, shown);
        shown = NULL;
        print_option(out, o, cli_option_help(o, title));
    }
}

static void print_examples(FILE *out, const cli_example *examples, size_t most) {
    for (size_t i = 0; i < most && examples[i].line; i++) {
        fprintf(out, "  %s\n      ", examples[i].line);
        wrap(out, examples[i].what, 6, width_of(out));
    }
}

static void print_usage(FILE *out, const cli_command *command) {
    heading(out, "Usage");
    for (const char *form = command->usage; *form;) {
        size_t n = strcspn(form, "\n");
        fprintf(out, "  tare %s %.*s\n", command->name, (int)n, form);
        form += n + (form[n] == '\n');
    }
}

static void print_topic(FILE *out, const cli_topic *topic) {
    const char *what, *row;
    heading(out, topic->title);
    for (size_t i = 0; (row = topic->row(i, &what)) != NULL; i++) {
        fprintf(out, "  %-10s ", row);
        wrap(out, what, 13, width_of(out));
    }
}

/* ---- one screen ------------------------------------------------------------------------------ */

/* What an option does, in a line if the words before a comma or a bracket say it in one: help texts put what
 * may be left out behind one of these, a list in brackets, never behind a colon. */
static void print_briefly(FILE *out, const cli_command *command, const cli_option *option) {
    char text[400];
    snprintf(text, sizeof text, "%s", cli_option_help(option, cli_group_of(command, option)));
    text[strcspn(text, ";")] = '\0';
    if (strlen(text) + OPTION_COLUMN > width_of(out)) text[strcspn(text, ",(")] = '\0';
    print_option(out, option, text);
}

static const cli_option *find_option(const cli_command *command, const char *name, size_t n) {
    const cli_option *o;
    for (size_t i = 0; (o = cli_option_at(command, i)) != NULL; i++)
        if (strlen(o->name) == n && memcmp(o->name, name, n) == 0) return o;
    return NULL;
}

static void print_main_options(FILE *out, const cli_command *command) {
    const char *word = command->main ? command->main : "";
    if (*word) heading(out, "Options");
    for (size_t n; *word; word += n + (word[n] == ' ')) {
        n = strcspn(word, " ");
        const cli_option *option = find_option(command, word, n);
        if (option) print_briefly(out, command, option);
    }
}

static void print_words(FILE *out, const cli_topic *topic) {
    const char *what, *row;
    char words[1024];
    size_t n = 0;
    words[0] = '\0';
    for (size_t i = 0; (row = topic->row(i, &what)) != NULL && n < sizeof words; i++)
        n += (size_t)snprintf(words + n, sizeof words - n, "%s%s", n ? " " : "", row);
    heading(out, topic->title);
    fputs("  ", out);
    wrap(out, words, 2, width_of(out));
}

void cli_help_brief(FILE *out, const void *what) {
    enum { EXAMPLES = 4 };
    const cli_command *command = what;
    fprintf(out, "tare %s: %s\n", command->name, command->summary);
    heading(out, "Examples");
    print_examples(out, command->examples, EXAMPLES);
    print_usage(out, command);
    if (command->topic.is_of_words) print_words(out, &command->topic);
    print_main_options(out, command);
    fprintf(out, "\nAll options: tare %s --help; the manual: man tare-%s\n", command->name,
            command->name);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void cli_help_command(FILE *out, const void *what) {
    const cli_command *command = what;
    fprintf(out, "tare %s: %s\n", command->name, command->summary);
    heading(out, "Examples");
    print_examples(out, command->examples, CLI_EXAMPLES_MOST);
    print_usage(out, command);
    fputs("\n", out);
    wrap(out, command->description, 0, width_of(out));
    if (command->topic.title) print_topic(out, &command->topic);
    print_group(out, command, NULL);
    for (const cli_group *g = command->groups; g->title; g++) print_group(out, command, g->title);
    heading(out, "Common options");
    const cli_option *option;
    for (size_t i = 0; (option = cli_common_option(command, i)) != NULL; i++) {
        print_option(out, option, option->help);
    }
}

static const cli_example first_examples[] = {
    {"tare info model.gguf", "what is in a model"},
    {"tare quantize hf-folder model.gguf Q4_K_M", "a Hugging Face model for llama.cpp"},
    {"tare convert a.safetensors b.gguf --type q8_0", "another format, other types"},
    {"tare verify --deep model.gguf", "is the file sound?"},
    {"tare diff a.safetensors b.gguf", "do both hold the same?"},
    {"tare pack model.gguf", "fewer bytes, nothing lost"},
    {NULL, NULL},
};

void cli_help_all(FILE *out, const void *nothing) {
    (void)nothing;
    fputs("tare: inspect, verify, convert, quantize, edit and pack model files\n", out);
    heading(out, "Examples");
    for (const cli_example *e = first_examples; e->line; e++) {
        fprintf(out, "  %-48s %s\n", e->line, e->what);
    }
    heading(out, "Commands");
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        fprintf(out, "  %-12s %s\n", command->name, command->summary);
    }
    fputs("\nMore: tare COMMAND -h (one screen), tare COMMAND --help (all of it), tare --version\n",
          out);
}
