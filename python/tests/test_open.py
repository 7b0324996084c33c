# SPDX-License-Identifier: MIT
"""Guards against: a source that is read wrongly, a description that is not the file's, an error
without its fields."""
import gc
import io
import mmap
import os
import pickle
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest
import safetensors.numpy
import tare


def test_import_is_light():
    code = ("import sys, tare; "
            "sys.exit(any(m in sys.modules for m in ('numpy', 'torch', 'typing', 'logging')))")
    place = os.path.dirname(os.path.dirname(tare.__file__))
    assert subprocess.run([sys.executable, "-S", "-c", code],
                          env={**os.environ, "PYTHONPATH": place}).returncode == 0


def sources(path):
    with open(path, "rb") as f:
        data = f.read()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as z:
        z.writestr("m", data)
    yield path
    yield os.fsencode(path) and __import__("pathlib").Path(path)
    yield data
    yield bytearray(data)
    yield memoryview(data)
    yield io.BytesIO(data)
    yield open(path, "rb")
    yield open(path, "rb", buffering=0)
    yield zipfile.ZipFile(packed).open("m")
    with open(path, "rb") as file:
        yield mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    yield os.open(path, os.O_RDONLY)


@pytest.mark.parametrize("is_mapped", (True, False))
def test_every_source(gguf_path, is_mapped):
    with tare.open(gguf_path) as model:
        expected = {name: t.numpy().copy() for name, t in model.items()}
    for source in sources(gguf_path):
        model = tare.open(source, map=is_mapped)
        if isinstance(source, int):
            os.close(source)  # it was duplicated
        elif hasattr(source, "close") and type(source).__module__ == "_io":
            source.close()
        assert list(model) == list(expected)
        for name, array in expected.items():
            assert np.array_equal(model[name].numpy(), array), (source, name)
        model.close()


@pytest.mark.parametrize("options", ({"names": "norm.weight"}, {"device": "cuda"},
                                     {"pin_memory": True}, {"out": [1]}, {"out": {"norm.weight": [0.0]}}))
def test_arguments_that_mean_nothing(gguf_path, options):
    """A text where a list of texts is wanted is none of its letters; what cannot be done is not ignored."""
    with pytest.raises((TypeError, ValueError), match=f"^({next(iter(options))}|norm.weight)"):
        tare.load(gguf_path, **options)


def test_modules_are_there_when_asked_for():
    code = ("import sys, tare; assert not [m for m in sys.modules if m.startswith('tare.') and m[5] != '_']; "
            "tare.gguf.GGUFReader, tare.wcodec.encode, tare.safetensors.safe_open, tare.integrations; assert 'gguf' in dir(tare)")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_text_is_no_model(gguf_path):
    with open(gguf_path, encoding="latin-1") as file, pytest.raises(TypeError, match="mode \"rb\""):
        tare.open(file)
    with pytest.raises(TypeError, match="cannot open dict"):
        tare.open({})
    with pytest.raises(TypeError, match="cannot open dict"):
        tare.open(gguf_path, base={})


def test_closed(gguf_path):
    model = tare.open(gguf_path)
    model.close()
    for use in (len, list, tare.load, lambda m: m["norm.weight"], lambda m: m.__enter__(), lambda m: m.info):
        with pytest.raises(ValueError, match="the model is closed"):
            use(model)


def test_find_again(tmp_path):
    """Names that were found before are remembered: nothing but speed may tell."""
    class Name(str):
        def __eq__(self, other):
            return True
        __hash__ = str.__hash__

    odd = "b\udcff"
    tare.save({"a": np.zeros(2), "b": np.ones(3), odd: np.ones(4)}, tmp_path / "m.gguf")
    model = tare.open(tmp_path / "m.gguf")
    for _ in range(3):
        assert [model.find(n) for n in ("b", "a", odd, "c", Name("a"), Name("c"))] == [1, 0, 2, -1, 0, -1]
        assert "a" in model and "c" not in model and 1 not in model
        assert model["".join(["b"])].shape == (3,) and model[odd].shape == (4,)
        with pytest.raises(KeyError, match="c"):
            model["c"]
    model.close()
    for call in (model.find, model.__getitem__, model.__contains__):
        with pytest.raises(ValueError, match="closed"):
            call("a")


def test_fsspec(gguf_path):
    import fsspec
    with open(gguf_path, "rb") as f:
        fsspec.filesystem("memory").pipe("/m.gguf", f.read())
    model = tare.open(fsspec.open("memory://m.gguf").open())
    assert model.info.format == "gguf"
    assert model["norm.weight"].numpy().shape == (512,)


def test_many_ranges_at_once(tmp_path):
    """A file object of fsspec with requests of its own gets all ranges of a call together."""
    class Remote:
        async_impl = True
        calls = []

        def __init__(self, data):
            self.data = data

        def cat_ranges(self, paths, starts, ends, on_error):
            assert set(paths) == {"m"} and on_error == "raise"
            self.calls.append(len(paths))
            return [self.data[a:b] for a, b in zip(starts, ends)]

    class File(io.BytesIO):
        def read(self, n=-1):
            raise AssertionError("one range at a time")
        readinto = None

    arrays = {f"t{i}": np.full(1 << 19, i, np.float32) for i in range(8)}
    file = File(tare.saves(arrays))
    file.fs, file.path = Remote(file.getvalue()), "m"
    wrapper = type("Wrapper", (), {"seek": file.seek, "read": file.read, "fs": file.fs, "path": "m"})()
    loaded = tare.load(tare.open(wrapper))
    assert all(np.array_equal(loaded[n], a) for n, a in arrays.items())
    n_bytes = sum(a.nbytes for a in arrays.values())
    assert len(Remote.calls) < n_bytes >> 20, Remote.calls
    file.fs.data = file.fs.data[:1 << 20]
    with pytest.raises(EOFError, match="ends at byte"):
        tare.open(wrapper)["t7"].numpy()


def test_settings_of_urls(gguf_path):
    with pytest.raises(ValueError, match="there is no 'tokens'"):
        tare.open("hf://a/b", remote={"tokens": "x"})
    with pytest.raises(tare.UsageError, match="endpoint"):
        tare.open("hf://a/b", remote={"hub_endpoint": "no URL"})
    with pytest.raises(ValueError, match="there is no 'tensor'"):
        tare.open(gguf_path, limits={"tensor": 1})
    with pytest.raises(TypeError):
        tare.open("hf://a/b", remote={"retries": "x"})
    try:
        tare.open("http://127.0.0.1:9/m.gguf", remote={"retries": 0, "connect_seconds": 1, "proxy": ""})
    except tare.TareError as e:
        assert "127.0.0.1" in str(e)
    else:
        raise AssertionError("nothing listens there")


def test_url(gguf_path):
    import functools
    import http.server
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=os.path.dirname(gguf_path))
    handler.log_message = lambda *args: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        try:
            model = tare.open(url + os.path.basename(gguf_path))
        except tare.UnsupportedError as e:
            pytest.skip(str(e))  # built without URLs, or there is no libcurl
        assert np.array_equal(model["norm.weight"].numpy(), tare.open(gguf_path)["norm.weight"].numpy())
        model.close()
        with pytest.raises(FileNotFoundError):
            tare.open(url + "missing.gguf")
        server.shutdown()


def test_shards(tmp_path, plain_arrays):
    names = sorted(plain_arrays)
    parts = []
    for i in range(2):
        parts.append(str(tmp_path / f"part{i}.safetensors"))
        safetensors.numpy.save_file({n: plain_arrays[n] for n in names[i::2]}, parts[i])
    model = tare.open(parts)
    assert set(model) == set(names) and model.info.n_files == 2
    for name in names:
        assert np.array_equal(model[name].numpy(), plain_arrays[name])
    with pytest.raises(ValueError):
        tare.open([])
    with pytest.raises(TypeError):
        tare.open([parts])


def test_a_reader_that_fails_raises_its_own_exception():
    class Failing(io.BytesIO):
        broken = False

        def read(self, n=-1):
            if self.broken:
                raise RuntimeError("the network is gone")
            return super().read(n)
        readinto = None

    class Wrapper:
        def __init__(self, file):
            self.seek, self.read = file.seek, file.read

    file = Failing(tare.saves({"a": np.ones(1), "large": np.ones(1 << 19)}))  # beyond the blocks read so far
    model = tare.open(Wrapper(file))
    file.broken = True
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the network is gone"):
            model["large"].numpy()
    file.broken = False
    assert model["large"].numpy().sum() == 1 << 19
    with pytest.raises(RuntimeError):
        file.broken = True
        tare.open(Wrapper(file))


def test_mapping(gguf_path):
    model = tare.open(gguf_path)
    assert list(model) == [t.name for t in model.values()] == list(model.keys())
    assert len(model) == 3 and model.tensor(-1).name == list(model)[-1]
    assert "norm.weight" in model and "nothing" not in model and 7 not in model
    assert model.get("nothing") is None and model.tensors["norm.weight"].index == 2
    with pytest.raises(KeyError, match="nothing"):
        model["nothing"]
    with pytest.raises(IndexError):
        model.tensor(3)
    assert model == model and model != tare.open(gguf_path) and hash(model)
    t = model["blk.0.weight"]
    assert (t.shape, t.encoding.name, t.nbytes, t.n_elements) == ((4, 512), "q8_0", 2176, 2048)
    assert t.encoding is tare.encodings["q8_0"] and t.packed_nbytes is None and t.scheme is None
    assert model.info.alignment == 32 and model.info.parameters["context_length"] == 4096
    assert os.path.samefile(model.info.files[0].path, gguf_path)
    assert model.info.files[0].nbytes == os.path.getsize(gguf_path)


def test_metadata(gguf_path, safetensors_path):
    m = tare.open(gguf_path).metadata
    assert m["general.architecture"] == "llama" and m["t.float"] == 0.5 and m["t.bool"] is True
    assert m["t.int"] == -7 and m["t.text"] == "grüße" and m.type("t.int") == "i64"
    assert m["t.numbers"] == [1, 2, 3, 4] and m["t.numbers"].numpy().tolist() == [1, 2, 3, 4]
    assert m["t.floats"].numpy().dtype == np.float32 and m["t.floats"].type == "f32"
    tokens = m["tokenizer.ggml.tokens"]
    assert len(tokens) == 1000 and tokens[999] == tokens[-1] == "token999" and tokens[3] == "token3"
    assert list(tokens) == tokens.tolist() and "token5" in list(tokens)
    with pytest.raises(IndexError):
        tokens[1000]
    with pytest.raises(TypeError):
        tokens.numpy()
    m = tare.open(safetensors_path).metadata
    assert dict(m) == m.pairs == {"format": "pt", "note": "ü"}


def test_arrays_outlive_the_model(gguf_path):
    model = tare.open(gguf_path)
    t = model["norm.weight"]
    array, tokens = t.numpy(), model.metadata["tokenizer.ggml.tokens"]
    raw = t.raw[0]
    expected = array.copy()
    model.close()
    model.close()
    assert model.closed and repr(model) == "<Model closed>"
    assert np.array_equal(array, expected) and bytes(raw) == expected.tobytes()
    assert tokens[7] == "token7" and t.shape == (512,)
    for use in (lambda: model["norm.weight"], lambda: list(model), lambda: len(model), t.numpy,
                lambda: t[0].numpy(), lambda: model.info, lambda: t.read_into(bytearray(4))):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_errors_say_where(tmp_path, gguf_path):
    with pytest.raises(FileNotFoundError) as e:
        tare.open(tmp_path / "missing.gguf")
    assert isinstance(e.value, tare.SystemFailure) and e.value.filename.endswith("missing.gguf")
    assert e.value.errno == 2 and e.value.status == "io" and "missing.gguf" in str(e.value)
    with open(gguf_path, "rb") as f:
        data = f.read()
    path = tmp_path / "cut.gguf"
    path.write_bytes(data[:100])
    with pytest.raises(tare.TruncatedError) as e:
        tare.open(path)
    error = e.value
    assert isinstance(error, tare.InputError) and isinstance(error, ValueError)
    assert (error.status, error.path) == ("truncated", str(path)) and error.offset is not None
    assert pickle.loads(pickle.dumps(error)).offset == error.offset
    with pytest.raises(tare.CorruptError):
        tare.open(b"nothing at all")
    with pytest.raises(tare.LimitError):
        tare.open(gguf_path, limits={"tensors": 1})
    with pytest.raises(tare.SystemFailure) as e:
        tare.open(10 ** 6)
    assert e.value.errno == 9
    for bad in (None, 1.5, True, object()):
        with pytest.raises(TypeError):
            tare.open(bad)
    with pytest.raises((tare.UsageError, tare.UnsupportedError)):
        tare.open(gguf_path, format="nonsense")


def test_a_file_cut_while_it_is_open(tmp_path, gguf_path):
    with open(gguf_path, "rb") as f:
        data = f.read()
    path = tmp_path / "cut.gguf"
    path.write_bytes(data)
    model = tare.open(path, map=False)
    os.truncate(path, len(data) - 100)
    with pytest.raises(tare.TareError) as e:
        model["norm.weight"].numpy()
    assert e.value.status in ("truncated", "io") and e.value.item_name == "norm.weight"


def test_many_threads(gguf_path):
    model = tare.open(gguf_path, map=False)
    expected = {name: t.numpy() for name, t in model.items()}
    wrong = []

    def work():
        for _ in range(30):
            for name, array in expected.items():
                if not np.array_equal(model[name].numpy(), array):
                    wrong.append(name)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.posix
@pytest.mark.parametrize("read_before", (False, True))
def test_fork(gguf_path, read_before):
    model = tare.open(gguf_path, map=False)
    expected = model["blk.0.weight"].numpy(threads=4) if read_before else None
    pid = os.fork()
    if pid == 0:
        array = model["blk.0.weight"].numpy(threads=4)
        os._exit(0 if expected is None or np.array_equal(array, expected) else 1)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.posix
def test_nothing_is_left_behind(gguf_path):
    def rss():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def work(n):
        for i in range(n):
            model = tare.open(gguf_path, map=i % 2 == 0)
            model["norm.weight"].numpy()
            model["blk.0.weight"][1:3].numpy()
            len(model.metadata), model.resources, model.info
            try:
                tare.open(b"junk")
            except tare.TareError:
                pass

    work(200)
    gc.collect()  # what earlier tests left for it has files, too
    before, files = rss(), len(os.listdir("/proc/self/fd"))
    work(2000)
    assert len(os.listdir("/proc/self/fd")) == files
    # A sanitizer keeps freed memory for a while.
    limit = 512 << 20 if "LD_PRELOAD" in os.environ else 4 << 20
    assert rss() - before < limit


def test_names_that_are_not_utf8(tmp_path):
    import gguf
    path = tmp_path / "odd.gguf"
    w = gguf.GGUFWriter(str(path), "llama")
    w.add_tensor("abcdef", np.zeros(32, np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    path.write_bytes(path.read_bytes().replace(b"abcdef", b"ab\xff\xfeef"))
    model = tare.open(path)
    (name,) = model
    assert name == "ab\udcff\udcfeef" and model[name].shape == (32,)


def test_what_is_shown(tmp_path):
    """A line each, however much they hold; HTML in notebooks; what a mistyped name may have meant."""
    model = tare.synth("llama-tiny")
    result = tare.quantize(model, tmp_path / "q.gguf", "Q8_0")
    packed, other = tare.pack(tmp_path / "q.gguf", tmp_path / "q.wcodec"), tare.open(tmp_path / "q.gguf")
    for thing in (model, other, other.metadata, result, packed, tare.verify(tmp_path / "q.gguf"), tare.diff(model, other)):
        assert len(repr(thing)) < 100 and "\n" not in repr(thing), repr(thing)
    assert repr(other) == "<Model gguf, 21 tensors, 1.96 MB>" and "21 tensors" in repr(result)
    for thing in (other, result):
        assert thing._repr_html_().startswith("<table>") and "21 tensors" in thing._repr_html_()
    name = next(iter(other))
    with pytest.raises(KeyError, match=f"did you mean '{name}'") as fault:
        other[name[:-1]]
    assert fault.value.args[0] == name[:-1] and len(str(fault.value)) < 300
    with pytest.raises(KeyError, match="did you mean 'general.file_type'"):
        other.metadata["general.filetype"]
    with pytest.raises(KeyError, match="^no tensor 'nothing of this'$"):
        other["nothing of this"]
    assert other.get("no") is None and "no" not in other


def test_what_is_no_model_has_a_code(tmp_path, gguf_path):
    (tmp_path / "junk.bin").write_bytes(b"junk")
    (tmp_path / "folder").mkdir()
    for name in ("junk.bin", "folder"):
        with pytest.raises(tare.TareError) as raised:
            tare.open(tmp_path / name)
        assert raised.value.code == "open.unknown-format"
    for run, code in ((lambda: tare.convert(gguf_path, gguf_path, force=True), "output.is-input"),
                      (lambda: tare.convert(gguf_path, tmp_path / "x"), "output.format"),
                      (lambda: tare.quantize(gguf_path, tmp_path / "q.gguf", "Q4_K_M"), "quantize.again")):
        with pytest.raises(tare.TareError) as raised:
            run()
        assert raised.value.code == code


def test_models_of_a_folder_are_named(tmp_path, gguf_path):
    data = open(gguf_path, "rb").read()
    for name in "a.gguf", "b.gguf":
        (tmp_path / name).write_bytes(data)
    for attempt in (tare.open, tare.load, lambda p: tare.convert(p, tmp_path / "x.mcf"),
                    lambda p: tare.edit(p, set={"general.name": "x"})):
        with pytest.raises(tare.UnsupportedError, match="name the file; the models there: a.gguf, b.gguf$"):
            attempt(tmp_path)
