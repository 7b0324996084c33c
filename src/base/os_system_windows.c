/* SPDX-License-Identifier: MIT
 *
 * The same of Windows. */
#include "base/os_system.h"

#include <string.h>
#include <windows.h>

/* after windows.h */
#include <bcrypt.h>

#define DESCRIPTORS 2048 /* of the C library, in its smallest setting */

void *tare_library_load(const char *file_name) {
    return (void *)LoadLibraryA(file_name);
}

void tare_library_drop(void *library) {
    FreeLibrary((HMODULE)library);
}

bool tare_library_find(void *library, const char *name, void *function, size_t size) {
    FARPROC symbol = GetProcAddress((HMODULE)library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

int tare_thread_start(pthread_t *out, void *(*run)(void *), void *ctx) {
    return pthread_create(out, NULL, run, ctx);
}

void tare_thread_yield(void) {
    SwitchToThread();
}

/* Large pages need a privilege here: there are none. */
void tare_pages_to_fill(void *p, size_t n) {
    (void)p, (void)n;
}

bool tare_random_bytes(void *out, size_t n) {
    return BCryptGenRandom(NULL, out, (ULONG)n, BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0;
}

int64_t tare_process_id(void) {
    return (int64_t)GetCurrentProcessId();
}

unsigned tare_processors(void) {
    DWORD_PTR own, all;
    unsigned n = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all))
        for (; own; own &= own - 1) n++;
    const DWORD active = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return n && active <= 64 ? n : active; /* with several groups the mask is that of one */
}

unsigned tare_processors_paid(void) {
    return 0;
}

size_t tare_descriptors_allowed(void) {
    return DESCRIPTORS;
}
