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

static bool add_rule(cli_rules *rules, const place *at, const char *text) {
    rules->items = cli_grow(rules->items, rules->n + 1, sizeof *rules->items);
    return parse_rule(at, &rules->items[rules->n++], text);
}

/* One rule a line; blanks around it, empty lines and those that begin with '#' do not count. */
static bool add_lines(cli_rules *rules, const cli_command *command, const char *path, char *text) {
    char *name = cli_escape_path(path), *next = text;
    place at = {.command = command};
    bool is_good = true;
    for (size_t line = 1; is_good && next; line++) {
        char *from = next, *end = strchr(from, '\n');
        next = end ? end + 1 : NULL;
        if (!end) end = from + strlen(from);
        while (end > from && strchr(" \t\r", end[-1])) end--;
        *end = '\0';
        from += strspn(from, " \t");
        snprintf(at.text, sizeof at.text, "%.200s: line %zu", name, line);
        if (*from && *from != '#') is_good = add_rule(rules, &at, from);
    }
    free(name);
    return is_good;
}

int cli_rules_read(cli_rules *rules, const cli_command *command, const cli_list *texts,
                   const char *path) {
    const place at = {.command = command, .text = "--tensor-type"};
    *rules = (cli_rules){0};
    for (size_t i = 0; i < texts->n; i++)
        if (!add_rule(rules, &at, texts->items[i])) return CLI_USAGE;
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
        if (!add_lines(rules, command, path, text)) code = CLI_USAGE;
    }
    free(text);
    return code;
}

void cli_rules_free(cli_rules *rules) {
    for (size_t i = 0; i < rules->n; i++) free((char *)(uintptr_t)rules->items[i].pattern);
    free(rules->items);
    *rules = (cli_rules){0};
}
