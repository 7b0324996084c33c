/* SPDX-License-Identifier: MIT
 *
 * Two models to be compared, one with Hugging Face's names of tensors and the other with llama.cpp's:
 * one of them is given the names of the other. */
#include <stdlib.h>

#include "cli.h"

bool cli_share_a_name(const tare_model *a, const tare_model *b) {
    const tare_tensor *t;
    for (size_t i = 0; (t = tare_model_tensor(a, i)) != NULL; i++)
        if (tare_model_find_tensor(b, t->name) >= 0) return true;
    return tare_model_summarize(a)->n_tensors == 0 || tare_model_summarize(b)->n_tensors == 0;
}

/* Keeps a model with other names if they are those of `to`, and says so. */
static void keep(tare_model **renamed, const char *path, const tare_model *to, const char *whose) {
    if (!cli_share_a_name(*renamed, to)) {
        tare_model_free(*renamed);
        *renamed = NULL;
    }
    if (!*renamed || cli.quiet || cli.json) return;
    char *name = cli_escape_path(cli_input_name(cli_hide_secrets(path)));
    fprintf(cli_error_stream(), "%s: note: compared under %s names of tensors\n", name, whose);
    free(name);
}

int cli_map_names(tare_model **renamed, const tare_model *from, const char *path,
                  const tare_model *to) {
    tare_llama_options options = TARE_LLAMA_OPTIONS_INIT;
    tare_error err;
    *renamed = NULL;
    if (cli_share_a_name(from, to) || !tare_llama_can_map(from, NULL)) return CLI_YES;
    char *directory = cli_directory_name(path);
    options.directory = directory;
    tare_status status = tare_llama_map(renamed, from, &options, &err);
    if (status == TARE_ERR_UNSUPPORTED) { /* perhaps only its tokenizer is */
        options.no_tokenizer = true;
        status = tare_llama_map(renamed, from, &options, &err);
    }
    free(directory);
    if (status != TARE_OK) return cli_fail(&err, path);
    keep(renamed, path, to, "llama.cpp's");
    return CLI_YES;
}

int cli_restore_names(tare_model **renamed, const tare_model *from, const char *path,
                      const tare_model *to) {
    tare_error err;
    *renamed = NULL;
    if (cli_share_a_name(from, to) || !tare_llama_can_restore(from, NULL)) return CLI_YES;
    if (tare_llama_restore(renamed, from, NULL, &err) != TARE_OK) return cli_fail(&err, path);
    keep(renamed, path, to, "Hugging Face's");
    return CLI_YES;
}
