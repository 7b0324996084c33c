/* SPDX-License-Identifier: MIT
 *
 * tare synth: deterministic models for tests, demonstrations and benchmarks. */
#include <tare/private/synth.h>

#include "commands.h"

static cli_write args;

static const cli_option options[] = {
    {.name = "to",
     .arg = "FORMAT",
     .complete = CLI_COMPLETE_FORMAT,
     .help = "the output's format (default: by OUT's suffix)",
     .text = &args.to},
    {.name = "type",
     .arg = "TYPE",
     .complete = CLI_COMPLETE_TYPE,
     .help = "number format of the weights (default: f32)",
     .encoding = &args.type},
    {.name = "tensor-type",
     .arg = "REGEX=TYPE",
     .help = "number format of the tensors whose name matches; may be given again",
     .list = &args.type_rules},
    {.name = "endian", .is_named = true, .help = "byte order of GGUF (default: keep, little)"},
    CLI_NAMED("shard-size"),
    CLI_NAMED("opaque"),
    {0},
};

static int run(int argc, const char **argv) {
    (void)argc;
    tare_report *report = cli_report_new();
    tare_open_options open_options = tare_open_options_default();
    tare_context context = tare_context_default();
    open_options.context = &context;
    tare_model *model;
    tare_error err;
    context.report = report;
    int code;
    if (tare_synth_open(&model, argv[0], &open_options, &err) != TARE_OK) {
        code = cli_fail(&err, argv[0]);
    } else {
        code = cli_write_model(&cmd_synth, model, argv[0], argv[1], &args, report);
    }
    tare_model_free(model);
    tare_report_free(report);
    return code;
}

const cli_command cmd_synth = {
    .name = "synth",
    .summary = "make a model of a named shape, the same bytes on every machine",
    .usage = "SHAPE[:VALUES[:SEED]] OUT [--type TYPE]",
    .description =
        "SHAPE is llama-tiny (a few MB), llama-chat (with a tokenizer, so that llama.cpp runs it), "
        "llama-44m (one layer with the matrices of a large model), "
        "llama-300m, llama-1b or llama-8b; VALUES is normal, t5 (heavy tails), outliers (a few "
        "large channels) or bf16 (rounded to BF16). The numbers "
        "come from integer arithmetic, so that a spec has one digest everywhere.",
    .examples = {{"tare synth llama-tiny tiny.safetensors", "a few MB of F32"},
                 {"tare synth llama-300m:outliers:7 m.gguf --type q8_0",
                  "with outlier channels, seed 7, quantized"}},
    .options = options,
    .main = "type to tensor-type force",
    .takes = CLI_TAKES_WORK | CLI_TAKES_NAMED | CLI_TAKES_JSON | CLI_TAKES_OUTPUT,
    .complete = CLI_COMPLETE_SYNTH,
    .min_args = 2,
    .max_args = 2,
    .out_at = 1,
    .run = run,
};
