/* SPDX-License-Identifier: MIT
 *
 * Adapters on the command line: --apply-adapter [TENSOR=]NAME|PATH[:SCALE], where NAME is one of
 * the input's own adapters and anything else is a path, and --adapter NAME=PATH. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static tare_str str_of(const char *text, size_t n) {
    return (tare_str){text, n};
}

/* Cuts ":SCALE" off; if the text after the last colon is not a number, it belongs to the path. */
static size_t cut_scale(const char *text, double *scale) {
    const char *colon = strrchr(text, ':');
    char *end;
    *scale = 1;
    if (!colon || colon[1] == '\0' || cli_is_there(text)) return strlen(text);
    double number = strtod(colon + 1, &end);
    if (*end != '\0' || !isfinite(number)) return strlen(text);
    *scale = number;
    return (size_t)(colon - text);
}

/* Whether the model has adapters of that name. */
static bool has_named(const tare_adapter_set *set, tare_str name) {
    const tare_adapter_use use = {.set = set, .name = name};
    const tare_adapter *a;
    for (size_t i = 0; (a = tare_adapters_at(set, i)) != NULL; i++)
        if (tare_adapter_is_used(&use, a)) return true;
    return false;
}

static int no_adapter(const tare_model *in, const char *path) {
    char *safe = cli_escape_path(path);
    if (tare_adapters_count(tare_model_adapters(in)))
        cli_fail_text(CLI_USAGE,
                      "%s: neither an adapter of the input (tare info lists them) nor a file",
                      safe);
    else
        cli_fail_text(CLI_USAGE, "%s: no such file, and the input has no adapters", safe);
    free(safe);
    return CLI_USAGE;
}

static void keep(cli_adapters *list, const tare_adapter_use *use, tare_adapter_set *set) {
    list->items = cli_grow(list->items, list->n + 1, sizeof *list->items);
    list->sets = cli_grow(list->sets, list->n + 1, sizeof *list->sets);
    list->items[list->n] = *use;
    list->sets[list->n++] = set;
}

static int add(cli_adapters *list, const tare_model *in, const char *text, tare_report *report) {
    tare_adapter_use use = {.scale = 1};
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_adapter_set *set = NULL;
    tare_error err;
    int code = 0;
    size_t n = cut_scale(text, &use.scale);
    char *path = cli_copy(text, n), *equals = strchr(path, '=');
    const tare_adapter_set *own = tare_model_adapters(in);
    const char *from = path;
    if (equals && !cli_is_there(path) && !has_named(own, str_of(path, n))) {
        use.target = str_of(text, (size_t)(equals - path));
        from = equals + 1;
    }
    context.report = report;
    if (has_named(own, str_of(from, strlen(from)))) {
        use.set = own;
        use.name = str_of(text + (from - path), strlen(from));
    } else if (!cli_is_there(from)) {
        code = no_adapter(in, from);
    } else if (tare_adapters_open_path(&set, from, &options, &err) != TARE_OK) {
        code = cli_fail(&err, from);
    } else {
        use.set = set;
        if (has_named(set, use.target)) { /* a part of an adapter for several models */
            use.name = use.target;
            use.target = str_of("", 0);
        }
    }
    free(path);
    if (code != 0) return code;
    keep(list, &use, set);
    return 0;
}

int cli_adapters_merge(cli_adapters *list, const tare_model *in, const cli_list *texts,
                       tare_report *report) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < texts->n; i++)
        code = add(list, in, texts->items[i], report);
    return code;
}

int cli_adapters_store(cli_adapters *list, const cli_command *command, const cli_list *texts,
                       tare_report *report) {
    for (size_t i = 0; i < texts->n; i++) {
        const char *text = texts->items[i], *equals = strchr(text, '=');
        tare_open_options options = tare_open_options_default();
        tare_context context = tare_context_default();
        options.context = &context;
        tare_adapter_set *set;
        tare_error err;
        context.report = report;
        if (!equals || equals == text || equals[1] == '\0') {
            char *safe = cli_escape_path(text);
            cli_usage(command, "--adapter: \"%s\" is not NAME=PATH", safe);
            free(safe);
            return CLI_USAGE;
        }
        if (tare_adapters_open_path(&set, equals + 1, &options, &err) != TARE_OK)
            return cli_fail(&err, equals + 1);
        const tare_adapter_use use = {
            .set = set, .name = str_of(text, (size_t)(equals - text)), .scale = 1};
        keep(list, &use, set);
    }
    return 0;
}

void cli_adapters_close(cli_adapters *list) {
    for (size_t i = 0; i < list->n; i++) tare_adapters_free(list->sets[i]);
    free(list->sets);
    free(list->items);
}
