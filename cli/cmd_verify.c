/* SPDX-License-Identifier: MIT
 *
 * tare verify: every rule of the format, and with --deep every value; all findings are listed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static struct {
    bool is_deep, keep_names, is_scan;
    const char *manifest, *write_manifest, *against, *policy, *derived_from, *imatrix;
} args;

#define POLICY_MOST ((size_t)1 << 20)

static tare_str policy;        /* the text of its file */
static tare_part_options part; /* count 0: all is checked */

static const cli_option options[] = {
    {.name = "deep",
     .help = "read all data too (NaN, infinities, impossible scales, padding, zeros where a "
             "download stopped, the digest in the name of a cached file)",
     .flag = &args.is_deep},
    {.name = "manifest",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "check every tensor's SHA-256 against FILE",
     .text = &args.manifest},
    {.name = "write-manifest",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "write the SHA-256 of every tensor to FILE",
     .text = &args.write_manifest},
    {.name = "against",
     .arg = "SOURCE",
     .complete = CLI_COMPLETE_FILE,
     .help = "also compare with the model that it was made from; numbers, files, adapters and keys "
             "that are lost are warnings (errors with --strict), missing tensors errors",
     .text = &args.against},
    {.name = "derived-from",
     .arg = "MODEL",
     .complete = CLI_COMPLETE_FILE,
     .help =
         "also check that the model was quantized from MODEL; tensors of MODEL are encoded again "
         "and compared block by block, and a block that no encoder would have made is an error",
     .text = &args.derived_from},
    {.name = "imatrix",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "with --derived-from: the importance matrix that it may have been made with",
     .text = &args.imatrix},
    {.name = "policy",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "also check the model against a policy (JSON): types, license, chat template, names, "
             "size, no NaN",
     .text = &args.policy},
    {.name = "keep-names",
     .help = "with --against or --derived-from: compare a Hugging Face model with a GGUF file "
             "under their own tensor names",
     .flag = &args.keep_names},
    {.name = "pickles",
     .help = "anything that loading a PyTorch file in Python would import, except what PyTorch "
             "itself needs, is an error",
     .flag = &args.is_scan},
    {0},
};

/* ---- against its source ---------------------------------------------------------------------- */

/* Models under the names that both have: one of Hugging Face that is compared with a GGUF file of
 * llama.cpp gets the latter's. */
typedef struct alike {
    const tare_model *model, *source;
    tare_model *renamed_model, *renamed_source; /* NULL: not that one */
} alike;

static int name_alike(alike *a, const char *path, const char *source_path) {
    int code = CLI_YES;
    if (!args.keep_names)
        code = cli_map_names(&a->renamed_source, a->source, source_path, a->model);
    if (a->renamed_source) a->source = a->renamed_source;
    if (!args.keep_names && code == CLI_YES)
        code = cli_map_names(&a->renamed_model, a->model, path, a->source);
    if (a->renamed_model) a->model = a->renamed_model;
    return code;
}

typedef tare_status (*compare_fn)(const tare_model *model, const tare_model *source,
                                  const tare_context *context, tare_error *err);

/* As --derived-from asks. */
static tare_status compare_derived(const tare_model *model, const tare_model *source,
                                   const tare_context *context, tare_error *err) {
    tare_open_options how = tare_open_options_default();
    tare_importance *importance = NULL;
    how.context = context;
    tare_status status = TARE_OK;
    if (args.imatrix) status = tare_importance_open_path(&importance, args.imatrix, &how, err);
    if (status == TARE_OK)
        status = tare_verify_derived(NULL, model, source, importance, context, err);
    tare_importance_free(importance);
    return status;
}

/* Both as models, not as what lies in their files: packed weights are compared by the numbers that they stand
 * for. Standard input is read but once. */
static int open_both(tare_model **own, tare_model **source, const char *path,
                     const char *source_path) {
    const cli_base_use use = cli.base_use;
    int code = CLI_YES;
    cli.is_stored = false;
    *own = *source = NULL;
    if (strcmp(path, "-") != 0) code = cli_open(own, path, NULL);
    cli.base_use = CLI_BASES_NOW;
    if (code == CLI_YES) code = cli_open(source, source_path, NULL);
    cli.base_use = use;
    cli.is_stored = true;
    return code;
}

/* An exit code where the source could not be compared, which has been said. */
static int check_source(const tare_model *model, const char *path, const char *source_path,
                        compare_fn compare, tare_report *report) {
    const tare_context context = cli_context(report);
    tare_model *own, *source;
    tare_error err;
    int code = open_both(&own, &source, path, source_path);
    alike a = {.model = own ? own : model, .source = source};
    if (code == CLI_YES) code = name_alike(&a, path, source_path);
    if (code == CLI_YES) {
        cli_progress_start("comparing");
        const tare_status status = compare(a.model, a.source, &context, &err);
        cli_progress_end();
        if (status != TARE_OK) code = cli_fail(&err, source_path);
    }
    tare_model_free(a.renamed_model);
    tare_model_free(a.renamed_source);
    tare_model_free(own);
    tare_model_free(source);
    return code;
}

static int check_sources(const tare_model *model, const char *path, tare_report *report) {
    int code = CLI_YES;
    if (args.against) code = check_source(model, path, args.against, tare_verify_against, report);
    if (code == CLI_YES && args.derived_from)
        code = check_source(model, path, args.derived_from, compare_derived, report);
    return code;
}

static tare_status write_part(const tare_model *model, const char *path,
                              const tare_context *context, const tare_output_options *output,
                              tare_error *err) {
    tare_part_options o = part;
    o.context = context;
    o.output = output;
    cli_part_needs(&o, path);
    const tare_status status = tare_part_of_manifest(NULL, args.write_manifest, model, &o, err);
    cli_part_free(&o);
    return status;
}

/* Checks beyond the directory. A manifest that differs results in findings, not in a failure. */
static tare_status check_more(const tare_model *model, const char *given, tare_report *report,
                              tare_error *err, const char **path) {
    const tare_context context = cli_context(report);
    const tare_output_options output = cli_output();
    tare_status status = tare_verify_resources(model, &context, err);
    if (status == TARE_OK && args.is_deep)
        status = cli.part ? tare_part_of_verify(model, part.index, part.count, &context, err)
                          : tare_verify_data(model, &context, err);
    if (status == TARE_OK && args.manifest) {
        status = tare_manifest_check(args.manifest, model, &context, err);
        if (status == TARE_ERR_CHECKSUM) {
            status = TARE_OK;
        } else if (status != TARE_OK) {
            *path = args.manifest;
        }
    }
    if (status == TARE_OK && args.policy) {
        status = tare_policy_check(model, policy, &context, err);
        if (status == TARE_ERR_ARG || status == TARE_ERR_CORRUPT) *path = args.policy;
    }
    if (status == TARE_OK && args.write_manifest) {
        status = cli.part ? write_part(model, given, &context, &output, err)
                          : tare_manifest_write(args.write_manifest, model, &output, &context, err);
        if (status != TARE_OK) *path = args.write_manifest;
    }
    if (status != TARE_OK) cli_name_base(err);
    return status;
}

/* What is an error: with --pickles also names in pickles that are a note otherwise. */
static size_t count_errors(const tare_report *report) {
    size_t n = tare_report_count_level(report, TARE_LEVEL_ERROR);
    for (size_t i = 0; args.is_scan && i < tare_report_count(report); i++) {
        const tare_finding *f = tare_report_at(report, i);
        n += f->level < TARE_LEVEL_ERROR && f->code && strcmp(f->code, TARE_CODE_PICKLE_NAME) == 0;
    }
    return n;
}

static size_t count_code(const tare_report *report, const char *code) {
    size_t n = 0;
    for (size_t i = 0; i < tare_report_count(report); i++) {
        const tare_finding *f = tare_report_at(report, i);
        n += f->code && strcmp(f->code, code) == 0;
    }
    return n;
}

/* Whether base models are missing, so that not all was verified, and nothing else is wrong. */
static bool is_incomplete(const tare_report *report) {
    size_t n = count_code(report, TARE_CODE_NEEDS_BASE);
    return n && n == count_errors(report);
}

/* Whether a .wcodec is, of which files are to be had. */
static bool is_damaged(const tare_model *model, const tare_report *report) {
    tare_container_info c = tare_container_info_default();
    const tare_finding *f;
    if (!tare_model_container(&c, model) || !c.n_files) return false;
    for (size_t i = 0; (f = tare_report_at(report, i)) != NULL; i++)
        if (f->level == TARE_LEVEL_ERROR && f->code && strncmp(f->code, "wcodec.", 7) == 0 &&
            strcmp(f->code, TARE_CODE_NEEDS_BASE) != 0)
            return true;
    return false;
}

static tare_json_node *json_of(const tare_model *model, const char *path, const tare_report *report,
                               tare_json_node *failure, bool is_good) {
    const size_t n_errors = count_errors(report);
    const size_t n_warnings = tare_report_count_level(report, TARE_LEVEL_WARNING) -
                              tare_report_count_level(report, TARE_LEVEL_ERROR);
    tare_json_node *document = cli_json_object();
    cli_json_text(document, "input", cli_input_name(path));
    cli_json_bool(document, "opens", model != NULL);
    cli_json_bool(document, "is_good", is_good);
    cli_json_bool(document, "is_deep", args.is_deep);
    if (cli.part) {
        cli_json_u64(document, "part", part.index);
        cli_json_u64(document, "part_count", part.count);
    }
    if (args.against) cli_json_text(document, "against", args.against);
    if (args.derived_from) cli_json_text(document, "derived_from", args.derived_from);
    cli_json_bool(document, "is_complete",
                  !failure && count_code(report, TARE_CODE_NEEDS_BASE) == 0);
    if (model) {
        const tare_model_summary *sum = tare_model_summarize(model);
        cli_json_text(document, "format", sum->format);
        cli_json_u64(document, "version", sum->version);
        cli_json_u64(document, "tensor_count", sum->n_tensors);
    }
    if (failure) cli_json_add(document, "error", failure);
    cli_json_u64(document, "error_count", n_errors);
    cli_json_u64(document, "warning_count", n_warnings);
    cli_json_add(document, "findings", cli_json_findings(report));
    return document;
}

/* "model.gguf: good: gguf v3, 291 tensors, 4.92 GB; 2 warnings" */
static void print_verdict(const tare_model *model, const char *path, const tare_report *report,
                          bool is_good) {
    const size_t n_errors = count_errors(report);
    const size_t n_warnings = tare_report_count_level(report, TARE_LEVEL_WARNING) -
                              tare_report_count_level(report, TARE_LEVEL_ERROR);
    const tare_model_summary *sum = tare_model_summarize(model);
    char *name = cli_escape_path(cli_input_name(path));
    const char *verdict = is_good ? "good" : is_incomplete(report) ? "not all verified" : "bad";
    printf("%s: %s%s%s: %s", name, cli_style_on(stdout, is_good ? CLI_GREEN : CLI_RED), verdict,
           cli_style_off(stdout), cli_format_text(model).text);
    printf(", %s tensor%s, %s", cli_exact_text(sum->n_tensors).text, cli_plural(sum->n_tensors),
           cli_size_text(sum->file_bytes).text);
    if (cli.part)
        printf(", part %" PRIu32 " of %" PRIu32 " of its data read", part.index, part.count);
    else if (args.is_deep && !sum->is_truncated && !count_code(report, TARE_CODE_NEEDS_BASE))
        fputs(", all data read", stdout);
    if (args.manifest && is_good) fputs(", as its manifest says", stdout);
    if (args.policy && is_good) fputs(", as the policy demands", stdout);
    if (args.against && is_good && !n_warnings) fputs(", nothing of its source is lost", stdout);
    if (args.derived_from && is_good) fputs(", made from its source", stdout);
    if (args.write_manifest) printf(", manifest %swritten", cli.dry_run ? "would be " : "");
    if (n_errors) printf("; %zu error%s", n_errors, cli_plural(n_errors));
    if (n_warnings) printf("; %zu warning%s", n_warnings, cli_plural(n_warnings));
    fputc('\n', stdout);
    free(name);
}

/* The document of a model goes to *document where JSON is asked for. */
static int verify_one(tare_json_node **document, const char *path) {
    const char *failed_path = path;
    const bool wants_json = cli.json;
    tare_report *report = cli_report_new();
    tare_model *model;
    tare_error err;
    tare_status status = cli_open_quietly(&model, path, report, &err);
    if (status == TARE_OK) {
        cli_progress_start("verifying");
        status = check_more(model, path, report, &err, &failed_path);
        cli_progress_end();
    }
    const int unchecked = status == TARE_OK ? check_sources(model, path, report) : 0;
    tare_level fatal = cli.strict ? TARE_LEVEL_WARNING : TARE_LEVEL_ERROR;
    bool is_good = status == TARE_OK && !unchecked && count_errors(report) == 0 &&
                   tare_report_count_level(report, fatal) == 0;
    int code = is_good                                     ? CLI_YES
               : count_code(report, TARE_CODE_REPORT_LOST) ? CLI_MEMORY
               : is_incomplete(report)                     ? CLI_USAGE
                                                           : CLI_NO;
    if (cli.json) {
        *document = json_of(model, path, report,
                            status == TARE_OK ? NULL : cli_json_error(&err, failed_path), is_good);
        cli.json = false; /* a failure is in the document already */
    } else {
        tare_level least = cli.quiet ? fatal : TARE_LEVEL_INFO;
        cli_print_findings(stdout, report, path, least);
        if (status == TARE_OK && !unchecked && !cli.quiet)
            print_verdict(model, path, report, is_good);
        if (status == TARE_OK && !cli.quiet && is_damaged(model, report))
            cli_hint_salvage(cli_error_stream());
    }
    if (status != TARE_OK)
        code = model ? cli_fail(&err, failed_path) : cli_fail_open(&err, failed_path);
    if (unchecked) code = unchecked;
    cli.json = wants_json;
    tare_model_free(model);
    tare_report_free(report);
    return code;
}

static int check_manifests(int n_models) {
    const char *const manifests[] = {args.manifest, args.write_manifest};
    for (size_t i = 0; i < 2; i++) {
        if (!manifests[i]) continue;
        if (strcmp(manifests[i], "-") == 0)
            return cli_usage(&cmd_verify,
                             "a manifest has a file of its own; write ./- for the name -");
        if (n_models > 1) return cli_usage(&cmd_verify, "a manifest describes one model");
        const char *claimed = i == 1 ? cli_suffix_claims(manifests[i], NULL) : NULL;
        if (claimed) return cli_usage(&cmd_verify, "a manifest is text: its name says %s", claimed);
    }
    if (args.keep_names && !args.against && !args.derived_from)
        return cli_usage(&cmd_verify, "--keep-names needs --against or --derived-from");
    if (args.imatrix && !args.derived_from)
        return cli_usage(&cmd_verify, "--imatrix needs --derived-from");
    if ((args.against || args.derived_from) && n_models > 1)
        return cli_usage(&cmd_verify, "--%s compares a single model",
                         args.against ? "against" : "derived-from");
    return args.write_manifest ? cli_check_output(&cmd_verify, args.write_manifest) : CLI_YES;
}

/* A part of what reads data; the rest is quick, or not of single tensors. */
static int check_part(int n_models) {
    const int code = cli_part_read(&part, &cmd_verify);
    if (code != CLI_YES || !cli.part) return code;
    const char *other = args.manifest       ? "manifest"
                        : args.policy       ? "policy"
                        : args.against      ? "against"
                        : args.derived_from ? "derived-from"
                                            : NULL;
    if (other) return cli_usage(&cmd_verify, "--part and --%s exclude each other", other);
    if (!args.is_deep && !args.write_manifest)
        return cli_usage(&cmd_verify, "--part is of what reads data: --deep, or --write-manifest");
    if (n_models > 1) return cli_usage(&cmd_verify, "--part is of a single model");
    return args.write_manifest ? cli_part_check_output(&cmd_verify, args.write_manifest) : CLI_YES;
}

static int read_policy(char **text) {
    if (!args.policy) return CLI_YES;
    const int code = cli_read_file(text, &policy.len, args.policy, POLICY_MOST);
    policy.ptr = *text;
    if (code != CLI_YES || policy.len <= POLICY_MOST) return code;
    return cli_usage(&cmd_verify, "--policy: the file is larger than 1 MiB");
}

static int verify_all(int argc, const char **argv) {
    int worst = CLI_YES;
    const bool reads_data = args.is_deep || args.policy || args.manifest || args.write_manifest ||
                            args.against || args.derived_from;
    cli.base_use = reads_data ? CLI_BASES_SOME : CLI_BASES_UNUSED;
    if (cli.json) cli_json_begin_list(cli_json_new("tare.verify/2"), "models");
    for (int i = 0; i < argc && worst < CLI_CANCELLED; i++) {
        tare_json_node *document = NULL;
        int code = verify_one(&document, argv[i]);
        if (code > worst) worst = code;
        if (document) cli_json_print(document);
    }
    cli_json_end_list();
    cli.json = false; /* what failed is in the documents already */
    return worst;
}

static int run(int argc, const char **argv) {
    char *text = NULL;
    cli.is_stored = true;
    cli_models models = cli_models_of(argc, argv);
    int code = check_manifests(models.n);
    if (code == CLI_YES) code = check_part(models.n);
    if (code == CLI_YES) code = read_policy(&text);
    if (code == CLI_YES) code = verify_all(models.n, models.paths);
    cli_models_free(&models);
    free(text);
    return code;
}

const cli_command cmd_verify = {
    .name = "verify",
    .summary = "check a model against every rule of its format",
    .usage = "FILE|DIR|URL... [--deep] [--manifest FILE | --write-manifest FILE]\n"
             "FILE|DIR|URL --against SOURCE [--strict]\n"
             "FILE|DIR|URL --derived-from MODEL [--imatrix FILE]\n"
             "FILE|DIR|URL... --policy FILE\n"
             "FILE|DIR|URL --deep|--write-manifest FILE --part I/N",
    .description =
        "Prints a line for each kind of finding, with the byte offset and tensor of the first; -v "
        "lists "
        "all. Exit code 0: good, perhaps with "
        "warnings (--strict turns them into errors); 1: it opens but has errors; 2: a base model "
        "is missing, and everything that does not need it is good; 3 or 5: it does not open as a "
        "model; 4: it is missing or cannot be read. "
        "With several models, the highest code counts. A manifest has one line per tensor, in the "
        "format of sha256sum, and is the same for every container that holds the same tensors "
        "under the same names. A "
        "policy "
        "is a JSON object with any of types (a list), license (true, or a list), chat_template "
        "(true), tensor_names and file_names (expressions), max_size (bytes, or \"8G\") and no_nan "
        "(true, which reads all values).",
    .examples = {{"tare verify model.gguf", "its header: quick at any size"},
                 {"tare verify --deep model.gguf", "every value, too"},
                 {"tare verify hf://ORG/NAME", "a model of the hub, without its data"},
                 {"tare verify *.gguf", "all models of a folder"},
                 {"tare verify --pickles model.pt", "what would loading it in Python run?"},
                 {"tare verify --write-manifest model.sha256 model.gguf", "digests of all tensors"},
                 {"tare verify model.gguf --against hf-directory --strict",
                  "does it hold all that it was made from, number by number?"},
                 {"tare verify q4.gguf --derived-from hf-directory --imatrix imatrix.gguf",
                  "is it what quantizing that model gives?"},
                 {"tare verify --policy policy.json model.gguf",
                  "does it keep the rules of its publisher?"},
                 {"tare verify --manifest model.sha256 copy.safetensors",
                  "does another file hold the same tensors?"},
                 {"tare verify --deep model.gguf --part 2/7", "a seventh of its data"}},
    .options = options,
    .main = "deep manifest write-manifest against derived-from policy strict json",
    .takes = CLI_TAKES_WORK | CLI_TAKES_JSON | CLI_TAKES_INPUT | CLI_TAKES_CHECKING |
             CLI_TAKES_OUTPUT | CLI_TAKES_PART | CLI_TAKES_BASE | CLI_TAKES_DEVICE,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 1,
    .max_args = -1,
    .run = run,
};
