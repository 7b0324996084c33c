/* SPDX-License-Identifier: MIT
 *
 * tare quantize: a model with a named mix of number formats, chosen for each tensor as llama.cpp
 * does. Options with the same meaning have the same names as in llama-quantize. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static cli_write args;
static tare_mix_options mix;
static cli_fit fit;

static const cli_option options[] = {
    {.name = "to",
     .arg = "FORMAT",
     .complete = CLI_COMPLETE_FORMAT,
     .help = "format of the output (default: by the suffix of OUT): gguf or wcodec; with a target "
             "also mcf, infq or hf; hf or safetensors for a scheme, F32, F16 or BF16; whisper for "
             "models of whisper.cpp",
     .text = &args.to},
    {.name = "target-size",
     .arg = "SIZE",
     .help = "the best output of at most this many bytes, headers included: instead of TYPE, a "
             "type is chosen for each tensor",
     .size = &fit.size},
    {.name = "target-bpw",
     .arg = "BITS",
     .help = "the same for at most this many bits per weight, counting only tensors",
     .real = &fit.bits,
     .is_above_0 = true},
    {.name = "target-damage",
     .arg = "X",
     .help = "the smallest output whose predicted damage is at most this, such as 0.05",
     .real = &fit.damage,
     .is_above_0 = true},
    {.name = "types",
     .arg = "LIST",
     .help = "with a target: the types to choose from, or with --to hf the schemes (and none), "
             "separated by commas",
     .text = &fit.types},
    {.name = "sizes",
     .arg = "LIST",
     .help =
         "several outputs in one pass over IN, into the folder OUT, which is made if need be "
         "(default: this one): sizes and types, such as 4G,6G,Q8_0; each is named after the input "
         "and its entry",
     .text = &args.several},
    {.name = "card",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help =
         "with --sizes: write a model card (README.md) with sizes, bits, predicted damage and the "
         "command",
     .text = &args.card},
    {.name = "sensitivity",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "with a target: use measured sensitivities, one line TENSOR VALUE for each, instead "
             "of constants",
     .text = &fit.sensitivity},
    {.name = "recipe",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "with a target: write the choice as lines for --tensor-type-file",
     .text = &fit.recipe},
    {.name = "plot",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "with a target: plot damage against size (SVG)",
     .text = &fit.plot},
    CLI_NAMED("pure"),
    {.name = "tensor-type",
     .arg = "REGEX=TYPE",
     .help = "number format of the quantized tensors whose name matches; takes precedence over the "
             "mix; may be given again, the first match wins",
     .list = &args.type_rules},
    {.name = "tensor-type-file",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "read more such rules, one a line; TYPE may then be left out: it is the type that the "
             "rules give to most weights",
     .text = &args.type_file},
    CLI_NAMED("output-tensor-type"),
    CLI_NAMED("token-embedding-type"),
    CLI_NAMED("leave-output-tensor"),
    CLI_NAMED("allow-requantize"),
    {.name = "imatrix",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "importance matrix of llama-imatrix, which guides the choice of types and "
             "weights their errors",
     .text = &args.imatrix},
    {.name = "include-weights",
     .arg = "NAME",
     .help = "use the matrix only for tensors whose name contains NAME; may be given again",
     .list = &args.include_weights},
    {.name = "exclude-weights",
     .arg = "NAME",
     .help = "do not use the matrix for tensors whose name contains NAME; may be given again",
     .list = &args.exclude_weights},
    CLI_NAMED("quality"),
    {.name = "apply-adapter",
     .arg = "NAME|PATH[:SCALE]",
     .complete = CLI_COMPLETE_FILE,
     .help = "merge a LoRA adapter (all that tare convert takes) before the tensors are quantized; "
             "its scale is multiplied by SCALE; may be given again",
     .list = &args.merges},
    {.name = "override-kv",
     .arg = "KEY=TYPE:VALUE",
     .help = "set a key of the output's metadata, TYPE one of int, float, bool, str; may be given "
             "again",
     .list = &args.override_kv},
    CLI_NAMED("keep-split"),
    CLI_NAMED("shard-size"),
    CLI_NAMED("opaque"),
    {.name = "report",
     .help = "measure what each tensor loses: relative RMSE and largest error",
     .flag = &args.report},
    CLI_MAPPING_OPTIONS(args),
    CLI_NAMED("verify"),
    {0},
};

static const char *mix_name_at(void *ctx, size_t i) {
    (void)ctx;
    const tare_mix *m = tare_mix_at(i);
    return m ? m->name : NULL;
}

/* The mix whose letters and digits are these: "q4km", "Q4-K-M". */
static const char *mix_spelled(const char *word) {
    const char *name;
    for (size_t i = 0; (name = mix_name_at(NULL, i)) != NULL; i++) {
        const char *w = word, *n = name;
        for (;; w++, n++) {
            while (*w && !isalnum((unsigned char)*w)) w++;
            while (*n && !isalnum((unsigned char)*n)) n++;
            if (!*w || toupper((unsigned char)*w) != *n) break;
        }
        if (!*w && !*n) return name;
    }
    return NULL;
}

static bool is_mix(const char *word) {
    return tare_mix_find((tare_str){word, strlen(word)}) != NULL;
}

static int no_type(const char *name) {
    char *safe = cli_escape_path(name), upper[16] = "";
    for (size_t i = 0; name[i] && i + 1 < sizeof upper; i++)
        upper[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    const char *spelled = mix_spelled(name);
    const char *nearest = spelled ? spelled : cli_nearest(upper, mix_name_at, NULL);
    if (nearest) {
        cli_usage(&cmd_quantize, "no type \"%s\"; did you mean %s?", safe, nearest);
    } else {
        cli_usage(&cmd_quantize, "no type \"%s\": --help lists them", safe);
    }
    free(safe);
    return CLI_USAGE;
}

static int no_mix(const char *const *argv) {
    if (is_mix(argv[0]) || is_mix(argv[1]))
        return cli_usage(&cmd_quantize, "TYPE is the last argument, tare quantize IN [OUT] TYPE");
    return no_type(argv[2]);
}

/* IN and something that is meant as TYPE, or is OUT. */
static int check_second(const char *word) {
    if (is_mix(word) || tare_scheme_is_named(word))
        return cli_usage(&cmd_quantize, "OUT is missing: tare quantize IN OUT %s", word);
    if (!tare_format_of_path(word) && !strpbrk(word, "./\\")) return no_type(word);
    return cli_usage(&cmd_quantize, "TYPE is missing: tare quantize IN OUT TYPE, or a target; "
                                    "--help lists the types");
}

/* TYPE or one target, and what belongs to it. */
static int check_target(int argc, const char *const *argv) {
    const int n_targets = (fit.size > 0) + (fit.bits > 0) + (fit.damage > 0);
    if (args.several) {
        if (n_targets || argc > 2 || args.type_file)
            return cli_usage(&cmd_quantize,
                             "--sizes takes the place of TYPE, targets and --tensor-type-file");
        return 0;
    }
    if (args.card) return cli_usage(&cmd_quantize, "--card needs --sizes");
    if (n_targets > 1)
        return cli_usage(&cmd_quantize,
                         "--target-size, --target-bpw and --target-damage exclude each other");
    if (argc < 2 && n_targets)
        return cli_usage(&cmd_quantize, "OUT is missing: tare quantize IN OUT, and the target");
    if (fit.types && n_targets == 0 && argc < 3 && !args.type_file)
        return cli_usage(&cmd_quantize,
                         "--types are those that a target chooses from; several outputs are "
                         "asked for as --sizes Q4_K_M,Q5_K_M,4G");
    if (argc == 2 && n_targets == 0 && !args.type_file) return check_second(argv[1]);
    if (argc < 2 || (n_targets + (argc > 2) == 0 && !args.type_file))
        return cli_usage(&cmd_quantize,
                         "needs IN [OUT] TYPE, or IN OUT and a target; --help lists the types");
    if (n_targets && argc > 2)
        return cli_usage(&cmd_quantize, "a target takes the place of TYPE: give one of the two");
    if (n_targets && mix.is_pure)
        return cli_usage(&cmd_quantize, "--pure needs a TYPE; with a target, types are chosen");
    if (!n_targets && (fit.types || fit.sensitivity || fit.recipe || fit.plot))
        return cli_usage(&cmd_quantize,
                         "--types, --sensitivity, --recipe and --plot need a target");
    return 0;
}

/* The directory that a file of weights stands for (cli_open_around), to be freed; NULL: it is not one, or its
 * directory has no name in the path. */
static char *directory_of(const char *path) {
    static const char index[] = ".safetensors.index.json";
    const char *slash = strrchr(path, '/'), *format = tare_format_of_path(path);
    const size_t n = strlen(path), n_index = sizeof index - 1;
    const bool is_index = n > n_index && strcmp(path + n - n_index, index) == 0;
    if (!slash || strstr(path, "://") || cli.one_shard || args.keep_names) return NULL;
    if (!is_index && !(format && strcmp(format, "safetensors") == 0)) return NULL;
    char *folder = cli_copy(path, (size_t)(slash - path));
    const size_t size = strlen(folder) + sizeof "/config.json";
    char *config = cli_alloc(size, 1);
    snprintf(config, size, "%s/config.json", folder);
    const bool is_one = cli_has_entry(config);
    free(config);
    if (is_one) return folder;
    free(folder);
    return NULL;
}

/* IN TYPE: the output is called after both. NULL: that is not what is meant, or cannot be. */
static char *name_output(int argc, const char **argv) {
    const bool has_target =
        args.several || fit.size || fit.bits > 0 || fit.damage > 0 || args.type_file;
    if (argc != 2 || has_target || tare_format_of_path(argv[1])) return NULL;
    const tare_mix *named = tare_mix_find((tare_str){argv[1], strlen(argv[1])});
    char *folder = named ? directory_of(argv[0]) : NULL;
    char *name = named ? cli_name_of_mix(folder ? folder : argv[0], named->name) : NULL;
    free(folder);
    return name;
}

static int quantize(int argc, const char **argv) {
    mix = *cli_named_convert(&cmd_quantize)->mix;
    const int wrong = check_target(argc, argv);
    if (wrong) return wrong;
    if (argc > 2 && tare_scheme_is_named(argv[2])) {
        args.scheme = argv[2];
        const char *format = tare_scheme_format(argv[2]);
        if (!args.to) args.to = tare_format_of_path(argv[1]);
        if (!args.to) args.to = format;
        if (strcmp(args.to, format) != 0)
            return cli_usage(&cmd_quantize, "%s is for %s: --to %s", argv[2],
                             strcmp(format, "hf") == 0 ? "Hugging Face directories"
                                                       : "safetensors files",
                             format);
    } else if (argc > 2) {
        mix.mix = tare_mix_find((tare_str){argv[2], strlen(argv[2])});
        if (!mix.mix) return no_mix(argv);
    } else if (args.several || fit.size || fit.bits > 0 || fit.damage > 0) {
        args.fit = &fit;
    }
    if (mix.leave_output && mix.output)
        return cli_usage(&cmd_quantize,
                         "--output-tensor-type and --leave-output-tensor exclude each other");
    args.mix = &mix;
    tare_report *report = cli_report_new();
    tare_model *model;
    int code = cli_open(&model, argv[0], report);
    if (code == 0)
        code =
            cli_write_model(&cmd_quantize, model, argv[0], argc > 1 ? argv[1] : "", &args, report);
    tare_model_free(model);
    tare_report_free(report);
    return code;
}

static int run(int argc, const char **argv) {
    char *output = name_output(argc, argv);
    const char *whole[] = {argv[0], output, argv[1]};
    const int code = output ? quantize(3, whole) : quantize(argc, argv);
    free(output);
    return code;
}

static const char *topic_row(size_t i, const char **what) {
    const tare_mix *m = tare_mix_at(i);
    if (!m) return NULL;
    *what = m->description;
    return m->name;
}

const cli_command cmd_quantize = {
    .name = "quantize",
    .verb = TARE_VERB_QUANTIZE,
    .summary = "write a model in fewer bits, by a mix of types or to fit a size",
    .usage = "IN [OUT] TYPE [--pure] [--tensor-type REGEX=TYPE]...\n"
             "IN OUT --target-size SIZE|--target-bpw BITS|--target-damage X\n"
             "IN [OUT] --sizes LIST [--card FILE]\n"
             "IN OUT [TYPE] --tensor-type-file FILE",
    .description =
        "TYPE names a mix. Each tensor gets the type that llama-quantize would give it, byte for "
        "byte, according to its name, its layer and the shape of the model. For safetensors and "
        "Hugging Face directories, tare derives each tensor's role from its name and applies the "
        "same mixes. Norms, routers, position embeddings and other small tensors stay as they are. "
        "Names are accepted in any case, as are the numbers of llama.cpp's file types. Without "
        "OUT, a mix is written to "
        "IN-TYPE.gguf.\n\n"
        "TYPE may also be a scheme of packed weights, written as a Hugging Face directory. For "
        "vLLM and "
        "SGLang: w4a16, w8a16, w4a16_asym, w8a8, fp8_dynamic, fp8_block, fp8_deepseek, nvfp4a16, "
        "nvfp4_modelopt, mxfp4, "
        "mxfp8; for MLX: mlx2 to mlx6, mlx8, mlx_mxfp4, mlx_mxfp8, mlx_nvfp4; for ComfyUI, as one "
        "safetensors file: comfy_fp8. After the name, :g64 "
        "lets 64 numbers share a scale and :channel a whole row; :rtn rounds as the scheme's own "
        "library does, instead of searching for the scales of least error. --tensor-type takes "
        "REGEX=SCHEME, or "
        "REGEX=none.\n\n"
        "With a target instead of TYPE, tare chooses a type for each tensor so that the model as a "
        "whole loses least for its size. The damage of a type is the tensor's error in it, "
        "measured on some of its rows, times a constant for the tensor's role and layer, or a "
        "measured sensitivity. --tensor-type and similar options still apply; --dry-run shows the "
        "choice and the damage at other sizes. With --to hf, it chooses among the schemes w4a16, "
        "w8a16, fp8_dynamic, nvfp4a16 and none, which leaves a weight as it is; what servers fuse, "
        "and all experts of a layer, get one scheme.",
    .examples = {{"tare quantize path/to/Qwen3-8B Q4_K_M",
                  "a Hugging Face directory for llama.cpp, as Qwen3-8B-Q4_K_M.gguf"},
                 {"tare quantize hf://Qwen/Qwen3-8B Qwen3-8B-Q4_K_M.gguf Q4_K_M",
                  "the same from the hub, without a download"},
                 {"tare quantize model-f16.gguf small.gguf --target-size 7.5G",
                  "the best that fits 7.5 GB"},
                 {"tare quantize path/to/Qwen3-8B --sizes 4G,6G,Q8_0 --card README.md",
                  "three files in one pass, with a table of what each loses"},
                 {"tare quantize model-f16.gguf small.gguf IQ2_XS --imatrix model.imatrix.gguf",
                  "with an importance matrix, which very small types need"},
                 {"tare quantize model-f16.gguf small.gguf Q4_K_M --tensor-type 'ffn_down=q6_k'",
                  "with better down projections"},
                 {"tare quantize path/to/base tuned.gguf Q4_K_M --apply-adapter path/to/lora",
                  "with a LoRA merged into it first"},
                 {"tare quantize model.gguf small.gguf IQ4_XS --dry-run", "types and sizes only"},
                 {"tare quantize model-f16.gguf small.gguf --target-bpw 4.25 --recipe r.txt",
                  "by bits per weight, and the choice in a file"},
                 {"tare quantize model-f16.gguf small.gguf --tensor-type-file r.txt",
                  "the same choice again"}},
    .options = options,
    .groups = {{"With a target", "target-size target-bpw target-damage types sensitivity recipe "
                                 "plot sizes card"},
               {"Importance matrix", "imatrix include-weights exclude-weights"},
               CLI_MAPPING_GROUP},
    .main = "target-size sizes imatrix tensor-type apply-adapter mmproj quality dry-run force",
    .topic = {"Types", topic_row, true},
    .takes = CLI_TAKES_WORK | CLI_TAKES_NAMED | CLI_TAKES_JSON | CLI_TAKES_INPUT |
             CLI_TAKES_MODEL_OUTPUT | CLI_TAKES_PART | CLI_TAKES_SHARED | CLI_TAKES_STRICT |
             CLI_TAKES_SIMILAR | CLI_TAKES_EFFORT | CLI_MAKES_SEVERAL,
    .complete = CLI_COMPLETE_FILE,
    .last = CLI_COMPLETE_MIX,
    .min_args = 1,
    .max_args = 3,
    .out_at = 1,
    .run = run,
};
