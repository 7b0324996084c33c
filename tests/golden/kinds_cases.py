# SPDX-License-Identifier: MIT
"""The kinds of files and folders that people have and that are no model for tare: each is named for what it is,
with what to do. docs/formats.md lists them beside those that open."""
import io
import struct
import tarfile

from casebook import bad
from not_a_model_cases import foreign, zip_of

FILES = []
FOLDERS = []


def file(name, note, content, what, suffix=".bin"):
    FILES.append(name)
    foreign("kind-" + name, note, content, what, suffix)


def folder(name, note, what, *names, **files):
    """files of no bytes, and such with content; what tells a folder is names alone"""
    FOLDERS.append(name)
    content = {**dict.fromkeys(names, b""), **files}
    bad("kind-" + name, note, b"", "UNSUPPORTED", None, what, files=content)


def tar(name):
    return (name.encode().ljust(100, b"\0") + b"0000644\0" + bytes(8 + 8 + 12 + 12 + 8) + b"0" + bytes(100) + b"ustar\00000").ljust(1024, b"\0")


def python_tar(*names):
    """as tarfile writes it, with a time that takes a header of its own; a name that ends in a slash is a folder"""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.mtime = 0.5
            member.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            archive.addfile(member)
    return out.getvalue()


file("openvino-xml", "OpenVINO's description of a network", b'<?xml version="1.0"?>\n<net name="m" version="11">\n\t<layers>\n', "OpenVINO", ".xml")
file("litert-lm", "LiteRT-LM", b"LITERTLM" + bytes(64), "LiteRT-LM", ".litertlm")
file("executorch", "ExecuTorch", struct.pack("<I", 40) + b"ET12" + bytes(64), "ExecuTorch", ".pte")
file("tensorizer", "tensorizer", b"|TZR|" + bytes(64), "TensorDeserializer", ".tensors")
for magic in (b"ftrt", b"ptrt"):
    file("engine-" + magic.decode(), "an engine of TensorRT", magic + bytes(64), "compiled for one kind of GPU", ".engine")
file("ncnn", "the text of ncnn", b"7767517\n75 83\nInput data 0 1 data\n", "ncnn", ".param")
file("rknn", "Rockchip's", b"RKNN" + bytes(64), "Rockchip", ".rknn")
file("hdf5", "HDF5", b"\x89HDF\r\n\x1a\n" + bytes(64), "Keras", ".h5")
file("keras", "Keras 3", zip_of("metadata.json", b'{"keras_version": "3.12.0"}'), "Keras", ".keras")
file("pt2", "torch.export", zip_of("m/data/weights/weight_0", bytes(16)), "torch.export.load", ".pt2")
bad("kind-llamafile", "a program whose archive is not there", b"", "TRUNCATED", 4105, "no end record",
    files={"x.llamafile": b"MZqFpD='\n" + bytes(4096)}, opened="x.llamafile")
file("nemo", "NeMo", tar("model_weights.ckpt"), "NeMo", ".nemo")
file("nemo-config", "NeMo, whose configuration comes first", tar("./model_config.yaml"), "NeMo", ".nemo")
file("nemo-tarfile", "NeMo, by Python's tarfile", python_tar("./", "./model_config.yaml"), "NeMo", ".nemo")
file("tar-tarfile", "an archive of something else, by Python's tarfile", python_tar("model.safetensors"), "a tar archive: unpack", ".tar")
file("tar", "an archive of something else", tar("model.safetensors"), "tar archive", ".tar")
file("core-ml", "Core ML", b"\x08\x05\x12\x2a\x0a\x11\x0a\x05input" + bytes(64), "Core ML", ".mlmodel")
def field(number, content):
    return bytes([number << 3 | 2, len(content)]) + content


file("saved-model", "TensorFlow's", b"\x08\x01" + field(2, field(1, field(2, b"ops"))) + bytes(16), "TensorFlow", ".pb")
file("graph", "a frozen graph of TensorFlow", 3 * field(1, field(1, b"input") + field(2, b"Placeholder")), "TensorFlow", ".pb")
file("checkpoint-index", "TensorFlow's", b"\0\0\x06\x08\x01\x1a\x02\x08\x01" + bytes(64), "tf.train.load_checkpoint", ".index")
file("ocdbt", "Orbax", b"\x0c\xdb\x3a\x2a" + bytes(64), "Orbax", ".ocdbt")
file("llama2-c", "llama2.c", struct.pack("<7i", 64, 172, 5, 8, 4, 512, 512) + bytes(4096), "llama2.c")
file("llama2-c-tied", "the same with a head of its own", struct.pack("<7i", 64, 172, 5, 8, 4, -512, 512) + bytes(4096), "llama2.c")
file("ctranslate2", "CTranslate2", struct.pack("<IH", 6, 16) + b"TransformerSpec\0" + bytes(64), "CTranslate2")
file("ggla", "an adapter of GGML", struct.pack("<4I", 0x67676c61, 1, 4, 8), "LoRA")
file("xz", "xz", b"\xfd7zXZ\0" + bytes(64), "xz")
file("7z", "7z", b"7z\xbc\xaf\x27\x1c" + bytes(64), "7z")
file("rar", "RAR", b"Rar!\x1a\x07\x01\0" + bytes(64), "RAR")
file("arrow", "Arrow", b"ARROW1\0\0" + bytes(64), "Arrow", ".arrow")
file("bzip2", "bzip2", b"BZh91AY&SY" + bytes(64), "bzip2")

folder("diffusers", "a pipeline", "diffusers pipeline", "unet/config.json", **{"model_index.json": b"{}"})
bad("kind-diffusers-index", "a pipeline whose index is a list", b"[]", "CORRUPT", 0, "an object expected", file="model_index.json",
    files={"model_index.json": b"[]", "unet/config.json": b""})
folder("orbax", "Orbax", "Orbax", "_CHECKPOINT_METADATA", "_METADATA", "manifest.ocdbt")
folder("orbax-steps", "steps of Orbax", "Orbax", "100/default/manifest.ocdbt", "100/_CHECKPOINT_METADATA")
folder("orbax-step", "a step of Orbax of older releases", "Orbax", "default/manifest.ocdbt", "metrics/metrics")
folder("keras-hub", "Keras, as KerasHub has it", "KerasHub", "model.weights.h5", "metadata.json", **{"config.json": b"{}"})
folder("mlc", "MLC LLM", "MLC", "ndarray-cache.json", "mlc-chat-config.json", "params_shard_0.bin")
folder("saved-model", "TensorFlow", "SavedModel", "saved_model.pb", "variables/variables.index")
folder("tensorflow-bare", "a checkpoint of TensorFlow without the list of checkpoints", "tf.train.load_checkpoint", "bert_model.ckpt.index",
       "bert_model.ckpt.data-00000-of-00001", "bert_model.ckpt.meta", **{"bert_config.json": b"{}"})
folder("openvino", "OpenVINO, beside the files of Hugging Face", "OpenVINO", "openvino_model.xml", "openvino_model.bin",
       **{"config.json": b"{}"})
folder("mlpackage", "Core ML's package", "Core ML", "Manifest.json", "Data/com.apple.CoreML/model.mlmodel")
folder("mlmodelc", "Core ML, compiled", "Core ML", "coremldata.bin", "model.mil")
folder("engine", "TensorRT-LLM", "TensorRT", "rank0.engine", **{"config.json": b"{}"})
folder("deepspeed", "DeepSpeed ZeRO", "zero_to_fp32.py", "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", "mp_rank_00_model_states.pt")
folder("deepspeed-step", "DeepSpeed ZeRO, with its script", "zero_to_fp32.py", "latest", "zero_to_fp32.py", "global_step10/x.pt")
folder("deepspeed-latest", "DeepSpeed's folder of steps, without its script", "zero_to_fp32.py", "latest", "global_step10/mp_rank_00_model_states.pt")
folder("deepspeed-zero3", "a step of ZeRO 3", "folder above", "zero_pp_rank_0_mp_rank_00_optim_states.pt", "zero_pp_rank_0_mp_rank_00_model_states.pt")
folder("deepspeed-zero0", "a step of DeepSpeed without ZeRO", "opens by its name", "mp_rank_00_model_states.pt")
folder("deepspeed-pipeline", "a step of DeepSpeed's pipeline", "each layer opens", "layer_01-model_00-model_states.pt", "layer_02-model_00-model_states.pt")
folder("megatron", "Megatron", "folders iter_", "latest_checkpointed_iteration.txt", "iter_0000010/mp_rank_00/model_optim_rng.pt")
folder("megatron-step", "a step of Megatron", "mp_rank_00/model_optim_rng.pt", "mp_rank_00/model_optim_rng.pt", "mp_rank_01/model_optim_rng.pt")
folder("megatron-part", "a part of a step of Megatron", "opens by its name", "model_optim_rng.pt", "distrib_optim.pt")
folder("metadata", "what describes a checkpoint of torch.distributed, without it", "__0_0.distcp", ".metadata")
folder("trainer", "what a trainer has saved", "give one of the folders", "checkpoint-500/config.json", "checkpoint-1000/config.json")
folder("torchtitan", "what torchtitan has saved", "give one of the folders", "step-500/.metadata")
folder("ollama-home", "the folder of Ollama", "Ollama", "id_ed25519", "models/blobs/sha256-00")
folder("ollama-models", "the folder above a store of Ollama", "Ollama", "models/manifests/registry.ollama.ai/library/tiny/latest", "models/blobs/sha256-00")
folder("models", "a folder of models", "not a model", "models/notes.txt")
folder("distcp", "torch.distributed.checkpoint without what describes it", "torch.distributed", "__0_0.distcp")
folder("ollama", "a store of Ollama", "Ollama", "manifests/registry.ollama.ai/library/tiny/latest", "blobs/sha256-00")
folder("flax-shards", "Flax's weights in several files, without their index", "opens by its name", "flax_model-00001-of-00002.msgpack",
       "flax_model-00002-of-00002.msgpack", **{"config.json": b"{}"})
folder("hub-cache", "the cache of the hub", "cache of the hub", "models--a--b/refs/main", "CACHEDIR.TAG")
folder("ctranslate2-folder", "CTranslate2", "CTranslate2", "model.bin", "shared_vocabulary.json", **{"config.json": b"{}"})
folder("onnx-folder", "several models of ONNX", "several models", "decoder.onnx", "encoder.onnx")
folder("onnx-hub", "ONNX in a folder of a repository", "folder onnx", "onnx/model.onnx", **{"config.json": b"{}"})
folder("nothing", "nothing that is known", "not a model", "notes.txt")
