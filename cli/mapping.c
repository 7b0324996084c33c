/* SPDX-License-Identifier: MIT
 *
 * Before a GGUF file is written, a Hugging Face model is mapped to llama.cpp's form, unless its
 * names are to be kept; before a Hugging Face directory is written, the reverse. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "system.h"

#define METADATA_MOST (16u << 20) /* of the file of --metadata */

/* A file goes by its own name: what a link leads to may be named by a digest. */
static char *place_of_file(const char *path) {
    const char *slash = strrchr(path, '/');
    char *parent = slash ? cli_copy(path, (size_t)(slash - path) + 1) : cli_copy(".", 1);
    char *whole = cli_true_path(parent), text[2 * CLI_PATH_SIZE];
    snprintf(text, sizeof text, "%s/%s", whole ? whole : parent, slash ? slash + 1 : path);
    free(whole);
    free(parent);
    return cli_copy(text, strlen(text));
}

char *cli_whole_path(const char *path) {
    const cli_path_kind kind = cli_stat(path);
    if (kind == CLI_PATH_NOTHING) return cli_copy(path, strlen(path));
    if (kind != CLI_PATH_FOLDER) return place_of_file(path);
    char *whole = cli_true_path(path),
         *out = cli_copy(whole ? whole : path, strlen(whole ? whole : path));
    free(whole);
    return out;
}

/* Says why it cannot be done; an exit code. `path`: what the error is about. */
static int fail_mapping(const tare_error *err, const char *in_path, const char *path,
                        const tare_report *report) {
    if (!cli.json) cli_print_findings(stderr, report, in_path, TARE_LEVEL_WARNING);
    cli_json_fail(err, path, report);
    return cli_fail(err, path);
}

static int check_usage(const cli_command *command, const cli_write *w, tare_llama_naming naming) {
    if (w->with_mmproj && naming != TARE_LLAMA_NAMES_HUGGING_FACE)
        return cli_usage(command,
                         "--with-mmproj is for a GGUF file that becomes a Hugging Face directory");
    if (w->mmproj && (w->vocab_only || w->pre))
        return cli_usage(command, "--mmproj writes an encoder, which has no tokenizer: neither "
                                  "--vocab-only nor --pre goes with it");
    if ((w->mtp || w->no_mtp) && (w->mmproj || w->lora))
        return cli_usage(command,
                         "--mtp and --no-mtp are about a text model, which --%s does not write",
                         w->mmproj ? "mmproj" : "lora");
    if (w->lora && (w->mmproj || w->metadata || w->pre || w->vocab_only || w->no_tokenizer ||
                    w->like_reference || w->target_model))
        return cli_usage(command,
                         "--lora writes an adapter alone: none of --mmproj, --metadata, --pre, "
                         "--vocab-only, --no-tokenizer, --like-reference and --target-model goes "
                         "with it");
    if (w->mtp && w->no_mtp)
        return cli_usage(command,
                         "--mtp writes the layers that --no-mtp leaves out: give one of them");
    if (w->merges.n && (w->lora || w->vocab_only))
        return cli_usage(command, "--apply-adapter merges into weights, of which --%s writes none",
                         w->lora ? "lora" : "vocab-only");
    if (naming == TARE_LLAMA_NAMES_LLAMA_CPP) return CLI_YES;
    if (w->lora)
        return cli_usage(command, "--lora is for a Hugging Face model, and an output that is GGUF");
    if (w->model_name || w->metadata || w->pre || w->vocab_only || w->no_tokenizer ||
        w->like_reference || w->mmproj || w->mtp || w->no_mtp || w->target_model)
        return cli_usage(
            command,
            "--name, --metadata, --pre, --mmproj, --mtp, --no-mtp, --target-model, "
            "--vocab-only, --no-tokenizer and --like-reference are for a Hugging Face model that "
            "becomes GGUF");
    return CLI_YES;
}

static bool is_file(const char *path) {
    return cli_stat(path) == CLI_PATH_FILE;
}

/* A file of an adapter's folder; the folder itself may be named by one of its files. */
static void adapter_path(char *out, size_t size, const char *adapter, const char *name) {
    const char *slash = is_file(adapter) ? strrchr(adapter, '/') : NULL;
    if (is_file(adapter) && !slash)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "%.*s/%s", (int)(slash ? slash - adapter : (long)strlen(adapter)),
                 adapter, name);
}

/* A PEFT adapter of the model; *factors must live as long as *out. */
static int map_adapter(tare_model **out, tare_model **factors, const tare_model *in,
                       const cli_write *write, tare_report *report) {
    tare_llama_options options = tare_llama_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_error err;
    char *text, path[CLI_PATH_SIZE];
    size_t n;
    adapter_path(path, sizeof path, write->lora, "adapter_config.json");
    int code = cli_read_file(&text, &n, path, METADATA_MOST);
    if (code != 0) return code;
    adapter_path(path, sizeof path, write->lora, "adapter_model.safetensors");
    if (!is_file(path)) adapter_path(path, sizeof path, write->lora, "adapter_model.bin");
    /* the library's own words where there are no weights */
    tare_adapter_set *set = NULL;
    if (!is_file(path) && tare_adapters_open_path(&set, write->lora, NULL, &err) != TARE_OK)
        code = cli_fail(&err, write->lora);
    tare_adapters_free(set);
    if (code == CLI_YES) code = cli_open(factors, path, report);
    context.report = report;
    options.name = write->model_name;
    if (code == CLI_YES &&
        tare_llama_map_adapter(out, *factors, (tare_str){text, n}, in, &options, &err) != TARE_OK)
        code = fail_mapping(&err, write->lora, write->lora, report);
    free(text);
    return code;
}

/* The options of a mapping to llama.cpp; *text is what --metadata names, and freed by the caller. */
static int fill_options(tare_llama_options *options, char **text, const cli_write *write) {
    size_t n;
    *text = NULL;
    options->name = write->model_name;
    options->pre = write->pre;
    options->vocab_only = write->vocab_only;
    options->no_tokenizer = write->no_tokenizer;
    options->like_reference = write->like_reference;
    options->tower = write->mmproj;
    options->nextn = write->mtp      ? TARE_LLAMA_NEXTN_ALONE
                     : write->no_mtp ? TARE_LLAMA_NEXTN_LEFT_OUT
                                     : TARE_LLAMA_NEXTN_TOO;
    if (!write->metadata) return CLI_YES;
    int code = cli_read_file(text, &n, write->metadata, METADATA_MOST);
    if (code == CLI_YES) options->metadata = (tare_str){*text, n};
    return code;
}

/* What can be done with an adapter that was given as a model. */
static void hint_adapter(const char *path, const char *out_path, const cli_command *command,
                         const cli_write *write) {
    char *adapter = cli_escape_path(path);
    char *out = cli_escape_path(write->out_name ? write->out_name : out_path);
    const tare_mix *mix = write->mix ? write->mix->mix : NULL;
    /* no type is in its name, and a store has no adapters alone */
    const char *beside = write->fit || mix || write->out_name ? "ADAPTER.gguf" : out;
    fprintf(stderr,
            "merged into its base:        tare %s BASE %s%s%s --apply-adapter %s\n"
            "beside it, for llama.cpp:    tare convert BASE %s --lora %s\n"
            "(BASE: the model that it was trained on; --keep-names stores the factors as they "
            "are)\n",
            command->name, out, write->fit || mix ? " " : "",
            write->fit ? "..."
            : mix      ? mix->name
                       : "",
            adapter, beside, adapter);
    free(adapter);
    free(out);
}

/* A fault in the file of --metadata, which the library does not know, is named after it. */
static int translate(tare_model **out, const tare_model *in, const char *in_path,
                     const char *out_path, const char *to, const cli_command *command,
                     const cli_write *write, const tare_llama_translate_options *options) {
    tare_error err;
    if (tare_llama_translate(out, in, to, options, &err) == TARE_OK) return CLI_YES;
    const bool is_metadata = write->metadata && cli_has_code(&err, TARE_CODE_BAD_METADATA);
    if (is_metadata) err.file[0] = '\0';
    const int code = fail_mapping(&err, in_path, is_metadata ? write->metadata : in_path,
                                  options->context->report);
    if (cli_has_code(&err, TARE_CODE_IS_ADAPTER)) hint_adapter(in_path, out_path, command, write);
    return code;
}

/* Adapters are merged under the names that they know, before these change. */
static int merge(cli_mapped *out, const tare_model **in, const char *in_path,
                 const cli_write *write, tare_report *report) {
    tare_open_options options = tare_open_options_default();
    tare_error err;
    int code = cli_adapters_merge(&out->adapters, *in, &write->merges, report);
    const tare_context context = cli_context(report);
    options.context = &context;
    if (code != CLI_YES) return code;
    if (tare_adapters_merge(&out->merged, *in, out->adapters.items, out->adapters.n, &options,
                            &err) != TARE_OK)
        return fail_mapping(&err, in_path, in_path, report);
    *in = out->merged;
    return CLI_YES;
}

int cli_map(cli_mapped *out, const cli_command *command, const tare_model *in, const char *in_path,
            const char *out_path, const cli_write *write, tare_report *report) {
    tare_llama_options llama = tare_llama_options_default();
    tare_llama_translate_options options = tare_llama_translate_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    const char *to = write->to ? write->to : tare_format_of_path(out_path);
    char *metadata, *directory = cli_whole_path(in_path);
    *out = (cli_mapped){.model = NULL};
    int code = fill_options(&llama, &metadata, write);
    llama.directory = directory;
    options.llama = &llama;
    context.report = report;
    options.keep_names = write->keep_names;
    options.opaque = cli_named_convert(command)->opaque;
    options.type = write->type;
    const tare_llama_naming naming = tare_llama_naming_of(in, to, &options);
    if (code == CLI_YES) code = check_usage(command, write, naming);
    /* A choice of types has to see the numbers that are written. */
    if (code == CLI_YES && write->merges.n &&
        (naming == TARE_LLAMA_NAMES_LLAMA_CPP || write->fit || write->scheme))
        code = merge(out, &in, in_path, write, report);
    if (code == CLI_YES && write->lora)
        code = map_adapter(&out->model, &out->beside, in, write, report);
    else if (code == CLI_YES && write->with_mmproj)
        code = cli_open(&out->beside, write->with_mmproj, report);
    options.tower = write->with_mmproj ? out->beside : NULL;
    if (code == CLI_YES && write->target_model)
        code = cli_open(&out->target, write->target_model, report);
    llama.target = out->target;
    if (code == CLI_YES && !write->lora)
        code = translate(&out->model, in, in_path, out_path, to, command, write, &options);
    free(directory);
    free(metadata);
    return code;
}

void cli_mapped_free(cli_mapped *mapped) {
    tare_model_free(mapped->model);
    tare_model_free(mapped->beside);
    tare_model_free(mapped->target);
    tare_model_free(mapped->merged);
    cli_adapters_close(&mapped->adapters);
}

/* ---- a file of a directory ------------------------------------------------------------------- */

/* Also a link that leads nowhere is there: opening its directory says so. */
static int look_for(bool *is_there, const char *path) {
    *is_there = cli_has_entry(path);
    if (*is_there || errno == ENOENT || errno == ENOTDIR) return CLI_YES;
    const int failed = errno;
    char *name = cli_escape_path(path);
    const int code =
        cli_fail_text(CLI_IO, "%s: its status cannot be read: %s", name, strerror(failed));
    free(name);
    return code;
}

int cli_open_around(tare_model **out, char **directory, const tare_model *in, const char *in_path,
                    const char *to, const cli_write *write, tare_report *report) {
    bool has_file, has_config;
    *out = NULL;
    *directory = NULL;
    if (cli.one_shard || write->keep_names || !to || strcmp(to, "gguf") != 0 ||
        strcmp(tare_model_summarize(in)->format, "safetensors") != 0)
        return CLI_YES;
    int code = look_for(&has_file, in_path);
    if (code != CLI_YES || !has_file) return code; /* a URL, or standard input */
    char *whole = place_of_file(in_path), config[2 * CLI_PATH_SIZE];
    *strrchr(whole, '/') = '\0';
    snprintf(config, sizeof config, "%s/config.json", whole);
    free(whole);
    code = look_for(&has_config, config);
    if (code != CLI_YES || !has_config) return code;
    const char *slash = strrchr(in_path, '/');
    *directory = slash ? cli_copy(in_path, (size_t)(slash - in_path) + (slash == in_path))
                       : cli_copy(".", 1);
    if (!cli.quiet && !cli.json)
        fprintf(stderr,
                "%s: a config.json lies beside it: the whole directory is converted; --keep-names "
                "converts the file alone\n",
                in_path);
    return cli_open(out, *directory, report);
}

int cli_list_architectures(void) {
    tare_llama_known known = tare_llama_known_default();
    if (cli.json) {
        tare_json_node *document = cli_json_new("tare.architectures/2"), *list = cli_json_array();
        for (size_t i = 0; tare_llama_known_at(&known, i); i++) {
            tare_json_node *row = cli_json_object();
            cli_json_text(row, "architecture", known.architecture);
            cli_json_text(row, "classes", known.classes);
            if (known.projector) cli_json_text(row, "mmproj", known.projector);
            cli_json_append(list, row);
        }
        cli_json_add(document, "architectures", list);
        cli_json_print(document);
        return CLI_YES;
    }
    cli_table *table = cli_table_new("LLAMA.CPP|HUGGING FACE");
    for (size_t i = 0; tare_llama_known_at(&known, i); i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", known.projector ? "mmproj " : "",
                 known.projector ? known.projector : known.architecture);
        cli_table_add(table, name);
        cli_table_add(table, known.classes);
    }
    cli_table_print(table, stdout, 0);
    cli_table_free(table);
    return CLI_YES;
}
