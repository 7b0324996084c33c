/* SPDX-License-Identifier: MIT
 *
 * The table of options. Choices are in the order of the enum that they stand for. */
#include "ops/options/option_table.h"

#include <string.h>

#define CONVERT  (1u << TARE_VERB_CONVERT | 1u << TARE_VERB_QUANTIZE)
#define QUANTIZE (1u << TARE_VERB_QUANTIZE)
#define PACK     (1u << TARE_VERB_PACK)
#define UNPACK   (1u << TARE_VERB_UNPACK)

#define INFO(name, kind, choices, value, help, is_list)                                            \
    { sizeof(tare_option_info), name, TARE_OPTION_##kind, choices, value, help, is_list }
/* An option whose kind says how it is read. */
#define ROW(verbs, name, kind, member, value, help)                                                \
    {                                                                                              \
        INFO(name, kind, NULL, value, help, false), verbs, offsetof(tare_options, member), NULL,   \
            NULL                                                                                   \
    }
#define CHOICE(verbs, name, words, member, value, help)                                            \
    {                                                                                              \
        INFO(name, CHOICE, words, value, help, false), verbs, offsetof(tare_options, member),      \
            "one of: " words, NULL                                                                 \
    }
/* One with a function. */
#define OWN(verbs, name, kind, function, value, help, is_list)                                     \
    { INFO(name, kind, NULL, value, help, is_list), verbs, 0, NULL, tare_option_##function }
#define FLAG(verbs, name, member, help) ROW(verbs, name, BOOL, member, "false", help)

#define OUTPUT(verbs)                                                                              \
    FLAG(verbs, "force", output.force, "replace an existing output"),                              \
        FLAG(verbs, "strict", output.strict, "what is lost is an error"),                          \
        FLAG(verbs, "dry_run", output.dry_run, "check and report, and write nothing"),             \
        FLAG(verbs, "no_sync", output.no_sync, "do not wait for the output to reach the disk"),    \
        ROW(verbs, "threads", NUMBER, context.threads, "0",                                        \
            "threads; 0: as many as this process may use")
#define EFFORT(verbs, member)                                                                      \
    CHOICE(verbs, "effort", "fast full", member, "fast",                                           \
           "full: try every mode, for a smaller .wcodec")

static const tare_option_row rows[] = {
    ROW(CONVERT, "to", TEXT, convert.to, "", "the output's format; unset: by its suffix"),
    ROW(CONVERT, "type", TYPE, convert.type, "",
        "number format of every float tensor with two or more dimensions, except norms"),
    OWN(CONVERT, "tensor_type", RULE, add_rule, "",
        "number format of the tensors whose name matches; the first match wins", true),
    OWN(QUANTIZE, "mix", TEXT, set_mix, "", "the mix of number formats, by name or number", false),
    ROW(QUANTIZE, "output_tensor_type", TYPE, mix.output, "", "number format of the output matrix"),
    ROW(QUANTIZE, "token_embedding_type", TYPE, mix.embedding, "",
        "number format of the token embeddings"),
    FLAG(QUANTIZE, "pure", mix.is_pure, "the mix's main type for every tensor, without exceptions"),
    FLAG(QUANTIZE, "leave_output_tensor", mix.leave_output, "leave the output matrix as it is"),
    FLAG(QUANTIZE, "allow_requantize", mix.allow_requantize,
         "quantize tensors that are already quantized, which loses more than starting from the "
         "original"),
    ROW(QUANTIZE, "target_size", SIZE, target.file_bytes, "0",
        "instead of a mix: types are chosen for an output of this size at most; 0: none"),
    ROW(QUANTIZE, "target_bpw", REAL, target.bits_per_weight, "0",
        "or for this many bits per weight of tensors; 0: none"),
    ROW(QUANTIZE, "target_damage", REAL, target.damage, "0",
        "or for the smallest output whose predicted damage is at most this; 0: none"),
    OWN(QUANTIZE, "types", TEXT, set_fit_types, "",
        "with a target: the number formats to choose from, with commas; unset: all that are worth "
        "it",
        false),
    OWN(QUANTIZE, "sensitivity", TEXT, set_sensitivities, "",
        "with a target: measured sensitivities, as the text of their file", false),
    CHOICE(CONVERT, "endian", "keep little big", convert.order, "keep",
           "byte order (default: keep, the input's)"),
    CHOICE(CONVERT, "quality", "default best", convert.quality, "default",
           "best: a smaller error in the same format, slower"),
    ROW(CONVERT, "shard_size", SIZE, convert.shard_size, "0",
        "make OUT a directory of files of at most this size, with an index: "
        "model-00001-of-00003.safetensors; for GGUF STEM-00001-of-00003.gguf"),
    ROW(CONVERT, "align", NUMBER, convert.alignment, "0",
        "alignment of tensor data in bytes (default: 0, the input's, or the format's)"),
    FLAG(CONVERT, "weighs_output", convert.weighs_output,
         "weigh an output matrix that the importance matrix lacks by what the last layer reads"),
    FLAG(CONVERT, "keep_split", convert.keep_split,
         "make OUT a directory of as many files as IN has, with the same tensors in each"),
    FLAG(CONVERT, "opaque", convert.opaque,
         "carry tensors whose type the target lacks as stored bytes, to be restored on the way "
         "back; "
         "GGUF to Hugging Face: under their own names, too"),
    FLAG(CONVERT, "verify", convert.verify, "read the result back and compare"),
    OUTPUT(CONVERT),
    CHOICE(CONVERT, "compat", "none mantle", mcf.compat, "none",
           "MCF: encode q8, q4, k6, k4, k3 and k2 byte for byte as mantle does, MCF's own program, "
           "and "
           "store tokenizer_config.json as it does (default: none)"),
    CHOICE(CONVERT, "dedup", "tied all none", mcf.dedup, "tied",
           "MCF: which tensors with equal bytes are stored once (default: tied, embedding and "
           "output matrix, and what the input stores once)"),
    OWN(CONVERT, "clip", RANGE, set_clip, "",
        "MCF: values outside these bounds become the nearest bound before they are encoded "
        "(default: no bounds)",
        false),
    OWN(CONVERT, "outlier_threshold", REAL, set_outlier_threshold, "6",
        "INFQ: elements whose magnitude is above this are stored separately, as f16, and do not "
        "widen the scale of their row; 0: none (default: 6)",
        false),
    OWN(CONVERT, "outliers", SHARE, set_outliers, "",
        "INFQ: store the largest elements of each tensor instead, this share of it: 0.1%", false),
    EFFORT(CONVERT, wcodec.effort),

    EFFORT(PACK, pack.effort),
    CHOICE(PACK, "mode", "smallest raw constant zstd direct structured", pack.mode, "smallest",
           "store every segment in this form where possible, for tests and troubleshooting "
           "(default: smallest)"),
    OWN(PACK, "segment", SIZE, set_segment, "",
        "values of a segment, which is decoded as a whole: a power of two from 16Ki to 64Mi "
        "(default: "
        "what suits the type)",
        false),
    ROW(PACK, "directory", TEXT, pack.directory, "",
        "pack everything in this directory, from which the model was opened"),
    OWN(PACK, "exclude", TEXT, add_exclude, "",
        "files and folders of the directory that are left out: a shell pattern", true),
    FLAG(PACK, "for_gpu", pack.is_for_gpu, "only forms that a GPU can decode without the CPU"),
    ROW(PACK, "target_bpw", REAL, lossy.target_bpw, "0",
        "with loss: bits per weight that tensors take, at most; 0: without loss"),
    ROW(PACK, "target_size", SIZE, lossy.target_bytes, "0",
        "with loss: bytes of the output, at most; 0: without loss"),
    ROW(PACK, "target_damage", REAL, lossy.target_damage, "0",
        "with loss: the smallest output whose predicted damage is at most this; 0: without loss"),
    OWN(PACK, "sensitivity", TEXT, set_sensitivities, "",
        "with loss: measured sensitivities, as the text of their file", false),
    OUTPUT(PACK),

    ROW(UNPACK, "file", TEXT, unpack.file, "", "of several files this one alone"),
    FLAG(UNPACK, "salvage", unpack.salvage, "damaged segments become zeros"),
    OWN(UNPACK, "planes", NUMBER, set_planes, "",
        "groups of uncoded bits to read, for a coarse model; unset: all", false),
    OUTPUT(UNPACK),
};

const tare_option_row *tare_option_row_at(tare_verb verb, size_t i) {
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if ((unsigned)verb <= TARE_VERB_UNPACK && rows[k].verbs >> verb & 1 && i-- == 0)
            return &rows[k];
    return NULL;
}

bool tare_option_at(tare_option_info *out, tare_verb verb, size_t i) {
    const tare_option_row *row = tare_option_row_at(verb, i);
    if (!row || !out || tare_result_check(out, NULL) != TARE_OK) return false;
    tare_result_write(out, &row->info, sizeof row->info);
    return true;
}
