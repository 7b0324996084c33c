/* SPDX-License-Identifier: MIT
 *
 * What paths lead to on Windows. */
#include "base/os_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/os_file.h"
#include "base/os_windows.h"

tare_path_kind tare_path_stat(const char *path, int *os_error) {
    tare_file_facts facts;
    const int failed = tare_entry_stat(&facts, TARE_HERE, path, true);
    if (os_error) *os_error = failed;
    return failed ? TARE_PATH_NOTHING : facts.kind;
}

bool tare_path_has_entry(const char *path) {
    tare_file_facts facts;
    return tare_entry_stat(&facts, TARE_HERE, path, false) == 0;
}

int tare_path_check_folder(const char *path) {
    int fd;
    const int failed = tare_fd_open(&fd, TARE_HERE, path, TARE_OPEN_FOLDER, 0);
    if (!failed) tare_fd_close(fd);
    return failed;
}

bool tare_path_is_whole(const char *path) {
    const char c = (char)(path[0] | 0x20);
    return path[0] == '/' || path[0] == '\\' ||
           (c >= 'a' && c <= 'z' && path[1] == ':' && (path[2] == '/' || path[2] == '\\'));
}

/* Names of devices are so with any ending, and what the system would cut off a name, or read as
 * another stream of a file, is none. */
bool tare_path_is_name(const char *name, size_t n) {
    static const char *const devices[] = {"con", "prn", "aux", "nul", "com", "lpt"};
    if (n == 0 || name[n - 1] == '.' || name[n - 1] == ' ') return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < 32 || strchr("<>:\"|?*\\", name[i])) return false;
    const char *dot = memchr(name, '.', n);
    size_t stem = dot ? (size_t)(dot - name) : n;
    while (stem && name[stem - 1] == ' ') stem--;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const bool is_numbered = i >= 4;
        if (_strnicmp(name, devices[i], 3) != 0) continue;
        if (!is_numbered && stem == 3) return false;
        if (is_numbered && stem == 4 && name[3] >= '0' && name[3] <= '9') return false;
    }
    return true;
}

char *tare_path_real(const char *path) {
    int fd;
    const int failed = tare_fd_open(&fd, TARE_HERE, path, 0, 0);
    if (failed) {
        errno = failed;
        return NULL;
    }
    wchar_t *whole = tare_windows_path_of(tare_windows_handle(fd));
    char *text = whole ? tare_windows_text(whole) : NULL;
    free(whole);
    tare_fd_close(fd);
    return text;
}
