/* SPDX-License-Identifier: MIT
 *
 * Windows's calls. A descriptor is the C library's, around a handle that others may read, write, rename
 * and delete through, as elsewhere. A folder has a handle, too, and its entries the path of that. */
#include "base/os_file.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include <winioctl.h>

#include "base/os_windows.h"

#define MOST       ((size_t)1 << 30) /* moved in one call */
#define TICKS      10000000          /* of a FILETIME in a second */
#define UNTIL_1970 INT64_C(11644473600)
#define LOCK_AT                                                                                    \
    UINT64_C(0x7ffffffffffffffe) /* a lock keeps others from bytes: these are nobody's */
#define SHARED (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static int result(BOOL is_done) {
    return is_done ? 0 : tare_windows_errno();
}

/* ---- open files ------------------------------------------------------------------------------ */

static DWORD disposition(unsigned how) {
    if (how & TARE_OPEN_NEW) return CREATE_NEW;
    if (how & TARE_OPEN_MAKE) return how & TARE_OPEN_EMPTY ? CREATE_ALWAYS : OPEN_ALWAYS;
    return how & TARE_OPEN_EMPTY ? TRUNCATE_EXISTING : OPEN_EXISTING;
}

/* A handle of an entry; INVALID_HANDLE_VALUE, with errno. */
static HANDLE open_entry(int folder, const char *name, DWORD access, DWORD made, DWORD flags) {
    wchar_t *path = tare_windows_path_in(folder, name);
    if (!path) return INVALID_HANDLE_VALUE;
    HANDLE h = CreateFileW(path, access, SHARED, NULL, made, flags, NULL);
    if (h == INVALID_HANDLE_VALUE) errno = tare_windows_errno();
    free(path);
    return h;
}

static bool is_link(HANDLE h) {
    FILE_ATTRIBUTE_TAG_INFO tag;
    return GetFileInformationByHandleEx(h, FileAttributeTagInfo, &tag, sizeof tag) &&
           (tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) &&
           (tag.ReparseTag == IO_REPARSE_TAG_SYMLINK ||
            tag.ReparseTag == IO_REPARSE_TAG_MOUNT_POINT);
}

static bool is_folder(int folder, const char *name) {
    tare_file_facts facts;
    return tare_entry_stat(&facts, folder, name, true) == 0 && facts.kind == TARE_PATH_FOLDER;
}

int tare_fd_open(int *fd, int folder, const char *name, unsigned how, uint16_t mode) {
    const DWORD access = how & TARE_OPEN_PUT     ? GENERIC_WRITE | FILE_READ_ATTRIBUTES
                         : how & TARE_OPEN_WRITE ? GENERIC_READ | GENERIC_WRITE
                                                 : GENERIC_READ;
    const DWORD flags = FILE_ATTRIBUTE_NORMAL |
                        (access == GENERIC_READ ? FILE_FLAG_BACKUP_SEMANTICS : 0) |
                        (how & TARE_OPEN_NO_LINK ? FILE_FLAG_OPEN_REPARSE_POINT : 0);
    (void)mode;
    *fd = -1;
    HANDLE h = open_entry(folder, name, access, disposition(how), flags);
    if (h == INVALID_HANDLE_VALUE && errno == EACCES && access != GENERIC_READ &&
        is_folder(folder, name))
        return EISDIR;
    if (h == INVALID_HANDLE_VALUE) return errno;
    BY_HANDLE_FILE_INFORMATION info = {0};
    int failed = how & TARE_OPEN_NO_LINK && is_link(h) ? ELOOP : 0;
    if (!failed && how & TARE_OPEN_FOLDER)
        failed = !GetFileInformationByHandle(h, &info)              ? tare_windows_errno()
                 : info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? 0
                                                                    : ENOTDIR;
    if (!failed) *fd = _open_osfhandle((intptr_t)h, _O_BINARY | _O_NOINHERIT);
    if (!failed && *fd < 0) failed = EMFILE;
    if (failed) CloseHandle(h);
    return failed;
}

int tare_fd_close(int fd) {
    return _close(fd) == 0 ? 0 : errno;
}

static void set_time(tare_file_facts *out, FILETIME t) {
    const uint64_t ticks = (uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime;
    out->seconds = (int64_t)(ticks / TICKS) - UNTIL_1970;
    out->nanoseconds = (uint32_t)(ticks % TICKS * 100);
}

/* Modes are those that such a file has elsewhere. */
static int facts_of(tare_file_facts *out, HANDLE h) {
    BY_HANDLE_FILE_INFORMATION info;
    if (GetFileType(h) != FILE_TYPE_DISK) {
        *out = (tare_file_facts){.kind = TARE_PATH_OTHER, .n_names = 1};
        return 0;
    }
    if (!GetFileInformationByHandle(h, &info)) return tare_windows_errno();
    const bool is_dir = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    const bool is_fixed = info.dwFileAttributes & FILE_ATTRIBUTE_READONLY;
    *out = (tare_file_facts){
        .kind = is_link(h) ? TARE_PATH_LINK
                : is_dir   ? TARE_PATH_FOLDER
                           : TARE_PATH_FILE,
        .mode = is_dir     ? 0755
                : is_fixed ? 0444
                           : 0644,
        .size = is_dir ? 0 : (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow,
        .device = info.dwVolumeSerialNumber,
        .inode = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow,
        .n_names = info.nNumberOfLinks};
    set_time(out, info.ftLastWriteTime);
    return 0;
}

int tare_fd_stat(tare_file_facts *out, int fd) {
    return facts_of(out, tare_windows_handle(fd));
}

int tare_entry_stat(tare_file_facts *out, int folder, const char *name, bool follows) {
    const DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | (follows ? 0 : FILE_FLAG_OPEN_REPARSE_POINT);
    HANDLE h = open_entry(folder, name, FILE_READ_ATTRIBUTES, OPEN_EXISTING, flags);
    if (h == INVALID_HANDLE_VALUE) return errno;
    const int failed = facts_of(out, h);
    CloseHandle(h);
    return failed;
}

bool tare_is_same_file(const tare_file_facts *a, const tare_file_facts *b) {
    return a->device == b->device && a->inode == b->inode;
}

/* Owners are not looked at: who may write into a folder is the folder's affair. */
bool tare_file_is_own(const tare_file_facts *facts) {
    (void)facts;
    return true;
}

uint64_t tare_fd_birth(int fd) {
    BY_HANDLE_FILE_INFORMATION info;
    if (!GetFileInformationByHandle(tare_windows_handle(fd), &info)) return 0;
    return ((uint64_t)info.ftCreationTime.dwHighDateTime << 32 |
            info.ftCreationTime.dwLowDateTime) *
           100;
}

int tare_disk_size(uint64_t *size, int fd) {
    (void)size, (void)fd;
    return ENOTSUP;
}

/* ---- their bytes ----------------------------------------------------------------------------- */

static OVERLAPPED at_offset(uint64_t offset) {
    OVERLAPPED o = {0};
    o.Offset = (DWORD)offset;
    o.OffsetHigh = (DWORD)(offset >> 32);
    return o;
}

int tare_fd_read(size_t *got, int fd, uint64_t offset, void *buf, size_t n) {
    uint8_t *to = buf;
    for (*got = 0; *got < n;) {
        const size_t left = n - *got;
        OVERLAPPED where = at_offset(offset + *got);
        DWORD part;
        if (!ReadFile(tare_windows_handle(fd), to + *got, (DWORD)(left < MOST ? left : MOST), &part,
                      &where)) {
            if (GetLastError() == ERROR_HANDLE_EOF) break;
            return tare_windows_errno();
        }
        if (part == 0) break;
        *got += part;
    }
    return 0;
}

static int write_all(int fd, const uint64_t *offset, const uint8_t *from, size_t n) {
    for (size_t done = 0; done < n;) {
        OVERLAPPED where = at_offset(offset ? *offset + done : 0);
        const size_t left = n - done;
        DWORD part;
        if (!WriteFile(tare_windows_handle(fd), from + done, (DWORD)(left < MOST ? left : MOST),
                       &part, offset ? &where : NULL))
            return tare_windows_errno();
        if (part == 0) return ENOSPC;
        done += part;
    }
    return 0;
}

int tare_fd_write(int fd, uint64_t offset, const void *bytes, size_t n) {
    return write_all(fd, &offset, bytes, n);
}

int tare_fd_put(int fd, const void *bytes, size_t n) {
    return write_all(fd, NULL, bytes, n);
}

int tare_fd_resize(int fd, uint64_t size) {
    FILE_END_OF_FILE_INFO end;
    end.EndOfFile.QuadPart = (LONGLONG)size;
    return result(
        SetFileInformationByHandle(tare_windows_handle(fd), FileEndOfFileInfo, &end, sizeof end));
}

/* Locks of folders: there are none. */
int tare_fd_lock(int fd) {
    OVERLAPPED where = at_offset(LOCK_AT);
    return result(LockFileEx(tare_windows_handle(fd),
                             LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &where));
}

static int set_basic(HANDLE h, const tare_file_facts *as, bool has_mode, bool has_time) {
    FILE_BASIC_INFO info = {0}; /* what is 0 stays as it is */
    if (has_time)
        info.LastWriteTime.QuadPart = (as->seconds + UNTIL_1970) * TICKS + as->nanoseconds / 100;
    if (has_mode)
        info.FileAttributes = as->mode & 0200 ? FILE_ATTRIBUTE_NORMAL : FILE_ATTRIBUTE_READONLY;
    return result(SetFileInformationByHandle(h, FileBasicInfo, &info, sizeof info));
}

static bool is_for_all(HANDLE h) { /* a folder's attribute says nothing about who may write */
    tare_file_facts facts;
    return facts_of(&facts, h) != 0 || facts.kind == TARE_PATH_FOLDER;
}

int tare_fd_set_mode(int fd, uint16_t mode) {
    const tare_file_facts as = {.mode = mode};
    HANDLE h = tare_windows_handle(fd);
    return is_for_all(h) ? 0 : set_basic(h, &as, true, false);
}

int tare_fd_set_owner(int fd, const tare_file_facts *as) {
    (void)fd, (void)as;
    return ENOTSUP;
}

int tare_fd_set_time(int fd, const tare_file_facts *as) {
    return set_basic(tare_windows_handle(fd), as, false, true);
}

void *tare_fd_map(int fd, size_t size, bool is_private) {
    HANDLE mapping = CreateFileMappingW(tare_windows_handle(fd), NULL,
                                        is_private ? PAGE_WRITECOPY : PAGE_READONLY, 0, 0, NULL);
    if (!mapping) return NULL;
    void *map = MapViewOfFile(mapping, is_private ? FILE_MAP_COPY : FILE_MAP_READ, 0, 0, size);
    CloseHandle(mapping); /* the view keeps it */
    return map;
}

void tare_fd_unmap(void *map, size_t size) {
    (void)size;
    UnmapViewOfFile(map);
}

/* ---- folders --------------------------------------------------------------------------------- */

static int with_path(int folder, const char *name, BOOL (*act)(const wchar_t *path)) {
    wchar_t *path = tare_windows_path_in(folder, name);
    if (!path) return errno;
    const int failed = result(act(path));
    free(path);
    return failed;
}

static BOOL make(const wchar_t *path) {
    return CreateDirectoryW(path, NULL);
}

int tare_folder_make(int folder, const char *name, uint16_t mode) {
    (void)mode;
    return with_path(folder, name, make);
}

static int visit_all(const wchar_t *pattern, int (*visit)(void *ctx, const char *name), void *ctx) {
    WIN32_FIND_DATAW found;
    HANDLE search = FindFirstFileW(pattern, &found);
    if (search == INVALID_HANDLE_VALUE) return tare_windows_errno();
    int failed = 0;
    do {
        if (wcscmp(found.cFileName, L".") == 0 || wcscmp(found.cFileName, L"..") == 0) continue;
        char *name = tare_windows_text(found.cFileName);
        failed = name ? visit(ctx, name) : ENOMEM;
        free(name);
    } while (!failed && FindNextFileW(search, &found));
    if (!failed && GetLastError() != ERROR_NO_MORE_FILES) failed = tare_windows_errno();
    FindClose(search);
    return failed;
}

int tare_folder_names(int fd, int (*visit)(void *ctx, const char *name), void *ctx) {
    wchar_t *pattern = tare_windows_path_in(fd, "*");
    if (!pattern) return errno;
    const int failed = visit_all(pattern, visit, ctx);
    free(pattern);
    return failed;
}

/* Rights are lists here, and only trying says what they come to. */
int tare_folder_can_write(int fd) {
    HANDLE h = open_entry(fd, ".", FILE_ADD_FILE, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    if (h == INVALID_HANDLE_VALUE) return errno;
    CloseHandle(h);
    return 0;
}

bool tare_folder_free_bytes(uint64_t *out, int fd) {
    wchar_t *path = tare_windows_path_in(fd, ".");
    ULARGE_INTEGER available;
    const bool is_known = path && GetDiskFreeSpaceExW(path, &available, NULL, NULL);
    free(path);
    if (is_known) *out = available.QuadPart;
    return is_known;
}

/* A link to a folder is removed as one. */
static BOOL remove_file(const wchar_t *path) {
    const DWORD a = GetFileAttributesW(path);
    const bool is_there = a != INVALID_FILE_ATTRIBUTES;
    if (is_there && a & FILE_ATTRIBUTE_READONLY)
        SetFileAttributesW(path, a & ~(DWORD)FILE_ATTRIBUTE_READONLY);
    if (is_there && a & FILE_ATTRIBUTE_DIRECTORY && a & FILE_ATTRIBUTE_REPARSE_POINT)
        return RemoveDirectoryW(path);
    return DeleteFileW(path);
}

static BOOL remove_folder(const wchar_t *path) {
    return RemoveDirectoryW(path);
}

int tare_entry_remove(int folder, const char *name) {
    return with_path(folder, name, remove_file);
}

int tare_folder_remove(int folder, const char *name) {
    return with_path(folder, name, remove_folder);
}

/* Takes the name even of a file that is open elsewhere, in one step; Windows 10, NTFS. */
static bool rename_as_posix(const wchar_t *from, const wchar_t *to) {
    enum { REPLACE = 1, POSIX = 2, INFO_EX = 22 }; /* of FILE_RENAME_INFO's flags, and its number */
    const size_t n = wcslen(to) * sizeof *to, size = sizeof(FILE_RENAME_INFO) + n;
    FILE_RENAME_INFO *info = calloc(1, size);
    HANDLE h = CreateFileW(from, DELETE | SYNCHRONIZE, SHARED, NULL, OPEN_EXISTING,
                           FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    bool is_done = false;
    if (info && h != INVALID_HANDLE_VALUE) {
        const DWORD flags = REPLACE | POSIX;
        memcpy(info, &flags, sizeof flags); /* where older headers have ReplaceIfExists */
        info->FileNameLength = (DWORD)n;
        memcpy(info->FileName, to, n);
        is_done =
            SetFileInformationByHandle(h, (FILE_INFO_BY_HANDLE_CLASS)INFO_EX, info, (DWORD)size);
    }
    if (h != INVALID_HANDLE_VALUE) CloseHandle(h);
    free(info);
    return is_done;
}

int tare_entry_rename(int folder, const char *from, const char *to) {
    wchar_t *old = tare_windows_path_in(folder, from), *new = tare_windows_path_in(folder, to);
    int failed = old && new ? 0 : errno;
    if (!failed && !rename_as_posix(old, new))
        failed = result(MoveFileExW(old, new, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH));
    free(old);
    free(new);
    return failed;
}

static int set_entry(int folder, const char *name, const tare_file_facts *as, bool has_mode,
                     DWORD flags) {
    HANDLE h = open_entry(folder, name, FILE_WRITE_ATTRIBUTES | FILE_READ_ATTRIBUTES, OPEN_EXISTING,
                          FILE_FLAG_BACKUP_SEMANTICS | flags);
    if (h == INVALID_HANDLE_VALUE) return errno;
    const int failed = set_basic(h, as, has_mode && !is_for_all(h), true);
    CloseHandle(h);
    return failed;
}

int tare_entry_set(int folder, const char *name, const tare_file_facts *as) {
    return set_entry(folder, name, as, as->kind != TARE_PATH_LINK, FILE_FLAG_OPEN_REPARSE_POINT);
}

int tare_entry_set_time(int folder, const char *name, const tare_file_facts *as) {
    return set_entry(folder, name, as, false, 0);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* What FSCTL_GET_REPARSE_POINT gives for a symbolic link. */
typedef struct link_data {
    DWORD tag;
    WORD size, reserved;
    WORD name_offset, name_size, shown_offset, shown_size;
    DWORD flags;
    wchar_t text[8192];
} link_data;

int tare_link_read(char *out, size_t size, int folder, const char *name) {
    HANDLE h = open_entry(folder, name, FILE_READ_ATTRIBUTES, OPEN_EXISTING,
                          FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
    link_data *data = h == INVALID_HANDLE_VALUE ? NULL : calloc(1, sizeof *data);
    DWORD got;
    int failed = h == INVALID_HANDLE_VALUE ? errno : data ? 0 : ENOMEM;
    if (!failed &&
        !DeviceIoControl(h, FSCTL_GET_REPARSE_POINT, NULL, 0, data, sizeof *data, &got, NULL))
        failed = tare_windows_errno();
    if (!failed && data->tag != IO_REPARSE_TAG_SYMLINK) failed = EINVAL;
    if (!failed &&
        (size_t)data->shown_offset + data->shown_size > sizeof data->text - sizeof(wchar_t))
        failed = EINVAL;
    if (!failed) {
        wchar_t *shown = data->text + data->shown_offset / sizeof(wchar_t);
        shown[data->shown_size / sizeof(wchar_t)] = 0;
        char *text = tare_windows_text(shown);
        failed = !text ? ENOMEM : strlen(text) >= size ? ENAMETOOLONG : 0;
        if (!failed) strcpy(out, text);
        free(text);
    }
    free(data);
    if (h != INVALID_HANDLE_VALUE) CloseHandle(h);
    return failed;
}

/* Who is not a developer, or an administrator, may not make any: EPERM. */
int tare_link_make(int folder, const char *name, const char *target) {
    enum { IS_FOLDER = 1, UNPRIVILEGED = 2 };
    wchar_t *path = tare_windows_path_in(folder, name), *leads_to = tare_windows_path(target);
    const char *slash = strrchr(name, '/');
    char place[TARE_PATH_MOST];
    int failed = path && leads_to ? 0 : errno;
    const size_t n = slash ? (size_t)(slash - name) + 1 : 0;
    if (!failed && n + strlen(target) >= sizeof place) failed = ENAMETOOLONG;
    if (!failed) {
        memcpy(place, name, n);
        strcpy(place + n, target);
        const DWORD flags = UNPRIVILEGED | (is_folder(folder, place) ? IS_FOLDER : 0);
        failed = CreateSymbolicLinkW(path, leads_to, flags) ? 0 : tare_windows_errno();
    }
    free(path);
    free(leads_to);
    return failed;
}
