/* SPDX-License-Identifier: MIT
 *
 * Files of other kinds that people mistake for a model container, recognised by content, and what
 * to do about each. */
#include <ctype.h>
#include <string.h>

#include "base/bytes.h"
#include "format/format.h"

typedef struct magic {
    const char *bytes;
    size_t size;
    size_t offset;
    const char *what;
} magic;

#define MAGIC(bytes, offset, what)                                                                 \
    { bytes, sizeof(bytes) - 1, offset, what }

static const char old_ggml[] =
    "an old GGML, GGMF or GGJT file, older than GGUF: convert it with the "
    "tools of llama.cpp of its time, or get the model as GGUF";
static const char pickle[] =
    "a PyTorch pickle, which can run code when loaded: get the safetensors "
    "version, or save it as safetensors with PyTorch";

static const magic magics[] = {
    MAGIC("lmgg", 0, old_ggml),
    MAGIC("fmgg", 0, old_ggml),
    MAGIC("tjgg", 0, old_ggml),
    MAGIC("algg", 0,
          "an old GGML LoRA adapter: convert the adapter to GGUF with llama.cpp's tools"),
    MAGIC("TAREEDIT", 0,
          "a model that an edit was at work on when it was interrupted: \"tare edit --recover\" "
          "with its name finishes that"),
    MAGIC("version https://git-lfs.github.com/", 0,
          "a Git LFS pointer, not the file itself: fetch it with \"git lfs pull\""),
    MAGIC("\x1f\x8b", 0, "a gzip archive: unpack it first"),
    MAGIC("\x28\xb5\x2f\xfd", 0, "zstd-compressed: unpack it first"),
    MAGIC("\xfd"
          "7zXZ\x00",
          0, "xz-compressed: unpack it first"),
    MAGIC("BZh", 0, "bzip2-compressed: unpack it first"),
    MAGIC("7z\xbc\xaf\x27\x1c", 0, "a 7z archive: unpack it first"),
    MAGIC("ustar", 257, "a tar archive: unpack it first"),
    MAGIC("\x93NUMPY", 0, "a single NumPy array (.npy), not a model"),
    MAGIC("\x89HDF\r\n\x1a\n", 0, "an HDF5 file (Keras): save the weights as safetensors"),
    MAGIC("TFL3", 4, "a TensorFlow Lite model, which is not supported"),
    MAGIC("\x80\x02", 0, pickle),
    MAGIC("\x80\x03", 0, pickle),
    MAGIC("\x80\x04", 0, pickle),
    MAGIC("\x80\x05", 0, pickle),
};

static bool contains(const tare_probe *p, const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= p->head_size; i++)
        if (memcmp(p->head + i, text, n) == 0) return true;
    return false;
}

/* A zip's contents decide: PyTorch has saved zips of pickles since 1.6, NumPy zips of arrays. */
static const char *zip(const tare_probe *p) {
    if (p->head_size < 4 || memcmp(p->head, "PK\x03\x04", 4) != 0) return NULL;
    if (contains(p, "data.pkl") || contains(p, ".data/") || contains(p, "/byteorder"))
        return pickle;
    if (contains(p, ".npy")) return "a NumPy .npz archive: save its arrays as safetensors";
    return "a zip archive: unpack it first";
}

/* HTML and XML, as servers send them instead of a file: after white space and a byte order mark. */
static const char *markup(const tare_probe *p) {
    static const char *const starts[] = {"<!doctype", "<html", "<head", "<?xml"};
    size_t i = p->head_size >= 3 && memcmp(p->head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < p->head_size && isspace(p->head[i])) i++;
    for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
        size_t n = strlen(starts[k]), j = 0;
        while (j < n && i + j < p->head_size && tolower(p->head[i + j]) == starts[k][j]) j++;
        if (j == n)
            return "an HTML page, most likely an error or login page saved in place of the model: "
                   "download it again";
    }
    return NULL;
}

/* ONNX has no magic: a protobuf whose first field is ir_version, a small number, followed by the
 * name of what produced it, or the graph or the operator sets. */
static const char *onnx(const tare_probe *p) {
    if (p->head_size < 4 || p->head[0] != 0x08 || p->head[1] == 0 || p->head[1] > 0x20) return NULL;
    uint8_t next = p->head[2];
    return next == 0x12 || next == 0x3a || next == 0x42
               ? "an ONNX model, which is not supported: get the model as safetensors or GGUF"
               : NULL;
}

bool tare_is_importance_dat(const tare_probe *p) {
    if (p->is_directory || p->head_size < 8) return false;
    uint64_t n_entries = tare_load_le32(p->head), length = tare_load_le32(p->head + 4);
    if (n_entries == 0 || n_entries > 1 << 24 || length == 0 || length > 1024) return false;
    if (p->head_size < 8 + length + 8) return false;
    for (uint64_t i = 0; i < length; i++)
        if (p->head[8 + i] < ' ' || p->head[8 + i] == 0x7f) return false;
    uint32_t n_calls = tare_load_le32(p->head + 8 + length);
    uint32_t n_values = tare_load_le32(p->head + 8 + length + 4);
    return n_calls <= INT32_MAX && n_values > 0 && n_values <= 1 << 30;
}

const char *tare_not_a_model(const tare_probe *probe) {
    if (probe->is_directory)
        return "a directory that is not a model: neither a Hugging Face directory nor exactly one "
               "GGUF "
               "model; name the file";
    /* Before the magics: a count of entries may look like a pickle's. */
    if (tare_is_importance_dat(probe))
        return "an importance matrix of llama.cpp in its older form, not a model: give it to "
               "--imatrix when quantizing";
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        const magic *m = &magics[i];
        if (probe->head_size >= m->offset + m->size &&
            memcmp(probe->head + m->offset, m->bytes, m->size) == 0)
            return m->what;
    }
    const char *what = zip(probe);
    if (!what) what = markup(probe);
    if (!what) what = onnx(probe);
    return what;
}
