/* SPDX-License-Identifier: MIT
 *
 * JSON documents as trees, and their text. */
#ifndef TARE_CLI_JSON_TREE_H
#define TARE_CLI_JSON_TREE_H

#include "cli.h"

typedef struct json_t json_t;

typedef enum json_word { JSON_NULL, JSON_FALSE, JSON_TRUE } json_word;

json_t *cli_json_word(json_word word);
json_t *cli_json_integer(int64_t n);
json_t *cli_json_finite(double x);
json_t *cli_json_string(tare_str utf8);

typedef struct json_style {
    unsigned indent; /* blanks a level; 0: all in one line, without blanks */
    bool is_ascii;   /* other characters become escapes */
    int digits;      /* of a number that is not whole */
} json_style;

typedef void (*json_put)(const char *bytes, size_t n, void *ctx);

void cli_json_write(const json_t *value, const json_style *style, json_put put, void *ctx);

#endif
