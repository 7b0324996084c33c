# SPDX-License-Identifier: MIT
"""Guards against: models of transformers whose parameters differ from those of from_pretrained on the
unpacked directory. Skipped where transformers is missing."""
import inspect
import json

import pytest
import tare

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from tare.integrations import transformers as ours  # noqa: E402
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, modeling_utils  # noqa: E402


@pytest.fixture(scope="module", params=(False, True), ids=("untied", "tied"))
def saved(request, tmp_path_factory):
    """A directory that transformers wrote, the same packed into one file, and the same directory
    with packed weights."""
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2,
                         tie_word_embeddings=request.param)
    folder = tmp_path_factory.mktemp("hf")
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.generation_config.temperature = 0.25
    model.generation_config.do_sample = True
    model.save_pretrained(folder / "plain")
    tare.pack(folder / "plain", folder / "m.wcodec")
    (folder / "packed").mkdir()
    for name in ("config.json", "generation_config.json"):
        (folder / "packed" / name).write_bytes((folder / "plain" / name).read_bytes())
    tare.pack(folder / "plain" / "model.safetensors", folder / "packed" / "model.wcodec")
    return folder


def same(a, b):
    a, b = a.state_dict(), b.state_dict()
    return a.keys() == b.keys() and all(a[k].dtype == b[k].dtype and torch.equal(a[k], b[k]) for k in b)


@pytest.mark.parametrize("dtype", ("auto", torch.float32))
@pytest.mark.parametrize("name", ("plain", "m.wcodec", "packed"))
def test_from_pretrained(saved, name, dtype):
    expected = LlamaForCausalLM.from_pretrained(saved / "plain", dtype=dtype)
    model, info = ours.from_pretrained(saved / name, dtype=dtype, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    assert type(model) is LlamaForCausalLM and same(model, expected)
    assert (model.lm_head.weight is model.model.embed_tokens.weight) == model.config.tie_word_embeddings
    assert model.generation_config.temperature == 0.25
    assert not model.training
    ids = torch.tensor([[1, 2, 3]])
    assert torch.equal(model(ids).logits, expected(ids).logits)


def test_classes(saved):
    expected = LlamaForCausalLM.from_pretrained(saved / "plain", dtype="auto")
    assert same(ours.from_pretrained(saved / "m.wcodec", AutoModelForCausalLM, dtype="auto"), expected)
    config = LlamaConfig.from_pretrained(saved / "plain")
    assert ours.config_of(saved / "m.wcodec").hidden_size == config.hidden_size
    assert same(ours.from_pretrained(saved / "packed" / "model.wcodec", LlamaForCausalLM,
                                     config=config, dtype="auto"), expected)
    with pytest.raises(FileNotFoundError):
        ours.from_pretrained(saved / "packed" / "model.wcodec")


@pytest.mark.parametrize("dtype", ("auto", torch.float32))
def test_patched(saved, dtype):
    before = modeling_utils._get_resolved_checkpoint_files, modeling_utils.load_state_dict
    expected = LlamaForCausalLM.from_pretrained(saved / "plain", dtype=dtype)
    with pytest.raises(OSError):
        LlamaForCausalLM.from_pretrained(saved / "packed")
    with ours.patched():
        model, info = AutoModelForCausalLM.from_pretrained(saved / "packed", dtype=dtype,
                                                           output_loading_info=True)
        assert not info["missing_keys"] and same(model, expected)
        assert same(LlamaForCausalLM.from_pretrained(saved / "plain", dtype=dtype), expected)
    assert before == (modeling_utils._get_resolved_checkpoint_files, modeling_utils.load_state_dict)


def test_dtype_of_the_file(saved, tmp_path):
    """dtype="auto" looks into the weights if the configuration is silent."""
    config = json.loads((saved / "packed" / "config.json").read_text())
    config.pop("dtype", None)
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.wcodec").write_bytes((saved / "packed" / "model.wcodec").read_bytes())
    with ours.patched():
        assert AutoModelForCausalLM.from_pretrained(tmp_path, dtype="auto").dtype == torch.bfloat16
    assert ours.from_pretrained(tmp_path, dtype="auto").dtype == torch.bfloat16


def test_shards(saved, tmp_path):
    expected = LlamaForCausalLM.from_pretrained(saved / "plain", dtype="auto")
    expected.save_pretrained(tmp_path / "s", max_shard_size="12KB")
    index = json.loads((tmp_path / "s" / "model.safetensors.index.json").read_text())
    assert len(set(index["weight_map"].values())) > 1
    assert same(ours.from_pretrained(tmp_path / "s", dtype="auto"), expected)
    tare.pack(tmp_path / "s", tmp_path / "s.wcodec")
    assert same(ours.from_pretrained(tmp_path / "s.wcodec", dtype="auto"), expected)
    for name in set(index["weight_map"].values()):
        with tare.open(tmp_path / "s" / name, one_shard=True) as shard:
            tare.pack(shard, (tmp_path / "s" / name).with_suffix(".wcodec"))
    for name in set(index["weight_map"].values()):
        (tmp_path / "s" / name).unlink()
    (tmp_path / "s" / "model.safetensors.index.json").unlink()
    index["weight_map"] = {k: v.replace(".safetensors", ".wcodec") for k, v in index["weight_map"].items()}
    (tmp_path / "s" / "model.wcodec.index.json").write_text(json.dumps(index))
    assert same(ours.from_pretrained(tmp_path / "s", dtype="auto"), expected)
    with ours.patched():
        assert same(AutoModelForCausalLM.from_pretrained(tmp_path / "s", dtype="auto"), expected)
    index["weight_map"]["x"] = "../out.wcodec"
    (tmp_path / "s" / "model.wcodec.index.json").write_text(json.dumps(index))
    with pytest.raises(ValueError, match="not the name of a file beside it"):
        ours.from_pretrained(tmp_path / "s")


def test_other_names(tmp_path):
    tare.save({"token_embd.weight": torch.ones(4, 32)}, tmp_path / "m.gguf")
    with pytest.raises(ValueError, match="names of llama.cpp"):
        ours.from_pretrained(tmp_path / "m.gguf")


def test_signatures():
    """What patched() wraps is there, and takes what it looks at."""
    names = inspect.signature(modeling_utils._get_resolved_checkpoint_files).parameters
    assert {"pretrained_model_name_or_path", "variant", "gguf_file"} < set(names)
    assert "subfolder" in names or "download_kwargs" in names
    assert {"checkpoint_file", "map_location"} <= set(inspect.signature(modeling_utils.load_state_dict).parameters)


CODE = """
import torch
from transformers import PretrainedConfig, PreTrainedModel
class OwnConfig(PretrainedConfig):
    model_type = "own-model"
    def __init__(self, width=4, scale=1.0, **rest):
        self.width, self.scale = width, scale
        super().__init__(**rest)
class OwnModel(PreTrainedModel):
    config_class = OwnConfig
    def __init__(self, config):
        super().__init__(config)
        self.linear = torch.nn.Linear(config.width, config.width)
        self.post_init()
    def _init_weights(self, module):
        pass
    def forward(self, x):
        return self.linear(x) * self.config.scale
"""


def test_own_code(tmp_path):
    """A model with its code beside it: from a directory and from a file that holds it."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "own_code.py").write_text(CODE)
    (folder / "config.json").write_text(json.dumps({
        "model_type": "own-model", "architectures": ["OwnModel"], "width": 3, "scale": 2.0,
        "auto_map": {"AutoConfig": "own_code.OwnConfig", "AutoModel": "own_code.OwnModel"}}))
    weight = torch.arange(9, dtype=torch.float32).reshape(3, 3)
    tare.save({"linear.weight": weight, "linear.bias": torch.ones(3)}, folder / "model.safetensors",
              metadata={"made": "here"})
    tare.pack(folder, tmp_path / "own.wcodec")
    for path in (folder, tmp_path / "own.wcodec"):
        for cls in (None, transformers.AutoModel):
            model = ours.from_pretrained(path, cls, trust_remote_code=True)
            assert type(model).__name__ == "OwnModel" and torch.equal(model.linear.weight, weight)
            assert torch.equal(model(torch.zeros(1, 3)), torch.full((1, 3), 2.0))
        model = ours.from_pretrained(path, trust_remote_code=True, scale=5.0)
        assert model.config.scale == 5.0
    plain = transformers.AutoModel.from_pretrained(folder, trust_remote_code=True)
    assert torch.equal(plain.linear.weight, weight)  # "format" is in the metadata that were written


def test_keys_of_the_configuration(saved):
    model = ours.from_pretrained(saved / "m.wcodec", rms_norm_eps=0.5, dtype=torch.float32)
    assert model.config.rms_norm_eps == 0.5 and model.dtype == torch.float32
