/* SPDX-License-Identifier: MIT
 *
 * The commands, one file cmd_NAME.c each. */
#ifndef TARE_CLI_COMMANDS_H
#define TARE_CLI_COMMANDS_H

#include "cli.h"

/* In the order of the help. */
#define CLI_COMMANDS(COMMAND)                                                                      \
    COMMAND(info)                                                                                  \
    COMMAND(verify)                                                                                \
    COMMAND(convert)                                                                               \
    COMMAND(quantize)                                                                              \
    COMMAND(edit)                                                                                  \
    COMMAND(pack)                                                                                  \
    COMMAND(unpack)                                                                                \
    COMMAND(mount)                                                                                 \
    COMMAND(join)                                                                                  \
    COMMAND(status)                                                                                \
    COMMAND(get)                                                                                   \
    COMMAND(diff)                                                                                  \
    COMMAND(report)                                                                                \
    COMMAND(extract)                                                                               \
    COMMAND(bench)                                                                                 \
    COMMAND(synth)                                                                                 \
    COMMAND(name)                                                                                  \
    COMMAND(completion)                                                                            \
    COMMAND(help)

#define CLI_DECLARE_COMMAND(name) extern const cli_command cmd_##name;
CLI_COMMANDS(CLI_DECLARE_COMMAND)
#undef CLI_DECLARE_COMMAND

#endif
