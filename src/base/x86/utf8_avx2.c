/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"
#include "base/utf8_scan.h"

uint8_t tare_utf8_faults_avx2(const uint8_t *p, size_t n) {
    return tare_utf8_faults(p, n);
}
