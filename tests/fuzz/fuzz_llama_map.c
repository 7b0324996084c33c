/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a Hugging Face model on its way to llama.cpp. The input is u16 (little-endian) size of
 * config.json, its text; the rest is model.safetensors. It is refused with a text, or mapped: then
 * every tensor can be read, weights that are packed codes too. */
#include "map_folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tare_llama_options options = tare_llama_options_default();
    if (size < 2) return 0;
    size_t n = (size_t)(data[0] | data[1] << 8);
    if (n > size - 2) n = size - 2;
    scratch_clear();
    scratch_write("config.json", data + 2, n);
    scratch_write("model.safetensors", data + 2 + n, size - 2 - n);
    options.no_tokenizer = true;
    /* the groups of GPTQ's columns are only checked when they are read */
    fuzz_map_folder(options, TARE_ERR_CORRUPT);
    return 0;
}
