/* SPDX-License-Identifier: MIT
 *
 * Output names whose suffix contradicts what the output will be. */
#include <string.h>
#include <strings.h>

#include "cli.h"

/* File types that programs recognise by name, besides model formats. */
static const struct {
    const char *suffix, *what;
} foreign[] = {
    {".zst", "zstd"},
    {".gz", "gzip"},
    {".tgz", "tar"},
    {".xz", "xz"},
    {".bz2", "bzip2"},
    {".lz4", "lz4"},
    {".br", "brotli"},
    {".zip", "zip"},
    {".7z", "7-Zip"},
    {".tar", "tar"},
    {".npy", "NumPy"},
    {".npz", "NumPy"},
    {".onnx", "ONNX"},
    {".pt", "PyTorch"},
    {".pth", "PyTorch"},
    {".h5", "HDF5"},
    {".tflite", "TensorFlow Lite"},
    {".json", "JSON"},
    {".html", "HTML"},
};

const char *cli_suffix_claims(const char *path, const char *format) {
    const char *claimed = tare_format_of_path(path);
    if (claimed) return format && strcmp(claimed, format) == 0 ? NULL : claimed;
    const size_t n = strlen(path);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const size_t n_suffix = strlen(foreign[i].suffix);
        if (n > n_suffix && strcasecmp(path + n - n_suffix, foreign[i].suffix) == 0)
            return format && strcmp(format, foreign[i].what) == 0 ? NULL : foreign[i].what;
    }
    return NULL;
}
