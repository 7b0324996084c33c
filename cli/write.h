/* SPDX-License-Identifier: MIT
 *
 * Among the files that write models: what a plan is made from, opened from the command line. */
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

#endif
