/* SPDX-License-Identifier: MIT
 *
 * What the readers of tokenizer files share: the files, what is found in them, and how faults in
 * them are reported. */
#ifndef TARE_LLAMA_TOKENIZER_CONTEXT_H
#define TARE_LLAMA_TOKENIZER_CONTEXT_H

#include "llama/tokenizer/added_ids.h"
#include "llama/tokenizer/json_span.h"
#include "llama/tokenizer/tokenizer.h"
#include "llama/tokenizer/vocab.h"

/* A side file in memory. text.ptr NULL: the model has none of that name. */
typedef struct tare_llama_file {
    const char *name;
    int64_t resource;
    tare_str text;
    tare_json_value root; /* of a JSON file */
} tare_llama_file;

/* The parts of tokenizer.json; type END: not there, or null. */
typedef struct tare_llama_tokenizer_json {
    tare_llama_file file;
    tare_json_value model, added_tokens, normalizer, pre_tokenizer, post_processor, decoder;
    tare_json_value type, vocab, merges; /* of `model` */
    bool byte_fallback, ignore_merges;
} tare_llama_tokenizer_json;

typedef struct tare_llama_special_id {
    tare_llama_special special;
    uint32_t id;
    bool is_late;
} tare_llama_special_id;

/* name.len 0: the default one. */
typedef struct tare_llama_template {
    tare_str name; /* first: they are sorted by it */
    tare_str text;
} tare_llama_template;

typedef enum tare_llama_add {
    TARE_LLAMA_ADD_BOS,
    TARE_LLAMA_ADD_EOS,
    TARE_LLAMA_ADD_SEP,
    TARE_LLAMA_ADD_COUNT
} tare_llama_add;

typedef struct tare_llama_tokenizer {
    const tare_model *hf;
    const tare_llama_tokenizer_options *options;
    tare_report *report;
    tare_arena scratch;
    tare_llama_tokenizer_json json;   /* tokenizer.json */
    tare_llama_file tokenizer_config; /* tokenizer_config.json */
    tare_llama_file model_config;     /* config.json */

    const char *model;  /* tokenizer.ggml.model */
    tare_str pre;       /* ptr NULL: no such key */
    bool needs_add_bos; /* llama.cpp adds a BOS by default */
    bool has_scores;
    bool loses_bytes; /* of characters that are no tokens: llama.cpp does not look for them */
    float pad_score;
    tare_llama_vocab vocab;
    tare_llama_added_ids added; /* begun with added_tokens of tokenizer.json */
    tare_llama_flag add_space_prefix, remove_extra_whitespaces, lowercase, strip_accents;
    tare_str charsmap;
    tare_llama_special_id ids[TARE_LLAMA_SPECIAL_COUNT]; /* in the order they were found */
    size_t n_ids;
    tare_llama_flag adds[TARE_LLAMA_ADD_COUNT];
    tare_llama_add add_order[TARE_LLAMA_ADD_COUNT]; /* those that are set, in the order found */
    size_t n_adds;
    tare_llama_template *templates; /* in the files' order */
    size_t n_templates;
    tare_str fall_back_template; /* a name that llama.cpp knows, where no file has one */
} tare_llama_tokenizer;

/* ---- files ----------------------------------------------------------------------------------- */

/* Reads a whole side file; a missing one is not an error. */
tare_status tare_llama_file_read(tare_llama_file *out, tare_llama_tokenizer *t, const char *name,
                                 tare_error *err);
/* The same without a byte order mark, which editors leave in front of texts. */
tare_status tare_llama_file_read_text(tare_llama_file *out, tare_llama_tokenizer *t,
                                      const char *name, tare_error *err);
/* The same for a JSON file whose value is an object. */
tare_status tare_llama_file_read_json(tare_llama_file *out, tare_llama_tokenizer *t,
                                      const char *name, tare_error *err);
tare_status tare_llama_tokenizer_json_read(tare_llama_tokenizer *t, tare_error *err);
/* A fault at a byte of a file; TARE_NO_OFFSET: of all of it. */
tare_status tare_llama_fail_file(tare_error *err, tare_status status, const tare_llama_file *file,
                                 uint64_t offset, const char *what);
/* Adds the file's name to an error that is already filled in; returns its status. */
tare_status tare_llama_in_file(tare_error *err, tare_status status, const tare_llama_file *file);
/* A finding about a file; `format` and its arguments make the text. */
void tare_llama_note(const tare_llama_tokenizer *t, tare_level level, const char *code,
                     const char *file, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The text of a STRING value; reports NOMEM. */
tare_status tare_llama_text(tare_str *out, tare_llama_tokenizer *t, const tare_json_value *v,
                            tare_error *err);

/* ---- readers --------------------------------------------------------------------------------- */

/* Each fills the vocabulary, `model` and what else its kind has. */
tare_status tare_llama_read_sentencepiece(tare_llama_tokenizer *t, const tare_llama_file *file,
                                          tare_error *err);
/* BPE over the byte alphabet: tokenizer.json, else vocab.json and merges.txt. */
tare_status tare_llama_read_byte_bpe(tare_llama_tokenizer *t, tare_error *err);
/* Drops merges that are given again (merges.c). */
tare_status tare_llama_keep_last_merges(tare_llama_tokenizer *t, tare_error *err);
/* The token that each merge makes, -1 for none. */
tare_status tare_llama_tokens_made(const int64_t **out, tare_llama_tokenizer *t, tare_error *err);
/* Tells where merges and tokens do not fit, or llama.cpp uses them otherwise. Behind the choice of `pre`. */
tare_status tare_llama_check_merges(tare_llama_tokenizer *t, tare_error *err);
/* BPE over characters, in tokenizer.json: tokens as SentencePiece would have them. */
tare_status tare_llama_read_llama_bpe(tare_llama_tokenizer *t, tare_error *err);
/* WordPiece: tokenizer.json, else vocab.txt. */
tare_status tare_llama_read_word_piece(tare_llama_tokenizer *t, tare_error *err);
/* Unigram in tokenizer.json. */
tare_status tare_llama_read_unigram(tare_llama_tokenizer *t, tare_error *err);
/* Byte strings by rank, in base64, which are split as `pre` says. */
tare_status tare_llama_read_tiktoken(tare_llama_tokenizer *t, const tare_llama_file *file,
                                     const char *pre, tare_error *err);
/* tekken.json, read as JSON. */
tare_status tare_llama_read_tekken(tare_llama_tokenizer *t, const tare_llama_file *file,
                                   tare_error *err);
/* The vocabulary of RWKV's world models, in lines. */
tare_status tare_llama_read_rwkv(tare_llama_tokenizer *t, const tare_llama_file *file,
                                 tare_error *err);
/* tokenizer.jsonl of PLaMo. */
tare_status tare_llama_read_plamo(tare_llama_tokenizer *t, const tare_llama_file *file,
                                  tare_error *err);

/* Tokens out of an object of texts and ids. */
tare_status tare_llama_read_vocab_object(tare_llama_tokenizer *t, const tare_llama_file *file,
                                         const tare_json_value *object, tare_error *err);
/* Bytes out of base64, in the arena; ptr NULL: memory is out. False: it is none. */
bool tare_llama_base64(tare_str *out, tare_str text, tare_arena *arena);

/* ---- added tokens ---------------------------------------------------------------------------- */

/* The id that a key of added_tokens_decoder spells in digits. */
bool tare_llama_id_of_key(const tare_json_value *key, uint64_t *id);
/* Puts an added token at its id: CONTROL, or USER_DEFINED with plain blanks. */
tare_status tare_llama_add_token(tare_llama_tokenizer *t, uint64_t id, tare_str text,
                                 bool is_control, tare_error *err);
/* added_tokens.json: USER_DEFINED as they are. */
tare_status tare_llama_read_added_json(tare_llama_tokenizer *t, tare_error *err);
/* added_tokens_decoder of tokenizer_config.json. Unless it replaces them, tokens of another text
 * stay. */
tare_status tare_llama_read_added_decoder(tare_llama_tokenizer *t, bool replaces, tare_error *err);
/* added_tokens of tokenizer.json. by_looks: tokens that look special are CONTROL, too. Beside
 * another vocabulary (tokenizer.model) they are at the ids that they say. */
tare_status tare_llama_read_added_list(tare_llama_tokenizer *t, bool by_looks, tare_error *err);
tare_status tare_llama_read_added_list_beside(tare_llama_tokenizer *t, bool by_looks,
                                              tare_error *err);
/* Tokens that tokenizer_config.json (X_token, extra_special_tokens, additional_special_tokens)
 * names: CONTROL, and added where they are none yet, as Hugging Face's libraries do. */
tare_status tare_llama_add_named(tare_llama_tokenizer *t, tare_error *err);

/* ---- what else the keys tell ----------------------------------------------------------------- */

/* Ids and add_* flags, from tokenizer_config.json, tokenizer.json and config.json. */
tare_status tare_llama_find_specials(tare_llama_tokenizer *t, tare_error *err);
/* Templates of chats, from tokenizer_config.json or files of their own. */
tare_status tare_llama_find_templates(tare_llama_tokenizer *t, tare_error *err);
/* Lower case and accents, from the normalizer of tokenizer.json. */
void tare_llama_find_normalizer(tare_llama_tokenizer *t);
/* Whether a normalizer or a pre_tokenizer, or a step of its sequence, is of the type. */
bool tare_llama_has_step(const tare_json_value *step, const char *type, unsigned depth);
/* Tells what of tokenizer.json llama.cpp does not do (not_applied.c). Last of all. */
void tare_llama_note_not_applied(const tare_llama_tokenizer *t);
/* Whether tokenizer.json puts a blank in front of a text. */
bool tare_llama_prepends_blank(const tare_llama_tokenizer *t);
/* The entries, added to the list (tokenizer.h). */
tare_status tare_llama_write_keys(tare_metadata **entries, size_t *n, tare_llama_tokenizer *t,
                                  tare_arena *arena, tare_error *err);

#endif
