/* SPDX-License-Identifier: MIT
 *
 * Untrusted HTTP headers: numbers are checked, texts bounded, unknown fields skipped.
 */
#include "remote/response.h"

#include "base/arith.h"
#include "base/str.h"
#include "remote/hub.h"

#define RETRY_MOST 330 /* seconds that a server may ask to wait; the hub counts in 300 */

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static tare_str trim(tare_str text) {
    while (text.len && is_space(text.ptr[0])) text = tare_str_cut(text, 1);
    while (text.len && is_space(text.ptr[text.len - 1])) text.len--;
    return text;
}

/* Digits at the beginning of a text, which are cut off; false: none, or too many. */
static bool take_number(tare_str *text, uint64_t *out) {
    size_t n = 0;
    *out = 0;
    for (; n < text->len && text->ptr[n] >= '0' && text->ptr[n] <= '9'; n++)
        if (!tare_mul_u64(*out, 10, out) ||
            !tare_add_u64(*out, (uint64_t)(text->ptr[n] - '0'), out))
            return false;
    *text = tare_str_cut(*text, n);
    return n > 0;
}

static bool take(tare_str *text, const char *word) {
    tare_str w = tare_str_of(word);
    if (text->len < w.len || !tare_same_letters(text->ptr, word, w.len)) return false;
    *text = tare_str_cut(*text, w.len);
    return true;
}

/* "bytes 0-99/1000", with a star for a total that is not known, or for the range where there is
 * none. */
static bool read_range(tare_response *r, tare_str text) {
    if (!take(&text, "bytes ")) return false;
    r->has_range = r->has_total = false; /* of a line that is given twice the last one counts */
    r->is_unsatisfied = take(&text, "*/");
    if (!r->is_unsatisfied) {
        if (!take_number(&text, &r->first) || !take(&text, "-") || !take_number(&text, &r->last) ||
            !take(&text, "/") || r->last < r->first)
            return false;
        r->has_range = true;
        if (take(&text, "*")) return text.len == 0;
    }
    r->has_total = true;
    if (!take_number(&text, &r->total) || text.len || r->total > INT64_MAX) return false;
    return r->is_unsatisfied || r->last < r->total;
}

static void copy_text(char *out, size_t size, tare_str text) {
    out[0] = 0;
    if (text.len >= size) return;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f) return;
    memcpy(out, text.ptr, text.len);
    out[text.len] = 0;
}

/* Days from 1970 to a day of the Gregorian calendar. */
static int64_t days_to(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2; /* a year that begins in March */
    const int64_t leap_days = year / 4 - year / 100 + year / 400;
    return year * 365 + leap_days + ((month + 9) % 12 * 153 + 2) / 5 + day - 719469;
}

static bool take_month(tare_str *text, int64_t *month) {
    static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                         "jul", "aug", "sep", "oct", "nov", "dec"};
    for (*month = 1; *month <= 12; ++*month)
        if (take(text, months[*month - 1])) return true;
    return false;
}

/* "08:49:37", as seconds. */
static bool take_time(tare_str *text, int64_t *seconds) {
    uint64_t hour, minute, second;
    if (!take_number(text, &hour) || !take(text, ":") || !take_number(text, &minute) ||
        !take(text, ":") || !take_number(text, &second) || hour > 23 || minute > 59 || second > 60)
        return false;
    *seconds = (int64_t)((hour * 60 + minute) * 60 + second);
    return true;
}

/* What Greenwich's time is called by servers, and by programs that write letters. */
static bool is_greenwich(tare_str text) {
    return tare_str_is(text, "GMT") || tare_str_is(text, "UTC") || tare_str_is(text, "+0000") ||
           tare_str_is(text, "-0000");
}

/* "Sun, 06 Nov 1994 08:49:37 GMT", and the older "Sunday, 06-Nov-94 08:49:37 GMT" and "Sun Nov  6
 * 08:49:37 1994", as seconds since 1970; 0: not a date of these forms. */
static int64_t read_date(tare_str text) {
    uint64_t day, year;
    int64_t month, seconds;
    const char *comma = text.len ? memchr(text.ptr, ',', text.len) : NULL;
    if (!comma) {
        text = tare_str_cut(text, text.len < 4 ? text.len : 4);
        if (!take_month(&text, &month)) return 0;
        text = trim(text);
        if (!take_number(&text, &day) || !take(&text, " ") || !take_time(&text, &seconds) ||
            !take(&text, " ") || !take_number(&text, &year) || text.len)
            return 0;
    } else {
        text = trim(tare_str_cut(text, (size_t)(comma - text.ptr) + 1));
        if (!take_number(&text, &day) || !text.len) return 0;
        const char *between = text.ptr[0] == '-' ? "-" : " ";
        if (!take(&text, between) || !take_month(&text, &month) || !take(&text, between) ||
            !take_number(&text, &year) || !take(&text, " ") || !take_time(&text, &seconds) ||
            !is_greenwich(trim(text)))
            return 0;
        if (year < 100) year += year < 70 ? 2000 : 1900;
    }
    if (day > 31 || year < 1970 || year > 9999) return 0;
    return days_to((int64_t)year, month, (int64_t)day) * 86400 + seconds;
}

static uint32_t wait_of(uint64_t seconds) {
    return seconds > RETRY_MOST ? UINT32_MAX : (uint32_t)seconds;
}

/* Seconds, of which a part counts as one, or a date. What is neither says nothing. */
static void read_retry(tare_response *r, tare_str text) {
    uint64_t seconds, part;
    r->retry_at = read_date(text);
    r->retry_seconds = 0;
    if (r->retry_at || !text.len || text.ptr[0] < '0' || text.ptr[0] > '9') return;
    const bool is_number = take_number(&text, &seconds);
    if (is_number && take(&text, ".") && take_number(&text, &part) && part) seconds++;
    if (is_number && text.len) return;
    r->retry_seconds = is_number ? wait_of(seconds) : UINT32_MAX; /* more than a number can be */
}

/* A limit of requests, of which so many are left, until it begins anew. */
static void note_limit(tare_response *r, uint64_t left, uint64_t seconds) {
    if (left == 0 && wait_of(seconds) > r->limit_seconds) r->limit_seconds = wait_of(seconds);
}

/* "name";r=0;t=12, a list of such: where no requests remain (r), the seconds until more do (t). The
 * older form is one list: limit=100, remaining=0, reset=12. */
static void read_limit(tare_response *r, tare_str text) {
    uint64_t old_left = 1, old_seconds = 0, number;
    while (text.len) {
        const char *comma = memchr(text.ptr, ',', text.len);
        tare_str item = {text.ptr, comma ? (size_t)(comma - text.ptr) : text.len};
        uint64_t left = 1, seconds = 0;
        text = tare_str_cut(text, comma ? item.len + 1 : item.len);
        while (item.len) {
            item = trim(item);
            if (take(&item, "r=") && take_number(&item, &number)) left = number;
            if (take(&item, "t=") && take_number(&item, &number)) seconds = number;
            if (take(&item, "remaining=") && take_number(&item, &number)) old_left = number;
            if (take(&item, "reset=") && take_number(&item, &number)) old_seconds = number;
            const char *mark = item.len ? memchr(item.ptr, ';', item.len) : NULL;
            item = tare_str_cut(item, mark ? (size_t)(mark - item.ptr) + 1 : item.len);
        }
        note_limit(r, left, seconds);
    }
    note_limit(r, old_left, old_seconds);
}

/* The same in two lines, RateLimit-Remaining and RateLimit-Reset. A point in time, as some servers
 * send, says nothing. */
static void read_old_limit(tare_response *r, uint64_t *out, tare_str text) {
    uint64_t number;
    if (!take_number(&text, &number) || text.len || number > INT32_MAX / 2) return;
    *out = number + 1;
    if (r->old_left && r->old_reset) note_limit(r, r->old_left - 1, r->old_reset - 1);
}

bool tare_response_is_range(const tare_response *r, uint64_t begin, uint64_t end) {
    return r->has_range && r->has_total && r->first == begin && r->last < end &&
           (!r->has_length || r->length == r->last - r->first + 1);
}

uint32_t tare_response_wait(const tare_response *r, int64_t now) {
    uint32_t wait = r->retry_seconds;
    if (r->retry_at) {
        if (r->date) now = r->date;
        wait = r->retry_at > now ? wait_of((uint64_t)(r->retry_at - now)) : 0;
    }
    return wait > r->limit_seconds ? wait : r->limit_seconds;
}

static void begin(tare_response *r, tare_str line) {
    uint64_t status = 0;
    *r = (tare_response){.status = 0};
    while (line.len && line.ptr[0] != ' ') line = tare_str_cut(line, 1);
    line = trim(line);
    if (take_number(&line, &status) && status < 1000) r->status = (unsigned)status;
}

void tare_response_line(tare_response *r, const char *text, size_t n) {
    tare_str line = trim((tare_str){text, n});
    if (tare_str_starts(line, TARE_STR("HTTP/"))) {
        begin(r, line);
        return;
    }
    const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;
    if (!colon) return;
    tare_str name = {line.ptr, (size_t)(colon - line.ptr) + 1};
    tare_str value = trim(tare_str_cut(line, name.len));
#define IS(header) (name.len == sizeof header - 1 && tare_same_letters(name.ptr, header, name.len))
    if (IS("content-range:")) {
        if (!read_range(r, value)) r->fault = "Content-Range: \"bytes FIRST-LAST/SIZE\" expected";
    } else if (IS("content-length:")) {
        tare_str rest = value;
        r->has_length = take_number(&rest, &r->length) && rest.len == 0;
        if (!r->has_length) r->fault = "Content-Length: a number expected";
    } else if (IS("content-encoding:")) {
        r->is_encoded = value.len && !(value.len == 8 && take(&value, "identity"));
    } else if (IS("etag:")) {
        copy_text(r->etag, sizeof r->etag, value);
    } else if (IS("last-modified:")) {
        copy_text(r->modified, sizeof r->modified, value);
    } else if (IS("retry-after:")) {
        read_retry(r, value);
    } else if (IS("ratelimit:")) {
        read_limit(r, value);
    } else if (IS("ratelimit-remaining:") || IS("x-ratelimit-remaining:")) {
        read_old_limit(r, &r->old_left, value);
    } else if (IS("ratelimit-reset:") || IS("x-ratelimit-reset:")) {
        read_old_limit(r, &r->old_reset, value);
    } else if (IS("date:")) {
        r->date = read_date(value);
    } else if (IS("x-amz-bucket-region:")) {
        copy_text(r->region, sizeof r->region, value);
    } else if (IS("x-repo-commit:")) {
        copy_text(r->commit, sizeof r->commit, value);
        if (!tare_hub_is_commit(tare_str_of(r->commit))) r->commit[0] = 0;
    } else if (IS("x-error-code:")) {
        r->is_gated = tare_str_is(value, "GatedRepo");
        r->is_unknown = tare_str_is(value, "RepoNotFound") ||
                        tare_str_is(value, "RevisionNotFound") ||
                        tare_str_is(value, "EntryNotFound");
    }
#undef IS
}

/* Tags are compared without the mark of weak ones, which servers add when they compress. */
static const char *opaque(const char *etag) {
    return strncmp(etag, "W/", 2) == 0 ? etag + 2 : etag;
}

bool tare_response_matches(const tare_response *r, const char *etag, const char *modified) {
    if (r->etag[0] && etag[0]) return strcmp(opaque(r->etag), opaque(etag)) == 0;
    if (r->modified[0] && modified[0]) return strcmp(r->modified, modified) == 0;
    return true;
}

const char *tare_response_validator(const char *etag, const char *modified) {
    if (etag[0]) return etag[0] == '"' ? etag : NULL;
    return modified[0] ? modified : NULL;
}

bool tare_response_is_busy(unsigned status) {
    return status == 408 || status == 425 || status == 429 || status == 500 || status == 502 ||
           status == 503 || status == 504;
}

const char *tare_response_fault(const tare_response *r, bool is_hub) {
    if (is_hub && r->is_gated)
        return "the model is gated: accept its conditions on the hub, and give a token of the "
               "account that did";
    if (is_hub && (r->status == 401 || r->status == 403))
        return "the hub refuses: the model does not exist, or a token is needed that may read it";
    if (is_hub && (r->is_unknown || r->status == 404))
        return "the hub has no such model, revision or file; the name of a folder ends in a slash";
    switch (r->status) {
    case 401:
    case 403:
        return "the server refuses access";
    case 404:
    case 410:
        return "the server has no such file";
    case 407:
        return "the proxy wants a user and a password";
    case 416:
        return "the server refuses the range";
    case 429:
        return "the server takes no more requests for now";
    default:
        return tare_response_is_busy(r->status) ? "the server cannot answer now"
                                                : "not the response that was expected for a file";
    }
}
