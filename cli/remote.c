/* SPDX-License-Identifier: MIT
 *
 * URLs as inputs. The library reads no environment: the command does, as curl and the tools of the
 * hub do. A URL may contain a password or a signature: the command never shows these. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

static tare_remote *session;

/* ---- names ----------------------------------------------------------------------------------- */

/* URLs of the command line that hold more than may be shown. */
static struct hidden { char *name, *url; } * hidden;
static size_t n_hidden;

static const char *url_of(const char *name) {
    for (size_t i = 0; i < n_hidden; i++)
        if (strcmp(hidden[i].name, name) == 0) return hidden[i].url;
    return name;
}

const char *cli_hide_secrets(const char *text) {
    if (!tare_is_url(text)) return text;
    size_t size = tare_url_public(NULL, 0, text) + 1;
    char *name = cli_alloc(size + 24, 1);
    tare_url_public(name, size, text);
    if (strcmp(name, text) == 0) {
        free(name);
        return text;
    }
    for (size_t i = 0; i < n_hidden; i++) {
        if (strcmp(hidden[i].url, text) == 0) {
            free(name);
            return hidden[i].name;
        }
    }
    /* Two that differ in what is hidden get different names. */
    if (url_of(name) != name) snprintf(name + size - 1, 24, "#%zu", n_hidden + 1);
    hidden = cli_grow(hidden, n_hidden + 1, sizeof *hidden);
    hidden[n_hidden++] = (struct hidden){name, cli_copy(text, strlen(text))};
    return name;
}

/* ---- the session ----------------------------------------------------------------------------- */

/* A variable that is set and not empty; NULL: none. */
static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* The first line of a file in the folder of the hub's tools, owned by the caller; NULL: none. */
static char *token_file(void) {
    char path[4096], line[4096];
    const char *token = variable("HF_TOKEN_PATH"), *hub = variable("HF_HOME");
    const char *cache = variable("XDG_CACHE_HOME"), *home = variable("HOME");
    int n = token   ? snprintf(path, sizeof path, "%s", token)
            : hub   ? snprintf(path, sizeof path, "%s/token", hub)
            : cache ? snprintf(path, sizeof path, "%s/huggingface/token", cache)
            : home  ? snprintf(path, sizeof path, "%s/.cache/huggingface/token", home)
                    : -1;
    FILE *file = n > 0 && (size_t)n < sizeof path ? fopen(path, "r") : NULL;
    if (!file) return NULL;
    size_t length = fgets(line, sizeof line, file) ? strcspn(line, " \t\r\n") : 0;
    fclose(file);
    char *copy = length ? cli_copy(line, length) : NULL;
    memset(line, 0, sizeof line);
    return copy;
}

static uint32_t at_most(uint64_t n, uint32_t most) {
    return n < most ? (uint32_t)n : most;
}

static bool report_progress(void *ctx, uint64_t done, uint64_t total) {
    (void)ctx, (void)total;
    return cli_progress_elsewhere(done);
}

static tare_status open_session(tare_error *err) {
    if (session) return TARE_OK;
    tare_remote_options o = TARE_REMOTE_OPTIONS_INIT;
    char *token = variable("HF_TOKEN") ? NULL : token_file();
    o.hub_endpoint = variable("HF_ENDPOINT");
    o.hub_token = token ? token : variable("HF_TOKEN");
    o.ca_file = variable("CURL_CA_BUNDLE") ? variable("CURL_CA_BUNDLE") : variable("SSL_CERT_FILE");
    o.ca_folder = variable("SSL_CERT_DIR");
    o.progress = report_progress;
    o.retries = at_most(cli.retries, 100);
    o.connect_seconds = o.stall_seconds = at_most(cli.timeout, 3600);
    tare_status status = tare_remote_new(&session, &o, err);
    free(token);
    return status;
}

/* "s3://...": also one that is not read. */
static bool has_scheme(const char *path) {
    const size_t n =
        strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-");
    return n && strncmp(path + n, "://", 3) == 0;
}

/* A model is not read in sequence, so a pipe with a name is only good as standard input. */
static tare_status check_kind(const char *path, tare_error *err) {
    struct stat st;
    const bool exists = stat(path, &st) == 0;
    if (exists ? S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode)
               : !has_scheme(path))
        return TARE_OK;
    *err =
        (tare_error){.status = TARE_ERR_ARG,
                     .item = -1,
                     .offset = TARE_NO_OFFSET,
                     .what = exists ? "is not a regular file; as standard input (-) it can be read"
                                    : "neither a file nor a URL of https, http or hf"};
    return TARE_ERR_ARG;
}

tare_status cli_source(tare_source *out, const char *path, tare_error *err) {
    *out = (tare_source){
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = path, .fd = -1};
    const char *url = url_of(path);
    if (strcmp(path, "-") == 0) return cli_stdin(out, err);
    if (!tare_is_url(url)) return check_kind(path, err);
    tare_status status = open_session(err);
    out->kind = TARE_SOURCE_URL;
    out->name = url;
    out->remote = session;
    return status;
}

int cli_check_local(const cli_command *command, const char *out_path) {
    return has_scheme(url_of(out_path)) ? cli_usage(command, "an output cannot be a URL") : CLI_YES;
}

void cli_remote_free(void) {
    tare_remote_free(session);
    session = NULL;
    for (size_t i = 0; i < n_hidden; i++) {
        free(hidden[i].name);
        free(hidden[i].url);
    }
    free(hidden);
    hidden = NULL;
    n_hidden = 0;
}
