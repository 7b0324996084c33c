/* SPDX-License-Identifier: MIT
 *
 * Files that are open only while they are read, so that a model may have more of them than a process
 * may have descriptors. The files read last stay open. */
#ifndef TARE_BASE_FILE_CACHE_H
#define TARE_BASE_FILE_CACHE_H

#include "base/reader.h"

typedef struct tare_file_cache tare_file_cache;

/* How many files of a model may stay open: a quarter of the process's descriptor limit, as there
 * may be other models and outputs. Files beyond that are idle. */
size_t tare_files_kept_open(void);

tare_file_cache *tare_file_cache_new(const tare_allocator *allocator);
void tare_file_cache_free(tare_file_cache *cache); /* after the readers; NULL is fine */
/* Closes the reader's descriptor: from now on the file is reopened whenever it is read, by any
 * number of threads, and must still be the same file, or reading fails with ERR_IO. Readers of
 * anything but a file opened by path stay as they are. */
tare_status tare_file_cache_put(tare_file_cache *cache, tare_reader *reader, tare_error *err);

#endif
