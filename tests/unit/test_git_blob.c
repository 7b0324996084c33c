/* SPDX-License-Identifier: MIT
 *
 * Guards against: a name of a blob that is not Git's, whatever the length of the content and the pieces
 * that it comes in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/sha.h>

#include "remote/git_blob.h"

/* Ends of blocks and of padding lie within these lengths. */
static void names_are_git_s(void **state) {
    uint8_t content[300], whole[340], expected[TARE_GIT_BLOB_BYTES], found[TARE_GIT_BLOB_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof content; i++) content[i] = (uint8_t)(i * 7 + 1);
    for (size_t n = 0; n <= sizeof content; n++) {
        const size_t head = (size_t)sprintf((char *)whole, "blob %zu", n) + 1;
        memcpy(whole + head, content, n);
        SHA1(whole, head + n, expected);
        for (size_t piece = 1; piece < 100; piece += 31) {
            tare_git_blob b;
            tare_git_blob_init(&b, n);
            for (size_t at = 0; at < n; at += piece)
                tare_git_blob_update(&b, content + at, n - at < piece ? n - at : piece);
            tare_git_blob_final(&b, found);
            assert_memory_equal(found, expected, sizeof found);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_git_s)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
