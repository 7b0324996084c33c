/* SPDX-License-Identifier: MIT
 *
 * Files that are something else than their names say: what servers, Git and macOS leave in the place
 * of a file, archives, containers of other programs. */
#include "model/foreign.h"

#include <ctype.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/str.h"

/* ---- in place of a file ---------------------------------------------------------------------- */

static bool has_bytes(tare_str head, size_t offset, const char *bytes, size_t n) {
    return head.len >= offset + n && memcmp(head.ptr + offset, bytes, n) == 0;
}

/* The text behind a byte order mark and white space. */
static tare_str trimmed(tare_str text) {
    if (tare_str_starts(text, TARE_STR(TARE_UTF8_MARK)))
        text = tare_str_cut(text, sizeof TARE_UTF8_MARK - 1);
    while (text.len && isspace((unsigned char)*text.ptr)) text = tare_str_cut(text, 1);
    return text;
}

static bool contains(tare_str head, const char *text) {
    for (size_t i = 0; i < head.len; i++)
        if (has_bytes(head, i, text, strlen(text))) return true;
    return false;
}

/* HTML and XML, as servers send them instead of a file. */
static bool is_markup(tare_str head) {
    static const char *const starts[] = {"<!doctype", "<html", "<head", "<?xml"};
    const tare_str text = trimmed(head);
    for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
        size_t n = strlen(starts[k]), i = 0;
        while (i < n && i < text.len && tolower((unsigned char)text.ptr[i]) == starts[k][i]) i++;
        if (i == n && (n == text.len || !isalnum((unsigned char)text.ptr[n]))) return true;
    }
    return false;
}

/* <?xml version="1.0"?><net name="..." version="11">. */
static bool is_openvino(tare_str head) {
    return tare_str_starts(trimmed(head), TARE_STR("<?xml")) && contains(head, "<net ") &&
           contains(head, "<layers>");
}

/* {"error": "..."}, what the hub and its like say of a file that they do not send. */
static bool is_error_object(tare_str head, uint64_t size) {
    tare_json j;
    tare_json_value v, key;
    if (size != head.len || !tare_str_starts(trimmed(head), TARE_STR("{"))) return false;
    tare_json_init_python(&j, head, 0, TARE_JSON_MAX_DEPTH);
    if (tare_json_begin(&j, &v) != TARE_JSON_OBJECT || tare_json_key(&j, &key) == TARE_JSON_END)
        return false;
    const tare_json_type type = tare_json_next(&j, &v);
    return tare_json_is(&key, "error") && (type == TARE_JSON_STRING || type == TARE_JSON_OBJECT);
}

const char *tare_not_the_file(tare_str head, uint64_t size) {
    if (tare_str_starts(head, TARE_STR("version https://git-lfs.github.com/")))
        return "a Git LFS pointer, not the file itself: fetch it with \"git lfs pull\"";
    if (has_bytes(head, 0, "\x00\x05\x16\x07", 4) || has_bytes(head, 0, "\x00\x05\x16\x00", 4))
        return "what macOS keeps about a file (AppleDouble), not the file itself: take the file of "
               "the same name without the \"._\" in front";
    if (is_openvino(head))
        return "the description of a model compiled for OpenVINO (IR), whose weights in the .bin "
               "file beside "
               "it have no names: get the model that it was made from";
    if (is_markup(head))
        return "an HTML page, most likely an error or login page saved in place of the model: "
               "download it again";
    if (is_error_object(head, size))
        return "what a server answered instead of sending the file, an error in JSON: download it "
               "again";
    return NULL;
}

/* ---- short texts ------------------------------------------------------------------------------ */

/* Whether all of a file is a short text, which no model is. */
static bool is_short_text(tare_str head, uint64_t size) {
    if (size != head.len || size == 0 || !tare_str_is_utf8(head)) return false;
    for (size_t i = 0; i < head.len; i++)
        if ((unsigned char)head.ptr[i] < ' ' && !isspace((unsigned char)head.ptr[i])) return false;
    return true;
}

static bool is_zeros(tare_str head) {
    size_t i = 0;
    while (i < head.len && head.ptr[i] == 0) i++;
    return i == head.len && head.len >= 512;
}

const char *tare_other_unicode(tare_str head) {
    return has_bytes(head, 0, "\xff\xfe", 2) || has_bytes(head, 0, "\xfe\xff", 2)
               ? "a text in UTF-16, as some editors save it: save it as UTF-8"
               : NULL;
}

tare_status tare_name_foreign(tare_status status, tare_str head, uint64_t size, bool is_json,
                              tare_error *err) {
    if (status != TARE_ERR_CORRUPT && status != TARE_ERR_TRUNCATED && status != TARE_ERR_LIMIT)
        return status;
    if (size == 0) return tare_fail_at(err, TARE_ERR_TRUNCATED, 0, "the file is empty");
    if (is_zeros(head))
        return tare_fail_at(
            err, TARE_ERR_CORRUPT, 0,
            "not of any known format but zeros, as they stand where a download has not "
            "written yet: get the file again");
    const char *what = is_json ? tare_not_the_file(head, size) : tare_foreign_file(head, size);
    if (what) return tare_fail(err, TARE_ERR_UNSUPPORTED, what);
    if (is_json && tare_other_unicode(head))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, tare_other_unicode(head));
    const tare_str text = trimmed(head);
    if (!is_json && tare_str_starts(text, TARE_STR("FROM ")) && is_short_text(head, size))
        return tare_fail(
            err, TARE_ERR_UNSUPPORTED,
            "a Modelfile of Ollama, not a model: give the file that its FROM line names, "
            "or ollama://NAME of the model that was made with it");
    const bool may_be_json = text.len && (*text.ptr == '{' || *text.ptr == '[' || *text.ptr == '"');
    if (!is_short_text(head, size) || (is_json && may_be_json)) return status;
    if (may_be_json)
        return tare_fail_at(err, TARE_ERR_CORRUPT, 0,
                            "JSON, not a model: what a server answered, or a file beside weights, "
                            "which are opened by their directory");
    return tare_fail_at(err, TARE_ERR_CORRUPT, 0,
                        is_json ? "not JSON but a short text, most likely what a server answered "
                                  "instead of sending the file: download it again"
                                : "not of any known format but a short text, most likely what a "
                                  "server answered instead of sending the file: download it again");
}

/* ---- other containers ------------------------------------------------------------------------ */

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
    "a pickle (as PyTorch writes them) that is cut short or damaged: get the file again";
static const char no_object[] =
    "an archive of PyTorch without its data.pkl, which says what its numbers are: get the whole "
    "file";

static const char tensorflow_model[] = "a model of TensorFlow (a SavedModel or a graph): load it "
                                       "with TensorFlow and save its variables "
                                       "as .npz";
static const char engine[] =
    "a TensorRT engine, compiled for one kind of GPU, which cannot be taken apart: get the "
    "model that it was made from";

static const magic magics[] = {
    MAGIC("lmgg", 0, old_ggml),
    MAGIC("fmgg", 0, old_ggml),
    MAGIC("tjgg", 0, old_ggml),
    MAGIC("algg", 0,
          "an old GGML LoRA adapter: convert the adapter to GGUF with llama.cpp's tools"),
    MAGIC("TAREEDIT", 0,
          "an edit of this model was interrupted: an edit with `recover` finishes it"),
    MAGIC("\x1f\x8b", 0, "a gzip archive: unpack it first"),
    MAGIC("\x28\xb5\x2f\xfd", 0, "zstd-compressed: unpack it first"),
    MAGIC("\xfd"
          "7zXZ\x00",
          0, "xz-compressed: unpack it first"),
    MAGIC("BZh", 0, "bzip2-compressed: unpack it first"),
    MAGIC("7z\xbc\xaf\x27\x1c", 0, "a 7z archive: unpack it first"),
    MAGIC("Rar!\x1a\x07", 0, "a RAR archive: unpack it first"),
    MAGIC("ustar", 257, "a tar archive: unpack it first"),
    MAGIC("MZqFpD='", 0,
          "a llamafile that does not hold exactly one model: name one, as FILE.llamafile::MEMBER"),
    MAGIC("jartsr='", 0,
          "a llamafile that does not hold exactly one model: name one, as FILE.llamafile::MEMBER"),
    MAGIC("\x89HDF\r\n\x1a\n", 0,
          "an HDF5 file (.h5, as Keras writes them): load the model with Keras and save its "
          "weights as .npz or safetensors"),
    MAGIC("LITERTLM", 0,
          "a LiteRT-LM bundle, which is not supported: get the model that it was made from"),
    MAGIC("ET12", 4,
          "an ExecuTorch program (.pte), which is not supported: get the model that it was made "
          "from"),
    MAGIC("|TZR|", 0,
          "a file of tensorizer: load it with TensorDeserializer and save its state_dict() as "
          "safetensors"),
    MAGIC("\x0c\xdb\x3a\x2a", 0,
          "a part of an Orbax checkpoint (JAX): load the checkpoint with orbax-checkpoint and save "
          "its arrays with safetensors.flax"),
    MAGIC("ftrt", 0, engine),
    MAGIC("ptrt", 0, engine),
    MAGIC("7767517\n", 0,
          "an ncnn model, which is not supported: get the model that it was made from"),
    MAGIC("RKNN", 0,
          "a model compiled for Rockchip's NPUs, which cannot be taken apart: get the model that "
          "it was made from"),
    MAGIC("\x0a\x05<unk>", 2,
          "a SentencePiece tokenizer, not a model: it belongs in the directory of its model, which "
          "is opened as a whole"),
    MAGIC("PAR1", 0, "a Parquet file, which has data, not a model"),
    MAGIC("ARROW1\0\0", 0, "an Arrow file, which has data, not a model"),
    MAGIC("\x80\x02", 0, pickle),
    MAGIC("\x80\x03", 0, pickle),
    MAGIC("\x80\x04", 0, pickle),
    MAGIC("\x80\x05", 0, pickle),
};

const char *tare_foreign_archive(tare_str head) {
    if (contains(head, "/archive_format") || contains(head, "data/weights/weight_0"))
        return "a program exported by PyTorch (.pt2): load it with torch.export.load and save its "
               "state_dict";
    if (contains(head, "{\"keras_version\"") || contains(head, "model.weights.h5"))
        return "a Keras model (.keras): load it with Keras and save its weights as .npz or "
               "safetensors";
    return NULL;
}

/* A zip's contents decide: PyTorch has saved zips of pickles since 1.6, NumPy zips of arrays. */
static const char *zip(tare_str head) {
    if (!has_bytes(head, 0, "PK\x03\x04", 4)) return NULL;
    if (contains(head, "data.pkl") || contains(head, ".data/") || contains(head, "/byteorder"))
        return no_object;
    const char *what = tare_foreign_archive(head);
    if (what) return what;
    return "a zip archive that does not hold exactly one model: name one, as FILE.zip::MEMBER";
}

static uint64_t octal(const char *p, size_t n) {
    uint64_t value = 0;
    for (size_t i = 0; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        value = 8 * value + (uint64_t)(p[i] - '0');
    return value;
}

static const char *known_member(tare_str name) {
    if (tare_str_is(name, "sys_info") || tare_str_is(name, "storages"))
        return "a file of PyTorch before 0.1.10 (a tar archive): load it with torch.load and save "
               "it again";
    return contains(name, "model_weights") || contains(name, "model_config.yaml")
               ? "a NeMo model (a tar archive): unpack it, and name its model_weights.ckpt"
               : NULL;
}

/* A tar archive by the names of its first members: folders and what Python's tarfile writes about a
 * member come before it. */
static const char *known_tar(tare_str head) {
    enum { BLOCK = 512, AT_SIZE = 124, SIZE_DIGITS = 12, AT_MAGIC = 257 };
    const char *what = NULL;
    uint64_t at = 0, size;
    while (!what && has_bytes(head, (size_t)at + AT_MAGIC, "ustar", 5)) {
        const char *header = head.ptr + at;
        what = known_member((tare_str){header, strnlen(header, 100)});
        size = octal(header + AT_SIZE, SIZE_DIGITS);
        at = size < head.len - at ? at + BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK : head.len;
    }
    return what;
}

/* Core ML has no magic: a protobuf whose first field is a small number, specificationVersion, and whose
 * second is a description, which begins with the first of its inputs, and that with its name. A
 * SavedModel of TensorFlow has a version and a graph there, which begins with what it says of itself. */
static const char *numbered_message(tare_str head) {
    const uint8_t *p = (const uint8_t *)head.ptr;
    if (head.len < 16 || p[0] != 0x08 || p[1] == 0 || p[1] > 0x20 || p[2] != 0x12) return NULL;
    size_t at = 3;
    while (at < 6 && p[at] & 0x80) at++;
    if (p[++at] != 0x0a) return NULL;
    for (at++; at < 12 && p[at] & 0x80;) at++;
    return p[at + 1] == 0x0a ? "a Core ML model (.mlmodel), which is not supported: get the model "
                               "that it was made from"
           : p[1] == 1       ? tensorflow_model
                             : NULL;
}

/* A text of printable letters in field `tag` at *at, which moves behind it. */
static bool skip_word(tare_str head, size_t *at, uint8_t tag) {
    const uint8_t *p = (const uint8_t *)head.ptr;
    if (*at + 2 > head.len || p[*at] != tag || p[*at + 1] == 0 || p[*at + 1] > 0x7f) return false;
    const size_t end = *at + 2 + p[*at + 1];
    for (*at += 2; *at < end; ++*at)
        if (*at >= head.len || p[*at] < '!' || p[*at] > '~') return false;
    return true;
}

/* TensorFlow's files without a magic: a graph, whose nodes begin with their name and what they do, and
 * the index of a checkpoint, a table whose first key is empty and whose first value ends in a version. */
static const char *tensorflow(tare_str head) {
    const uint8_t *p = (const uint8_t *)head.ptr;
    if (head.len < 16) return NULL;
    size_t at = 1;
    while (at < 6 && p[at] & 0x80) at++;
    if (p[0] == 0x0a && (++at, skip_word(head, &at, 0x0a)) && skip_word(head, &at, 0x12))
        return tensorflow_model;
    const size_t end = 3 + (size_t)p[2];
    return p[0] == 0 && p[1] == 0 && p[3] == 0x08 && p[2] >= 6 && end <= head.len &&
                   has_bytes(head, end - 4, "\x1a\x02\x08\x01", 4)
               ? "the index of a TensorFlow checkpoint: load the checkpoint with "
                 "tf.train.load_checkpoint and save its variables as .npz"
               : NULL;
}

/* Seven numbers, of which llama2.c's files consist before their weights. */
static const char *llama2_c(tare_str head, uint64_t size) {
    uint64_t n[7];
    if (head.len < 28) return NULL;
    for (size_t i = 0; i < 7; i++) n[i] = tare_load_le32(head.ptr + 4 * i);
    const uint64_t vocabulary = n[5] < UINT32_C(0x80000000) ? n[5] : (uint32_t) - (uint32_t)n[5];
    const bool fits = n[0] >= 16 && n[0] <= 65536 && n[0] % 8 == 0 && n[1] >= n[0] &&
                      n[1] <= 16 * n[0] && n[2] >= 1 && n[2] <= 512 && n[3] >= 1 && n[3] <= 512 &&
                      n[4] >= 1 && n[4] <= n[3] && n[3] % n[4] == 0 && vocabulary >= 16 &&
                      vocabulary <= 1 << 20 && n[6] >= 16 && n[6] <= 1 << 22;
    return fits && size > 28 ? "most likely a checkpoint of llama2.c, whose tensors have no names: "
                               "get the model that it was made from"
                             : NULL;
}

/* A version, and the name of what the model is: "TransformerSpec", with its length before it. */
static const char *ctranslate2(tare_str head) {
    if (head.len < 32 || tare_load_le32(head.ptr) > 32) return NULL;
    const size_t n = tare_load_le16(head.ptr + 4);
    if (n < 5 || n > head.len - 6) return NULL;
    const tare_str name = {head.ptr + 6, strnlen(head.ptr + 6, n)};
    return tare_str_ends(name, TARE_STR("Spec"))
               ? "a CTranslate2 model: get the model that it was converted from"
               : NULL;
}

bool tare_is_importance_dat(tare_str head) {
    const uint8_t *p = (const uint8_t *)head.ptr;
    if (head.len < 8) return false;
    uint64_t n_entries = tare_load_le32(p), length = tare_load_le32(p + 4);
    if (n_entries == 0 || n_entries > 1 << 24 || length == 0 || length > 1024) return false;
    if (head.len < 8 + length + 8) return false;
    for (uint64_t i = 0; i < length; i++)
        if (p[8 + i] < ' ' || p[8 + i] == 0x7f) return false;
    uint32_t n_calls = tare_load_le32(p + 8 + length);
    uint32_t n_values = tare_load_le32(p + 8 + length + 4);
    return n_calls <= INT32_MAX && n_values > 0 && n_values <= 1 << 30;
}

const char *tare_foreign_file(tare_str head, uint64_t size) {
    const char *what = tare_not_the_file(head, size);
    if (what) return what;
    /* Before the magics: a count of entries may look like a pickle's. */
    if (tare_is_importance_dat(head))
        return "an importance matrix of llama.cpp in its older form, not a model: give it to "
               "`imatrix` when quantizing";
    if ((what = known_tar(head))) return what;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        const magic *m = &magics[i];
        if (has_bytes(head, m->offset, m->bytes, m->size)) return m->what;
    }
    if ((what = zip(head)) || (what = numbered_message(head)) || (what = tensorflow(head)) ||
        (what = ctranslate2(head)))
        return what;
    return llama2_c(head, size);
}
