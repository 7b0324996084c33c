/* SPDX-License-Identifier: MIT
 *
 * Multiplication modulo the polynomial of the CRC-32. */
#include "wg_polynomial.h"

uint32_t wg_multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (; a; a <<= 1) {
        if (a >> 31) product ^= b;
        b = b >> 1 ^ (b & 1 ? 0xedb88320u : 0);
    }
    return product;
}

uint32_t wg_power(uint64_t n) {
    uint32_t result = UINT32_C(1) << 31, square = UINT32_C(1) << 30;
    for (; n; n >>= 1) {
        if (n & 1) result = wg_multiply(result, square);
        square = wg_multiply(square, square);
    }
    return result;
}
