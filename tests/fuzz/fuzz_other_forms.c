/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: Llama in Meta's form and Whisper, on their way to and from Hugging Face's names. The input
 * is a byte that says the form, the sizes of its files but the last, u16 (little-endian) each, and the
 * files. It is refused with a text, or gets the other names: then every tensor can be read. */
#include "llama/meta_names.h"
#include "llama/whisper/whisper_parts.h"
#include "map_folder.h"

enum { FILES_MOST = 3 };

static const struct form {
    const char *files[FILES_MOST];
    bool is_folder;
} forms[] = {
    {{"params.json", "consolidated.00.pth"}, true},
    {{"params.json", "consolidated.00.pth", "consolidated.01.pth"}, true},
    {{"config.json", "vocab.json", "model.safetensors"}, true},
    {{"ggml-model.bin"}, false},
};

static tare_status map(tare_model **out, const tare_model *in, const void *how,
                       const tare_context *context, tare_error *err) {
    const struct form *form = how;
    if (tare_llama_is_meta(in)) return tare_llama_name_meta(out, in, context, err);
    if (form->is_folder) return tare_whisper_map(out, in, context, err);
    return tare_whisper_can_restore(in) ? tare_whisper_restore(out, in, context, err) : TARE_OK;
}

static void write_files(const struct form *form, const uint8_t *data, size_t size) {
    size_t sizes[FILES_MOST] = {0}, n = 1;
    while (n < FILES_MOST && form->files[n]) n++;
    for (size_t i = 0; i + 1 < n && size >= 2; i++, data += 2, size -= 2)
        sizes[i] = (size_t)(data[0] | data[1] << 8);
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == n || sizes[i] > size) sizes[i] = size;
        scratch_write(form->files[i], data, sizes[i]);
        data += sizes[i];
        size -= sizes[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[4096];
    if (size < 1) return 0;
    const struct form *form = &forms[data[0] % (sizeof forms / sizeof *forms)];
    scratch_clear();
    write_files(form, data + 1, size - 1);
    fuzz_map_at(form->is_folder ? scratch_folder()
                                : scratch_path(path, sizeof path, form->files[0]),
                map, form, TARE_OK);
    return 0;
}
