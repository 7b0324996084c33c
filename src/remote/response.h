/* SPDX-License-Identifier: MIT
 *
 * The header of an HTTP response (RFC 9110), parsed line by line: the fields that show whether its
 * body is the requested bytes. */
#ifndef TARE_REMOTE_RESPONSE_H
#define TARE_REMOTE_RESPONSE_H

#include "base/status.h"

/* Of an entity tag, or of a date, with its NUL; longer ones are taken for none. */
#define TARE_VALIDATOR_MAX 256

typedef struct tare_response {
    unsigned status;
    bool has_range, has_length, is_encoded;
    bool has_total;               /* of the range; a server may say "*" */
    uint64_t first, last, total;  /* Content-Range; total alone in an unsatisfied range */
    uint64_t length;              /* Content-Length */
    bool is_unsatisfied;          /* an unsatisfied range: nothing of the file is in the range */
    uint32_t retry_seconds;       /* Retry-After; 0: none, UINT32_MAX: more than can be waited */
    int64_t retry_at, date;       /* of a Retry-After that is a date; of the answer; 0: none */
    uint32_t limit_seconds;       /* until a limit of requests (RateLimit) is no longer reached */
    uint64_t old_left, old_reset; /* of RateLimit-Remaining and -Reset, plus 1; 0: no such line */
    char etag[TARE_VALIDATOR_MAX];
    char modified[TARE_VALIDATOR_MAX];
    char commit[41];           /* X-Repo-Commit of the hub; empty: none */
    bool is_gated, is_unknown; /* X-Error-Code of the hub: GatedRepo; RepoNotFound and others */
    char region[32];           /* x-amz-bucket-region: where the bucket is; empty: not said */
    const char *fault;         /* a line that is malformed, in words; NULL: none */
} tare_response;

/* Takes a line of the header. A status line begins a new response. */
void tare_response_line(tare_response *r, const char *line, size_t n);
/* Whether two responses may be parts of one file: the same validators and the same size where both
 * have them. */
bool tare_response_matches(const tare_response *r, const char *etag, const char *modified);
/* Whether an answer with the status of a whole file is part of the range [begin, end), from its
 * beginning on, as some servers send it. */
bool tare_response_is_range(const tare_response *r, uint64_t begin, uint64_t end);
/* The seconds that the server asks to wait, 0 where it does not; UINT32_MAX: more than can be
 * waited. `now`: the time, for a server that does not tell its own. */
uint32_t tare_response_wait(const tare_response *r, int64_t now);
/* What If-Range may hold: a strong entity tag, else a date where there is no tag; NULL: neither. */
const char *tare_response_validator(const char *etag, const char *modified);
/* Whether a later request may succeed after this answer. */
bool tare_response_is_busy(unsigned status);
/* What a status that brings no file means, in words, for a server or the hub. */
const char *tare_response_fault(const tare_response *r, bool is_hub);

#endif
