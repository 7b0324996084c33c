/* SPDX-License-Identifier: MIT
 *
 * Packed weights for servers and MLX: the model that is written in place of the input. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define CLI_SCHEMES_MOST 32

/* Rules while they are read. */
typedef struct scheme_rules {
    tare_scheme_rule *items;
    size_t n;
} scheme_rules;

/* Splits "REGEX=SCHEME" at its last '='; both are one copy. */
static bool add_rule(void *ctx, const cli_command *command, const char *where, const char *text) {
    scheme_rules *rules = ctx;
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text ||
        (strcmp(equals + 1, "none") != 0 && !tare_scheme_is_named(equals + 1))) {
        char *safe = cli_escape_path(text);
        cli_usage(command, "%s: \"%s\" is not REGEX=SCHEME, with a scheme or \"none\"", where,
                  safe);
        free(safe);
        return false;
    }
    char *copy = cli_copy(text, strlen(text)), *scheme = copy + (equals - text);
    *scheme = '\0';
    rules->items = cli_grow(rules->items, rules->n + 1, sizeof *rules->items);
    rules->items[rules->n++] = (tare_scheme_rule){.pattern = copy, .scheme = scheme + 1};
    return true;
}

/* Options that choose number formats, which a scheme does not have. */
static int check_usage(const cli_command *command, const cli_write *write) {
    if (write->override_kv.n || write->report || cli_named_convert(command)->keep_split ||
        cli_named_convert(command)->opaque)
        return cli_usage(command, "--override-kv, --report, --keep-split and --opaque are not for "
                                  "schemes of packed weights");
    if (cli_named_convert(command)->quality == TARE_QUALITY_BEST && write->scheme &&
        strstr(write->scheme, ":rtn"))
        return cli_usage(command,
                         "--quality best searches for scales, and :rtn rounds to the first");
    if (write->type)
        return cli_usage(command, "--type is not for MLX: tare quantize IN OUT mlx4, or --to hf");
    if (!write->mix) return CLI_YES;
    if (write->mix->output || write->mix->embedding || write->mix->is_pure ||
        write->mix->leave_output)
        return cli_usage(command,
                         "--pure and types of single tensors are not for schemes of packed "
                         "weights: --tensor-type REGEX=SCHEME");
    return CLI_YES;
}

static void free_rules(tare_scheme_options *options) {
    for (size_t i = 0; i < options->n_rules; i++)
        free((char *)(uintptr_t)options->rules[i].pattern);
    free((tare_scheme_rule *)(uintptr_t)options->rules);
}

/* What the command line asks for, less the scheme itself. */
static int read_options(tare_scheme_options *options, const cli_command *command,
                        const cli_write *write, const tare_importance *importance,
                        const tare_context *context) {
    scheme_rules rules = {.n = 0};
    int code = check_usage(command, write);
    if (code == CLI_YES)
        code = cli_rules_each(add_rule, &rules, command, &write->type_rules, write->type_file);
    *options = tare_scheme_options_default();
    options->context = context;
    options->importance = importance;
    options->rules = rules.items;
    options->n_rules = rules.n;
    options->strict = cli_output().strict;
    return code;
}

int cli_schemes_apply(tare_model **out, const cli_command *command, const tare_model *in,
                      const char *in_path, const cli_write *write,
                      const tare_importance *importance, tare_report *report) {
    const tare_context context = cli_context(report);
    tare_scheme_options options;
    tare_error err;
    int code = read_options(&options, command, write, importance, &context);
    options.scheme = write->scheme;
    if (code == CLI_YES && tare_scheme_apply(out, in, &options, &err) != TARE_OK)
        code = cli_write_failed(command, &err, in_path, report);
    free_rules(&options);
    return code;
}

/* ---- chosen for a target ----------------------------------------------------------------------- */

bool cli_fits_schemes(const cli_write *write, const char *to) {
    if (!write->fit || !to || strcmp(to, "hf") != 0) return false;
    if (!write->fit->types) return true;
    char *first = cli_copy(write->fit->types, strcspn(write->fit->types, ","));
    const bool is_type = !tare_scheme_is_named(first) && cli_type_parse(first);
    free(first);
    return !is_type; /* a word that is neither is told as no scheme, which a directory gets by default */
}

/* The names of a list. */
static int read_names(char **names, size_t *n, const cli_command *command, const char *text) {
    *n = 0;
    for (const char *from = text; from;) {
        const char *comma = strchr(from, ',');
        char *name = cli_copy(from, comma ? (size_t)(comma - from) : strlen(from));
        if (*n == CLI_SCHEMES_MOST || (strcmp(name, "none") != 0 && !tare_scheme_is_named(name))) {
            char *safe = cli_escape_path(name);
            const int code =
                *n == CLI_SCHEMES_MOST
                    ? cli_usage(command, "--types: more than %d", CLI_SCHEMES_MOST)
                    : cli_usage(command, "--types: \"%s\" is not a scheme, nor \"none\"", safe);
            free(safe);
            free(name);
            return code;
        }
        names[(*n)++] = name;
        from = comma ? comma + 1 : NULL;
    }
    return CLI_YES;
}

/* Measures and chooses. */
static int choose(tare_fit **out, const cli_command *command, const tare_model *in,
                  const char *in_path, const char *out_path, const cli_write *write,
                  const tare_scheme_options *schemes, tare_report *report) {
    tare_convert_options convert = *cli_named_convert(command);
    tare_fit_options fit = tare_fit_options_default();
    const tare_context context = cli_context(report);
    const tare_output_options output = cli_output();
    char *names[CLI_SCHEMES_MOST], *text = NULL;
    size_t n = 0;
    convert.context = &context;
    convert.output = &output;
    convert.to = "hf";
    int code = write->fit->types ? read_names(names, &n, command, write->fit->types) : CLI_YES;
    fit.schemes = (const char *const *)names;
    fit.n_schemes = n;
    if (code == CLI_YES && write->fit->sensitivity)
        code = cli_read_sensitivities(&fit.sensitivities, &text, write->fit->sensitivity);
    if (code == CLI_YES)
        code = cli_fit_of_schemes(out, command, in, in_path, out_path, schemes, &convert, &fit,
                                  write->fit);
    while (n > 0) free(names[--n]);
    free(text);
    return code;
}

int cli_schemes_fit(tare_fit **fit, tare_model **out, const cli_command *command,
                    const tare_model *in, const char *in_path, const char *out_path,
                    const cli_write *write, const tare_importance *importance,
                    tare_report *report) {
    const tare_context context = cli_context(report);
    tare_scheme_options options, chosen;
    tare_error err;
    int code = read_options(&options, command, write, importance, &context);
    if (code == CLI_YES)
        code = choose(fit, command, in, in_path, out_path, write, &options, report);
    if (code == CLI_YES) {
        tare_status status = tare_fit_apply_schemes(&chosen, *fit, &err);
        chosen.context = &context;
        if (status == TARE_OK && chosen.scheme) status = tare_scheme_apply(out, in, &chosen, &err);
        if (status != TARE_OK) code = cli_write_failed(command, &err, in_path, report);
    }
    free_rules(&options);
    return code;
}
