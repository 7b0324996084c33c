// SPDX-License-Identifier: MIT
//
//! What the C headers declare, under their names; their comments say what it means. Made by
//! scripts/rust-sys.py --update from include/tare, which a test compares with this file.
#![allow(non_camel_case_types, missing_docs)]

use std::os::raw::{c_char, c_int, c_uint, c_void};

pub const TARE_VERSION_MAJOR: usize = 0;
pub const TARE_VERSION_MINOR: usize = 1;
pub const TARE_VERSION_PATCH: usize = 0;
pub const TARE_CODE_OUTPUT_EXISTS: &str = "output.exists";
pub const TARE_CODE_OUTPUT_WRITE: &str = "output.write";
pub const TARE_CODE_OUTPUT_IS_INPUT: &str = "output.is-input";
pub const TARE_CODE_OUTPUT_FORMAT: &str = "output.format";
pub const TARE_CODE_UNKNOWN_FORMAT: &str = "open.unknown-format";
pub const TARE_CODE_CANNOT_HOLD: &str = "convert.cannot-hold";
pub const TARE_CODE_CANNOT_ENCODE: &str = "convert.cannot-encode";
pub const TARE_CODE_NOT_RUNNABLE: &str = "convert.not-runnable";
pub const TARE_CODE_NEEDS_IMPORTANCE: &str = "convert.needs-importance";
pub const TARE_CODE_UNKNOWN_MIX: &str = "quantize.unknown-mix";
pub const TARE_CODE_QUANTIZED: &str = "quantize.again";
pub const TARE_CODE_NEEDS_BASE: &str = "wcodec.base";
pub const TARE_CODE_PACKED_DAMAGED: &str = "wcodec.damaged";
pub const TARE_CODE_NOT_ALIGNED: &str = "model.not-aligned";
pub const TARE_CODE_NOT_FOUND: &str = "remote.not-found";
pub const TARE_CODE_PICKLE_NAME: &str = "pickle.name";
pub const TARE_CODE_PICKLE_RUNS: &str = "pickle.runs-code";
pub const TARE_CODE_REPORT_LOST: &str = "report.lost";
pub const TARE_CODE_NEEDS_NAMES: &str = "convert.needs-names";
pub const TARE_MAX_DIMS: usize = 8;
pub const TARE_MAX_PLANES: usize = 4;
pub const TARE_CODE_EDIT_REFUSED: &str = "edit.refused";
pub const TARE_CODE_EDIT_BEGUN: &str = "edit.begun";
pub const TARE_CODE_BAD_SENSITIVITIES: &str = "fit.bad-sensitivities";
pub const TARE_CODE_TARGET_TOO_SMALL: &str = "fit.target-too-small";
pub const TARE_CODE_BAD_METADATA: &str = "llama.bad-metadata";
pub const TARE_CODE_UNKNOWN_ARCHITECTURE: &str = "llama.unknown-architecture";
pub const TARE_CODE_IS_WHISPER: &str = "llama.is-whisper";
pub const TARE_CODE_NO_TOKENIZER: &str = "llama.no-tokenizer";
pub const TARE_CODE_IS_ADAPTER: &str = "llama.is-adapter";
pub const TARE_CODE_NO_PARTS: &str = "parts.none";
pub const TARE_STATS_BINS: usize = 256;
pub const TARE_NO_OFFSET: u64 = u64::MAX;

#[repr(C)]
pub struct tare_report {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_cancel {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_model {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_remote {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_device {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_builder {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_importance {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_plan {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_diff {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_adapter_set {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_coded {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_coder {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_device_layer {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_edit {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_fit {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_folder_models {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_options {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_view {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_parts {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tare_pattern {
    _private: [u8; 0],
}

extern "C" {
    pub fn tare_version() -> *const c_char;
    pub fn tare_dependency(name: *mut *const c_char, version: *mut *const c_char, i: usize) -> bool;
}

pub type tare_status = c_uint;
pub const TARE_OK: tare_status = 0;
pub const TARE_ERR_ARG: tare_status = 1;
pub const TARE_ERR_IO: tare_status = 2;
pub const TARE_ERR_NOMEM: tare_status = 3;
pub const TARE_ERR_NOSPACE: tare_status = 4;
pub const TARE_ERR_UNSUPPORTED: tare_status = 5;
pub const TARE_ERR_TRUNCATED: tare_status = 6;
pub const TARE_ERR_CORRUPT: tare_status = 7;
pub const TARE_ERR_LIMIT: tare_status = 8;
pub const TARE_ERR_CHECKSUM: tare_status = 9;
pub const TARE_ERR_CANCELLED: tare_status = 10;

extern "C" {
    pub fn tare_status_text(status: tare_status) -> *const c_char;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_str {
    pub ptr: *const c_char,
    pub len: usize,
}

pub type tare_byte_order = c_uint;
pub const TARE_ORDER_KEEP: tare_byte_order = 0;
pub const TARE_ORDER_LITTLE: tare_byte_order = 1;
pub const TARE_ORDER_BIG: tare_byte_order = 2;

pub type tare_item_kind = c_uint;
pub const TARE_ITEM_NONE: tare_item_kind = 0;
pub const TARE_ITEM_TENSOR: tare_item_kind = 1;
pub const TARE_ITEM_KEY: tare_item_kind = 2;
pub const TARE_ITEM_RESOURCE: tare_item_kind = 3;
pub const TARE_ITEM_ADAPTER: tare_item_kind = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_error {
    pub status: tare_status,
    pub item_kind: tare_item_kind,
    pub item: i64,
    pub offset: u64,
    pub os_error: c_int,
    pub what: *const c_char,
    pub code: *const c_char,
    pub item_name: [c_char; 112],
    pub field: [c_char; 64],
    pub file: [c_char; 112],
}

extern "C" {
    pub fn tare_error_format(buf: *mut c_char, size: usize, err: *const tare_error, path: *const c_char) -> usize;
    pub fn tare_str_escape(buf: *mut c_char, size: usize, text: tare_str, quote: bool) -> usize;
    pub fn tare_str_is_utf8(text: tare_str) -> bool;
    pub fn tare_json_has_member(text: tare_str, name: *const c_char) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_allocator {
    pub ctx: *mut c_void,
    pub alloc: Option<unsafe extern "C" fn(ctx: *mut c_void, size: usize) -> *mut c_void>,
    pub resize: Option<unsafe extern "C" fn(ctx: *mut c_void, ptr: *mut c_void, old_size: usize, new_size: usize) -> *mut c_void>,
    pub free: Option<unsafe extern "C" fn(ctx: *mut c_void, ptr: *mut c_void, size: usize)>,
}

pub type tare_map_mode = c_uint;
pub const TARE_MAP_NONE: tare_map_mode = 0;
pub const TARE_MAP_READ: tare_map_mode = 1;
pub const TARE_MAP_PRIVATE: tare_map_mode = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_limits {
    pub size: usize,
    pub tensors: u64,
    pub keys: u64,
    pub array_elements: u64,
    pub name_bytes: u64,
    pub metadata_bytes: u64,
    pub safetensors_header: u64,
    pub resource_bytes: u64,
    pub dims: u32,
    pub nesting: u32,
    pub shards: u32,
}

extern "C" {
    pub fn tare_limits_init(x: *mut tare_limits, size: usize);
}

pub type tare_level = c_uint;
pub const TARE_LEVEL_INFO: tare_level = 0;
pub const TARE_LEVEL_WARNING: tare_level = 1;
pub const TARE_LEVEL_ERROR: tare_level = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_finding {
    pub level: tare_level,
    pub status: tare_status,
    pub item_kind: tare_item_kind,
    pub item: i64,
    pub offset: u64,
    pub code: *const c_char,
    pub file: tare_str,
    pub item_name: tare_str,
    pub text: tare_str,
}

extern "C" {
    pub fn tare_report_new() -> *mut tare_report;
    pub fn tare_report_free(report: *mut tare_report);
    pub fn tare_report_count(report: *const tare_report) -> usize;
    pub fn tare_report_count_level(report: *const tare_report, level: tare_level) -> usize;
    pub fn tare_report_at(report: *const tare_report, i: usize) -> *const tare_finding;
    pub fn tare_report_remove(report: *mut tare_report, code: *const c_char);
}

pub type tare_progress_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, done: u64, total: u64) -> bool>;

extern "C" {
    pub fn tare_cancel_new() -> *mut tare_cancel;
    pub fn tare_cancel_free(cancel: *mut tare_cancel);
    pub fn tare_cancel_request(cancel: *mut tare_cancel);
    pub fn tare_cancel_is_requested(cancel: *const tare_cancel) -> bool;
    pub fn tare_cancel_reset(cancel: *mut tare_cancel);
}

pub type tare_parallel_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, n: c_uint, body: Option<unsafe extern "C" fn(body_ctx: *mut c_void, i: c_uint)>, body_ctx: *mut c_void)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_context {
    pub size: usize,
    pub threads: c_uint,
    pub parallel: tare_parallel_fn,
    pub parallel_ctx: *mut c_void,
    pub progress: tare_progress_fn,
    pub progress_ctx: *mut c_void,
    pub cancel: *const tare_cancel,
    pub allocator: *const tare_allocator,
    pub limits: *const tare_limits,
    pub report: *mut tare_report,
}

extern "C" {
    pub fn tare_context_init(x: *mut tare_context, size: usize);
    pub fn tare_cpu_level(i: usize) -> *const c_char;
    pub fn tare_cpu_detect() -> *const c_char;
    pub fn tare_cpu_limit(level: *const c_char, err: *mut tare_error) -> tare_status;
    pub fn tare_cpu_active() -> *const c_char;
}

pub type tare_encoding_id = c_uint;
pub const TARE_ENCODING_UNKNOWN: tare_encoding_id = 0;
pub const TARE_ENCODING_F64: tare_encoding_id = 1;
pub const TARE_ENCODING_F32: tare_encoding_id = 2;
pub const TARE_ENCODING_F16: tare_encoding_id = 3;
pub const TARE_ENCODING_BF16: tare_encoding_id = 4;
pub const TARE_ENCODING_F8_E4M3: tare_encoding_id = 5;
pub const TARE_ENCODING_F8_E5M2: tare_encoding_id = 6;
pub const TARE_ENCODING_F8_E4M3FNUZ: tare_encoding_id = 7;
pub const TARE_ENCODING_F8_E5M2FNUZ: tare_encoding_id = 8;
pub const TARE_ENCODING_F8_E8M0: tare_encoding_id = 9;
pub const TARE_ENCODING_F6_E2M3: tare_encoding_id = 10;
pub const TARE_ENCODING_F6_E3M2: tare_encoding_id = 11;
pub const TARE_ENCODING_F4: tare_encoding_id = 12;
pub const TARE_ENCODING_C64: tare_encoding_id = 13;
pub const TARE_ENCODING_BOOL: tare_encoding_id = 14;
pub const TARE_ENCODING_I8: tare_encoding_id = 15;
pub const TARE_ENCODING_U8: tare_encoding_id = 16;
pub const TARE_ENCODING_I16: tare_encoding_id = 17;
pub const TARE_ENCODING_U16: tare_encoding_id = 18;
pub const TARE_ENCODING_I32: tare_encoding_id = 19;
pub const TARE_ENCODING_U32: tare_encoding_id = 20;
pub const TARE_ENCODING_I64: tare_encoding_id = 21;
pub const TARE_ENCODING_U64: tare_encoding_id = 22;
pub const TARE_ENCODING_Q4_0: tare_encoding_id = 23;
pub const TARE_ENCODING_Q4_1: tare_encoding_id = 24;
pub const TARE_ENCODING_Q5_0: tare_encoding_id = 25;
pub const TARE_ENCODING_Q5_1: tare_encoding_id = 26;
pub const TARE_ENCODING_Q8_0: tare_encoding_id = 27;
pub const TARE_ENCODING_Q8_1: tare_encoding_id = 28;
pub const TARE_ENCODING_Q2_K: tare_encoding_id = 29;
pub const TARE_ENCODING_Q3_K: tare_encoding_id = 30;
pub const TARE_ENCODING_Q4_K: tare_encoding_id = 31;
pub const TARE_ENCODING_Q5_K: tare_encoding_id = 32;
pub const TARE_ENCODING_Q6_K: tare_encoding_id = 33;
pub const TARE_ENCODING_Q8_K: tare_encoding_id = 34;
pub const TARE_ENCODING_IQ2_XXS: tare_encoding_id = 35;
pub const TARE_ENCODING_IQ2_XS: tare_encoding_id = 36;
pub const TARE_ENCODING_IQ2_S: tare_encoding_id = 37;
pub const TARE_ENCODING_IQ3_XXS: tare_encoding_id = 38;
pub const TARE_ENCODING_IQ3_S: tare_encoding_id = 39;
pub const TARE_ENCODING_IQ1_S: tare_encoding_id = 40;
pub const TARE_ENCODING_IQ1_M: tare_encoding_id = 41;
pub const TARE_ENCODING_IQ4_NL: tare_encoding_id = 42;
pub const TARE_ENCODING_IQ4_XS: tare_encoding_id = 43;
pub const TARE_ENCODING_TQ1_0: tare_encoding_id = 44;
pub const TARE_ENCODING_TQ2_0: tare_encoding_id = 45;
pub const TARE_ENCODING_MXFP4: tare_encoding_id = 46;
pub const TARE_ENCODING_NVFP4: tare_encoding_id = 47;
pub const TARE_ENCODING_Q1_0: tare_encoding_id = 48;
pub const TARE_ENCODING_Q2_0: tare_encoding_id = 49;
pub const TARE_ENCODING_Q8: tare_encoding_id = 50;
pub const TARE_ENCODING_Q4: tare_encoding_id = 51;
pub const TARE_ENCODING_K6: tare_encoding_id = 52;
pub const TARE_ENCODING_K4: tare_encoding_id = 53;
pub const TARE_ENCODING_K3: tare_encoding_id = 54;
pub const TARE_ENCODING_K2: tare_encoding_id = 55;
pub const TARE_ENCODING_MCF_INT8: tare_encoding_id = 56;
pub const TARE_ENCODING_MCF_INT4: tare_encoding_id = 57;
pub const TARE_ENCODING_MCF_INT8_ZERO: tare_encoding_id = 58;
pub const TARE_ENCODING_MCF_INT4_ZERO: tare_encoding_id = 59;
pub const TARE_ENCODING_INT8_ROWWISE: tare_encoding_id = 60;
pub const TARE_ENCODING_INT4_ROWWISE: tare_encoding_id = 61;
pub const TARE_ENCODING_COUNT: tare_encoding_id = 62;

pub type tare_encoding_kind = c_uint;
pub const TARE_KIND_UNKNOWN: tare_encoding_kind = 0;
pub const TARE_KIND_FLOAT: tare_encoding_kind = 1;
pub const TARE_KIND_INTEGER: tare_encoding_kind = 2;
pub const TARE_KIND_COMPLEX: tare_encoding_kind = 3;
pub const TARE_KIND_BLOCK: tare_encoding_kind = 4;

pub type tare_plane_scope = c_uint;
pub const TARE_PLANE_ELEMENTS: tare_plane_scope = 0;
pub const TARE_PLANE_ROW: tare_plane_scope = 1;
pub const TARE_PLANE_TENSOR: tare_plane_scope = 2;
pub const TARE_PLANE_LIST: tare_plane_scope = 3;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_plane_info {
    pub name: *const c_char,
    pub scope: tare_plane_scope,
    pub unit: u32,
    pub unit_bytes: u32,
}

pub type tare_field_role = c_uint;
pub const TARE_FIELD_VALUE: tare_field_role = 0;
pub const TARE_FIELD_CODE: tare_field_role = 1;
pub const TARE_FIELD_HIGH: tare_field_role = 2;
pub const TARE_FIELD_SCALE: tare_field_role = 3;
pub const TARE_FIELD_MIN: tare_field_role = 4;
pub const TARE_FIELD_SUBSCALE: tare_field_role = 5;
pub const TARE_FIELD_SIGN: tare_field_role = 6;
pub const TARE_FIELD_SUM: tare_field_role = 7;
pub const TARE_FIELD_POSITION: tare_field_role = 8;

pub type tare_field_type = c_uint;
pub const TARE_FIELD_U8: tare_field_type = 0;
pub const TARE_FIELD_I8: tare_field_type = 1;
pub const TARE_FIELD_U16: tare_field_type = 2;
pub const TARE_FIELD_I16: tare_field_type = 3;
pub const TARE_FIELD_U32: tare_field_type = 4;
pub const TARE_FIELD_U64: tare_field_type = 5;
pub const TARE_FIELD_F16: tare_field_type = 6;
pub const TARE_FIELD_BF16: tare_field_type = 7;
pub const TARE_FIELD_F32: tare_field_type = 8;
pub const TARE_FIELD_F64: tare_field_type = 9;
pub const TARE_FIELD_E8M0: tare_field_type = 10;
pub const TARE_FIELD_UE4M3: tare_field_type = 11;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_field {
    pub name: *const c_char,
    pub plane: u8,
    pub role: u8,
    pub r#type: u8,
    pub bits: u8,
    pub offset: u16,
    pub count: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_encoding {
    pub name: *const c_char,
    pub id: tare_encoding_id,
    pub kind: tare_encoding_kind,
    pub block: u32,
    pub is_edge_padded: bool,
    pub is_bit_packed: bool,
    pub n_planes: u8,
    pub n_fields: u8,
    pub planes: [tare_plane_info; 4],
    pub fields: *const tare_field,
}

pub type tare_number_kind = c_uint;
pub const TARE_NUMBER_MIXED: tare_number_kind = 0;
pub const TARE_NUMBER_INTEGER: tare_number_kind = 1;
pub const TARE_NUMBER_FLOAT: tare_number_kind = 2;
pub const TARE_NUMBER_COMPLEX: tare_number_kind = 3;
pub const TARE_NUMBER_BOOL: tare_number_kind = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_number {
    pub kind: tare_number_kind,
    pub bits: u8,
    pub is_signed: bool,
}

extern "C" {
    pub fn tare_field_number(field: *const tare_field) -> tare_number;
    pub fn tare_plane_number(encoding: *const tare_encoding, plane: u32) -> tare_number;
    pub fn tare_encoding_get(id: tare_encoding_id) -> *const tare_encoding;
    pub fn tare_encoding_find(name: tare_str) -> *const tare_encoding;
    pub fn tare_encoding_can_decode(encoding: *const tare_encoding) -> bool;
    pub fn tare_encoding_can_encode(encoding: *const tare_encoding) -> bool;
    pub fn tare_encoding_needs_importance(encoding: *const tare_encoding) -> bool;
    pub fn tare_encoding_bits(encoding: *const tare_encoding) -> f64;
    pub fn tare_encoding_sizes(plane_bytes: *mut u64, encoding: *const tare_encoding, dims: *const u64, n_dims: u32, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_rows {
    pub planes: [*const u8; 4],
    pub n_rows: u64,
    pub cols: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_rows_mut {
    pub planes: [*mut u8; 4],
    pub n_rows: u64,
    pub cols: u64,
}

pub type tare_quality = c_uint;
pub const TARE_QUALITY_DEFAULT: tare_quality = 0;
pub const TARE_QUALITY_BEST: tare_quality = 1;

pub type tare_compat = c_uint;
pub const TARE_COMPAT_NONE: tare_compat = 0;
pub const TARE_COMPAT_MANTLE: tare_compat = 1;
pub const TARE_COMPAT_GGML_0_21: tare_compat = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_encode_params {
    pub size: usize,
    pub importance: *const f32,
    pub quality: tare_quality,
    pub compat: tare_compat,
    pub has_clip: bool,
    pub clip_min: f32,
    pub clip_max: f32,
}

extern "C" {
    pub fn tare_encode_params_init(x: *mut tare_encode_params, size: usize);
    pub fn tare_decode_rows(dst: *mut f32, encoding: *const tare_encoding, src: *const tare_rows, err: *mut tare_error) -> tare_status;
    pub fn tare_decode_rows_as(dst: *mut c_void, r#as: tare_encoding_id, encoding: *const tare_encoding, src: *const tare_rows, err: *mut tare_error) -> tare_status;
    pub fn tare_encode_rows(dst: *const tare_rows_mut, encoding: *const tare_encoding, src: *const f32, params: *const tare_encode_params, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_nonfinite_counts {
    pub n_nan: u64,
    pub n_inf: u64,
    pub n_overflow: u64,
    pub first_nan: u64,
    pub first_inf: u64,
    pub first_overflow: u64,
}

extern "C" {
    pub fn tare_count_nonfinite(sum: *mut tare_nonfinite_counts, src: *const f32, n: u64, position: u64);
    pub fn tare_count_overflow(sum: *mut tare_nonfinite_counts, encoding: *const tare_encoding, rows: *const tare_rows, position: u64);
    pub fn tare_swap_rows(rows: *const tare_rows_mut, encoding: *const tare_encoding);
}

pub type tare_source_kind = c_uint;
pub const TARE_SOURCE_PATH: tare_source_kind = 0;
pub const TARE_SOURCE_MEMORY: tare_source_kind = 1;
pub const TARE_SOURCE_FD: tare_source_kind = 2;
pub const TARE_SOURCE_CALLBACK: tare_source_kind = 3;
pub const TARE_SOURCE_SHARDS: tare_source_kind = 4;
pub const TARE_SOURCE_URL: tare_source_kind = 5;
pub const TARE_SOURCE_FOLDER: tare_source_kind = 6;

pub type tare_read_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, offset: u64, buf: *mut c_void, n: usize) -> tare_status>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_read_range {
    pub offset: u64,
    pub buf: *mut c_void,
    pub n: usize,
}

pub type tare_read_many_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, ranges: *const tare_read_range, n: usize, err: *mut tare_error) -> tare_status>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_source {
    pub size: usize,
    pub kind: tare_source_kind,
    pub name: *const c_char,
    pub memory: *const c_void,
    pub n_bytes: u64,
    pub fd: c_int,
    pub read: tare_read_fn,
    pub read_ctx: *mut c_void,
    pub shards: *const tare_source,
    pub n_shards: usize,
    pub remote: *mut tare_remote,
    pub read_many: tare_read_many_fn,
}

extern "C" {
    pub fn tare_source_init(x: *mut tare_source, size: usize);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_open_options {
    pub size: usize,
    pub context: *const tare_context,
    pub format: *const c_char,
    pub map: tare_map_mode,
    pub one_shard: bool,
    pub bases: *const *const tare_model,
    pub n_bases: usize,
    pub needs_bases: bool,
    pub device: *mut tare_device,
    pub stored: bool,
}

extern "C" {
    pub fn tare_open_options_init(x: *mut tare_open_options, size: usize);
    pub fn tare_model_open(out: *mut *mut tare_model, source: *const tare_source, options: *const tare_open_options, err: *mut tare_error) -> tare_status;
    pub fn tare_open_path(out: *mut *mut tare_model, path: *const c_char, options: *const tare_open_options, err: *mut tare_error) -> tare_status;
    pub fn tare_model_free(model: *mut tare_model);
    pub fn tare_model_as_stored(model: *const tare_model) -> *const tare_model;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_model_summary {
    pub format: *const c_char,
    pub version: u32,
    pub is_big_endian: bool,
    pub is_truncated: bool,
    pub alignment: u32,
    pub n_tensors: usize,
    pub n_metadata: usize,
    pub n_resources: usize,
    pub n_files: usize,
    pub n_parameters: u64,
    pub file_bytes: u64,
    pub tensor_bytes: u64,
    pub directory_bytes: u64,
    pub has_pairs: bool,
}

extern "C" {
    pub fn tare_model_summarize(model: *const tare_model) -> *const tare_model_summary;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_file_info {
    pub name: *const c_char,
    pub size: u64,
}

extern "C" {
    pub fn tare_model_file(model: *const tare_model, i: usize) -> *const tare_file_info;
}

pub type tare_value_type = c_uint;
pub const TARE_VALUE_U8: tare_value_type = 0;
pub const TARE_VALUE_I8: tare_value_type = 1;
pub const TARE_VALUE_U16: tare_value_type = 2;
pub const TARE_VALUE_I16: tare_value_type = 3;
pub const TARE_VALUE_U32: tare_value_type = 4;
pub const TARE_VALUE_I32: tare_value_type = 5;
pub const TARE_VALUE_F32: tare_value_type = 6;
pub const TARE_VALUE_BOOL: tare_value_type = 7;
pub const TARE_VALUE_STRING: tare_value_type = 8;
pub const TARE_VALUE_ARRAY: tare_value_type = 9;
pub const TARE_VALUE_U64: tare_value_type = 10;
pub const TARE_VALUE_I64: tare_value_type = 11;
pub const TARE_VALUE_F64: tare_value_type = 12;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_array {
    pub r#type: tare_value_type,
    pub count: u64,
    pub bytes: *const u8,
    pub size_bytes: u64,
    pub is_big_endian: bool,
    pub has_short_lengths: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union tare_value_union {
    pub u: u64,
    pub i: i64,
    pub f: f64,
    pub s: tare_str,
    pub a: tare_array,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_value {
    pub r#type: tare_value_type,
    pub r#as: tare_value_union,
}

pub type tare_key_space = c_uint;
pub const TARE_KEYS_MODEL: tare_key_space = 0;
pub const TARE_KEYS_SAFETENSORS: tare_key_space = 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_metadata {
    pub key: tare_str,
    pub value: tare_value,
    pub space: tare_key_space,
    pub offset: u64,
}

extern "C" {
    pub fn tare_model_metadata(model: *const tare_model, i: usize) -> *const tare_metadata;
    pub fn tare_model_find_key(model: *const tare_model, key: tare_str) -> i64;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_array_walk {
    pub array: tare_array,
    pub index: u64,
    pub position: u64,
}

extern "C" {
    pub fn tare_array_begin(walk: *mut tare_array_walk, array: *const tare_array);
    pub fn tare_array_next(out: *mut tare_value, walk: *mut tare_array_walk) -> bool;
    pub fn tare_value_u64(out: *mut u64, value: *const tare_value) -> bool;
    pub fn tare_value_f64(out: *mut f64, value: *const tare_value) -> bool;
}

pub type tare_param = c_uint;
pub const TARE_PARAM_VOCAB_SIZE: tare_param = 0;
pub const TARE_PARAM_CONTEXT_LENGTH: tare_param = 1;
pub const TARE_PARAM_EMBEDDING_LENGTH: tare_param = 2;
pub const TARE_PARAM_HEAD_COUNT: tare_param = 3;
pub const TARE_PARAM_HEAD_COUNT_KV: tare_param = 4;
pub const TARE_PARAM_LAYER_COUNT: tare_param = 5;
pub const TARE_PARAM_FEED_FORWARD_LENGTH: tare_param = 6;
pub const TARE_PARAM_KEY_LENGTH: tare_param = 7;
pub const TARE_PARAM_VALUE_LENGTH: tare_param = 8;
pub const TARE_PARAM_KV_LORA_RANK: tare_param = 9;
pub const TARE_PARAM_ROPE_LENGTH: tare_param = 10;
pub const TARE_PARAM_COUNT: tare_param = 11;

extern "C" {
    pub fn tare_model_param(out: *mut u64, model: *const tare_model, param: tare_param) -> bool;
    pub fn tare_model_architecture(model: *const tare_model) -> tare_str;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_plane {
    pub file: u32,
    pub offset: u64,
    pub size: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_tensor {
    pub name: tare_str,
    pub encoding: *const tare_encoding,
    pub native_type: u32,
    pub n_dims: u32,
    pub dims: *const u64,
    pub n_elements: u64,
    pub n_rows: u64,
    pub cols: u64,
    pub size_bytes: u64,
    pub planes: *const tare_plane,
    pub offset: u64,
}

extern "C" {
    pub fn tare_model_tensor(model: *const tare_model, i: usize) -> *const tare_tensor;
    pub fn tare_model_find_tensor(model: *const tare_model, name: tare_str) -> i64;
    pub fn tare_tensor_stored_bytes(model: *const tare_model, tensor: usize) -> u64;
    pub fn tare_model_shares_names(a: *const tare_model, b: *const tare_model) -> bool;
    pub fn tare_tensor_read(buf: *mut c_void, model: *const tare_model, tensor: usize, plane: u32, offset: u64, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_tensor_borrow(out: *mut *const u8, model: *const tare_model, tensor: usize, plane: u32, alignment: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_tensor_borrow_mut(out: *mut *mut u8, model: *const tare_model, tensor: usize, plane: u32, alignment: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_tensor_place(out: *mut tare_plane, model: *const tare_model, tensor: usize, plane: u32) -> bool;
    pub fn tare_tensor_rows_f32(out: *mut f32, model: *const tare_model, tensor: usize, first: u64, n: u64, err: *mut tare_error) -> tare_status;
    pub fn tare_tensor_rows_as(out: *mut c_void, r#as: tare_encoding_id, model: *const tare_model, tensor: usize, first: u64, n: u64, err: *mut tare_error) -> tare_status;
    pub fn tare_tensor_can_decode(model: *const tare_model, tensor: usize) -> bool;
    pub fn tare_tensor_scheme(model: *const tare_model, tensor: usize) -> *const c_char;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_resource {
    pub name: tare_str,
    pub size: u64,
}

extern "C" {
    pub fn tare_model_resource(model: *const tare_model, i: usize) -> *const tare_resource;
    pub fn tare_model_find_resource(model: *const tare_model, name: tare_str) -> i64;
    pub fn tare_resource_read(buf: *mut c_void, model: *const tare_model, resource: usize, offset: u64, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_resource_borrow(out: *mut *const u8, model: *const tare_model, resource: usize, alignment: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_resource_place(out: *mut tare_plane, model: *const tare_model, resource: usize) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_build_options {
    pub size: usize,
    pub context: *const tare_context,
    pub name: *const c_char,
    pub has_pairs: bool,
}

extern "C" {
    pub fn tare_build_options_init(x: *mut tare_build_options, size: usize);
}

pub type tare_plane_read_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, plane: u32, offset: u64, buf: *mut c_void, n: usize) -> tare_status>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_build_tensor {
    pub size: usize,
    pub name: tare_str,
    pub encoding: *const tare_encoding,
    pub dims: *const u64,
    pub n_dims: u32,
    pub planes: [*const c_void; 4],
    pub list_bytes: u64,
    pub read: tare_plane_read_fn,
    pub read_ctx: *mut c_void,
}

extern "C" {
    pub fn tare_build_tensor_init(x: *mut tare_build_tensor, size: usize);
    pub fn tare_builder_new(out: *mut *mut tare_builder, options: *const tare_build_options, err: *mut tare_error) -> tare_status;
    pub fn tare_builder_free(builder: *mut tare_builder);
    pub fn tare_builder_add_tensor(builder: *mut tare_builder, tensor: *const tare_build_tensor, err: *mut tare_error) -> tare_status;
    pub fn tare_builder_add_key(builder: *mut tare_builder, space: tare_key_space, key: tare_str, value: *const tare_value, err: *mut tare_error) -> tare_status;
    pub fn tare_builder_add_strings(builder: *mut tare_builder, key: tare_str, strings: *const tare_str, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_builder_add_resource(builder: *mut tare_builder, name: tare_str, bytes: *const c_void, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_builder_finish(out: *mut *mut tare_model, builder: *mut tare_builder, err: *mut tare_error) -> tare_status;
    pub fn tare_importance_open(out: *mut *mut tare_importance, source: *const tare_source, options: *const tare_open_options, err: *mut tare_error) -> tare_status;
    pub fn tare_importance_open_path(out: *mut *mut tare_importance, path: *const c_char, options: *const tare_open_options, err: *mut tare_error) -> tare_status;
    pub fn tare_importance_free(importance: *mut tare_importance);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_importance_summary {
    pub is_gguf: bool,
    pub n_entries: usize,
    pub n_values: u64,
    pub n_chunks: u64,
    pub chunk_size: u64,
    pub n_datasets: usize,
}

extern "C" {
    pub fn tare_importance_summarize(importance: *const tare_importance) -> *const tare_importance_summary;
    pub fn tare_importance_dataset(importance: *const tare_importance, i: usize) -> tare_str;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_importance_entry {
    pub name: tare_str,
    pub values: *const f32,
    pub n_values: u64,
    pub n_slices: u64,
}

extern "C" {
    pub fn tare_importance_at(importance: *const tare_importance, i: usize) -> *const tare_importance_entry;
    pub fn tare_importance_find(importance: *const tare_importance, name: tare_str) -> i64;
    pub fn tare_importance_select(importance: *mut tare_importance, parts: *const *const c_char, n_parts: usize, is_included: bool);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_output_options {
    pub size: usize,
    pub force: bool,
    pub strict: bool,
    pub no_sync: bool,
    pub dry_run: bool,
    pub remote: *mut tare_remote,
}

extern "C" {
    pub fn tare_output_options_init(x: *mut tare_output_options, size: usize);
}

pub type tare_write_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, offset: u64, bytes: *const c_void, n: usize) -> tare_status>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_output {
    pub size: usize,
    pub write: tare_write_fn,
    pub ctx: *mut c_void,
    pub in_order: bool,
}

extern "C" {
    pub fn tare_output_init(x: *mut tare_output, size: usize);
    pub fn tare_file_write(path: *const c_char, bytes: *const c_void, n: usize, model: *const tare_model, output: *const tare_output_options, context: *const tare_context, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_format_info {
    pub size: usize,
    pub name: *const c_char,
    pub description: *const c_char,
    pub suffix: *const c_char,
    pub can_write: bool,
    pub is_directory: bool,
}

extern "C" {
    pub fn tare_format_info_init(x: *mut tare_format_info, size: usize);
    pub fn tare_format_at(out: *mut tare_format_info, i: usize) -> bool;
    pub fn tare_format_of_path(path: *const c_char) -> *const c_char;
    pub fn tare_format_holds(format: *const c_char, encoding: *const tare_encoding) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_mix {
    pub name: *const c_char,
    pub file_type: i32,
    pub r#type: *const tare_encoding,
    pub needs_importance: bool,
    pub description: *const c_char,
}

extern "C" {
    pub fn tare_mix_at(i: usize) -> *const tare_mix;
    pub fn tare_mix_find(name: tare_str) -> *const tare_mix;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_mix_options {
    pub size: usize,
    pub mix: *const tare_mix,
    pub output: *const tare_encoding,
    pub embedding: *const tare_encoding,
    pub is_pure: bool,
    pub leave_output: bool,
    pub allow_requantize: bool,
    pub is_of_rules: bool,
}

extern "C" {
    pub fn tare_mix_options_init(x: *mut tare_mix_options, size: usize);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_type_rule {
    pub pattern: *const c_char,
    pub encoding: *const tare_encoding,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_tensor_error {
    pub relative_rmse: f64,
    pub max_abs: f64,
}

pub type tare_measured_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, i: usize, error: *const tare_tensor_error)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_convert_options {
    pub size: usize,
    pub context: *const tare_context,
    pub output: *const tare_output_options,
    pub to: *const c_char,
    pub r#type: *const tare_encoding,
    pub rules: *const tare_type_rule,
    pub n_rules: usize,
    pub mix: *const tare_mix_options,
    pub importance: *const tare_importance,
    pub overrides: *const tare_metadata,
    pub n_overrides: usize,
    pub merges: *const tare_adapter_use,
    pub n_merges: usize,
    pub order: tare_byte_order,
    pub quality: tare_quality,
    pub shard_size: u64,
    pub alignment: u32,
    pub keep_split: bool,
    pub opaque: bool,
    pub verify: bool,
    pub measured: tare_measured_fn,
    pub measured_ctx: *mut c_void,
    pub mcf: *const tare_convert_mcf_options,
    pub infq: *const tare_convert_infq_options,
    pub wcodec: *const tare_convert_wcodec_options,
    pub weighs_output: bool,
    pub names: *const tare_llama_translate_options,
}

extern "C" {
    pub fn tare_convert_options_init(x: *mut tare_convert_options, size: usize);
}

pub type tare_tensor_action = c_uint;
pub const TARE_ACTION_COPY: tare_tensor_action = 0;
pub const TARE_ACTION_STAND_IN: tare_tensor_action = 1;
pub const TARE_ACTION_ENCODE: tare_tensor_action = 2;
pub const TARE_ACTION_LOSSY: tare_tensor_action = 3;
pub const TARE_ACTION_REPACK: tare_tensor_action = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_plan_tensor {
    pub name: tare_str,
    pub from: *const tare_encoding,
    pub becomes: *const tare_encoding,
    pub to: *const tare_encoding,
    pub action: tare_tensor_action,
    pub from_bytes: u64,
    pub to_bytes: u64,
    pub file: u32,
    pub source: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_plan_summary {
    pub format: *const c_char,
    pub n_tensors: usize,
    pub n_files: usize,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub is_identity: bool,
    pub is_directory: bool,
}

extern "C" {
    pub fn tare_plan_new(out: *mut *mut tare_plan, out_path: *const c_char, r#in: *const tare_model, options: *const tare_convert_options, err: *mut tare_error) -> tare_status;
    pub fn tare_plan_free(plan: *mut tare_plan);
    pub fn tare_plan_summarize(plan: *const tare_plan) -> *const tare_plan_summary;
    pub fn tare_plan_tensor_at(plan: *const tare_plan, i: usize) -> *const tare_plan_tensor;
    pub fn tare_plan_file_at(plan: *const tare_plan, i: usize) -> *const tare_file_info;
    pub fn tare_plan_check(plan: *const tare_plan, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_convert_result {
    pub size: usize,
    pub written_bytes: u64,
}

extern "C" {
    pub fn tare_convert_result_init(x: *mut tare_convert_result, size: usize);
    pub fn tare_plan_run(out: *mut tare_convert_result, plan: *const tare_plan, err: *mut tare_error) -> tare_status;
    pub fn tare_plans_run(out: *mut tare_convert_result, plans: *const *const tare_plan, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_plan_run_fd(out: *mut tare_convert_result, plan: *const tare_plan, fd: c_int, err: *mut tare_error) -> tare_status;
    pub fn tare_plan_run_to(out: *mut tare_convert_result, plan: *const tare_plan, output: *const tare_output, err: *mut tare_error) -> tare_status;
    pub fn tare_convert(out_path: *const c_char, r#in: *const tare_model, options: *const tare_convert_options, err: *mut tare_error) -> tare_status;
    pub fn tare_quantize(out_path: *const c_char, r#in: *const tare_model, mix: tare_str, options: *const tare_convert_options, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_digest {
    pub bytes: [u8; 32],
}

extern "C" {
    pub fn tare_tensor_digest(out: *mut tare_digest, model: *const tare_model, tensor: usize, context: *const tare_context, err: *mut tare_error) -> tare_status;
    pub fn tare_tensor_check(model: *const tare_model, tensor: usize, context: *const tare_context, err: *mut tare_error) -> tare_status;
    pub fn tare_model_digest(digests: *mut tare_digest, whole: *mut tare_digest, model: *const tare_model, context: *const tare_context, err: *mut tare_error) -> tare_status;
    pub fn tare_manifest_write(path: *const c_char, model: *const tare_model, output: *const tare_output_options, context: *const tare_context, err: *mut tare_error) -> tare_status;
    pub fn tare_manifest_check(path: *const c_char, model: *const tare_model, context: *const tare_context, err: *mut tare_error) -> tare_status;
    pub fn tare_verify_resources(model: *const tare_model, context: *const tare_context, err: *mut tare_error) -> tare_status;
    pub fn tare_verify_data(model: *const tare_model, context: *const tare_context, err: *mut tare_error) -> tare_status;
    pub fn tare_verify_against(model: *const tare_model, source: *const tare_model, context: *const tare_context, err: *mut tare_error) -> tare_status;
}

pub type tare_diff_kind = c_uint;
pub const TARE_DIFF_KEY_ONLY_A: tare_diff_kind = 0;
pub const TARE_DIFF_KEY_ONLY_B: tare_diff_kind = 1;
pub const TARE_DIFF_KEY_VALUE: tare_diff_kind = 2;
pub const TARE_DIFF_TENSOR_ONLY_A: tare_diff_kind = 3;
pub const TARE_DIFF_TENSOR_ONLY_B: tare_diff_kind = 4;
pub const TARE_DIFF_SHAPE: tare_diff_kind = 5;
pub const TARE_DIFF_ENCODING: tare_diff_kind = 6;
pub const TARE_DIFF_VALUE: tare_diff_kind = 7;
pub const TARE_DIFF_RESOURCE_ONLY_A: tare_diff_kind = 8;
pub const TARE_DIFF_RESOURCE_ONLY_B: tare_diff_kind = 9;
pub const TARE_DIFF_RESOURCE: tare_diff_kind = 10;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_diff_item {
    pub kind: tare_diff_kind,
    pub name: tare_str,
    pub a: i64,
    pub b: i64,
    pub is_decoded: bool,
    pub is_tolerated: bool,
    pub relative_rmse: f64,
    pub max_abs: f64,
    pub n_different: u64,
    pub norm_a: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_diff_options {
    pub size: usize,
    pub context: *const tare_context,
    pub tolerance: f64,
    pub brief: bool,
    pub directory: bool,
}

extern "C" {
    pub fn tare_diff_options_init(x: *mut tare_diff_options, size: usize);
    pub fn tare_diff_new(out: *mut *mut tare_diff, a: *const tare_model, b: *const tare_model, options: *const tare_diff_options, err: *mut tare_error) -> tare_status;
    pub fn tare_diff_free(diff: *mut tare_diff);
    pub fn tare_diff_is_same(diff: *const tare_diff) -> bool;
    pub fn tare_diff_at(diff: *const tare_diff, i: usize) -> *const tare_diff_item;
}

pub type tare_extract_form = c_uint;
pub const TARE_EXTRACT_NPY: tare_extract_form = 0;
pub const TARE_EXTRACT_BIN: tare_extract_form = 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_extract_options {
    pub size: usize,
    pub context: *const tare_context,
    pub output: *const tare_output_options,
    pub first_row: u64,
    pub n_rows: u64,
    pub written_bytes: *mut u64,
}

extern "C" {
    pub fn tare_extract_options_init(x: *mut tare_extract_options, size: usize);
    pub fn tare_extract(path: *const c_char, model: *const tare_model, tensor: usize, form: tare_extract_form, options: *const tare_extract_options, err: *mut tare_error) -> tare_status;
    pub fn tare_extract_fd(fd: c_int, model: *const tare_model, tensor: usize, form: tare_extract_form, options: *const tare_extract_options, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_tensor_stats {
    pub is_decoded: bool,
    pub n_finite: u64,
    pub n_zero: u64,
    pub n_nan: u64,
    pub n_inf: u64,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub std_dev: f64,
    pub reach: f64,
    pub histogram: [u64; 256],
}

pub type tare_stats_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, tensor: usize, stats: *const tare_tensor_stats)>;

extern "C" {
    pub fn tare_model_stats(model: *const tare_model, tensors: *const usize, n_tensors: usize, r#fn: tare_stats_fn, ctx: *mut c_void, context: *const tare_context, err: *mut tare_error) -> tare_status;
    pub fn tare_stats_columns(columns: *mut u64, n_columns: usize, stats: *const tare_tensor_stats);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_tensor_part {
    pub size: usize,
    pub role: *const c_char,
    pub layer: i32,
    pub expert: i32,
    pub is_expert: bool,
    pub is_shared: bool,
    pub is_bias: bool,
}

extern "C" {
    pub fn tare_tensor_part_init(x: *mut tare_tensor_part, size: usize);
    pub fn tare_tensor_part_of_name(out: *mut tare_tensor_part, name: tare_str, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_memory_needs {
    pub size: usize,
    pub weights: u64,
    pub context: u64,
    pub cache: u64,
    pub state: u64,
    pub is_latent_cache: bool,
}

extern "C" {
    pub fn tare_memory_needs_init(x: *mut tare_memory_needs, size: usize);
    pub fn tare_model_memory(out: *mut tare_memory_needs, model: *const tare_model, context: u64) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_read_job {
    pub size: usize,
    pub tensor: usize,
    pub r#as: tare_encoding_id,
    pub plane: u32,
    pub offset: u64,
    pub n_bytes: u64,
    pub start: *const u64,
    pub count: *const u64,
    pub step: *const i64,
    pub dst: *mut c_void,
    pub strides: *const i64,
}

extern "C" {
    pub fn tare_read_job_init(x: *mut tare_read_job, size: usize);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_read_options {
    pub size: usize,
    pub context: *const tare_context,
    pub job_done: Option<unsafe extern "C" fn(ctx: *mut c_void, job: usize)>,
    pub job_done_ctx: *mut c_void,
}

extern "C" {
    pub fn tare_read_options_init(x: *mut tare_read_options, size: usize);
    pub fn tare_read_job_bytes(out: *mut u64, model: *const tare_model, job: *const tare_read_job, err: *mut tare_error) -> tare_status;
    pub fn tare_read_many(model: *const tare_model, jobs: *const tare_read_job, n: usize, options: *const tare_read_options, err: *mut tare_error) -> tare_status;
}

pub type tare_adapter_kind = c_uint;
pub const TARE_ADAPTER_PAIR: tare_adapter_kind = 0;
pub const TARE_ADAPTER_SUM: tare_adapter_kind = 1;
pub const TARE_ADAPTER_WHOLE: tare_adapter_kind = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_adapter {
    pub name: tare_str,
    pub kind: tare_adapter_kind,
    pub rows: u64,
    pub cols: u64,
    pub rank: u64,
    pub scale: f64,
    pub is_transposed: bool,
    pub a: *const tare_tensor,
    pub b: *const tare_tensor,
    pub magnitude: *const tare_tensor,
}

extern "C" {
    pub fn tare_adapters_open_path(out: *mut *mut tare_adapter_set, path: *const c_char, options: *const tare_open_options, err: *mut tare_error) -> tare_status;
    pub fn tare_adapters_free(set: *mut tare_adapter_set);
    pub fn tare_model_adapter_dialect(model: *const tare_model) -> tare_str;
    pub fn tare_adapters_count(set: *const tare_adapter_set) -> usize;
    pub fn tare_adapters_at(set: *const tare_adapter_set, i: usize) -> *const tare_adapter;
    pub fn tare_adapter_factors(a: *mut usize, b: *mut usize, set: *const tare_adapter_set, i: usize) -> *const tare_model;
    pub fn tare_model_adapters(model: *const tare_model) -> *const tare_adapter_set;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_adapter_use {
    pub set: *const tare_adapter_set,
    pub name: tare_str,
    pub target: tare_str,
    pub scale: f64,
}

extern "C" {
    pub fn tare_adapter_is_used(r#use: *const tare_adapter_use, adapter: *const tare_adapter) -> bool;
    pub fn tare_adapters_merge(out: *mut *mut tare_model, r#in: *const tare_model, uses: *const tare_adapter_use, n_uses: usize, options: *const tare_open_options, err: *mut tare_error) -> tare_status;
    pub fn tare_adapters_write(path: *const c_char, r#use: *const tare_adapter_use, output: *const tare_output_options, context: *const tare_context, err: *mut tare_error) -> tare_status;
    pub fn tare_adapters_write_as(path: *const c_char, dialect: *const c_char, r#use: *const tare_adapter_use, output: *const tare_output_options, context: *const tare_context, err: *mut tare_error) -> tare_status;
}

pub const TARE_CODED_MAX_REGIONS: c_int = 4;
pub const TARE_CODED_MAX_STREAMS: c_int = 32;
pub const TARE_CODED_UNIT: c_int = 64;

pub type tare_coded_mode = c_uint;
pub const TARE_CODED_SMALLEST: tare_coded_mode = 0;
pub const TARE_CODED_RAW: tare_coded_mode = 1;
pub const TARE_CODED_CONSTANT: tare_coded_mode = 2;
pub const TARE_CODED_ZSTD: tare_coded_mode = 3;
pub const TARE_CODED_DIRECT: tare_coded_mode = 4;
pub const TARE_CODED_STRUCTURED: tare_coded_mode = 5;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_coded_join {
    pub high_offset: u32,
    pub high_bits: u8,
    pub log2_values: u8,
    pub place: [u8; 10],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_coded_field {
    pub region: u8,
    pub value_bits: u8,
    pub log2_segment: u8,
    pub is_big_endian: bool,
    pub stride: u32,
    pub offset: u32,
    pub width: u32,
    pub is_signed: bool,
    pub is_repetitive: bool,
    pub trellis: u8,
    pub mode: u8,
    pub row: u32,
    pub scale_stream: u8,
    pub scale_form: u8,
    pub values_per_scale: u32,
    pub join: tare_coded_join,
    pub is_packed_scales: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_coded_region {
    pub bytes: *const c_void,
    pub size: usize,
    pub base: *const c_void,
}

pub type tare_tile_shape = c_uint;
pub const TARE_TILE_16X16: tare_tile_shape = 1;
pub const TARE_TILE_8X32: tare_tile_shape = 2;
pub const TARE_TILE_32X8: tare_tile_shape = 4;
pub const TARE_TILE_1X256: tare_tile_shape = 8;

pub type tare_tile_predictor = c_uint;
pub const TARE_TILE_PREDICTOR_NONE: tare_tile_predictor = 1;
pub const TARE_TILE_PREDICTOR_DC: tare_tile_predictor = 2;
pub const TARE_TILE_PREDICTOR_LEFT: tare_tile_predictor = 4;
pub const TARE_TILE_PREDICTOR_TOP: tare_tile_predictor = 8;
pub const TARE_TILE_PREDICTOR_AVG: tare_tile_predictor = 16;
pub const TARE_TILE_PREDICTOR_PLANAR: tare_tile_predictor = 32;

pub type tare_tile_transform = c_uint;
pub const TARE_TILE_TRANSFORM_NONE: tare_tile_transform = 1;
pub const TARE_TILE_TRANSFORM_DCT: tare_tile_transform = 2;
pub const TARE_TILE_TRANSFORM_ADST: tare_tile_transform = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_tile_limits {
    pub shapes: u32,
    pub predictors: u32,
    pub transforms: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_coded_options {
    pub size: usize,
    pub context: *const tare_context,
    pub is_full: bool,
    pub is_coarse: bool,
    pub n_groups: c_uint,
    pub tiles: tare_tile_limits,
}

extern "C" {
    pub fn tare_coded_options_init(x: *mut tare_coded_options, size: usize);
    pub fn tare_coded_encode(out: *mut *mut tare_coded, regions: *const tare_coded_region, n_regions: usize, fields: *const tare_coded_field, n_fields: usize, options: *const tare_coded_options, err: *mut tare_error) -> tare_status;
    pub fn tare_coded_free(coded: *mut tare_coded);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_coded_stream {
    pub field: tare_coded_field,
    pub n_bytes: u64,
    pub segment_bytes: u64,
    pub n_segments: u64,
    pub sizes: *const u32,
    pub position: u64,
    pub head_bytes: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_coded_layer {
    pub data: *const u8,
    pub size: u64,
    pub crc: u32,
    pub n_regions: c_uint,
    pub n_streams: c_uint,
    pub region_bytes: [u64; 4],
    pub streams: *const tare_coded_stream,
    pub file: *const c_char,
    pub offset: u64,
    pub base: c_uint,
}

extern "C" {
    pub fn tare_coded_describe(coded: *const tare_coded) -> *const tare_coded_layer;
    pub fn tare_coded_open(out: *mut *mut tare_coded, layer: *const tare_coded_layer, bases: *const *const c_void, options: *const tare_coded_options, err: *mut tare_error) -> tare_status;
    pub fn tare_coded_decode_region(dst: *mut c_void, coded: *const tare_coded, region: c_uint, offset: u64, n: usize, options: *const tare_coded_options, err: *mut tare_error) -> tare_status;
    pub fn tare_coded_decode_layer(dst: *const *mut c_void, coded: *const tare_coded, options: *const tare_coded_options, err: *mut tare_error) -> tare_status;
    pub fn tare_coded_decode_segments(dst: *mut c_void, coded: *const tare_coded, stream: c_uint, first: u64, n: u64, options: *const tare_coded_options, err: *mut tare_error) -> tare_status;
}

pub type tare_coded_form = c_uint;
pub const TARE_CODED_PLAIN: tare_coded_form = 0;
pub const TARE_CODED_SIGN: tare_coded_form = 1;
pub const TARE_CODED_EDGE: tare_coded_form = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_coded_rule {
    pub form: u8,
    pub bypass_bits: u8,
    pub trellis: u8,
    pub has_map: bool,
    pub map: [u16; 64],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_coded_table {
    pub n_symbols: u8,
    pub threshold: [u8; 64],
    pub alias: [u8; 64],
    pub frequency: [u16; 64],
    pub adjust: [u16; 64],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_coded_head {
    pub n_rules: c_uint,
    pub n_tables64: c_uint,
    pub n_tables16: c_uint,
    pub n_contexts: c_uint,
    pub rules: *const tare_coded_rule,
    pub tables64: *const tare_coded_table,
    pub tables16: *const tare_coded_table,
    pub contexts: *const u8,
}

extern "C" {
    pub fn tare_coded_stream_head(coded: *const tare_coded, stream: c_uint) -> *const tare_coded_head;
}

pub type tare_coded_predictor = c_uint;
pub const TARE_CODED_NO_PREDICTOR: tare_coded_predictor = 0;
pub const TARE_CODED_REF: tare_coded_predictor = 1;
pub const TARE_CODED_REF_SCALED: tare_coded_predictor = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_coded_segment {
    pub size: usize,
    pub position: u64,
    pub stored_bytes: u32,
    pub n_bytes: u32,
    pub mode: u8,
    pub predictor: u8,
    pub crc: u32,
    pub body: u32,
    pub body_bytes: u32,
    pub pattern: [u8; 4],
    pub states: u32,
    pub words: [u32; 2],
    pub n_words: [u32; 2],
    pub rule: u8,
    pub first_table: u8,
    pub n_classes: u8,
    pub class_table: u8,
    pub n_positions: u32,
    pub patches: u32,
    pub patches_bytes: u32,
    pub n_patches: u32,
    pub patch_rice: u8,
    pub n_groups: u8,
    pub group_bits: [u8; 5],
    pub groups: [u32; 5],
    pub groups_bytes: [u32; 5],
    pub tile_shape: u8,
    pub magnitude_bits: u8,
    pub is_signed: bool,
    pub view_width: u32,
}

extern "C" {
    pub fn tare_coded_segment_init(x: *mut tare_coded_segment, size: usize);
    pub fn tare_coded_parse_segment(out: *mut tare_coded_segment, coded: *const tare_coded, stream: c_uint, segment: u64, err: *mut tare_error) -> tare_status;
    pub fn tare_coded_borrow(coded: *const tare_coded, position: u64, n: usize) -> *const u8;
    pub fn tare_coded_read(dst: *mut c_void, coded: *const tare_coded, position: u64, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_coded_read_base(dst: *mut c_void, coded: *const tare_coded, region: c_uint, offset: u64, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_coder_new(out: *mut *mut tare_coder, field: *const tare_coded_field, bytes: *const c_void, n: usize, base: *const c_void, options: *const tare_coded_options, err: *mut tare_error) -> tare_status;
    pub fn tare_coder_free(coder: *mut tare_coder);
    pub fn tare_coder_head(n: *mut usize, coder: *const tare_coder) -> *const u8;
    pub fn tare_coder_segment_bytes(coder: *const tare_coder) -> usize;
    pub fn tare_coder_bound(coder: *const tare_coder, n: usize) -> usize;
    pub fn tare_coder_encode(dst: *mut c_void, written: *mut usize, sizes: *mut u32, coder: *const tare_coder, bytes: *const c_void, n: usize, base: *const c_void, options: *const tare_coded_options, err: *mut tare_error) -> tare_status;
}

pub type tare_effort = c_uint;
pub const TARE_EFFORT_FAST: tare_effort = 0;
pub const TARE_EFFORT_FULL: tare_effort = 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_packed_layer {
    pub name: tare_str,
    pub encoding: *const tare_encoding,
    pub from_bytes: u64,
    pub to_bytes: u64,
    pub is_shared: bool,
}

pub type tare_packed_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, layer: *const tare_packed_layer)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_lossy_options {
    pub size: usize,
    pub target_bytes: u64,
    pub target_bpw: f64,
    pub target_damage: f64,
    pub importance: *const tare_importance,
    pub sensitivities: tare_str,
}

extern "C" {
    pub fn tare_lossy_options_init(x: *mut tare_lossy_options, size: usize);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_pack_options {
    pub size: usize,
    pub context: *const tare_context,
    pub output: *const tare_output_options,
    pub effort: tare_effort,
    pub mode: tare_coded_mode,
    pub log2_segment: c_uint,
    pub directory: *const c_char,
    pub exclude: *const *const c_char,
    pub n_exclude: usize,
    pub bases: *const *const tare_model,
    pub base_hints: *const *const c_char,
    pub n_bases: usize,
    pub packed: tare_packed_fn,
    pub packed_ctx: *mut c_void,
    pub is_for_gpu: bool,
    pub tiles: tare_tile_limits,
    pub lossy: *const tare_lossy_options,
}

extern "C" {
    pub fn tare_pack_options_init(x: *mut tare_pack_options, size: usize);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_pack_summary {
    pub size: usize,
    pub n_files: usize,
    pub n_tensors: usize,
    pub n_shared: usize,
    pub n_referring: usize,
    pub from_bytes: u64,
    pub to_bytes: u64,
    pub n_lossy: usize,
    pub bits_per_weight: f64,
    pub damage: f64,
}

extern "C" {
    pub fn tare_pack_summary_init(x: *mut tare_pack_summary, size: usize);
    pub fn tare_pack(out: *mut tare_pack_summary, out_path: *const c_char, r#in: *const tare_model, options: *const tare_pack_options, err: *mut tare_error) -> tare_status;
    pub fn tare_pack_to(out: *mut tare_pack_summary, output: *const tare_output, r#in: *const tare_model, options: *const tare_pack_options, err: *mut tare_error) -> tare_status;
    pub fn tare_count_models(out: *mut usize, folder: *const c_char, err: *mut tare_error) -> tare_status;
    pub fn tare_pack_ladder(out: *mut tare_pack_summary, out_path: *const c_char, folder: *const c_char, options: *const tare_pack_options, err: *mut tare_error) -> tare_status;
    pub fn tare_pack_add(out: *mut tare_pack_summary, container: *const c_char, path: *const c_char, options: *const tare_pack_options, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_lossy_info {
    pub size: usize,
    pub bits_per_weight: f64,
    pub target_bpw: f64,
    pub target_bytes: u64,
    pub target_damage: f64,
    pub lambda: f64,
    pub damage: f64,
    pub n_tensors: usize,
    pub is_weighted: bool,
    pub method: tare_str,
    pub container: tare_str,
    pub source: [u8; 32],
}

extern "C" {
    pub fn tare_lossy_info_init(x: *mut tare_lossy_info, size: usize);
    pub fn tare_model_lossy(out: *mut tare_lossy_info, model: *const tare_model) -> bool;
}

pub type tare_dedup = c_uint;
pub const TARE_DEDUP_TIED: tare_dedup = 0;
pub const TARE_DEDUP_ALL: tare_dedup = 1;
pub const TARE_DEDUP_NONE: tare_dedup = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_convert_mcf_options {
    pub size: usize,
    pub compat: tare_compat,
    pub dedup: tare_dedup,
    pub has_clip: bool,
    pub clip_min: f32,
    pub clip_max: f32,
}

extern "C" {
    pub fn tare_convert_mcf_options_init(x: *mut tare_convert_mcf_options, size: usize);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_convert_infq_options {
    pub size: usize,
    pub adapters: *const tare_adapter_use,
    pub n_adapters: usize,
    pub outlier_threshold: f32,
    pub outlier_share: f64,
}

extern "C" {
    pub fn tare_convert_infq_options_init(x: *mut tare_convert_infq_options, size: usize);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_convert_wcodec_options {
    pub size: usize,
    pub effort: tare_effort,
    pub bases: *const *const tare_model,
    pub base_hints: *const *const c_char,
    pub n_bases: usize,
}

extern "C" {
    pub fn tare_convert_wcodec_options_init(x: *mut tare_convert_wcodec_options, size: usize);
    pub fn tare_verify_derived(is_derived: *mut bool, model: *const tare_model, source: *const tare_model, importance: *const tare_importance, context: *const tare_context, err: *mut tare_error) -> tare_status;
    pub fn tare_device_open(out: *mut *mut tare_device, name: *const c_char, err: *mut tare_error) -> tare_status;
    pub fn tare_device_free(device: *mut tare_device);
    pub fn tare_device_name(device: *const tare_device) -> *const c_char;
    pub fn tare_device_number(device: *const tare_device) -> c_uint;
    pub fn tare_device_alloc(out: *mut *mut c_void, device: *mut tare_device, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_device_release(device: *mut tare_device, memory: *mut c_void);
    pub fn tare_device_upload(memory: *mut c_void, device: *mut tare_device, from: *const c_void, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_device_download(to: *mut c_void, device: *mut tare_device, memory: *const c_void, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_device_decode_layer(dst: *const *mut c_void, device: *mut tare_device, coded: *const tare_coded, err: *mut tare_error) -> tare_status;
    pub fn tare_device_layer_new(out: *mut *mut tare_device_layer, device: *mut tare_device, coded: *const tare_coded, err: *mut tare_error) -> tare_status;
    pub fn tare_device_layer_free(layer: *mut tare_device_layer);
    pub fn tare_device_layer_decode(layer: *mut tare_device_layer, err: *mut tare_error) -> tare_status;
    pub fn tare_device_layer_fetch(dst: *const *mut c_void, layer: *const tare_device_layer, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_device_job {
    pub size: usize,
    pub tensor: usize,
    pub planes: [*mut c_void; 4],
}

extern "C" {
    pub fn tare_device_job_init(x: *mut tare_device_job, size: usize);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_device_load_options {
    pub size: usize,
    pub context: *const tare_context,
    pub window: u64,
    pub stream: *mut c_void,
}

extern "C" {
    pub fn tare_device_load_options_init(x: *mut tare_device_load_options, size: usize);
    pub fn tare_device_load(device: *mut tare_device, model: *const tare_model, jobs: *const tare_device_job, n: usize, options: *const tare_device_load_options, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_device_counts {
    pub size: usize,
    pub n_layers: u64,
    pub n_bytes: u64,
    pub n_left: u64,
    pub reason: *const c_char,
    pub n_segments: u64,
    pub n_host_segments: u64,
}

extern "C" {
    pub fn tare_device_counts_init(x: *mut tare_device_counts, size: usize);
    pub fn tare_device_count(out: *mut tare_device_counts, device: *const tare_device) -> tare_status;
}

pub type tare_edit_kind = c_uint;
pub const TARE_EDIT_SET_KEY: tare_edit_kind = 0;
pub const TARE_EDIT_REMOVE_KEYS: tare_edit_kind = 1;
pub const TARE_EDIT_RENAME_KEYS: tare_edit_kind = 2;
pub const TARE_EDIT_TYPE_KEY: tare_edit_kind = 3;
pub const TARE_EDIT_RENAME_TENSORS: tare_edit_kind = 4;
pub const TARE_EDIT_DROP_TENSORS: tare_edit_kind = 5;
pub const TARE_EDIT_KEEP_TENSORS: tare_edit_kind = 6;
pub const TARE_EDIT_CHAT_TEMPLATE: tare_edit_kind = 7;
pub const TARE_EDIT_SPECIAL_TOKEN: tare_edit_kind = 8;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_edit_step {
    pub kind: tare_edit_kind,
    pub name: tare_str,
    pub text: tare_str,
    pub r#type: *const c_char,
}

pub type tare_edit_way = c_uint;
pub const TARE_EDIT_AUTO: tare_edit_way = 0;
pub const TARE_EDIT_IN_PLACE: tare_edit_way = 1;
pub const TARE_EDIT_REWRITE: tare_edit_way = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_edit_options {
    pub size: usize,
    pub context: *const tare_context,
    pub output: *const tare_output_options,
    pub out_path: *const c_char,
    pub way: tare_edit_way,
    pub spare: u64,
    pub keep_time: bool,
}

extern "C" {
    pub fn tare_edit_options_init(x: *mut tare_edit_options, size: usize);
    pub fn tare_edit_new(out: *mut *mut tare_edit, path: *const c_char, steps: *const tare_edit_step, n_steps: usize, options: *const tare_edit_options, err: *mut tare_error) -> tare_status;
    pub fn tare_edit_free(edit: *mut tare_edit);
    pub fn tare_tensors_rename(out: *mut *mut tare_model, r#in: *const tare_model, steps: *const tare_edit_step, n_steps: usize, options: *const tare_open_options, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_edit_summary {
    pub format: *const c_char,
    pub n_changes: usize,
    pub n_files: usize,
    pub is_in_place: bool,
    pub changed_bytes: u64,
    pub written_bytes: u64,
}

extern "C" {
    pub fn tare_edit_summarize(edit: *const tare_edit) -> *const tare_edit_summary;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_edit_change {
    pub kind: tare_item_kind,
    pub old_key: *const tare_metadata,
    pub new_key: *const tare_metadata,
    pub old_tensor: *const tare_tensor,
    pub new_tensor: *const tare_tensor,
    pub old_resource: *const tare_resource,
    pub new_resource: *const tare_resource,
}

extern "C" {
    pub fn tare_edit_change_at(edit: *const tare_edit, i: usize) -> *const tare_edit_change;
}

pub type tare_edit_action = c_uint;
pub const TARE_EDIT_KEPT: tare_edit_action = 0;
pub const TARE_EDIT_PATCHED: tare_edit_action = 1;
pub const TARE_EDIT_WRITTEN: tare_edit_action = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_edit_file {
    pub path: *const c_char,
    pub action: tare_edit_action,
    pub old_size: u64,
    pub new_size: u64,
    pub changed_bytes: u64,
}

extern "C" {
    pub fn tare_edit_file_at(edit: *const tare_edit, i: usize) -> *const tare_edit_file;
    pub fn tare_edit_run(edit: *const tare_edit, err: *mut tare_error) -> tare_status;
}

pub type tare_edit_recovery = c_uint;
pub const TARE_EDIT_NOTHING: tare_edit_recovery = 0;
pub const TARE_EDIT_UNDONE: tare_edit_recovery = 1;
pub const TARE_EDIT_FINISHED: tare_edit_recovery = 2;

extern "C" {
    pub fn tare_edit_recover(out: *mut tare_edit_recovery, path: *const c_char, allocator: *const tare_allocator, err: *mut tare_error) -> tare_status;
    pub fn tare_edit_is_special_token(key: tare_str) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_scheme_info {
    pub size: usize,
    pub name: *const c_char,
    pub description: *const c_char,
}

extern "C" {
    pub fn tare_scheme_info_init(x: *mut tare_scheme_info, size: usize);
    pub fn tare_scheme_at(out: *mut tare_scheme_info, i: usize) -> bool;
    pub fn tare_scheme_is_named(text: *const c_char) -> bool;
    pub fn tare_scheme_format(text: *const c_char) -> *const c_char;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_scheme_rule {
    pub pattern: *const c_char,
    pub scheme: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_scheme_options {
    pub size: usize,
    pub context: *const tare_context,
    pub scheme: *const c_char,
    pub rules: *const tare_scheme_rule,
    pub n_rules: usize,
    pub importance: *const tare_importance,
    pub strict: bool,
}

extern "C" {
    pub fn tare_scheme_options_init(x: *mut tare_scheme_options, size: usize);
    pub fn tare_scheme_apply(out: *mut *mut tare_model, r#in: *const tare_model, options: *const tare_scheme_options, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_fit_options {
    pub size: usize,
    pub types: *const *const tare_encoding,
    pub n_types: usize,
    pub sensitivities: tare_str,
    pub check_output: bool,
    pub schemes: *const *const c_char,
    pub n_schemes: usize,
}

extern "C" {
    pub fn tare_fit_options_init(x: *mut tare_fit_options, size: usize);
    pub fn tare_fit_new(out: *mut *mut tare_fit, out_path: *const c_char, r#in: *const tare_model, convert: *const tare_convert_options, options: *const tare_fit_options, err: *mut tare_error) -> tare_status;
    pub fn tare_fit_new_schemes(out: *mut *mut tare_fit, out_path: *const c_char, r#in: *const tare_model, schemes: *const tare_scheme_options, convert: *const tare_convert_options, options: *const tare_fit_options, err: *mut tare_error) -> tare_status;
    pub fn tare_fit_free(fit: *mut tare_fit);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_fit_target {
    pub size: usize,
    pub file_bytes: u64,
    pub bits_per_weight: f64,
    pub damage: f64,
}

extern "C" {
    pub fn tare_fit_target_init(x: *mut tare_fit_target, size: usize);
    pub fn tare_fit_choose(fit: *mut tare_fit, target: *const tare_fit_target, err: *mut tare_error) -> tare_status;
    pub fn tare_fit_apply(options: *mut tare_convert_options, mix: *mut tare_mix_options, fit: *const tare_fit, err: *mut tare_error) -> tare_status;
    pub fn tare_fit_apply_schemes(options: *mut tare_scheme_options, fit: *const tare_fit, err: *mut tare_error) -> tare_status;
    pub fn tare_fit_rule(fit: *const tare_fit, i: usize) -> *const tare_type_rule;
    pub fn tare_fit_mix(fit: *const tare_fit) -> *const tare_mix;
    pub fn tare_mix_of_rules(out: *mut *const tare_mix, r#in: *const tare_model, rules: *const tare_type_rule, n_rules: usize, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_fit_summary {
    pub file_bytes: u64,
    pub tensor_bytes: u64,
    pub bits_per_weight: f64,
    pub damage: f64,
    pub lambda: f64,
    pub damage_at_one_more: f64,
    pub one_more_bytes: u64,
    pub smallest_bytes: u64,
    pub smallest_bits: f64,
    pub smallest_damage: f64,
    pub n_weights: u64,
    pub n_tensors: usize,
    pub predicts_tokens: bool,
}

extern "C" {
    pub fn tare_fit_summarize(fit: *const tare_fit) -> *const tare_fit_summary;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_fit_tensor {
    pub name: tare_str,
    pub role: *const c_char,
    pub r#type: *const tare_encoding,
    pub scheme: *const c_char,
    pub n_weights: u64,
    pub bytes: u64,
    pub sensitivity: f64,
    pub error: f64,
    pub damage: f64,
    pub is_measured: bool,
    pub is_pinned: bool,
}

extern "C" {
    pub fn tare_fit_tensor_at(out: *mut tare_fit_tensor, fit: *const tare_fit, i: usize) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_fit_role {
    pub name: *const c_char,
    pub n_tensors: usize,
    pub n_weights: u64,
    pub bytes: u64,
    pub damage: f64,
    pub one_more: f64,
}

extern "C" {
    pub fn tare_fit_role_at(out: *mut tare_fit_role, fit: *const tare_fit, i: usize) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_fit_point {
    pub mix: *const c_char,
    pub file_bytes: u64,
    pub bits_per_weight: f64,
    pub damage: f64,
}

extern "C" {
    pub fn tare_fit_mix_at(out: *mut tare_fit_point, fit: *const tare_fit, i: usize) -> bool;
    pub fn tare_fit_curve_at(out: *mut tare_fit_point, fit: *const tare_fit, i: usize) -> bool;
    pub fn tare_folder_models_list(out: *mut *mut tare_folder_models, source: *const tare_source, err: *mut tare_error) -> tare_status;
    pub fn tare_folder_models_count(list: *const tare_folder_models) -> usize;
    pub fn tare_folder_models_name(list: *const tare_folder_models, i: usize) -> *const c_char;
    pub fn tare_folder_models_path(list: *const tare_folder_models, i: usize) -> *const c_char;
    pub fn tare_folder_models_free(list: *mut tare_folder_models);
    pub fn tare_ollama_begin(manifest: *const c_char, weights: *const c_char, output: *const tare_output_options, err: *mut tare_error) -> tare_status;
    pub fn tare_ollama_add(manifest: *const c_char, weights: *const c_char, output: *const tare_output_options, context: *const tare_context, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_gguf_name {
    pub size: usize,
    pub sidecar: tare_str,
    pub base_name: tare_str,
    pub size_label: tare_str,
    pub fine_tune: tare_str,
    pub version: tare_str,
    pub encoding: tare_str,
    pub r#type: tare_str,
    pub shard: u32,
    pub n_shards: u32,
    pub is_version_assumed: bool,
}

extern "C" {
    pub fn tare_gguf_name_init(x: *mut tare_gguf_name, size: usize);
    pub fn tare_gguf_name_parse(out: *mut tare_gguf_name, name: tare_str) -> bool;
    pub fn tare_gguf_name_format(buf: *mut c_char, size: usize, name: *const tare_gguf_name) -> usize;
    pub fn tare_gguf_name_of_model(out: *mut tare_gguf_name, buf: *mut c_char, size: usize, model: *const tare_model);
}

pub type tare_llama_nextn = c_uint;
pub const TARE_LLAMA_NEXTN_TOO: tare_llama_nextn = 0;
pub const TARE_LLAMA_NEXTN_LEFT_OUT: tare_llama_nextn = 1;
pub const TARE_LLAMA_NEXTN_ALONE: tare_llama_nextn = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_llama_options {
    pub size: usize,
    pub context: *const tare_context,
    pub name: *const c_char,
    pub directory: *const c_char,
    pub metadata: tare_str,
    pub pre: *const c_char,
    pub r#type: *const tare_encoding,
    pub vocab_only: bool,
    pub no_tokenizer: bool,
    pub like_reference: bool,
    pub tower: bool,
    pub nextn: tare_llama_nextn,
    pub target: *const tare_model,
}

extern "C" {
    pub fn tare_llama_options_init(x: *mut tare_llama_options, size: usize);
    pub fn tare_llama_can_map(hf_class: *mut tare_str, model: *const tare_model) -> bool;
    pub fn tare_llama_map(out: *mut *mut tare_model, r#in: *const tare_model, options: *const tare_llama_options, err: *mut tare_error) -> tare_status;
    pub fn tare_llama_map_adapter(out: *mut *mut tare_model, factors: *const tare_model, peft_config: tare_str, base: *const tare_model, options: *const tare_llama_options, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_llama_restore_options {
    pub size: usize,
    pub context: *const tare_context,
    pub r#type: *const tare_encoding,
    pub tower: *const tare_model,
}

extern "C" {
    pub fn tare_llama_restore_options_init(x: *mut tare_llama_restore_options, size: usize);
    pub fn tare_llama_can_restore(architecture: *mut tare_str, model: *const tare_model) -> bool;
    pub fn tare_llama_restore(out: *mut *mut tare_model, r#in: *const tare_model, options: *const tare_llama_restore_options, err: *mut tare_error) -> tare_status;
}

pub type tare_llama_naming = c_uint;
pub const TARE_LLAMA_NAMES_KEPT: tare_llama_naming = 0;
pub const TARE_LLAMA_NAMES_LLAMA_CPP: tare_llama_naming = 1;
pub const TARE_LLAMA_NAMES_HUGGING_FACE: tare_llama_naming = 2;
pub const TARE_LLAMA_NAMES_WHISPER_CPP: tare_llama_naming = 3;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_llama_translate_options {
    pub size: usize,
    pub context: *const tare_context,
    pub keep_names: bool,
    pub opaque: bool,
    pub r#type: *const tare_encoding,
    pub llama: *const tare_llama_options,
    pub tower: *const tare_model,
}

extern "C" {
    pub fn tare_llama_translate_options_init(x: *mut tare_llama_translate_options, size: usize);
    pub fn tare_llama_naming_of(r#in: *const tare_model, to: *const c_char, options: *const tare_llama_translate_options) -> tare_llama_naming;
    pub fn tare_llama_translate(out: *mut *mut tare_model, r#in: *const tare_model, to: *const c_char, options: *const tare_llama_translate_options, err: *mut tare_error) -> tare_status;
    pub fn tare_llama_changes_names(r#in: *const tare_model, to: *const c_char, options: *const tare_llama_translate_options) -> bool;
    pub fn tare_llama_map_like(out: *mut *mut tare_model, r#in: *const tare_model, to: *const tare_model, options: *const tare_llama_options, err: *mut tare_error) -> tare_status;
    pub fn tare_llama_can_run(model: *const tare_model, why: *mut tare_error) -> bool;
    pub fn tare_llama_is_draft(model: *const tare_model) -> bool;
    pub fn tare_llama_stated(has_chat_template: *mut bool, license: *mut c_char, size: usize, model: *const tare_model, context: *const tare_context, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_llama_origin {
    pub source: tare_str,
    pub n_sources: usize,
    pub operation: *const c_char,
}

extern "C" {
    pub fn tare_llama_origin_of(model: *const tare_model, tensor: usize) -> *const tare_llama_origin;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_llama_known {
    pub size: usize,
    pub architecture: *const c_char,
    pub classes: *const c_char,
    pub projector: *const c_char,
}

extern "C" {
    pub fn tare_llama_known_init(x: *mut tare_llama_known, size: usize);
    pub fn tare_llama_known_at(out: *mut tare_llama_known, i: usize) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_unpack_options {
    pub size: usize,
    pub context: *const tare_context,
    pub output: *const tare_output_options,
    pub salvage: bool,
    pub is_coarse: bool,
    pub groups: c_uint,
    pub bases: *const *const tare_model,
    pub n_bases: usize,
    pub device: *mut tare_device,
    pub file: *const c_char,
}

extern "C" {
    pub fn tare_unpack_options_init(x: *mut tare_unpack_options, size: usize);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_unpack_result {
    pub size: usize,
    pub is_directory: bool,
    pub n_files: usize,
    pub n_bytes: u64,
    pub packed_bytes: u64,
    pub n_lost: usize,
    pub n_coarse: usize,
    pub n_whole: usize,
    pub n_tensors_damaged: usize,
    pub n_files_lost: usize,
    pub is_unchecked: bool,
}

extern "C" {
    pub fn tare_unpack_result_init(x: *mut tare_unpack_result, size: usize);
    pub fn tare_unpack(out: *mut tare_unpack_result, out_path: *const c_char, r#in: *const tare_source, options: *const tare_unpack_options, err: *mut tare_error) -> tare_status;
    pub fn tare_unpack_fd(out: *mut tare_unpack_result, fd: c_int, r#in: *const tare_source, options: *const tare_unpack_options, err: *mut tare_error) -> tare_status;
    pub fn tare_unpack_to(out: *mut tare_unpack_result, output: *const tare_output, r#in: *const tare_source, options: *const tare_unpack_options, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_container_info {
    pub size: usize,
    pub major_version: u32,
    pub minor_version: u32,
    pub format: *const c_char,
    pub format_version: u32,
    pub packed_bytes: u64,
    pub unpacked_bytes: u64,
    pub is_directory: bool,
    pub n_files: usize,
    pub n_bases: usize,
    pub is_for_gpu: bool,
    pub n_layers: usize,
}

extern "C" {
    pub fn tare_container_info_init(x: *mut tare_container_info, size: usize);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_container_base {
    pub size: usize,
    pub name: tare_str,
    pub digest: [u8; 32],
    pub n_tensors: usize,
}

extern "C" {
    pub fn tare_container_base_init(x: *mut tare_container_base, size: usize);
    pub fn tare_model_container(out: *mut tare_container_info, model: *const tare_model) -> bool;
    pub fn tare_model_container_base(out: *mut tare_container_base, model: *const tare_model, i: usize) -> bool;
}

pub type tare_layer_kind = c_uint;
pub const TARE_LAYER_TENSOR: tare_layer_kind = 0;
pub const TARE_LAYER_BYTES: tare_layer_kind = 1;
pub const TARE_LAYER_METADATA: tare_layer_kind = 2;
pub const TARE_LAYER_RESOURCE: tare_layer_kind = 3;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_container_layer {
    pub size: usize,
    pub kind: tare_layer_kind,
    pub name: tare_str,
    pub encoding: *const tare_encoding,
    pub n_dims: u32,
    pub dims: *const u64,
    pub is_big_endian: bool,
    pub from_bytes: u64,
    pub to_bytes: u64,
    pub base: c_uint,
}

extern "C" {
    pub fn tare_container_layer_init(x: *mut tare_container_layer, size: usize);
    pub fn tare_model_container_layer(out: *mut tare_container_layer, model: *const tare_model, i: usize) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_container_file {
    pub size: usize,
    pub name: tare_str,
    pub size_bytes: u64,
    pub packed_bytes: u64,
    pub n_tensors: usize,
    pub n_derived: usize,
    pub n_weights: u64,
    pub tensor_bytes: u64,
}

extern "C" {
    pub fn tare_container_file_init(x: *mut tare_container_file, size: usize);
    pub fn tare_model_container_file(out: *mut tare_container_file, model: *const tare_model, i: usize) -> bool;
    pub fn tare_tensor_packed_bytes(out: *mut u64, model: *const tare_model, tensor: usize) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_coded_place {
    pub region: c_uint,
    pub offset: u64,
}

extern "C" {
    pub fn tare_tensor_coded(out: *mut *mut tare_coded, places: *mut tare_coded_place, model: *const tare_model, tensor: usize, options: *const tare_coded_options, err: *mut tare_error) -> tare_status;
    pub fn tare_model_layer_coded(out: *mut *mut tare_coded, model: *const tare_model, i: usize, options: *const tare_coded_options, err: *mut tare_error) -> tare_status;
}

pub type tare_verb = c_uint;
pub const TARE_VERB_CONVERT: tare_verb = 0;
pub const TARE_VERB_QUANTIZE: tare_verb = 1;
pub const TARE_VERB_PACK: tare_verb = 2;
pub const TARE_VERB_UNPACK: tare_verb = 3;

pub type tare_option_kind = c_uint;
pub const TARE_OPTION_BOOL: tare_option_kind = 0;
pub const TARE_OPTION_NUMBER: tare_option_kind = 1;
pub const TARE_OPTION_SIZE: tare_option_kind = 2;
pub const TARE_OPTION_REAL: tare_option_kind = 3;
pub const TARE_OPTION_TEXT: tare_option_kind = 4;
pub const TARE_OPTION_CHOICE: tare_option_kind = 5;
pub const TARE_OPTION_TYPE: tare_option_kind = 6;
pub const TARE_OPTION_RULE: tare_option_kind = 7;
pub const TARE_OPTION_RANGE: tare_option_kind = 8;
pub const TARE_OPTION_SHARE: tare_option_kind = 9;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_option_info {
    pub size: usize,
    pub name: *const c_char,
    pub kind: tare_option_kind,
    pub choices: *const c_char,
    pub default_value: *const c_char,
    pub help: *const c_char,
    pub is_list: bool,
}

extern "C" {
    pub fn tare_option_info_init(x: *mut tare_option_info, size: usize);
    pub fn tare_option_at(out: *mut tare_option_info, verb: tare_verb, i: usize) -> bool;
    pub fn tare_options_new(out: *mut *mut tare_options, verb: tare_verb, allocator: *const tare_allocator, err: *mut tare_error) -> tare_status;
    pub fn tare_options_free(options: *mut tare_options);
    pub fn tare_option_set(options: *mut tare_options, name: *const c_char, value: *const c_char, err: *mut tare_error) -> tare_status;
    pub fn tare_options_convert(options: *mut tare_options) -> *mut tare_convert_options;
    pub fn tare_options_pack(options: *mut tare_options) -> *mut tare_pack_options;
    pub fn tare_options_unpack(options: *mut tare_options) -> *mut tare_unpack_options;
    pub fn tare_options_context(options: *mut tare_options) -> *mut tare_context;
    pub fn tare_options_fit(options: *mut tare_options) -> *mut tare_fit_options;
    pub fn tare_options_target(options: *const tare_options) -> *const tare_fit_target;
    pub fn tare_size_parse(out: *mut u64, text: *const c_char) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_view_options {
    pub size: usize,
    pub context: *const tare_context,
    pub cache_bytes: u64,
    pub no_ahead: bool,
}

extern "C" {
    pub fn tare_view_options_init(x: *mut tare_view_options, size: usize);
}

pub type tare_view_kind = c_uint;
pub const TARE_VIEW_FILE: tare_view_kind = 0;
pub const TARE_VIEW_LINK: tare_view_kind = 1;
pub const TARE_VIEW_FOLDER: tare_view_kind = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_view_file {
    pub size: usize,
    pub kind: tare_view_kind,
    pub name: tare_str,
    pub n_bytes: u64,
    pub target: tare_str,
    pub is_stated: bool,
    pub mode: u16,
    pub nanoseconds: u32,
    pub seconds: i64,
}

extern "C" {
    pub fn tare_view_file_init(x: *mut tare_view_file, size: usize);
    pub fn tare_view_new(out: *mut *mut tare_view, options: *const tare_view_options, err: *mut tare_error) -> tare_status;
    pub fn tare_view_free(view: *mut tare_view);
    pub fn tare_view_add_packed(view: *mut tare_view, name: *const c_char, source: *const tare_source, options: *const tare_open_options, err: *mut tare_error) -> tare_status;
    pub fn tare_view_add_plan(view: *mut tare_view, name: *const c_char, plan: *const tare_plan, err: *mut tare_error) -> tare_status;
    pub fn tare_view_add_folder(view: *mut tare_view, path: *const c_char, recursive: bool, options: *const tare_open_options, err: *mut tare_error) -> tare_status;
    pub fn tare_view_count(view: *const tare_view) -> usize;
    pub fn tare_view_at(out: *mut tare_view_file, view: *const tare_view, i: usize) -> bool;
    pub fn tare_view_read(buf: *mut c_void, view: *mut tare_view, i: usize, offset: u64, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_view_read_alone(buf: *mut c_void, view: *mut tare_view, i: usize, offset: u64, n: usize, err: *mut tare_error) -> tare_status;
    pub fn tare_view_grain(begin: *mut u64, end: *mut u64, view: *const tare_view, i: usize, offset: u64);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_part_options {
    pub size: usize,
    pub context: *const tare_context,
    pub output: *const tare_output_options,
    pub index: u32,
    pub count: u32,
    pub is_shared: bool,
    pub inputs: *const *const c_char,
    pub n_inputs: usize,
    pub key: tare_str,
}

extern "C" {
    pub fn tare_part_options_init(x: *mut tare_part_options, size: usize);
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_part_result {
    pub size: usize,
    pub begin: u64,
    pub end: u64,
    pub total_bytes: u64,
    pub work: u64,
    pub total_work: u64,
    pub was_done: bool,
}

extern "C" {
    pub fn tare_part_result_init(x: *mut tare_part_result, size: usize);
    pub fn tare_part_of_plan(out: *mut tare_part_result, plan: *const tare_plan, options: *const tare_part_options, err: *mut tare_error) -> tare_status;
    pub fn tare_part_of_pack(out: *mut tare_part_result, out_path: *const c_char, r#in: *const tare_model, pack_options: *const tare_pack_options, options: *const tare_part_options, err: *mut tare_error) -> tare_status;
    pub fn tare_part_of_manifest(out: *mut tare_part_result, out_path: *const c_char, model: *const tare_model, options: *const tare_part_options, err: *mut tare_error) -> tare_status;
    pub fn tare_part_of_view(out: *mut tare_part_result, out_path: *const c_char, view: *mut tare_view, options: *const tare_part_options, err: *mut tare_error) -> tare_status;
    pub fn tare_part_of_verify(model: *const tare_model, index: u32, count: u32, context: *const tare_context, err: *mut tare_error) -> tare_status;
}

pub type tare_part_state = c_uint;
pub const TARE_PART_MISSING: tare_part_state = 0;
pub const TARE_PART_DONE: tare_part_state = 1;
pub const TARE_PART_UNFINISHED: tare_part_state = 2;
pub const TARE_PART_STALE: tare_part_state = 3;
pub const TARE_PART_FOREIGN: tare_part_state = 4;
pub const TARE_PART_DOUBLED: tare_part_state = 5;
pub const TARE_PART_DAMAGED: tare_part_state = 6;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_part_info {
    pub size: usize,
    pub index: u32,
    pub count: u32,
    pub state: tare_part_state,
    pub against: u32,
    pub name: tare_str,
    pub begin: u64,
    pub end: u64,
}

extern "C" {
    pub fn tare_part_info_init(x: *mut tare_part_info, size: usize);
    pub fn tare_parts_open(out: *mut *mut tare_parts, out_path: *const c_char, context: *const tare_context, err: *mut tare_error) -> tare_status;
    pub fn tare_parts_free(parts: *mut tare_parts);
    pub fn tare_parts_count(parts: *const tare_parts) -> u32;
    pub fn tare_parts_done(parts: *const tare_parts) -> u32;
    pub fn tare_parts_at(out: *mut tare_part_info, parts: *const tare_parts, i: usize) -> bool;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_join_result {
    pub size: usize,
    pub total_bytes: u64,
    pub n_files: usize,
    pub is_directory: bool,
}

extern "C" {
    pub fn tare_join_result_init(x: *mut tare_join_result, size: usize);
    pub fn tare_parts_join(out: *mut tare_join_result, parts: *const tare_parts, to: *const c_char, keep: bool, output: *const tare_output_options, err: *mut tare_error) -> tare_status;
    pub fn tare_pattern_new(out: *mut *mut tare_pattern, text: *const c_char, n: usize, allocator: *const tare_allocator, err: *mut tare_error) -> tare_status;
    pub fn tare_pattern_free(pattern: *mut tare_pattern);
    pub fn tare_pattern_matches(out: *mut bool, pattern: *mut tare_pattern, name: tare_str, err: *mut tare_error) -> tare_status;
    pub fn tare_policy_check(model: *const tare_model, policy: tare_str, context: *const tare_context, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_remote_options {
    pub size: usize,
    pub context: *const tare_context,
    pub hub_endpoint: *const c_char,
    pub hub_token: *const c_char,
    pub ca_file: *const c_char,
    pub ca_folder: *const c_char,
    pub proxy: *const c_char,
    pub whole_bytes: u64,
    pub cache_bytes: u64,
    pub connections: u32,
    pub retries: u32,
    pub backoff_ms: u32,
    pub connect_seconds: u32,
    pub stall_seconds: u32,
    pub is_offline: bool,
    pub hub_cache: *const c_char,
    pub s3_endpoint: *const c_char,
    pub s3_region: *const c_char,
    pub s3_access_key: *const c_char,
    pub s3_secret_key: *const c_char,
    pub s3_session_token: *const c_char,
}

extern "C" {
    pub fn tare_remote_options_init(x: *mut tare_remote_options, size: usize);
    pub fn tare_remote_new(out: *mut *mut tare_remote, options: *const tare_remote_options, err: *mut tare_error) -> tare_status;
    pub fn tare_remote_free(remote: *mut tare_remote);
    pub fn tare_is_url(text: *const c_char) -> bool;
    pub fn tare_url_public(buf: *mut c_char, size: usize, url: *const c_char) -> usize;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_download {
    pub path: *const c_char,
    pub size_bytes: u64,
    pub resumed_bytes: u64,
    pub is_present: bool,
    pub is_checked: bool,
}

pub type tare_download_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, file: *const tare_download)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_download_options {
    pub size: usize,
    pub context: *const tare_context,
    pub output: *const tare_output_options,
    pub done: tare_download_fn,
    pub done_ctx: *mut c_void,
}

extern "C" {
    pub fn tare_download_options_init(x: *mut tare_download_options, size: usize);
    pub fn tare_remote_download(folder: *const c_char, remote: *mut tare_remote, url: *const c_char, options: *const tare_download_options, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_upload {
    pub size: usize,
    pub name: *const c_char,
    pub id: *const c_char,
    pub begun: *const c_char,
    pub n_parts: u64,
    pub n_bytes: u64,
}

extern "C" {
    pub fn tare_upload_init(x: *mut tare_upload, size: usize);
}

pub type tare_upload_fn = Option<unsafe extern "C" fn(ctx: *mut c_void, upload: *const tare_upload)>;

extern "C" {
    pub fn tare_remote_uploads(remote: *mut tare_remote, url: *const c_char, aborts: bool, visit: tare_upload_fn, ctx: *mut c_void, err: *mut tare_error) -> tare_status;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tare_remote_counts {
    pub size: usize,
    pub requests: u64,
    pub retries: u64,
    pub redirects: u64,
    pub bytes: u64,
}

extern "C" {
    pub fn tare_remote_counts_init(x: *mut tare_remote_counts, size: usize);
    pub fn tare_remote_count(out: *mut tare_remote_counts, remote: *const tare_remote, err: *mut tare_error) -> tare_status;
}
