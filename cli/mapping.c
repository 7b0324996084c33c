/* SPDX-License-Identifier: MIT
 *
 * Before a GGUF file is written, a Hugging Face model is mapped to llama.cpp's form, unless its
 * names are to be kept; before a Hugging Face directory is written, the reverse. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define METADATA_MOST (16u << 20) /* of the file of --metadata */

static const char *format_of_output(const char *out_path, const cli_write *write) {
    const char *to = write->to ? write->to : tare_format_of_path(out_path);
    return to ? to : "";
}

/* Whether the output is GGUF and the input one of the formats whose models are mapped. */
static bool is_for_llama_cpp(const tare_model *in, const char *out_path, const cli_write *write) {
    tare_model_summary summary;
    summary = *tare_model_summarize(in);
    return strcmp(format_of_output(out_path, write), "gguf") == 0 &&
           (strcmp(summary.format, "hf") == 0 || strcmp(summary.format, "safetensors") == 0);
}

static bool asks_for_mapping(const cli_write *w) {
    return w->model_name || w->metadata || w->pre || w->vocab_only || w->no_tokenizer ||
           w->like_reference;
}

char *cli_directory_name(const char *path) {
    char *whole = realpath(path, NULL);
    const char *from = whole ? whole : path, *slash = strrchr(from, '/');
    char *name = cli_copy(slash ? slash + 1 : from, strlen(slash ? slash + 1 : from));
    free(whole);
    return name;
}

/* Weights alone, such as a file without a tokenizer, are not a model that llama.cpp could run. */
static bool has_tokenizer(const tare_model *in) {
    static const char *const names[] = {
        "tokenizer", "tekken.json", "spiece.model", "vocab.", "sentencepiece.bpe.model",
        "rwkv_vocab"};
    const tare_resource *r;
    for (size_t i = 0; (r = tare_model_resource(in, i)); i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (r->name.len >= strlen(names[k]) &&
                memcmp(r->name.ptr, names[k], strlen(names[k])) == 0)
                return true;
    return false;
}

/* Whether a model is to be mapped. */
static bool is_mapped(const tare_model *in, const char *out_path, const cli_write *w) {
    tare_model_summary summary;
    summary = *tare_model_summarize(in);
    if (w->keep_names || !is_for_llama_cpp(in, out_path, w)) return false;
    return strcmp(summary.format, "hf") == 0 || asks_for_mapping(w) || has_tokenizer(in);
}

/* Says why it cannot be done; an exit code. */
static int fail_mapping(const tare_error *err, const char *in_path, const tare_report *report) {
    if (!cli.json) cli_print_findings(stderr, report, in_path, TARE_LEVEL_WARNING, 4);
    cli_json_fail(err, in_path, report);
    return cli_fail(err, in_path);
}

/* A file of llama.cpp that has a vocabulary alone. */
static bool is_vocabulary(const tare_model *in) {
    static const char key[] = "general.architecture";
    return tare_model_summarize(in)->n_tensors == 0 &&
           tare_model_find_key(in, (tare_str){key, sizeof key - 1}) >= 0;
}

/*
 * A GGUF file that becomes a Hugging Face directory; *out NULL: its names are kept, which --opaque
 * asks for too, for tensors that are turned have to be decoded.
 */
static int restore(tare_model **out, const tare_model *in, const char *in_path,
                   const char *out_path, const cli_write *write, tare_report *report) {
    tare_llama_restore_options options = TARE_LLAMA_RESTORE_OPTIONS_INIT;
    tare_error err;
    tare_str architecture;
    const bool is_wanted = !write->keep_names && !write->opaque &&
                           strcmp(format_of_output(out_path, write), "hf") == 0;
    if (is_wanted && is_vocabulary(in)) {
        char *name = cli_escape_path(cli_input_name(in_path));
        cli_fail_text(CLI_UNSUPPORTED,
                      "%s: it has keys but no tensors, so it cannot become a Hugging Face model; "
                      "--keep-names stores the keys",
                      name);
        free(name);
        return CLI_UNSUPPORTED;
    }
    if (!is_wanted || !tare_llama_can_restore(in, &architecture)) return 0;
    options.report = report;
    if (write->type &&
        (write->type->id == TARE_ENCODING_F32 || write->type->id == TARE_ENCODING_F16 ||
         write->type->id == TARE_ENCODING_BF16))
        options.type = write->type;
    if (tare_llama_restore(out, in, &options, &err) == TARE_OK) return 0;
    return fail_mapping(&err, in_path, report);
}

static void say_unknown(const tare_model *in, const char *in_path) {
    const tare_str name = tare_model_architecture(in);
    if (cli.quiet || cli.json || name.len == 0) return;
    char *safe = cli_escape(name, true, 0), *path = cli_escape_path(cli_input_name(in_path));
    fprintf(cli_error_stream(),
            "%s: note: %s is not an architecture that tare maps to llama.cpp; tare convert "
            "--list-architectures shows those that are\n",
            path, safe);
    free(safe);
    free(path);
}

/* A PEFT adapter of the model; *factors must live as long as *out. */
static int map_adapter(tare_model **out, tare_model **factors, const tare_model *in,
                       const cli_write *write, tare_report *report) {
    tare_llama_options options = TARE_LLAMA_OPTIONS_INIT;
    tare_error err;
    char *text, path[PATH_MAX];
    size_t n;
    snprintf(path, sizeof path, "%s/adapter_config.json", write->lora);
    int code = cli_read_file(&text, &n, path, METADATA_MOST);
    if (code != 0) return code;
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", write->lora);
    code = cli_open(factors, path, report);
    options.report = report;
    options.name = write->model_name;
    if (code == CLI_YES &&
        tare_llama_map_adapter(out, *factors, (tare_str){text, n}, in, &options, &err) != TARE_OK)
        code = fail_mapping(&err, write->lora, report);
    free(text);
    return code;
}

int cli_map(tare_model **out, tare_model **factors, const cli_command *command,
            const tare_model *in, const char *in_path, const char *out_path, const cli_write *write,
            tare_report *report) {
    tare_llama_options options = TARE_LLAMA_OPTIONS_INIT;
    tare_error err;
    tare_str hf_class;
    char *text;
    size_t n;
    *out = *factors = NULL;
    bool is_wanted = is_mapped(in, out_path, write);
    if (is_wanted && write->lora) return map_adapter(out, factors, in, write, report);
    if (write->lora)
        return cli_usage(command, "--lora needs a Hugging Face model and a GGUF output");
    if (!is_wanted && asks_for_mapping(write))
        return cli_usage(command, "--name, --metadata, --pre, --vocab-only and --no-tokenizer are "
                                  "for a Hugging Face model that becomes GGUF");
    if (!is_wanted) return restore(out, in, in_path, out_path, write, report);
    if (!tare_llama_can_map(in, &hf_class) && !asks_for_mapping(write)) {
        say_unknown(in, in_path);
        return 0;
    }
    if (write->metadata) {
        int code = cli_read_file(&text, &n, write->metadata, METADATA_MOST);
        if (code != 0) return code;
        options.metadata = (tare_str){text, n};
    }
    char *directory = cli_directory_name(in_path);
    options.report = report;
    options.name = write->model_name;
    options.directory = directory;
    options.pre = write->pre;
    options.vocab_only = write->vocab_only;
    options.no_tokenizer = write->no_tokenizer;
    options.like_reference = write->like_reference;
    tare_status status = tare_llama_map(out, in, &options, &err);
    free(directory);
    if (write->metadata) free((char *)(uintptr_t)options.metadata.ptr);
    return status == TARE_OK ? 0 : fail_mapping(&err, in_path, report);
}

int cli_list_architectures(void) {
    tare_llama_known known = TARE_LLAMA_KNOWN_INIT;
    if (cli.json) {
        struct json_t *document = cli_json_new("tare.architectures/1"), *list = cli_json_array();
        for (size_t i = 0; tare_llama_known_at(i, &known); i++) {
            struct json_t *row = cli_json_object();
            cli_json_text(row, "architecture", known.architecture);
            cli_json_text(row, "classes", known.classes);
            cli_json_append(list, row);
        }
        cli_json_add(document, "architectures", list);
        cli_json_print(document);
        return CLI_YES;
    }
    cli_table *table = cli_table_new("LLAMA.CPP|HUGGING FACE");
    for (size_t i = 0; tare_llama_known_at(i, &known); i++) {
        cli_table_add(table, known.architecture);
        cli_table_add(table, known.classes);
    }
    cli_table_print(table, stdout, 0);
    cli_table_free(table);
    return CLI_YES;
}
