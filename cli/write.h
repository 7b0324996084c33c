/* SPDX-License-Identifier: MIT
 *
 * Among the files that write models: what a plan is made from, opened from the command line, and what is
 * said of the result. */
#ifndef TARE_CLI_WRITE_H
#define TARE_CLI_WRITE_H

#include "cli.h"

/* What a plan is made from, and what has to outlive it. */
typedef struct cli_parts {
    cli_rules rules;
    tare_importance *importance;
    cli_overrides overrides;
    cli_adapters merges, adapters;
    tare_convert_infq_options infq;
    tare_convert_wcodec_options wcodec;
    tare_llama_translate_options names;
    tare_context context;
    tare_output_options output;
} cli_parts;

/* Opens and reads what the command line names, and enters it into the options, those of
 * cli_named_convert, which then point to the parts. 0, or an exit code after saying what is wrong; to be closed in any case. */
int cli_parts_open(cli_parts *p, tare_convert_options *options, const cli_command *command,
                   const tare_model *in, const char *out_path, const cli_write *write,
                   tare_report *report);
void cli_parts_close(cli_parts *p);

/* Writes the outputs of write->several into a folder, in one pass over the input. */
int cli_write_several(const cli_command *command, const tare_model *in, const char *in_path,
                      const char *folder, const cli_write *write, tare_report *report);

/* ---- what is said of the result -------------------------------------------------------------- */

/* The errors that were measured; is_measured[i] false: tensor i was only copied. */
typedef struct cli_losses {
    tare_tensor_error *errors;
    bool *is_measured;
    size_t n;
} cli_losses;

/* A tare_measured_fn: enters an error into cli_losses. */
void cli_note_loss(void *losses, size_t i, const tare_tensor_error *error);
void cli_losses_free(cli_losses *l);

/* What an output is told about. */
typedef struct cli_outcome {
    const tare_plan *plan;
    const tare_model *in;
    const cli_write *write;
    const char *in_path, *out_path;
    const tare_report *report;
    const tare_fit *fit;        /* NULL: no types were chosen */
    const tare_mix *mix;        /* NULL: none */
    bool mix_is_named;          /* the output is: it is no mix that stands in for rules */
    uint64_t target_bytes;      /* 0: its types were not chosen for a size */
    double damage;              /* predicted; below 0: not known */
    tare_convert_result result; /* 0 bytes: nothing was written */
    cli_losses losses;
} cli_outcome;

/* Prints the plan (--dry-run), the errors (--report) and the summary, or the JSON document. */
void cli_print_outcome(const cli_command *command, const cli_outcome *o);
/* The JSON document of a command: its outputs are one, or a list where it can make several. */
void cli_print_outputs(const cli_command *command, const cli_outcome *all, size_t n);
/* Bits of all tensors for each element. */
double cli_bits_a_weight(const tare_plan *plan, const tare_model *in);

#endif
