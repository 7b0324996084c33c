/* SPDX-License-Identifier: MIT
 *
 * What convert, quantize and synth share: making a plan, showing or running it, and reporting the
 * result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "write.h"

static const char *const action_names[] = {
    [TARE_ACTION_COPY] = "copied",     [TARE_ACTION_STAND_IN] = "carried",
    [TARE_ACTION_ENCODE] = "encoded",  [TARE_ACTION_LOSSY] = "lossy",
    [TARE_ACTION_REPACK] = "repacked",
};

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

/* The same for a type that the output's format lacks; where rules or a mix may have asked for it,
 * the tensor that the error names tells which. */
static void name_target(tare_error *err, char *buf, size_t size, const tare_convert_options *o,
                        const char *out_path) {
    if (!cli_has_code(err, TARE_CODE_CANNOT_HOLD)) return;
    bool is_one = o->type && o->n_rules == 0 && !o->mix;
    snprintf(buf, size, "%s cannot hold %s; --opaque carries it",
             o->to ? o->to : tare_format_of_path(out_path),
             is_one ? o->type->name : "the requested type");
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

/* ---- groups of tensors that fare alike ------------------------------------------------------- */

typedef struct group {
    tare_tensor_action action;
    const tare_encoding *from, *becomes, *to;
    uint64_t n_tensors, from_bytes, to_bytes;
} group;

/* Groups in the order in which they first appear; owned by the caller. */
static group *group_tensors(const tare_plan *plan, size_t *n_groups) {
    group *groups = NULL;
    const tare_plan_tensor *t;
    size_t n = 0;
    for (size_t i = 0; (t = tare_plan_tensor_at(plan, i)) != NULL; i++) {
        size_t k = 0;
        while (k < n && (groups[k].action != t->action || groups[k].from != t->from ||
                         groups[k].to != t->to || groups[k].becomes != t->becomes)) {
            k++;
        }
        if (k == n) {
            groups = cli_grow(groups, ++n, sizeof *groups);
            groups[k] =
                (group){.action = t->action, .from = t->from, .becomes = t->becomes, .to = t->to};
        }
        groups[k].n_tensors++;
        groups[k].from_bytes += t->from_bytes;
        groups[k].to_bytes += t->to_bytes;
    }
    *n_groups = n;
    return groups;
}

/* What is encoded and then carried has three types. */
static void types_text(char *buf, size_t size, const tare_encoding *from,
                       const tare_encoding *becomes, const tare_encoding *to) {
    if (from == to) {
        snprintf(buf, size, "%s", from->name);
    } else if (becomes != from && becomes != to) {
        snprintf(buf, size, "%s -> %s as %s", from->name, becomes->name, to->name);
    } else {
        snprintf(buf, size, "%s -> %s", from->name, to->name);
    }
}

static void print_groups(const tare_plan *plan) {
    size_t n;
    group *groups = group_tensors(plan, &n);
    cli_table *table = cli_table_new("|>||>");
    for (size_t i = 0; i < n; i++) {
        char text[80];
        cli_table_add(table, action_names[groups[i].action]);
        snprintf(text, sizeof text, "%s tensor%s", cli_exact_text(groups[i].n_tensors).text,
                 groups[i].n_tensors == 1 ? " " : "s");
        cli_table_add(table, text);
        types_text(text, sizeof text, groups[i].from, groups[i].becomes, groups[i].to);
        cli_table_add(table, text);
        if (groups[i].from_bytes == groups[i].to_bytes) {
            snprintf(text, sizeof text, "%s", cli_size_text(groups[i].to_bytes).text);
        } else {
            /* Sizes take at most 7 columns, so that the arrows are aligned. */
            snprintf(text, sizeof text, "%s -> %7s", cli_size_text(groups[i].from_bytes).text,
                     cli_size_text(groups[i].to_bytes).text);
        }
        cli_table_add(table, text);
    }
    cli_table_print(table, stdout, 2);
    cli_table_free(table);
    free(groups);
}

/* ---- what encoding lost ---------------------------------------------------------------------- */

/* The errors that were measured; is_measured[i] false: tensor i was only copied. */
typedef struct losses {
    tare_tensor_error *errors;
    bool *is_measured;
    size_t n;
} losses;

static void note_loss(void *ctx, size_t i, const tare_tensor_error *error) {
    losses *l = ctx;
    size_t n = l->n;
    if (i >= n) {
        l->n = i + 1;
        l->errors = cli_grow(l->errors, l->n, sizeof *l->errors);
        l->is_measured = cli_grow(l->is_measured, l->n, sizeof *l->is_measured);
    }
    for (; n < i; n++) l->is_measured[n] = false;
    l->errors[i] = *error;
    l->is_measured[i] = true;
}

static const tare_tensor_error *loss_at(const losses *l, size_t i) {
    return i < l->n && l->is_measured[i] ? &l->errors[i] : NULL;
}

static void print_losses(const tare_plan *plan, const losses *l) {
    if (l->n == 0) return;
    cli_table *table = cli_table_new("~TENSOR|TYPE|>RMSE/RMS|>MAX ERROR");
    const tare_plan_tensor *t;
    for (size_t i = 0; (t = tare_plan_tensor_at(plan, i)) != NULL; i++) {
        const tare_tensor_error *error = loss_at(l, i);
        char *name, text[80];
        if (!error) continue;
        name = cli_escape(t->name, false, 0);
        cli_table_add(table, name);
        types_text(text, sizeof text, t->from, t->becomes, t->to);
        cli_table_add(table, text);
        snprintf(text, sizeof text, "%#.3g", error->relative_rmse);
        cli_table_add(table, text);
        snprintf(text, sizeof text, "%#.3g", error->max_abs);
        cli_table_add(table, text);
        free(name);
    }
    cli_table_print(table, stdout, 0);
    cli_table_free(table);
    fputc('\n', stdout);
}

/* What a run is told about. */
typedef struct outcome {
    const tare_plan *plan;
    const tare_model *in;
    const cli_write *write;
    const char *in_path, *out_path;
    const tare_report *report;
    const tare_fit *fit;        /* NULL: no types were chosen */
    const tare_mix *mix;        /* NULL: none */
    bool mix_is_named;          /* the output is: it is no mix that stands in for rules */
    tare_convert_result result; /* 0 bytes: nothing was written */
    losses losses;
} outcome;

/* ---- telling --------------------------------------------------------------------------------- */

/* Bits of all tensors for each element. */
static double bits_a_weight(const tare_plan *plan, const tare_model *in) {
    const tare_plan_tensor *t;
    uint64_t bytes = 0;
    const tare_model_summary *model = tare_model_summarize(in);
    for (size_t i = 0; (t = tare_plan_tensor_at(plan, i)) != NULL; i++) bytes += t->to_bytes;
    return model->n_parameters ? (double)bytes * 8 / (double)model->n_parameters : 0;
}

/* Whether a tensor has a type that the mix gives; COPY gives none. */
static bool has_mix(const tare_mix *mix, const tare_plan *plan) {
    const tare_plan_tensor *t;
    if (!mix->type) return true;
    for (size_t i = 0; (t = tare_plan_tensor_at(plan, i)) != NULL; i++)
        if (t->becomes->kind == TARE_KIND_BLOCK || t->becomes == mix->type) return true;
    return false;
}

/* What was written, or would be. */
static uint64_t written_bytes(const outcome *o) {
    return o->result.written_bytes ? o->result.written_bytes
                                   : tare_plan_summarize(o->plan)->write_bytes;
}

static void print_summary(const outcome *o, const char *out_path) {
    const tare_plan *plan = o->plan;
    const tare_plan_summary *sum = tare_plan_summarize(plan);
    char *name = cli_escape_path(out_path);
    printf("%s%s%s%s%s: %s, %s tensor%s, %s", cli.dry_run ? "would write " : "",
           cli_style_on(stdout, CLI_BOLD), name, sum->is_directory ? "/" : "",
           cli_style_off(stdout), sum->format, cli_exact_text(sum->n_tensors).text,
           cli_plural(sum->n_tensors), cli_size_text(written_bytes(o)).text);
    if (sum->n_files > 1) printf(" in %zu files", sum->n_files);
    const bool is_mixed = o->mix && has_mix(o->mix, plan);
    if (is_mixed) printf(", %s", o->mix_is_named ? o->mix->name : "types chosen");
    double bits = bits_a_weight(plan, o->in);
    if (is_mixed && bits > 0) printf(", %.2f bits/weight", bits);
    fputs(sum->is_identity ? ", nothing changed: the same bytes\n" : "\n", stdout);
    if (!sum->is_identity) print_groups(plan);
    free(name);
}

/* What a tensor of a mapped model was made of: "4 x model.layers.0.mlp.experts.3.up_proj.weight",
 * and what was done to it. */
static void add_origin(cli_table *table, const tare_llama_origin *origin) {
    char *name = cli_escape(origin->source, false, 0), *text = cli_alloc(strlen(name) + 32, 1);
    if (origin->n_sources > 1)
        snprintf(text, strlen(name) + 32, "%zu x %s", origin->n_sources, name);
    else
        snprintf(text, strlen(name) + 32, "%s", name);
    cli_table_add(table, text);
    cli_table_add(table, origin->operation[0] ? origin->operation : "rename");
    free(name);
    free(text);
}

static void print_plan(const tare_plan *plan, const tare_model *in) {
    bool is_mapped = tare_llama_origin_of(in, 0) != NULL;
    cli_table *table =
        cli_table_new(is_mapped ? "~TENSOR|ACTION|TYPE|>FROM|>TO|>FILE|~MADE OF|OPERATION"
                                : "~TENSOR|ACTION|TYPE|>FROM|>TO|>FILE");
    const tare_plan_tensor *t;
    for (size_t i = 0; (t = tare_plan_tensor_at(plan, i)) != NULL; i++) {
        char *name = cli_escape(t->name, false, 0), text[80];
        cli_table_add(table, name);
        cli_table_add(table, action_names[t->action]);
        types_text(text, sizeof text, t->from, t->becomes, t->to);
        cli_table_add(table, text);
        cli_table_add(table, cli_size_text(t->from_bytes).text);
        cli_table_add(table, cli_size_text(t->to_bytes).text);
        snprintf(text, sizeof text, "%u", (unsigned)t->file + 1);
        cli_table_add(table, text);
        if (is_mapped) add_origin(table, tare_llama_origin_of(in, t->source));
        free(name);
    }
    cli_table_print(table, stdout, 0);
    cli_table_free(table);
    fputc('\n', stdout);
    const tare_file_info *file;
    table = cli_table_new(">FILE|~NAME|>SIZE");
    for (size_t i = 0; (file = tare_plan_file_at(plan, i)) != NULL; i++) {
        char number[24], *name = cli_escape_path(file->name);
        snprintf(number, sizeof number, "%zu", i + 1);
        cli_table_add(table, number);
        cli_table_add(table, name);
        cli_table_add(table, cli_size_text(file->size).text);
        free(name);
    }
    cli_table_print(table, stdout, 0);
    cli_table_free(table);
    fputc('\n', stdout);
}

static tare_json_node *json_plan_tensors(const outcome *o) {
    tare_json_node *list = cli_json_array();
    const tare_plan_tensor *t;
    for (size_t i = 0; (t = tare_plan_tensor_at(o->plan, i)) != NULL; i++) {
        tare_json_node *entry = cli_json_object();
        cli_json_str(entry, "name", t->name);
        cli_json_text(entry, "action", action_names[t->action]);
        cli_json_text(entry, "from_type", t->from->name);
        cli_json_text(entry, "type", t->becomes->name);
        cli_json_text(entry, "stored_type", t->to->name);
        cli_json_u64(entry, "from_bytes", t->from_bytes);
        cli_json_u64(entry, "to_bytes", t->to_bytes);
        cli_json_u64(entry, "file_index", t->file);
        const tare_llama_origin *origin = tare_llama_origin_of(o->in, t->source);
        if (origin) {
            cli_json_str(entry, "made_of", origin->source);
            cli_json_u64(entry, "source_count", origin->n_sources);
            cli_json_text(entry, "operation", origin->operation);
        }
        const tare_tensor_error *error = loss_at(&o->losses, i);
        if (error) {
            cli_json_real(entry, "relative_rmse", error->relative_rmse);
            cli_json_real(entry, "max_abs", error->max_abs);
        }
        cli_json_append(list, entry);
    }
    return list;
}

static void print_json(const outcome *o) {
    const tare_plan *plan = o->plan;
    const tare_plan_summary *sum = tare_plan_summarize(plan);
    tare_json_node *document = cli_json_new("tare.convert/2");
    if (o->in_path) cli_json_text(document, "input", cli_input_name(o->in_path));
    cli_json_text(document, "output", o->out_path);
    cli_json_bool(document, "is_dry_run", cli.dry_run);
    cli_json_text(document, "format", sum->format);
    cli_json_bool(document, "is_identity", sum->is_identity);
    cli_json_u64(document, "read_bytes", sum->read_bytes);
    cli_json_u64(document, "write_bytes", written_bytes(o));
    if (o->mix && has_mix(o->mix, plan)) {
        if (o->mix_is_named) cli_json_text(document, "mix", o->mix->name);
        cli_json_real(document, "bits_per_weight", bits_a_weight(plan, o->in));
    }
    tare_json_node *files = cli_json_array();
    const tare_file_info *file;
    for (size_t i = 0; (file = tare_plan_file_at(plan, i)) != NULL; i++) {
        tare_json_node *entry = cli_json_object();
        cli_json_text(entry, "name", file->name);
        cli_json_u64(entry, "size_bytes", sum->n_files == 1 ? written_bytes(o) : file->size);
        cli_json_append(files, entry);
    }
    cli_json_add(document, "files", files);
    if (o->fit) cli_json_add(document, "fit", cli_fit_json(o->fit));
    cli_json_add(document, "tensors", json_plan_tensors(o));
    cli_json_add(document, "findings", cli_json_findings(o->report));
    cli_json_print(document);
}

static void print_outcome(const outcome *o) {
    bool is_stdout = strcmp(o->out_path, "-") == 0;
    if (cli.json) {
        print_json(o);
        return;
    }
    if (cli.quiet || (is_stdout && !cli.dry_run)) return;
    if (cli.dry_run) print_plan(o->plan, o->in);
    if (o->write->report) print_losses(o->plan, &o->losses);
    print_summary(o, is_stdout ? "standard output" : o->out_path);
    if (o->fit) cli_fit_print(o->fit);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Refuses what cannot be combined with writing to standard output: no --to, JSON or a report on it
 * too, reading back, a terminal. */
static int check_stdout(const cli_command *command, const cli_write *write) {
    if (!write->to) return cli_usage(command, "standard output needs --to FORMAT");
    if (cli.dry_run) return 0;
    if (cli.json || write->report)
        return cli_usage(command, "--%s and the output both want standard output",
                         cli.json ? "json" : "report");
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
    const char *const paths[] = {write->imatrix, write->metadata, write->lora, write->with_mmproj,
                                 write->scheme};
    const cli_list *const lists[] = {&write->merges, &write->adapters, &write->include_weights,
                                     &write->exclude_weights, &write->type_rules};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) cli_part_needs(part, paths[i]);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (size_t i = 0; i < lists[k]->n; i++) list_named(part, lists[k]->items[i]);
}

static tare_status run_part(const tare_plan *plan, const tare_part_options *part, const outcome *o,
                            tare_error *err) {
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
    outcome o = {.in = in,
                 .in_path = in_path,
                 .write = write,
                 .out_path = out_path,
                 .report = report,
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
    o.mix = options.mix ? options.mix->mix : NULL;
    o.mix_is_named = o.mix && !options.mix->is_of_rules;
    if (write->report) {
        options.measured = note_loss;
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
    bool is_told = status == TARE_OK || status == TARE_ERR_UNSUPPORTED ||
                   (status == TARE_ERR_ARG && options.n_merges > 0);
    if (!cli.json && is_told) {
        if (status == TARE_OK)
            cli_print_remarks(report, in_path, cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_INFO);
        else
            cli_print_findings(stderr, report, in_path,
                               cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_WARNING);
    }
    o.plan = plan;
    if (status == TARE_OK && !cli.part) print_outcome(&o);
    if (status != TARE_OK) {
        name_type(&err, words, sizeof words, &options);
        name_target(&err, words, sizeof words, &options, out_path);
    }
    code = status == TARE_OK ? CLI_YES : cli_write_failed(command, &err, in_path, report);
out:
    tare_plan_free(plan);
    tare_fit_free(fit);
    free(o.losses.errors);
    free(o.losses.is_measured);
    cli_parts_close(&p);
    return code;
}

/* What makes no sense of a part. */
static int check_part(const cli_command *command, const char *out_path, const cli_write *write) {
    if (!cli.part) return CLI_YES;
    if (strcmp(out_path, "-") == 0) return cli_usage(command, "--part needs a path as OUT");
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
    if (cli_check_local(command, out_path) != CLI_YES) return CLI_USAGE;
    if (check_part(command, out_path, write) != CLI_YES) return CLI_USAGE;
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
    rest.include_weights.n = rest.exclude_weights.n = rest.type_rules.n = 0;
    if (code == 0)
        code = write_model(command, packed ? packed : in, in_path, out_path, &rest, report);
    tare_model_free(packed);
    tare_fit_free(fit);
    tare_importance_free(importance);
    return code;
}

int cli_write_model(const cli_command *command, const tare_model *in, const char *in_path,
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
