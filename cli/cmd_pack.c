/* SPDX-License-Identifier: MIT
 *
 * tare pack: a model in fewer bytes, without loss unless that is asked for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static struct {
    const char *to, *made_for, *append, *imatrix, *sensitivity;
    uint64_t target_size;
    double target_bpw, target_damage;
    bool lossy;
    cli_list exclude;
} args;

static tare_part_options part; /* count 0: all is packed */
static tare_lossy_options lossy = {.size = sizeof lossy};

#define SUFFIX ".wcodec"

static const cli_option options[] = {
    {.name = "exclude",
     .arg = "PATTERN",
     .help = "leave out files and folders of this name in a directory, or, with a slash, of this "
             "path; \"NAME/\": folders only; may be given several times",
     .list = &args.exclude},
    {.name = "append",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help =
         "add IN to this .wcodec, as if its file or files had been packed together with those in "
         "it",
     .text = &args.append},
    {.name = "to",
     .arg = "FORMAT",
     .choices = "wcodec",
     .help = "needed where OUT does not end in .wcodec",
     .text = &args.to},
    {.name = "for",
     .arg = "MACHINE",
     .choices = "gpu",
     .help = "gpu: store tensors in shorter segments, and only in forms that a GPU can decode "
             "without the CPU; 0.1 to 0.8 % larger",
     .text = &args.made_for},
    {.name = "lossy",
     .help =
         "change the numbers of matrices to fit a target, so that the files do not come back byte "
         "for byte",
     .flag = &args.lossy},
    {.name = "target-bpw",
     .arg = "BITS",
     .help = "with --lossy: at most this many bits per weight, counting only tensors",
     .real = &args.target_bpw,
     .is_above_0 = true},
    {.name = "target-size",
     .arg = "SIZE",
     .help = "with --lossy: at most this many bytes in OUT",
     .size = &args.target_size},
    {.name = "target-damage",
     .arg = "DAMAGE",
     .help = "with --lossy: the smallest OUT whose predicted damage is at most this, such as 0.05",
     .real = &args.target_damage,
     .is_above_0 = true},
    {.name = "imatrix",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "with --lossy: importance matrix of llama-imatrix, which says which columns must "
             "keep most precision",
     .text = &args.imatrix},
    {.name = "sensitivity",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "with --lossy: measured sensitivities, a line TENSOR VALUE for each, in place of "
             "constants",
     .text = &args.sensitivity},
    CLI_NAMED("mode"),
    CLI_NAMED("segment"),
    {0},
};

/* ---- what became of it ----------------------------------------------------------------------- */

/* Layers of one type. */
typedef struct group {
    const tare_encoding *encoding; /* NULL: no tensors */
    uint64_t n, from_bytes, to_bytes;
} group;

typedef struct outcome {
    const char *in_path, *out_path;
    bool is_stream; /* it goes to standard output when it is complete */
    const tare_report *report;
    tare_pack_summary sum;
    group groups[TARE_ENCODING_COUNT + 1];
    tare_json_node *layers; /* NULL: not wanted, or none yet */
} outcome;

static void note(void *ctx, const tare_packed_layer *layer) {
    outcome *o = ctx;
    group *g = &o->groups[layer->encoding ? layer->encoding->id : TARE_ENCODING_COUNT];
    g->encoding = layer->encoding;
    g->n++;
    g->from_bytes += layer->from_bytes;
    g->to_bytes += layer->to_bytes;
    if (!cli.json) return;
    if (!o->layers) o->layers = cli_json_array();
    tare_json_node *entry = cli_json_object();
    cli_json_str(entry, "name", layer->name);
    cli_json_text(entry, "type", layer->encoding ? layer->encoding->name : NULL);
    cli_json_u64(entry, "from_bytes", layer->from_bytes);
    cli_json_u64(entry, "to_bytes", layer->to_bytes);
    cli_json_bool(entry, "is_shared", layer->is_shared);
    cli_json_append(o->layers, entry);
}

static double percent(uint64_t to, uint64_t from) {
    return from ? 100.0 * (double)to / (double)from : 100.0;
}

static void add_row(cli_table *table, const char *type, const group *g) {
    char text[40];
    cli_table_add(table, type);
    cli_table_add(table, cli_exact_text(g->n).text);
    cli_table_add(table, cli_size_text(g->from_bytes).text);
    cli_table_add(table, cli_size_text(g->to_bytes).text);
    snprintf(text, sizeof text, "%.2f %%", percent(g->to_bytes, g->from_bytes));
    cli_table_add(table, text);
}

static void print_text(const outcome *o) {
    const bool is_stdout = strcmp(o->out_path, "-") == 0;
    char *name = cli_escape_path(is_stdout ? "standard output" : o->out_path);
    cli_table *table = cli_table_new(args.lossy ? "STORED AS|>TENSORS|>FROM|>TO|>RATIO"
                                                : "TYPE|>TENSORS|>FROM|>TO|>RATIO");
    for (size_t i = 0; i < TARE_ENCODING_COUNT; i++)
        if (o->groups[i].n) add_row(table, o->groups[i].encoding->name, &o->groups[i]);
    if (o->groups[TARE_ENCODING_COUNT].n)
        add_row(table, "(other bytes)", &o->groups[TARE_ENCODING_COUNT]);
    const char *would = args.lossy ? "would write about " : "would write ";
    printf("%s%s%s%s: ", cli.dry_run ? would : "", cli_style_on(stdout, CLI_BOLD), name,
           cli_style_off(stdout));
    if (!args.lossy) printf("%zu file%s, ", o->sum.n_files, cli_plural(o->sum.n_files));
    printf("%s tensor%s", cli_exact_text(o->sum.n_tensors).text, cli_plural(o->sum.n_tensors));
    if (o->sum.n_shared) printf(" (%zu stored once with others)", o->sum.n_shared);
    if (o->sum.n_lossy) printf(", %zu of them with loss", o->sum.n_lossy);
    if (o->sum.n_referring) printf(", %zu of them as differences", o->sum.n_referring);
    printf(", %s -> %s (%.2f %%)\n", cli_size_text(o->sum.from_bytes).text,
           cli_size_text(o->sum.to_bytes).text, percent(o->sum.to_bytes, o->sum.from_bytes));
    cli_table_print(table, stdout, 2);
    cli_table_free(table);
    if (args.lossy && o->sum.n_lossy == 0)
        printf("  nothing is lost: %.4f bits per weight\n", o->sum.bits_per_weight);
    else if (args.lossy)
        printf("  LOSSY: %.4f bits per weight, predicted damage %.3g; the numbers of %zu tensor%s "
               "are not the original ones\n",
               o->sum.bits_per_weight, o->sum.damage, o->sum.n_lossy, cli_plural(o->sum.n_lossy));
    free(name);
}

static void print_json(outcome *o) {
    tare_json_node *document = cli_json_new("tare.pack/2");
    cli_json_text(document, "input", cli_input_name(o->in_path));
    cli_json_text(document, "output", o->out_path);
    cli_json_u64(document, "file_count", o->sum.n_files);
    cli_json_u64(document, "tensor_count", o->sum.n_tensors);
    cli_json_u64(document, "shared_tensor_count", o->sum.n_shared);
    cli_json_u64(document, "difference_tensor_count", o->sum.n_referring);
    cli_json_u64(document, "from_bytes", o->sum.from_bytes);
    cli_json_u64(document, "to_bytes", o->sum.to_bytes);
    cli_json_real(document, "ratio", percent(o->sum.to_bytes, o->sum.from_bytes) / 100);
    cli_json_bool(document, "is_lossy", o->sum.n_lossy > 0);
    cli_json_bool(document, "is_dry_run", cli.dry_run);
    if (args.lossy) {
        cli_json_u64(document, "lossy_tensor_count", o->sum.n_lossy);
        cli_json_real(document, "bits_per_weight", o->sum.bits_per_weight);
        cli_json_real(document, "damage", o->sum.damage);
    }
    cli_json_add(document, "layers", o->layers ? o->layers : cli_json_array());
    cli_json_add(document, "findings", cli_json_findings(o->report));
    cli_json_print(document);
}

/* ---- running --------------------------------------------------------------------------------- */

/* The first option given that only packing with loss has; NULL: none. */
static const char *option_of_loss(void) {
    const struct {
        const char *name;
        bool is_given;
    } all[] = {{"--target-bpw", args.target_bpw > 0},
               {"--target-size", args.target_size > 0},
               {"--target-damage", args.target_damage > 0},
               {"--imatrix", args.imatrix != NULL},
               {"--sensitivity", args.sensitivity != NULL}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].is_given) return all[i].name;
    return NULL;
}

/* 0: what is said about loss goes together. */
static int check_lossy(void) {
    const int n = (args.target_size > 0) + (args.target_bpw > 0) + (args.target_damage > 0);
    const char *of_loss = args.lossy ? NULL : option_of_loss();
    if (of_loss)
        return cli_usage(&cmd_pack, "%s is an option of packing with loss: give --lossy", of_loss);
    if (args.lossy && n == 0)
        return cli_usage(&cmd_pack, "--lossy needs a target: --target-bpw, --target-size or "
                                    "--target-damage");
    if (n > 1)
        return cli_usage(&cmd_pack,
                         "--target-bpw, --target-size and --target-damage exclude each other");
    if (args.lossy && (tare_options_pack(cli_named(&cmd_pack))->mode || cli.base.n))
        return cli_usage(&cmd_pack, "--lossy cannot be combined with --mode or --base");
    if (args.lossy && args.exclude.n)
        return cli_usage(&cmd_pack, "--exclude: with --lossy the model is packed, not the files of "
                                    "a directory");
    return CLI_YES;
}

/* An exit code. */
static int fill_options(tare_pack_options *o, const char *in_path) {
    o->effort = cli_effort();
    o->is_for_gpu = args.made_for != NULL;
    const cli_path_kind kind = cli_stat(in_path);
    if (kind == CLI_PATH_NOTHING && errno != ENOENT && errno != ENOTDIR) {
        char *name = cli_escape_path(in_path);
        int code =
            cli_fail_text(CLI_IO, "%s: its status cannot be read: %s", name, strerror(errno));
        free(name);
        return code;
    }
    if (kind == CLI_PATH_FOLDER && !args.append) o->directory = in_path;
    if (args.exclude.n && kind != CLI_PATH_FOLDER)
        return cli_usage(&cmd_pack, "--exclude: only a directory has files that can be left out");
    o->exclude = args.exclude.items;
    o->n_exclude = args.exclude.n;
    lossy.target_bytes = args.target_size;
    lossy.target_bpw = args.target_bpw;
    lossy.target_damage = args.target_damage;
    if (args.lossy) o->lossy = &lossy;
    return CLI_YES;
}

static int failed(const tare_error *err, const outcome *o) {
    cli_json_fail(err, o->in_path, o->report);
    if (cli_has_code(err, TARE_CODE_BAD_SENSITIVITIES)) return cli_fail(err, args.sensitivity);
    if (cli_has_code(err, TARE_CODE_TARGET_TOO_SMALL))
        return cli_usage(&cmd_pack, "--target-%s is too small: %s are needed",
                         args.target_size ? "size" : "bpw", err->field);
    if (args.lossy && err->status == TARE_ERR_ARG && !err->file[0] &&
        err->item_kind == TARE_ITEM_NONE)
        return cli_usage(&cmd_pack, "%s%s%s", err->field, err->field[0] ? ": " : "", err->what);
    return cli_fail(err, o->in_path);
}

/* Whether a folder has several models, which are packed together. */
static bool holds_several(const char *path) {
    size_t n = 0;
    return cli_stat(path) == CLI_PATH_FOLDER && tare_count_models(&n, path, NULL) == TARE_OK &&
           n > 1;
}

/* *out NULL: a folder that is no model, which is packed all the same, or several. */
static int open_input(tare_model **out, const char *path, tare_report *report) {
    tare_error err;
    *out = NULL;
    if (args.append || (!args.lossy && holds_several(path))) return CLI_YES;
    if (cli_open_quietly(out, path, report, &err) == TARE_OK) return CLI_YES;
    const bool is_no_model = err.status == TARE_ERR_UNSUPPORTED ||
                             (err.code && strcmp(err.code, TARE_CODE_UNKNOWN_FORMAT) == 0);
    if (!args.lossy && !cli.base.n && is_no_model && cli_stat(path) == CLI_PATH_FOLDER)
        return CLI_YES;
    return cli_fail_open(&err, path);
}

/* Of several models none is what the input differs from. */
static int check_bases(tare_model *const *bases, size_t n) {
    tare_container_info c = tare_container_info_default();
    for (size_t i = 0; i < n; i++) {
        const char *name = cli.base.items[i];
        if (tare_model_container(&c, bases[i]) && c.is_directory && !c.format)
            return cli_usage(
                &cmd_pack,
                "--base: %s holds several models: one of them is %s::NAME; --append %s "
                "adds the input to them, as what is made of them",
                name, name, name);
    }
    return CLI_YES;
}

/* `model` NULL: several, of the folder that is the input, or more for the container. */
static int pack(const tare_model *model, tare_pack_options *pack_options, outcome *o,
                tare_report *report) {
    tare_model **bases;
    tare_error err;
    if (cli_bases(&bases, &pack_options->n_bases, &err) != TARE_OK) return failed(&err, o);
    const int code = check_bases(bases, pack_options->n_bases);
    if (code != CLI_YES) return code;
    pack_options->bases = (const tare_model *const *)bases;
    pack_options->base_hints = cli_base_hints();
    pack_options->packed = note;
    pack_options->packed_ctx = o;
    cli_progress_start("packing");
    tare_status status =
        args.append ? tare_pack_add(&o->sum, o->out_path, o->in_path, pack_options, &err)
        : model     ? tare_pack(&o->sum, o->out_path, model, pack_options, &err)
                    : tare_pack_ladder(&o->sum, o->out_path, o->in_path, pack_options, &err);
    cli_progress_end();
    const tare_level level = cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_INFO;
    if (!cli.json && status == TARE_OK)
        cli_print_remarks(report, o->in_path, level);
    else if (!cli.json)
        cli_print_findings(stderr, report, o->in_path, level);
    if (status != TARE_OK) return failed(&err, o);
    if (cli.json)
        print_json(o);
    else if (!cli.quiet && !(o->is_stream && !cli.dry_run))
        print_text(o);
    return CLI_YES;
}

/* A part of what is packed. */
static int pack_part(const tare_model *model, const tare_pack_options *pack_options, outcome *o,
                     tare_report *report) {
    tare_part_options of_part = part;
    tare_part_result result = tare_part_result_default();
    tare_error err;
    of_part.context = pack_options->context;
    of_part.output = pack_options->output;
    cli_part_needs(&of_part, o->in_path);
    cli_progress_start("packing");
    const tare_status status =
        tare_part_of_pack(&result, o->out_path, model, pack_options, &of_part, &err);
    cli_progress_end();
    cli_part_free(&of_part);
    if (!cli.json)
        cli_print_findings(stderr, report, o->in_path,
                           cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_INFO);
    if (status != TARE_OK) return failed(&err, o);
    cli_part_print(&part, &result, o->in_path, o->out_path, report);
    return CLI_YES;
}

/* What makes no sense of a part. */
static int check_part(const char *in_path, const char *out_path) {
    const int code = cli_part_read(&part, &cmd_pack);
    if (code != CLI_YES || !cli.part) return code;
    const char *other = args.append ? "append" : args.lossy ? "lossy" : cli.base.n ? "base" : NULL;
    if (other) return cli_usage(&cmd_pack, "--part and --%s exclude each other", other);
    if (cli_part_check_output(&cmd_pack, out_path) != CLI_YES) return CLI_USAGE;
    if (holds_several(in_path))
        return cli_usage(&cmd_pack,
                         "--part is of one model: a directory with several is packed whole, "
                         "on one machine");
    return CLI_YES;
}

static int pack_as_told(const tare_model *model, outcome *o, tare_report *report) {
    tare_pack_options *pack_options = tare_options_pack(cli_named(&cmd_pack));
    const tare_context context = cli_context(report);
    const tare_output_options output = cli_output();
    pack_options->context = &context;
    pack_options->output = &output;
    const int code = fill_options(pack_options, o->in_path);
    if (code != CLI_YES) return code;
    if (!cli.part) return pack(model, pack_options, o, report);
    if (model) return pack_part(model, pack_options, o, report);
    return cli_usage(&cmd_pack, "--part is of a model, and this directory is not one");
}

/* What is wrong with the output's name; 0: nothing. */
static int check_output(const char *path) {
    if (!path)
        return cli_usage(&cmd_pack, "the input has no name that the output could be called after: "
                                    "name it");
    if (strcmp(path, "-") == 0) {
        if (!args.to) return cli_usage(&cmd_pack, "standard output needs --to wcodec");
        if (cli.dry_run) return CLI_YES;
        if (cli.json) return cli_usage_both(&cmd_pack, "json");
        return cli_is_terminal(stdout) ? cli_usage(&cmd_pack, "standard output is a terminal")
                                       : CLI_YES;
    }
    if (cli_check_output(&cmd_pack, path) != CLI_YES) return CLI_USAGE;
    const char *format = tare_format_of_path(path);
    if (args.to || (format && strcmp(format, "wcodec") == 0)) return CLI_YES;
    return cli_usage(&cmd_pack, "the output does not end in " SUFFIX
                                ", although it will be a .wcodec: name it so, or give --to wcodec");
}

/* 0, or an exit code after saying what is wrong. */
static int open_importance(tare_importance **out, tare_report *report) {
    tare_open_options o = tare_open_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_error err;
    *out = NULL;
    context.report = report;
    if (!args.imatrix || tare_importance_open_path(out, args.imatrix, &o, &err) == TARE_OK)
        return CLI_YES;
    cli_json_fail(&err, args.imatrix, report);
    return cli_fail(&err, args.imatrix);
}

/* A .wcodec begins with where its index is, which is known at the end. */
static int pack_to(const tare_model *model, outcome *o, tare_report *report) {
    char path[CLI_STREAM_PATH];
    o->is_stream = strcmp(o->out_path, "-") == 0;
    if (!o->is_stream || cli.dry_run) return pack_as_told(model, o, report);
    const int code = cli_stream_begin(path, SUFFIX);
    if (code != CLI_YES) return code;
    o->out_path = path;
    return cli_stream_end(path, pack_as_told(model, o, report));
}

static int run(int argc, const char **argv) {
    if (args.append && argc > 1)
        return cli_usage(&cmd_pack, "--append: the output is %s", args.append);
    if (args.append && (args.lossy || cli.base.n))
        return cli_usage(&cmd_pack, "--append cannot be combined with --lossy or --base");
    cli.is_stored = true;
    tare_importance *importance = NULL;
    tare_report *report = cli_report_new();
    char *name = argc < 2 ? cli_name_after(argv[0], SUFFIX) : NULL, *sensitivities = NULL;
    outcome o = {.in_path = argv[0],
                 .out_path = args.append ? args.append
                             : argc < 2  ? name
                                         : argv[1],
                 .report = report,
                 .sum = tare_pack_summary_default()};
    tare_model *model = NULL;
    int code = check_output(o.out_path);
    if (code == CLI_YES) code = check_lossy();
    if (code == CLI_YES) code = check_part(argv[0], o.out_path);
    if (code == CLI_YES) code = open_importance(&importance, report);
    lossy.importance = importance;
    if (code == CLI_YES && args.sensitivity)
        code = cli_read_sensitivities(&lossy.sensitivities, &sensitivities, args.sensitivity);
    if (code == CLI_YES) code = open_input(&model, argv[0], report);
    if (code == CLI_YES) code = pack_to(model, &o, report);
    tare_model_free(model);
    tare_importance_free(importance);
    tare_report_free(report);
    free(sensitivities);
    free(name);
    return code;
}

const cli_command cmd_pack = {
    .name = "pack",
    .verb = TARE_VERB_PACK,
    .summary = "store a model in fewer bytes, without loss unless --lossy is given",
    .usage = "IN [OUT.wcodec] [--effort fast|full] [--base BASE]...\n"
             "DIR [OUT.wcodec] [--exclude PATTERN]...\n"
             "IN --append FILE.wcodec\n"
             "IN OUT.wcodec --lossy --target-bpw BITS [--imatrix FILE]\n"
             "IN OUT.wcodec --part I/N",
    .description =
        "Packs one file, a whole shard set (name any of its shards; --one-shard packs that one "
        "alone), or a whole directory, such as a trainer's checkpoint or a diffusers pipeline: "
        "every file in it and in its folders, with links, permissions and times, except what "
        "programs keep beside models (.git, .cache). Tensors "
        "are compressed according to their types, in segments that can be decoded one by one; "
        "everything else is stored beside them, so that the files come back byte for byte. A "
        "directory with several models (quantizations of one) becomes a ladder: a tensor that can "
        "be made by quantizing a larger model in the directory (also with an importance matrix, if "
        "a file there has imatrix in its name) is not stored but computed when it is read; "
        "OUT.wcodec::NAME "
        "is one of its files, and --append adds others later. Without OUT, IN.wcodec is written. "
        "OUT appears under its name only when it is complete; - "
        "(standard output) needs --to wcodec and the space of OUT in TMPDIR or /var/tmp. With "
        "--lossy, and only then, the numbers of matrices change: OUT holds the closest model to IN "
        "that meets the target, and unpack writes that model, not IN.",
    .examples =
        {{"tare pack model.gguf", "a file, as model.gguf.wcodec"},
         {"tare pack https://example.org/model.gguf model.wcodec", "one on a server"},
         {"tare pack hf-directory model.wcodec --effort full",
          "a directory with shards and side files, as small as it gets"},
         {"tare pack models models.wcodec", "many quantizations of a model, in the space of one"},
         {"tare pack model-Q5_K_M.gguf --append models.wcodec", "one more of them"},
         {"tare pack checkpoint --exclude 'optimizer.pt' --exclude runs/",
          "a directory without some of it"},
         {"tare pack tuned.gguf tuned.wcodec --base original.gguf",
          "a fine-tune, as differences from its original"},
         {"tare pack model.safetensors small.wcodec --lossy --target-bpw 3.5",
          "with loss: as good as 3.5 bits per weight can be"},
         {"tare pack model.gguf small.wcodec --lossy --target-size 2G --imatrix m.gguf",
          "the best in 2 GB, weighted by an importance matrix"},
         {"tare pack model.gguf small.wcodec --lossy --target-damage 0.05 --dry-run",
          "about how large the file would be"},
         {"tare pack model.gguf --dry-run",
          "how small it becomes: packed, and thrown away; tare bench is quicker, with samples"},
         {"tare pack model.safetensors model.wcodec --json", "sizes, for a script"}},
    .options = options,
    .groups = {{"With --lossy", "target-bpw target-size target-damage imatrix sensitivity"},
               {"Forms of the data", "mode segment"}},
    .main = "effort base exclude append lossy target-bpw target-size imatrix dry-run force json",
    .takes = CLI_TAKES_WORK | CLI_TAKES_NAMED | CLI_TAKES_JSON | CLI_TAKES_INPUT |
             CLI_TAKES_OUTPUT | CLI_TAKES_PART | CLI_TAKES_STRICT | CLI_TAKES_EFFORT |
             CLI_TAKES_SIMILAR,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 1,
    .max_args = 2,
    .out_at = 1,
    .run = run,
};
