/* SPDX-License-Identifier: MIT
 *
 * What the common options of a command line said. */
#include "cli.h"

cli_common cli = {.timeout = 30, .retries = 5};
