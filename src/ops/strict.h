/* SPDX-License-Identifier: MIT
 *
 * What an output loses of its input, by the same rule for every command that writes one. Numbers
 * that change unrequested, and files, metadata and adapters that are left out: each is a warning in
 * the report, and under `strict` the first one is the error with which the run ends, before a byte
 * is written. docs/behaviour.md, "What is lost". */
#ifndef TARE_OPS_STRICT_H
#define TARE_OPS_STRICT_H

#include <stdarg.h>

#include "base/report.h"
#include "model/catalog.h"

typedef struct tare_strict {
    tare_report *report;
    bool is_strict;
    const char *what; /* the first loss; NULL: none yet */
    tare_item_kind item_kind;
    int64_t item;
    tare_str item_name; /* borrowed */
} tare_strict;

/* Reports a loss as a warning, about the item of `finding`. `what`, static, is the error that it is
 * under `strict`. */
void tare_strict_note(tare_strict *strict, const tare_finding *finding, const char *what,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Remembers a loss that is in the report already. */
void tare_strict_remember(tare_strict *strict, const tare_finding *finding, const char *what);
/* The same of what a model or an adapter has lost; without a code that is nothing. */
void tare_strict_loss(tare_strict *strict, const tare_finding *loss);
/* A file that the output does not have. */
void tare_strict_file(tare_strict *strict, tare_str name, const char *why);
/* What opening or making the model lost and reported at that time: files that it left out, keys and
 * tensors that it could not restore. */
void tare_strict_left_out(tare_strict *strict, const tare_model *model);
/* UNSUPPORTED under `strict` where anything is lost: the first loss. */
tare_status tare_strict_check(const tare_strict *strict, tare_error *err);

#endif
