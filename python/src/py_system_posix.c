/* SPDX-License-Identifier: MIT
 *
 * The same, of POSIX. */
#include "py_system.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *py_pages_take(size_t size, bool wants_large) {
    void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ptr == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    if (wants_large) madvise(ptr, size, MADV_HUGEPAGE);
#else
    (void)wants_large;
#endif
    return ptr;
}

void py_pages_give(void *ptr, size_t size) {
    munmap(ptr, size);
}

void py_pages_return(uint8_t *ptr, size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)ptr + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)ptr + size) / page * page;
    if (end > first) madvise(ptr + (first - (uintptr_t)ptr), end - first, MADV_DONTNEED);
}

char *py_path_whole(const char *path) {
    return realpath(path, NULL);
}

int py_descriptor_copy(int fd) {
    return dup(fd);
}

void py_descriptor_close(int fd) {
    close(fd);
}

tare_status py_descriptor_write(int fd, uint64_t offset, const void *bytes, size_t n) {
    for (size_t done = 0; done < n;) {
        ssize_t got = pwrite(fd, (const char *)bytes + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return errno == ENOSPC ? TARE_ERR_NOSPACE : TARE_ERR_IO;
        done += (size_t)got;
    }
    return TARE_OK;
}
