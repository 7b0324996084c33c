/* SPDX-License-Identifier: MIT
 *
 * One request to an object store, tried again like all others, whose answer fits in memory. */
#ifndef TARE_REMOTE_CALL_H
#define TARE_REMOTE_CALL_H

#include "remote/transfer.h"

typedef struct tare_call {
    tare_transfer t; /* first */
    /* The caller's; texts and bytes are kept until it is over. */
    const char *name;   /* of the object, for messages */
    const char *method; /* NULL: GET of the first byte */
    const char *url;
    tare_str lines; /* more lines of the header, a NUL behind each; need not be signed */
    const void *body;
    size_t n_body;
    const char *digest;                   /* of the body, hexadecimal digits; NULL: there is none */
    bool is_patient;                      /* the store may think about it for minutes */
    bool is_careful;                      /* whether it was heard twice has to be known */
    bool is_cleaning;                     /* made even when all is cancelled */
    const bool *is_stopped;               /* true: nobody wants it any more; NULL: somebody does */
    void (*over)(struct tare_call *call); /* with the lock; NULL: somebody waits */
    void *owner;
    /* What came of it. */
    bool is_over;
    bool was_repeated; /* an earlier try may have been heard */
    tare_buffer answer;
    tare_status status;
    tare_error err;
} tare_call;

/* Queues it; the lock is held. */
void tare_call_begin(tare_call *call, tare_remote *remote);
/* Makes it and waits for the answer. */
tare_status tare_call_make(tare_call *call, tare_remote *remote, tare_error *err);
/* A fault of an answer that was taken for good. */
tare_status tare_call_fault(tare_call *call, tare_status status, const char *what);
/* Whether it was answered with this code of an error. */
bool tare_call_says(const tare_call *call, const char *code);
/* Drops the answer. */
void tare_call_end(tare_call *call);
/* The answer as text. */
static inline tare_str tare_call_text(const tare_call *call) {
    return (tare_str){(const char *)call->answer.data, call->answer.size};
}

#endif
