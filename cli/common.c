/* SPDX-License-Identifier: MIT
 *
 * What the common options of a command line said. */
#include "cli.h"

cli_common cli;
