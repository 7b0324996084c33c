/* SPDX-License-Identifier: MIT
 *
 * Two models to be compared, one with Hugging Face's tensor names and the other with llama.cpp's:
 * one of them is given the names of the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "system.h"

/* Once about a model that is compared with several. */
static void say_renamed(const char *path, const char *whose) {
    static char said[CLI_PATH_SIZE];
    char line[CLI_PATH_SIZE];
    if (cli.quiet || cli.json) return;
    char *name = cli_escape_path(cli_input_name(cli_hide_secrets(path)));
    snprintf(line, sizeof line, "%s: note: compared under %s tensor names", name, whose);
    free(name);
    if (strcmp(line, said) == 0) return;
    memcpy(said, line, sizeof said);
    fprintf(cli_error_stream(), "%s\n", line);
}

int cli_map_names(tare_model **renamed, const tare_model *from, const char *path,
                  const tare_model *to) {
    tare_llama_options options = tare_llama_options_default();
    tare_error err;
    char *directory = cli_whole_path(path);
    options.directory = directory;
    const tare_status status = tare_llama_map_like(renamed, from, to, &options, &err);
    free(directory);
    if (status != TARE_OK) return cli_fail(&err, path);
    if (*renamed) say_renamed(path, "llama.cpp's");
    return CLI_YES;
}

int cli_restore_names(tare_model **renamed, const tare_model *from, const char *path,
                      const tare_model *to) {
    tare_error err;
    *renamed = NULL;
    if (tare_model_shares_names(from, to) || !tare_llama_can_restore(NULL, from)) return CLI_YES;
    if (tare_llama_restore(renamed, from, NULL, &err) != TARE_OK) return cli_fail(&err, path);
    if (tare_model_shares_names(*renamed, to)) {
        say_renamed(path, "Hugging Face's");
    } else {
        tare_model_free(*renamed);
        *renamed = NULL;
    }
    return CLI_YES;
}
