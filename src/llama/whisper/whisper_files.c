/* SPDX-License-Identifier: MIT
 *
 * The side files of a Whisper model, as far as numbers and tokens of whisper.cpp's file tell them:
 * config.json, preprocessor_config.json, generation_config.json, and the tokenizer's. Special tokens
 * are in no file of whisper.cpp: they follow from the size of the vocabulary, as there. */
#include <stdio.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/byte_alphabet.h"
#include "base/str.h"
#include "llama/tokenizer/ranks.h"
#include "llama/whisper/whisper_files.h"

/* Their order is that of the tokens. */
static const char *const languages[] = {
    "en", "zh", "de", "es",  "ru", "ko", "fr", "ja", "pt", "tr", "pl", "ca", "nl", "ar", "sv",
    "it", "id", "hi", "fi",  "vi", "he", "uk", "el", "ms", "cs", "ro", "da", "hu", "ta", "no",
    "th", "ur", "hr", "bg",  "lt", "la", "mi", "ml", "cy", "sk", "te", "fa", "lv", "bn", "sr",
    "az", "sl", "kn", "et",  "mk", "br", "eu", "is", "hy", "ne", "mn", "bs", "kk", "sq", "sw",
    "gl", "mr", "pa", "si",  "km", "sn", "yo", "so", "af", "oc", "ka", "be", "tg", "sd", "gu",
    "am", "yi", "lo", "uz",  "fo", "ht", "ps", "tk", "nn", "mt", "sa", "lb", "my", "bo", "tl",
    "mg", "as", "tt", "haw", "ln", "ha", "ba", "jw", "su", "yue"};

enum {
    N_LANGUAGES = sizeof languages / sizeof *languages,
    N_TIMES = 1501,         /* from 0 to 30 seconds in steps of 0.02 */
    END_OF_ENGLISH = 50256, /* models of several languages have one token more before it */
    N_OTHERS = 8,           /* tokens from the end of text on, but for languages and times */
};

typedef enum special {
    START, /* of a transcript; languages are behind it */
    TRANSLATE,
    TRANSCRIBE,
    START_OF_LM,
    START_OF_PREVIOUS,
    NO_SPEECH,
    NO_TIMES,
    FIRST_TIME,
} special;

bool tare_whisper_ids_of(tare_whisper_ids *out, uint64_t vocab_size) {
    const uint64_t is_several = vocab_size > 51864;
    out->end = END_OF_ENGLISH + (uint32_t)is_several;
    if (vocab_size < out->end + N_OTHERS + N_TIMES) return false;
    out->n_languages =
        (uint32_t)tare_min_u64(vocab_size - N_TIMES - N_OTHERS - out->end, UINT32_MAX);
    out->is_multilingual = is_several;
    return out->n_languages <= N_LANGUAGES;
}

static uint32_t id_of(const tare_whisper_ids *ids, special s) {
    return ids->end + 1 + (s == START ? 0 : ids->n_languages + (uint32_t)s);
}

/* ---- numbers --------------------------------------------------------------------------------- */

typedef struct number {
    const char *name;
    uint64_t value;
} number;

static void put_numbers(tare_buffer *b, const number *numbers, size_t n) {
    for (size_t i = 0; i < n; i++)
        tare_buffer_printf(b, ",\n  \"%s\": %llu", numbers[i].name,
                           (unsigned long long)numbers[i].value);
}

#define PUT_NUMBERS(b, list) put_numbers(b, list, sizeof list / sizeof *list)

void tare_whisper_put_config(tare_buffer *b, const tare_whisper_sizes *s) {
    tare_whisper_ids ids;
    const number sizes[] = {{"vocab_size", s->vocab_size},
                            {"num_mel_bins", s->n_mels},
                            {"d_model", s->width},
                            {"encoder_layers", s->n_encoder},
                            {"encoder_attention_heads", s->encoder_heads},
                            {"encoder_ffn_dim", s->encoder_ffn},
                            {"decoder_layers", s->n_decoder},
                            {"decoder_attention_heads", s->decoder_heads},
                            {"decoder_ffn_dim", s->decoder_ffn},
                            {"num_hidden_layers", s->n_encoder},
                            {"max_source_positions", s->audio_context},
                            {"max_target_positions", s->text_context},
                            {"max_length", s->text_context}};
    tare_buffer_put_text(b,
                         "{\n  \"architectures\": [\n    \"WhisperForConditionalGeneration\"\n  ],"
                         "\n  \"model_type\": \"whisper\",\n  \"is_encoder_decoder\": true,"
                         "\n  \"activation_function\": \"gelu\",\n  \"scale_embedding\": false,"
                         "\n  \"tie_word_embeddings\": true,\n  \"torch_dtype\": \"float32\"");
    PUT_NUMBERS(b, sizes);
    if (tare_whisper_ids_of(&ids, s->vocab_size)) {
        const number tokens[] = {{"bos_token_id", ids.end},
                                 {"eos_token_id", ids.end},
                                 {"pad_token_id", ids.end},
                                 {"decoder_start_token_id", id_of(&ids, START)}};
        PUT_NUMBERS(b, tokens);
    }
    tare_buffer_put_text(b, "\n}\n");
}

void tare_whisper_put_preprocessor(tare_buffer *b, const tare_whisper_sizes *s) {
    const number sizes[] = {{"feature_size", s->n_mels}, {"sampling_rate", 16000},
                            {"hop_length", 160},         {"n_fft", 400},
                            {"chunk_length", 30},        {"n_samples", 480000},
                            {"nb_max_frames", 3000}};
    tare_buffer_put_text(b, "{\n  \"feature_extractor_type\": \"WhisperFeatureExtractor\","
                            "\n  \"processor_class\": \"WhisperProcessor\","
                            "\n  \"padding_side\": \"right\",\n  \"padding_value\": 0.0,"
                            "\n  \"return_attention_mask\": false");
    PUT_NUMBERS(b, sizes);
    tare_buffer_put_text(b, "\n}\n");
}

void tare_whisper_put_generation(tare_buffer *b, const tare_whisper_sizes *s,
                                 const tare_whisper_ids *ids) {
    const number tokens[] = {{"bos_token_id", ids->end},
                             {"eos_token_id", ids->end},
                             {"pad_token_id", ids->end},
                             {"decoder_start_token_id", id_of(ids, START)},
                             {"prev_sot_token_id", id_of(ids, START_OF_PREVIOUS)},
                             {"no_timestamps_token_id", id_of(ids, NO_TIMES)},
                             {"max_length", s->text_context},
                             {"max_initial_timestamp_index", 50}};
    tare_buffer_printf(b, "{\n  \"is_multilingual\": %s,\n  \"return_timestamps\": false",
                       ids->is_multilingual ? "true" : "false");
    PUT_NUMBERS(b, tokens);
    if (ids->is_multilingual) {
        tare_buffer_put_text(b, ",\n  \"lang_to_id\": {");
        for (uint32_t i = 0; i < ids->n_languages; i++)
            tare_buffer_printf(b, "%s\n    \"<|%s|>\": %u", i ? "," : "", languages[i],
                               id_of(ids, START) + 1 + i);
        tare_buffer_printf(b,
                           "\n  },\n  \"task_to_id\": {\n    \"transcribe\": %u,"
                           "\n    \"translate\": %u\n  }",
                           id_of(ids, TRANSCRIBE), id_of(ids, TRANSLATE));
    }
    tare_buffer_put_text(b, "\n}\n");
}

/* ---- the tokenizer --------------------------------------------------------------------------- */

/* The text of an id behind the end of text. */
static void added_text(char *out, size_t size, const tare_whisper_ids *ids, uint32_t id) {
    static const char *const names[] = {
        [START] = "startoftranscript",       [TRANSLATE] = "translate",
        [TRANSCRIBE] = "transcribe",         [START_OF_LM] = "startoflm",
        [START_OF_PREVIOUS] = "startofprev", [NO_TIMES] = "notimestamps"};
    const uint32_t start = id_of(ids, START), time = id_of(ids, FIRST_TIME);
    if (id >= time)
        snprintf(out, size, "<|%u.%02u|>", (id - time) / 50, (id - time) % 50 * 2);
    else if (id > start && id <= start + ids->n_languages)
        snprintf(out, size, "<|%s|>", languages[id - start - 1]);
    else if (id == id_of(ids, NO_SPEECH)) /* called so since there is Cantonese */
        snprintf(out, size, "<|%s|>", ids->n_languages == N_LANGUAGES ? "nospeech" : "nocaptions");
    else
        snprintf(out, size, "<|%s|>", names[id == start ? 0 : id - start - ids->n_languages]);
}

static uint32_t last_id(const tare_whisper_ids *ids) {
    return id_of(ids, FIRST_TIME) + N_TIMES - 1;
}

void tare_whisper_put_added(tare_buffer *b, const tare_whisper_ids *ids) {
    char text[32];
    for (uint32_t id = ids->end + 1; id <= last_id(ids); id++) {
        added_text(text, sizeof text, ids, id);
        tare_buffer_printf(b, "%s\n  \"%s\": %u", id == ids->end + 1 ? "{" : ",", text, id);
    }
    tare_buffer_put_text(b, "\n}\n");
}

void tare_whisper_put_tokenizer(tare_buffer *b, const tare_whisper_sizes *s,
                                const tare_whisper_ids *ids) {
    char text[32] = "<|endoftext|>";
    tare_buffer_printf(b,
                       "{\n  \"tokenizer_class\": \"WhisperTokenizer\","
                       "\n  \"processor_class\": \"WhisperProcessor\","
                       "\n  \"add_bos_token\": false,\n  \"add_prefix_space\": false,"
                       "\n  \"clean_up_tokenization_spaces\": true,\n  \"errors\": \"replace\","
                       "\n  \"bos_token\": \"%s\",\n  \"eos_token\": \"%s\","
                       "\n  \"pad_token\": \"%s\",\n  \"unk_token\": \"%s\","
                       "\n  \"model_max_length\": %llu,\n  \"added_tokens_decoder\": {",
                       text, text, text, text, (unsigned long long)s->text_context);
    for (uint32_t id = ids->end; id <= last_id(ids); id++) {
        if (id > ids->end) added_text(text, sizeof text, ids, id);
        tare_buffer_printf(
            b,
            "%s\n    \"%u\": {\"content\": \"%s\", \"lstrip\": false, \"normalized\": false, "
            "\"rstrip\": false, \"single_word\": false, \"special\": %s}",
            id > ids->end ? "," : "", id, text, id < id_of(ids, FIRST_TIME) ? "true" : "false");
    }
    tare_buffer_put_text(b, "\n  }\n}\n");
}

tare_status tare_whisper_put_vocab(tare_buffer *b, const tare_str *tokens, size_t n,
                                   tare_arena *scratch, tare_error *err) {
    for (size_t i = 0; i < n; i++) {
        char *text = tare_arena_take(scratch, 2 * tokens[i].len + 1);
        if (!text) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
        tare_buffer_put_text(b, i ? ",\n  " : "{\n  ");
        tare_buffer_put_json(b, (tare_str){text, tare_byte_alphabet_text(text, tokens[i])});
        tare_buffer_printf(b, ": %zu", i);
    }
    tare_buffer_put_text(b, n ? "\n}\n" : "{}\n");
    return TARE_OK;
}

tare_status tare_whisper_put_merges(tare_buffer *b, const tare_str *tokens, size_t n,
                                    tare_arena *scratch, const tare_allocator *allocator,
                                    tare_error *err) {
    tare_llama_vocab vocab = {.allocator = allocator, .most_tokens = TARE_LLAMA_MAX_TOKENS};
    const tare_status status = tare_llama_merges_of_ranks(&vocab, tokens, n, scratch, err);
    tare_buffer_put_text(b, "#version: 0.2\n");
    for (size_t i = 0; status == TARE_OK && i < vocab.n_merges; i++) {
        tare_buffer_put_str(b, vocab.merges[i]);
        tare_buffer_put_u8(b, '\n');
    }
    tare_llama_vocab_free(&vocab);
    return status;
}
