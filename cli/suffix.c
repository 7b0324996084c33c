/* SPDX-License-Identifier: MIT
 *
 * Output names whose suffix contradicts what the output will be. */
#include <ctype.h>
#include <string.h>

#include "cli.h"

/* File types that programs recognise by name, besides model formats. */
static const struct {
    const char *suffix, *what;
} foreign[] = {
    {".zst", "zstd"},  {".gz", "gzip"},   {".tgz", "tar"},   {".xz", "xz"},
    {".bz2", "bzip2"}, {".lz4", "lz4"},   {".br", "brotli"}, {".zip", "zip"},
    {".7z", "7-Zip"},  {".tar", "tar"},   {".npy", "NumPy"}, {".npz", "NumPy"},
    {".onnx", "ONNX"}, {".pth", "torch"}, {".h5", "HDF5"},   {".tflite", "TensorFlow Lite"},
    {".json", "JSON"}, {".html", "HTML"},
};

bool cli_same_letters(const char *a, const char *b) {
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) a++, b++;
    return !*a && !*b;
}

const char *cli_suffix_claims(const char *path, const char *format) {
    const char *claimed = tare_format_of_path(path);
    if (claimed) return format && strcmp(claimed, format) == 0 ? NULL : claimed;
    const size_t n = strlen(path);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const size_t n_suffix = strlen(foreign[i].suffix);
        if (n > n_suffix && cli_same_letters(path + n - n_suffix, foreign[i].suffix))
            return format && strcmp(format, foreign[i].what) == 0 ? NULL : foreign[i].what;
    }
    return NULL;
}

const char *cli_last_part(const char *path, size_t *n) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    const char *last = path + end;
    while (last > path && last[-1] != '/') last--;
    *n = (size_t)(path + end - last);
    if (*n == 0 || (*last == '-' && end == 1) || (*last == '.' && *n == 1) ||
        (*n == 2 && last[0] == '.' && last[1] == '.'))
        return NULL;
    return last;
}
