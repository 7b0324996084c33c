/* SPDX-License-Identifier: MIT
 *
 * The entry of a fuzz target, and its assertion: a broken promise ends the program, which is how a
 * fuzzer learns of it. Never compiled out. */
#ifndef TARE_FUZZ_CHECK_H
#define TARE_FUZZ_CHECK_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Prints and aborts unless `ok`. */
#define FUZZ_CHECK(ok)                                                                             \
    do {                                                                                           \
        if (!(ok)) fuzz_broken(#ok, __FILE__, __LINE__);                                           \
    } while (0)

_Noreturn void fuzz_broken(const char *what, const char *file, int line);

#endif
