/* SPDX-License-Identifier: MIT
 *
 * The same, of Windows. */
#include "py_system.h"

#include <io.h>
#include <stdlib.h>
#include <windows.h>

#include <tare/private/windows.h>

/* Large pages need a privilege here: there are none. */
void *py_pages_take(size_t size, bool wants_large) {
    (void)wants_large;
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void py_pages_give(void *ptr, size_t size) {
    (void)size;
    VirtualFree(ptr, 0, MEM_RELEASE);
}

void py_pages_return(uint8_t *ptr, size_t size) {
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    const size_t page = system.dwPageSize;
    const uintptr_t first = ((uintptr_t)ptr + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)ptr + size) / page * page;
    if (end > first)
        VirtualAlloc(ptr + (first - (uintptr_t)ptr), end - first, MEM_RESET, PAGE_READWRITE);
}

char *py_path_whole(const char *path) {
    wchar_t *wide = tare_windows_path(path), *whole = NULL;
    HANDLE file = INVALID_HANDLE_VALUE;
    if (wide)
        file = CreateFileW(wide, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                           OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    free(wide);
    if (file != INVALID_HANDLE_VALUE) {
        whole = tare_windows_path_of(file);
        CloseHandle(file);
    }
    char *out = whole ? tare_windows_text(whole) : NULL;
    free(whole);
    return out;
}

int py_descriptor_copy(int fd) {
    return _dup(fd);
}

void py_descriptor_close(int fd) {
    _close(fd);
}

tare_status py_descriptor_write(int fd, uint64_t offset, const void *bytes, size_t n) {
    HANDLE file = (HANDLE)_get_osfhandle(fd);
    for (size_t done = 0; done < n;) {
        const uint64_t at = offset + done;
        OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
        const DWORD part = n - done < 1 << 30 ? (DWORD)(n - done) : 1 << 30;
        DWORD got = 0;
        if (!WriteFile(file, (const char *)bytes + done, part, &got, &place) || !got)
            return GetLastError() == ERROR_DISK_FULL ? TARE_ERR_NOSPACE : TARE_ERR_IO;
        done += got;
    }
    return TARE_OK;
}
