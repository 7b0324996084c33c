/* SPDX-License-Identifier: MIT
 *
 * Types of whisper.cpp's models, after its whisper_model_load: what has no type of its own there is
 * created in that of the file. */
#include "format/whisper/whisper.h"

const char *const tare_whisper_numbers[TARE_WHISPER_NUMBERS] = {"whisper.vocab_size",
                                                                "whisper.audio.context_length",
                                                                "whisper.audio.embedding_length",
                                                                "whisper.audio.head_count",
                                                                "whisper.audio.block_count",
                                                                "whisper.text.context_length",
                                                                "whisper.text.embedding_length",
                                                                "whisper.text.head_count",
                                                                "whisper.text.block_count",
                                                                "whisper.mel_count",
                                                                TARE_WHISPER_FILE_TYPE};

static const struct {
    tare_encoding_id encoding;
    uint32_t file_type;
} types[] = {
    {TARE_ENCODING_F32, 0},     {TARE_ENCODING_F16, 1},     {TARE_ENCODING_Q4_0, 2002},
    {TARE_ENCODING_Q4_1, 2003}, {TARE_ENCODING_Q8_0, 2007}, {TARE_ENCODING_Q5_0, 2008},
    {TARE_ENCODING_Q5_1, 2009},
};

bool tare_whisper_file_type(uint32_t *out, const tare_encoding *of_matrices) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        *out = types[i].file_type;
        if (types[i].encoding == of_matrices->id) return true;
    }
    return false;
}

bool tare_whisper_has_encoding(const tare_encoding *e) {
    uint32_t number;
    return tare_whisper_file_type(&number, e);
}

tare_fixed_type tare_whisper_fixed_type(tare_str name, uint32_t n_dims) {
    static const char *const plain[] = {TARE_WHISPER_FILTERS, "encoder.conv1.bias",
                                        "encoder.conv2.bias", "encoder.positional_embedding",
                                        "decoder.positional_embedding"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (tare_str_is(name, plain[i])) return TARE_FIXED_F32_ALWAYS;
    if (n_dims < 2) return TARE_FIXED_F32_ALWAYS;
    return n_dims > 2 ? TARE_FIXED_F16_UNLESS_F32 : TARE_FIXED_NONE;
}
