/* SPDX-License-Identifier: MIT
 *
 * tare/private/windows.h: paths on Windows, for the command and the Python package, which open files themselves.
 */
#ifndef TARE_PRIVATE_WINDOWS_H
#define TARE_PRIVATE_WINDOWS_H

#include <wchar.h>

#include <tare/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
/* A path, for free(); one that is long gets the prefix that lifts the system's limit. NULL: memory is
 * out, or it is not UTF-8; errno says which. */
TARE_API wchar_t *tare_windows_path(const char *path);
/* The path of an open file (a HANDLE), links followed, with the system's prefix. NULL, with errno. */
TARE_API wchar_t *tare_windows_path_of(void *handle);
/* UTF-8 with '/', for free(); a prefix of the system's is left out. NULL: memory is out. */
TARE_API char *tare_windows_text(const wchar_t *path);
#endif

#ifdef __cplusplus
}
#endif
#endif
