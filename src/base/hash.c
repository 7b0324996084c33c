/* SPDX-License-Identifier: MIT
 *
 * CRC-32 from libdeflate, digests as text. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/hash.h"

#include <libdeflate.h>
#include <pcre2.h>
#include <string.h>
#include <zstd.h>

#include "base/str.h"

uint32_t tare_crc32(uint32_t crc, const void *bytes, size_t n) {
    return libdeflate_crc32(crc, bytes, n);
}

/* The product of two polynomials modulo that of the CRC; bit 31 is the coefficient of 1. */
static uint32_t crc_multiply(uint32_t a, uint32_t b) {
    const uint32_t polynomial = 0xedb88320;
    uint32_t product = 0;
    for (; a; a <<= 1) {
        if (a >> 31) product ^= b;
        b = b >> 1 ^ (b & 1 ? polynomial : 0);
    }
    return product;
}

uint32_t tare_crc32_part(uint32_t crc, uint64_t n_after) {
    uint32_t power = UINT32_C(1) << (31 - 8); /* x^8, x^16, x^32, ... */
    for (; n_after; n_after >>= 1) {
        if (n_after & 1) crc = crc_multiply(power, crc);
        if (n_after > 1) power = crc_multiply(power, power);
    }
    return crc;
}

/* A CRC-32 begins with all bits set and ends inverted; without both it is linear. */
uint32_t tare_crc32_zeros(uint64_t n) {
    return ~tare_crc32_part(UINT32_MAX, n);
}

uint32_t tare_crc32_in_zeros(const void *bytes, size_t n, uint64_t n_after) {
    return tare_crc32_part(~tare_crc32(UINT32_MAX, bytes, n), n_after);
}

void tare_hex(char *out, const uint8_t *bytes, size_t n) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = 0;
}

void tare_sha256_hex(char out[65], const void *bytes, size_t n) {
    uint8_t digest[32];
    tare_sha256 h;
    tare_sha256_init(&h);
    if (n) tare_sha256_update(&h, bytes, n);
    tare_sha256_final(&h, digest);
    tare_hex(out, digest, sizeof digest);
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

bool tare_dependency(const char **name, const char **version, size_t i) {
    static const char *const names[] = {NULL, "libdeflate", "libpcre2", "libzstd"};
    if (i >= sizeof names / sizeof names[0]) return false;
    *name = names[i];
    *version = i == 0   ? tare_sha256_version(name)
               : i == 1 ? LIBDEFLATE_VERSION_STRING
               : i == 2 ? TARE_TEXT_OF(PCRE2_MAJOR) "." TARE_TEXT_OF(PCRE2_MINOR)
                        : ZSTD_versionString();
    return true;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool tare_digest_in_name(uint8_t digest[32], const char *path) {
    const char *name = base_name(path);
    if (strncmp(name, "sha256-", 7) == 0 || strncmp(name, "sha256:", 7) == 0) name += 7;
    return strlen(name) == 64 && tare_unhex(digest, name, 32);
}

bool tare_is_blob(const char *path) {
    static const char folder[] = "/blobs/";
    uint8_t digest[32];
    const char *name = base_name(path);
    if (tare_digest_in_name(digest, path)) return true;
    const size_t n = (size_t)(name - path);
    return strlen(name) == 40 && tare_unhex(digest, name, 20) && n >= sizeof folder - 1 &&
           memcmp(name - (sizeof folder - 1), folder, sizeof folder - 1) == 0;
}
