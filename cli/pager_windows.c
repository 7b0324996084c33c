/* SPDX-License-Identifier: MIT
 *
 * Windows has no pager that shows a text of one screen as it is: the console scrolls. */
#include "cli.h"

void cli_page(void (*print)(FILE *out, const void *what), const void *what) {
    cli_flush();
    print(stdout, what);
}
