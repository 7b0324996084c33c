/* SPDX-License-Identifier: MIT
 *
 * The command `tare`: finds the subcommand in the table, reads its options, runs it. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static void version_text(void) {
    printf("tare %s\n", tare_version());
    printf("cpu: %s in use, %s available\n", tare_cpu_active(), tare_cpu_detect());
    const char *name, *version;
    fputs("with: ", stdout);
    for (size_t i = 0; tare_dependency(&name, &version, i); i++)
        printf("%s%s %s", i ? ", " : "", name, version);
    fputc('\n', stdout);
}

static void version_json(void) {
    tare_json_node *document = cli_json_new("tare.version/2");
    cli_json_text(document, "version", tare_version());
    tare_json_node *cpu = cli_json_object();
    cli_json_text(cpu, "active", tare_cpu_active());
    cli_json_text(cpu, "detected", tare_cpu_detect());
    cli_json_add(document, "cpu", cpu);
    tare_json_node *dependencies = cli_json_object();
    const char *name, *version;
    for (size_t i = 0; tare_dependency(&name, &version, i); i++) {
        cli_json_text(dependencies, name, version);
    }
    cli_json_add(document, "dependencies", dependencies);
    cli_json_print(document);
}

/* `tare --version`, `tare --help`: the program itself as a command without a name. */
static bool wants_version;
static const cli_option own_options[] = {
    {.name = "version",
     .letter = 'V',
     .help = "print the version and what tare runs on",
     .flag = &wants_version},
    {0},
};
static const cli_command own_command = {
    .name = "", .options = own_options, .takes = CLI_TAKES_WORK | CLI_TAKES_JSON, .max_args = 0};

static void show_help(const cli_command *command) {
    if (cli.is_brief)
        cli_help_brief(stdout, command);
    else
        cli_page(cli_help_command, command);
}

static int run_own_options(int argc, char **argv) {
    const char **args = cli_alloc((size_t)argc, sizeof *args);
    int n_args = cli_parse(&own_command, argc, argv, args);
    const char *word = n_args > 0 ? args[0] : NULL;
    free(args);
    if (n_args < 0) return CLI_USAGE;
    const cli_command *command = n_args == 1 && cli.help ? cli_command_find(word) : NULL;
    if (n_args > 0 && !command)
        return cli_usage(NULL, "the command comes first, its options after it");
    if (!cli_apply_cpu(&own_command)) return CLI_UNSUPPORTED;
    if (command) {
        show_help(command);
    } else if (cli.help) {
        cli_help_all(stdout, NULL);
    } else if (!wants_version) {
        return cli_usage(NULL, "a command is missing");
    } else if (cli.json) {
        version_json();
    } else {
        version_text();
    }
    return CLI_YES;
}

/* OUT by --output becomes the argument that it is; returns how many there are then. */
static int place_output(const cli_command *command, const char **args, int n_args) {
    const int at = command->out_at;
    if (!cli.output || n_args < at) return n_args;
    memmove(args + at + 1, args + at, (size_t)(n_args - at) * sizeof *args);
    args[at] = cli.output;
    return n_args + 1;
}

static void refuse_extra(const cli_command *command, const char **args, int n_args) {
    const bool is_twice = cli.output && n_args == command->max_args + 1;
    const char *extra = args[is_twice ? command->out_at + 1 : command->max_args];
    char *safe = cli_escape_path(extra);
    const bool is_mix = tare_mix_find((tare_str){extra, strlen(extra)}) != NULL;
    if (is_twice)
        cli_usage(command, "the output is named twice, as %s and by --output", safe);
    else
        cli_usage(command, "one argument too many: %s%s%s", safe,
                  is_mix ? ", a mix: tare quantize IN OUT " : "", is_mix ? safe : "");
    free(safe);
}

static int run_command(const cli_command *command, int argc, char **argv) {
    const char **args = cli_alloc((size_t)argc + 1, sizeof *args);
    int n_args = cli_parse(command, argc, argv, args);
    int code = CLI_USAGE;
    if (n_args < 0) goto out;
    if (cli.help) {
        const cli_command *other =
            command == cli_command_find("help") && n_args == 1 ? cli_command_find(args[0]) : NULL;
        show_help(other ? other : command);
        code = CLI_YES;
        goto out;
    }
    n_args = place_output(command, args, n_args);
    bool is_alone = n_args == 0 && command->alone && *command->alone;
    if (n_args < command->min_args && !is_alone) {
        /* The arguments are what stands before the first option of the usage. */
        const char *option = strstr(command->usage, " [");
        const size_t n = option ? (size_t)(option - command->usage) : strlen(command->usage);
        cli_usage(command, "needs %.*s", (int)n, command->usage);
        goto out;
    }
    if (command->max_args >= 0 && n_args > command->max_args) {
        refuse_extra(command, args, n_args);
        goto out;
    }
    for (int i = 0; i < n_args; i++) args[i] = cli_hide_secrets(args[i]);
    for (size_t i = 0; i < cli.base.n; i++) cli.base.items[i] = cli_hide_secrets(cli.base.items[i]);
    code = cli_apply_cpu(command) ? command->run(n_args, args) : CLI_UNSUPPORTED;
out:
    cli_named_free();
    cli_bases_free();
    cli_device_free();
    cli_remote_free();
    free(args);
    return code;
}

int main(int argc, char **argv) {
    cli_prepare_process(&argc, &argv);
    cli.words = (const char *const *)(argv + 1);
    if (argc < 2) {
        cli_help_all(stderr, NULL);
        return CLI_USAGE;
    }
    if (argv[1][0] == '-' && argv[1][1] != '\0') {
        return cli_finish(run_own_options(argc - 1, argv + 1));
    }
    const cli_command *command = cli_command_find(argv[1]);
    if (!command) {
        char *word = cli_escape_path(argv[1]);
        cli.json = cli_seems_json(argc - 2, argv + 2);
        int code = cli_usage(NULL, "no command \"%s\"%s", word, cli_command_guess(argv[1]).text);
        free(word);
        return cli_finish(code);
    }
    return cli_finish(run_command(command, argc - 2, argv + 2));
}
