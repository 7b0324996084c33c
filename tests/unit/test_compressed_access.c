/* SPDX-License-Identifier: MIT
 *
 * Guards against: a layer of an open .wcodec that another decoder cannot decode by what the library
 * says of it; parts of damaged segments that lie outside their stored bytes; rules or tables that
 * the head does not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tare/private/synth.h>
#include <tare/tare.h>

#include "coded_reader.h"
#include "support/memory_source.h"
#include "temp_folder.h"

/* A packed model, its weights of one type; and the bytes of the file. */
typedef struct packed {
    tare_model *m;
    uint8_t *bytes;
    size_t size;
} packed;

static void make_file(const char *type, const char *name) {
    tare_model *synth;
    tare_convert_options o = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_error err;
    o.type = tare_encoding_find((tare_str){type, strlen(type)});
    output.force = output.no_sync = true;
    assert_non_null(o.type);
    assert_int_equal(tare_synth_open(&synth, "llama-tiny", NULL, &err), TARE_OK);
    assert_int_equal(tare_convert(temp_path(name), synth, &o, &err), TARE_OK);
    tare_model_free(synth);
}

static void read_file(packed *p, const char *name) {
    FILE *f = fopen(temp_path(name), "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    p->size = (size_t)ftell(f);
    rewind(f);
    p->bytes = malloc(p->size);
    assert_non_null(p->bytes);
    assert_int_equal(fread(p->bytes, 1, p->size, f), p->size);
    fclose(f);
}

static tare_status open_bytes(packed *p, tare_error *err) {
    const tare_source source = memory_source(p->bytes, p->size);
    return tare_model_open(&p->m, &source, NULL, err);
}

static void drop(packed *p) {
    tare_model_free(p->m);
    free(p->bytes);
}

/* ---- decoding -------------------------------------------------------------------------------- */

static void check_stored(const packed *p, const tare_coded *coded, uint64_t position, size_t n) {
    const tare_coded_layer *l = tare_coded_describe(coded);
    uint8_t *back = malloc(n);
    assert_non_null(back);
    assert_int_equal(tare_coded_read(back, coded, position, n, NULL), TARE_OK);
    assert_memory_equal(back, p->bytes + l->offset + position, n);
    const uint8_t *lent = tare_coded_borrow(coded, position, n);
    if (lent) assert_memory_equal(lent, back, n);
    free(back);
}

/* How many segments were decoded, and by whom. */
typedef struct tally {
    size_t n_own, n_others;
    size_t n_joined, n_referring; /* of those that were decoded here */
} tally;

/* Decodes a stream into its region; what this decoder lacks is left to the library and counted. */
static void decode_stream(const packed *p, const tare_coded *coded, unsigned stream,
                          uint8_t *region, uint8_t *base, tally *t) {
    const tare_coded_stream *of = &tare_coded_describe(coded)->streams[stream];
    const tare_coded_head *head = tare_coded_stream_head(coded, stream);
    uint64_t next = of->position + of->head_bytes;
    uint8_t *bytes = malloc((size_t)of->segment_bytes);
    uint8_t *base_bytes = base ? malloc((size_t)of->segment_bytes) : NULL;
    assert_true(bytes && head && (base_bytes || !base));
    if (of->head_bytes) check_stored(p, coded, of->position, of->head_bytes);
    for (uint64_t i = 0; i < of->n_segments; i++) {
        tare_coded_segment s = tare_coded_segment_default();
        assert_int_equal(tare_coded_parse_segment(&s, coded, stream, i, NULL), TARE_OK);
        assert_int_equal(s.position, next);
        assert_int_equal(s.stored_bytes, of->sizes[i] * TARE_CODED_UNIT);
        next += s.stored_bytes;
        check_stored(p, coded, s.position, s.stored_bytes);
        const uint8_t *stored = p->bytes + tare_coded_describe(coded)->offset + s.position;
        if (base) coded_gather(base_bytes, base, &of->field, i * of->segment_bytes, s.n_bytes);
        if (coded_decode(bytes, &s, stored, head, &of->field, base_bytes)) {
            t->n_own++;
            t->n_joined += of->field.join.high_bits != 0;
            t->n_referring += s.predictor != 0;
        } else {
            assert_true(s.mode == TARE_CODED_ZSTD || s.mode == TARE_CODED_STRUCTURED ||
                        s.n_classes || s.predictor == TARE_CODED_REF_SCALED ||
                        of->field.is_packed_scales);
            assert_int_equal(tare_coded_decode_segments(bytes, coded, stream, i, 1, NULL, NULL),
                             TARE_OK);
            t->n_others++;
        }
        coded_scatter(region, &of->field, i * of->segment_bytes, bytes, s.n_bytes);
    }
    free(base_bytes);
    free(bytes);
}

/* The bytes of a region's base, and none beyond; like NULL: there is no base. */
static void check_base(const tare_coded *coded, unsigned region, const uint8_t *like, size_t n) {
    uint8_t *room = malloc(n + 1);
    const size_t half = n / 2, rest = n - half;
    const tare_status expected = like ? TARE_OK : TARE_ERR_ARG;
    assert_non_null(room);
    assert_int_equal(tare_coded_read_base(room, coded, region, half, rest, NULL), expected);
    if (like) assert_memory_equal(room, like + half, rest);
    assert_int_equal(tare_coded_read_base(room, coded, region, half, rest + 1, NULL), TARE_ERR_ARG);
    assert_int_equal(tare_coded_read_base(room, coded, region, UINT64_MAX, 1, NULL), TARE_ERR_ARG);
    const unsigned n_regions = tare_coded_describe(coded)->n_regions;
    assert_int_equal(tare_coded_read_base(room, coded, n_regions, 0, 0, NULL), TARE_ERR_ARG);
    free(room);
}

/* `base`: the model that p was packed against; NULL: none. */
static void check_tensor(const packed *p, size_t tensor, const tare_model *base, tally *sum) {
    const tare_tensor *t = tare_model_tensor(p->m, tensor);
    tare_coded_place places[4];
    tare_coded *coded;
    assert_int_equal(tare_tensor_coded(&coded, places, p->m, tensor, NULL, NULL), TARE_OK);
    const tare_coded_layer *l = tare_coded_describe(coded);
    assert_true(l->base <= (base != NULL));
    assert_true(l->offset % 128 == 0 && l->offset + l->size <= p->size);
    for (unsigned r = 0; r < l->n_regions; r++) {
        size_t n = (size_t)l->region_bytes[r];
        uint8_t *made = calloc(1, n), *meant = malloc(n), *like = l->base ? malloc(n) : NULL;
        assert_true(made && meant && (like || !l->base));
        if (like) assert_int_equal(tare_tensor_read(like, base, tensor, r, 0, n, NULL), TARE_OK);
        check_base(coded, r, like, n);
        for (unsigned i = 0; i < l->n_streams; i++)
            if (l->streams[i].field.region == r) decode_stream(p, coded, i, made, like, sum);
        assert_true(places[r].region == r && places[r].offset == 0);
        assert_int_equal(t->planes[r].size, n);
        assert_int_equal(tare_tensor_read(meant, p->m, tensor, r, 0, n, NULL), TARE_OK);
        assert_memory_equal(made, meant, n);
        free(made);
        free(meant);
        free(like);
    }
    tare_coded_free(coded);
}

/* All tensors; most segments must have been decoded here. */
static tally check_model(const packed *p, const tare_model *base, const char *type) {
    const size_t n = tare_model_summarize(p->m)->n_tensors;
    tally t = {0};
    assert_true(n > 10);
    for (size_t i = 0; i < n; i++) check_tensor(p, i, base, &t);
    if (t.n_own < 20 || t.n_others * (base ? 1 : 4) > t.n_own)
        fail_msg("%s: %zu segments decoded, %zu left to the library", type, t.n_own, t.n_others);
    return t;
}

static void another_decoder_decodes_a_model(void **state) {
    (void)state;
    static const char *const types[] = {"f16", "bf16", "q8_0", "q4_0", "iq4_nl", "q8"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        packed p;
        make_file(types[i], "model.wcodec");
        read_file(&p, "model.wcodec");
        assert_int_equal(open_bytes(&p, NULL), TARE_OK);
        check_model(&p, NULL, types[i]);
        drop(&p);
    }
}

static void joined_streams_are_decoded(void **state) {
    (void)state;
    static const char *const types[] = {"q6_k", "q3_k", "iq4_xs"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        packed p;
        make_file(types[i], "model.wcodec");
        read_file(&p, "model.wcodec");
        assert_int_equal(open_bytes(&p, NULL), TARE_OK);
        assert_true(check_model(&p, NULL, types[i]).n_joined > 5);
        drop(&p);
    }
}

/* ---- bases ----------------------------------------------------------------------------------- */

/* Writes a copy of a GGUF file with every 16th byte of its tensors changed a little. */
static void tune(const char *name, const char *from, const tare_model *m) {
    packed p;
    read_file(&p, from);
    for (size_t i = 0; i < tare_model_summarize(m)->n_tensors; i++) {
        const tare_plane *plane = &tare_model_tensor(m, i)->planes[0];
        for (uint64_t at = 6; at < plane->size; at += 16) p.bytes[plane->offset + at] ^= 1;
    }
    FILE *f = fopen(temp_path(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p.bytes, 1, p.size, f), p.size);
    assert_int_equal(fclose(f), 0);
    free(p.bytes);
}

static void segments_refer_to_a_base(void **state) {
    (void)state;
    static const char *const types[] = {"f16", "bf16", "q8_0", "q4_0", "q6_k"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tare_model *base, *tuned;
        packed p;
        tare_pack_options o = tare_pack_options_default();
        tare_output_options output = tare_output_options_default();
        o.output = &output;
        tare_open_options open = tare_open_options_default();
        make_file(types[i], "base.gguf");
        assert_int_equal(tare_open_path(&base, temp_path("base.gguf"), NULL, NULL), TARE_OK);
        tune("tuned.gguf", "base.gguf", base);
        assert_int_equal(tare_open_path(&tuned, temp_path("tuned.gguf"), NULL, NULL), TARE_OK);
        o.bases = open.bases = (const tare_model *const[]){base};
        o.n_bases = open.n_bases = 1;
        output.force = output.no_sync = true;
        assert_int_equal(tare_pack(NULL, temp_path("model.wcodec"), tuned, &o, NULL), TARE_OK);
        read_file(&p, "model.wcodec");
        assert_int_equal(tare_open_path(&p.m, temp_path("model.wcodec"), &open, NULL), TARE_OK);
        const tally t = check_model(&p, base, types[i]);
        assert_true(t.n_referring > 5);
        assert_int_equal(t.n_joined > 0, strcmp(types[i], "q6_k") == 0);
        drop(&p);
        tare_model_free(tuned);
        tare_model_free(base);
    }
}

/* Without its base a layer is described, and what refers to the base is not decoded. */
static void without_its_base_a_layer_is_described(void **state) {
    (void)state;
    packed p;
    tare_coded *coded;
    tare_error err;
    read_file(&p, "model.wcodec");
    assert_int_equal(open_bytes(&p, NULL), TARE_OK);
    size_t n_missing = 0;
    for (size_t t = 0; t < tare_model_summarize(p.m)->n_tensors; t++) {
        assert_int_equal(tare_tensor_coded(&coded, NULL, p.m, t, NULL, NULL), TARE_OK);
        const tare_coded_layer *l = tare_coded_describe(coded);
        for (unsigned i = 0; i < l->n_streams; i++) {
            tare_coded_segment s = tare_coded_segment_default();
            assert_int_equal(tare_coded_parse_segment(&s, coded, i, 0, NULL), TARE_OK);
            if (!s.predictor) continue;
            if (!l->streams[i].field.scale_stream) {
                uint8_t *predictor = p.bytes + l->offset + s.position + 1;
                assert_int_equal(*predictor, TARE_CODED_REF);
                *predictor = TARE_CODED_REF_SCALED;
                assert_int_equal(tare_coded_parse_segment(&s, coded, i, 0, &err), TARE_ERR_CORRUPT);
                assert_int_equal(err.offset, l->offset + s.position + 1);
                *predictor = TARE_CODED_REF;
            }
            uint8_t *bytes = malloc((size_t)l->streams[i].segment_bytes);
            assert_non_null(bytes);
            assert_int_equal(tare_coded_decode_segments(bytes, coded, i, 0, 1, NULL, &err),
                             TARE_ERR_ARG);
            free(bytes);
            n_missing++;
        }
        tare_coded_free(coded);
    }
    assert_true(n_missing > 5);
    drop(&p);
}

/* ---- where the bytes are --------------------------------------------------------------------- */

static void stored_bytes_are_borrowed_or_read(void **state) {
    (void)state;
    make_file("q8_0", "model.wcodec");
    for (int map = 0; map < 2; map++) {
        packed p;
        tare_coded *coded;
        tare_open_options o = tare_open_options_default();
        o.map = map ? TARE_MAP_READ : TARE_MAP_NONE;
        read_file(&p, "model.wcodec");
        assert_int_equal(tare_open_path(&p.m, temp_path("model.wcodec"), &o, NULL), TARE_OK);
        assert_int_equal(tare_tensor_coded(&coded, NULL, p.m, 1, NULL, NULL), TARE_OK);
        const tare_coded_layer *l = tare_coded_describe(coded);
        assert_string_equal(l->file, temp_path("model.wcodec"));
        assert_int_equal(l->data != NULL, map);
        assert_int_equal(tare_coded_borrow(coded, 0, (size_t)l->size) != NULL, map);
        check_stored(&p, coded, 0, (size_t)l->size);
        assert_null(tare_coded_borrow(coded, 1, (size_t)l->size));
        assert_null(tare_coded_borrow(coded, UINT64_MAX, 2));
        tare_coded_free(coded);
        drop(&p);
    }
}

static void what_has_no_layer_is_refused(void **state) {
    (void)state;
    tare_model *synth;
    tare_coded *coded;
    tare_error err;
    assert_int_equal(tare_synth_open(&synth, "llama-tiny", NULL, NULL), TARE_OK);
    assert_int_equal(tare_tensor_coded(&coded, NULL, synth, 0, NULL, &err), TARE_ERR_ARG);
    assert_null(coded);
    tare_model_free(synth);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static bool is_inside(const tare_coded_segment *s, uint32_t at, uint64_t n) {
    return (!at && !n) || (at >= 32 && at + n <= s->stored_bytes);
}

/* All that a decoder will trust. */
static void check_parts(const tare_coded_segment *s, const tare_coded_head *head,
                        const tare_coded_field *f) {
    assert_true(s->mode >= TARE_CODED_RAW && s->mode <= TARE_CODED_STRUCTURED);
    assert_int_equal(s->predictor, TARE_CODED_NO_PREDICTOR); /* these layers have no base */
    assert_true(is_inside(s, s->body, s->body_bytes));
    if (s->mode == TARE_CODED_RAW) assert_int_equal(s->body_bytes, s->n_bytes);
    if (s->mode == TARE_CODED_DIRECT || s->mode == TARE_CODED_STRUCTURED) {
        assert_true(is_inside(s, s->states, 256));
        for (unsigned i = 0; i < 2; i++)
            assert_true(is_inside(s, s->words[i], 2 * (uint64_t)s->n_words[i]));
    }
    if (s->mode != TARE_CODED_DIRECT) return;
    unsigned n_tables = f->value_bits == 4 ? head->n_tables16 : head->n_tables64, bits = 0;
    assert_true(s->rule < head->n_rules);
    assert_true(s->first_table + (s->n_classes ? s->n_classes : 1u) <= n_tables);
    assert_true(!s->n_classes || s->class_table < head->n_tables16);
    assert_true(is_inside(s, s->patches, s->patches_bytes));
    for (unsigned g = 0; g < s->n_groups; g++) {
        bits += s->group_bits[g];
        assert_true(is_inside(s, s->groups[g], s->groups_bytes[g]));
        assert_true((uint64_t)s->groups_bytes[g] * 8 >=
                    (uint64_t)s->n_positions * s->group_bits[g]);
    }
    assert_int_equal(bits, head->rules[s->rule].bypass_bits);
}

enum { CRC_AT = 4 /* in the header of a segment */ };

/* A CRC of a header that is not the index's, or a field that cannot be right. */
static bool is_refusal(tare_status status, unsigned byte) {
    if (byte >= CRC_AT && byte < CRC_AT + 4) return status == TARE_ERR_CHECKSUM;
    return status == TARE_ERR_CORRUPT || status == TARE_ERR_UNSUPPORTED;
}

/* Every byte of the header of a segment, set to what it should not be. */
static void parts_of_damaged_segments_lie_inside(void **state) {
    (void)state;
    static const uint8_t masks[] = {1, 2, 4, 0x10, 0x40, 0x80, 0xff};
    packed p;
    tare_coded *coded;
    make_file("q8_0", "model.wcodec");
    read_file(&p, "model.wcodec");
    assert_int_equal(open_bytes(&p, NULL), TARE_OK);
    size_t n_refused = 0;
    for (size_t t = 0; t < 3; t++) {
        assert_int_equal(tare_tensor_coded(&coded, NULL, p.m, t, NULL, NULL), TARE_OK);
        const tare_coded_layer *l = tare_coded_describe(coded);
        for (unsigned i = 0; i < l->n_streams; i++) {
            const tare_coded_stream *of = &l->streams[i];
            uint8_t *header = p.bytes + l->offset + of->position + of->head_bytes;
            for (unsigned byte = 0; byte < 32; byte++) {
                for (size_t m = 0; m < sizeof masks; m++) {
                    tare_coded_segment s = tare_coded_segment_default();
                    tare_error err;
                    header[byte] ^= masks[m];
                    tare_status status = tare_coded_parse_segment(&s, coded, i, 0, &err);
                    if (status == TARE_OK) {
                        assert_false(byte >= CRC_AT && byte < CRC_AT + 4);
                        check_parts(&s, tare_coded_stream_head(coded, i), &of->field);
                    } else {
                        n_refused++;
                        assert_true(is_refusal(status, byte));
                        assert_in_range(err.offset - (uint64_t)(header - p.bytes), 0,
                                        of->sizes[0] * TARE_CODED_UNIT);
                    }
                    header[byte] ^= masks[m];
                }
            }
        }
        tare_coded_free(coded);
    }
    assert_true(n_refused > 500);
    drop(&p);
}

/* A stream whose first segment has another header: it is refused, for the byte at `place`. */
static void check_refused_at(const uint8_t header[32], unsigned place, const packed *p,
                             const tare_coded *coded, unsigned stream) {
    const tare_coded_layer *l = tare_coded_describe(coded);
    const uint64_t at = l->offset + l->streams[stream].position + l->streams[stream].head_bytes;
    tare_coded_segment s = tare_coded_segment_default();
    tare_error err;
    uint8_t kept[32];
    memcpy(kept, p->bytes + at, sizeof kept);
    memcpy(p->bytes + at, header, sizeof kept);
    assert_int_equal(tare_coded_parse_segment(&s, coded, stream, 0, &err), TARE_ERR_CORRUPT);
    assert_int_equal(err.offset - at, place);
    memcpy(p->bytes + at, kept, sizeof kept);
}

/* Faults that other checks would also find, most of the time: the first that names them counts. */
static void faults_are_named_by_their_place(void **state) {
    (void)state;
    uint8_t raw[32] = {0};
    packed p;
    tare_coded *coded;
    unsigned n_checked = 0;
    make_file("q8_0", "model.wcodec");
    read_file(&p, "model.wcodec");
    assert_int_equal(open_bytes(&p, NULL), TARE_OK);
    assert_int_equal(tare_tensor_coded(&coded, NULL, p.m, 1, NULL, NULL), TARE_OK);
    const tare_coded_layer *l = tare_coded_describe(coded);
    for (unsigned i = 0; i < l->n_streams; i++) {
        const tare_coded_head *head = tare_coded_stream_head(coded, i);
        tare_coded_segment s = tare_coded_segment_default();
        uint8_t header[32];
        assert_int_equal(tare_coded_parse_segment(&s, coded, i, 0, NULL), TARE_OK);
        if (s.mode != TARE_CODED_DIRECT || s.n_classes) continue;
        memcpy(header, p.bytes + l->offset + s.position, sizeof header);
        header[2] = (uint8_t)head->n_rules;
        check_refused_at(header, 2, &p, coded, i);
        header[2] = s.rule;
        header[25] = 1; /* a table of classes, of which there are none */
        check_refused_at(header, 25, &p, coded, i);
        memcpy(raw + CRC_AT, header + CRC_AT, 4);
        check_refused_at(raw, 0, &p, coded, i); /* more bytes than are stored */
        n_checked++;
    }
    assert_true(n_checked > 0);
    tare_coded_free(coded);
    drop(&p);
}

/* Every bit of the heads of a layer: refused with its place, or all that it names is there. */
static void damaged_heads_are_refused(void **state) {
    (void)state;
    packed p;
    tare_coded *coded;
    tare_error err;
    make_file("bf16", "model.wcodec");
    read_file(&p, "model.wcodec");
    assert_int_equal(open_bytes(&p, NULL), TARE_OK);
    assert_int_equal(tare_tensor_coded(&coded, NULL, p.m, 1, NULL, NULL), TARE_OK);
    const tare_coded_stream of = tare_coded_describe(coded)->streams[0];
    const uint64_t at = tare_coded_describe(coded)->offset + of.position;
    tare_coded_free(coded);
    assert_true(of.head_bytes > 0);
    size_t n_refused = 0;
    for (uint32_t bit = 0; bit < 8 * of.head_bytes; bit++) {
        p.bytes[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
        tare_status status = tare_tensor_coded(&coded, NULL, p.m, 1, NULL, &err);
        if (status == TARE_OK) {
            const tare_coded_head *head = tare_coded_stream_head(coded, 0);
            for (unsigned i = 0; i < head->n_tables64; i++) {
                uint32_t sum = 0;
                for (unsigned s = 0; s < 64; s++) sum += head->tables64[i].frequency[s];
                assert_int_equal(sum, 65536);
            }
            tare_coded_free(coded);
        } else {
            n_refused++;
            assert_null(coded);
            assert_in_range(err.offset, at, at + of.head_bytes);
        }
        p.bytes[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(n_refused > 100);
    drop(&p);
}

/* Every layer can be decoded by itself, those that hold no tensor too: together they are the file. */
static void all_layers(void **state) {
    static const char *const names[] = {"files.wcodec", "contents.wcodec"};
    (void)state;
    tare_model *synth, *gguf;
    tare_convert_options o = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_pack_options pack = tare_pack_options_default();
    tare_output_options pack_output = tare_output_options_default();
    pack.output = &pack_output;
    output.force = output.no_sync = true;
    assert_int_equal(tare_synth_open(&synth, "llama-tiny", NULL, NULL), TARE_OK);
    assert_int_equal(tare_convert(temp_path("all.gguf"), synth, &o, NULL), TARE_OK);
    assert_int_equal(tare_open_path(&gguf, temp_path("all.gguf"), NULL, NULL), TARE_OK);
    pack_output.no_sync = true;
    assert_int_equal(tare_pack(NULL, temp_path(names[0]), gguf, &pack, NULL), TARE_OK);
    assert_int_equal(tare_pack(NULL, temp_path(names[1]), synth, &pack, NULL), TARE_OK);
    for (unsigned k = 0; k < 2; k++) {
        tare_container_info info = tare_container_info_default();
        tare_container_layer layer = tare_container_layer_default();
        size_t n = 0, n_kinds[4] = {0};
        uint64_t sum = 0;
        tare_coded *coded;
        tare_error err;
        packed p;
        read_file(&p, names[k]);
        assert_int_equal(open_bytes(&p, NULL), TARE_OK);
        assert_true(tare_model_container(&info, p.m));
        for (; tare_model_container_layer(&layer, p.m, n); n++) {
            void *regions[TARE_CODED_MAX_REGIONS] = {NULL};
            assert_int_equal(tare_model_layer_coded(&coded, p.m, n, NULL, NULL), TARE_OK);
            const tare_coded_layer *l = tare_coded_describe(coded);
            assert_int_equal(l->size, layer.to_bytes);
            for (unsigned r = 0; r < l->n_regions; r++)
                regions[r] = malloc((size_t)l->region_bytes[r] + 1);
            assert_int_equal(tare_coded_decode_layer(regions, coded, NULL, NULL), TARE_OK);
            if (layer.kind == TARE_LAYER_TENSOR) {
                const int64_t t = tare_model_find_tensor(p.m, layer.name);
                assert_true(t >= 0 && layer.encoding->id == TARE_ENCODING_F32);
                assert_int_equal(layer.n_dims, tare_model_tensor(p.m, (size_t)t)->n_dims);
                assert_int_equal(layer.dims[0], tare_model_tensor(p.m, (size_t)t)->dims[0]);
            }
            if (layer.kind == TARE_LAYER_BYTES) assert_memory_equal(regions[0], "GGUF", 4);
            for (unsigned r = 0; r < l->n_regions; r++) free(regions[r]);
            n_kinds[layer.kind]++;
            sum += layer.from_bytes;
            tare_coded_free(coded);
        }
        assert_int_equal(n, info.n_layers);
        assert_int_equal(n_kinds[TARE_LAYER_TENSOR], 21);
        assert_int_equal(sum, info.unpacked_bytes);
        if (k == 0)
            assert_int_equal(n_kinds[TARE_LAYER_BYTES], 1);
        else
            assert_int_equal(n_kinds[TARE_LAYER_RESOURCE], 1);
        assert_int_equal(tare_model_layer_coded(&coded, p.m, n, NULL, &err), TARE_ERR_ARG);
        drop(&p);
    }
    tare_container_layer none = tare_container_layer_default();
    assert_false(tare_model_container_layer(&none, synth, 0));
    tare_model_free(gguf);
    tare_model_free(synth);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_layers),
        cmocka_unit_test(another_decoder_decodes_a_model),
        cmocka_unit_test(joined_streams_are_decoded),
        cmocka_unit_test(segments_refer_to_a_base),
        cmocka_unit_test(without_its_base_a_layer_is_described),
        cmocka_unit_test(stored_bytes_are_borrowed_or_read),
        cmocka_unit_test(what_has_no_layer_is_refused),
        cmocka_unit_test(parts_of_damaged_segments_lie_inside),
        cmocka_unit_test(faults_are_named_by_their_place),
        cmocka_unit_test(damaged_heads_are_refused),
    };
    return cmocka_run_group_tests(tests, make_temp_folder, remove_temp_folder);
}
