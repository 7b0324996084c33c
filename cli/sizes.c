/* SPDX-License-Identifier: MIT
 *
 * Sizes and numbers, read and written: K, M, G, T are decimal, Ki, Mi, Gi, Ti binary. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

const tare_encoding *cli_type_parse(const char *text) {
    const tare_encoding *e = tare_encoding_find((tare_str){text, strlen(text)});
    return e && e->id != TARE_ENCODING_UNKNOWN ? e : NULL;
}

static const char *type_name_at(void *ctx, size_t i) {
    (void)ctx;
    return cli_complete_word(CLI_COMPLETE_TYPE, i);
}

const char *cli_a_type(char *buf, size_t size, const char *text) {
    char lower[24] = "";
    for (size_t i = 0; text[i] && i + 1 < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)text[i]);
    const bool is_number = isdigit((unsigned char)text[0]); /* of a mix, or a mistake */
    const tare_mix *mix =
        is_number || cli_type_parse(lower) ? NULL : tare_mix_find((tare_str){text, strlen(text)});
    const char *nearest = cli_nearest(lower, type_name_at, NULL);
    if (mix)
        snprintf(buf, size, "a type but a mix: tare quantize IN OUT %s", mix->name);
    else if (nearest)
        snprintf(buf, size, "a type; did you mean %s?", nearest);
    else
        snprintf(buf, size, "a type (f32, f16, bf16, q8_0, q4_0, ...)");
    return buf;
}

bool cli_number_parse(uint64_t *out, const char *text) {
    uint64_t n = 0;
    if (!*text) return false;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text)) return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (n > (UINT64_MAX - digit) / 10) return false;
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

bool cli_range_parse(uint64_t *first, uint64_t *end, const char *text) {
    const char *colon = strchr(text, ':');
    char left[24] = "";
    if (!colon || (size_t)(colon - text) >= sizeof left) return false;
    memcpy(left, text, (size_t)(colon - text));
    *first = 0;
    *end = UINT64_MAX;
    if (*left && !cli_number_parse(first, left)) return false;
    if (colon[1] && !cli_number_parse(end, colon + 1)) return false;
    return *first < *end;
}

/* n with three significant digits and the suffix of its power of a thousand. */
static cli_number scaled(uint64_t n, const char *const suffixes[], const char *unit) {
    cli_number out;
    double x = (double)n;
    size_t power = 0;
    while (x >= 999.5 && suffixes[power + 1]) {
        x /= 1000;
        power++;
    }
    if (power == 0) {
        snprintf(out.text, sizeof out.text, "%" PRIu64 "%s", n, unit);
    } else {
        int digits = x < 9.995 ? 2 : x < 99.95 ? 1 : 0;
        snprintf(out.text, sizeof out.text, "%.*f %s", digits, x, suffixes[power]);
    }
    return out;
}

cli_number cli_size_text(uint64_t bytes) {
    static const char *const suffixes[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB", NULL};
    return scaled(bytes, suffixes, " B");
}

cli_number cli_count_text(uint64_t n) {
    static const char *const suffixes[] = {"", "K", "M", "B", "T", "Q", NULL};
    return scaled(n, suffixes, "");
}

cli_number cli_exact_text(uint64_t n) {
    char digits[24];
    int n_digits = snprintf(digits, sizeof digits, "%" PRIu64, n);
    cli_number out;
    size_t k = 0;
    for (int i = 0; i < n_digits; i++) {
        if (i > 0 && (n_digits - i) % 3 == 0) out.text[k++] = ',';
        out.text[k++] = digits[i];
    }
    out.text[k] = '\0';
    return out;
}

cli_number cli_real_text(double x) {
    cli_number out;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out.text, sizeof out.text, "%.*g", digits, x);
        if (strtod(out.text, NULL) == x) break;
    }
    return out;
}

cli_number cli_real32_text(double x) {
    cli_number out;
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(out.text, sizeof out.text, "%.*g", digits, x);
        if (strtof(out.text, NULL) == (float)x) break;
    }
    return out;
}

const char *cli_plural(uint64_t n) {
    return n == 1 ? "" : "s";
}
