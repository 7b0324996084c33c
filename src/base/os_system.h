/* SPDX-License-Identifier: MIT
 *
 * What a program asks of the system beside files: libraries that are loaded when they are needed,
 * threads of its own, memory, random bytes, limits. */
#ifndef TARE_BASE_OS_SYSTEM_H
#define TARE_BASE_OS_SYSTEM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A shared library, which stays loaded when it is dropped; NULL: it is not installed. */
void *tare_library_load(const char *file_name);
void tare_library_drop(void *library);
/* Fills a pointer to a function, of `size` bytes; false: the library has none of that name. */
bool tare_library_find(void *library, const char *name, void *function, size_t size);

/* A thread that gets no signals, which are the caller's threads' to handle. 0, or an errno. */
int tare_thread_start(pthread_t *out, void *(*run)(void *), void *ctx);
/* Lets another thread run, for which this one waits. */
void tare_thread_yield(void);

/* All of n bytes at p are about to be written: where they are fresh from the system, it may use large
 * pages, which cost far less than hundreds of small ones. Changes no bytes and takes no more memory. */
void tare_pages_to_fill(void *p, size_t n);

/* Bytes that nobody can know; false: the system has none. */
bool tare_random_bytes(void *out, size_t n);
int64_t tare_process_id(void);
/* Processors that this process may use, quotas of containers aside; 0: the system does not say. */
unsigned tare_processors(void);
/* Those that the quota of its container pays for, rounded up; 0: there is no quota. */
unsigned tare_processors_paid(void);
/* How many files it may have open; SIZE_MAX: there is no limit, or none that is known. */
size_t tare_descriptors_allowed(void);

#endif
