/* SPDX-License-Identifier: MIT
 *
 * What a pickle would import and call, were it loaded in Python. tare does neither; who will load the
 * file elsewhere is told. */
#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "format/torch/torch.h"
#include "model/names.h"

/* A module that attacks begin with; with what is below it. */
static const char *const attackers[] = {
    "os",
    "posix",
    "nt",
    "sys",
    "subprocess",
    "commands",
    "socket",
    "shutil",
    "runpy",
    "pty",
    "pip",
    "importlib",
    "webbrowser",
    "ctypes",
    "_ctypes",
    "cffi",
    "multiprocessing",
    "threading",
    "_thread",
    "asyncio",
    "code",
    "codeop",
    "pdb",
    "bdb",
    "timeit",
    "profile",
    "cProfile",
    "trace",
    "pickle",
    "_pickle",
    "cloudpickle",
    "dill",
    "joblib",
    "marshal",
    "types",
    "operator",
    "_operator",
    "requests",
    "urllib",
    "urllib2",
    "http",
    "httplib",
    "ftplib",
    "smtplib",
    "telnetlib",
    "tempfile",
    "zipimport",
    "site",
    "venv",
    "ensurepip",
    "platform",
    "signal",
    "inspect",
    "linecache",
    "doctest",
    "idlelib",
    "distutils",
    "setuptools",
    "io",
    "_io",
    "sqlite3",
    "pydoc",
    "aifc",
};

/* Modules all of whose names are harmless to import and call as pickles do. */
static const char *const harmless_modules[] = {
    "numpy.core.multiarray",
    "numpy._core.multiarray",
    "numpy._core.numeric",
    "numpy.core.numeric",
    "numpy.dtypes",
    "datetime",
    "decimal",
    "fractions",
    "uuid",
    "pathlib",
    "copyreg",
    "copy_reg",
    "exceptions", /* of Python 2 */
};

typedef struct known_name {
    const char *module;
    const char *names; /* with a space before and after each */
} known_name;

static const known_name harmless[] = {
    {"builtins", " set frozenset list dict tuple int float complex str bytes bytearray bool object "
                 "slice range Ellipsis NotImplemented "},
    {"__builtin__",
     " set frozenset list dict tuple int long float complex str bytes unicode bytearray "
     "bool object slice xrange Ellipsis NotImplemented "},
    {"types", " SimpleNamespace "},
    {"operator", " or_ "}, /* of a flag's members */
    {"_operator", " or_ "},
    {"io", " BytesIO StringIO "},
    {"_io", " BytesIO StringIO "},
    {"collections", " OrderedDict defaultdict Counter deque "},
    {"_codecs", " encode "},
    {"argparse", " Namespace "},
    {"numpy", " ndarray dtype "},
    {"numpy.random._pickle", " __randomstate_ctor __generator_ctor __bit_generator_ctor "},
    {"torch", " Size device Tensor Generator FloatTensor per_tensor_affine per_channel_affine "
              "sparse_coo sparse_csr sparse_csc strided contiguous_format channels_last "
              "preserve_format "},
    {"torch._utils", " _rebuild_tensor _rebuild_tensor_v2 _rebuild_tensor_v3 _rebuild_parameter "
                     "_rebuild_parameter_with_state _rebuild_qtensor _rebuild_sparse_tensor "
                     "_rebuild_sparse_csr_tensor _rebuild_nested_tensor "
                     "_rebuild_meta_tensor_no_storage _rebuild_wrapper_subclass "
                     "_rebuild_device_tensor_from_numpy _rebuild_device_tensor_from_cpu_tensor "},
    {"torch._tensor", " _rebuild_from_type _rebuild_from_type_v2 "},
    {"torch.nn.parameter", " Parameter Buffer "},
    {"torch.serialization", " _get_layout "},
    {"torch.distributed.checkpoint.metadata",
     " Metadata TensorStorageMetadata BytesStorageMetadata ChunkStorageMetadata TensorProperties "
     "MetadataIndex StorageMeta _MEM_FORMAT_ENCODING "},
    {"torch.distributed.checkpoint.filesystem", " _StorageInfo "},
};

/* What loads or runs what it is given, in modules that are harmless as a rule. */
static const known_name loaders[] = {
    {"torch", " load hub compile "},
    {"torch.serialization", " load _load _legacy_load "},
    {"torch.storage", " _load_from_bytes "},
    {"torch.hub", " load load_state_dict_from_url download_url_to_file "},
    {"torch.jit", " load "},
    {"torch.utils.collect_env", " run run_and_read_all run_and_return_first_line "},
    {"numpy", " load loads save savetxt "},
    {"numpy.testing._private.utils", " runstring "},
    {"pandas", " read_pickle eval "},
    {"pandas.io.pickle", " read_pickle "},
};

/* Whether `name` is one of the words. */
static bool is_word_of(const char *words, tare_str name) {
    const char *end = words + strlen(words);
    for (const char *at = words; (at = strchr(at, ' ')) != NULL; at++)
        if (name.len && name.len < (size_t)(end - at) - 1 && at[1 + name.len] == ' ' &&
            memcmp(at + 1, name.ptr, name.len) == 0)
            return true;
    return false;
}

static bool is_harmless(tare_str module, tare_str name) {
    for (size_t i = 0; i < sizeof harmless_modules / sizeof *harmless_modules; i++)
        if (tare_str_is(module, harmless_modules[i])) return true;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (tare_str_is(module, harmless[i].module) && is_word_of(harmless[i].names, name))
            return true;
    return false;
}

/* Of Python's own names. */
static bool is_exception(tare_str name) {
    return tare_str_ends(name, TARE_STR("Error")) || tare_str_ends(name, TARE_STR("Warning")) ||
           tare_str_ends(name, TARE_STR("Exception")) || tare_str_is(name, "StopIteration") ||
           tare_str_is(name, "KeyboardInterrupt") || tare_str_is(name, "SystemExit");
}

/* A public attribute of a harmless class, such as a member of an enumeration, that nothing calls. */
static bool is_harmless_member(const tare_pickle_object *global) {
    const tare_str name = tare_pickle_name(global);
    size_t dot = 0;
    while (dot < name.len && name.ptr[dot] != '.') dot++;
    const tare_str member = tare_str_cut(name, dot < name.len ? dot + 1 : dot);
    return member.len && member.ptr[0] != '_' && !memchr(member.ptr, '.', member.len) &&
           !global->is_called && is_harmless(tare_pickle_module(global), (tare_str){name.ptr, dot});
}

/* A module, or one below it. */
static bool is_within(tare_str module, const char *outer) {
    const size_t n = strlen(outer);
    return tare_str_starts(module, tare_str_of(outer)) && (module.len == n || module.ptr[n] == '.');
}

bool tare_torch_is_load(const tare_pickle_object *callee) {
    return tare_str_is(tare_pickle_module(callee), "torch.storage") &&
           tare_str_is(tare_pickle_name(callee), "_load_from_bytes");
}

static tare_torch_risk risk_of(const tare_torch_file *f, const tare_pickle_value *global) {
    const tare_str module = tare_pickle_module(global->as.object),
                   name = tare_pickle_name(global->as.object);
    if (tare_torch_dtype_of(global) || is_harmless(module, name) ||
        is_harmless_member(global->as.object) ||
        (global->as.object->is_getattr && !global->as.object->is_called))
        return TARE_TORCH_HARMLESS;
    if (tare_torch_is_load(global->as.object))
        return f && !f->has_other_loads ? TARE_TORCH_HARMLESS : TARE_TORCH_RUNS_CODE;
    if (tare_str_is(module, "builtins") || tare_str_is(module, "__builtin__"))
        return is_exception(name) ? TARE_TORCH_HARMLESS : TARE_TORCH_RUNS_CODE;
    for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++)
        if (tare_str_is(module, loaders[i].module) && is_word_of(loaders[i].names, name))
            return TARE_TORCH_RUNS_CODE;
    for (size_t i = 0; i < sizeof attackers / sizeof *attackers; i++)
        if (is_within(module, attackers[i])) return TARE_TORCH_RUNS_CODE;
    return TARE_TORCH_UNFAMILIAR;
}

bool tare_torch_is_harmless(const tare_pickle *p) {
    for (size_t i = 0; i < p->n_globals; i++)
        if (risk_of(NULL, &p->globals[i]) != TARE_TORCH_HARMLESS) return false;
    return true;
}

/* ---- the report ------------------------------------------------------------------------------ */

static void report_name(const tare_torch_file *f, const tare_pickle_value *global,
                        tare_torch_risk risk, tare_str name) {
    const bool is_called = global->as.object->is_called;
    tare_finding finding = TARE_FINDING(INFO, TARE_ERR_UNSUPPORTED, TARE_CODE_PICKLE_NAME);
    finding.offset = f->base + global->offset;
    if (risk == TARE_TORCH_RUNS_CODE) {
        finding.level = TARE_LEVEL_ERROR;
        finding.code = TARE_CODE_PICKLE_RUNS;
    }
    tare_report_addf(f->report, &finding, "loading this pickle in Python would %s %.*s%s",
                     is_called ? "call" : "import", (int)tare_min_u64(name.len, 200), name.ptr,
                     risk == TARE_TORCH_RUNS_CODE ? ", which can run any code" : "");
}

/* "module.name", each once. */
tare_status tare_torch_report_names(tare_torch_file *f, tare_error *err) {
    const tare_pickle *p = &f->pickle;
    tare_str *names = TARE_NEW_ARRAY(&f->scratch, tare_str, p->n_globals);
    tare_name_index index;
    size_t n = 0;
    if (!names) return tare_fail(err, TARE_ERR_NOMEM, "names in the pickle");
    TARE_TRY(tare_name_index_init(&index, &f->scratch, p->n_globals, err));
    for (size_t i = 0; i < p->n_globals; i++) {
        const tare_torch_risk risk = risk_of(f, &p->globals[i]);
        if (risk == TARE_TORCH_HARMLESS) continue;
        const tare_str module = tare_pickle_module(p->globals[i].as.object),
                       name = tare_pickle_name(p->globals[i].as.object);
        char *whole = tare_arena_array(&f->scratch, module.len + name.len + 1, 1);
        if (!whole) return tare_fail(err, TARE_ERR_NOMEM, "names in the pickle");
        memcpy(whole, module.ptr, module.len);
        whole[module.len] = '.';
        memcpy(whole + module.len + 1, name.ptr, name.len);
        names[n] = (tare_str){whole, module.len + name.len + 1};
        if (tare_name_index_add(&index, names, sizeof *names, n, NULL) >= 0) continue;
        report_name(f, &p->globals[i], risk, names[n++]);
    }
    return TARE_OK;
}
