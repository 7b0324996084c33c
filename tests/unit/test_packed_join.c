/* SPDX-License-Identifier: MIT
 *
 * Parts of a .wcodec as files from a stranger. Faults guarded against: a part that is cut off and taken for
 * whole, a layer that is there twice or not at all, parts of different wholes, bytes of the wrong part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "format/packed.h"
#include "ops/digest.h"
#include "unit/wcodec_vector.h"

enum { NUMBER = 4 + 32, COUNTS = 12, TAIL = 24 };

#define VECTOR "modes.wcodec"

typedef struct part {
    uint8_t *bytes;
    size_t size, container, index_at, n_layers;
} part;

/* A container of the vectors as a part of a whole of `n_all` layers (0: of its own), of which it has those from
 * `first` on. */
static part part_of(const char *name, uint32_t n_all, uint32_t first) {
    size_t size;
    uint8_t *bytes = vector_read(name, &size);
    const tare_limits limits = tare_limits_default();
    uint64_t index_at, n_index;
    vector v = {.bytes = bytes, .size = size};
    assert_int_equal(tare_wcodec_find_index(&index_at, &n_index, bytes, size, &limits, NULL),
                     TARE_OK);
    assert_int_equal(vector_open(&v, NULL), TARE_OK);
    const uint32_t n = v.index.n_layers;
    tare_arena_free(&v.arena);
    part p = {calloc(1, size + n * NUMBER + COUNTS + TAIL), size + n * NUMBER + COUNTS + TAIL, size,
              (size_t)index_at, n};
    assert_non_null(p.bytes);
    memcpy(p.bytes, bytes, size);
    free(bytes);
    uint8_t *at = p.bytes + size;
    for (uint32_t i = 0; i < n; i++, at += NUMBER) {
        tare_store_le32(at, first + i);
        memset(at + 4, (int)(first + i), 32);
    }
    tare_store_le32(at, n_all ? n_all : n);
    at += COUNTS;
    tare_store_le64(at, size);
    memcpy(at + 16, "WCPART\0\1", 8);
    return p;
}

static tare_status add(tare_packed_join *join, const uint8_t *bytes, size_t size, tare_error *err) {
    tare_reader reader;
    tare_reader_memory(&reader, bytes, size, "part");
    const tare_status status = tare_packed_join_add(join, &reader, err);
    tare_reader_close(&reader);
    return status;
}

static tare_packed_join *new_join(void) {
    const tare_limits limits = tare_limits_default();
    tare_packed_join *join;
    assert_int_equal(tare_packed_join_new(&join, &limits, NULL, NULL), TARE_OK);
    return join;
}

static tare_status plan(tare_packed_join *join, tare_error *err) {
    return tare_packed_join_plan(join, tare_digest_of_tensors, err);
}

/* What is to be moved lies in the parts, and fills the output. */
static void check_moves(const tare_packed_join *join, const part *parts) {
    const tare_packed_joined whole = tare_packed_join_result(join);
    uint64_t at = whole.n_header;
    for (size_t i = 0; i < whole.n_moves; i++) {
        const tare_packed_move *m = &whole.moves[i];
        assert_int_equal(m->to, at);
        assert_true(m->from + m->n <= parts[m->part].container);
        at += m->n;
    }
    assert_int_equal(at, whole.index_at);
}

/* What the plan of a join of parts says. */
static tare_status plan_of(part *const *parts, size_t n, tare_error *err) {
    tare_packed_join *join = new_join();
    for (size_t i = 0; i < n; i++)
        assert_int_equal(add(join, parts[i]->bytes, parts[i]->size, NULL), TARE_OK);
    const tare_status status = plan(join, err);
    if (status == TARE_OK) {
        part both[2] = {*parts[0], *parts[n - 1]};
        check_moves(join, both);
    }
    tare_packed_join_free(join);
    return status;
}

static void parts_become_one(void **state) {
    (void)state;
    part a = part_of(VECTOR, 0, 0), b = part_of("trellis.wcodec", 0, 0);
    const uint32_t n = (uint32_t)(a.n_layers + b.n_layers);
    free(a.bytes);
    free(b.bytes);
    a = part_of(VECTOR, n, 0);
    b = part_of("trellis.wcodec", n, (uint32_t)a.n_layers);
    tare_error err;
    assert_int_equal(plan_of((part *const[]){&a, &b}, 2, NULL), TARE_OK);
    assert_int_equal(plan_of((part *const[]){&a}, 1, &err), TARE_ERR_CORRUPT);
    assert_non_null(strstr(err.what, "no part has"));
    assert_int_equal(plan_of((part *const[]){&a, &a}, 2, &err), TARE_ERR_CORRUPT);
    assert_non_null(strstr(err.what, "several have"));
    free(a.bytes);
    free(b.bytes);
}

static void cut_at_every_byte(void **state) {
    (void)state;
    part p = part_of(VECTOR, 0, 0);
    for (size_t n = 0; n < p.size; n++) {
        tare_error err = TARE_ERROR_NONE;
        tare_packed_join *join = new_join();
        assert_int_not_equal(add(join, p.bytes, n, &err), TARE_OK);
        assert_true(err.what && err.what[0] && err.offset != TARE_NO_OFFSET);
        tare_packed_join_free(join);
    }
    free(p.bytes);
}

/* Each bit of what is around the layers: refused, or it was of a digest. */
static void every_bit_turned(void **state) {
    (void)state;
    part p = part_of(VECTOR, 0, 0);
    for (size_t at = 0; at < p.size; at++) {
        if (at == TARE_WCODEC_HEADER) at = p.index_at;
        for (unsigned bit = 0; bit < 8; bit++) {
            tare_error err = TARE_ERROR_NONE;
            tare_packed_join *join = new_join();
            p.bytes[at] ^= (uint8_t)(1u << bit);
            tare_status status = add(join, p.bytes, p.size, &err);
            if (status == TARE_OK) status = plan(join, &err);
            if (status == TARE_OK)
                check_moves(join, &p);
            else
                assert_true(err.what && err.what[0]);
            assert_true(status != TARE_OK || at >= p.container);
            p.bytes[at] ^= (uint8_t)(1u << bit);
            tare_packed_join_free(join);
        }
    }
    free(p.bytes);
}

static void parts_of_other_wholes(void **state) {
    (void)state;
    part a = part_of(VECTOR, 100, 0), b = part_of(VECTOR, 101, (uint32_t)a.n_layers);
    tare_error err;
    tare_packed_join *join = new_join();
    assert_int_equal(add(join, a.bytes, a.size, NULL), TARE_OK);
    assert_int_equal(add(join, b.bytes, b.size, &err), TARE_ERR_CORRUPT);
    assert_non_null(strstr(err.what, "not those of the first part"));
    tare_packed_join_free(join);
    free(a.bytes);
    free(b.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_become_one),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(every_bit_turned),
        cmocka_unit_test(parts_of_other_wholes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
