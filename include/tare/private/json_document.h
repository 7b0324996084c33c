/* SPDX-License-Identifier: MIT
 *
 * tare/private/json_document.h: documents of JSON that a program builds and writes.
 */
#ifndef TARE_PRIVATE_JSON_DOCUMENT_H
#define TARE_PRIVATE_JSON_DOCUMENT_H

#include <tare/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Owns all values that were made in it. One thread at a time. */
typedef struct tare_json_document tare_json_document;
typedef struct tare_json_node tare_json_node;

typedef enum tare_json_type {
    TARE_JSON_END = 0, /* of readers: the document, object or array is over; or a failure */
    TARE_JSON_OBJECT = 1,
    TARE_JSON_ARRAY = 2,
    TARE_JSON_STRING = 3,
    TARE_JSON_NUMBER = 4,
    TARE_JSON_TRUE = 5,
    TARE_JSON_FALSE = 6,
    TARE_JSON_NULL = 7,
} tare_json_type;

/* NULL: memory is out. */
TARE_API tare_json_document *tare_json_document_new(void);
/* The values go with it. NULL is fine. */
TARE_API void tare_json_document_free(tare_json_document *document);

/* A value, not yet part of another. text: of a STRING (UTF-8), of a NUMBER as JSON writes it; copied;
 * of others it is not looked at. NULL: memory is out. */
TARE_API tare_json_node *tare_json_document_value(tare_json_document *document, tare_json_type type,
                                                  tare_str text);
/* Appends a value of the same document to an object, under a key that is copied, or, key NULL, to an
 * array. Who builds an object gives each key once. False: memory is out. O(1) */
TARE_API bool tare_json_document_add(tare_json_document *document, tare_json_node *to,
                                     const char *key, tare_json_node *value);

typedef struct tare_json_style {
    unsigned indent; /* blanks a level, each value in a line of its own; 0: all in one line */
    bool is_ascii;   /* other characters become escapes */
    unsigned
        max_digits; /* of numbers that are not whole, which are written as C's %g does; 0: numbers
                            are written as they are */
} tare_json_style;

typedef void (*tare_json_put)(const char *bytes, size_t n, void *ctx);

/* Hands the text of a value to `put`, piece by piece. It calls itself as deep as the value is. */
TARE_API void tare_json_write(const tare_json_node *value, const tare_json_style *style,
                              tare_json_put put, void *ctx);

#ifdef __cplusplus
}
#endif

#endif
