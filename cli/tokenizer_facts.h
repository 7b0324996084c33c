/* SPDX-License-Identifier: MIT
 *
 * What the metadata of a GGUF model say of its tokenizer. */
#ifndef TARE_CLI_TOKENIZER_FACTS_H
#define TARE_CLI_TOKENIZER_FACTS_H

#include "cli.h"

/* Token types of GGUF that are no text of the vocabulary's own. */
enum { CLI_TOKEN_UNKNOWN = 2, CLI_TOKEN_CONTROL = 3, CLI_TOKEN_USER_DEFINED = 4 };

/* A token that programs ask for by its role. */
typedef struct cli_special_token {
    const char *name; /* "bos", "eos" */
    uint64_t id;
    tare_str text;
    bool has_text; /* false: there is no token of this number */
} cli_special_token;

#define CLI_SPECIAL_TOKENS 8

typedef struct cli_tokenizer {
    tare_str model, pre;
    const tare_array *tokens, *types; /* NULL: not there */
    uint64_t n_control, n_user_defined;
    cli_special_token special[CLI_SPECIAL_TOKENS];
    size_t n_special;
} cli_tokenizer;

/* The value of a key; NULL: there is none. */
const tare_value *cli_value_of(const tare_model *model, const char *key);
/* False: the metadata name no tokenizer. What is told lives as long as the model. */
bool cli_tokenizer_read(cli_tokenizer *out, const tare_model *model);

#endif
