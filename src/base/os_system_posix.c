/* SPDX-License-Identifier: MIT
 *
 * POSIX's, and what Linux has beside it. */
#include "base/os_system.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

void *tare_library_load(const char *file_name) {
    return dlopen(file_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

void tare_library_drop(void *library) {
    dlclose(library);
}

/* What dlsym returns is a function, which ISO C does not let a pointer to an object become. */
bool tare_library_find(void *library, const char *name, void *function, size_t size) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

int tare_thread_start(pthread_t *out, void *(*run)(void *), void *ctx) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int failed = pthread_create(out, NULL, run, ctx);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failed;
}

void tare_thread_yield(void) {
    sched_yield();
}

bool tare_random_bytes(void *out, size_t n) {
    return getentropy(out, n) == 0;
}

int64_t tare_process_id(void) {
    return (int64_t)getpid();
}

unsigned tare_processors(void) {
    long n = 0;
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) n = CPU_COUNT(&set);
#endif
    if (n <= 0) n = sysconf(_SC_NPROCESSORS_ONLN);
    return n <= 0 ? 0 : (unsigned)n;
}

size_t tare_descriptors_allowed(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > SIZE_MAX) return SIZE_MAX;
    return (size_t)limit.rlim_cur;
}
