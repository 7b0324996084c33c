/* SPDX-License-Identifier: MIT
 *
 * What object stores answer: XML of elements and texts. Declarations of entities, CDATA and documents
 * deeper than any answer are refused; attributes are skipped. */
#ifndef TARE_REMOTE_XML_H
#define TARE_REMOTE_XML_H

#include "base/buffer.h"
#include "base/str.h"

#define TARE_XML_DEPTH 8

typedef enum tare_xml_event {
    TARE_XML_FAULT = 0, /* `what` and `pos` tell */
    TARE_XML_BEGIN = 1, /* an element: `name` */
    TARE_XML_END = 2,   /* of the element `name`; `text` is what stood behind its last child */
    TARE_XML_DONE = 3,  /* the document is over */
} tare_xml_event;

typedef struct tare_xml {
    tare_str all;
    size_t pos;
    tare_str open[TARE_XML_DEPTH]; /* names of the elements that are open */
    unsigned depth;                /* of these; behind END, without the one that ended */
    bool is_empty;                 /* the one that began ends at once: <a/> */
    bool has_root;
    tare_str name, text; /* `text` has its entities */
    const char *what;    /* static */
} tare_xml;

void tare_xml_init(tare_xml *xml, tare_str text);
tare_xml_event tare_xml_next(tare_xml *xml);
/* Appends a text with its entities replaced; false: a malformed one. */
bool tare_xml_unescape(tare_buffer *out, tare_str text);
/* The same in the arena; ptr NULL: memory is out. */
bool tare_xml_text(tare_str *out, tare_str text, tare_arena *arena);
/* A number of 1 to 18 digits, and nothing else. */
bool tare_xml_number(uint64_t *out, tare_str text);
/* The text of the first element that has this name, wherever it is; empty: there is none. */
tare_str tare_xml_find(tare_str all, const char *name);

#endif
