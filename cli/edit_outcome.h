/* SPDX-License-Identifier: MIT
 *
 * What tare edit says of an edit, before it (--dry-run) and after. */
#ifndef TARE_CLI_EDIT_OUTCOME_H
#define TARE_CLI_EDIT_OUTCOME_H

#include "cli.h"

/* Keys, tensors and files that differ, a line for each side. */
void cli_edit_print_changes(const tare_edit *edit);
/* One line. out_path NULL: FILE itself is edited. */
void cli_edit_print_result(const tare_edit *edit, const char *path, const char *out_path);
void cli_edit_print_json(const tare_edit *edit, const char *path, const char *out_path,
                         const tare_report *report);

#endif
