/* SPDX-License-Identifier: MIT
 *
 * Whether much text is UTF-8. For a string: tare_str_is_utf8. */
#ifndef TARE_BASE_UTF8_H
#define TARE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool tare_is_utf8(const void *bytes, size_t n);

/* x86/utf8_avx2.c: as tare_utf8_faults (utf8_scan.h). */
uint8_t tare_utf8_faults_avx2(const uint8_t *p, size_t n);

#endif
