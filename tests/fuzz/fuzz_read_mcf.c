/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: an MCF file of any bytes is refused with a place, or can be read to its end, every
 * payload decoded. */
#include "open_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_read(data, size, "mcf");
    return 0;
}
