/* SPDX-License-Identifier: MIT
 *
 * Directories that other programs make of models, by the names of what is in them, and what to do
 * about each. */
#include "base/glob.h"
#include "base/str.h"
#include "format/format.h"

typedef struct kind {
    const char *pattern;
    const char *and;  /* that there is as well; NULL: nothing */
    const char *what; /* NULL: nothing that is to be said */
} kind;

/* In place of `and`: the first is a folder of this kind itself. */
static const char itself[] = "/";

static const char onnx[] =
    "a directory of several models, of ONNX and perhaps of others: give one of its files";
static const char orbax[] =
    "an Orbax checkpoint (JAX): load it with orbax-checkpoint and save its arrays with "
    "safetensors.flax";
static const char tensorflow[] =
    "a TensorFlow checkpoint: load it with tf.train.load_checkpoint and save its variables as .npz";
static const char mlc[] =
    "weights that were compiled for MLC LLM: get the model that they were made from";
static const char deepspeed[] =
    "a checkpoint of DeepSpeed, of which the weights in f32 have no names: join them with its "
    "zero_to_fp32.py, and give what that makes";
static const char deepspeed_step[] =
    "a step of DeepSpeed ZeRO, of which the weights in f32 have no names: join them with the "
    "zero_to_fp32.py in the folder above, and give what that makes; of ZeRO 1 and 2 the weights as "
    "they were trained are in mp_rank_00_model_states.pt, which opens by its name";
static const char deepspeed_parts[] =
    "a step of DeepSpeed, each part of which opens by its name, such as "
    "mp_rank_00_model_states.pt, which is the whole model if it is the only one";
static const char megatron_parts[] =
    "a Megatron step in parts for several GPUs: the file in each opens by its name, such as "
    "mp_rank_00/model_optim_rng.pt, which is the whole model if it is the only one; Megatron "
    "Bridge "
    "joins several";
static const char ollama[] = "an Ollama model store: give a manifest in it, or ollama://NAME:TAG";
static const char steps[] = "a folder of a trainer's checkpoints: give one of the folders in it";
static const char core_ml[] =
    "a Core ML model, which is not supported: get the model that it was made from";

/* In this order. */
static const kind kinds[] = {
    {"model_index.json", NULL,
     "a diffusers pipeline, which is several models: give the folder of one of them, such as unet, "
     "transformer or text_encoder"},
    {"manifest.ocdbt", NULL, orbax},
    {"_CHECKPOINT_METADATA", NULL, orbax},
    {"ndarray-cache.json", NULL, mlc},
    {"tensor-cache.json", NULL, mlc},
    {"mlc-chat-config.json", NULL, mlc},
    {"saved_model.pb", NULL,
     "a TensorFlow SavedModel: load it with TensorFlow and save its variables as .npz"},
    {"checkpoint", "*.index", tensorflow},
    {"*.index", "*.data-*-of-*", tensorflow},
    {"[0-9]*", itself, orbax}, /* a step in a folder of them */
    {"default", itself, orbax},
    {"*.weights.h5", NULL,
     "a directory whose weights are Keras's (HDF5): load the model with Keras or KerasHub and save "
     "its weights as .npz or safetensors"},
    {"tf_model*.h5", NULL,
     "a directory whose weights are TensorFlow's (HDF5): load the model with transformers 4 "
     "(from_tf=True) and save it again"},
    {"openvino_*.xml", NULL,
     "a model compiled for OpenVINO, whose weights have no names: get the model that it was made "
     "from"},
    {"coremldata.bin", NULL, core_ml},
    {"Manifest.json", "Data", core_ml},
    {"*.engine", NULL,
     "a TensorRT engine, compiled for one kind of GPU, which cannot be taken apart: "
     "get the model that it was made from"},
    {"*zero_pp_rank_*_optim_states.pt", NULL, deepspeed_step},
    {"zero_to_fp32.py", NULL, deepspeed},
    {"latest", "global_step*", deepspeed},
    {"mp_rank_*_model_states.pt", NULL, deepspeed_parts},
    {"layer_*-model_states.pt", NULL,
     "a step of a DeepSpeed pipeline: each layer opens by its name, such as "
     "layer_01-model_00-model_states.pt"},
    {"latest_checkpointed_iteration.txt", NULL,
     "a folder of Megatron checkpoints: give one of the folders iter_... in it"},
    {"mp_rank_*", NULL, megatron_parts},
    {"model_optim_rng.pt", NULL,
     "a part of a Megatron checkpoint, which opens by its name: model_optim_rng.pt"},
    {"distrib_optim.pt", NULL, megatron_parts},
    {".metadata", NULL,
     "a torch.distributed checkpoint of which only .metadata is there, which says what is in "
     "the files __0_0.distcp and so on: get these, too"},
    {"*.distcp", NULL,
     "files of a torch.distributed checkpoint without its .metadata, which alone says what is "
     "in them: get that file, too"},
    {"manifests", "blobs", ollama},
    {"flax_model*.msgpack", NULL,
     "a directory with weights of Flax, but without flax_model.msgpack.index.json, which leads to "
     "them: get that file, too; each file opens by its name"},
    {"models--*", NULL,
     "a cache of the hub: name one of its folders models--ORG--NAME, or hf://ORG/NAME"},
    {"model.bin", "*vocabulary*", "a CTranslate2 model: get the model that it was converted from"},
    {"models", "id_ed25519", ollama},
    {"models", itself, ollama},
    {"*.onnx", NULL, onnx},
    {"*.gguf", "checkpoint-*", NULL}, /* models beside them: these are listed */
    {"checkpoint-*", NULL, steps},
    {"global_step*", NULL, steps},
    {"iter_[0-9]*", NULL, steps},
    {"step-[0-9]*", NULL, steps},
    {"onnx", NULL, "a directory whose models are in its folder onnx: give one of the files there"},
};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

typedef struct seen {
    bool first[N_KINDS], second[N_KINDS];
} seen;

static tare_status see(void *ctx, const tare_files_entry *entry, tare_error *err) {
    seen *s = ctx;
    (void)err;
    for (size_t i = 0; i < N_KINDS; i++) {
        const tare_str name = tare_str_of(entry->name);
        s->first[i] |= tare_glob_matches(tare_str_of(kinds[i].pattern), name, false);
        s->second[i] |= !kinds[i].and || tare_glob_matches(tare_str_of(kinds[i].and), name, false);
    }
    return TARE_OK;
}

static bool look(seen *s, const tare_files *files, const char *path) {
    *s = (seen){{false}, {false}};
    return tare_files_list(files, path, see, s, NULL) == TARE_OK;
}

/* Whether one of a few folders in another is of the kind `k`, by names that are not a folder's in it. */
typedef struct inside {
    const kind *k;
    const tare_files *files;
    const char *root;
    tare_arena arena;
    size_t n_seen;
    bool is_one;
} inside;

enum { LOOKS_MOST = 8 };

static tare_status look_inside(void *ctx, const tare_files_entry *entry, tare_error *err) {
    inside *in = ctx;
    seen s;
    (void)err;
    const tare_str name = tare_str_of(entry->name);
    if (in->is_one || entry->kind != TARE_PATH_FOLDER || in->n_seen == LOOKS_MOST ||
        !tare_glob_matches(tare_str_of(in->k->pattern), name, false))
        return TARE_OK;
    in->n_seen++;
    const char *path = tare_join_path(&in->arena, in->root, name);
    if (!path || !look(&s, in->files, path)) return TARE_OK;
    for (size_t i = 0; i < N_KINDS; i++)
        in->is_one |= s.first[i] && s.second[i] && kinds[i].what == in->k->what;
    return TARE_OK;
}

static bool is_inside(const kind *k, const tare_files *files, const char *path) {
    inside in = {.k = k, .files = files};
    tare_arena_init(&in.arena, NULL);
    in.root = tare_join_path(&in.arena, path, TARE_STR("/"));
    if (in.root) (void)tare_files_list(files, path, look_inside, &in, NULL);
    tare_arena_free(&in.arena);
    return in.is_one;
}

const char *tare_foreign_folder(const tare_files *files, const char *path) {
    seen s;
    if (!look(&s, files, path)) return NULL;
    for (size_t i = 0; i < N_KINDS; i++)
        if (s.first[i] &&
            (kinds[i].and == itself ? is_inside(&kinds[i], files, path) : s.second[i]))
            return kinds[i].what;
    return NULL;
}
