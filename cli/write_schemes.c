/* SPDX-License-Identifier: MIT
 *
 * Packed weights for servers and MLX: the model that is written in place of the input. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Splits "REGEX=SCHEME" at its last '='. */
static int read_rule(tare_scheme_rule *rule, const cli_command *command, const char *text) {
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text ||
        (strcmp(equals + 1, "none") != 0 && !tare_scheme_is_named(equals + 1))) {
        char *safe = cli_escape_path(text);
        cli_usage(command, "--tensor-type: \"%s\" is not REGEX=SCHEME, with a scheme or \"none\"",
                  safe);
        free(safe);
        return CLI_USAGE;
    }
    rule->pattern = cli_copy(text, (size_t)(equals - text));
    rule->scheme = equals + 1;
    return CLI_YES;
}

/* Options that choose number formats, which a scheme does not have. */
static int check_usage(const cli_command *command, const cli_write *write) {
    if (write->type_file || write->override_kv.n || write->report ||
        cli_named_convert(command)->keep_split || cli_named_convert(command)->opaque)
        return cli_usage(command,
                         "--tensor-type-file, --override-kv, --report, --keep-split and --opaque "
                         "are not for schemes of packed weights");
    if (cli_named_convert(command)->quality == TARE_QUALITY_BEST && strstr(write->scheme, ":rtn"))
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

int cli_schemes_apply(tare_model **out, const cli_command *command, const tare_model *in,
                      const char *in_path, const cli_write *write,
                      const tare_importance *importance, tare_report *report) {
    tare_scheme_options options = tare_scheme_options_default();
    const tare_context context = cli_context(report);
    const tare_output_options output = cli_output();
    const size_t n = write->type_rules.n;
    tare_scheme_rule *rules = cli_grow(NULL, n + 1, sizeof *rules);
    tare_error err;
    int code = check_usage(command, write);
    options.context = &context;
    options.scheme = write->scheme;
    options.importance = importance;
    options.rules = rules;
    options.strict = output.strict;
    for (size_t i = 0; code == CLI_YES && i < n; i++) {
        code = read_rule(&rules[i], command, write->type_rules.items[i]);
        if (code == CLI_YES) options.n_rules++;
    }
    if (code == CLI_YES && tare_scheme_apply(out, in, &options, &err) != TARE_OK)
        code = cli_write_failed(command, &err, in_path, report);
    for (size_t i = 0; i < options.n_rules; i++) free((char *)(uintptr_t)rules[i].pattern);
    free(rules);
    return code;
}
