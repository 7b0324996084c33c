/* SPDX-License-Identifier: MIT
 *
 * Manual pages from the table of commands, in the man macros of roff. */
#include <ctype.h>
#include <string.h>

#include "cli.h"

/* Text as roff shows it: backslashes and hyphens escaped, no line that looks like a request. */
static void put(FILE *out, const char *text) {
    bool is_line_start = true;
    for (; *text; text++) {
        if (is_line_start && (*text == '.' || *text == '\'')) fputs("\\&", out);
        if (*text == '\\') {
            fputs("\\e", out);
        } else if (*text == '-') {
            fputs("\\-", out);
        } else {
            fputc(*text, out);
        }
        is_line_start = *text == '\n';
    }
}

static void put_upper(FILE *out, const char *text) {
    for (; *text; text++) fputc(toupper((unsigned char)*text), out);
}

/* Paragraphs; an empty line parts them, indented lines and single newlines stay as they are. */
static void paragraphs(FILE *out, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        if (n == 0) {
            fputs(".PP\n", out);
        } else {
            put(out, line);
            fputs(text[n] == '\n' && text[n + 1] != '\n' && text[n + 1] ? "\n.br\n" : "\n", out);
        }
        text += n + (text[n] == '\n');
    }
}

static void option(FILE *out, const cli_option *o, const char *help) {
    fputs(".TP\n", out);
    if (o->letter) fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", out);
    put(out, o->name);
    fputs("\\fR", out);
    char value[80];
    cli_option_value(value, sizeof value, o);
    if (*value) fprintf(out, " \\fI%s\\fR", value);
    fputc('\n', out);
    put(out, help);
    fputc('\n', out);
}

/* A command's own options under one heading; `heading` NULL: those under none. */
static void option_group(FILE *out, const cli_command *command, const char *heading) {
    if (heading) fprintf(out, ".SS %s\n", heading);
    const cli_option *o;
    for (size_t i = 0; (o = cli_own_option(command, i)) != NULL; i++) {
        const char *own = cli_group_of(command, o);
        if (own == heading || (own && heading && strcmp(own, heading) == 0))
            option(out, o, cli_option_help(o, heading));
    }
}

static void title(FILE *out, const char *command, const char *summary) {
    fputs(".TH TARE", out);
    if (*command) fputc('-', out);
    put_upper(out, command);
    fprintf(out, " 1 \"\" \"tare %s\" \"tare manual\"\n.ad l\n.nh\n.SH NAME\ntare%s%s \\- ",
            tare_version(), *command ? "\\-" : "", command);
    put(out, summary);
    fputc('\n', out);
}

static void topic_section(FILE *out, const cli_topic *topic) {
    const char *what, *row;
    fputs(".SH ", out);
    put_upper(out, topic->title);
    fputc('\n', out);
    for (size_t i = 0; (row = topic->row(i, &what)) != NULL; i++) {
        fputs(".TP\n.B ", out);
        put(out, row);
        fputc('\n', out);
        put(out, what);
        fputc('\n', out);
    }
}

void cli_man_command(FILE *out, const cli_command *command) {
    title(out, command->name, command->summary);
    fputs(".SH SYNOPSIS\n", out);
    for (const char *form = command->usage; *form;) {
        size_t n = strcspn(form, "\n");
        char line[256];
        snprintf(line, sizeof line, "%.*s", (int)n, form);
        fprintf(out, ".B tare %s\n", command->name);
        put(out, line);
        form += n + (form[n] == '\n');
        fputs(*form ? "\n.br\n" : "\n", out);
    }
    fputs(".SH DESCRIPTION\n", out);
    paragraphs(out, command->description);
    if (command->topic.title) topic_section(out, &command->topic);
    fputs(".SH EXAMPLES\n", out);
    for (size_t i = 0; i < CLI_EXAMPLES_MOST && command->examples[i].line; i++) {
        const cli_example *e = &command->examples[i];
        fputs(".TP\n.B ", out);
        put(out, e->line);
        fputc('\n', out);
        put(out, e->what);
        fputc('\n', out);
    }
    fputs(".SH OPTIONS\n", out);
    option_group(out, command, NULL);
    for (const cli_group *g = command->groups; g->title; g++) option_group(out, command, g->title);
    fputs(".SS Common options\n", out);
    const cli_option *o;
    for (size_t i = 0; (o = cli_common_option(command, i)) != NULL; i++) option(out, o, o->help);
    fputs(".SH SEE ALSO\n.BR tare (1)\n", out);
}

static const struct {
    const char *code, *meaning;
} exit_codes[] = {
    {"0", "done, or the answer is yes"},
    {"1", "the answer is no: the models differ, the file has errors"},
    {"2", "usage error, or the output exists and --force was not given"},
    {"3", "the input cannot be read: truncated, corrupt, beyond a limit, wrong checksum"},
    {"4", "input/output error"},
    {"5", "unsupported, refused by --strict, or a GGUF file that llama.cpp would not run (--force "
          "writes it)"},
    {"6", "out of memory or disk space"},
    {"130", "cancelled"},
};

void cli_man_all(FILE *out) {
    title(out, "", "inspect, verify, convert, quantize, edit and pack model files");
    fputs(".SH SYNOPSIS\n.B tare\n\\fICOMMAND\\fR [\\fIoptions\\fR] [\\fIarguments\\fR]\n", out);
    fputs(".SH COMMANDS\n", out);
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
        fprintf(out, ".TP\n.BR tare\\-%s (1)\n", command->name);
        put(out, command->summary);
        fputc('\n', out);
    }
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof exit_codes / sizeof *exit_codes; i++) {
        fprintf(out, ".TP\n.B %s\n", exit_codes[i].code);
        put(out, exit_codes[i].meaning);
        fputc('\n', out);
    }
    fputs(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nif set and not empty, no colours\n"
          ".TP\n.B PAGER\nwhat shows --help on a terminal (default: less; cat: nothing does)\n"
          ".TP\n.B TMPDIR\nwhere input from a pipe is kept while it is read (default: /var/tmp)\n",
          out);
}
