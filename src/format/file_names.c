/* SPDX-License-Identifier: MIT
 *
 * What names say about files that are not whole: parts of a file that was split without regard to
 * what is in it, and downloads that have not ended. Nothing is opened or refused by name; names
 * explain what was found. */
#include <stdlib.h>
#include <string.h>

#include "base/os_path.h"
#include "base/report.h"
#include "base/str.h"
#include "format/format.h"

#define PART       "part of a split file: join all with cat"
#define DOWNLOAD   "name of a download that has not ended"
#define MOST_RANGE 9 /* characters of "1of2" and its like */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_separator(char c) {
    return c == '.' || c == '-' || c == '_';
}

static bool cut_end(tare_str *name, const char *end) {
    if (!tare_str_ends(*name, tare_str_of(end))) return false;
    name->len -= strlen(end);
    return true;
}

/* "1", "01of02", "1-of-2", or up to three letters as split writes them. */
static bool is_part_number(tare_str text) {
    size_t n_digits = 0, n_letters = 0;
    if (text.len == 0 || text.len > MOST_RANGE) return false;
    for (size_t i = 0; i < text.len; i++) {
        if (is_digit(text.ptr[i])) n_digits++;
        if (text.ptr[i] >= 'a' && text.ptr[i] <= 'z') n_letters++;
    }
    if (n_digits == 0) return n_letters == text.len && n_letters <= 3;
    if (n_digits == text.len) return true;
    for (size_t i = 1; i + 2 < text.len; i++)
        if (memcmp(text.ptr + i, "of", 2) == 0) return n_letters == 2 && is_digit(text.ptr[0]);
    return false;
}

/* "model.gguf.part1of2", "model.gguf-split-a", "model.part-2.gguf": a word and a number. */
static bool has_part_word(tare_str name) {
    static const char *const words[] = {"part", "split"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        const size_t n = strlen(words[k]);
        for (size_t i = name.len > MOST_RANGE + 2 * n ? name.len - MOST_RANGE - 2 * n : 1;
             i + n < name.len; i++) {
            if (!is_separator(name.ptr[i - 1]) || memcmp(name.ptr + i, words[k], n) != 0) continue;
            tare_str number = tare_str_cut(name, i + n);
            if (is_separator(number.ptr[0])) number = tare_str_cut(number, 1);
            if (is_part_number(number)) return true;
        }
    }
    return false;
}

/* "model.gguf.001", "model.safetensors-aa": a number, or two letters, behind a container's suffix. */
static bool has_part_suffix(tare_str name) {
    static const char *const suffixes[] = {".gguf", ".safetensors", ".wcodec", ".bin"};
    size_t n = 0;
    while (n < name.len && !is_separator(name.ptr[name.len - n - 1])) n++;
    if (n < 2 || n == name.len || !is_part_number(tare_str_cut(name, name.len - n))) return false;
    name.len -= n + 1;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (tare_str_ends(name, tare_str_of(suffixes[i]))) return true;
    return false;
}

static bool has_download_suffix(tare_str name) {
    static const char *const suffixes[] = {".aria2",   ".incomplete", ".crdownload", ".part",
                                           ".partial", ".download",   ".opdownload", ".!qB"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (tare_str_ends(name, tare_str_of(suffixes[i]))) return true;
    return false;
}

const char *tare_said_by_file_name(tare_str name) {
    if (has_download_suffix(name)) return DOWNLOAD;
    if (has_part_suffix(name)) return PART;
    if (!cut_end(&name, ".gguf")) cut_end(&name, ".safetensors");
    return has_part_word(name) ? PART : NULL;
}

static const char *said_by_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return tare_said_by_file_name(tare_str_of(slash ? slash + 1 : path));
}

void tare_blame_unfinished(const char *path, tare_status status, tare_error *err) {
    const bool is_of_content =
        status == TARE_ERR_CORRUPT || status == TARE_ERR_TRUNCATED || status == TARE_ERR_LIMIT;
    const char *said = path && is_of_content ? said_by_name(path) : NULL;
    if (said && err && !err->field[0]) tare_error_detail(err, "%s", said);
}

/* ---- open files ------------------------------------------------------------------------------- */

static void warn(tare_report *report, const char *code, const char *path, const char *what) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_TRUNCATED, code);
    f.file = tare_str_of(path);
    f.text = tare_str_of(what);
    tare_report_add(report, &f);
}

/* Whether a file lies beside another under its name and a suffix. */
static bool is_beside(const char *path, const char *suffix) {
    const size_t n = strlen(path), m = strlen(suffix);
    char *beside = malloc(n + m + 1);
    if (!beside) return false;
    memcpy(beside, path, n);
    memcpy(beside + n, suffix, m + 1);
    const bool is_there = tare_path_stat(beside, NULL) != TARE_PATH_NOTHING;
    free(beside);
    return is_there;
}

void tare_note_unfinished(const tare_model *m, tare_report *report) {
    for (size_t i = 0; i < m->n_files; i++) {
        const char *path = m->files[i].reader.has_identity ? m->files[i].name : NULL;
        const char *said = path && m->files[i].is_truncated ? said_by_name(path) : NULL;
        if (said) warn(report, "file.cut", path, said);
        if (path && (is_beside(path, ".aria2") || is_beside(path, ".st")))
            warn(report, "file.unfinished", path,
                 "the file that aria2 or axel keeps until a download has ended lies beside it: it "
                 "may be incomplete although it has its size");
    }
}
