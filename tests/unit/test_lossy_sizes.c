/* SPDX-License-Identifier: MIT
 *
 * Guards against: files with loss above their target or far below it without a word; more damage in
 * more room, also where all tensors leave the trellis; numbers that lost more than was predicted;
 * estimates far from what is written; targets between 8 bits and no loss that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <tare/build.h>
#include <tare/experimental/packing.h>

#include "base/bytes.h"
#include "base/str.h"
#include "temp_folder.h"

enum { COLS = 128, MOST_ROWS = 512, MOST = MOST_ROWS * COLS };

static float uniform(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)(*state >> 40) * 0x1p-24f;
}

/* About normal, some of them much larger: their share and size is what tensors differ by. */
static float number(uint64_t *state, float share, float size) {
    float sum = -6;
    for (unsigned i = 0; i < 12; i++) sum += uniform(state);
    return uniform(state) < share ? sum * size : sum;
}

typedef struct tensor {
    const char *name;
    uint64_t rows;
    bool is_bf16;
    float share, size;
    float numbers[MOST];
    uint8_t bytes[4 * MOST];
} tensor;

static tensor tensors[] = {
    {.name = "model.layers.0.mlp.up_proj.weight", .rows = 512},
    {.name = "model.layers.0.mlp.down_proj.weight", .rows = 384, .share = 1e-3f, .size = 30},
    {.name = "model.layers.0.self_attn.q_proj.weight", .rows = 256, .share = 1e-2f, .size = 5},
    {.name = "model.layers.0.self_attn.o_proj.weight", .rows = 256, .is_bf16 = true},
};
enum { N = sizeof tensors / sizeof *tensors };

/* Normal numbers of the same size everywhere. */
static tensor twins[] = {{.name = "a", .rows = 128},
                         {.name = "b", .rows = 128},
                         {.name = "c", .rows = 128},
                         {.name = "d", .rows = 128}};
enum { N_TWINS = sizeof twins / sizeof *twins };

static uint64_t n_weights(void) {
    uint64_t n = 0;
    for (unsigned i = 0; i < N; i++) n += tensors[i].rows * COLS;
    return n;
}

static void fill(tensor *t, uint64_t *state) {
    for (uint64_t i = 0; i < t->rows * COLS; i++) {
        t->numbers[i] = number(state, t->share, t->size);
        uint32_t bits = tare_f32_bits(t->numbers[i]);
        if (t->is_bf16) {
            bits &= 0xffff0000u;
            t->numbers[i] = tare_f32_of_bits(bits);
            tare_store_le16(t->bytes + 2 * i, (uint16_t)(bits >> 16));
        } else {
            tare_store_le32(t->bytes + 4 * i, bits);
        }
    }
}

static tare_model *make(tensor *list, unsigned n) {
    tare_builder *b;
    tare_model *m;
    uint64_t state = 1;
    assert_int_equal(tare_builder_new(&b, NULL, NULL), TARE_OK);
    for (unsigned i = 0; i < n; i++) {
        const uint64_t dims[2] = {list[i].rows, COLS};
        tare_build_tensor t = tare_build_tensor_default();
        fill(&list[i], &state);
        t.name = (tare_str){list[i].name, strlen(list[i].name)};
        t.encoding = tare_encoding_get(list[i].is_bf16 ? TARE_ENCODING_BF16 : TARE_ENCODING_F32);
        t.dims = dims;
        t.n_dims = 2;
        t.planes[0] = list[i].bytes;
        assert_int_equal(tare_builder_add_tensor(b, &t, NULL), TARE_OK);
    }
    assert_int_equal(tare_builder_finish(&m, b, NULL), TARE_OK);
    return m;
}

/* What came out for a target. */
typedef struct result {
    tare_pack_summary sum;
    bool is_finest;
} result;

static result pack(const tare_model *m, const tare_lossy_options *lossy, bool dry_run) {
    tare_pack_options o = tare_pack_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    result r = {.sum = tare_pack_summary_default()};
    tare_error err = {0};
    context.report = tare_report_new();
    assert_non_null(context.report);
    o.lossy = lossy;
    output.force = output.no_sync = true;
    output.dry_run = dry_run;
    context.threads = 2;
    if (tare_pack(&r.sum, temp_path("m.wcodec"), m, &o, &err) != TARE_OK)
        fail_msg("%g bits, %g damage: %s", lossy->target_bpw, lossy->target_damage, err.what);
    for (size_t i = 0; i < tare_report_count(context.report); i++)
        r.is_finest |= strcmp(tare_report_at(context.report, i)->code, "pack.finest") == 0;
    tare_report_free(context.report);
    return r;
}

static result pack_bits(const tare_model *m, double bits, bool dry_run) {
    tare_lossy_options lossy = tare_lossy_options_default();
    lossy.target_bpw = bits;
    return pack(m, &lossy, dry_run);
}

/* Squared errors of the file's numbers over the squares of the numbers, summed over tensors. */
static double measured_loss(void) {
    static float got[MOST];
    tare_model *m;
    double sum = 0;
    assert_int_equal(tare_open_path(&m, temp_path("m.wcodec"), NULL, NULL), TARE_OK);
    for (unsigned i = 0; i < N; i++) {
        double error = 0, energy = 0;
        assert_int_equal(tare_tensor_rows_f32(got, m, i, 0, tensors[i].rows, NULL), TARE_OK);
        for (uint64_t k = 0; k < tensors[i].rows * COLS; k++) {
            const double x = (double)tensors[i].numbers[k], e = (double)got[k] - x;
            error += e * e;
            energy += x * x;
        }
        sum += error / energy;
    }
    tare_model_free(m);
    return sum;
}

static const double targets[] = {1.5, 2, 2.5, 3,  3.5, 4,  5,  5.6, 6,  6.5, 7,
                                 7.5, 8, 9,   10, 11,  12, 14, 16,  18, 20,  22};
enum { N_TARGETS = sizeof targets / sizeof *targets };

static void sizes_are_met_and_more_room_is_less_damage(void **state) {
    (void)state;
    tare_model *m = make(tensors, N);
    double damage = 1e30, loss = 1e30;
    for (unsigned i = 0; i < N_TARGETS; i++) {
        const result r = pack_bits(m, targets[i], false);
        const double now = measured_loss(), bits = r.sum.bits_per_weight;
        if (bits > targets[i] || (!r.is_finest && bits < 0.99 * targets[i]))
            fail_msg("%g bits became %g", targets[i], bits);
        if (r.sum.damage > damage || (now > loss && loss > 1e-9))
            fail_msg("%g bits: damage %g after %g, loss %g after %g", targets[i], r.sum.damage,
                     damage, now, loss);
        damage = r.sum.damage;
        loss = now;
    }
    assert_true(damage < 1e-7);
    tare_model_free(m);
}

static void estimates_are_near_what_is_written(void **state) {
    (void)state;
    tare_model *m = make(tensors, N);
    for (unsigned i = 0; i < N_TARGETS; i += 3) {
        const result dry = pack_bits(m, targets[i], true), r = pack_bits(m, targets[i], false);
        const double bits = dry.sum.bits_per_weight / r.sum.bits_per_weight;
        if (bits < 0.98 || bits > 1.02) fail_msg("%g bits: %g of the size", targets[i], bits);
        const double damage = dry.sum.damage / r.sum.damage;
        if (damage < 0.8 || damage > 1.25) fail_msg("%g bits: %g of it", targets[i], damage);
    }
    tare_model_free(m);
}

/* The other way around: no more damage than asked for, and not much less. */
static void damages_are_met(void **state) {
    (void)state;
    tare_model *m = make(tensors, N);
    uint64_t size = 0;
    static const double wanted[] = {0.3, 0.03, 1e-3, 1e-4, 1e-5};
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        tare_lossy_options lossy = tare_lossy_options_default();
        lossy.target_damage = wanted[i];
        const result r = pack(m, &lossy, false);
        if (r.sum.damage > wanted[i] || r.sum.damage < 0.9 * wanted[i])
            fail_msg("%g became %g", wanted[i], r.sum.damage);
        assert_true(r.sum.to_bytes > size);
        size = r.sum.to_bytes;
    }
    tare_model_free(m);
}

/* With room for all, the numbers are the original ones. */
static void enough_room_is_no_loss(void **state) {
    (void)state;
    tare_model *m = make(tensors, N);
    const result r = pack_bits(m, 32, false);
    assert_true(r.is_finest && r.sum.n_lossy == 0 && r.sum.damage == 0);
    assert_true(measured_loss() == 0);
    assert_true(8 * r.sum.to_bytes < 32 * n_weights());
    tare_model_free(m);
}

/* With `n` tensors, which all would be rounded from the same factor on, for more bits and no less
 * damage. A file may be `short_of` bits: where more of them would not be less damage. */
static void cross_the_end_of_the_trellis(unsigned n, double short_of) {
    tare_model *m = make(twins, n);
    double damage = 1;
    for (double bits = 5.6; bits < 6.1; bits += 0.2) {
        const tare_pack_summary sum = pack_bits(m, bits, true).sum;
        if (sum.bits_per_weight > bits || sum.bits_per_weight < bits - short_of)
            fail_msg("%g bits became %g", bits, sum.bits_per_weight);
        if (sum.damage > 1.01 * damage)
            fail_msg("%g bits: damage %g after %g", bits, sum.damage, damage);
        damage = sum.damage;
    }
    tare_model_free(m);
}

static void more_room_is_less_damage_where_the_trellis_ends(void **state) {
    (void)state;
    cross_the_end_of_the_trellis(N_TWINS, 0.1);
    cross_the_end_of_the_trellis(1, 0.3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_met_and_more_room_is_less_damage),
        cmocka_unit_test(estimates_are_near_what_is_written),
        cmocka_unit_test(damages_are_met),
        cmocka_unit_test(enough_room_is_no_loss),
        cmocka_unit_test(more_room_is_less_damage_where_the_trellis_ends),
    };
    return cmocka_run_group_tests(tests, make_temp_folder, remove_temp_folder);
}
