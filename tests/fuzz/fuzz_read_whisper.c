/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a model of whisper.cpp of any bytes is refused with a place, or can be read
 * to its end. */
#include "open_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_read(data, size, "whisper");
    return 0;
}
