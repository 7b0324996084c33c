/* SPDX-License-Identifier: MIT
 *
 * Patterns of file names, as a shell has them. */
#ifndef TARE_BASE_GLOB_H
#define TARE_BASE_GLOB_H

#include <tare/base.h>

/* Whether a whole name matches: * any bytes, ? a character, [abc] [a-z] [!abc] one of some; a
 * backslash takes the next character as it is. A [ that nothing closes stands for itself. in_path:
 * a / is matched by / alone. The time grows as the product of both lengths at most. */
bool tare_glob_matches(tare_str pattern, tare_str name, bool in_path);

#endif
