# SPDX-License-Identifier: MIT
"""llama.cpp's C interface, as far as numbers are asked of it: the library inside of the package xllamacpp, by ctypes.
Structs are those of the build that tests/judge/llama_requirements.txt pins; `is_known` says whether they are these."""
import ctypes
import glob
import os
from ctypes import POINTER, Structure, c_bool, c_char_p, c_float, c_int, c_int8, c_int32, c_size_t, c_uint32, c_void_p

import numpy as np

NONE, MEAN, CLS, LAST, RANK = range(5)  # ways of pooling


class ModelParams(Structure):
    _fields_ = [("devices", c_void_p), ("overrides_of_buffers", c_void_p), ("n_gpu_layers", c_int32), ("split_mode", c_int),
                ("load_mode", c_int), ("lazy_mode", c_int), ("main_gpu", c_int32), ("tensor_split", c_void_p), ("progress", c_void_p),
                ("progress_data", c_void_p), ("overrides_of_keys", c_void_p), ("flags", c_bool * 6)]


class ContextParams(Structure):
    _fields_ = [(n, c_uint32) for n in ("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "n_rs_seq", "n_outputs_max", "n_outputs_max_per_seq")] + \
               [(n, c_int32) for n in ("n_threads", "n_threads_batch")] + \
               [(n, c_int) for n in ("kind", "rope_scaling", "pooling", "attention", "flash_attention")] + \
               [("rope", c_float * 6), ("yarn_context", c_uint32), ("defrag", c_float), ("callback", c_void_p), ("callback_data", c_void_p),
                ("type_k", c_int), ("type_v", c_int), ("abort", c_void_p), ("abort_data", c_void_p), ("extra", c_void_p),
                ("embeddings", c_bool), ("flags", c_bool * 5), ("samplers", c_void_p), ("n_samplers", c_size_t), ("other", c_void_p)]


class Batch(Structure):
    _fields_ = [("n_tokens", c_int32), ("token", POINTER(c_int32)), ("embd", POINTER(c_float)), ("pos", POINTER(c_int32)),
                ("n_seq_id", POINTER(c_int32)), ("seq_id", POINTER(POINTER(c_int32))), ("logits", POINTER(c_int8))]


def open_library():
    import xllamacpp
    return ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(xllamacpp.__file__), "*.so"))[0], mode=ctypes.RTLD_GLOBAL)


class Library:
    FUNCTIONS = {
        "llama_backend_init": (None,), "llama_model_default_params": (ModelParams,), "llama_context_default_params": (ContextParams,),
        "llama_model_load_from_file": (c_void_p, c_char_p, ModelParams), "llama_init_from_model": (c_void_p, c_void_p, ContextParams),
        "llama_batch_init": (Batch, c_int32, c_int32, c_int32), "llama_decode": (c_int32, c_void_p, Batch),
        "llama_encode": (c_int32, c_void_p, Batch), "llama_get_logits_ith": (POINTER(c_float), c_void_p, c_int32),
        "llama_get_embeddings_ith": (POINTER(c_float), c_void_p, c_int32), "llama_get_embeddings_seq": (POINTER(c_float), c_void_p, c_int32),
        "llama_model_get_vocab": (c_void_p, c_void_p), "llama_vocab_n_tokens": (c_int32, c_void_p), "llama_model_n_embd": (c_int32, c_void_p),
        "llama_tokenize": (c_int32, c_void_p, c_char_p, c_int32, POINTER(c_int32), c_int32, c_bool, c_bool),
        "llama_model_has_encoder": (c_bool, c_void_p), "llama_model_has_decoder": (c_bool, c_void_p),
        "llama_adapter_lora_init": (c_void_p, c_void_p, c_char_p),
        "llama_set_adapters_lora": (c_int32, c_void_p, POINTER(c_void_p), c_size_t, POINTER(c_float))}

    def __init__(self):
        self.said = []
        dll = open_library()
        for name, (result, *arguments) in self.FUNCTIONS.items():
            function = getattr(dll, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name[len("llama_"):], function)
        kind = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)
        self.listen = kind(lambda level, text, data: self.said.append(text.decode("utf-8", "replace")))
        dll.llama_log_set.restype, dll.llama_log_set.argtypes = None, [kind, c_void_p]
        dll.llama_log_set(self.listen, None)
        self.backend_init()

    def is_known(self):
        p = self.context_default_params()
        return (p.n_ctx, p.n_batch, p.n_ubatch, p.n_seq_max, p.type_k, p.type_v) == (512, 2048, 512, 1, 1, 1)

    def fault(self):
        said = [line.strip() for line in self.said if "error" in line or "failed" in line]
        return said[0] if said else "llama.cpp refuses it"


class Model:
    """A file, loaded; numbers are computed with caches of F32."""

    def __init__(self, library, path):
        self.of = library
        self.model = library.model_load_from_file(path.encode(), library.model_default_params())
        if not self.model:
            raise RuntimeError(library.fault())

    def context(self, n, pooling=None):
        p = self.of.context_default_params()
        p.n_ctx = p.n_batch = p.n_ubatch = max(256, n)
        p.n_threads = p.n_threads_batch = 1
        p.flash_attention = p.type_k = p.type_v = 0
        p.embeddings = pooling is not None
        if pooling is not None:
            p.pooling = pooling
        context = self.of.init_from_model(self.model, p)
        if not context:
            raise RuntimeError(self.of.fault())
        return context

    def compute(self, context, ids, encodes, first=0):
        b = self.of.batch_init(len(ids), 0, 1)
        b.n_tokens = len(ids)
        for i, token in enumerate(ids):
            b.token[i], b.pos[i], b.n_seq_id[i], b.logits[i] = token, first + i, 1, 1
            b.seq_id[i][0] = 0
        if (self.of.encode if encodes else self.of.decode)(context, b):
            raise RuntimeError(self.of.fault())

    def adapt(self, context, path):
        adapter = self.of.adapter_lora_init(self.model, path.encode())
        if not adapter or self.of.set_adapters_lora(context, c_void_p(adapter), 1, c_float(1)):
            raise RuntimeError(self.of.fault())

    def logits(self, ids, encoded=None, adapter=None):
        """A row for each token; `encoded`: what an encoder reads before."""
        context = self.context(len(ids))
        if adapter:
            self.adapt(context, adapter)
        if encoded is not None:
            self.compute(context, encoded, True)
        self.compute(context, ids, False)
        n = self.of.vocab_n_tokens(self.of.model_get_vocab(self.model))
        return np.array([np.ctypeslib.as_array(self.of.get_logits_ith(context, i), (n,)).copy() for i in range(len(ids))])

    def embeddings(self, ids, pooling=NONE, width=0):
        context = self.context(len(ids), pooling)
        width = width or self.of.model_n_embd(self.model)
        self.compute(context, ids, self.of.model_has_encoder(self.model) and not self.of.model_has_decoder(self.model))
        if pooling != NONE:
            return np.ctypeslib.as_array(self.of.get_embeddings_seq(context, 0), (width,)).copy()
        return np.array([np.ctypeslib.as_array(self.of.get_embeddings_ith(context, i), (width,)).copy() for i in range(len(ids))])

    def tokens(self, text):
        ids = (c_int32 * 64)()
        n = self.of.tokenize(self.of.model_get_vocab(self.model), text, len(text), ids, len(ids), True, True)
        if n <= 0:
            raise RuntimeError("no tokens")
        return list(ids[:n])

    def say(self, text, is_encoder):
        """As programs do: a few tokens behind a text, or its embedding."""
        p = self.of.context_default_params()
        p.n_ctx = p.n_batch = p.n_ubatch = 64
        p.n_threads = p.n_threads_batch = 1
        if is_encoder:
            p.embeddings, p.pooling = True, MEAN
        context = self.of.init_from_model(self.model, p)
        if not context:
            raise RuntimeError(self.of.fault())
        encodes = is_encoder and self.of.model_has_encoder(self.model) and not self.of.model_has_decoder(self.model)
        at = 0
        for ids in [self.tokens(text)] + [[5], [6]] * (not is_encoder):
            self.compute(context, ids, encodes, at)
            at += len(ids)
