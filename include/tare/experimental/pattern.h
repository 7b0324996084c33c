/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/pattern.h: expressions that choose tensors by name: rules of types, filters. */
#ifndef TARE_EXPERIMENTAL_PATTERN_H
#define TARE_EXPERIMENTAL_PATTERN_H

#include <tare/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Expressions of PCRE2 over UTF-8, matched anywhere in a name: what POSIX's extended expressions,
 * ECMAScript and Python write alike means the same, and so do references to groups, named groups
 * and assertions. . is any character, $ the end alone; \d \w \s are ASCII's; bytes of a name that
 * are no UTF-8 match nothing. \C and {,n} are refused.
 * Hostile expressions have limits: 32 KiB of text, 64 KiB once read, 250 groups in groups; and for
 * all names together 4,194,304 steps and 1,024 for each byte of a name, in 8 MiB of memory. */
typedef struct tare_pattern tare_pattern;

/* ERR_ARG: not an expression of this kind, err->what says why, err->offset where, err->field begins
 * with it; LIMIT: it is too large. */
TARE_API tare_status tare_pattern_new(tare_pattern **out, const char *text, size_t n,
                                      const tare_allocator *allocator, tare_error *err);
TARE_API void tare_pattern_free(tare_pattern *pattern); /* may be NULL */
/* *out: whether it matches anywhere in a name. LIMIT: that takes more than is allowed; err names the
 * expression and the limit. One thread at a time. */
TARE_API tare_status tare_pattern_matches(bool *out, tare_pattern *pattern, tare_str name,
                                          tare_error *err);

#ifdef __cplusplus
}
#endif

#endif
