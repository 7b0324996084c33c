/* SPDX-License-Identifier: MIT
 *
 * Remainders of the CRC-32, for the host. A remainder has the coefficient of x^0 in bit 31. */
#ifndef TARE_CUDA_WG_POLYNOMIAL_H
#define TARE_CUDA_WG_POLYNOMIAL_H

#include <stdint.h>

uint32_t wg_multiply(uint32_t a, uint32_t b);
/* x^n */
uint32_t wg_power(uint64_t n);

#endif
