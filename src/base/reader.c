/* SPDX-License-Identifier: MIT
 *
 * Random access reading of files, memory and callbacks. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/reader.h"

/* Linux moves at most this much in one call. */
#define READ_MOST ((size_t)0x7ffff000)

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
    void *p = mmap(NULL, size, is_private ? PROT_READ | PROT_WRITE : PROT_READ,
                   is_private ? MAP_PRIVATE : MAP_SHARED, r->fd, 0);
    if (p == MAP_FAILED) return;
    r->map = p;
    r->owns_map = true;
    r->is_writable = is_private;
}

/* Size of what fd refers to: a regular file, or a block device by its end. */
static tare_status measure(tare_reader *r, tare_error *err) {
    struct stat st;
    if (fstat(r->fd, &st)) return tare_fail_errno(err, errno, "looking at the file");
    if (S_ISDIR(st.st_mode)) return tare_fail(err, TARE_ERR_ARG, "is a directory");
    off_t size = st.st_size;
    if (S_ISBLK(st.st_mode)) {
        size = lseek(r->fd, 0, SEEK_END);
        if (size < 0) return tare_fail_errno(err, errno, "measuring the device");
    } else if (!S_ISREG(st.st_mode)) {
        return tare_fail(err, TARE_ERR_ARG, "is not a regular file");
    }
    r->size = (uint64_t)size;
    if (S_ISREG(st.st_mode)) r->withheld = (uint16_t)(~st.st_mode & 0777);
    r->has_identity = true;
    r->device = (uint64_t)st.st_dev;
    r->inode = (uint64_t)st.st_ino;
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
    struct stat st;
    return stat(path, &st) != 0 && errno == ENOENT && lstat(path, &st) == 0;
}

/* A pipe without a writer must be refused, not waited for; files that are accepted read the same
 * with O_NONBLOCK. */
tare_status tare_reader_open(tare_reader *r, const char *name, tare_map_mode map, tare_error *err) {
    int fd;
    do {
        fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (fd < 0 && errno == EINTR);
    *r = (tare_reader){.name = name, .fd = -1};
    if (fd < 0) {
        const int os_error = errno;
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
    if (r->owns_map) munmap((void *)(uintptr_t)r->map, (size_t)r->size);
    if (r->owns_fd && r->fd >= 0) close(r->fd);
    if (r->close) r->close(r->read_ctx);
    *r = (tare_reader){.fd = -1};
}

/* pread until n bytes are there. A file that has shrunk is TRUNCATED. */
static tare_status read_fd(const tare_reader *r, uint64_t offset, uint8_t *buf, size_t n,
                           tare_error *err) {
    while (n > 0) {
        ssize_t got = pread(r->fd, buf, n < READ_MOST ? n : READ_MOST, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            tare_status s = tare_fail_errno(err, errno, "reading");
            if (err) err->offset = offset;
            return s;
        }
        if (got == 0)
            return tare_fail_at(err, TARE_ERR_TRUNCATED, offset, "the file ends too early");
        buf += got;
        n -= (size_t)got;
        offset += (uint64_t)got;
    }
    return TARE_OK;
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
#ifdef POSIX_FADV_WILLNEED
    if (r->fd >= 0) posix_fadvise(r->fd, (off_t)offset, (off_t)n, POSIX_FADV_WILLNEED);
#endif
}
