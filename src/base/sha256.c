/* SPDX-License-Identifier: MIT
 *
 * SHA-256 of libcrypto; or, where TARE_SHA256_7ZIP is defined, of 7-Zip's C files (cmake/libraries.cmake),
 * which need no assembler and use the same instructions of the CPU. */
#include <stdatomic.h>
#include <string.h>

/* libcrypto's own functions, not those that look for a provider: a configuration, which is read from
 * a file that the environment names, has no say, nothing can fail, and a static program takes a few
 * kilobytes of the library instead of megabytes. OpenSSL 3 calls them deprecated in favour of the
 * others. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/hash.h"

#if defined(TARE_SHA256_7ZIP)

#include <Sha256.h>

_Static_assert(sizeof(CSha256) <= sizeof(tare_sha256), "a state has room for 7-Zip's");

/* Finds out what the CPU can do; twice at once gives the same. */
static void set_up(void) {
    static _Atomic bool is_set_up;
    if (atomic_load(&is_set_up)) return;
    Sha256Prepare();
    atomic_store(&is_set_up, true);
}

static CSha256 *state(tare_sha256 *h) {
    return (CSha256 *)(void *)h;
}

void tare_sha256_init(tare_sha256 *h) {
    set_up();
    Sha256_Init(state(h));
}

void tare_sha256_update(tare_sha256 *h, const void *bytes, size_t n) {
    if (n) Sha256_Update(state(h), bytes, n);
}

void tare_sha256_final(tare_sha256 *h, uint8_t digest[32]) {
    Sha256_Final(state(h), digest);
}

const char *tare_sha256_version(const char **name) {
    *name = "7zip";
    return TARE_SHA256_7ZIP;
}

#else

#include <openssl/opensslv.h>
#include <openssl/sha.h>

_Static_assert(sizeof(SHA256_CTX) <= sizeof(tare_sha256), "a state has room for libcrypto's");

/* Finds out what the CPU can do. libcrypto calls it from its section .init, which is not run in
 * programs that contain the library and were linked by zig: hashing was four times slower there. The
 * shared library, which hides it, has called it by now. A second call returns at once. */
#if defined(__ELF__)
void OPENSSL_cpuid_setup(void) __attribute__((weak));
#endif

static void set_up(void) {
#if defined(__ELF__)
    static _Atomic bool is_set_up;
    if (OPENSSL_cpuid_setup && !atomic_exchange(&is_set_up, true)) OPENSSL_cpuid_setup();
#endif
}

static SHA256_CTX *state(tare_sha256 *h) {
    return (SHA256_CTX *)(void *)h;
}

void tare_sha256_init(tare_sha256 *h) {
    set_up();
    SHA256_Init(state(h));
}

void tare_sha256_update(tare_sha256 *h, const void *bytes, size_t n) {
    if (n) SHA256_Update(state(h), bytes, n);
}

void tare_sha256_final(tare_sha256 *h, uint8_t digest[32]) {
    SHA256_Final(digest, state(h));
}

const char *tare_sha256_version(const char **name) {
    *name = "libcrypto";
    return OPENSSL_VERSION_STR;
}

#endif
