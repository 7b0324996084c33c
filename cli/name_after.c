/* SPDX-License-Identifier: MIT
 *
 * Names of outputs that are called after the input. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* From where to where the path is a name; false: the input has none of its own. */
static bool has_name(const char *path, size_t *from, size_t *end) {
    size_t n;
    const char *last = cli_last_part(path, &n);
    if (!last) return false;
    *from = (size_t)(last - path);
    *end = *from + n;
    return true;
}

/* The first n bytes of the path, of an address without what comes before the name, and a tail. */
static char *with_tail(const char *path, size_t from, size_t n, const char *tail) {
    const size_t begin = strstr(path, "://") ? from : 0, n_tail = strlen(tail) + 1;
    char *out = cli_alloc(n - begin + n_tail, 1);
    memcpy(out, path + begin, n - begin);
    memcpy(out + (n - begin), tail, n_tail);
    return out;
}

char *cli_name_after(const char *path, const char *suffix) {
    size_t from, n;
    return has_name(path, &from, &n) ? with_tail(path, from, n, suffix) : NULL;
}

/* The same without the suffix of a format, from `from` on. */
static size_t without_suffix(const char *path, size_t from, size_t n) {
    tare_format_info format = tare_format_info_default();
    for (size_t i = 0; tare_format_at(&format, i); i++) {
        const size_t n_suffix = strlen(format.suffix);
        if (n_suffix && n > from + n_suffix &&
            strncmp(path + n - n_suffix, format.suffix, n_suffix) == 0)
            return n - n_suffix;
    }
    return n;
}

char *cli_name_of_page(const char *path) {
    size_t from, n;
    return has_name(path, &from, &n) ? with_tail(path, from, without_suffix(path, from, n), ".html")
                                     : NULL;
}

/* "-00001-of-00003" before `n`, if that is there: its length. */
static size_t shard_length(const char *path, size_t n) {
    static const char form[] = "-00000-of-00000";
    if (n < sizeof form - 1) return 0;
    const char *at = path + n - (sizeof form - 1);
    for (size_t i = 0; form[i]; i++)
        if (form[i] == '0' ? !isdigit((unsigned char)at[i]) : form[i] != at[i]) return 0;
    return sizeof form - 1;
}

/* "-f16" or "-Q8_0" before `n`, from `from` on: its length. */
static size_t type_length(const char *path, size_t from, size_t n) {
    char word[24] = "";
    size_t at = n;
    while (at > from && path[at - 1] != '-' && path[at - 1] != '.') at--;
    if (at <= from + 1 || n - at >= sizeof word) return 0;
    for (size_t i = 0; i < n - at; i++) word[i] = (char)tolower((unsigned char)path[at + i]);
    const bool is_mix = !isdigit((unsigned char)word[0]) && /* which a mix may be called by */
                        tare_mix_find((tare_str){word, n - at});
    return is_mix || cli_type_parse(word) ? n - at + 1 : 0;
}

char *cli_name_of_mix(const char *path, const char *mix) {
    size_t from, n;
    char tail[40];
    if (!has_name(path, &from, &n)) return NULL;
    n = without_suffix(path, from, n);
    n -= shard_length(path, n);
    n -= type_length(path, from, n);
    snprintf(tail, sizeof tail, "-%s.gguf", mix);
    return with_tail(path, from, n, tail);
}
