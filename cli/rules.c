/* SPDX-License-Identifier: MIT
 *
 * REGEX=TYPE rules, from the command line and from a file of them. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define FILE_MOST (16u << 20)

/* Where a rule was found, for messages: "--tensor-type", "rules.txt: line 3". */
typedef struct place {
    const cli_command *command;
    char text[256];
} place;

/* Splits "REGEX=TYPE" at its last '='; an expression may hold others. */
static bool parse_rule(const place *at, tare_type_rule *rule, const char *text) {
    char *safe = cli_escape_path(text);
    const char *equals = strrchr(text, '=');
    tare_pattern *pattern = NULL;
    tare_error err;
    bool is_good = false;
    *rule = (tare_type_rule){NULL, NULL};
    if (!equals || equals == text) {
        cli_usage(at->command, "%s: \"%s\" is not REGEX=TYPE", at->text, safe);
        goto out;
    }
    rule->encoding = cli_type_parse(equals + 1);
    if (!rule->encoding) {
        char wanted[160];
        cli_usage(at->command, "%s: \"%s\" is not %s", at->text, strrchr(safe, '=') + 1,
                  cli_a_type(wanted, sizeof wanted, equals + 1));
        goto out;
    }
    rule->pattern = cli_copy(text, (size_t)(equals - text));
    if (tare_pattern_new(&pattern, rule->pattern, strlen(rule->pattern), NULL, &err) != TARE_OK) {
        *strrchr(safe, '=') = '\0';
        cli_usage(at->command, "%s: \"%s\" is not a regular expression: %s", at->text, safe,
                  err.what);
        goto out;
    }
    tare_pattern_free(pattern);
    is_good = true;
out:
    free(safe);
    return is_good;
}

/* One rule of a file or of the command line. */
static bool add_rule(void *ctx, const cli_command *command, const char *where, const char *text) {
    cli_rules *rules = ctx;
    place at = {.command = command};
    snprintf(at.text, sizeof at.text, "%s", where);
    rules->items = cli_grow(rules->items, rules->n + 1, sizeof *rules->items);
    return parse_rule(&at, &rules->items[rules->n++], text);
}

/* Blanks around a line, empty lines and those that begin with '#' do not count. */
static bool add_lines(cli_rule_fn add, void *ctx, const cli_command *command, const char *path,
                      char *text) {
    char *name = cli_escape_path(path), *next = text, where[256];
    bool is_good = true;
    for (size_t line = 1; is_good && next; line++) {
        char *from = next, *end = strchr(from, '\n');
        next = end ? end + 1 : NULL;
        if (!end) end = from + strlen(from);
        while (end > from && strchr(" \t\r", end[-1])) end--;
        *end = '\0';
        from += strspn(from, " \t");
        snprintf(where, sizeof where, "%.200s: line %zu", name, line);
        if (*from && *from != '#') is_good = add(ctx, command, where, from);
    }
    free(name);
    return is_good;
}

int cli_rules_each(cli_rule_fn add, void *ctx, const cli_command *command, const cli_list *texts,
                   const char *path) {
    for (size_t i = 0; i < texts->n; i++)
        if (!add(ctx, command, "--tensor-type", texts->items[i])) return CLI_USAGE;
    if (!path) return 0;
    size_t n;
    char *text;
    int code = cli_read_file(&text, &n, path, FILE_MOST);
    if (code == 0 && n > FILE_MOST) {
        char *name = cli_escape_path(path);
        code = cli_usage(command, "%s: larger than any list of rules", name);
        free(name);
    }
    if (code == 0) {
        text = cli_grow(text, n + 1, 1);
        text[n] = '\0';
        if (!add_lines(add, ctx, command, path, text)) code = CLI_USAGE;
    }
    free(text);
    return code;
}

int cli_rules_read(cli_rules *rules, const cli_command *command, const cli_list *texts,
                   const char *path) {
    *rules = (cli_rules){0};
    return cli_rules_each(add_rule, rules, command, texts, path);
}

void cli_rules_free(cli_rules *rules) {
    for (size_t i = 0; i < rules->n; i++) free((char *)(uintptr_t)rules->items[i].pattern);
    free(rules->items);
    *rules = (cli_rules){0};
}
