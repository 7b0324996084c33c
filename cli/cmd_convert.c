/* SPDX-License-Identifier: MIT
 *
 * tare convert: a model in another container, byte order, number format. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static cli_write args;
static cli_list renamings;
static const char *as_adapter;
static bool list_architectures;

static const cli_option options[] = {
    {.name = "to",
     .arg = "FORMAT",
     .complete = CLI_COMPLETE_TARGET,
     .help = "format of the output (default: by the suffix of OUT): gguf, mcf, infq, safetensors, "
             "hf, wcodec, whisper (ggml-*.bin of whisper.cpp); or mlx: a Hugging Face directory "
             "for MLX, where quantized weights keep their codes if MLX can hold them",
     .text = &args.to},
    {.name = "type",
     .arg = "TYPE",
     .complete = CLI_COMPLETE_TYPE,
     .help = "number format of every float tensor with two or more dimensions, except norms",
     .encoding = &args.type},
    {.name = "tensor-type",
     .arg = "REGEX=TYPE",
     .help = "number format of the tensors whose name matches; may be given again; the first match "
             "wins and takes precedence over --type",
     .list = &args.type_rules},
    {.name = "rename-tensor",
     .arg = "OLD=NEW",
     .help = "rename a tensor of the input, or several with one * on each side, before all else: "
             "'model.*=*'; may be given again, in this order",
     .list = &renamings},
    CLI_NAMED("quality"),
    {.name = "imatrix",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "importance matrix of llama-imatrix, by which block types weight their errors",
     .text = &args.imatrix},
    {.name = "apply-adapter",
     .arg = "NAME|PATH[:SCALE]",
     .complete = CLI_COMPLETE_FILE,
     .help =
         "merge a LoRA adapter (a directory or file of PEFT, diffusers, kohya's scripts or MLX, or "
         "the name of one in the input) into the model; COMPONENT=PATH takes one component of an "
         "adapter for several models (lora_unet=PATH); TENSOR=PATH is a file with a single pair A "
         "and B; the adapter's scale is multiplied by SCALE; may be given again",
     .list = &args.merges},
    {.name = "as-adapter",
     .arg = "DIALECT",
     .choices = "peft diffusers kohya mlx",
     .help = "IN is a LoRA adapter, which becomes one of PEFT or MLX (a directory), diffusers or "
             "kohya's scripts (a file); what that cannot say is an error",
     .text = &as_adapter},
    {.name = "adapter",
     .arg = "NAME=PATH",
     .complete = CLI_COMPLETE_FILE,
     .help = "store an adapter beside the tensors under this name (INFQ only); may be given again",
     .list = &args.adapters},
    CLI_NAMED("endian"),
    CLI_NAMED("align"),
    CLI_NAMED("shard-size"),
    CLI_NAMED("compat"),
    CLI_NAMED("clip"),
    CLI_NAMED("dedup"),
    CLI_NAMED("outlier-threshold"),
    CLI_NAMED("outliers"),
    CLI_NAMED("opaque"),
    CLI_MAPPING_OPTIONS(args),
    {.name = "list-architectures",
     .help = "list the Hugging Face architectures that can become llama.cpp's, and stop",
     .flag = &list_architectures},
    CLI_NAMED("verify"),
    {0},
};

/* The first writable format that supports a type directly; -1: none does. */
static int holder_of(const tare_encoding *type) {
    tare_format_info format = tare_format_info_default();
    for (int i = 0; tare_format_at(&format, (size_t)i); i++)
        if (format.can_write && tare_format_holds(format.name, type)) return i;
    return -1;
}

/* The types that can be requested: plain ones, or block types under the first format that supports
 * them. False: there are none. */
static bool list_types(char *out, size_t size, bool is_plain, int holder) {
    size_t n = 0;
    for (int id = 1; id < TARE_ENCODING_COUNT; id++) {
        const tare_encoding *type = tare_encoding_get((tare_encoding_id)id);
        if (!type || !tare_encoding_can_encode(type)) continue;
        if ((type->kind != TARE_KIND_BLOCK) != is_plain) continue;
        if (!is_plain && holder_of(type) != holder) continue;
        int put = snprintf(out + n, size - n, "%s%s", n ? " " : "", type->name);
        n += put > 0 && (size_t)put < size - n ? (size_t)put : 0;
    }
    return n > 0;
}

static const char *topic_row(size_t i, const char **what) {
    static char types[1024];
    tare_format_info format = tare_format_info_default();
    *what = types;
    if (i-- == 0) {
        list_types(types, sizeof types, true, -1);
        size_t n = strlen(types);
        snprintf(types + n, sizeof types - n, " (as integers where the format lacks them)");
        return "any format";
    }
    for (int holder = 0; tare_format_at(&format, (size_t)holder); holder++)
        if (list_types(types, sizeof types, false, holder) && i-- == 0) return format.name;
    return NULL;
}

/* *out NULL: there is nothing to rename. */
static int rename_tensors(tare_model **out, const tare_model *in, const char *path,
                          tare_report *report) {
    tare_open_options open = tare_open_options_default();
    tare_context context = tare_context_default();
    tare_edit_step *steps = cli_alloc(renamings.n + 1, sizeof *steps);
    tare_error err;
    int code = CLI_YES;
    *out = NULL;
    open.context = &context;
    context.report = report;
    for (size_t i = 0; i < renamings.n && code == CLI_YES; i++) {
        const char *equals = strchr(renamings.items[i], '=');
        if (!equals || equals == renamings.items[i]) {
            char *safe = cli_escape_path(renamings.items[i]);
            code = cli_usage(&cmd_convert, "--rename-tensor: \"%s\" is not OLD=NEW", safe);
            free(safe);
        } else {
            const tare_str name = {renamings.items[i], (size_t)(equals - renamings.items[i])};
            steps[i] = (tare_edit_step){.kind = TARE_EDIT_RENAME_TENSORS,
                                        .name = name,
                                        .text = {equals + 1, strlen(equals + 1)}};
        }
    }
    if (code == CLI_YES && renamings.n &&
        tare_tensors_rename(out, in, steps, renamings.n, &open, &err) != TARE_OK)
        code = cli_fail(&err, path);
    free(steps);
    return code;
}

static void print_adapter(const char *path, const char *out_path, size_t n_pairs,
                          const tare_report *report) {
    if (cli.json) {
        tare_json_node *document = cli_json_new("tare.adapter/2");
        cli_json_text(document, "input", cli_input_name(path));
        cli_json_text(document, "output", out_path);
        cli_json_bool(document, "is_dry_run", cli.dry_run);
        cli_json_text(document, "format", as_adapter);
        cli_json_u64(document, "pair_count", n_pairs);
        cli_json_add(document, "findings", cli_json_findings(report));
        cli_json_print(document);
    } else if (!cli.quiet) {
        char *name = cli_escape_path(out_path);
        printf("%s%s: %s, %zu pair%s of factors\n", cli.dry_run ? "would write " : "", name,
               as_adapter, n_pairs, cli_plural(n_pairs));
        free(name);
    }
}

static int write_adapter(const char *path, const char *out_path, tare_report *report) {
    tare_open_options open = tare_open_options_default();
    const tare_output_options output = cli_output();
    const tare_context context = cli_context(report);
    tare_adapter_set *set;
    tare_error err;
    open.context = &context;
    if (cli_check_local(&cmd_convert, out_path) != CLI_YES) return CLI_USAGE;
    if (tare_adapters_open_path(&set, path, &open, &err) != TARE_OK) return cli_fail(&err, path);
    const tare_adapter_use use = {.set = set, .name = {"", 0}, .target = {"", 0}, .scale = 1};
    const size_t n = tare_adapters_count(set);
    const tare_status status =
        tare_adapters_write_as(out_path, as_adapter, &use, &output, &context, &err);
    tare_adapters_free(set);
    if (!cli.json) cli_print_findings(stderr, report, path, TARE_LEVEL_WARNING);
    if (status != TARE_OK) return cli_write_failed(&cmd_convert, &err, path, report);
    print_adapter(path, out_path, n, report);
    return CLI_YES;
}

static int run(int argc, const char **argv) {
    if (list_architectures && argc == 0) return cli_list_architectures();
    if (args.to && strcmp(args.to, "mlx") == 0) {
        args.scheme = args.to;
        args.to = "hf";
    }
    tare_report *report = cli_report_new();
    tare_model *model = NULL, *renamed = NULL;
    int code = as_adapter ? write_adapter(argv[0], argv[1], report) : CLI_YES;
    if (as_adapter) goto out;
    code = cli_open(&model, argv[0], report);
    if (code == CLI_YES) code = rename_tensors(&renamed, model, argv[0], report);
    if (code == CLI_YES)
        code = cli_write_model(&cmd_convert, renamed ? renamed : model, argv[0], argv[1], &args,
                               report);
out:
    tare_model_free(renamed);
    tare_model_free(model);
    tare_report_free(report);
    return code;
}

const cli_command cmd_convert = {
    .name = "convert",
    .summary = "write a model in another format or with other number types",
    .usage = "IN OUT [--to FORMAT] [--type TYPE] [--tensor-type REGEX=TYPE]...",
    .description =
        "A Hugging Face model that becomes GGUF gets the names, keys and tokenizer that llama.cpp "
        "expects, and a GGUF file those of Hugging Face on the way back. Otherwise every tensor, "
        "name, metadata key and side file is kept. What the output's format cannot hold is stored "
        "under another type, with a record that restores it on the way back; any loss is reported. "
        "OUT appears under its name only when it is complete. IN may be - (standard input), OUT "
        "may be - (standard output) with --to, or ollama://NAME:TAG, a model in the store of "
        "Ollama.\n\n"
        "tare quantize makes the mixes of types that llama.cpp has (Q4_K_M), or one that fits a "
        "size.",
    .examples = {{"tare convert path/to/Qwen3-8B Qwen3-8B.gguf --type q8_0",
                  "a Hugging Face directory for llama.cpp, 8 bits per weight"},
                 {"tare convert hf://Qwen/Qwen3-8B Qwen3-8B.gguf",
                  "the same from the hub, without a download, numbers as they are"},
                 {"tare convert path/to/base tuned.gguf --apply-adapter path/to/lora",
                  "with a LoRA merged into it"},
                 {"tare convert model.gguf directory --to hf --shard-size 5G",
                  "back to a Hugging Face directory, in files of at most 5 GB"},
                 {"tare convert path/to/Qwen2.5-VL-7B mmproj.gguf --mmproj",
                  "the vision encoder, which llama.cpp reads as a second file"},
                 {"tare convert model.safetensors model.gguf --keep-names",
                  "another container, same numbers and names"},
                 {"tare convert model.gguf small.gguf --type q8_0 --tensor-type 'output=f16'",
                  "8 bits per weight, the output matrix in f16"},
                 {"tare convert path/to/model model.mcf --type k4 --quality best",
                  "one file with 4 bits per weight and all side files"},
                 {"tare convert model.safetensors package.infq",
                  "an INFQ package: 8 bits per weight, a scale for each row"},
                 {"tare convert model.safetensors small.wcodec --type q8_0 --effort full",
                  "8 bits per weight, and packed as small as it gets"},
                 {"tare convert in.gguf - --to safetensors | ssh host 'cat > m.safetensors'",
                  "through a pipe"}},
    .options = options,
    .groups = {CLI_MAPPING_GROUP,
               {"MCF", "compat clip dedup"},
               {"INFQ", "adapter outlier-threshold outliers"}},
    .main = "type tensor-type to apply-adapter mmproj lora imatrix shard-size dry-run force",
    .topic = {"Types", topic_row, false},
    .takes = CLI_TAKES_WORK | CLI_TAKES_NAMED | CLI_TAKES_JSON | CLI_TAKES_INPUT |
             CLI_TAKES_MODEL_OUTPUT | CLI_TAKES_PART | CLI_TAKES_SHARED | CLI_TAKES_STRICT |
             CLI_TAKES_SIMILAR | CLI_TAKES_EFFORT | CLI_TAKES_DEVICE,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 2,
    .alone = &list_architectures,
    .max_args = 2,
    .out_at = 1,
    .run = run,
};
