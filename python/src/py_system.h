/* SPDX-License-Identifier: MIT
 *
 * What the extension asks of the system itself: pages of memory, paths, descriptors. */
#ifndef TARE_PYTHON_PY_SYSTEM_H
#define TARE_PYTHON_PY_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include <tare/base.h>

/* Fresh pages, zeros; NULL: memory is out. They are large ones if that is wanted and can be had. */
void *py_pages_take(size_t size, bool wants_large);
void py_pages_give(void *ptr, size_t size);
/* Gives back the whole pages in a range, whose bytes are then undefined, and keeps the addresses. */
void py_pages_return(uint8_t *ptr, size_t size);

/* A path without links, from the root on, for free(); NULL: it leads nowhere. */
char *py_path_whole(const char *path);

int py_descriptor_copy(int fd); /* -1 with errno */
void py_descriptor_close(int fd);
/* All n bytes at an offset; any number of threads may write. */
tare_status py_descriptor_write(int fd, uint64_t offset, const void *bytes, size_t n);

#endif
