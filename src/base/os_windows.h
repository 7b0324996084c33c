/* SPDX-License-Identifier: MIT
 *
 * What files named *_windows.c share: text outside is UTF-8 with '/', inside UTF-16 with '\'; a failure
 * is an errno outside. */
#ifndef TARE_BASE_OS_WINDOWS_H
#define TARE_BASE_OS_WINDOWS_H

#include <stdint.h>
#include <wchar.h>

/* The errno for what GetLastError says. */
int tare_windows_errno(void);
/* A path, for free(); one that is long gets the prefix that lifts the system's limit. NULL: memory is
 * out, or it is not UTF-8; errno says which. */
wchar_t *tare_windows_path(const char *path);
/* The path of a name in an open folder (os_file.h). */
wchar_t *tare_windows_path_in(int folder, const char *name);
/* UTF-8 with '/', for free(); a prefix of the system's is left out. */
char *tare_windows_text(const wchar_t *path);
/* The path of an open file, links followed, with the system's prefix. NULL, with errno. */
wchar_t *tare_windows_path_of(void *handle);
/* The handle behind a descriptor, a HANDLE. */
void *tare_windows_handle(int fd);

#endif
