/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: models in MLX's form on their way to transformers' and back. The input is a byte that says what for,
 * the size of config.json, u16 (little-endian), that file and model.safetensors. It is refused with a text, or gets
 * the other names: then every tensor can be read. */
#include "map_folder.h"
#include "mlx/mlx_plain.h"

enum { FOR_MLX = 3 };

static tare_status map(tare_model **out, const tare_model *in, const void *how,
                       const tare_context *context, tare_error *err) {
    const int *use = how;
    const char *what;
    TARE_TRY(tare_mlx_left_out(&what, in, err));
    TARE_TRY(*use == FOR_MLX ? tare_mlx_formed(out, in, context, err)
                             : tare_mlx_plain(out, in, (tare_mlx_use_of)*use, context, err));
    if (*out) FUZZ_CHECK(tare_mlx_changed(*out, in) <= in->catalog.n_tensors);
    return TARE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3) return 0;
    const int use = data[0] % (FOR_MLX + 1);
    const size_t most = size - 3, wish = (size_t)(data[1] | data[2] << 8);
    const size_t n = wish < most ? wish : most;
    scratch_clear();
    scratch_write("config.json", data + 3, n);
    scratch_write("model.safetensors", data + 3 + n, most - n);
    fuzz_map_at(scratch_folder(), map, &use, TARE_ERR_CORRUPT); /* scales that are no numbers */
    return 0;
}
