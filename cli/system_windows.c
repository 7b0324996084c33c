/* SPDX-License-Identifier: MIT
 *
 * The same, of Windows: text is UTF-8 outside and UTF-16 inside. */
#include "system.h"

#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <io.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* after windows.h */
#include <bcrypt.h>
#include <shellapi.h>

#include <tare/private/windows.h>

#define SHARED (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

/* ---- paths ----------------------------------------------------------------------------------- */

/* A text that is no path: words of a command line, say. */
static char *narrow(const wchar_t *text) {
    const int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *out = n > 0 ? malloc((size_t)n) : NULL;
    if (out) WideCharToMultiByte(CP_UTF8, 0, text, -1, out, n, NULL, NULL);
    return out;
}

/* Of what an entry leads to, or with FILE_FLAG_OPEN_REPARSE_POINT of itself. */
static HANDLE open_handle(const char *path, DWORD flags) {
    wchar_t *w = tare_windows_path(path);
    HANDLE h = w ? CreateFileW(w, FILE_READ_ATTRIBUTES, SHARED, NULL, OPEN_EXISTING,
                               FILE_FLAG_BACKUP_SEMANTICS | flags, NULL)
                 : INVALID_HANDLE_VALUE;
    const DWORD failed = GetLastError();
    free(w);
    if (h == INVALID_HANDLE_VALUE) errno = failed == ERROR_ACCESS_DENIED ? EACCES : ENOENT;
    return h;
}

cli_path_kind cli_stat(const char *path) {
    BY_HANDLE_FILE_INFORMATION info;
    HANDLE h = open_handle(path, 0);
    if (h == INVALID_HANDLE_VALUE) return CLI_PATH_NOTHING;
    const bool is_known = GetFileType(h) == FILE_TYPE_DISK && GetFileInformationByHandle(h, &info);
    CloseHandle(h);
    if (!is_known) return CLI_PATH_OTHER;
    return info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? CLI_PATH_FOLDER : CLI_PATH_FILE;
}

bool cli_has_entry(const char *path) {
    HANDLE h = open_handle(path, FILE_FLAG_OPEN_REPARSE_POINT);
    if (h == INVALID_HANDLE_VALUE) return false;
    CloseHandle(h);
    return true;
}

bool cli_is_dead_mount(const char *path) {
    (void)path;
    return false;
}

bool cli_is_same_file(const char *a, const char *b) {
    BY_HANDLE_FILE_INFORMATION x, y;
    HANDLE ha = open_handle(a, 0), hb = open_handle(b, 0);
    const bool is_same = ha != INVALID_HANDLE_VALUE && hb != INVALID_HANDLE_VALUE &&
                         GetFileInformationByHandle(ha, &x) && GetFileInformationByHandle(hb, &y) &&
                         x.dwVolumeSerialNumber == y.dwVolumeSerialNumber &&
                         x.nFileIndexHigh == y.nFileIndexHigh && x.nFileIndexLow == y.nFileIndexLow;
    if (ha != INVALID_HANDLE_VALUE) CloseHandle(ha);
    if (hb != INVALID_HANDLE_VALUE) CloseHandle(hb);
    return is_same;
}

char *cli_true_path(const char *path) {
    HANDLE h = open_handle(path, 0);
    if (h == INVALID_HANDLE_VALUE) return NULL;
    wchar_t *whole = tare_windows_path_of(h);
    char *out = whole ? tare_windows_text(whole) : NULL;
    free(whole);
    CloseHandle(h);
    return out;
}

/* ---- streams and temporary files ------------------------------------------------------------- */

static bool is_console(HANDLE h) {
    DWORD mode;
    return GetConsoleMode(h, &mode) != 0;
}

cli_input_kind cli_look_at_input(void) {
    HANDLE h = GetStdHandle(STD_INPUT_HANDLE);
    switch (GetFileType(h)) {
    case FILE_TYPE_CHAR: /* NUL is one, too */
        return is_console(h) ? CLI_INPUT_TERMINAL : CLI_INPUT_STREAM;
    case FILE_TYPE_DISK:
        return CLI_INPUT_FILE;
    case FILE_TYPE_PIPE:
        return CLI_INPUT_STREAM;
    default:
        errno = EBADF;
        return CLI_INPUT_CLOSED;
    }
}

/* Those that were asked for. */
static struct variable {
    struct variable *next;
    char *value;
    char name[];
} * variables;

const char *cli_variable(const char *name) {
    struct variable *v = variables;
    while (v && strcmp(v->name, name) != 0) v = v->next;
    if (!v && (v = malloc(sizeof *v + strlen(name) + 1)) != NULL) {
        wchar_t wide_name[128];
        const bool fits = MultiByteToWideChar(CP_UTF8, 0, name, -1, wide_name, 128) > 0;
        const wchar_t *wide = fits ? _wgetenv(wide_name) : NULL;
        v->value = wide && *wide ? narrow(wide) : NULL;
        strcpy(v->name, name);
        v->next = variables;
        variables = v;
    }
    return v ? v->value : NULL;
}

const char *cli_home(void) {
    static char *home;
    const wchar_t *path = _wgetenv(L"USERPROFILE");
    if (!home && path && *path) home = tare_windows_text(path);
    return home;
}

bool cli_has_certificate_files(void) {
    return false;
}

const char *cli_temp_folder(void) {
    static char *folder;
    wchar_t path[MAX_PATH + 2];
    if (!folder && GetTempPathW(MAX_PATH + 1, path)) folder = narrow(path);
    for (char *c = folder; c && *c; c++)
        if (*c == '\\') *c = '/';
    return folder ? folder : ".";
}

static int descriptor(HANDLE h) {
    const int fd = h == INVALID_HANDLE_VALUE ? -1 : _open_osfhandle((intptr_t)h, _O_BINARY);
    if (fd < 0) errno = h == INVALID_HANDLE_VALUE ? EACCES : EMFILE;
    return fd;
}

int cli_open_unnamed(const char *folder) {
    uint64_t random;
    const size_t room = strlen(folder) + 32;
    char *name = malloc(room);
    wchar_t *path = NULL;
    if (name && cli_random_bytes(&random, sizeof random)) {
        snprintf(name, room, "%s/.tare-%016" PRIx64, folder, random);
        path = tare_windows_path(name);
    }
    free(name);
    HANDLE h = INVALID_HANDLE_VALUE;
    if (path)
        h = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, SHARED, NULL, CREATE_NEW,
                        FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    free(path);
    return descriptor(h);
}

int cli_open_for_reading(const char *path) {
    wchar_t *w = tare_windows_path(path);
    HANDLE h = w ? CreateFileW(w, GENERIC_READ, SHARED, NULL, OPEN_EXISTING, 0, NULL)
                 : INVALID_HANDLE_VALUE;
    free(w);
    return descriptor(h);
}

FILE *cli_open_text(const char *path) {
    wchar_t *w = tare_windows_path(path);
    FILE *file = w ? _wfopen(w, L"rb") : NULL;
    free(w);
    return file;
}

void cli_remove_file(const char *path) {
    wchar_t *w = tare_windows_path(path);
    if (w) DeleteFileW(w);
    free(w);
}

bool cli_make_folder(const char *path) {
    wchar_t *w = tare_windows_path(path);
    const bool is_made = w && _wmkdir(w) == 0;
    free(w);
    return is_made;
}

void cli_remove_folder(const char *path) {
    wchar_t *w = tare_windows_path(path);
    if (w) RemoveDirectoryW(w);
    free(w);
}

void cli_close(int fd) {
    _close(fd);
}

int64_t cli_read_some(int fd, void *buf, size_t n) {
    return _read(fd, buf, n < INT_MAX ? (unsigned)n : INT_MAX);
}

bool cli_write_all(int fd, const void *bytes, size_t n) {
    const char *from = bytes;
    while (n > 0) {
        const int put = _write(fd, from, n < INT_MAX ? (unsigned)n : INT_MAX);
        if (put <= 0) return false;
        from += put;
        n -= (size_t)put;
    }
    return true;
}

bool cli_is_reader_gone(int os_error) {
    /* a pipe fails for this reason alone, which printf() does not tell */
    if (os_error == 0) return GetFileType(GetStdHandle(STD_OUTPUT_HANDLE)) == FILE_TYPE_PIPE;
    return os_error == EPIPE || os_error == EINVAL; /* as the C library says it */
}

bool cli_is_disk_full(int os_error) {
    return os_error == ENOSPC || os_error == EFBIG;
}

bool cli_random_bytes(void *out, size_t n) {
    return BCryptGenRandom(NULL, out, (ULONG)n, BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0;
}

void cli_make_files_private(void) {} /* the folder for temporary files is the user's own */

/* ---- the process ----------------------------------------------------------------------------- */

static void (*stop_asked)(void);

static BOOL WINAPI on_control(DWORD event) {
    (void)event;
    void (*stop)(void) = stop_asked;
    stop_asked = NULL;
    if (!stop) return FALSE; /* asked again: the system ends the process */
    stop();
    return TRUE;
}

void cli_catch_stop(void (*stop)(void)) {
    stop_asked = stop;
    SetConsoleCtrlHandler(on_control, TRUE);
}

_Noreturn void cli_end_at_once(const char *line, int code) {
    DWORD n;
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), line, (DWORD)strlen(line), &n, NULL);
    ExitProcess((UINT)code);
}

bool cli_is_terminal(FILE *file) {
    return is_console((HANDLE)_get_osfhandle(_fileno(file)));
}

bool cli_has_colours(void) {
    const char *term = cli_variable("TERM");
    return !term || strcmp(term, "dumb") != 0;
}

size_t cli_terminal_columns(FILE *file) {
    CONSOLE_SCREEN_BUFFER_INFO info;
    HANDLE h = (HANDLE)_get_osfhandle(_fileno(file));
    if (!GetConsoleScreenBufferInfo(h, &info)) return 0;
    return (size_t)(info.srWindow.Right - info.srWindow.Left + 1);
}

/* Colours, and lines that are written again. */
static void set_up_console(void) {
    static const DWORD outputs[] = {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    SetConsoleOutputCP(CP_UTF8);
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        HANDLE h = GetStdHandle(outputs[i]);
        DWORD mode;
        if (GetConsoleMode(h, &mode)) SetConsoleMode(h, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
}

/* An argument that leads to something, or whose folder does, is a path: the program knows paths with
 * "/". What else has a "\" is a pattern, or text. */
static void turn_slashes(char *argument) {
    char *last = strrchr(argument, '\\');
    if (!last) return;
    bool is_path = cli_has_entry(argument);
    if (!is_path && last > argument) {
        *last = '\0';
        is_path = cli_stat(argument) == CLI_PATH_FOLDER;
        *last = '\\';
    }
    for (char *c = argument; is_path && *c; c++)
        if (*c == '\\') *c = '/';
}

static void take_arguments(int *argc, char ***argv) {
    int n = 0;
    wchar_t **words = CommandLineToArgvW(GetCommandLineW(), &n);
    char **out = words ? calloc((size_t)n + 1, sizeof *out) : NULL;
    for (int i = 0; out && i < n; i++) {
        out[i] = narrow(words[i]);
        if (!out[i]) return; /* those of the C library, then */
        if (i) turn_slashes(out[i]);
    }
    LocalFree(words);
    if (!out) return;
    *argc = n;
    *argv = out;
}

void cli_prepare_process(int *argc, char ***argv) {
    for (int fd = 0; fd <= 2; fd++) _setmode(fd, _O_BINARY);
    set_up_console();
    take_arguments(argc, argv);
}
