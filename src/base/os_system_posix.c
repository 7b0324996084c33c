/* SPDX-License-Identifier: MIT
 *
 * POSIX's, and what Linux has beside it. */
#include "base/os_system.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

enum { LARGE_PAGE = 2 << 20, LEAST_FILLED = 2 * LARGE_PAGE };

void tare_pages_to_fill(void *p, size_t n) {
#ifdef MADV_HUGEPAGE
    const size_t before = (size_t)(-(uintptr_t)p % LARGE_PAGE);
    if (n < LEAST_FILLED) return;
    /* Small pages work as well. */
    (void)madvise((uint8_t *)p + before, (n - before) / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
#else
    (void)p, (void)n;
#endif
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

/* CPUs that a cgroup's quota pays for, rounded up; 0: no quota or no such file. */
static unsigned quota_v2(const char *path) {
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    unsigned long long quota, period;
    int n = fscanf(f, "%llu %llu", &quota, &period);
    fclose(f);
    return n == 2 && period ? (unsigned)((quota + period - 1) / period) : 0;
}

static unsigned quota_v1(void) {
    long long quota = 0, period = 0;
    FILE *f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "re");
    if (!f) return 0;
    int n = fscanf(f, "%lld", &quota);
    fclose(f);
    f = n == 1 && quota > 0 ? fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "re") : NULL;
    if (!f) return 0;
    n = fscanf(f, "%lld", &period);
    fclose(f);
    return n == 1 && period > 0 ? (unsigned)((quota + period - 1) / period) : 0;
}

/* The quota of this process's own cgroup (v2), or of the root of the mount. */
unsigned tare_processors_paid(void) {
    char line[512], path[640];
    unsigned cpus = 0;
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "0::", 3)) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", line + 3);
        cpus = quota_v2(path);
    }
    if (f) fclose(f);
    if (!cpus) cpus = quota_v2("/sys/fs/cgroup/cpu.max");
    return cpus ? cpus : quota_v1();
}

size_t tare_descriptors_allowed(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > SIZE_MAX) return SIZE_MAX;
    return (size_t)limit.rlim_cur;
}
