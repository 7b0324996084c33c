/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/options.h: the options of verbs by name and as text, from one table that can be enumerated:
 * for command lines, configuration files and bindings to other languages.
 *
 *     tare_options *options;
 *     status = tare_options_new(&options, TARE_VERB_CONVERT, NULL, &err);
 *     if (status == TARE_OK) status = tare_option_set(options, "type", "q8_0", &err);
 *     if (status == TARE_OK) status = tare_option_set(options, "shard_size", "4G", &err);
 *     if (status == TARE_OK)
 *         status = tare_convert("out", model, tare_options_convert(options), &err);
 *     tare_options_free(options);
 */
#ifndef TARE_EXPERIMENTAL_OPTIONS_H
#define TARE_EXPERIMENTAL_OPTIONS_H

#include <tare/base.h>
#include <tare/convert.h>
#include <tare/experimental/fitting.h>
#include <tare/experimental/packing.h>
#include <tare/experimental/unpack.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tare_verb {
    TARE_VERB_CONVERT = 0,
    TARE_VERB_QUANTIZE = 1,
    TARE_VERB_PACK = 2,
    TARE_VERB_UNPACK = 3,
} tare_verb;

/* What the text of a value looks like. */
typedef enum tare_option_kind {
    TARE_OPTION_BOOL = 0,   /* "true", "false" */
    TARE_OPTION_NUMBER = 1, /* digits */
    TARE_OPTION_SIZE = 2,   /* as tare_size_parse reads it: "4G", "64Ki" */
    TARE_OPTION_REAL = 3,   /* a finite number, with a decimal point in every locale: "0.001" */
    TARE_OPTION_TEXT = 4,   /* anything */
    TARE_OPTION_CHOICE = 5, /* one of `choices` */
    TARE_OPTION_TYPE = 6,   /* the name of a number format: "q4_k" */
    TARE_OPTION_RULE = 7,   /* REGEX=TYPE: "ffn_down=q6_k" */
    TARE_OPTION_RANGE = 8,  /* two reals, MIN:MAX */
    TARE_OPTION_SHARE = 9,  /* of a whole: "0.001" or "0.1%" */
} tare_option_kind;

/* A row of the table. All strings are static. */
typedef struct tare_option_info {
    size_t size;
    const char *name;
    tare_option_kind kind;
    const char *choices;       /* separated by blanks; NULL: any value of the kind */
    const char *default_value; /* as text; "": unset */
    const char *help;          /* what it means, in a line */
    bool is_list;              /* each call adds a value; else it replaces the last one */
} tare_option_info;

TARE_DECLARE_INIT(tare_option_info)

/* Option i of a verb; false beyond the last, or where out->size is not set. What is not text (models,
 * reports, callbacks) has no row: set it in the struct. */
TARE_API bool tare_option_at(tare_option_info *out, tare_verb verb, size_t i);

/* The options of a verb, with copies of all texts. Not for use by two threads at once. */
typedef struct tare_options tare_options;

/* All at their defaults. Free with tare_options_free. ERR_ARG: no such verb; NOMEM. */
TARE_API tare_status tare_options_new(tare_options **out, tare_verb verb,
                                      const tare_allocator *allocator, tare_error *err);
TARE_API void tare_options_free(tare_options *options);

/* Sets an option; '-' in a name counts as '_'. After a failure it has its old value. ERR_ARG: no
 * option of this name, or a value that is not of its kind: err->field is the name, err->what what was
 * expected. Whether options go together is for the verb to say. The texts need not be trusted. */
TARE_API tare_status tare_option_set(tare_options *options, const char *name, const char *value,
                                     tare_error *err);

/* The struct, with what has been set: pass it to the verb, after setting in it what has no row.
 * Valid until tare_options_free; a later tare_option_set changes it. NULL: the options are of
 * another verb (CONVERT and QUANTIZE have the same struct). */
TARE_API tare_convert_options *tare_options_convert(tare_options *options);
TARE_API tare_pack_options *tare_options_pack(tare_options *options);
TARE_API tare_unpack_options *tare_options_unpack(tare_options *options);

/* The context that those structs point to, for what is not text: reports, callbacks. */
TARE_API tare_context *tare_options_context(tare_options *options);

/* For tare_fit_new and tare_fit_choose, valid as the structs above: what types are chosen from, and
 * for what. NULL: the options are of another verb than QUANTIZE; of the target also if none was
 * set. */
TARE_API tare_fit_options *tare_options_fit(tare_options *options);
TARE_API const tare_fit_target *tare_options_target(const tare_options *options);

/* Reads a size: digits, perhaps with a fraction, then nothing, K, M, G or T (decimal) or Ki, Mi, Gi
 * or Ti (binary), and perhaps a B. False: it is none, or it does not fit. */
TARE_API bool tare_size_parse(uint64_t *out, const char *text);

#ifdef __cplusplus
}
#endif
#endif
