/* SPDX-License-Identifier: MIT
 *
 * Guards against: a hash that depends on the environment. libcrypto reads the file that
 * OPENSSL_CONF names; one that loads a provider which is not there took SHA-256 away. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "temp_folder.h"

static void check_abc(void) {
    uint8_t digest[32];
    char hex[65];
    tare_sha256 h;
    tare_sha256_init(&h);
    tare_sha256_update(&h, "abc", 3);
    tare_sha256_final(&h, digest);
    tare_hex(hex, digest, sizeof digest);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void *hash_often(void *unused) {
    for (int i = 0; i < 100; i++) check_abc();
    return unused;
}

/* libcrypto reads its configuration once: this runs before any other test. */
static void a_broken_configuration_changes_nothing(void **state) {
    pthread_t threads[4];
    (void)state;
    write_temp_text("openssl.cnf", "openssl_conf = init\n[init]\nproviders = list\n"
                                   "[list]\nabsent = absent\n"
                                   "[absent]\nmodule = /nonexistent.so\nactivate = 1\n");
    setenv("OPENSSL_CONF", temp_path("openssl.cnf"), 1);
    setenv("OPENSSL_MODULES", temp_folder, 1);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hash_often, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

/* A CRC put together from those of parts, in any order, is that of the whole. */
static void crcs_of_parts_make_that_of_the_whole(void **state) {
    uint8_t bytes[5000];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * i >> 3);
    const size_t cuts[] = {0, 1, 4, 4, 300, 301, 4096, sizeof bytes};
    uint32_t crc = 0;
    for (size_t i = sizeof cuts / sizeof *cuts - 1; i-- > 0;)
        crc ^= tare_crc32_part(tare_crc32(0, bytes + cuts[i], cuts[i + 1] - cuts[i]),
                               sizeof bytes - cuts[i + 1]);
    assert_int_equal(crc, tare_crc32(0, bytes, sizeof bytes));
    crc = tare_crc32_zeros(sizeof bytes);
    for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++)
        if (i != 4) /* left out: zeros */
            crc ^= tare_crc32_in_zeros(bytes + cuts[i], cuts[i + 1] - cuts[i],
                                       sizeof bytes - cuts[i + 1]);
    memset(bytes + cuts[4], 0, cuts[5] - cuts[4]);
    assert_int_equal(crc, tare_crc32(0, bytes, sizeof bytes));
    assert_int_equal(tare_crc32_part(1, UINT64_C(1) << 62), tare_crc32_part(1, UINT64_C(1) << 30));
}

static void empty_and_cut_inputs_hash_alike(void **state) {
    uint8_t bytes[300], whole[32], parts[32];
    tare_sha256 h;
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7);
    tare_sha256_init(&h);
    tare_sha256_update(&h, bytes, sizeof bytes);
    tare_sha256_final(&h, whole);
    tare_sha256_init(&h);
    for (size_t i = 0; i < sizeof bytes; i += 60) {
        tare_sha256_update(&h, bytes + i, 60);
        tare_sha256_update(&h, NULL, 0);
    }
    tare_sha256_final(&h, parts);
    assert_memory_equal(whole, parts, sizeof whole);
}

/* What caches call their files: the hub's, Ollama's of today and of before 0.1.34, folders of OCI. */
static void digests_stand_in_names(void **state) {
#define HEX "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    static const char *const blobs[] = {"blobs/" HEX, "sha256-" HEX, "/x/blobs/sha256:" HEX,
                                        "blobs/sha256/" HEX};
    uint8_t digest[32];
    (void)state;
    for (size_t i = 0; i < sizeof blobs / sizeof *blobs; i++) {
        assert_true(tare_digest_in_name(digest, blobs[i]));
        assert_int_equal(digest[0], 0xba);
        assert_true(tare_is_blob(blobs[i]));
    }
    assert_false(tare_is_blob("sha512-" HEX));
    assert_false(tare_is_blob("blobs/" HEX ".gguf"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_stand_in_names),
        cmocka_unit_test(a_broken_configuration_changes_nothing),
        cmocka_unit_test(crcs_of_parts_make_that_of_the_whole),
        cmocka_unit_test(empty_and_cut_inputs_hash_alike),
    };
    return cmocka_run_group_tests(tests, make_temp_folder, remove_temp_folder);
}
