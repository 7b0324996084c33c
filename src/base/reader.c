/* SPDX-License-Identifier: MIT
 *
 * Random access reading of files, memory and callbacks. */
#include "base/reader.h"

#include <errno.h>
#include <string.h>

#include "base/arith.h"
#include "base/os_file.h"
#include "base/outfile_os.h"

static tare_status fail_in(const tare_reader *r, tare_status status, tare_error *err) {
    tare_error_file(err, r->name);
    return status;
}

/* Not every file system can map its files, nor has every process the addresses: such a file is
 * read. */
static void map_file(tare_reader *r, tare_map_mode mode) {
    const bool is_private = mode == TARE_MAP_PRIVATE;
    size_t size;
    if (r->size == 0 || !tare_size_of_u64(r->size, &size)) return;
    r->map = tare_fd_map(r->fd, size, is_private);
    if (!r->map) return;
    r->owns_map = true;
    r->is_writable = is_private;
}

/* Size of what fd refers to: a regular file, or a block device by its end. */
static tare_status measure(tare_reader *r, tare_error *err) {
    tare_file_facts facts;
    int failed = tare_fd_stat(&facts, r->fd);
    if (failed) return tare_fail_errno(err, failed, "its status cannot be read");
    if (facts.kind == TARE_PATH_FOLDER) return tare_fail(err, TARE_ERR_ARG, "is a directory");
    r->size = facts.size;
    if (facts.kind == TARE_PATH_DISK) {
        failed = tare_disk_size(&r->size, r->fd);
        if (failed) return tare_fail_errno(err, failed, "its size cannot be read");
    } else if (facts.kind != TARE_PATH_FILE) {
        return tare_fail(err, TARE_ERR_ARG, "is not a regular file");
    } else {
        r->withheld = (uint16_t)(~facts.mode & 0777);
    }
    r->has_identity = true;
    r->device = facts.device;
    r->inode = facts.inode;
    return TARE_OK;
}

tare_status tare_reader_fd(tare_reader *r, int fd, const char *name, tare_map_mode map,
                           tare_error *err) {
    *r = (tare_reader){.name = name, .fd = fd, .has_places = true};
    tare_status s = measure(r, err);
    if (s == TARE_OK && map) map_file(r, map);
    return s == TARE_OK ? TARE_OK : fail_in(r, s, err);
}

bool tare_is_lost_link(const char *path) {
    int os_error;
    return tare_path_stat(path, &os_error) == TARE_PATH_NOTHING && os_error == ENOENT &&
           tare_path_has_entry(path);
}

/* A pipe without a writer must be refused, not waited for; files that are accepted read the same
 * with O_NONBLOCK. */
tare_status tare_reader_open(tare_reader *r, const char *name, tare_map_mode map, tare_error *err) {
    int fd;
    const int os_error = tare_fd_open(&fd, TARE_HERE, name, TARE_OPEN_NO_WAIT, 0);
    *r = (tare_reader){.name = name, .fd = -1};
    if (os_error) {
        const tare_status status =
            tare_fail_errno(err, os_error,
                            tare_is_lost_link(name)
                                ? "a link whose target is gone: a download cache without the file"
                                : "cannot be opened");
        return fail_in(r, status, err);
    }
    tare_status s = tare_reader_fd(r, fd, name, map, err);
    r->owns_fd = true;
    if (s != TARE_OK) tare_reader_close(r);
    return s;
}

void tare_reader_memory(tare_reader *r, const void *bytes, uint64_t size, const char *name) {
    *r = (tare_reader){.name = name, .size = size, .fd = -1, .map = bytes, .has_places = true};
    if (!bytes) r->map = (const uint8_t *)"";
}

void tare_reader_callback(tare_reader *r,
                          tare_status (*read)(void *ctx, uint64_t offset, void *buf, size_t n),
                          void *ctx, uint64_t size, const char *name) {
    *r = (tare_reader){.name = name, .size = size, .fd = -1, .read = read, .read_ctx = ctx};
}

void tare_reader_close(tare_reader *r) {
    if (r->owns_map) tare_fd_unmap((void *)(uintptr_t)r->map, (size_t)r->size);
    if (r->owns_fd && r->fd >= 0) tare_fd_close(r->fd);
    if (r->close) r->close(r->read_ctx);
    *r = (tare_reader){.fd = -1};
}

/* A file that has shrunk is TRUNCATED. */
static tare_status read_fd(const tare_reader *r, uint64_t offset, void *buf, size_t n,
                           tare_error *err) {
    size_t got;
    const int failed = tare_fd_read(&got, r->fd, offset, buf, n);
    if (failed) {
        tare_status s = tare_fail_errno(err, failed, "reading");
        if (err) err->offset = offset + got;
        return s;
    }
    if (got == n) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_TRUNCATED, offset + got, "the file ends too early");
}

tare_status tare_reader_read(const tare_reader *r, uint64_t offset, void *buf, size_t n,
                             tare_error *err) {
    tare_status s = TARE_OK;
    if (n == 0) return TARE_OK;
    if (offset > r->size || n > r->size - offset)
        s = tare_fail_at(err, TARE_ERR_TRUNCATED, tare_min_u64(offset, r->size),
                         "the file ends too early");
    else if (r->fetch)
        s = r->fetch(r->read_ctx, offset, buf, n, err);
    else if (r->read) {
        s = r->read(r->read_ctx, offset, buf, n);
        if (s != TARE_OK) tare_fail_at(err, s, offset, "reading through the callback");
    } else if (r->fd >= 0)
        s = read_fd(r, offset, buf, n, err);
    else
        memcpy(buf, r->map + offset, n);
    return s == TARE_OK ? TARE_OK : fail_in(r, s, err);
}

const uint8_t *tare_reader_borrow(const tare_reader *r, uint64_t offset, uint64_t n) {
    if (offset > r->size || n > r->size - offset) return NULL;
    if (r->map) return r->map + offset;
    return r->lend ? r->lend(r->read_ctx, offset, n) : NULL;
}

tare_status tare_reader_view(const uint8_t **out, const tare_reader *r, uint64_t offset, void *room,
                             size_t n, tare_error *err) {
    *out = tare_reader_borrow(r, offset, n);
    if (*out) return TARE_OK;
    *out = room;
    return tare_reader_read(r, offset, room, n, err);
}

tare_grain tare_reader_grain(const tare_reader *r, uint64_t offset) {
    if (r->grain && offset < r->size) return r->grain(r->read_ctx, offset);
    return (tare_grain){0, 0};
}

void tare_reader_will_need(const tare_reader *r, uint64_t offset, uint64_t n) {
    if (r->prefetch) r->prefetch(r->read_ctx, offset, n);
    if (r->fd >= 0) tare_os_will_need(r->fd, offset, n);
}
