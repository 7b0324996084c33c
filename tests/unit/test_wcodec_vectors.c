/* SPDX-License-Identifier: MIT
 *
 * Guards against: a .wcodec of a released version that can no longer be read; a part of a region
 * that differs from the whole; a flipped bit or a cut that goes unnoticed and changes what is
 * decoded. The vectors are in tests/wcodec/vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "format/wcodec/wcodec_index.h"
#include "wc_random.h"
#include "wcodec/layer/wc_layer.h"
#include "wcodec_vector.h"

/* "what: what is wrong with it": no bare noun. */
static void says_why(const tare_error *err) {
    const char *colon = strstr(err->what, ": ");
    if (!colon || !strchr(colon + 2, ' ')) fail_msg("no reason: %s", err->what);
}

/* All regions of layer i, one after the other; the caller frees. */
static tare_status decode(uint8_t **out, size_t *n_out, vector *o, uint32_t i,
                          const tare_wc_source *base, tare_error *err) {
    const tare_wcodec_layer *l = &o->index.layers[i];
    tare_wc_opened layer;
    tare_wc_scratch scratch;
    uint64_t n = 0, at = 0;
    for (unsigned r = 0; r < l->coded.n_regions; r++) n += l->coded.region_bytes[r];
    *out = malloc((size_t)n + 1);
    assert_non_null(*out);
    *n_out = (size_t)n;
    tare_wc_scratch_init(&scratch, NULL);
    tare_status status = tare_wc_open_layer(&layer, &o->reader, &l->coded, &o->arena, err);
    layer.base = base;
    for (unsigned r = 0; r < l->coded.n_regions && status == TARE_OK; r++) {
        status = tare_wc_read_region(*out + at, &layer, r, 0, (size_t)l->coded.region_bytes[r],
                                     &scratch, err);
        at += l->coded.region_bytes[r];
    }
    if (status == TARE_OK) status = tare_wc_check_layer(&layer, err);
    tare_wc_scratch_free(&scratch);
    return status;
}

/* The same of a layer that is made of others when it is read. */
static tare_status decode_derived(uint8_t **out, size_t *n_out, const vector *o, uint32_t i,
                                  tare_error *err) {
    const tare_limits limits = tare_limits_default();
    tare_reader file;
    tare_packed *store;
    tare_reader_memory(&file, o->bytes, o->size, "vector");
    TARE_TRY(tare_packed_open(&store, &file, &limits, NULL, err));
    *n_out = (size_t)o->index.layers[i].coded.region_bytes[0];
    *out = malloc(*n_out);
    assert_non_null(*out);
    const tare_status status = tare_packed_read(store, i, 0, 0, *out, *n_out, err);
    tare_packed_free(store);
    return status;
}

/* Where the base's layer i is to be had, decoded: region behind region. */
static void source_of(tare_wc_source *s, tare_reader *reader, const vector *o, uint32_t i,
                      const uint8_t *bytes, size_t n) {
    tare_reader_memory(reader, bytes, n, "base");
    uint64_t at = 0;
    for (unsigned r = 0; r < o->index.layers[i].coded.n_regions; r++) {
        s->readers[r] = reader;
        s->starts[r] = at;
        at += o->index.layers[i].coded.region_bytes[r];
    }
}

static void check_digest(char **line, const uint8_t *bytes, size_t n, const char *what) {
    uint8_t digest[32];
    char hex[65];
    tare_sha256 h;
    tare_sha256_init(&h);
    tare_sha256_update(&h, bytes, n);
    tare_sha256_final(&h, digest);
    tare_hex(hex, digest, 32);
    if (strncmp(*line, hex, 64) != 0) fail_msg("%s: not as expected: %s", what, *line);
    *line = strchr(*line, '\n') + 1;
}

static void check_file(char **line, const char *name, const char *base_name) {
    vector o, base = {0};
    tare_error err;
    o.bytes = vector_read(name, &o.size);
    assert_int_equal(vector_open(&o, &err), TARE_OK);
    if (base_name) {
        base.bytes = vector_read(base_name, &base.size);
        assert_int_equal(vector_open(&base, &err), TARE_OK);
    }
    for (uint32_t i = 0; i < o.index.n_layers; i++) {
        uint8_t *bytes, *other = NULL;
        size_t n, n_other, at = 0;
        tare_wc_source source;
        tare_reader reader;
        if (base_name) {
            assert_int_equal(decode(&bytes, &n, &o, i, NULL, &err),
                             i < 5 ? TARE_ERR_ARG : err.status);
            free(bytes);
            assert_int_equal(decode(&other, &n_other, &base, i, NULL, &err), TARE_OK);
            source_of(&source, &reader, &base, i, other, n_other);
        }
        assert_int_equal(o.index.layers[i].derived.is_set
                             ? decode_derived(&bytes, &n, &o, i, &err)
                             : decode(&bytes, &n, &o, i, base_name ? &source : NULL, &err),
                         TARE_OK);
        for (unsigned r = 0; r < o.index.layers[i].coded.n_regions; r++) {
            check_digest(line, bytes + at, (size_t)o.index.layers[i].coded.region_bytes[r], name);
            at += (size_t)o.index.layers[i].coded.region_bytes[r];
        }
        free(bytes);
        free(other);
    }
    for (uint32_t f = 0; f < o.index.n_files; f++) *line = strchr(*line, '\n') + 1;
    tare_arena_free(&o.arena);
    free(o.bytes);
    if (base_name) tare_arena_free(&base.arena);
    free(base.bytes);
}

static void all_vectors_decode_to_what_is_expected(void **state) {
    (void)state;
    size_t n;
    unsigned n_files = 0;
    char *text = (char *)vector_read("EXPECTED", &n), *line = text;
    while (*line) {
        char name[64], base[64];
        int words = sscanf(line, "file %63s%*1[ ]%63s\n", name, base);
        assert_true(words >= 1);
        char *end = strchr(line, '\n');
        bool has_base = words == 2 && strlen(name) + strlen(base) + 6 == (size_t)(end - line);
        line = end + 1;
        check_file(&line, name, has_base ? base : NULL);
        n_files++;
    }
    assert_true(n_files >= 8);
    free(text);
}

static void parts_of_regions_are_as_the_whole(void **state) {
    (void)state;
    uint64_t seed = 1;
    vector o;
    tare_error err;
    o.bytes = vector_read("items.wcodec", &o.size);
    assert_int_equal(vector_open(&o, &err), TARE_OK);
    for (uint32_t i = 0; i < o.index.n_layers; i++) {
        tare_wc_opened layer;
        tare_wc_scratch scratch;
        uint8_t *whole, part[5000];
        size_t n;
        tare_wc_scratch_init(&scratch, NULL);
        assert_int_equal(decode(&whole, &n, &o, i, NULL, &err), TARE_OK);
        assert_int_equal(
            tare_wc_open_layer(&layer, &o.reader, &o.index.layers[i].coded, &o.arena, &err),
            TARE_OK);
        for (unsigned round = 0; n && round < 40; round++) {
            size_t from = (size_t)(wc_random(&seed) % n),
                   length = (size_t)(wc_random(&seed) % 4000);
            if (length > n - from) length = n - from;
            memset(part, 0xa5, sizeof part);
            assert_int_equal(tare_wc_read_region(part, &layer, 0, from, length, &scratch, &err),
                             TARE_OK);
            assert_memory_equal(part, whole + from, length);
            assert_int_equal(part[length], 0xa5);
        }
        tare_wc_scratch_free(&scratch);
        free(whole);
    }
    tare_arena_free(&o.arena);
    free(o.bytes);
}

/* What the layers of a sound file decode to. */
enum { MOST_LAYERS = 16 };
typedef struct decoded {
    uint8_t *bytes[MOST_LAYERS];
    size_t sizes[MOST_LAYERS];
    uint32_t n;
    uint64_t data_end; /* the directory follows */
} decoded;

static void decode_sound(decoded *d, vector *o) {
    tare_error err;
    *d = (decoded){.data_end = TARE_WCODEC_HEADER};
    assert_int_equal(vector_open(o, &err), TARE_OK);
    assert_in_range(o->index.n_layers, 1, MOST_LAYERS);
    for (; d->n < o->index.n_layers; d->n++) {
        const tare_wcodec_layer *l = &o->index.layers[d->n];
        assert_int_equal(decode(&d->bytes[d->n], &d->sizes[d->n], o, d->n, NULL, &err), TARE_OK);
        if (l->coded.offset + l->coded.size > d->data_end)
            d->data_end = l->coded.offset + l->coded.size;
    }
    tare_arena_free(&o->arena);
}

/* Whether layer i can be another one because of a byte: of the directory, or of its own data. */
static bool depends_on(const vector *o, const decoded *d, uint32_t i, size_t byte) {
    const tare_wcodec_layer *l = &o->index.layers[i];
    if (byte < TARE_WCODEC_HEADER || byte >= d->data_end) return true;
    return byte >= l->coded.offset && byte < l->coded.offset + l->coded.size;
}

/* Whether the file is refused; else all that depends on a byte of it must be as it was. */
static bool is_refused(vector *o, const decoded *sound, size_t byte, const char *name) {
    tare_error err;
    bool is_sound = vector_open(o, &err) == TARE_OK;
    if (is_sound && o->index.n_layers != sound->n) fail_msg("%s: byte %zu: layers", name, byte);
    for (uint32_t i = 0; is_sound && i < sound->n; i++) {
        uint8_t *bytes;
        size_t n;
        if (!depends_on(o, sound, i, byte)) continue;
        is_sound = decode(&bytes, &n, o, i, NULL, &err) == TARE_OK;
        if (is_sound && (n != sound->sizes[i] || memcmp(bytes, sound->bytes[i], n) != 0))
            fail_msg("%s: byte %zu changes what is decoded of layer %u", name, byte, i);
        free(bytes);
    }
    tare_arena_free(&o->arena);
    if (!is_sound) says_why(&err);
    return !is_sound;
}

static void check_flips(const char *name, unsigned step) {
    vector o;
    decoded sound;
    o.bytes = vector_read(name, &o.size);
    decode_sound(&sound, &o);
    assert_false(is_refused(&o, &sound, 0, name));
    unsigned n_harmless = 0;
    for (size_t bit = 0; bit < o.size * 8; bit += step) {
        o.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        n_harmless += !is_refused(&o, &sound, bit / 8, name);
        o.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(n_harmless < o.size * 8 / step / 20);
    for (uint32_t i = 0; i < sound.n; i++) free(sound.bytes[i]);
    free(o.bytes);
}

static void flipped_bits_are_found_or_harmless(void **state) {
    (void)state;
    /* TARE_TEST_ALL_BITS is for a slow run now and then. */
    unsigned step = getenv("TARE_TEST_ALL_BITS") ? 1 : 29;
    check_flips("modes.wcodec", step);
    check_flips("trellis.wcodec", step);
    check_flips("files.wcodec", step);
    check_flips("tiles.wcodec", step * 3);
}

static void cut_files_are_refused(void **state) {
    (void)state;
    vector o;
    tare_error err;
    size_t whole;
    o.bytes = vector_read("files.wcodec", &whole);
    for (o.size = 0; o.size < whole; o.size++) {
        tare_status status = vector_open(&o, &err);
        assert_int_not_equal(status, TARE_OK);
        if (o.size >= TARE_WCODEC_HEADER) says_why(&err); /* shorter ones are not opened here */
        tare_arena_free(&o.arena);
    }
    free(o.bytes);
}

int main(int argc, char **argv) {
    const struct CMUnitTest decoding[] = {
        cmocka_unit_test(all_vectors_decode_to_what_is_expected),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_vectors_decode_to_what_is_expected),
        cmocka_unit_test(parts_of_regions_are_as_the_whole),
        cmocka_unit_test(flipped_bits_are_found_or_harmless),
        cmocka_unit_test(cut_files_are_refused),
    };
    if (argc < 2) return cmocka_run_group_tests(tests, NULL, NULL);
    vector_folder = argv[1];
    return cmocka_run_group_tests(decoding, NULL, NULL);
}
