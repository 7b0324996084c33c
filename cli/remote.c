/* SPDX-License-Identifier: MIT
 *
 * URLs as inputs, and the store for outputs. The library reads no environment: the command does, as curl
 * and the tools of the hub do. A URL may contain a password or a signature: the command never shows these. */
#include <stdlib.h>
#include <string.h>

#include "aws.h"
#include "cli.h"
#include "system.h"

#define PATH_MOST 4096

static tare_remote *session;
static const char *s3_fault; /* why s3:// URLs cannot be used */
static bool is_token_hidden; /* the file of the hub's token is there, and cannot be read */

/* ---- names ----------------------------------------------------------------------------------- */

/* URLs of the command line that hold more than may be shown. */
static struct hidden { char *name, *url; } * hidden;
static size_t n_hidden;

/* Paths of manifests of Ollama that names of the command line stand for. */
static char **manifests;
static size_t n_manifests;

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

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

/* A token without line ends, and without spaces around it, as the hub's tools take it, nor the mark
 * that an editor puts before a text; owned by the caller. NULL: nothing is left. */
static char *clean_token(const char *text, size_t length) {
    static const char mark[] = "\xEF\xBB\xBF";
    char *token = cli_alloc(length + 1, 1);
    size_t n = 0;
    for (size_t i = length >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0; i < length; i++)
        if (text[i] != '\r' && text[i] != '\n' && (n || !is_space(text[i]))) token[n++] = text[i];
    while (n && is_space(token[n - 1])) n--;
    token[n] = '\0';
    if (n) return token;
    free(token);
    return NULL;
}

/* Writes a path of a variable of the hub's tools, with the home folder where it begins with ~ or $HOME,
 * as they do; false: there is none, or it is too long. */
static bool home_path(char *out, size_t size, const char *path, const char *more) {
    static const char *const homes[] = {"~/", "$HOME/", "${HOME}/"};
    const char *home = cli_home();
    if (!path) return false;
    for (size_t i = 0; home && i < sizeof homes / sizeof *homes; i++) {
        const size_t n = strlen(homes[i]);
        if (strncmp(path, homes[i], n) != 0) continue;
        const int length = snprintf(out, size, "%s/%s%s", home, path + n, more);
        return length > 0 && (size_t)length < size;
    }
    const int length = snprintf(out, size, "%s%s", path, more);
    return length > 0 && (size_t)length < size;
}

/* Writes a path in the folder of the hub's tools, which begins with a slash; false: there is no such
 * folder. */
static bool hub_path(char *out, size_t size, const char *name) {
    const char *hub = cli_variable("HF_HOME"), *cache = cli_variable("XDG_CACHE_HOME");
    char folder[PATH_MOST];
    if (hub) return home_path(out, size, hub, name);
    const bool is_named = cache
                              ? home_path(folder, sizeof folder, cache, "/huggingface")
                              : home_path(folder, sizeof folder, cli_home(), "/.cache/huggingface");
    return is_named && home_path(out, size, folder, name);
}

/* What a file of the hub's tools holds; NULL: none. */
static char *token_file(void) {
    char path[PATH_MOST], text[PATH_MOST];
    const char *named = cli_variable("HF_TOKEN_PATH");
    const bool is_named =
        named ? home_path(path, sizeof path, named, "") : hub_path(path, sizeof path, "/token");
    FILE *file = is_named ? cli_open_optional(path, &is_token_hidden) : NULL;
    if (!file) return NULL;
    const size_t n = fread(text, 1, sizeof text, file);
    is_token_hidden = ferror(file) != 0;
    fclose(file);
    if (is_token_hidden) return NULL;
    char *token = clean_token(text, n);
    memset(text, 0, sizeof text);
    return token;
}

static char *find_token(void) {
    const char *given = cli_variable("HF_TOKEN");
    if (!given) given = cli_variable("HUGGING_FACE_HUB_TOKEN");
    char *token = given ? clean_token(given, strlen(given)) : NULL;
    return token ? token : token_file();
}

/* 1, ON, YES or TRUE in letters of any size. */
static bool is_offline(void) {
    static const char *const yes[] = {"1", "on", "yes", "true"};
    const char *value = cli_variable("HF_HUB_OFFLINE");
    if (!value) value = cli_variable("TRANSFORMERS_OFFLINE");
    for (size_t i = 0; value && i < sizeof yes / sizeof *yes; i++)
        if (cli_same_letters(value, yes[i])) return true;
    return false;
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
    tare_remote_options o = tare_remote_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    char *token = find_token(), cache[PATH_MOST];
    cli_aws aws;
    cli_aws_read(&aws);
    s3_fault = aws.fault;
    if (!s3_fault) {
        o.s3_access_key = aws.access_key;
        o.s3_secret_key = aws.secret_key;
        o.s3_session_token = aws.session_token;
    }
    o.s3_region = aws.region;
    o.s3_endpoint = aws.endpoint;
    o.hub_endpoint = cli_variable("HF_ENDPOINT");
    o.hub_token = token;
    o.is_offline = is_offline();
    const char *named = cli_variable("HF_HUB_CACHE");
    if (!named) named = cli_variable("HUGGINGFACE_HUB_CACHE");
    if (named ? home_path(cache, sizeof cache, named, "") : hub_path(cache, sizeof cache, "/hub"))
        o.hub_cache = cache;
    if (cli_has_certificate_files()) {
        o.ca_file = cli_variable("CURL_CA_BUNDLE") ? cli_variable("CURL_CA_BUNDLE")
                                                   : cli_variable("SSL_CERT_FILE");
        o.ca_folder = cli_variable("SSL_CERT_DIR");
    }
    context.progress = report_progress;
    o.retries = at_most(cli.retries, 100);
    o.connect_seconds = o.stall_seconds = at_most(cli.timeout, 3600);
    tare_status status = tare_remote_new(&session, &o, err);
    free(token);
    cli_aws_free(&aws);
    return status;
}

bool cli_is_s3(const char *url) {
    return strncmp(url, "s3://", 5) == 0 || strncmp(url, "S3://", 5) == 0;
}

/* "gs://...": also one that is not read. */
static bool has_scheme(const char *path) {
    const size_t n =
        strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-");
    return n && strncmp(path + n, "://", 3) == 0;
}

/* A model is not read in sequence, so a pipe with a name is only good as standard input. */
static tare_status check_kind(const char *path, tare_error *err) {
    const cli_path_kind kind = cli_stat(path);
    const bool exists = kind != CLI_PATH_NOTHING;
    if (exists ? kind != CLI_PATH_OTHER : !has_scheme(path)) return TARE_OK;
    *err =
        (tare_error){.status = TARE_ERR_ARG,
                     .item = -1,
                     .offset = TARE_NO_OFFSET,
                     .what = exists ? "is not a regular file; as standard input (-) it can be read"
                                    : "neither a file nor a URL of https, http, hf or s3"};
    return TARE_ERR_ARG;
}

/* ---- Ollama's store ---------------------------------------------------------------------------- */

#define OLLAMA "ollama://"

/* Whether n bytes are a name of a folder or a file there. */
static bool is_ollama_word(const char *text, size_t n) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    return n && strspn(text, letters) >= n && text[0] != '.';
}

/* "[[HOST/]SPACE/]NAME[:TAG]" -> the path of its manifest; NULL: it is no such name. */
static char *ollama_manifest(const char *name) {
    static const char *const fronts[] = {"registry.ollama.ai/library/", "registry.ollama.ai/", ""};
    const char *store = cli_variable("OLLAMA_MODELS"), *home = cli_home(), *at = name;
    const size_t n = strcspn(name, ":");
    const char *tag = name[n] ? name + n + 1 : "latest";
    size_t n_slashes = 0;
    for (size_t length; (length = strcspn(at, "/:")), at[length] == '/'; at += length + 1)
        if (!is_ollama_word(at, length) || ++n_slashes > 2) return NULL;
    if (!is_ollama_word(at, strcspn(at, ":")) || !is_ollama_word(tag, strlen(tag))) return NULL;
    const char *root = store ? store : home;
    if (!root) return NULL;
    const size_t size = strlen(root) + strlen(name) + 96;
    char *path = cli_alloc(size, 1);
    snprintf(path, size, "%s%s/manifests/%s%.*s/%s", root, store ? "" : "/.ollama/models",
             fronts[n_slashes], (int)n, name, tag);
    return path;
}

static tare_status ollama_source(tare_source *out, const char *path, tare_error *err) {
    char *manifest = ollama_manifest(path + sizeof OLLAMA - 1);
    manifests = cli_grow(manifests, n_manifests + 1, sizeof *manifests);
    manifests[n_manifests++] = manifest;
    out->name = manifest;
    if (manifest) return TARE_OK;
    *err = (tare_error){.status = TARE_ERR_ARG,
                        .item = -1,
                        .offset = TARE_NO_OFFSET,
                        .what = "ollama://[SPACE/]NAME[:TAG] expected"};
    return TARE_ERR_ARG;
}

bool cli_is_ollama(const char *path) {
    return strncmp(path, OLLAMA, sizeof OLLAMA - 1) == 0;
}

/* The weights are written under a name that nothing else there has. */
tare_status cli_ollama_output(char **manifest, char **weights, const char *path, tare_error *err) {
    static const char folder[] = "/manifests/";
    tare_source source;
    uint8_t mark[8];
    *manifest = *weights = NULL;
    if (!cli_random_bytes(mark, sizeof mark)) memset(mark, 0, sizeof mark);
    const tare_status status = ollama_source(&source, path, err);
    if (status != TARE_OK) return status;
    const char *at = NULL;
    for (const char *next = strstr(source.name, folder); next; next = strstr(next + 1, folder))
        at = next;
    const size_t n = (size_t)(at - source.name), size = n + 64;
    *manifest = cli_copy(source.name, strlen(source.name));
    *weights = cli_alloc(size, 1);
    snprintf(*weights, size, "%.*s/blobs/tare-%02x%02x%02x%02x%02x%02x%02x%02x.gguf", (int)n,
             source.name, mark[0], mark[1], mark[2], mark[3], mark[4], mark[5], mark[6], mark[7]);
    return TARE_OK;
}

static tare_status open_for(const char *url, tare_error *err) {
    const tare_status status = open_session(err);
    const bool is_hub = strncmp(url, "hf://", 5) == 0 || strncmp(url, "HF://", 5) == 0;
    const char *what = cli_is_s3(url) ? s3_fault : NULL;
    if (is_token_hidden && is_hub) what = "the file of the hub's token cannot be read";
    if (status != TARE_OK || !what) return status;
    *err = (tare_error){.status = is_hub ? TARE_ERR_IO : TARE_ERR_ARG,
                        .item = -1,
                        .offset = TARE_NO_OFFSET,
                        .what = what};
    return err->status;
}

tare_status cli_source(tare_source *out, const char *path, tare_error *err) {
    *out = (tare_source){
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = path, .fd = -1};
    const char *url = url_of(path);
    if (strcmp(path, "-") == 0) return cli_stdin(out, err);
    if (cli_is_ollama(path)) return ollama_source(out, path, err);
    if (!tare_is_url(url)) return check_kind(path, err);
    const tare_status status = open_for(url, err);
    out->kind = TARE_SOURCE_URL;
    out->name = url;
    out->remote = session;
    return status;
}

int cli_check_local(const cli_command *command, const char *out_path) {
    if (!has_scheme(url_of(out_path))) return CLI_YES;
    return cli_usage(command, cli_is_s3(url_of(out_path))
                                  ? "this output is not written in one go, as an object store "
                                    "wants it: write a file and upload it"
                                  : "an output cannot be a URL");
}

int cli_check_output(const cli_command *command, const char *out_path) {
    tare_error err;
    if (!has_scheme(url_of(out_path))) return CLI_YES;
    if (!cli_is_s3(out_path))
        return cli_usage(command, "an output can be s3://BUCKET/KEY, but no other URL");
    return open_for(out_path, &err) == TARE_OK ? CLI_YES : cli_fail(&err, out_path);
}

tare_output_options cli_output(void) {
    tare_output_options o = tare_output_options_default();
    o.force = cli.force;
    o.strict = cli.strict;
    o.no_sync = cli.no_sync;
    o.dry_run = cli.dry_run;
    o.remote = session;
    return o;
}

struct tare_remote *cli_session(void) {
    return session;
}

void cli_remote_free(void) {
    tare_remote_free(session);
    session = NULL;
    for (size_t i = 0; i < n_hidden; i++) {
        free(hidden[i].name);
        free(hidden[i].url);
    }
    for (size_t i = 0; i < n_manifests; i++) free(manifests[i]);
    free(manifests);
    manifests = NULL;
    n_manifests = 0;
    free(hidden);
    hidden = NULL;
    n_hidden = 0;
}
