/* SPDX-License-Identifier: MIT
 *
 * Guards against: names in a file that were made to have one hash, so that looking them up takes the
 * square of their number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/str.h"

/* Key 0, 1, ..., 15, the texts that begin 0, 1, 2, ... of these lengths. */
static void the_hash_is_siphash_1_3(void **state) {
    static const struct {
        size_t n;
        uint64_t hash;
    } expected[] = {{0, UINT64_C(0xabac0158050fc4dc)},
                    {1, UINT64_C(0xc9f49bf37d57ca93)},
                    {8, UINT64_C(0x369095118d299a8e)},
                    {15, UINT64_C(0xd320d86d2a519956)}};
    uint8_t bytes[16];
    (void)state;
    for (uint8_t i = 0; i < sizeof bytes; i++) bytes[i] = i;
    const tare_hash_key key = {{tare_load_le64(bytes), tare_load_le64(bytes + 8)}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(tare_str_hash((tare_str){(char *)bytes, expected[i].n}, &key) ==
                    expected[i].hash);
}

static void keys_differ_in_every_part(void **state) {
    (void)state;
    const tare_hash_key a = tare_hash_key_new(), b = tare_hash_key_new();
    assert_true(a.half[0] != b.half[0] && a.half[1] != b.half[1]);
    assert_true((a.half[0] & 255) != (b.half[0] & 255) || (a.half[1] & 255) != (b.half[1] & 255) ||
                (a.half[0] >> 8 & 255) != (b.half[0] >> 8 & 255));
    assert_true(tare_str_hash(TARE_STR("name"), &a) != tare_str_hash(TARE_STR("name"), &b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_siphash_1_3),
        cmocka_unit_test(keys_differ_in_every_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
