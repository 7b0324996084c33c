/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (libcrypto) and CRC-32 (libdeflate). */
#ifndef TARE_BASE_HASH_H
#define TARE_BASE_HASH_H

#include "base/status.h"

typedef struct tare_sha256 {
    void *ctx; /* EVP_MD_CTX */
} tare_sha256;

tare_status tare_sha256_init(tare_sha256 *h, tare_error *err);
void tare_sha256_update(tare_sha256 *h, const void *bytes, size_t n);
/* Writes the digest and frees; call it (or _free) once for each init. */
void tare_sha256_final(tare_sha256 *h, uint8_t digest[32]);
void tare_sha256_free(tare_sha256 *h);

uint32_t tare_crc32(uint32_t crc, const void *bytes, size_t n);
void tare_hex(char *out, const uint8_t *bytes, size_t n); /* 2n characters and a NUL */
bool tare_unhex(uint8_t *out, const char *hex, size_t n); /* n bytes from 2n characters */

#endif
