/* SPDX-License-Identifier: MIT
 *
 * Several outputs of one model, and the model card that tells of them. */
#ifndef TARE_CLI_WRITE_SEVERAL_H
#define TARE_CLI_WRITE_SEVERAL_H

#include "write.h"

#define SEVERAL_MOST 32

/* One of the outputs. */
typedef struct cli_variant {
    char *label, *path;
    const tare_mix *mix; /* NULL: types chosen for a size */
    uint64_t size;
    tare_mix_options mix_options;
    tare_plan *plan;
    double damage;     /* predicted; below 0: not known */
    double bits;       /* of its tensors for each weight */
    const char *types; /* what they are called */
} cli_variant;

typedef struct cli_several {
    const cli_command *command;
    const char *in_path;
    const cli_write *write;
    tare_report *report;
    char *suffix; /* of the outputs' names */
    cli_variant all[SEVERAL_MOST];
    size_t n;
} cli_several;

/* Whether the card can be written: it is no file that is read or written otherwise. 0, or an exit code
 * after saying what is wrong. */
int cli_card_check(const cli_several *s, const tare_model *in);
int cli_card_write(const cli_several *s, const tare_model *in);

#endif
