/* SPDX-License-Identifier: MIT
 *
 * What convert, quantize and synth share: making a plan, and showing or running it. */
#include <stdlib.h>
#include <string.h>

#include "system.h"
#include "write.h"

/* ---- options --------------------------------------------------------------------------------- */

/* A type that cannot be written, with its name; `buf` keeps the words. */
static void name_type(tare_error *err, char *buf, size_t size, const tare_convert_options *o) {
    bool is_weighted = cli_has_code(err, TARE_CODE_NEEDS_IMPORTANCE);
    if (!is_weighted && !cli_has_code(err, TARE_CODE_CANNOT_ENCODE)) return;
    const tare_encoding *type = NULL;
    for (size_t i = 0; i <= o->n_rules; i++) {
        const tare_encoding *asked = i < o->n_rules ? o->rules[i].encoding : o->type;
        if (!type && asked &&
            (is_weighted ? tare_encoding_needs_importance(asked)
                         : !tare_encoding_can_encode(asked))) {
            type = asked;
        }
    }
    if (!type) return;
    snprintf(buf, size, "type %s %s", type->name,
             is_weighted ? "needs an importance matrix: give one with --imatrix FILE"
                         : "cannot be written from other numbers");
    err->what = buf;
}

/* Whether a name is the other with more behind it: q8 and q8_0. */
static bool begins_alike(const char *a, const char *b) {
    const size_t n = strlen(a), m = strlen(b), least = n < m ? n : m;
    return n != m && memcmp(a, b, least) == 0 && (n < m ? b : a)[least] == '_';
}

/* A type of almost this name that the format has; NULL: none. */
static const tare_encoding *near_type(const char *format, const tare_encoding *asked) {
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *type = tare_encoding_get((tare_encoding_id)id);
        if (type && begins_alike(type->name, asked->name) && tare_format_holds(format, type) &&
            tare_encoding_can_encode(type))
            return type;
    }
    return NULL;
}

/* The same for a type that the output's format lacks; where rules or a mix may have asked for it,
 * the tensor that the error names tells which. */
static void name_target(tare_error *err, char *buf, size_t size, const tare_convert_options *o,
                        const char *out_path) {
    if (!cli_has_code(err, TARE_CODE_CANNOT_HOLD)) return;
    bool is_one = o->type && o->n_rules == 0 && !o->mix;
    const char *format = o->to ? o->to : tare_format_of_path(out_path);
    const tare_encoding *near = is_one ? near_type(format, o->type) : NULL;
    snprintf(buf, size, "%s cannot hold %s%s%s; --opaque carries it", format,
             is_one ? o->type->name : "the requested type", near ? ", but " : "",
             near ? near->name : "");
    err->what = buf;
}

/* The formats that can be written, for --to. */
static int no_format(const cli_command *command) {
    char names[160] = "";
    tare_format_info format = tare_format_info_default();
    for (size_t i = 0; tare_format_at(&format, i); i++) {
        size_t n = strlen(names);
        if (format.can_write) {
            snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", format.name);
        }
    }
    return cli_usage(
        command, "the output's name does not determine a format; add --to with one of: %s", names);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Refuses what cannot be combined with writing to standard output: no --to, JSON or a report on it
 * too, reading back, a terminal. */
static int check_stdout(const cli_command *command, const cli_write *write) {
    if (!write->to) return cli_usage(command, "standard output needs --to FORMAT");
    if (cli.dry_run) return 0;
    if (cli.json || write->report) return cli_usage_both(command, cli.json ? "json" : "report");
    if (cli_named_convert(command)->verify)
        return cli_usage(command, "--verify: standard output cannot be read back");
    if (cli_is_terminal(stdout)) {
        return cli_usage(command, "standard output is a terminal; name a file or a pipe");
    }
    return 0;
}

static tare_status run_plan(tare_convert_result *out, const tare_plan *plan, const char *out_path,
                            tare_error *err) {
    bool is_stdout = strcmp(out_path, "-") == 0;
    cli_progress_start("writing");
    tare_status status =
        is_stdout ? tare_plan_run_fd(out, plan, CLI_OUTPUT_FD, err) : tare_plan_run(out, plan, err);
    cli_progress_end();
    return status;
}

/* Where no TYPE is given, that of the rules. */
static int name_mix(tare_mix_options *mix, tare_convert_options *options,
                    const cli_command *command, const tare_model *in, const cli_write *write) {
    tare_error err;
    *mix = *options->mix;
    mix->is_of_rules = true;
    options->mix = mix;
    if (tare_mix_of_rules(&mix->mix, in, options->rules, options->n_rules, &err) != TARE_OK)
        return cli_fail(&err, NULL);
    options->weighs_output = true; /* as a choice for a size is encoded, whose recipe this may be */
    if (mix->mix) return 0;
    char *safe = cli_escape_path(write->type_file);
    cli_usage(command, "%s: no rule matches a tensor of the model; give a TYPE", safe);
    free(safe);
    return CLI_USAGE;
}

/* NAME=PATH or PATH:SCALE: the text itself, and what of it may be a path. */
static void list_named(tare_part_options *part, const char *text) {
    const char *equals = strchr(text, '='), *path = equals ? equals + 1 : text;
    const char *colon = strrchr(path, ':');
    cli_part_needs(part, text);
    if (equals) cli_part_needs(part, path);
    if (!colon) return;
    char *before = cli_copy(path, (size_t)(colon - path));
    cli_part_needs(part, before);
    free(before);
}

/* Files that the output's numbers come from, beside the model. */
static void list_needs(tare_part_options *part, const cli_write *write) {
    const char *const paths[] = {write->imatrix,     write->metadata,     write->lora,
                                 write->with_mmproj, write->target_model, write->scheme};
    const cli_list *const lists[] = {&write->merges, &write->adapters, &write->include_weights,
                                     &write->exclude_weights, &write->type_rules};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) cli_part_needs(part, paths[i]);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (size_t i = 0; i < lists[k]->n; i++) list_named(part, lists[k]->items[i]);
}

static tare_status run_part(const tare_plan *plan, const tare_part_options *part,
                            const cli_outcome *o, tare_error *err) {
    const tare_output_options output = cli_output();
    tare_part_options options = *part;
    tare_part_result result = tare_part_result_default();
    options.output = &output;
    list_needs(&options, o->write->asked);
    cli_progress_start("writing");
    const tare_status status = tare_part_of_plan(&result, plan, &options, err);
    cli_progress_end();
    if (status == TARE_OK) cli_part_print(part, &result, o->in_path, o->out_path, o->report);
    cli_part_free(&options);
    return status;
}

static int write_model(const cli_command *command, const tare_model *in, const char *in_path,
                       const char *out_path, const cli_write *write, tare_report *report) {
    tare_convert_options options = *cli_named_convert(command);
    cli_parts p;
    cli_outcome o = {.in = in,
                     .in_path = in_path,
                     .write = write,
                     .out_path = out_path,
                     .report = report,
                     .damage = -1,
                     .result = tare_convert_result_default()};
    tare_plan *plan = NULL;
    tare_mix_options mix = tare_mix_options_default();
    tare_fit *fit = NULL;
    tare_error err;
    char words[120];
    const char *path = strcmp(out_path, "-") == 0 ? NULL : out_path; /* in the file system */
    tare_part_options part;
    int code = cli_parts_open(&p, &options, command, in, out_path, write, report);
    if (code == 0) code = cli_part_read(&part, command);
    if (code == 0 && write->fit)
        code = cli_fit_types(&fit, &options, &mix, command, in, in_path, out_path, write->fit);
    if (code == 0 && options.mix && !options.mix->mix && !fit)
        code = name_mix(&mix, &options, command, in, write);
    if (code != 0) goto out;
    o.fit = fit ? fit : write->chosen;
    if (o.fit) o.damage = tare_fit_summarize(o.fit)->damage;
    if (o.fit) o.target_bytes = write->asked->fit->size;
    o.mix = options.mix ? options.mix->mix : NULL;
    o.mix_is_named = o.mix && !options.mix->is_of_rules;
    if (write->report) {
        options.measured = cli_note_loss;
        options.measured_ctx = &o.losses;
    }
    cli_progress_start("planning");
    tare_status status = tare_plan_new(&plan, path, in, &options, &err);
    cli_progress_end();
    if (status == TARE_OK && write->serve) {
        code = write->serve(plan, in_path, out_path, report);
        goto out;
    }
    if (status == TARE_OK)
        status =
            cli.part ? run_part(plan, &part, &o, &err) : run_plan(&o.result, plan, out_path, &err);
    /* A failure is one line; if something that the target does not support is the reason, it is
     * named. */
    bool is_reported = status == TARE_OK || status == TARE_ERR_UNSUPPORTED ||
                       (status == TARE_ERR_ARG && options.n_merges > 0);
    if (!cli.json && is_reported) {
        if (status == TARE_OK)
            cli_print_remarks(report, in_path, cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_INFO);
        else
            cli_print_findings(stderr, report, in_path,
                               cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_WARNING);
    } else if (!cli.json) {
        cli_print_left(report, in_path);
    }
    o.plan = plan;
    if (write->out_name) o.out_path = write->out_name;
    if (status == TARE_OK && !cli.part) cli_print_outcome(command, &o);
    if (status != TARE_OK) {
        name_type(&err, words, sizeof words, &options);
        name_target(&err, words, sizeof words, &options, out_path);
    }
    code = status == TARE_OK ? CLI_YES : cli_write_failed(command, &err, in_path, report);
out:
    tare_plan_free(plan);
    tare_fit_free(fit);
    cli_losses_free(&o.losses);
    cli_parts_close(&p);
    return code;
}

/* What makes no sense of a part. */
static int check_part(const cli_command *command, const char *out_path, const cli_write *write) {
    if (!cli.part) return CLI_YES;
    if (cli_part_check_output(command, out_path) != CLI_YES) return CLI_USAGE;
    if (write->several) return cli_usage(command, "--part and --sizes exclude each other");
    if (write->report)
        return cli_usage(command, "--report measures whole tensors: not with --part");
    if (write->fit)
        return cli_usage(command,
                         "types are chosen once: with the target, --recipe r.txt and --dry-run; "
                         "parts then take --tensor-type-file r.txt");
    return CLI_YES;
}

/* Whether the output can be written at all, before anything is opened. */
static int check_output(const cli_command *command, const char *out_path, const cli_write *write) {
    if (check_part(command, out_path, write) != CLI_YES) return CLI_USAGE;
    if (cli_check_output(command, out_path) != CLI_YES) return CLI_USAGE;
    if (write->several) return CLI_YES;
    if (strcmp(out_path, "-") == 0 && check_stdout(command, write) != 0) return CLI_USAGE;
    return !write->to && !tare_format_of_path(out_path) ? no_format(command) : CLI_YES;
}

/* The same of a model whose weights are packed first. */
static int write_scheme(const cli_command *command, const tare_model *in, const char *in_path,
                        const char *out_path, const cli_write *write, tare_report *report) {
    cli_write rest = *write;
    tare_importance *importance;
    tare_model *packed = NULL;
    tare_fit *fit = NULL;
    int code = cli_importance_open(&importance, command, write, report);
    if (code == 0 && write->scheme)
        code = cli_schemes_apply(&packed, command, in, in_path, write, importance, report);
    else if (code == 0)
        code = cli_schemes_fit(&fit, &packed, command, in, in_path, out_path, write, importance,
                               report);
    rest.chosen = fit;
    rest.fit = NULL;
    rest.mix = NULL;
    rest.imatrix = NULL;
    rest.type_file = NULL;
    rest.include_weights.n = rest.exclude_weights.n = rest.type_rules.n = 0;
    if (code == 0)
        code = write_model(command, packed ? packed : in, in_path, out_path, &rest, report);
    tare_model_free(packed);
    tare_fit_free(fit);
    tare_importance_free(importance);
    return code;
}

static int write_local(const cli_command *command, const tare_model *in, const char *in_path,
                       const char *out_path, const cli_write *write, tare_report *report) {
    tare_model *whole;
    cli_mapped mapped = {.model = NULL};
    cli_write rest = *write;
    rest.asked = write;
    char *directory;
    int code = check_output(command, out_path, write);
    if (code != CLI_YES) return code;
    if (write->several && !rest.to) rest.to = "gguf";
    const char *to = rest.to ? rest.to : tare_format_of_path(out_path);
    code = cli_open_around(&whole, &directory, in, in_path, to, &rest, report);
    if (whole) in = whole, in_path = directory;
    if (code == 0) code = cli_map(&mapped, command, in, in_path, out_path, &rest, report);
    if (mapped.merged) rest.merges.n = 0;
    if (mapped.model || mapped.merged) in = mapped.model ? mapped.model : mapped.merged;
    if (code == 0)
        code = (write->several ? cli_write_several
                : write->scheme || cli_fits_schemes(write, to)
                    ? write_scheme
                    : write_model)(command, in, in_path, out_path, &rest, report);
    cli_mapped_free(&mapped);
    tare_model_free(whole);
    free(directory);
    return code;
}

/* A model in a store of Ollama: a GGUF file there, which then gets its name. */
static int write_ollama(const cli_command *command, const tare_model *in, const char *in_path,
                        const char *url, const cli_write *write, tare_report *report) {
    char *manifest, *weights;
    tare_error err;
    const tare_output_options output = cli_output();
    tare_report *own = tare_report_new();
    const tare_context context = cli_context(own);
    cli_write rest = *write;
    if (cli.part || write->several || write->mmproj || write->lora ||
        (write->to && strcmp(write->to, "gguf") != 0)) {
        tare_report_free(own);
        return cli_usage(command, "ollama://... is one GGUF model: neither --part, --sizes, "
                                  "--mmproj, --lora nor another format goes with it");
    }
    rest.to = "gguf";
    rest.out_name = url;
    tare_status status = cli_ollama_output(&manifest, &weights, url, &err);
    if (status == TARE_OK) status = tare_ollama_begin(manifest, weights, &output, &err);
    int code = status == TARE_OK ? write_local(command, in, in_path, weights, &rest, report)
                                 : cli_write_failed(command, &err, url, report);
    if (code == CLI_YES && !cli.dry_run) {
        status = tare_ollama_add(manifest, weights, &output, &context, &err);
        if (!cli.json) cli_print_findings(stderr, own, url, TARE_LEVEL_WARNING);
        if (status != TARE_OK) {
            cli_remove_file(weights);
            code = cli_write_failed(command, &err, url, report);
        }
    }
    tare_report_free(own);
    free(manifest);
    free(weights);
    return code;
}

int cli_write_model(const cli_command *command, const tare_model *in, const char *in_path,
                    const char *out_path, const cli_write *write, tare_report *report) {
    return (cli_is_ollama(out_path) ? write_ollama : write_local)(command, in, in_path, out_path,
                                                                  write, report);
}
