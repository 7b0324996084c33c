/* SPDX-License-Identifier: MIT
 *
 * Vocabularies of a token in each line: RWKV's, whose tokens are literals of Python, and PLaMo's,
 * whose lines are JSON. */
#include "base/str.h"
#include "llama/tokenizer/context.h"
#include "llama/tokenizer/specials.h"

typedef struct lines {
    const tare_llama_file *file;
    tare_str rest;
    uint64_t offset; /* of the line last taken */
} lines;

/* The next line that is not empty, without its end. */
static bool take_line(lines *l, tare_str *line) {
    do {
        if (!l->rest.len) return false;
        l->offset = (uint64_t)(l->rest.ptr - l->file->text.ptr);
        const char *end = memchr(l->rest.ptr, '\n', l->rest.len);
        *line = (tare_str){l->rest.ptr, end ? (size_t)(end - l->rest.ptr) : l->rest.len};
        l->rest = tare_str_cut(l->rest, line->len + 1);
        if (line->len && line->ptr[line->len - 1] == '\r') line->len--;
    } while (!line->len);
    return true;
}

static bool number_of(tare_str text, uint64_t *out) {
    tare_json_value v = {TARE_JSON_NUMBER, text, 0};
    return text.len > 0 && tare_json_u64(&v, out);
}

/* ---- Python's literals ----------------------------------------------------------------------- */

static int hex_digit(char c) {
    static const char digits[] = "0123456789abcdef";
    char lower = c >= 'A' && c <= 'F' ? (char)(c + 32) : c;
    const char *at = lower ? strchr(digits, lower) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The escape after the backslash at *p; its bytes go to out. 0: there is none like it. */
static size_t take_escape(const char **p, const char *end, bool is_bytes, char out[4]) {
    static const char letters[] = "\\'\"abfnrtv", meanings[] = "\\'\"\a\b\f\n\r\t\v";
    char c = *(*p)++;
    const char *at = c ? strchr(letters, c) : NULL;
    if (at) return (void)(out[0] = meanings[at - letters]), (size_t)1;
    size_t n = c == 'x' ? 2 : is_bytes ? 0 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t point = 0;
    if (n == 0 || (size_t)(end - *p) < n) return 0;
    for (size_t i = 0; i < n; i++) {
        int digit = hex_digit(*(*p)++);
        if (digit < 0 || point >> 28) return 0;
        point = point << 4 | (uint32_t)digit;
    }
    if (is_bytes) return (void)(out[0] = (char)point), (size_t)1;
    if (point > 0x10ffff) return 0;
    return tare_utf8_put(out, point);
}

/* 'text' or b'bytes', in either kind of quotes, as the bytes that it denotes. ptr NULL: not a
 * literal, or out of memory. */
static tare_str literal(tare_str text, tare_arena *arena) {
    const tare_str none = {NULL, 0};
    bool is_bytes = text.len > 0 && text.ptr[0] == 'b';
    text = tare_str_cut(text, is_bytes);
    if (text.len < 2 || !strchr("'\"", text.ptr[0]) || text.ptr[text.len - 1] != text.ptr[0])
        return none;
    const char *p = text.ptr + 1, *end = text.ptr + text.len - 1;
    char *out = tare_arena_take(arena, text.len);
    size_t n = 0;
    while (out && p < end) {
        if (*p != '\\') {
            out[n++] = *p++;
            continue;
        }
        size_t taken = ++p < end ? take_escape(&p, end, is_bytes, out + n) : 0;
        if (!taken) return none;
        n += taken;
    }
    return (tare_str){out, n};
}

/* Bytes as Python writes them: printable ASCII, the short escapes, \xNN. */
static tare_str written(tare_str bytes, tare_arena *arena) {
    static const char hex[] = "0123456789abcdef";
    char *out = tare_arena_take(arena, 4 * bytes.len);
    char quote =
        memchr(bytes.ptr, '\'', bytes.len) && !memchr(bytes.ptr, '"', bytes.len) ? '"' : '\'';
    size_t n = 0;
    for (size_t i = 0; out && i < bytes.len; i++) {
        uint8_t c = (uint8_t)bytes.ptr[i];
        const char *letter = c == '\n' ? "n" : c == '\r' ? "r" : c == '\t' ? "t" : NULL;
        if (letter || c == '\\' || c == (uint8_t)quote) {
            out[n++] = '\\';
            out[n++] = letter ? *letter : (char)c;
        } else if (c >= 0x20 && c < 0x7f) {
            out[n++] = (char)c;
        } else {
            out[n++] = '\\';
            out[n++] = 'x';
            out[n++] = hex[c >> 4];
            out[n++] = hex[c & 15];
        }
    }
    return (tare_str){out, n};
}

/* ---- RWKV ------------------------------------------------------------------------------------ */

/* "33 ' ' 1": the id, the token, its number of bytes. */
static tare_status read_rwkv_line(tare_llama_tokenizer *t, const lines *l, tare_str line,
                                  tare_error *err) {
    const char *first = memchr(line.ptr, ' ', line.len);
    size_t last = line.len, size;
    while (last > 0 && line.ptr[last - 1] != ' ') last--;
    size_t left = first ? (size_t)(first - line.ptr) : line.len;
    uint64_t id, n_bytes;
    if (!first || last < left + 3 || !number_of((tare_str){line.ptr, left}, &id) ||
        !number_of(tare_str_cut(line, last), &n_bytes))
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, l->file, l->offset,
                                    "expected lines of an id, a token and its number of bytes");
    tare_str bytes = literal((tare_str){first + 1, last - left - 2}, &t->scratch);
    size = bytes.len;
    if (!bytes.ptr || size != n_bytes || id != t->vocab.n_tokens)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, l->file, l->offset,
                                    "expected a token that is a literal of the given number of "
                                    "bytes, with ids in ascending order");
    tare_llama_token token = {written(bytes, &t->scratch), 0, TARE_TOKEN_NORMAL};
    if (!token.text.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    return tare_llama_in_file(err, tare_llama_vocab_set(&t->vocab, id, &token, err), l->file);
}

tare_status tare_llama_read_rwkv(tare_llama_tokenizer *t, const tare_llama_file *file,
                                 tare_error *err) {
    static const tare_llama_token first = {{"<s>", 3}, 0, TARE_TOKEN_CONTROL};
    lines l = {file, file->text, 0};
    tare_str line;
    t->model = "rwkv";
    t->fall_back_template = TARE_STR("rwkv-world");
    TARE_TRY(tare_llama_vocab_set(&t->vocab, 0, &first, err));
    while (take_line(&l, &line)) TARE_TRY(read_rwkv_line(t, &l, line, err));
    tare_llama_set_id(t, TARE_LLAMA_BOS, 0, false);
    tare_llama_set_id(t, TARE_LLAMA_EOS, 0, false);
    /* Two line ends finish a turn of a chat. */
    if (t->vocab.n_tokens > 261) tare_llama_set_id(t, TARE_LLAMA_EOT, 261, false);
    return TARE_OK;
}

/* ---- PLaMo ----------------------------------------------------------------------------------- */

static tare_llama_token_type plamo_type(const tare_json_value *type, tare_str text) {
    if (tare_json_is(type, "UNKNOWN")) return TARE_TOKEN_UNKNOWN;
    if (tare_json_is(type, "CONTROL")) return TARE_TOKEN_CONTROL;
    if (tare_json_is(type, "BYTE")) return TARE_TOKEN_BYTE;
    return tare_str_starts(text, TARE_STR("<|plamo:")) && tare_str_ends(text, TARE_STR("|>"))
               ? TARE_TOKEN_CONTROL
               : TARE_TOKEN_NORMAL;
}

/* ["text", score, "TYPE", ...] */
static tare_status read_plamo_line(tare_llama_tokenizer *t, const lines *l, tare_str line,
                                   tare_error *err) {
    tare_json_value root, v[3];
    tare_llama_token token = {{NULL, 0}, 0, TARE_TOKEN_NORMAL};
    tare_error inner = TARE_ERROR_NONE;
    tare_json j;
    double score;
    if (tare_json_whole(&root, line, &inner) != TARE_OK)
        return tare_llama_fail_file(err, inner.status, l->file, l->offset + inner.offset,
                                    inner.what);
    tare_json_span_array(&j, &root);
    for (size_t i = 0; i < 3; i++) tare_json_span_next(&j, &v[i]);
    if (root.type != TARE_JSON_ARRAY || v[0].type != TARE_JSON_STRING ||
        !tare_json_f64(&v[1], &score))
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, l->file, l->offset,
                                    "not a token: [\"text\", score, \"TYPE\"] expected");
    TARE_TRY(tare_llama_text(&token.text, t, &v[0], err));
    token.score = (float)score;
    token.type = plamo_type(&v[2], token.text);
    return tare_llama_in_file(err, tare_llama_vocab_set(&t->vocab, t->vocab.n_tokens, &token, err),
                              l->file);
}

/* The tokens that tokenizer_config.json names, by their text. */
static tare_status name_plamo_tokens(tare_llama_tokenizer *t, tare_error *err) {
    static const struct {
        const char *key;
        tare_llama_special special;
    } rows[] = {{"bos_token", TARE_LLAMA_BOS},
                {"eos_token", TARE_LLAMA_EOS},
                {"pad_token", TARE_LLAMA_PAD},
                {"sep_token", TARE_LLAMA_SEP},
                {"unk_token", TARE_LLAMA_UNK}};
    tare_name_index index;
    TARE_TRY(tare_llama_vocab_index(&index, &t->vocab, &t->scratch, err));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tare_json_value v = tare_json_span_member(&t->tokenizer_config.root, rows[i].key);
        tare_str text;
        if (v.type != TARE_JSON_STRING) continue;
        TARE_TRY(tare_llama_text(&text, t, &v, err));
        int64_t id = tare_llama_vocab_find(&index, &t->vocab, text);
        if (id >= 0) tare_llama_set_id(t, rows[i].special, (uint32_t)id, false);
    }
    if (t->vocab.n_tokens > 4) tare_llama_set_id(t, TARE_LLAMA_EOT, 4, false); /* <|plamo:op|> */
    return TARE_OK;
}

tare_status tare_llama_read_plamo(tare_llama_tokenizer *t, const tare_llama_file *file,
                                  tare_error *err) {
    lines l = {file, file->text, 0};
    tare_str line;
    t->model = "plamo2";
    t->pre = TARE_STR("default");
    t->has_scores = true;
    t->pad_score = -1000;
    while (take_line(&l, &line)) TARE_TRY(read_plamo_line(t, &l, line, err));
    return name_plamo_tokens(t, err);
}
