/* SPDX-License-Identifier: MIT
 *
 * A byte-level BPE: a token for each byte, one for each pair of the most frequent letters of English,
 * with a blank before it or not, and special tokens. */
#include "ops/synth/synth_tokenizer.h"

#include <stdio.h>

#include "base/str.h"

static const char letters[] = "etaoinsrhlduc";

#define N_LETTERS (sizeof letters - 1)
#define N_BYTES   256
#define N_SPECIAL 4
#define N_PAIRS   (TARE_SYNTH_TOKENS - N_BYTES - N_SPECIAL)

static const char *const specials[N_SPECIAL] = {"<|begin_of_text|>", "<|end_of_text|>",
                                                "<|start_of_turn|>", "<|end_of_turn|>"};

/* What byte-level BPE writes for a byte: itself where that is a letter one can see, else a code point
 * from 256 on. */
static uint32_t letter_of(uint32_t byte) {
    static const uint32_t seen[][2] = {{33, 126}, {161, 172}, {174, 255}};
    uint32_t n_hidden = 0, from = 0;
    for (size_t i = 0; i < 3; i++) {
        if (byte < seen[i][0]) return 256 + n_hidden + byte - from;
        n_hidden += seen[i][0] - from;
        if (byte <= seen[i][1]) return byte;
        from = seen[i][1] + 1;
    }
    return 256 + n_hidden + byte - from;
}

static void put_letter(tare_buffer *out, uint32_t point) {
    char text[4];
    if (point == '"' || point == '\\') tare_buffer_put_text(out, "\\");
    tare_buffer_put(out, text, tare_utf8_put(text, point));
}

/* The two tokens that merge into token N_BYTES + i: first "Ġt" and the like, then pairs of letters. */
static void put_pair(tare_buffer *out, uint32_t i, const char *between) {
    uint32_t first = letter_of(' '), second = (uint32_t)letters[i % N_LETTERS];
    if (i >= N_LETTERS) first = (uint32_t)letters[(i / N_LETTERS - 1) % N_LETTERS];
    put_letter(out, first);
    tare_buffer_put_text(out, between);
    put_letter(out, second);
}

static uint32_t n_pairs(void) {
    const uint32_t all = (uint32_t)(N_LETTERS * (N_LETTERS + 1));
    return N_PAIRS < all ? N_PAIRS : all;
}

static uint32_t first_special(void) {
    return N_BYTES + n_pairs();
}

uint32_t tare_synth_begin_token(void) {
    return first_special();
}

uint32_t tare_synth_end_token(void) {
    return first_special() + N_SPECIAL - 1;
}

static void put_specials(tare_buffer *out) {
    for (uint32_t i = 0; i < TARE_SYNTH_TOKENS - first_special(); i++) {
        char reserved[32];
        snprintf(reserved, sizeof reserved, "<|reserved_%u|>", i - (i < N_SPECIAL ? i : N_SPECIAL));
        tare_buffer_printf(out,
                           "%s\n    {\"id\": %u, \"content\": \"%s\", \"single_word\": false, "
                           "\"lstrip\": false, \"rstrip\": false, \"normalized\": false, "
                           "\"special\": true}",
                           i ? "," : "", first_special() + i,
                           i < N_SPECIAL ? specials[i] : reserved);
    }
}

void tare_synth_tokenizer_json(tare_buffer *out) {
    tare_buffer_put_text(out, "{\n  \"version\": \"1.0\",\n  \"added_tokens\": [");
    put_specials(out);
    tare_buffer_put_text(
        out, "\n  ],\n  \"normalizer\": null,\n"
             "  \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
             "\"trim_offsets\": true, \"use_regex\": true},\n"
             "  \"post_processor\": null,\n"
             "  \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
             "\"trim_offsets\": true, \"use_regex\": true},\n"
             "  \"model\": {\n    \"type\": \"BPE\",\n    \"vocab\": {");
    for (uint32_t i = 0; i < first_special(); i++) {
        tare_buffer_put_text(out, i ? ", \"" : "\"");
        if (i < N_BYTES)
            put_letter(out, letter_of(i));
        else
            put_pair(out, i - N_BYTES, "");
        tare_buffer_printf(out, "\": %u", i);
    }
    tare_buffer_put_text(out, "},\n    \"merges\": [");
    for (uint32_t i = 0; i < n_pairs(); i++) {
        tare_buffer_put_text(out, i ? ", \"" : "\"");
        put_pair(out, i, " ");
        tare_buffer_put_text(out, "\"");
    }
    tare_buffer_put_text(out, "]\n  }\n}\n");
}

void tare_synth_tokenizer_config(tare_buffer *out) {
    tare_buffer_printf(
        out,
        "{\n  \"add_bos_token\": true,\n  \"bos_token\": \"%s\",\n"
        "  \"chat_template\": \"{%% for message in messages %%}%s{{ message['role'] }}\\n"
        "{{ message['content'] }}%s\\n{%% endfor %%}{%% if add_generation_prompt %%}%sassistant\\n"
        "{%% endif %%}\",\n  \"eos_token\": \"%s\",\n  \"tokenizer_class\": "
        "\"PreTrainedTokenizerFast\"\n}\n",
        specials[0], specials[2], specials[3], specials[2], specials[3]);
}
