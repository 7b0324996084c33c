/* SPDX-License-Identifier: MIT
 *
 * What tare edit says of keys that it adds. */
#ifndef TARE_CLI_EDIT_NEW_KEYS_H
#define TARE_CLI_EDIT_NEW_KEYS_H

#include "cli.h"

/* A note for each new key of whose name the model at `path`, which is not edited yet, has nearly one
 * already. */
void cli_note_new_keys(const tare_edit *edit, const char *path);

#endif
