/* SPDX-License-Identifier: MIT
 *
 * Folders of several models: commands that take any number of models take those in them, the others
 * say which there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#include <tare/experimental/folder.h>

#define NAMES_SHOWN 12

static tare_folder_models *models_in(const char *path) {
    tare_folder_models *list = NULL;
    tare_source source;
    tare_error err;
    if (cli_source(&source, path, &err) == TARE_OK) tare_folder_models_list(&list, &source, &err);
    return list;
}

bool cli_names_type(const char *path) {
    const char *colon = strncmp(path, "hf://", 5) == 0 ? strchr(path + 5, ':') : NULL;
    return colon && !strchr(colon, '/');
}

bool cli_names_file(const char *path) {
    return cli_names_type(path) || strncmp(path, "ollama://", 9) == 0;
}

void cli_hint_models(const char *path) {
    tare_folder_models *list = models_in(path);
    const size_t n = tare_folder_models_count(list);
    if (n) fputs("the models there:", cli_error_stream());
    for (size_t i = 0; i < n && i < NAMES_SHOWN; i++) {
        char *name = cli_escape_path(tare_folder_models_name(list, i));
        const bool is_missing =
            cli_is_there(path) && !cli_is_there(tare_folder_models_path(list, i));
        fprintf(cli_error_stream(), "%s %s%s", i ? "," : "", name, is_missing ? " (missing)" : "");
        free(name);
    }
    if (n > NAMES_SHOWN) fprintf(cli_error_stream(), " and %zu more", n - NAMES_SHOWN);
    if (n) fputc('\n', cli_error_stream());
    tare_folder_models_free(list);
}

cli_models cli_models_of(int n, const char **paths) {
    cli_models m = {.folders = cli_alloc((size_t)n, sizeof(tare_folder_models *))};
    size_t most = 0;
    for (int i = 0; i < n; i++) {
        /* a URL would be asked twice */
        const bool is_local = strcmp(paths[i], "-") != 0 && cli_is_there(paths[i]);
        m.folders[i] = is_local ? models_in(paths[i]) : NULL;
        m.n_folders++;
        most += tare_folder_models_count(m.folders[i]) + 1;
    }
    m.paths = cli_alloc(most, sizeof *m.paths);
    for (int i = 0; i < n; i++) {
        const size_t found = tare_folder_models_count(m.folders[i]);
        if (!found) m.paths[m.n++] = paths[i];
        for (size_t k = 0; k < found; k++)
            m.paths[m.n++] = tare_folder_models_path(m.folders[i], k);
    }
    return m;
}

cli_models cli_models_at(const char *url) {
    cli_models m = {.folders = cli_alloc(1, sizeof(tare_folder_models *)), .n_folders = 1};
    m.folders[0] = cli_names_type(url) ? NULL : models_in(url);
    const size_t n = tare_folder_models_count(m.folders[0]);
    m.paths = cli_alloc(n + 1, sizeof *m.paths);
    for (size_t i = 0; i < n; i++) m.paths[m.n++] = tare_folder_models_path(m.folders[0], i);
    return m;
}

void cli_models_free(cli_models *m) {
    for (size_t i = 0; i < m->n_folders; i++) tare_folder_models_free(m->folders[i]);
    free(m->folders);
    free(m->paths);
}
