/* SPDX-License-Identifier: MIT
 *
 * Blocks of two SHA-256 hashes side by side. */
#ifndef TARE_BASE_SHA256_TWO_H
#define TARE_BASE_SHA256_TWO_H

#include <stddef.h>
#include <stdint.h>

enum { TARE_SHA256_BLOCK = 64, TARE_SHA256_WORDS = 8 };

/* n blocks of each, from states of TARE_SHA256_WORDS words. For processors with AVX2 and the
 * instructions of SHA-256. */
void tare_sha256_two_x86(uint32_t *const state[2], const uint8_t *const bytes[2], size_t n);

#endif
