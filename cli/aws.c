/* SPDX-License-Identifier: MIT
 *
 * Settings of object stores, from where the aws tool has them: its variables, then the profile of its
 * two files. What only that tool can turn into keys (roles, single sign-on, programs) is refused by
 * name; nothing is asked of the machine's own metadata service. */
#include <stdlib.h>
#include <string.h>

#include "aws.h"
#include "cli.h"
#include "system.h"

#define PATH_MOST 4096
#define LINE_MOST 8192

/* ---- the two files --------------------------------------------------------------------------- */

static char *trim(char *text) {
    while (*text == ' ' || *text == '\t') text++;
    size_t n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1])) text[--n] = '\0';
    return text;
}

/* Whether "[profile NAME]", or "[NAME]", begins the section of a profile. */
static bool is_section(char *line, const char *profile, bool is_config) {
    char *end = strchr(line, ']');
    if (!end) return false;
    *end = '\0';
    char *name = trim(line + 1);
    const bool has_word = strncmp(name, "profile", 7) == 0 && (name[7] == ' ' || name[7] == '\t');
    if (has_word) return is_config && strcmp(trim(name + 8), profile) == 0;
    return strcmp(name, profile) == 0 && (!is_config || strcmp(profile, "default") == 0);
}

static void keep(char **out, const char *value) {
    if (!*out && *value) *out = cli_copy(value, strlen(value));
}

/* A line "NAME = VALUE" of the profile. */
static void take_setting(cli_aws *aws, const char *name, const char *value) {
    static const char *const others[] = {
        "role_arn",      "credential_process",      "sso_session",
        "sso_start_url", "web_identity_token_file", "login_session"};
    if (strcmp(name, "aws_access_key_id") == 0) keep(&aws->access_key, value);
    if (strcmp(name, "aws_secret_access_key") == 0) keep(&aws->secret_key, value);
    if (strcmp(name, "aws_session_token") == 0) keep(&aws->session_token, value);
    if (strcmp(name, "region") == 0) keep(&aws->region, value);
    if (strcmp(name, "endpoint_url") == 0) keep(&aws->endpoint, value);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0) aws->other_way = others[i];
}

static const char unreadable[] = "a file of the aws tool's settings cannot be read "
                                 "(AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE)";

/* Takes what a file says of a profile; false: it says nothing of it. */
static bool read_profile(cli_aws *aws, const char *path, const char *profile, bool is_config) {
    char line[LINE_MOST];
    bool is_in = false, is_there = false, is_hidden;
    FILE *file = cli_open_optional(path, &is_hidden);
    if (is_hidden) aws->fault = unreadable;
    if (!file) return false;
    while (fgets(line, sizeof line, file)) {
        const bool is_nested = line[0] == ' ' || line[0] == '\t';
        char *text = trim(line), *equals = strchr(text, '=');
        if (*text == '[') {
            is_in = is_section(text, profile, is_config);
            is_there = is_there || is_in;
        } else if (is_in && !is_nested && *text != '#' && *text != ';' && equals) {
            *equals = '\0';
            take_setting(aws, trim(text), trim(equals + 1));
        }
    }
    memset(line, 0, sizeof line);
    if (ferror(file)) aws->fault = unreadable;
    fclose(file);
    return is_there;
}

/* Where one of the files is; false: nowhere. */
static bool path_of(char *out, const char *named, const char *name) {
    const char *home = cli_home(), *path = cli_variable(named);
    int n = -1;
    if (path && strncmp(path, "~/", 2) != 0)
        n = snprintf(out, PATH_MOST, "%s", path);
    else if (home)
        n = snprintf(out, PATH_MOST, "%s/%s", home, path ? path + 2 : name);
    return n > 0 && n < PATH_MOST;
}

static bool read_files(cli_aws *aws, const char *profile) {
    char path[PATH_MOST];
    bool is_there = false;
    if (path_of(path, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"))
        is_there = read_profile(aws, path, profile, false);
    if (path_of(path, "AWS_CONFIG_FILE", ".aws/config"))
        is_there = read_profile(aws, path, profile, true) || is_there;
    return is_there;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Variables come before the files; a token belongs to the keys beside it. */
static void read_variables(cli_aws *aws) {
    const char *access = cli_variable("AWS_ACCESS_KEY_ID"),
               *secret = cli_variable("AWS_SECRET_ACCESS_KEY");
    const char *token = cli_variable("AWS_SESSION_TOKEN"), *region = cli_variable("AWS_REGION");
    const char *endpoint = cli_variable("AWS_ENDPOINT_URL_S3");
    if (!token) token = cli_variable("AWS_SECURITY_TOKEN");
    if (!region) region = cli_variable("AWS_DEFAULT_REGION");
    if (!endpoint) endpoint = cli_variable("AWS_ENDPOINT_URL");
    if (access) keep(&aws->access_key, access);
    if (access && secret) keep(&aws->secret_key, secret);
    if (access && token) keep(&aws->session_token, token);
    if (region) keep(&aws->region, region);
    if (endpoint) keep(&aws->endpoint, endpoint);
}

static void drop(char **text) {
    if (*text) memset(*text, 0, strlen(*text));
    free(*text);
    *text = NULL;
}

void cli_aws_read(cli_aws *out) {
    const char *named = cli_variable("AWS_PROFILE");
    *out = (cli_aws){.fault = NULL};
    if (!named) named = cli_variable("AWS_DEFAULT_PROFILE");
    read_variables(out);
    const bool has_keys = out->access_key != NULL;
    cli_aws file = {.fault = NULL};
    const bool is_there = read_files(&file, named ? named : "default");
    if (!out->region && file.region) keep(&out->region, file.region);
    if (!out->endpoint && file.endpoint) keep(&out->endpoint, file.endpoint);
    if (!has_keys) {
        if (file.access_key) keep(&out->access_key, file.access_key);
        if (file.secret_key) keep(&out->secret_key, file.secret_key);
        if (file.session_token) keep(&out->session_token, file.session_token);
    }
    if (file.fault && !has_keys)
        out->fault = file.fault;
    else if (named && !is_there && !has_keys)
        out->fault =
            "AWS_PROFILE names a profile that is neither in the file of credentials nor in that "
            "of the configuration";
    else if (!out->access_key && file.other_way)
        out->fault =
            "the profile has no keys of its own, but a way to get some (role, single sign-on, "
            "program): set the variables that `aws configure export-credentials --format env` "
            "prints";
    else if (!out->access_key != !out->secret_key)
        out->fault = "an access key without its secret key, or the reverse "
                     "(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)";
    cli_aws_free(&file);
}

void cli_aws_free(cli_aws *aws) {
    char **texts[] = {&aws->access_key, &aws->secret_key, &aws->session_token, &aws->region,
                      &aws->endpoint};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) drop(texts[i]);
}
