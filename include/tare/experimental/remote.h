/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/remote.h: models on a server. A session holds what all URLs share: settings, connections, and
 * a bounded cache of what was read. Only the ranges needed are fetched, so that the directory of a
 * model of any size takes a few requests.
 *
 *     tare_remote *remote;
 *     tare_remote_options options = tare_remote_options_default();
 *     if (tare_remote_new(&remote, &options, &err) == TARE_OK) {
 *         tare_source source = tare_source_default();
 *         source.kind = TARE_SOURCE_URL;
 *         source.name = "hf://ORG/NAME";
 *         source.remote = remote;
 *         tare_model_open(&model, &source, NULL, &err);
 *     }
 *
 * URLs
 *   https://HOST/PATH, http://HOST/PATH   one file; a shard or an index leads to its siblings
 *   hf://ORG/NAME[@REVISION]              a model of the Hugging Face hub, as a directory
 *   hf://ORG/NAME[@REVISION]/FOLDER/      a folder of it
 *   hf://ORG/NAME[@REVISION]/FILE         one file of it
 *   hf://ORG/NAME[@REVISION]:TYPE         its only GGUF model of that type, such as Q4_K_M
 *   s3://BUCKET/KEY                       an object of a store that speaks S3; nothing in it is escaped
 *   s3://BUCKET/FOLDER/                   all objects whose keys begin with FOLDER/, as a directory
 *
 * Transfers are made by libcurl, which is loaded when the first URL is opened, on Windows by WinHTTP. Passwords and
 * queries of URLs never appear in names, messages or findings.
 */
#ifndef TARE_EXPERIMENTAL_REMOTE_H
#define TARE_EXPERIMENTAL_REMOTE_H

#include <tare/model.h>
#include <tare/output.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What URLs are opened through. Any number of threads may use it; it must outlive all models that
 * were opened with it. It runs a thread of its own from the first URL on. */
typedef struct tare_remote tare_remote;

typedef struct tare_remote_options {
    size_t size;
    /* NULL: the defaults. Progress is called about ten times a second while something is fetched,
     * from the session's thread, with the bytes received so far and a total of 0; true
     * cancels what is being fetched */
    const tare_context *context;
    const char *hub_endpoint; /* of hf:// URLs; NULL: https://huggingface.co */
    const char *hub_token;    /* sent to the endpoint and to no other host; NULL: none */
    const char
        *ca_file; /* certificates to trust, PEM; NULL: the system's; on Windows UNSUPPORTED */
    const char *ca_folder; /* the same as a folder of hashed names; may be NULL */
    const char *
        proxy; /* NULL: as libcurl finds it in the environment, Windows in its settings; "": none */
    uint64_t whole_bytes;     /* 64 MiB: from a server without ranges, a whole file up to this size
                                 is fetched and kept in memory */
    uint64_t cache_bytes;     /* 64 MiB: memory for what was read, beside what is being read */
    uint32_t connections;     /* 8: requests at the same time, 1 to 64 */
    uint32_t retries;         /* 5: tries in a row that bring nothing, after the first */
    uint32_t backoff_ms;      /* 250: before the first retry; doubles with each, up to 30 s */
    uint32_t connect_seconds; /* 30: limit for making a connection */
    uint32_t stall_seconds;   /* 30: a transfer slower than 1 KB/s for this long is aborted and
                                 resumed */
    bool is_offline;       /* nothing is asked of the hub: models of it are opened from hub_cache */
    const char *hub_cache; /* the folder where the hub's tools keep what they download, which has
                                 folders models--ORG--NAME: files of the commit that is meant are
                                 read there; NULL: none */
    const char
        *s3_endpoint; /* of s3:// URLs, buckets are folders of it; NULL: Amazon's, where buckets
                                are hosts */
    const char *s3_region;     /* NULL: us-east-1 */
    const char *s3_access_key; /* with its secret key; both NULL: requests are not signed */
    const char *s3_secret_key;
    const char *s3_session_token; /* of temporary keys; NULL: none */
} tare_remote_options;

TARE_DECLARE_INIT(tare_remote_options)

/* A new session; nothing is loaded or connected yet. Texts are copied. Errors: ARG (an endpoint
 * that is no URL, a token with characters that no header may hold), NOMEM. */
TARE_API tare_status tare_remote_new(tare_remote **out, const tare_remote_options *options,
                                     tare_error *err);
TARE_API void tare_remote_free(tare_remote *remote);

/* Whether a text is a URL of one of the kinds above, by its first characters. */
TARE_API bool tare_is_url(const char *text);
/* A URL without password and query, for messages: writes at most size - 1 bytes and a NUL; returns
 * the length the whole text has. Other text is copied as it is. */
TARE_API size_t tare_url_public(char *buf, size_t size, const char *url);

/* ---- downloads ------------------------------------------------------------------------------- */

/* One file of a download. */
typedef struct tare_download {
    const char *path; /* where it lies or will lie; valid as long as the call */
    uint64_t size_bytes;
    uint64_t resumed_bytes; /* of it, what an earlier run had fetched */
    bool is_present;        /* it was there, and nothing was fetched */
    bool is_checked;        /* its bytes have the digest that the hub states; else none is stated */
} tare_download;

/* Called for each file once it is there, of a dry run before; from the thread that called. */
typedef void (*tare_download_fn)(void *ctx, const tare_download *file);

typedef struct tare_download_options {
    size_t size;
    const tare_context *context; /* NULL: the defaults. Progress is that of all files together */
    /* NULL: the defaults. `force` replaces files that are others; `dry_run`: nothing is fetched but the
     * list of files */
    const tare_output_options *output;
    tare_download_fn done; /* may be NULL */
    void *done_ctx;
} tare_download_options;

TARE_DECLARE_INIT(tare_download_options)

/* Downloads what a URL names into a folder, under the names that it has there: a file, a folder or all
 * of a model of the hub; hf://ORG/NAME[@REVISION]:TYPE, its GGUF files of that type. Ranges are fetched
 * side by side. A file that is not complete lies beside its place as .NAME.ID.tare-part, and the next
 * call goes on from there, whatever ended this one. Files get their names when they are whole and have
 * the digests that the hub states. CHECKSUM: one has not; nothing of it is kept. ERR_ARG: no file is of
 * that name or type, or another file is in the way and `force` is off. */
TARE_API tare_status tare_remote_download(const char *folder, tare_remote *remote, const char *url,
                                          const tare_download_options *options, tare_error *err);

/* ---- uploads --------------------------------------------------------------------------------- */

/* Outputs whose paths begin with s3:// are written through the session that tare_output_options name: in
 * parts that are sent while the rest is being made, several at a time; the object appears when all of them
 * are there, and is then looked at. Without `force` it must not exist; stores that know If-None-Match make
 * that sure. What fails or is cancelled removes its parts. A folder's objects appear one after the other.
 * A process that is killed leaves its upload, which nobody sees: this finds it. */

typedef struct tare_upload {
    size_t size;
    const char
        *name;      /* s3://BUCKET/KEY that it was to be; all texts are valid as long as the call */
    const char *id; /* the store's */
    const char *begun; /* when, as the store says it; may be empty */
    uint64_t n_parts;  /* that are in the store */
    uint64_t n_bytes;  /* of these */
} tare_upload;
TARE_DECLARE_INIT(tare_upload)

typedef void (*tare_upload_fn)(void *ctx, const tare_upload *upload);

/* Calls `visit` for each upload of s3://BUCKET/KEY, or of all keys in s3://BUCKET/FOLDER/, that is not
 * complete; with `aborts` after removing it. One that is under way is among them. */
TARE_API tare_status tare_remote_uploads(tare_remote *remote, const char *url, bool aborts,
                                         tare_upload_fn visit, void *ctx, tare_error *err);

/* What a session has done so far. */
typedef struct tare_remote_counts {
    size_t size;
    uint64_t requests; /* sent, retries and redirections included */
    uint64_t retries;
    uint64_t redirects;
    uint64_t bytes; /* received, without headers */
} tare_remote_counts;

TARE_DECLARE_INIT(tare_remote_counts)

/* Fills what the size covers; ARG where it is not set. */
TARE_API tare_status tare_remote_count(tare_remote_counts *out, const tare_remote *remote,
                                       tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
