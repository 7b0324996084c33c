/* SPDX-License-Identifier: MIT
 *
 * What files named *_windows.c share: text outside is UTF-8 with '/', inside UTF-16 with '\'; a failure
 * is an errno outside. */
#ifndef TARE_BASE_OS_WINDOWS_H
#define TARE_BASE_OS_WINDOWS_H

#include <stdint.h>
#include <wchar.h>

#include <tare/private/windows.h>

/* The errno for what GetLastError says. */
int tare_windows_errno(void);
/* UTF-16, for free(); NULL, with errno: memory is out, or it is not UTF-8. */
wchar_t *tare_windows_wide(const char *text);
/* The path of a name in an open folder (os_file.h). */
wchar_t *tare_windows_path_in(int folder, const char *name);
/* The handle behind a descriptor, a HANDLE. */
void *tare_windows_handle(int fd);

#endif
