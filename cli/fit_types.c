/* SPDX-License-Identifier: MIT
 *
 * Types chosen for a target: from the options of the command line to those of a conversion, and the
 * files about the choice. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define TYPES_MOST 32

/* The types of a list such as "q4_k,q6_k". */
static bool parse_types(const tare_encoding **types, size_t *n, const cli_command *command,
                        const char *text) {
    *n = 0;
    for (const char *from = text; from;) {
        const char *comma = strchr(from, ',');
        char *word = cli_copy(from, comma ? (size_t)(comma - from) : strlen(from));
        const tare_encoding *type = cli_type_parse(word);
        if (!type || *n == TYPES_MOST) {
            char wanted[160], *safe = cli_escape_path(word);
            if (type)
                cli_usage(command, "--types: more than %d", TYPES_MOST);
            else
                cli_usage(command, "--types: \"%s\" is not %s", safe,
                          cli_a_type(wanted, sizeof wanted, word));
            free(safe);
            free(word);
            return false;
        }
        free(word);
        types[(*n)++] = type;
        from = comma ? comma + 1 : NULL;
    }
    return true;
}

/* What was asked for in the words of the command line; what there is instead. */
static void name_target(tare_error *err, char *buf, size_t size, const tare_fit *f,
                        const cli_fit *args) {
    if (!cli_has_code(err, TARE_CODE_TARGET_TOO_SMALL)) return;
    const tare_fit_summary *s = tare_fit_summarize(f);
    if (args->damage > 0)
        snprintf(buf, size, "--target-damage %g: the smallest possible is %.3g", args->damage,
                 s->smallest_damage);
    else
        snprintf(buf, size,
                 "--target-%s is too small: with these types the smallest file has %s bytes (%.2f "
                 "bits/weight)",
                 args->size ? "size" : "bpw", cli_exact_text(s->smallest_bytes).text,
                 s->smallest_bits);
    err->what = buf;
}

static void add_line(char **text, size_t *n, const char *pattern, const char *type) {
    const size_t room = strlen(pattern) + strlen(type) + 3;
    *text = cli_grow(*text, *n + room, 1);
    *n += (size_t)snprintf(*text + *n, room, "%s=%s\n", pattern, type);
}

static char *recipe_text(const tare_fit *f, size_t *n) {
    const tare_type_rule *rule;
    tare_scheme_options schemes;
    tare_fit_tensor first;
    char *text = NULL;
    *n = 0;
    for (size_t i = 0; (rule = tare_fit_rule(f, i)) != NULL; i++)
        add_line(&text, n, rule->pattern, rule->encoding->name);
    if (tare_fit_tensor_at(&first, f, 0) && first.scheme &&
        tare_fit_apply_schemes(&schemes, f, NULL) == TARE_OK)
        for (size_t i = 0; i < schemes.n_rules; i++)
            add_line(&text, n, schemes.rules[i].pattern, schemes.rules[i].scheme);
    return text;
}

/* What is written beside the model must not be the model, nor one another. */
static int check_files(const cli_command *command, const char *out_path, const cli_fit *args) {
    const char *recipe = args->recipe, *plot = args->plot;
    if (recipe && strcmp(recipe, "-") == 0)
        return cli_usage(command, "--recipe: the name of a file was expected, not -");
    if (plot && strcmp(plot, "-") == 0)
        return cli_usage(command, "--plot: the name of a file was expected, not -");
    if (recipe && cli_is_same_output(recipe, out_path))
        return cli_usage(command, "--recipe and OUT are the same file");
    if (plot && cli_is_same_output(plot, out_path))
        return cli_usage(command, "--plot and OUT are the same file");
    if (recipe && plot && cli_is_same_output(recipe, plot))
        return cli_usage(command, "--recipe and --plot are the same file");
    return 0;
}

static int write_file(const char *path, char *text, size_t n, const tare_model *in) {
    tare_output_options output = cli_output();
    tare_error err;
    output.dry_run = false; /* what a dry run is for */
    tare_status status = tare_file_write(path, text, n, in, &output, NULL, &err);
    free(text);
    return status == TARE_OK ? 0 : cli_fail(&err, path);
}

/* Both are written before the model, so that a file that is in the way is found at once. */
static int write_files(const tare_fit *f, const tare_model *in, const char *out_path,
                       const cli_fit *args) {
    size_t n;
    char *text;
    int code = 0;
    if (args->recipe) {
        text = recipe_text(f, &n);
        code = write_file(args->recipe, text, n, in);
    }
    if (args->plot && code == 0) {
        text = cli_fit_plot(f, out_path, &n);
        code = write_file(args->plot, text, n, in);
    }
    return code;
}

static tare_status choose(tare_fit *f, const cli_fit *args, tare_error *err) {
    tare_fit_target target = tare_fit_target_default();
    target.file_bytes = args->size;
    target.bits_per_weight = args->bits;
    target.damage = args->damage;
    return tare_fit_choose(f, &target, err);
}

int cli_fit_measure(tare_fit **out, const cli_command *command, const tare_model *in,
                    const char *in_path, const char *out_path, const tare_convert_options *options,
                    const cli_fit *args) {
    tare_fit_options fit = tare_fit_options_default();
    const tare_encoding *types[TYPES_MOST];
    char *sensitivities = NULL;
    tare_error err;
    const char *path = strcmp(out_path, "-") == 0 ? NULL : out_path;
    int code = CLI_YES;
    fit.types = types;
    fit.check_output = true;
    if (args->types && !parse_types(types, &fit.n_types, command, args->types)) return CLI_USAGE;
    if (args->sensitivity)
        code = cli_read_sensitivities(&fit.sensitivities, &sensitivities, args->sensitivity);
    if (code == CLI_YES) {
        cli_progress_start("choosing");
        const tare_status status = tare_fit_new(out, path, in, options, &fit, &err);
        cli_progress_end();
        if (status != TARE_OK && cli_has_code(&err, TARE_CODE_BAD_SENSITIVITIES))
            snprintf(err.file, sizeof err.file, "%s", args->sensitivity);
        if (status != TARE_OK)
            code = cli_write_failed(command, &err, in_path, options->context->report);
    }
    free(sensitivities);
    return code;
}

int cli_fit_of_schemes(tare_fit **out, const cli_command *command, const tare_model *in,
                       const char *in_path, const char *out_path,
                       const tare_scheme_options *schemes, const tare_convert_options *convert,
                       tare_fit_options *options, const cli_fit *args) {
    char words[200];
    tare_error err;
    const char *path = strcmp(out_path, "-") == 0 ? NULL : out_path;
    const int code = check_files(command, out_path, args);
    if (code != CLI_YES) return code;
    cli_progress_start("choosing");
    tare_status status = tare_fit_new_schemes(out, path, in, schemes, convert, options, &err);
    if (status == TARE_OK) status = choose(*out, args, &err);
    cli_progress_end();
    if (status == TARE_OK) return write_files(*out, in, out_path, args);
    if (cli_has_code(&err, TARE_CODE_BAD_SENSITIVITIES))
        snprintf(err.file, sizeof err.file, "%s", args->sensitivity);
    name_target(&err, words, sizeof words, *out, args);
    return cli_write_failed(command, &err, in_path, convert->context->report);
}

int cli_fit_types(tare_fit **out, tare_convert_options *options, tare_mix_options *mix,
                  const cli_command *command, const tare_model *in, const char *in_path,
                  const char *out_path, const cli_fit *args) {
    char words[200];
    tare_error err;
    int code = check_files(command, out_path, args);
    if (code == CLI_YES) code = cli_fit_measure(out, command, in, in_path, out_path, options, args);
    if (code != CLI_YES) return code;
    tare_status status = choose(*out, args, &err);
    if (status == TARE_OK) status = tare_fit_apply(options, mix, *out, &err);
    if (status == TARE_OK) return write_files(*out, in, out_path, args);
    name_target(&err, words, sizeof words, *out, args);
    return cli_write_failed(command, &err, in_path, options->context->report);
}
