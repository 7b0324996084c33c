/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the part of a Hugging Face model for pictures or sound on its way to llama.cpp. The input is
 * the sizes of config.json and of preprocessor_config.json, u16 (little-endian) each, and their texts;
 * the rest is model.safetensors. It is refused with a text, or mapped: then every tensor can be read. */
#include "map_folder.h"

static size_t take_size(const uint8_t **data, size_t *left) {
    const size_t n = (size_t)((*data)[0] | (*data)[1] << 8);
    *data += 2;
    *left -= 2;
    return n;
}

static void write_part(const char *name, size_t n, const uint8_t **data, size_t *left) {
    if (n > *left) n = *left;
    scratch_write(name, *data, n);
    *data += n;
    *left -= n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char tokens[] =
        "{\"added_tokens_decoder\": {\"3\": {\"content\": \"[IMG_BREAK]\"}}}";
    tare_llama_options options = tare_llama_options_default();
    if (size < 4) return 0;
    const size_t n_config = take_size(&data, &size), n_processor = take_size(&data, &size);
    scratch_clear();
    write_part("config.json", n_config, &data, &size);
    write_part("preprocessor_config.json", n_processor, &data, &size);
    scratch_write("tokenizer_config.json", (const uint8_t *)tokens, sizeof tokens - 1);
    scratch_write("model.safetensors", data, size);
    options.tower = true;
    fuzz_map_folder(options, TARE_OK);
    return 0;
}
