/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: probing. Whatever the bytes are, the format is found or named as something else. */
#include "open_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_read(data, size, NULL);
    return 0;
}
