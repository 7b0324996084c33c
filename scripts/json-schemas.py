#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The schemas of the documents of --json (cli/schemas) and the page about them (docs/json.md), from one
vocabulary: a name means the same in every document.

    json-schemas.py [--check]    writes them; with --check exit 1 where they are not up to date
"""
import json
import os
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TYPES = {
    "text": {"type": "string"}, "count": {"type": "integer"}, "flag": {"type": "boolean"},
    "place": {"type": ["integer", "string"]},  # beyond 2^63 - 1: the digits as a string
    "number": {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
    "text or null": {"type": ["string", "null"]}, "any": {}, "places": {"type": "array", "items": {"type": ["integer", "string"]}},
    "counts": {"type": "array", "items": {"type": "integer"}},
}

# Name, type, meaning. Lists and objects get their contents from DOCUMENTS.
WORDS = """
a | object | the left factor of an adapter
action | text | what is done with it: copied, encoded, carried, ...
active | text | the CPU level in use
adapters | list | low-rank adapters that the model holds
against | text | what it is compared with; of a tensor: same, differs, absent, ...
began | text | when, as the store says it
derived_tensor_count | count | tensors made of others when they are read
derived_from | text | the model that it may have been made from
against_part | count | the part whose plan this one is not of, or whose bytes it has, too
alignment | count | bytes that data is aligned to
alike_tensor_count | count | tensors that the base has, too
architecture | text | general.architecture, or what it would be
architectures | list | those that become llama.cpp's
b | object | the right factor of an adapter
base | object | the model that it is compared with
base_index | count | number of the base that it is a difference from
base_norm | number | root of the sum of squares of the base's values
base_name | text | part of a file name: like Mixtral
base_type | text | the type that the base's tensor has
bases | list | models that a .wcodec was packed against
bits | count | bits that are coded of each value
bits_per_weight | number | bits of all tensors over the number of weights
byte_order | text | little or big
cache_bytes | count | memory of the cache for the context
changed_bytes | count | bytes that become others
changes | list | keys, tensors and files that are edited
chat_template | text | as the tokenizer has it, shortened
classes | text | classes of Hugging Face, separated by spaces
coarse_tensor_count | count | tensors that were read in part
code | text | names the kind of a finding or fault, and never changes
coded_bytes | number | what the codec makes of it
coded_error_bytes | number | the sampling error of that
column_count | count | columns of the product of an adapter
comparisons | list | one for each model that is compared
container | any | the .wcodec that the model lies in; in loss: the format of what was packed
context_length | count | tokens that the model was trained for
context_token_count | count | tokens that the cache is for
control_token_count | count | tokens that stand for no text
converts | flag | whether tare convert makes a file of it that llama.cpp runs
cpu | any | levels of the CPU; of bench: the one in use
curve_points | list | the best choice for ever larger sizes
damage | number | predicted: about the KL divergence in nats per token
damage_at_one_more_bit | number | damage with one more bit for each weight
damaged_tensor_count | count | tensors that lost segments
decode_gb_per_s | number | speed of decoding, in bytes of the tensor
dependencies | object | libraries and their versions
detected | text | the highest CPU level of the machine
device | text | the GPU that decoded, too
device_gb_per_s | number | speed of the GPU's decoding
difference_tensor_count | count | tensors stored as differences from a base
different_count | count | elements that are not the same
different_key_count | count | metadata keys that are not the same
differences | list | what is not the same, values last and the worst of them first
directory_bytes | count | bytes before the data of tensors
done_count | count | parts that are done
effort | text | fast or full
element_count | count | elements of tensors or of an array
element_type | text | of an array
embedding_length | count | width of the model
encode_gb_per_s | number | speed of encoding
encoding | text | part of a file name: like Q4_0
entropy_bytes | number | order-0 entropy of the coded values
error | object | why it does not open: a document tare.error/2
error_count | count | findings that are errors
exit_code | count | of the command
expert | count | number of the expert that a tensor belongs to
feed_forward_length | count | width of the feed-forward part
file | text | the file that it is about
file_count | count | files
file_index | count | number of the file, among files
file_name_fault | text | why the file's name is not the one that the metadata give
files | list | files, with their sizes
findings | list | notes, warnings and errors, in the order in which they were found
fine_tune | text | part of a file name: like Instruct
finite_count | count | elements that are numbers
first_row | count | the first of the rows that were extracted, from 0 on
first_tokens | list | the first ones of the vocabulary
fit | object | how types were chosen for a target
follows_convention | flag | whether the name is one of GGUF's naming convention
form | text | npy (decoded) or bin (the stored bytes)
format | text | gguf, hf, safetensors, torch, dcp, meta, numpy, flax, onnx, tflite, whisper, mcf, infq or wcodec; of an adapter peft, diffusers, kohya or mlx
from_bytes | count | bytes before
from_type | text | the type before
head_bytes | count | bytes of a stream's head
head_count | count | attention heads
head_count_kv | count | KV heads
histogram | text | 64 counts from the smallest value to the largest, separated by spaces
histogram_counts | counts | counts from -reach to reach
holds | text | the format of what is packed
holds_version | count | its version
hyperparameters | object | numbers of the architecture
id | count | number of a token
index | count | number of the tensor
infinite_count | count | elements that are infinite
input | text | what was read: path, URL or "standard input"
is_bias | flag | it is a bias
is_checked | flag | digests were compared
is_complete | flag | all that was to be verified could be
is_aborted | flag | the uploads were removed
is_deep | flag | data was read: all, or that of a part
is_directory | flag | a directory of files
is_dry_run | flag | nothing was written
is_for_gpu | flag | in segments for GPUs
is_good | flag | nothing is wrong with it
is_identity | flag | the output is the input again, byte for byte
is_in_place | flag | the file itself is changed
is_lossy | flag | packed with loss
is_mapped | flag | as a GGUF file would have it that is made of the model
is_mounted | flag | files can be read there
is_measured | flag | the sensitivity was given
is_pinned | flag | the type was given
is_renamed | flag | under the other model's tensor names
is_same | flag | no difference that counts
is_present | flag | the file was there already
is_shared | flag | stored once with another
is_shortened | flag | there are more elements
is_tolerated | flag | a difference that does not count
is_truncated | flag | data lies beyond the end of the file
is_version_assumed | flag | the name has no version: v1.0 is assumed
is_weighted | flag | by an importance matrix
is_whole | flag | nothing was lost
item_index | count | number of the tensor, key, resource or adapter
item_kind | text | tensor, key, resource or adapter
item_name | text | its name
key | text | of a metadata entry
keys | list | metadata keys that differ
kind | text | of a difference or change
lambda | number | what the next byte would take off the damage; of a pack with loss: weight of bits
last_tokens | list | the last ones of the vocabulary
layer | any | of a tensor: its number; with --layers: how it is stored
layer_count | count | blocks of the model
layers | list | what is encoded as one unit each
length_bytes | count | bytes of a text that is shortened
level | text | note, warning or error
line | text | the message, as it is printed
llama_cpp | object | what llama.cpp makes of the model
loss | object | what was lost when it was packed
lossy_tensor_count | count | tensors whose numbers changed
lost_file_count | count | files that could not be restored
lost_segment_count | count | segments that could not be decoded
made_of | text | the first tensor that it is made of
major_version | count | of the .wcodec format
max | number | largest value
max_abs | number | largest difference of two values
mean | number | mean value
memcpy_gb_per_s | number | speed of memcpy
memory | object | what running the model takes
metadata | list | keys with their types and values
metadata_count | count | metadata keys
method | text | how it was packed with loss
min | number | smallest value
minor_version | count | of the .wcodec format
missing_tensor_count | count | tensors that only the base has
mix | text | the named mix of types
mixes | list | the named mixes, smallest first
mmproj | text | the projector of a vision or audio encoder
mode | text | form that a segment is stored in
model | text | the kind of tokenizer
models | list | one for each model, also where it is a single one; what did not open is a document tare.error/2
name | text | a name, as it is stored
names | list | file names and their parts
nan_count | count | elements that are not numbers
new | any | after the edit; null: removed
new_size_bytes | count | bytes of the file after the edit
non_text_tokens | list | control and user-defined tokens
offset | place | byte in the file
old | any | before the edit; null: added
old_size_bytes | count | bytes of the file before the edit
one_more_bit_bytes | count | bytes that one more bit per weight takes
one_more_bit_saves | number | damage that one more bit per weight takes away
opens | flag | whether it opens as a model
operation | text | what is done to it on the way to llama.cpp
other | text | the model that the input is compared with
other_is_lossy | flag | the other was packed with loss
other_shape | places | of the other's tensor
other_type | text | of the other's tensor
outlier_count | count | elements that are stored separately
outcome | text | what became of an interrupted edit: nothing, undone or finished
output | text | what is written; of mount, the folder
outputs | list | one for each, also where it is a single one
packed_bytes | count | bytes in the .wcodec
pair_count | count | pairs of factors of an adapter
packed_percent | number | packed_bytes of unpacked_bytes
parameter_count | count | elements of all tensors
part | count | number of a part, from 1 on
part_count | count | parts that the output is made of
parts | list | those that there should be, and what is there besides
pre | text | how text is split before it becomes tokens
predictor | text | how a tile of a segment is predicted
predicts_tokens | flag | damage is about a divergence of predictions
rank | count | of an adapter
ratio | number | to_bytes over from_bytes
reach | number | how far the histogram goes
read_bytes | count | bytes that are read
region | count | number of the plane
regions | list | planes of a tensor
relative_error | number | squared error of the type, relative to the values
relative_rmse | number | root of the mean squared difference over that of the values; in a comparison: of the tensors that differ, together
renamed | text or null | the one that is compared under other names
resources | list | side files
resumed_bytes | count | of a file, what an earlier run had fetched
role | text | what a tensor or token is for
roles | list | tensors by their role
row_count | count | rows that were extracted; of an adapter, those of its product
runs | flag | whether llama.cpp runs it; what is packed: once it is unpacked
sample_bytes | count | bytes that were measured
scale | number | factor of an adapter
schema | text | the document's schema
scheme | text | packed form that the tensor is part of
segments | list | pieces of a stream that are decoded on their own
sensitivity | number | damage for a relative error of 1
sha256 | text | digest
shape | places | outermost dimension first
shard | count | number of the file of a set
shard_count | count | files of the set
shared_tensor_count | count | tensors stored once with another
sidecar | text | part of a file name: mmproj or mtp
size_bytes | count | bytes of a file, or of a tensor as it is stored
size_label | text | part of a file name: like 8x7B
smallest_bytes | count | the smallest file that these types can make
source_count | count | tensors that it is made of
source_sha256 | text | digest of what was packed
special_tokens | any | roles of tokens and their numbers
state | text | done, missing, unfinished, stale, foreign, doubled or damaged
state_bytes | count | memory of a recurrent state
stats | object | statistics of the values
status | text | the kind of fault in words
std_dev | number | standard deviation
stored_bytes | count | bytes of a segment as it is stored
stored_type | text | the type in the file, where it stands for another
streams | list | coded planes
tare_version | text | what made it
target_bpw | number | bits per weight that were asked for
target_bytes | count | bytes that were asked for
target_damage | number | damage that was asked for
tensor_bytes | count | bytes of all tensors
tensor_count | count | tensors
tensors | list | tensors
text | text | what it says
thread_count | count | threads
tile_shape | text | of a segment
to_bytes | count | bytes after
token_bytes | count | bytes of all tokens
token_count | count | tokens
tokenizer | object | the tokenizer in numbers
tokenizer_sample | object | some of its tokens
total | object | all tensors together
total_bytes | count | bytes of the whole output
total_work_bytes | count | the same for the whole output
type | text | number format of a tensor, or type of a value
types | list | tensors by their type
unpacked_bytes | count | bytes that it decodes to
upload_name | text | what the store calls an upload
uploads | list | those that nobody completed
user_defined_token_count | count | tokens that were added
value | any | of a key
version | any | of the format; of tare; part of a file name
vocab_size | count | tokens of the vocabulary
warning_count | count | findings that are warnings
weight_count | count | weights
weights_bytes | count | memory of the weights
what | text | what is different
whole_tensor_count | count | tensors that were read whole
why | text | why not
work_bytes | count | bytes that are read and written
write_bytes | count | bytes that are written
written_bytes | count | bytes that were written
zero_count | count | elements that are 0
zstd19_bytes | number | what zstd -19 makes of it
zstd19_error_bytes | number | the sampling error of that
zstd3_bytes | number | what zstd -3 makes of it
zstd3_error_bytes | number | the sampling error of that
zstd3_gb_per_s | number | speed of zstd -3
"""

FILES = "files [ name size_bytes ]"
FINDINGS = "findings [ level code? status file? offset? item_kind? item_index? item_name? text ]"
PLACE = "file? offset? item_kind? item_index? item_name? field? code? text line"
TOKENS = "[ id text length_bytes? ]"
MEASURES = """size_bytes sample_bytes entropy_bytes coded_bytes zstd3_bytes zstd19_bytes? coded_error_bytes zstd3_error_bytes
zstd19_error_bytes? alike_tensor_count? encode_gb_per_s decode_gb_per_s device_gb_per_s? memcpy_gb_per_s zstd3_gb_per_s"""
WRITTEN = """output format is_identity read_bytes write_bytes mix? bits_per_weight? """ + FILES + """ tensors [ name action from_type type stored_type
from_bytes to_bytes file_index made_of? source_count? operation? relative_rmse? max_abs? ]"""
MADE = "input is_dry_run " + WRITTEN + " " + FINDINGS
FACTOR = "{ name type shape size_bytes }"
SCREEN = """input format version container? { major_version minor_version holds? holds_version? packed_bytes unpacked_bytes packed_percent
file_count files? [ name size_bytes packed_bytes tensor_count derived_tensor_count bits_per_weight? ] is_directory is_for_gpu
is_lossy loss? { tensor_count bits_per_weight target_bpw? target_bytes? target_damage? damage lambda
method is_weighted container source_sha256 } bases [ name sha256 tensor_count ] } byte_order alignment architecture?
hyperparameters { layer_count? embedding_length? head_count? head_count_kv? feed_forward_length? context_length? vocab_size? }
parameter_count size_bytes tensor_bytes directory_bytes bits_per_weight? tensor_count metadata_count is_truncated outlier_count?
types [ type tensor_count element_count size_bytes ] """ + FILES + """ resources [ name size_bytes ]
adapters? [ name rank row_count column_count scale size_bytes a """ + FACTOR + " b " + FACTOR + """ ]
llama_cpp? { runs? converts? why? mmproj? } mix? tokenizer? { model pre? token_count? control_token_count? user_defined_token_count?
special_tokens { * } } memory? { weights_bytes context_token_count cache_bytes state_bytes } file_name_fault? """ + FINDINGS
METADATA = "metadata? [ key type element_type? element_count? is_shortened? length_bytes? value ]"

# What a document has: "name?" may be missing, { } is an object, [ ] a list of objects, { * } one of any names.
DOCUMENTS = {
    "adapter": "input output is_dry_run format pair_count " + FINDINGS,
    "architectures": "architectures [ architecture classes mmproj? ]",
    "bench": "input effort thread_count cpu device? tensors [ name type " + MEASURES + " ] types [ type tensor_count " + MEASURES +
             " ] total { " + MEASURES + " }",
    "convert": MADE,
    "quantize": "input is_dry_run outputs [ " + WRITTEN + """ target_bytes? damage? fit? { size_bytes bits_per_weight damage lambda damage_at_one_more_bit one_more_bit_bytes predicts_tokens smallest_bytes
roles [ role tensor_count weight_count size_bytes damage one_more_bit_saves ] mixes [ mix size_bytes bits_per_weight damage ]
curve_points [ size_bytes bits_per_weight damage ] tensors [ name role type weight_count size_bytes sensitivity is_measured is_pinned
relative_error damage ] } ] """ + FINDINGS,
    "diff": """input comparisons [ other renamed is_same is_lossy other_is_lossy relative_rmse? differences [ kind name type? other_type?
shape? other_shape? is_tolerated relative_rmse? max_abs? different_count? ] ]""",
    "edit": """input output format is_dry_run is_in_place changed_bytes written_bytes changes [ kind old new ]
files [ name action old_size_bytes new_size_bytes changed_bytes ] """ + FINDINGS,
    "error": "status exit_code " + PLACE + " findings? " + FINDINGS.split(" ", 1)[1],
    "extract": "input output is_dry_run name type? shape? form? first_row? row_count? size_bytes? pair_count? " + FINDINGS,
    "get": "input output is_dry_run files [ name size_bytes resumed_bytes is_present is_checked ] packed_bytes?",
    "info": "models [ " + SCREEN + """ tensors? [ index name type shape size_bytes packed_bytes? file_index offset regions?
[ name offset size_bytes ] outlier_count? scheme? is_truncated? stats? { finite_count zero_count nan_count infinite_count min? max? mean?
std_dev? reach histogram_counts } layer? { file offset size_bytes base_index? streams [ region bits offset head_bytes size_bytes
segments [ offset stored_bytes size_bytes mode predictor? tile_shape? ] ] } ] """ + METADATA + " ]",
    "join": "output is_dry_run is_directory part_count file_count size_bytes " + FINDINGS,
    "mount": "input? output is_mounted files? [ name size_bytes ] findings? " + FINDINGS.split(" ", 1)[1],
    "name": """names? [ input follows_convention base_name? size_label? fine_tune? version? encoding? type? sidecar? is_version_assumed?
shard? shard_count? ] name?""",
    "pack": """input output file_count tensor_count shared_tensor_count difference_tensor_count from_bytes to_bytes ratio is_lossy
is_dry_run lossy_tensor_count? bits_per_weight? damage? layers [ name type from_bytes to_bytes is_shared ] """ + FINDINGS,
    "part": "input output is_dry_run part part_count is_present offset size_bytes total_bytes work_bytes total_work_bytes " + FINDINGS,
    "recovery": "input outcome",
    "report": "tare_version models [ " + SCREEN + """ name? tensors [ name type shape size_bytes packed_bytes? scheme? is_truncated? role?
layer? expert? is_bias? zero_count? nan_count? infinite_count? min? max? mean? std_dev? histogram? against? base_type? relative_rmse?
base_norm? max_abs? different_count? ] base? { input format tensor_bytes is_renamed missing_tensor_count tensors [ name what? ]
different_key_count? keys? [ name what? ] } tokenizer_sample? { model pre? is_mapped control_token_count? user_defined_token_count?
special_tokens [ role id text length_bytes? ] token_count? token_bytes? first_tokens? """ + TOKENS + " last_tokens? " + TOKENS +
              " non_text_tokens? " + TOKENS + " chat_template? length_bytes? } " + METADATA + " ]",
    "synth": MADE,
    "status": "output part_count done_count parts [ part part_count state name? against_part? offset? size_bytes? ]",
    "uploads": "output is_aborted uploads [ output upload_name began part_count size_bytes ]",
    "unpack": """input output is_dry_run is_directory file_count size_bytes packed_bytes is_whole is_checked lost_segment_count damaged_tensor_count
lost_file_count coarse_tensor_count whole_tensor_count """ + FINDINGS,
    "verify": """models [ input opens is_good is_deep part? part_count? against? derived_from? is_complete format? version? tensor_count? error? error_count warning_count """ +
              FINDINGS + " ]",
    "version": "version cpu { active detected } dependencies { * }",
}
WHAT = {
    "adapter": "tare convert --as-adapter", "architectures": "tare convert --list-architectures", "bench": "tare bench", "convert": "tare convert",
    "diff": "tare diff", "edit": "tare edit", "error": "any command that fails", "extract": "tare extract", "get": "tare get", "info": "tare info", "join": "tare join", "mount": "tare mount", "name": "tare name",
    "pack": "tare pack", "part": "tare convert, quantize, pack and unpack --part", "quantize": "tare quantize", "recovery": "tare edit --recover", "report": "tare report", "status": "tare status", "synth": "tare synth", "uploads": "tare status s3://...", "unpack": "tare unpack", "verify": "tare verify", "version": "tare --version",
}
ERROR = {"$ref": "tare.error.2.json"}


def words():
    rows = [[part.strip() for part in line.split("|")] for line in WORDS.strip().splitlines()]
    rows.append(["field", "text", "where in a text of fields it is wrong"])
    assert len({r[0] for r in rows}) == len(rows), "a name twice"
    for name, kind, _ in rows:  # the rules of the vocabulary
        assert not name.endswith("_count") or kind == "count", name
        assert not name.startswith("is_") or kind == "flag", name
        assert kind != "list" or name.endswith("s") or name == "metadata", name
    return {r[0]: (r[1], r[2]) for r in rows}


def parse(tokens, table, used):
    """The members of an object, up to the token that ends it."""
    properties, required = {}, []
    while tokens and tokens[0] not in ("}", "]"):
        word = tokens.pop(0)
        if word == "*":
            tokens.pop(0)
            return {"type": "object"}
        name = word.rstrip("?")
        kind, meaning = table[name]
        used.add(name)
        if tokens and tokens[0] == "{":
            tokens.pop(0)
            schema = parse(tokens, table, used)
        elif tokens and tokens[0] == "[":
            tokens.pop(0)
            schema = {"type": "array", "items": parse(tokens, table, used)}
        elif name == "error":
            schema = ERROR
        else:
            schema = TYPES[kind]
        properties[name] = {"description": meaning, **schema}
        if not word.endswith("?"):
            required.append(name)
    if tokens:
        tokens.pop(0)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def document(name, table, used):
    schema = parse(DOCUMENTS[name].split(), table, used)
    first = {"schema": {"description": table["schema"][1], "const": f"tare.{name}/2"}}
    schema["properties"] = {**first, **schema["properties"]}
    schema["required"] = ["schema", *schema["required"]]
    if name == "info":
        models = schema["properties"]["models"]
        models["items"] = {"anyOf": [models["items"], ERROR]}
    if name == "diff":
        comparisons = schema["properties"]["comparisons"]
        comparisons["items"] = {"anyOf": [comparisons["items"], ERROR]}
    if name == "pack":  # a resource has no type
        schema["properties"]["layers"]["items"]["properties"]["type"]["type"] = ["string", "null"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"tare.{name}.2.json",
            "title": f"What {WHAT[name]} prints with --json", **schema}


def outline(schema, depth=0):
    """The members of a schema, a line each, for the page."""
    if "anyOf" in schema and depth:
        schema = schema["anyOf"][0]
    for name, member in schema.get("properties", {}).items():
        inner = member.get("items", member)
        inner = inner["anyOf"][0] if "anyOf" in inner and "properties" in inner["anyOf"][0] else inner
        mark = " [ ]" if member.get("type") == "array" and "properties" in inner else ""
        yield "    " * depth + name + mark + ("" if name in schema["required"] else " ?")
        yield from outline(inner, depth + 1)


def page(schemas, table):
    lines = ["# What --json prints", "",
             "Made by `scripts/json-schemas.py`; the schemas are installed in `share/tare/schemas`.", "",
             "Each document names its schema. Within a version members may be added, and none changes its meaning. A name means the same in",
             "every document: sizes end in `_bytes`, counts in `_count`, facts begin with `is_` or are a verb (`runs`), lists are plurals, a",
             "tensor's number format is its `type`. Several models are a list, a single one as well. What fails prints `tare.error/2`, wrong",
             "use included. Numbers beyond 2^63 - 1, NaN and infinities, which JSON lacks, are strings; text that is not UTF-8 is escaped, and",
             "`NAME_hex` has its bytes.", ""]
    for name, schema in schemas.items():
        lines += [f"## tare.{name}/2", f"{WHAT[name]}. `?`: where it applies; `[ ]`: a list.", "```", *outline(schema), "```", ""]
    lines += ["## The words", "| name | type | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | {kind} | {meaning} |" for name, (kind, meaning) in sorted(table.items())]
    return "\n".join(lines) + "\n"


def main():
    table, used = words(), {"schema"}
    schemas = {name: document(name, table, used) for name in sorted(DOCUMENTS)}
    unused = table.keys() - used
    assert not unused, f"no document has {sorted(unused)}"
    texts = {f"cli/schemas/tare.{name}.2.json": json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()}
    texts["docs/json.md"] = page(schemas, table)
    stale = []
    for path, text in texts.items():
        whole = os.path.join(TOP, path)
        if os.path.exists(whole):
            with open(whole, encoding="utf-8") as file:
                if file.read() == text:
                    continue
        stale.append(path)
        if "--check" not in sys.argv:
            with open(whole, "w", encoding="utf-8") as file:
                file.write(text)
    if stale:
        print(("not up to date: " if "--check" in sys.argv else "written: ") + " ".join(stale))
    return bool(stale) and "--check" in sys.argv


if __name__ == "__main__":
    sys.exit(main())
