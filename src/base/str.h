/* SPDX-License-Identifier: MIT
 *
 * Small helpers on tare_str. */
#ifndef TARE_BASE_STR_H
#define TARE_BASE_STR_H

#include <string.h>

#include <tare/base.h>

#define TARE_STR(literal) ((tare_str){literal, sizeof(literal) - 1})
/* A constant as a text. */
#define TARE_TEXT_OF_(x) #x
#define TARE_TEXT_OF(x)  TARE_TEXT_OF_(x)
#define TARE_UTF8_MARK   "\xef\xbb\xbf" /* the byte order mark that some editors begin a text with */

static inline tare_str tare_str_of(const char *s) {
    return (tare_str){s, s ? strlen(s) : 0};
}
static inline bool tare_str_equal(tare_str a, tare_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool tare_str_is(tare_str a, const char *b) {
    return tare_str_equal(a, tare_str_of(b));
}
static inline bool tare_str_starts(tare_str a, tare_str prefix) {
    return a.len >= prefix.len && memcmp(a.ptr, prefix.ptr, prefix.len) == 0;
}
static inline bool tare_str_ends(tare_str a, tare_str suffix) {
    return a.len >= suffix.len && memcmp(a.ptr + a.len - suffix.len, suffix.ptr, suffix.len) == 0;
}
static inline tare_str tare_str_cut(tare_str a, size_t from) {
    if (!a.len) return a; /* its ptr may be NULL */
    return from >= a.len ? (tare_str){a.ptr + a.len, 0} : (tare_str){a.ptr + from, a.len - from};
}
/* Byte order: <0, 0, >0 as memcmp, a prefix first. */
int tare_str_compare(tare_str a, tare_str b);
/* SipHash-1-3: names with the same hash cannot be found without the key. */
typedef struct tare_hash_key {
    uint64_t half[2];
} tare_hash_key;

uint64_t tare_str_hash(tare_str a, const tare_hash_key *key);
/* A key that nobody knows. For tables whose order nothing shows. */
tare_hash_key tare_hash_key_new(void);
/* Whether n bytes are the same but for the case of ASCII's letters; ends where both do with a NUL. */
bool tare_same_letters(const char *a, const char *b, size_t n);
/* Whether all of n bytes are below 128. */
bool tare_is_ascii(const void *bytes, size_t n);
/* Length of the well-formed UTF-8 sequence that begins the `left` > 0 bytes at text (Unicode 15,
 * table 3-7), 0 if there is none. */
size_t tare_utf8_sequence(const void *text, size_t left);
/* Writes a code point, up to 4 bytes; how many. */
size_t tare_utf8_put(char *out, uint32_t point);

/* Escapes a text for a message, in quotes, into a field of at least 4 bytes; what does not fit ends
 * in "...". */
void tare_str_escape_cut(char *buf, size_t size, tare_str text);

#endif
