/* SPDX-License-Identifier: MIT
 *
 * Patterns of file names, as a shell has them. */
#ifndef TARE_BASE_GLOB_H
#define TARE_BASE_GLOB_H

#include <tare/base.h>

#include "base/alloc.h"

/* Whether a whole name matches: * any bytes, ? a character, [abc] [a-z] [!abc] one of some; a
 * backslash takes the next character as it is. A [ that nothing closes stands for itself. in_path:
 * a / is matched by / alone. The time grows as the product of both lengths at most. */
bool tare_glob_matches(tare_str pattern, tare_str name, bool in_path);

/* Names that change: `from` and `to` have one * each, which is any bytes, and the same in both, or none.
 * Whether they are such a pair. */
bool tare_glob_is_renaming(tare_str from, tare_str to);
/* What such a pair makes of a name, in the arena; ptr NULL: `from` is not it. False: memory is out. */
bool tare_glob_rename(tare_str *out, tare_str from, tare_str to, tare_str name, tare_arena *arena);

#endif
