/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a MessagePack file of Flax of any bytes is refused with a place, or can be
 * read to its end. */
#include "open_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_read(data, size, "flax");
    return 0;
}
