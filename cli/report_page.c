/* SPDX-License-Identifier: MIT
 *
 * tare report: the document inside its page. It is in a script element whose type is not a script,
 * so anything that could end that element or open a comment is written as a JSON escape, and so is
 * everything that is not ASCII: names are untrusted bytes. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "report_document.h"

typedef struct text {
    char *bytes;
    size_t n, capacity;
} text;

static void put(text *t, const char *bytes, size_t n) {
    if (n > t->capacity - t->n) {
        t->capacity = t->n + n + t->n / 2 + 4096;
        t->bytes = cli_grow(t->bytes, t->capacity, 1);
    }
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

static void put_parts(text *t, const char *const *parts) {
    for (; *parts; parts++) put(t, *parts, strlen(*parts));
}

/* Characters of HTML are part of JSON's strings only, where an escape means the same. */
static void put_json(const char *bytes, size_t n, void *ctx) {
    for (size_t i = 0; i < n; i++) {
        const char c = bytes[i];
        char escape[8];
        if (c == '<' || c == '>' || c == '&') {
            put(ctx, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c));
        } else {
            put(ctx, &c, 1);
        }
    }
}

char *report_page(tare_json_node *document, size_t *n) {
    static const tare_json_style style = {.is_ascii = true, .max_digits = 6};
    text page = {NULL, 0, 0};
    put_parts(&page, report_page_head);
    tare_json_write(document, &style, put_json, &page);
    put_parts(&page, report_page_tail);
    *n = page.n;
    return page.bytes;
}
