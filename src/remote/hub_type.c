/* SPDX-License-Identifier: MIT
 *
 * Types of GGUF files by their names, as llama.cpp's -hf takes them; but where several models have the
 * type, none is taken. */
#include "remote/hub_type.h"

#include <ctype.h>

#include "base/str.h"

#define SHARD_DIGITS 5

static bool is_of_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

bool tare_hub_is_of_type(tare_str path, tare_str type) {
    if (!tare_str_ends(path, TARE_STR(".gguf"))) return false;
    for (size_t at = 0; at + type.len <= path.len; at++) {
        const char before = at ? path.ptr[at - 1] : '-';
        const char after = at + type.len < path.len ? path.ptr[at + type.len] : '-';
        if (tare_same_letters(path.ptr + at, type.ptr, type.len) && !is_of_word(before) &&
            !is_of_word(after))
            return true;
    }
    return false;
}

/* What lies beside a model and is none by itself. */
static bool is_companion(tare_str path) {
    static const char *const words[] = {"mmproj",  "imatrix", "mtp-",
                                        "eagle3-", "dflash-", "dspark-"};
    size_t begin = path.len;
    while (begin && path.ptr[begin - 1] != '/') begin--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i]);
        for (size_t at = begin; at + n <= path.len; at++)
            if (tare_same_letters(path.ptr + at, words[i], n)) return true;
    }
    return false;
}

/* "x-00002-of-00003.gguf": a shard, but not the first. */
static bool is_later_shard(tare_str path) {
    static const char form[] = "-00000-of-00000.gguf";
    const size_t n = sizeof form - 1;
    if (path.len < n) return false;
    const char *end = path.ptr + path.len - n;
    for (size_t i = 0; i < n; i++)
        if (form[i] == '0' ? !isdigit((unsigned char)end[i]) : end[i] != form[i]) return false;
    return memcmp(end + 1, "00001", SHARD_DIGITS) != 0;
}

tare_status tare_hub_pick(size_t *out, const tare_listing *list, tare_str type, tare_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        const tare_str path = list->files[i].path;
        if (!tare_hub_is_of_type(path, type) || is_companion(path) || is_later_shard(path))
            continue;
        if (n++ == 0) *out = i;
    }
    if (n > 1)
        return tare_fail(err, TARE_ERR_ARG, "several GGUF models are of this type: name the file");
    return n ? TARE_OK : tare_fail(err, TARE_ERR_ARG, "no GGUF model is of this type");
}
