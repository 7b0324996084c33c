/* SPDX-License-Identifier: MIT
 *
 * SentencePiece models: a protocol buffer of pieces with scores and types, what the trainer was
 * told, and how text is normalized (sentencepiece_model.proto). */
#include "base/bytes.h"
#include "base/protobuf.h"
#include "base/str.h"
#include "llama/tokenizer/context.h"
#include "model/names.h"

#define UNSET_SCORE -10000.0F /* of ids that no piece has, as llama.cpp's converter writes it */

enum { MODEL_UNIGRAM = 1, MODEL_BPE = 2 };

typedef struct model_proto {
    tare_llama_tokenizer *t;
    uint64_t n_pieces;
    uint64_t model_type;
    bool add_dummy_prefix, remove_extra_whitespaces, byte_fallback;
    tare_str charsmap;
} model_proto;

static tare_str bytes_of(const tare_protobuf_field *f) {
    return (tare_str){(const char *)f->bytes.pos, (size_t)tare_cursor_left(&f->bytes)};
}

/* A failure of an inner message becomes the outer one's. */
static bool close_message(tare_cursor *outer, const tare_cursor *inner) {
    if (tare_cursor_ok(inner)) return true;
    return tare_cursor_fail(outer, inner->err.status, inner->err.offset, inner->err.what);
}

/* The type of a piece; 0: no such type. */
static tare_llama_token_type type_of(uint64_t number) {
    static const tare_llama_token_type types[] = {0,
                                                  TARE_TOKEN_NORMAL,
                                                  TARE_TOKEN_UNKNOWN,
                                                  TARE_TOKEN_CONTROL,
                                                  TARE_TOKEN_USER_DEFINED,
                                                  TARE_TOKEN_UNUSED,
                                                  TARE_TOKEN_BYTE};
    return number < sizeof types / sizeof *types ? types[number] : 0;
}

/* ModelProto.SentencePiece: 1 text, 2 score, 3 type. */
static bool read_piece(tare_cursor *c, tare_llama_token *token) {
    tare_protobuf_field f;
    *token = (tare_llama_token){{"", 0}, 0, TARE_TOKEN_NORMAL};
    while (tare_protobuf_next(c, &f)) {
        if (f.number == 1) {
            if (!tare_protobuf_expect(c, &f, TARE_PROTOBUF_BYTES, "pieces.piece: text expected"))
                return false;
            token->text = bytes_of(&f);
        } else if (f.number == 2) {
            if (!tare_protobuf_expect(c, &f, TARE_PROTOBUF_FIXED32, "pieces.score: f32 expected"))
                return false;
            token->score = tare_f32_of_bits((uint32_t)f.value);
        } else if (f.number == 3) {
            if (!tare_protobuf_expect(c, &f, TARE_PROTOBUF_VARINT, "pieces.type: number expected"))
                return false;
            token->type = type_of(f.value);
            if (!token->type)
                return tare_cursor_fail(c, TARE_ERR_CORRUPT, f.offset, "pieces.type is not 1..6");
        }
    }
    return tare_cursor_ok(c);
}

/* A piece that is one NUL byte would be no text at all in llama.cpp, which reads C strings; its
 * converter writes a dragon in its place. */
static tare_str visible(tare_str text) {
    return text.len == 1 && text.ptr[0] == 0 ? TARE_STR("\xf0\x9f\x90\x89") : text;
}

static bool add_piece(model_proto *m, tare_cursor *c, tare_protobuf_field *f) {
    tare_llama_token token;
    tare_error err = TARE_ERROR_NONE;
    if (!tare_protobuf_expect(c, f, TARE_PROTOBUF_BYTES, "pieces: a message was expected"))
        return false;
    read_piece(&f->bytes, &token);
    if (!close_message(c, &f->bytes)) return false;
    token.text = visible(token.text);
    if (m->t->options->unused && tare_str_starts(token.text, tare_str_of(m->t->options->unused)))
        token.type = TARE_TOKEN_UNUSED;
    if (tare_llama_vocab_set(&m->t->vocab, m->n_pieces, &token, &err) != TARE_OK)
        return tare_cursor_fail(c, err.status, f->offset, err.what);
    m->n_pieces++;
    return true;
}

/* TrainerSpec: 3 model_type, 24 treat_whitespace_as_suffix, 35 byte_fallback. */
static bool read_trainer(model_proto *m, tare_cursor *c) {
    tare_protobuf_field f;
    while (tare_protobuf_next(c, &f)) {
        if (f.number != 3 && f.number != 24 && f.number != 35) continue;
        if (!tare_protobuf_expect(c, &f, TARE_PROTOBUF_VARINT,
                                  "trainer_spec: a number was expected"))
            return false;
        if (f.number == 3) m->model_type = f.value;
        if (f.number == 35) m->byte_fallback = f.value != 0;
        if (f.number == 24 && f.value)
            return tare_cursor_fail(
                c, TARE_ERR_UNSUPPORTED, f.offset,
                "trainer_spec.treat_whitespace_as_suffix: llama.cpp has blanks in "
                "front of words only");
        if (f.number == 3 && f.value != MODEL_UNIGRAM && f.value != MODEL_BPE)
            return tare_cursor_fail(c, TARE_ERR_UNSUPPORTED, f.offset,
                                    "trainer_spec.model_type: llama.cpp splits by unigrams (1) and "
                                    "byte pairs (2) only");
    }
    return tare_cursor_ok(c);
}

/* NormalizerSpec: 2 precompiled_charsmap, 3 add_dummy_prefix, 4 remove_extra_whitespaces. */
static bool read_normalizer(model_proto *m, tare_cursor *c) {
    tare_protobuf_field f;
    while (tare_protobuf_next(c, &f)) {
        if (f.number == 2) {
            if (!tare_protobuf_expect(c, &f, TARE_PROTOBUF_BYTES,
                                      "normalizer_spec.precompiled_charsmap: bytes expected"))
                return false;
            m->charsmap = bytes_of(&f);
        } else if (f.number == 3 || f.number == 4) {
            if (!tare_protobuf_expect(c, &f, TARE_PROTOBUF_VARINT,
                                      "normalizer_spec: a truth value was expected"))
                return false;
            *(f.number == 3 ? &m->add_dummy_prefix : &m->remove_extra_whitespaces) = f.value != 0;
        }
    }
    return tare_cursor_ok(c);
}

/* ModelProto: 1 pieces, 2 trainer_spec, 3 normalizer_spec. */
static bool read_model(model_proto *m, tare_cursor *c) {
    tare_protobuf_field f;
    while (tare_protobuf_next(c, &f)) {
        if (f.number == 1) {
            if (!add_piece(m, c, &f)) return false;
        } else if (f.number == 2 || f.number == 3) {
            if (!tare_protobuf_expect(c, &f, TARE_PROTOBUF_BYTES, "a message was expected"))
                return false;
            if (f.number == 2)
                read_trainer(m, &f.bytes);
            else
                read_normalizer(m, &f.bytes);
            if (!close_message(c, &f.bytes)) return false;
        }
    }
    if (tare_cursor_ok(c) && m->n_pieces == 0)
        return tare_cursor_fail(c, TARE_ERR_CORRUPT, 0,
                                "not a SentencePiece model: it has no pieces");
    return tare_cursor_ok(c);
}

/* ---- what llama.cpp does otherwise ------------------------------------------------------------- */

/* For a character that is no token it looks for its bytes, and ends the program where they are none. */
static void note_no_bytes(const tare_llama_tokenizer *t, const tare_llama_file *file) {
    size_t n = 0;
    for (size_t id = 0; id < t->vocab.n_tokens; id++)
        n += t->vocab.tokens[id].type == TARE_TOKEN_BYTE;
    if (n < 256)
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.no-bytes", file->name,
                        "%zu of 256 bytes are tokens: llama.cpp stops at a character that is no "
                        "token and whose bytes are none",
                        n);
}

static void note_differences(const model_proto *m, const tare_llama_file *file) {
    const tare_llama_tokenizer *t = m->t;
    if (m->charsmap.len)
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.normalizer", file->name,
                        "the model maps characters before it splits a text, and llama.cpp does not "
                        "for this architecture");
    if (m->model_type == MODEL_UNIGRAM)
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.unigram-as-llama", file->name,
                        "a unigram model: llama.cpp joins pieces by score for this architecture "
                        "and may split some words otherwise");
    if (t->options->like_reference) return;
    note_no_bytes(t, file);
    if (m->remove_extra_whitespaces)
        tare_llama_note(
            t, TARE_LEVEL_INFO, "tokenizer.not-applied", file->name,
            "remove_extra_whitespaces: SentencePiece leaves spaces out at the ends of a "
            "text and where several follow each other, and llama.cpp keeps them");
}

/* ---- user-defined pieces ----------------------------------------------------------------------- */

enum { MOST_JOINED = 64 }; /* bytes; trainers make pieces of 16 characters at most, unless told */

static bool is_one_character(tare_str text) {
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) n += ((unsigned char)text.ptr[i] & 0xC0) != 0x80;
    return n == 1;
}

/* Whether two pieces join to it; of a long one nobody asks. */
static bool is_joined(const model_proto *m, const tare_name_index *index, tare_str text) {
    const tare_llama_vocab *v = &m->t->vocab;
    for (size_t n = 1; n < text.len && text.len <= MOST_JOINED; n++) {
        const tare_str left = {text.ptr, n}, right = tare_str_cut(text, n);
        if ((is_one_character(left) || tare_llama_vocab_find(index, v, left) >= 0) &&
            (is_one_character(right) || tare_llama_vocab_find(index, v, right) >= 0))
            return true;
    }
    return false;
}

/* User-defined pieces are taken out of a text before it is split, and so does llama.cpp, but behind each it
 * puts the blank in front of a text once more: where there is one, a piece is a plain one if it is found
 * all the same. llama.cpp's converter makes plain ones of all. */
static tare_status settle_user_defined(model_proto *m, tare_error *err) {
    tare_llama_tokenizer *t = m->t;
    const bool finds_none = m->add_dummy_prefix && m->model_type == MODEL_BPE;
    tare_name_index index;
    size_t n_before_blanks = 0;
    TARE_TRY(tare_llama_vocab_index(&index, &t->vocab, &t->scratch, err));
    for (size_t id = 0; id < t->vocab.n_tokens; id++) {
        tare_llama_token *token = &t->vocab.tokens[id];
        if (token->type != TARE_TOKEN_USER_DEFINED) continue;
        token->type = TARE_TOKEN_NORMAL;
        if (t->options->like_reference) continue;
        if (m->add_dummy_prefix && (!finds_none || is_joined(m, &index, token->text))) continue;
        TARE_TRY(tare_llama_add_token(t, id, token->text, false, err));
        n_before_blanks += m->add_dummy_prefix;
    }
    if (n_before_blanks)
        tare_llama_note(t, TARE_LEVEL_INFO, "tokenizer.not-applied", NULL,
                        "%zu user-defined pieces: llama.cpp puts a blank behind each of them",
                        n_before_blanks);
    return TARE_OK;
}

static tare_llama_flag flag_of(bool is_set) {
    return is_set ? TARE_LLAMA_FLAG_YES : TARE_LLAMA_FLAG_NO;
}

/* XLM-RoBERTa's ids are not its model file's: <s> <pad> </s> <unk> come first, then what follows
 * the file's three control pieces. One more id than pieces, so the last of the padded list falls
 * out. */
static tare_status move_ids_of_xlm_r(tare_llama_tokenizer *t, const tare_llama_file *file,
                                     tare_error *err) {
    static const tare_llama_token first[] = {
        {{"<s>", 3}, 0, TARE_TOKEN_CONTROL},
        {{"<pad>", 5}, 0, TARE_TOKEN_CONTROL},
        {{"</s>", 4}, 0, TARE_TOKEN_CONTROL},
        {{"<unk>", 5}, 0, TARE_TOKEN_UNKNOWN},
    };
    static const tare_llama_token mask = {{"<mask>", 6}, 0, TARE_TOKEN_CONTROL};
    tare_llama_vocab *v = &t->vocab;
    size_t n_padded, n_pieces = v->n_tokens;
    if (n_pieces < 4)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, file, 0,
                                    "fewer than four pieces, which XLM-RoBERTa needs");
    uint64_t n = t->options->vocab_size ? t->options->vocab_size : n_pieces + 1;
    TARE_TRY(tare_llama_vocab_pad(v, n, UNSET_SCORE, &t->scratch, &n_padded, err));
    memmove(v->tokens + 4, v->tokens + 3, (v->n_tokens - 4) * sizeof *v->tokens);
    memcpy(v->tokens, first, sizeof first);
    if (tare_str_starts(t->options->hf_class, TARE_STR("NomicBert")) && v->n_tokens == n_pieces + 2)
        v->tokens[v->n_tokens - 1] = mask;
    return TARE_OK;
}

/* What unigram models have besides: how text is normalized. */
static tare_status finish_unigram(model_proto *m, const tare_llama_file *file, tare_error *err) {
    tare_llama_tokenizer *t = m->t;
    if (m->model_type != MODEL_UNIGRAM)
        return tare_llama_fail_file(err, TARE_ERR_UNSUPPORTED, file, TARE_NO_OFFSET,
                                    "trainer_spec.model_type: a unigram model was expected");
    t->model = "t5";
    t->add_space_prefix = flag_of(m->add_dummy_prefix);
    t->remove_extra_whitespaces = flag_of(m->remove_extra_whitespaces);
    t->charsmap = m->charsmap;
    t->loses_bytes = m->byte_fallback;
    if (t->options->family == TARE_LLAMA_VOCAB_XLM_R) return move_ids_of_xlm_r(t, file, err);
    return TARE_OK;
}

tare_status tare_llama_read_sentencepiece(tare_llama_tokenizer *t, const tare_llama_file *file,
                                          tare_error *err) {
    tare_cursor c;
    model_proto m = {.t = t,
                     .model_type = MODEL_UNIGRAM,
                     .add_dummy_prefix = true,
                     .remove_extra_whitespaces = true};
    tare_cursor_init(&c, file->text.ptr, file->text.len, 0);
    read_model(&m, &c);
    TARE_TRY(tare_llama_in_file(err, tare_cursor_status(&c, err), file));
    TARE_TRY(settle_user_defined(&m, err));
    t->model = "llama";
    t->pre = TARE_STR("default");
    t->has_scores = true;
    t->pad_score = UNSET_SCORE;
    tare_llama_vocab_family family = t->options->family;
    if (family == TARE_LLAMA_VOCAB_XLM_R ||
        (family == TARE_LLAMA_VOCAB_UNIGRAM && m.model_type == MODEL_UNIGRAM))
        return finish_unigram(&m, file, err);
    /* llama.cpp puts a blank in front of a text if no key says otherwise */
    const tare_llama_tokenizer_options *o = t->options;
    const bool differs = !m.add_dummy_prefix && !o->like_reference;
    if (o->tells_space_prefix || (differs && o->add_space_prefix == TARE_LLAMA_FLAG_UNSET))
        t->add_space_prefix = flag_of(m.add_dummy_prefix);
    note_differences(&m, file);
    return TARE_OK;
}
