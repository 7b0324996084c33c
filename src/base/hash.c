/* SPDX-License-Identifier: MIT
 *
 * SHA-256 from libcrypto, CRC-32 from libdeflate. */
#include <stdatomic.h>

/* libcrypto's own functions, not those that look for a provider: a configuration, which is read from
 * a file that the environment names, has no say, nothing can fail, and a static program takes a few
 * kilobytes of the library instead of megabytes. OpenSSL 3 calls them deprecated in favour of the
 * others. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/hash.h"

#include <libdeflate.h>
#include <openssl/opensslv.h>
#include <zstd.h>

#include "base/arith.h"
#include "base/cpu.h"
#include "base/sha256_two.h"

/* Finds out what the CPU can do. libcrypto calls it from its section .init, which is not run in
 * programs that contain the library and were linked by zig: hashing was four times slower there. The
 * shared library, which hides it, has called it by now. A second call returns at once. */
#if defined(__ELF__)
void OPENSSL_cpuid_setup(void) __attribute__((weak));
#endif

static void set_up_libcrypto(void) {
#if defined(__ELF__)
    static _Atomic bool is_set_up;
    if (OPENSSL_cpuid_setup && !atomic_exchange(&is_set_up, true)) OPENSSL_cpuid_setup();
#endif
}

void tare_sha256_init(tare_sha256 *h) {
    set_up_libcrypto();
    SHA256_Init(&h->state);
}

void tare_sha256_update(tare_sha256 *h, const void *bytes, size_t n) {
    if (n) SHA256_Update(&h->state, bytes, n);
}

/* ---- two hashes at once ---------------------------------------------------------------------- */

/* NULL: blocks of two hashes take as long as those of one after the other. */
static void (*two_blocks)(uint32_t *const state[2], const uint8_t *const bytes[2], size_t n);

static void choose_two_blocks(unsigned mask) {
    two_blocks = NULL;
#if defined(__x86_64__) && !defined(TARE_NO_SIMD)
    if (mask & TARE_CPU_AVX2 && tare_cpu_has_sha()) two_blocks = tare_sha256_two_x86;
#endif
    (void)mask;
}

static tare_cpu_domain domain = {.refill = choose_two_blocks};

/* Bytes until the block begun is full, at most n. */
static size_t rest_of_block(const tare_sha256 *h, size_t n) {
    const size_t begun = h->state.num;
    return begun ? tare_min_u64(TARE_SHA256_BLOCK - begun, n) : 0;
}

static void count_blocks(tare_sha256 *h, uint64_t n) {
    const uint64_t bits = ((uint64_t)h->state.Nh << 32 | h->state.Nl) + 8 * TARE_SHA256_BLOCK * n;
    h->state.Nl = (SHA_LONG)bits;
    h->state.Nh = (SHA_LONG)(bits >> 32);
}

void tare_sha256_update_two(tare_sha256 *const h[2], const uint8_t *const bytes[2],
                            const size_t n[2]) {
    size_t done[2] = {0}, n_blocks = 0;
    tare_cpu_ready(&domain);
    if (two_blocks) {
        for (unsigned i = 0; i < 2; i++) {
            done[i] = rest_of_block(h[i], n[i]);
            tare_sha256_update(h[i], bytes[i], done[i]);
        }
        n_blocks = tare_min_u64(n[0] - done[0], n[1] - done[1]) / TARE_SHA256_BLOCK;
    }
    if (n_blocks) {
        uint32_t *const states[2] = {h[0]->state.h, h[1]->state.h};
        const uint8_t *const from[2] = {bytes[0] + done[0], bytes[1] + done[1]};
        two_blocks(states, from, n_blocks);
    }
    for (unsigned i = 0; i < 2; i++) {
        count_blocks(h[i], n_blocks);
        done[i] += n_blocks * TARE_SHA256_BLOCK;
        tare_sha256_update(h[i], bytes[i] + done[i], n[i] - done[i]);
    }
}

/* ---- ends, other sums, digits ---------------------------------------------------------------- */

void tare_sha256_final(tare_sha256 *h, uint8_t digest[32]) {
    SHA256_Final(digest, &h->state);
}

uint32_t tare_crc32(uint32_t crc, const void *bytes, size_t n) {
    return libdeflate_crc32(crc, bytes, n);
}

void tare_hex(char *out, const uint8_t *bytes, size_t n) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = 0;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool tare_unhex(uint8_t *out, const char *hex, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int high = hex_digit(hex[2 * i]);
        int low = high < 0 ? -1 : hex_digit(hex[2 * i + 1]);
        if (low < 0) return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool tare_dependency(size_t i, const char **name, const char **version) {
    static const char *const names[] = {"libcrypto", "libdeflate", "libzstd"};
    if (i >= sizeof names / sizeof names[0]) return false;
    *name = names[i];
    *version = i == 0   ? OPENSSL_VERSION_STR
               : i == 1 ? LIBDEFLATE_VERSION_STRING
                        : ZSTD_versionString();
    return true;
}
