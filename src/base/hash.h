/* SPDX-License-Identifier: MIT
 *
 * SHA-256 and CRC-32 (libdeflate). */
#ifndef TARE_BASE_HASH_H
#define TARE_BASE_HASH_H

#include "base/status.h"

typedef struct tare_sha256 {
    uint64_t state[16]; /* of whose functions they are: sha256.c */
} tare_sha256;

void tare_sha256_init(tare_sha256 *h);
void tare_sha256_update(tare_sha256 *h, const void *bytes, size_t n);
void tare_sha256_final(tare_sha256 *h, uint8_t digest[32]);
/* The version of what computes it, and its name. */
const char *tare_sha256_version(const char **name);

uint32_t tare_crc32(uint32_t crc, const void *bytes, size_t n);
/* What a part adds to the CRC-32 of a whole: `crc` is that of the part, which n_after bytes follow.
 * The CRC of the whole is the XOR of what its parts add, in any order. */
uint32_t tare_crc32_part(uint32_t crc, uint64_t n_after);
/* The CRC-32 of n zeros, and what other bytes in their place change in it: where zeros stand, nothing. */
uint32_t tare_crc32_zeros(uint64_t n);
uint32_t tare_crc32_in_zeros(const void *bytes, size_t n, uint64_t n_after);
/* The digest of so many bytes, as text. */
void tare_sha256_hex(char out[65], const void *bytes, size_t n);
void tare_hex(char *out, const uint8_t *bytes, size_t n); /* 2n characters and a NUL */
bool tare_unhex(uint8_t *out, const char *hex, size_t n); /* n bytes from 2n characters */

/* Whether the last part of a path is the SHA-256 of the file, as caches name what they keep. */
bool tare_digest_in_name(uint8_t digest[32], const char *path);
/* The same, or another digest below a folder "blobs": content that others find by this name. */
bool tare_is_blob(const char *path);

#endif
