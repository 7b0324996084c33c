/* SPDX-License-Identifier: MIT
 *
 * Text and failures of Windows. */
#include <errno.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/os_file.h"
#include "base/os_windows.h"

#define LONG_FROM 240 /* characters: a folder needs room for a name of 12 below 260 */

int tare_windows_errno(void) {
    static const struct {
        DWORD error;
        int number;
    } rows[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},
        {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_DRIVE, ENOENT},
        {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_BAD_NET_NAME, ENOENT},
        {ERROR_INVALID_NAME, ENOENT},
        {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_SHARING_VIOLATION, EBUSY},
        {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
        {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_DISK_FULL, ENOSPC},
        {ERROR_HANDLE_DISK_FULL, ENOSPC},
        {ERROR_DISK_QUOTA_EXCEEDED, ENOSPC},
        {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
        {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
        {ERROR_OUTOFMEMORY, ENOMEM},
        {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
        {ERROR_WRITE_PROTECT, EROFS},
        {ERROR_NOT_SAME_DEVICE, EXDEV},
        {ERROR_INVALID_FUNCTION, ENOSYS},
        {ERROR_NOT_SUPPORTED, ENOTSUP},
        {ERROR_CALL_NOT_IMPLEMENTED, ENOSYS},
        {ERROR_INVALID_PARAMETER, EINVAL},
        {ERROR_PRIVILEGE_NOT_HELD, EPERM},
        {ERROR_BROKEN_PIPE, EPIPE},
        {ERROR_NO_DATA, EPIPE},
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
        {ERROR_CANT_RESOLVE_FILENAME, ELOOP},
        {ERROR_INVALID_HANDLE, EBADF},
        {ERROR_MORE_DATA, ENAMETOOLONG},
    };
    const DWORD error = GetLastError();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].error == error) return rows[i].number;
    return EIO;
}

static void *no_memory(void) {
    errno = ENOMEM;
    return NULL;
}

wchar_t *tare_windows_wide(const char *text) {
    const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    if (n <= 0) {
        errno = EILSEQ;
        return NULL;
    }
    wchar_t *out = malloc((size_t)n * sizeof *out);
    if (!out) return no_memory();
    MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, n);
    return out;
}

/* With the other slashes. */
static wchar_t *widen(const char *path) {
    wchar_t *out = tare_windows_wide(path);
    for (wchar_t *c = out; c && *c; c++)
        if (*c == L'/') *c = L'\\';
    return out;
}

static bool has_prefix(const wchar_t *path) {
    return wcsncmp(path, L"\\\\?\\", 4) == 0 || wcsncmp(path, L"\\\\.\\", 4) == 0;
}

wchar_t *tare_windows_path(const char *path) {
    wchar_t *plain = widen(path);
    if (!plain || wcslen(plain) < LONG_FROM || has_prefix(plain)) return plain;
    const DWORD n = GetFullPathNameW(plain, 0, NULL, NULL);
    wchar_t *full = n ? malloc(n * sizeof *full) : NULL;
    wchar_t *out = full ? malloc(((size_t)n + 8) * sizeof *out) : NULL;
    if (out) {
        GetFullPathNameW(plain, n, full, NULL);
        const bool is_share = full[0] == L'\\' && full[1] == L'\\';
        wcscpy(out, is_share ? L"\\\\?\\UNC" : L"\\\\?\\");
        wcscat(out, is_share ? full + 1 : full);
    }
    free(full);
    free(plain);
    return out ? out : no_memory();
}

wchar_t *tare_windows_path_of(void *handle) {
    const DWORD n = GetFinalPathNameByHandleW(handle, NULL, 0, FILE_NAME_NORMALIZED);
    wchar_t *out = n ? malloc(((size_t)n + 1) * sizeof *out) : NULL;
    if (!n) {
        errno = tare_windows_errno();
        return NULL;
    }
    if (!out) return no_memory();
    if (GetFinalPathNameByHandleW(handle, out, n + 1, FILE_NAME_NORMALIZED) == 0) {
        errno = tare_windows_errno();
        free(out);
        return NULL;
    }
    return out;
}

wchar_t *tare_windows_path_in(int folder, const char *name) {
    if (folder == TARE_HERE || tare_path_is_whole(name)) return tare_windows_path(name);
    wchar_t *start = tare_windows_path_of(tare_windows_handle(folder));
    if (!start || strcmp(name, ".") == 0) return start;
    wchar_t *rest = widen(name);
    const size_t n = wcslen(start);
    wchar_t *out = rest ? malloc((n + 1 + wcslen(rest) + 1) * sizeof *out) : NULL;
    if (out) {
        wcscpy(out, start);
        if (n && out[n - 1] != L'\\') wcscat(out, L"\\");
        wcscat(out, rest);
    }
    free(start);
    free(rest);
    return out;
}

char *tare_windows_text(const wchar_t *path) {
    const bool is_share = wcsncmp(path, L"\\\\?\\UNC\\", 8) == 0;
    if (is_share || has_prefix(path)) path += is_share ? 7 : 4;
    const int n = WideCharToMultiByte(CP_UTF8, 0, path, -1, NULL, 0, NULL, NULL);
    char *out = malloc((size_t)n + 1);
    if (!out) return no_memory();
    out[0] = '/'; /* a share begins with two */
    WideCharToMultiByte(CP_UTF8, 0, path, -1, out + is_share, n, NULL, NULL);
    for (char *c = out; *c; c++)
        if (*c == '\\') *c = '/';
    return out;
}

void *tare_windows_handle(int fd) {
    return (void *)_get_osfhandle(fd);
}
