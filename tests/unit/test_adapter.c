/* SPDX-License-Identifier: MIT
 *
 * Adapters: sums in another order than the one that is written down, or that differ by CPU level or
 * by how a product is cut; configurations that are cut or flipped anywhere and crash the reader or
 * are taken for whole ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "convert_help.h"

#include <tare/tare.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "encoding/low_rank.h"

/* ---- sums ------------------------------------------------------------------------------------ */

enum { ROWS = 11, COLS = 203, RANK = 7 };

static float next_float(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)((int64_t)(*state >> 40) - (1 << 23)) * 0x1p-23f;
}

typedef struct factors {
    float w[ROWS * COLS], a[ROWS * RANK], b[RANK * COLS], panels[256 * RANK];
} factors;

static void fill(factors *f) {
    uint64_t state = 42;
    assert_true(tare_panels_size(RANK, COLS) * sizeof(float) <= sizeof f->panels);
    memset(f->panels, 0, sizeof f->panels);
    for (size_t i = 0; i < ROWS * COLS; i++) f->w[i] = next_float(&state);
    for (size_t i = 0; i < ROWS * RANK; i++) f->a[i] = next_float(&state);
    for (size_t i = 0; i < RANK * COLS; i++) {
        f->b[i] = next_float(&state);
        f->panels[tare_panels_at(RANK, i / COLS, i % COLS)] = f->b[i];
    }
}

static uint64_t digest(const float *values, size_t n) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = tare_f32_bits(values[i]);
        for (int k = 0; k < 4; k++) h = (h ^ (bits >> 8 * k & 255)) * UINT64_C(0x100000001b3);
    }
    return h;
}

/* The order as low_rank.h has it, each step rounded by itself. */
static void add_slowly(factors *f, float scale) {
    for (size_t o = 0; o < ROWS; o++)
        for (size_t i = 0; i < COLS; i++) {
            volatile float sum = 0;
            for (size_t r = 0; r < RANK; r++) {
                volatile float product = f->a[o * RANK + r] * f->b[r * COLS + i];
                sum = sum + product;
            }
            volatile float scaled = scale * sum;
            f->w[o * COLS + i] = f->w[o * COLS + i] + scaled;
        }
}

static void test_order_of_sums(void **state) {
    (void)state;
    static const unsigned levels[] = {TARE_CPU_NONE, TARE_CPU_AVX2,
                                      TARE_CPU_AVX2 | TARE_CPU_AVX512};
    static const size_t cuts[] = {COLS, 1, 17, 64, 65, 100};
    static factors f, slow;
    const float scale = -0.3f;
    fill(&slow);
    add_slowly(&slow, scale);
    assert_int_equal(digest(slow.w, ROWS * COLS), UINT64_C(0x0781997701160fc8));
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
        if (tare_cpu_mask_limit(levels[l]) != levels[l]) continue;
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
            fill(&f);
            const tare_low_rank product = {f.a, f.panels, RANK, scale};
            for (size_t at = 0; at < COLS; at += cuts[c]) {
                const size_t n = COLS - at < cuts[c] ? COLS - at : cuts[c];
                tare_low_rank_add(f.w + at, COLS, &product, ROWS, at, n);
            }
            assert_memory_equal(f.w, slow.w, sizeof f.w);
        }
    }
    tare_cpu_mask_limit(tare_cpu_mask_detect());
}

/* ---- configurations -------------------------------------------------------------------------- */

static const char config[] =
    "{\"peft_type\": \"LORA\", \"r\": 1, \"lora_alpha\": 3.0, \"use_rslora\": false,"
    " \"rank_pattern\": {\"x.\\\\d+\": 2}, \"alpha_pattern\": {\"m.(q|k)\": 5, \"q\": 7},"
    " \"bias\": \"none\", \"modules_to_save\": []}";

static const char *write_adapter(const char *text, size_t n) {
    static const char header[] =
        "{\"m.q.lora_A.weight\":{\"dtype\":\"F32\",\"shape\":[1,3],\"data_offsets\":[0,12]},"
        "\"m.q.lora_B.weight\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[12,20]}}";
    const char *folder = help_path("lora");
    uint8_t length[8] = {(uint8_t)(sizeof header - 1)}, data[20] = {0};
    mkdir(folder, 0777);
    FILE *f = fopen(help_path("lora/adapter_model.safetensors"), "wb");
    assert_non_null(f);
    fwrite(length, 1, 8, f);
    fwrite(header, 1, sizeof header - 1, f);
    fwrite(data, 1, sizeof data, f);
    fclose(f);
    f = fopen(help_path("lora/adapter_config.json"), "wb");
    assert_non_null(f);
    fwrite(text, 1, n, f);
    fclose(f);
    return folder;
}

static void test_config(void **state) {
    (void)state;
    tare_adapter_set *set;
    const char *folder = write_adapter(config, sizeof config - 1);
    assert_int_equal(tare_adapters_open_path(&set, folder, NULL, NULL), TARE_OK);
    assert_int_equal(tare_adapters_count(set), 1);
    const tare_adapter *a = tare_adapters_at(set, 0);
    assert_true(a->scale == 5.0 && a->rank == 1 && a->rows == 2 && a->cols == 3);
    assert_null(tare_adapters_at(set, 1));
    size_t at[2];
    const tare_model *parts = tare_adapter_factors(&at[0], &at[1], set, 0);
    assert_ptr_equal(tare_model_tensor(parts, at[0]), a->a);
    assert_ptr_equal(tare_model_tensor(parts, at[1]), a->b);
    assert_null(tare_adapter_factors(&at[0], &at[1], set, 1));
    tare_adapters_free(set);
    tare_adapters_free(NULL);
}

static void test_cut_config(void **state) {
    (void)state;
    tare_adapter_set *set;
    tare_error err;
    for (size_t n = 0; n < sizeof config - 1; n++) {
        const char *folder = write_adapter(config, n);
        assert_int_not_equal(tare_adapters_open_path(&set, folder, NULL, &err), TARE_OK);
        assert_null(set);
        assert_true(err.offset != TARE_NO_OFFSET);
    }
}

static void test_flipped_config(void **state) {
    (void)state;
    char text[sizeof config];
    tare_error err;
    for (size_t i = 0; i < sizeof config - 1; i++) {
        tare_adapter_set *set;
        memcpy(text, config, sizeof text);
        text[i] = (char)(text[i] ^ (1 << i % 8));
        const char *folder = write_adapter(text, sizeof text - 1);
        tare_status status = tare_adapters_open_path(&set, folder, NULL, &err);
        assert_true((status == TARE_OK) == (set != NULL));
        tare_adapters_free(set);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_sums),
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_cut_config),
        cmocka_unit_test(test_flipped_config),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
