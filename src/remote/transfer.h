/* SPDX-License-Identifier: MIT
 *
 * What the session's thread works on: requests of any kind, queued, under way, over, and tried again.
 * All of it under the lock of the session's blocks. */
#ifndef TARE_REMOTE_TRANSFER_H
#define TARE_REMOTE_TRANSFER_H

#include "remote/session.h"
#include "remote/transport.h"

typedef struct tare_transfer tare_transfer;

/* What kinds of requests differ in. */
typedef struct tare_transfer_kind {
    /* Whether it may begin beside those that are under way; NULL: always. */
    bool (*may_start)(const tare_transfer *t, const tare_transfer *running);
    /* Fills in the exchange and starts it (tare_transfer_start); false: it is over already. */
    bool (*start)(tare_transfer *t);
    /* The exchange has ended: queues it again, or ends it. */
    void (*judge)(tare_transfer *t);
    /* Whether nobody waits for it; `is_cancelled`: the caller wants all to stop. */
    bool (*is_unwanted)(const tare_transfer *t, bool is_cancelled);
    void (*cancel)(tare_transfer *t);
} tare_transfer_kind;

struct tare_transfer {
    tare_transfer *next;
    const tare_transfer_kind *kind;
    tare_remote *remote;
    tare_exchange exchange; /* its owner is the transfer */
    tare_response response;
    unsigned tries;
    uint64_t start_at;   /* ms */
    uint64_t limit_wait; /* s: waited because of a limit of requests */
};

/* To be started in so many milliseconds. */
void tare_transfer_queue(tare_transfer *t, uint64_t wait_ms);
/* Starts the exchange; false: memory is out. */
bool tare_transfer_start(tare_transfer *t);
/* Queues it for another try, if one is left; NULL, or what is to be said of the failure `what`. A wait
 * until a limit of requests ends is no try. */
const char *tare_transfer_retry(tare_transfer *t, const char *what);

#endif
