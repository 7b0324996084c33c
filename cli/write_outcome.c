/* SPDX-License-Identifier: MIT
 *
 * What convert, quantize and synth say of a plan and of what they wrote: tensors that fare alike, what
 * encoding lost, one line of summary, or all of it as JSON. */
#include <stdlib.h>
#include <string.h>

#include "write.h"

static const char *const action_names[] = {
    [TARE_ACTION_COPY] = "copied",     [TARE_ACTION_STAND_IN] = "carried",
    [TARE_ACTION_ENCODE] = "encoded",  [TARE_ACTION_LOSSY] = "lossy",
    [TARE_ACTION_REPACK] = "repacked",
};

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

void cli_note_loss(void *ctx, size_t i, const tare_tensor_error *error) {
    cli_losses *l = ctx;
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

void cli_losses_free(cli_losses *l) {
    free(l->errors);
    free(l->is_measured);
}

static const tare_tensor_error *loss_at(const cli_losses *l, size_t i) {
    return i < l->n && l->is_measured[i] ? &l->errors[i] : NULL;
}

static void print_losses(const tare_plan *plan, const cli_losses *l) {
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

/* ---- the result ------------------------------------------------------------------------------ */

double cli_bits_a_weight(const tare_plan *plan, const tare_model *in) {
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
static uint64_t written_bytes(const cli_outcome *o) {
    return o->result.written_bytes ? o->result.written_bytes
                                   : tare_plan_summarize(o->plan)->write_bytes;
}

static void print_summary(const cli_outcome *o, const char *out_path) {
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
    double bits = cli_bits_a_weight(plan, o->in);
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

static tare_json_node *json_plan_tensors(const cli_outcome *o) {
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

static void add_output(tare_json_node *to, const cli_outcome *o) {
    const tare_plan *plan = o->plan;
    const tare_plan_summary *sum = tare_plan_summarize(plan);
    cli_json_text(to, "output", o->out_path);
    cli_json_text(to, "format", sum->format);
    cli_json_bool(to, "is_identity", sum->is_identity);
    cli_json_u64(to, "read_bytes", sum->read_bytes);
    cli_json_u64(to, "write_bytes", written_bytes(o));
    if (o->target_bytes) cli_json_u64(to, "target_bytes", o->target_bytes);
    if (o->mix && has_mix(o->mix, plan)) {
        if (o->mix_is_named) cli_json_text(to, "mix", o->mix->name);
        cli_json_real(to, "bits_per_weight", cli_bits_a_weight(plan, o->in));
    }
    if (o->damage >= 0) cli_json_real(to, "damage", o->damage);
    tare_json_node *files = cli_json_array();
    const tare_file_info *file;
    for (size_t i = 0; (file = tare_plan_file_at(plan, i)) != NULL; i++) {
        tare_json_node *entry = cli_json_object();
        cli_json_text(entry, "name", file->name);
        cli_json_u64(entry, "size_bytes", sum->n_files == 1 ? written_bytes(o) : file->size);
        cli_json_append(files, entry);
    }
    cli_json_add(to, "files", files);
    if (o->fit) cli_json_add(to, "fit", cli_fit_json(o->fit));
    cli_json_add(to, "tensors", json_plan_tensors(o));
}

void cli_print_outputs(const cli_command *command, const cli_outcome *all, size_t n) {
    char schema[32];
    snprintf(schema, sizeof schema, "tare.%s/2", command->name);
    tare_json_node *document = cli_json_new(schema);
    cli_json_text(document, "input", cli_input_name(all->in_path));
    cli_json_bool(document, "is_dry_run", cli.dry_run);
    if (command->takes & CLI_MAKES_SEVERAL) {
        tare_json_node *outputs = cli_json_array();
        for (size_t i = 0; i < n; i++) {
            tare_json_node *output = cli_json_object();
            add_output(output, &all[i]);
            cli_json_append(outputs, output);
        }
        cli_json_add(document, "outputs", outputs);
    } else {
        add_output(document, all);
    }
    cli_json_add(document, "findings", cli_json_findings(all->report));
    cli_json_print(document);
}

void cli_print_outcome(const cli_command *command, const cli_outcome *o) {
    bool is_stdout = strcmp(o->out_path, "-") == 0;
    if (cli.json) {
        cli_print_outputs(command, o, 1);
        return;
    }
    if (cli.quiet || (is_stdout && !cli.dry_run)) return;
    if (cli.dry_run) print_plan(o->plan, o->in);
    if (o->write->report) print_losses(o->plan, &o->losses);
    print_summary(o, is_stdout ? "standard output" : o->out_path);
    if (o->fit) cli_fit_print(o->fit);
}
