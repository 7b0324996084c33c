/* SPDX-License-Identifier: MIT
 *
 * POSIX's dlopen, and signals of threads. */
#include "base/os_system.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>

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
