/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: an array or an archive of NumPy of any bytes is refused with a place, or can be read
 * to its end. */
#include "open_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_read(data, size, "numpy");
    return 0;
}
