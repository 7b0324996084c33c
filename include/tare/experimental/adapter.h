/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/adapter.h: low-rank adapters (LoRA), which are added to a weight matrix W:
 * scale * A * B with A rows x rank and B rank x cols. They come as a PEFT directory, as a
 * safetensors file with one pair, or within an INFQ package.
 */
#ifndef TARE_EXPERIMENTAL_ADAPTER_H
#define TARE_EXPERIMENTAL_ADAPTER_H

#include <tare/base.h>
#include <tare/model.h>
#include <tare/output.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adapters over a model of factors. Immutable after opening: any number of threads may use it.
 * Everything a getter returns is borrowed and lives until tare_adapters_free. */
typedef struct tare_adapter_set tare_adapter_set;

/* What an adapter does to a tensor W. */
typedef enum tare_adapter_kind {
    TARE_ADAPTER_PAIR = 0, /* adds scale * A * B */
    TARE_ADAPTER_SUM = 1,  /* adds scale * A, which has W's shape: a bias */
    TARE_ADAPTER_WHOLE =
        2, /* A, which has W's shape, takes its place: a module that was saved whole */
} tare_adapter_kind;

/* One pair of factors, or what a kind has instead. */
typedef struct tare_adapter {
    tare_str name; /* of a module ("model.layers.0.self_attn.q_proj"), within a package
                            prefixed with the adapter's name and a dot; empty: without a name; of
                            other kinds than PAIR the tensor's own */
    tare_adapter_kind kind;
    uint64_t rows, cols;          /* of the product, or of A */
    uint64_t rank;                /* columns of A, rows of B; 0: no pair */
    double scale;                 /* 1 if not stated */
    bool is_transposed;           /* the transposes of A and B are stored */
    const tare_tensor *a, *b;     /* as they are stored; B is NULL if there is no pair */
    const tare_tensor *magnitude; /* DoRA: how long each row of the sum is made, where is_transposed
                                     each column; NULL: as it comes out */
} tare_adapter;

/* Opens the adapters of a path:
 * - a PEFT directory (adapter_config.json, adapter_model.safetensors), or its safetensors file: A
 * is lora_B, B is lora_A, the scale lora_alpha / r, or lora_alpha / sqrt(r) with use_rslora, after
 *   rank_pattern and alpha_pattern; embeddings, DoRA, biases and modules that were saved whole are
 *   known. Pairs of modules that the configuration gives no factors to are left out, which whoever uses
 *   the set reports ("adapter.not-targeted"). UNSUPPORTED: settings with another meaning, another
 *   method than LoRA;
 * - a safetensors file with the tensors A and B, a and b, or adapter.A and adapter.B, in any case
 * of letters; either may be A, which the shapes tell. CORRUPT: they do not;
 * - a safetensors file of kohya's scripts, of diffusers or of MLX, or MLX's directory
 *   (adapter_config.json, adapters.safetensors). Modules of kohya's are COMPONENT.NAME
 *   ("lora_unet.down_blocks_0_..."), with '_' for dots in NAME. Factors of a convolution are those of
 *   its kernel as a matrix. UNSUPPORTED: LoHa, LoKr and other methods, DoRA without PEFT's
 *   configuration;
 * - an INFQ package: all it has.
 * Of `options` the allocator, limits and report count. */
TARE_API tare_status tare_adapters_open_path(tare_adapter_set **out, const char *path,
                                             const tare_open_options *options, tare_error *err);
TARE_API void tare_adapters_free(tare_adapter_set *set);
/* What a model's tensors are factors of: "PEFT", "kohya", "diffusers", "MLX", or what is not merged:
 * "llama.cpp", whose adapters are loaded beside a model, or a method such as "LoHa". Empty: it is no adapter. Static. */
TARE_API tare_str tare_model_adapter_dialect(const tare_model *model);
TARE_API size_t tare_adapters_count(const tare_adapter_set *set);
/* Pair i in the file's order; NULL beyond the end. */
TARE_API const tare_adapter *tare_adapters_at(const tare_adapter_set *set, size_t i);

/* The model that holds the factors of pair i as they are stored, and the places of A and B among its
 * tensors: they are read like any other tensor; *b is SIZE_MAX if there is no B. NULL beyond the end. */
TARE_API const tare_model *tare_adapter_factors(size_t *a, size_t *b, const tare_adapter_set *set,
                                                size_t i);

/* The adapters that an opened model holds beside its tensors; NULL: none. Borrowed, never to be
 * freed. */
TARE_API const tare_adapter_set *tare_model_adapters(const tare_model *model);

/* Which adapters to use, and how. */
typedef struct tare_adapter_use {
    const tare_adapter_set *set; /* must live as long as what uses it */
    tare_str name;   /* the pairs of this name and those whose name begins with it and a dot; empty:
                        all */
    tare_str target; /* the tensor of a pair without a name */
    double scale;    /* multiplies that of the pairs */
} tare_adapter_use;

/* Whether a pair is one of those. */
TARE_API bool tare_adapter_is_used(const tare_adapter_use *use, const tare_adapter *adapter);

/* `in` with adapters merged, without a file: tensors that change are computed when they are read,
 * in their own type if that is F32, F16 or BF16, else in F32. For what is to be done with a model
 * before it is written, such as tare_llama_translate; a conversion alone merges by itself
 * (tare_convert_options.merges) and rounds once. `in` and the sets must outlive *out. Of `options`
 * the allocator, limits and report count. Errors: ARG: a use names no pair, or a pair has no tensor
 * or one of a different shape; UNSUPPORTED: a factor cannot be decoded. */
TARE_API tare_status tare_adapters_merge(tare_model **out, const tare_model *in,
                                         const tare_adapter_use *uses, size_t n_uses,
                                         const tare_open_options *options, tare_error *err);

/* Writes adapters to their own files, atomically: if the path ends in .safetensors, a single pair
 * as the tensors A and B (with the scale as text under "scale" in the header), else a PEFT
 * directory of all pairs that `use` names. Factors are F32, which loses nothing. ERR_ARG: no such
 * adapter, or a file for several pairs. */
TARE_API tare_status tare_adapters_write(const char *path, const tare_adapter_use *use,
                                         const tare_output_options *output,
                                         const tare_context *context, tare_error *err);

/* The same in the form of a dialect: "peft" and "mlx", which are directories, "diffusers" and "kohya", which
 * are safetensors files. UNSUPPORTED, with the pair: what the form cannot say. That is more than a pair of
 * factors; names of kohya's as any other, which the model alone could tell; a pair without a component
 * for diffusers and kohya, pairs of several components for the others; several ranks or scales for MLX. */
TARE_API tare_status tare_adapters_write_as(const char *path, const char *dialect,
                                            const tare_adapter_use *use,
                                            const tare_output_options *output,
                                            const tare_context *context, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
