/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/schemes.h: packed weights as inference servers and MLX read them: codes, scales and zero points
 * in tensors of their own, and a config.json that says so. A model becomes one whose tensors are
 * those parts; writing it as a Hugging Face directory (tare/convert.h) is all that is left to do.
 *
 *     tare_scheme_options o = tare_scheme_options_default();
 *     o.scheme = "w4a16:g64";
 *     tare_scheme_apply(&packed, model, &o, &err);
 *     tare_convert("out", packed, &hugging_face, &err);
 *     tare_model_free(packed);
 */
#ifndef TARE_EXPERIMENTAL_SCHEMES_H
#define TARE_EXPERIMENTAL_SCHEMES_H

#include <tare/base.h>
#include <tare/importance.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tare_scheme_info {
    size_t size;
    const char *name;        /* "w4a16" */
    const char *description; /* a few words */
} tare_scheme_info;

TARE_DECLARE_INIT(tare_scheme_info)

/* Scheme i of the table; false beyond the end, or where out->size is not set. */
TARE_API bool tare_scheme_at(tare_scheme_info *out, size_t i);
/* Whether a text names a scheme, whatever follows its name after a colon. */
TARE_API bool tare_scheme_is_named(const char *text);
/* The format that whoever reads a scheme wants: "hf" or "safetensors"; NULL: it names none. */
TARE_API const char *tare_scheme_format(const char *text);

/* One REGEX=SCHEME rule: an expression (tare/experimental/pattern.h), matched anywhere in a tensor's name. */
typedef struct tare_scheme_rule {
    const char *pattern;
    const char *scheme; /* "none": the tensor stays as it is */
} tare_scheme_rule;

typedef struct tare_scheme_options {
    size_t size;
    const tare_context *context; /* NULL: the defaults */
    const char *scheme; /* a name, and after colons: gN, the numbers that share a scale; channel, a
                           scale a row; rtn, the bytes of the library that defines the scheme,
                           instead of a search for the scales of least error */
    const tare_scheme_rule *rules; /* first match wins, before `scheme` */
    size_t n_rules;
    const tare_importance *importance; /* weighs the errors; must outlive the model */
    bool strict; /* a weight that the scheme is for and cannot hold is an error */
} tare_scheme_options;

TARE_DECLARE_INIT(tare_scheme_options)

/* `in` with its matrices packed, computed when they are read; `in` must outlive *out. Which they are
 * follows from their names, as Hugging Face has them: attention and feed-forward layers, for MLX
 * embeddings, too. What stays as it is although it is one of them is reported by name. ARG: an unknown
 * scheme, a rule that matches nothing, importance of another model; UNSUPPORTED: nothing can be packed,
 * or there is no config.json. For ComfyUI, matrices of numbered blocks, and no config.json is needed. */
TARE_API tare_status tare_scheme_apply(tare_model **out, const tare_model *in,
                                       const tare_scheme_options *options, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
