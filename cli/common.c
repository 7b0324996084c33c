/* SPDX-License-Identifier: MIT
 *
 * The values of the common options. */
#include "cli.h"

cli_common cli = {.timeout = 30, .retries = 5};
