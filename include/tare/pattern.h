/* SPDX-License-Identifier: MIT
 *
 * tare/pattern.h: expressions that choose tensors by name: rules of types, filters. */
#ifndef TARE_PATTERN_H
#define TARE_PATTERN_H

#include <tare/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Extended expressions of POSIX, with what ECMAScript and Python write the same way: . [...] [^...]
 * ( ) (?: ) | * + ? {m,n} ^ $, the lazy forms of repetitions, and \d \w \s \D \W \S \b \B. A
 * backslash escapes within brackets, too. There are no references to groups and no assertions. Any
 * expression matches in a time that grows as its length times that of the name, and what would need
 * much memory is refused. */
typedef struct tare_pattern tare_pattern;

/* ERR_ARG: not an expression of this kind, err->what says why, err->offset where; LIMIT: it is too
 * large. */
TARE_API tare_status tare_pattern_new(tare_pattern **out, const char *text, size_t n,
                                      const tare_allocator *allocator, tare_error *err);
TARE_API void tare_pattern_free(tare_pattern *pattern); /* may be NULL */
/* Whether it matches anywhere in a name. One thread at a time. */
TARE_API bool tare_pattern_matches(tare_pattern *pattern, tare_str name);

#ifdef __cplusplus
}
#endif

#endif
