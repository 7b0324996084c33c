/* SPDX-License-Identifier: MIT
 *
 * The Hugging Face hub: hf:// names, the addresses they stand for, and the list of files that the
 * hub gives of a revision (GET /api/models/ORG/NAME/revision/REV). */
#ifndef TARE_REMOTE_HUB_H
#define TARE_REMOTE_HUB_H

#include "base/buffer.h"
#include "remote/listing.h"

#define TARE_HUB_ENDPOINT "https://huggingface.co"
#define TARE_HUB_REVISION "main"

/* The parts of hf://ORG/NAME[@REVISION][/PATH], or hf://ORG/NAME[@REVISION]:TYPE. */
typedef struct tare_hub_name {
    tare_str root;     /* what stands in front of PATH or TYPE, without the slash or the colon */
    tare_str model;    /* "ORG/NAME" */
    tare_str revision; /* unescaped; "main" where none is given */
    tare_str path;     /* a file or a folder, without slashes at its ends; empty: the whole model */
    tare_str type;     /* of a GGUF file in the model; empty: none is named */
    bool is_folder;    /* of the path: none, or one that ends in a slash */
} tare_hub_name;

/* Parses a name; texts point into it or into the arena. ARG: not such a name. */
tare_status tare_hub_name_parse(tare_hub_name *out, const char *text, tare_arena *arena,
                                tare_error *err);
/* Addresses, without a NUL: of a file of a revision, and of the list of all its files. */
void tare_hub_put_file(tare_buffer *out, const char *endpoint, const tare_hub_name *name,
                       tare_str revision, tare_str file);
void tare_hub_put_list(tare_buffer *out, const char *endpoint, const tare_hub_name *name);

/* Whether the path of a URL is that of a page about a model, "/ORG/NAME[/KIND[/REVISION/FILE]]", as
 * people copy it from a browser. *rest: what follows KIND. */
bool tare_hub_page(tare_str *kind, tare_str *rest, tare_str path);
/* Whether such a page shows a file, or what Git has in its place, or is one; all others show the model. */
bool tare_hub_shows_file(tare_str kind);
/* The path of the file behind the model's name; `rest` as above: slashes of a revision are written as
 * the hub wants them. */
void tare_hub_put_shown(tare_buffer *out, tare_str rest);

/* Whether a text is the name of a commit: 40 hexadecimal digits. */
bool tare_hub_is_commit(tare_str text);
/* Parses a list from an untrusted source: paths stay within the model, and none occurs twice. Texts
 * are in the arena. CORRUPT, LIMIT: with the byte and the entry. */
tare_status tare_hub_list_parse(tare_listing *out, tare_str json, tare_arena *arena,
                                const tare_limits *limits, tare_error *err);

#endif
