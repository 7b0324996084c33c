/* SPDX-License-Identifier: MIT
 *
 * Strings that come from files: comparing, hashing, UTF-8, escaping for a terminal. */
#include "base/str.h"

#include <time.h>

#include "base/bytes.h"
#include "base/os_system.h"

int tare_str_compare(tare_str a, tare_str b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    if (order) return order;
    return (a.len > b.len) - (a.len < b.len);
}

typedef struct sip {
    uint64_t a, b, c, d;
} sip;

static inline uint64_t rotate(uint64_t v, unsigned n) {
    return v << n | v >> (64 - n);
}

static inline void mix(sip *s) {
    s->a += s->b;
    s->c += s->d;
    s->b = rotate(s->b, 13) ^ s->a;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a = rotate(s->a, 32) + s->d;
    s->c += s->b;
    s->d = rotate(s->d, 21) ^ s->a;
    s->b = rotate(s->b, 17) ^ s->c;
    s->c = rotate(s->c, 32);
}

static inline void take_word(sip *s, uint64_t word) {
    s->d ^= word;
    mix(s);
    s->a ^= word;
}

uint64_t tare_str_hash(tare_str text, const tare_hash_key *key) {
    sip s = {
        key->half[0] ^ UINT64_C(0x736f6d6570736575), key->half[1] ^ UINT64_C(0x646f72616e646f6d),
        key->half[0] ^ UINT64_C(0x6c7967656e657261), key->half[1] ^ UINT64_C(0x7465646279746573)};
    const uint8_t *p = (const uint8_t *)text.ptr;
    size_t left = text.len;
    for (; left >= 8; p += 8, left -= 8) take_word(&s, tare_load_le64(p));
    uint64_t last = (uint64_t)text.len << 56;
    for (size_t i = 0; i < left; i++) last |= (uint64_t)p[i] << 8 * i;
    take_word(&s, last);
    s.c ^= 0xff;
    for (unsigned i = 0; i < 3; i++) mix(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

/* Where the system has no random bytes, addresses and the time are what is left to guess. */
tare_hash_key tare_hash_key_new(void) {
    tare_hash_key key;
    struct timespec now = {0, 0};
    if (tare_random_bytes(&key, sizeof key)) return key;
    clock_gettime(CLOCK_MONOTONIC, &now);
    key.half[0] = (uint64_t)(uintptr_t)&key ^ (uint64_t)now.tv_nsec << 32;
    key.half[1] = (uint64_t)(uintptr_t)&tare_hash_key_new ^ (uint64_t)now.tv_sec << 20;
    return key;
}

size_t tare_utf8_sequence(const void *text, size_t left) {
    const uint8_t *p = text;
    uint8_t a = p[0];
    if (a < 0x80) return 1;
    if (a < 0xc2 || a > 0xf4) return 0;
    size_t n = a < 0xe0 ? 2 : a < 0xf0 ? 3 : 4;
    if (left < n) return 0;
    uint8_t low = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80;
    uint8_t high = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    return n;
}

bool tare_is_ascii(const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n;) { /* blocks without a way out, so that compilers use vectors */
        size_t end = n - i < 4096 ? n : i + 4096;
        uint8_t any = 0;
        for (; i < end; i++) any |= p[i];
        if (any & 0x80) return false;
    }
    return true;
}

size_t tare_utf8_put(char *out, uint32_t point) {
    unsigned n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(lead[n] | point >> 6 * (n - 1));
    for (unsigned i = 1; i < n; i++) out[i] = (char)(0x80 | (point >> 6 * (n - 1 - i) & 0x3f));
    return n;
}

bool tare_str_is_utf8(tare_str a) {
    if (!a.len) return true; /* it may be no place, to which nothing can be added */
    const uint8_t *p = (const uint8_t *)a.ptr, *end = p + a.len;
    while (p < end) {
        /* Runs of ASCII, eight bytes at a time. */
        uint64_t word;
        while (end - p >= 8 && (memcpy(&word, p, 8), (word & UINT64_C(0x8080808080808080)) == 0))
            p += 8;
        if (p == end) break;
        size_t n = tare_utf8_sequence(p, (size_t)(end - p));
        if (n == 0) return false;
        p += n;
    }
    return true;
}

/* Invisible characters that change how the text around them is displayed: the C1 controls
 * U+0080..U+009F, the marks of writing direction (U+061C, U+200E, U+200F, U+202A..U+202E,
 * U+2066..U+2069) and the line separators U+2028, U+2029. One name must not look like another. */
static bool is_hidden_control(const uint8_t *p, size_t n) {
    if (n == 2) return (p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xd8 && p[1] == 0x9c);
    if (n != 3 || p[0] != 0xe2) return false;
    if (p[1] == 0x80) return p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae);
    return p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9;
}

/* The escape of the character at p, written to e (at most 4 bytes); *used bytes of input. */
static size_t escape_one(char e[4], const uint8_t *p, size_t left, bool quote, size_t *used) {
    static const char hex[] = "0123456789abcdef";
    uint8_t c = p[0];
    size_t n = tare_utf8_sequence(p, left);
    *used = n ? n : 1;
    const char *short_form = c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : NULL;
    if (c == '\\' || (c == '"' && quote)) short_form = c == '"' ? "\\\"" : "\\\\";
    if (short_form) {
        memcpy(e, short_form, 2);
        return 2;
    }
    /* Only the first byte of a longer character is escaped here; the rest are then bad UTF-8
     * themselves. */
    if (n == 0 || c < 0x20 || c == 0x7f || is_hidden_control(p, n)) {
        *used = 1;
        e[0] = '\\', e[1] = 'x', e[2] = hex[c >> 4], e[3] = hex[c & 15];
        return 4;
    }
    memcpy(e, p, n);
    return n;
}

size_t tare_str_escape(char *buf, size_t size, tare_str text, bool quote) {
    const uint8_t *p = (const uint8_t *)text.ptr;
    size_t whole = 0, written = 0, used;
    bool is_full = false;
    for (size_t i = 0; i < text.len; i += used) {
        char e[4];
        size_t n = escape_one(e, p + i, text.len - i, quote, &used);
        whole += n;
        is_full = is_full || written + n >= size;
        if (is_full) continue;
        memcpy(buf + written, e, n);
        written += n;
    }
    if (size > 0) buf[written] = 0;
    return whole;
}

void tare_str_escape_cut(char *buf, size_t size, tare_str text) {
    if (tare_str_escape(buf, size, text, true) < size) return;
    tare_str_escape(buf, size - 3, text, true);
    memcpy(buf + strlen(buf), "...", 4);
}

static int lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool tare_same_letters(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (lower(a[i]) != lower(b[i])) return false;
        if (!a[i]) return true;
    }
    return true;
}
