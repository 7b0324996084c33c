/* SPDX-License-Identifier: MIT
 *
 * SHA-1 (FIPS 180-4, 6.1). It finds damage, not forgery: what says more is in LFS, with SHA-256. */
#include "remote/git_blob.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t turn(uint32_t x, unsigned n) {
    return x << n | x >> (32 - n);
}

static uint32_t big_endian(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void take_block(tare_git_blob *b) {
    static const uint32_t constants[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t w[80], s[5];
    memcpy(s, b->state, sizeof s);
    for (unsigned i = 0; i < 16; i++) w[i] = big_endian(b->block + 4 * i);
    for (unsigned i = 16; i < 80; i++) w[i] = turn(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (unsigned i = 0; i < 80; i++) {
        const uint32_t f = i < 20   ? (s[1] & s[2]) | (~s[1] & s[3])
                           : i < 40 ? s[1] ^ s[2] ^ s[3]
                           : i < 60 ? (s[1] & s[2]) | (s[1] & s[3]) | (s[2] & s[3])
                                    : s[1] ^ s[2] ^ s[3];
        const uint32_t next = turn(s[0], 5) + f + s[4] + constants[i / 20] + w[i];
        s[4] = s[3];
        s[3] = s[2];
        s[2] = turn(s[1], 30);
        s[1] = s[0];
        s[0] = next;
    }
    for (unsigned i = 0; i < 5; i++) b->state[i] += s[i];
}

void tare_git_blob_init(tare_git_blob *b, uint64_t size) {
    char head[32];
    const int n = snprintf(head, sizeof head, "blob %" PRIu64, size);
    *b = (tare_git_blob){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
    tare_git_blob_update(b, head, (size_t)n + 1);
}

void tare_git_blob_update(tare_git_blob *b, const void *bytes, size_t n) {
    const uint8_t *from = bytes;
    while (n) {
        const size_t at = (size_t)(b->n % 64), take = n < 64 - at ? n : 64 - at;
        memcpy(b->block + at, from, take);
        b->n += take;
        from += take;
        n -= take;
        if (at + take == 64) take_block(b);
    }
}

void tare_git_blob_final(tare_git_blob *b, uint8_t name[TARE_GIT_BLOB_BYTES]) {
    static const uint8_t padding[64] = {0x80};
    const uint64_t bits = b->n * 8;
    uint8_t length[8];
    for (unsigned i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
    tare_git_blob_update(b, padding, (size_t)(1 + (119 - b->n % 64) % 64));
    tare_git_blob_update(b, length, sizeof length);
    for (unsigned i = 0; i < TARE_GIT_BLOB_BYTES; i++)
        name[i] = (uint8_t)(b->state[i / 4] >> (24 - 8 * (i % 4)));
}
