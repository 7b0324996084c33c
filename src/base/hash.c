/* SPDX-License-Identifier: MIT
 *
 * SHA-256 from libcrypto, CRC-32 from libdeflate. */
#include <stdatomic.h>
#include <string.h>

#include <libdeflate.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <zstd.h>

#include "base/hash.h"

/* libcrypto's default context reads openssl.cnf, and the environment to locate it; that
 * configuration can disable SHA-256. Our own context has the built-in providers and reads nothing.
 * It is made once, belongs to the method and lives as long as the process. */
static const EVP_MD *sha256_method(void) {
    static _Atomic(EVP_MD *) method;
    EVP_MD *made = NULL, *ready = atomic_load(&method);
    if (ready) return ready;
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    if (context) made = EVP_MD_fetch(context, "SHA256", NULL);
    if (made && atomic_compare_exchange_strong(&method, &ready, made)) return made;
    EVP_MD_free(made); /* another thread was first, or memory is out */
    OSSL_LIB_CTX_free(context);
    return ready;
}

tare_status tare_sha256_init(tare_sha256 *h, tare_error *err) {
    const EVP_MD *method = sha256_method();
    EVP_MD_CTX *ctx = method ? EVP_MD_CTX_new() : NULL;
    if (!ctx || EVP_DigestInit_ex2(ctx, method, NULL) != 1) {
        EVP_MD_CTX_free(ctx);
        h->ctx = NULL;
        return tare_fail(err, TARE_ERR_NOMEM, "SHA-256");
    }
    h->ctx = ctx;
    return TARE_OK;
}

void tare_sha256_update(tare_sha256 *h, const void *bytes, size_t n) {
    if (n) EVP_DigestUpdate(h->ctx, bytes, n);
}

void tare_sha256_final(tare_sha256 *h, uint8_t digest[32]) {
    EVP_DigestFinal_ex(h->ctx, digest, NULL);
    tare_sha256_free(h);
}

void tare_sha256_free(tare_sha256 *h) {
    EVP_MD_CTX_free(h->ctx);
    h->ctx = NULL;
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
    *version = i == 0   ? OpenSSL_version(OPENSSL_VERSION_STRING)
               : i == 1 ? LIBDEFLATE_VERSION_STRING
                        : ZSTD_versionString();
    return true;
}
