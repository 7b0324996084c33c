/* SPDX-License-Identifier: MIT
 *
 * The commands, one file cmd_NAME.c each. */
#ifndef TARE_CLI_COMMANDS_H
#define TARE_CLI_COMMANDS_H

#include "cli.h"

extern const cli_command cmd_info;
extern const cli_command cmd_verify;
extern const cli_command cmd_convert;
extern const cli_command cmd_quantize;
extern const cli_command cmd_pack;
extern const cli_command cmd_unpack;
extern const cli_command cmd_diff;
extern const cli_command cmd_extract;
extern const cli_command cmd_synth;
extern const cli_command cmd_name;
extern const cli_command cmd_bench;
extern const cli_command cmd_completion;
extern const cli_command cmd_help;

#endif
