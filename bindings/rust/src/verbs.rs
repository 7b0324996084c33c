// SPDX-License-Identifier: MIT
//
// What the commands of these names do.
use crate::error::{path_of, Error};
use crate::model::{defaults, str_of, Model};
use crate::options::{ConvertOptions, PackOptions, UnpackOptions};
use crate::sys;
use std::path::Path;
use std::ptr::null;

/// Writes a model in another format or with other number formats; the path's suffix names the
/// format, unless the options do. A Hugging Face model that becomes GGUF gets llama.cpp's names.
pub fn convert<P: AsRef<Path>>(
    out: P,
    model: &Model,
    options: Option<&ConvertOptions>,
) -> Result<(), Error> {
    let path = path_of(out.as_ref())?;
    let options = options.map_or(null(), |o| o.as_ptr() as *const _);
    // SAFETY: all of it is valid for the call.
    Error::check(Some(&path), |err| unsafe {
        sys::tare_convert(path.as_ptr(), model.as_ptr(), options, err)
    })
}

/// The same with a mix of llama.cpp's: "Q4_K_M".
pub fn quantize<P: AsRef<Path>>(
    out: P,
    model: &Model,
    mix: &str,
    options: Option<&ConvertOptions>,
) -> Result<(), Error> {
    let path = path_of(out.as_ref())?;
    let options = options.map_or(null(), |o| o.as_ptr() as *const _);
    // SAFETY: all of it is valid for the call.
    Error::check(Some(&path), |err| unsafe {
        sys::tare_quantize(path.as_ptr(), model.as_ptr(), str_of(mix), options, err)
    })
}

/// What [`pack`] did.
#[derive(Clone, Copy, Debug)]
pub struct Packed {
    /// Bytes of the model's files.
    pub from_bytes: u64,
    /// Bytes of the .wcodec.
    pub to_bytes: u64,
}

/// Packs the files of a model into one .wcodec.
pub fn pack<P: AsRef<Path>>(
    out: P,
    model: &Model,
    options: Option<&PackOptions>,
) -> Result<Packed, Error> {
    let path = path_of(out.as_ref())?;
    let options = options.map_or(null(), |o| o.as_ptr() as *const _);
    // SAFETY: all of it is valid for the call.
    let mut summary = unsafe { defaults(sys::tare_pack_summary_init) };
    Error::check(Some(&path), |err| unsafe {
        sys::tare_pack(&mut summary, path.as_ptr(), model.as_ptr(), options, err)
    })?;
    Ok(Packed {
        from_bytes: summary.from_bytes,
        to_bytes: summary.to_bytes,
    })
}

/// What [`unpack`] did.
#[derive(Clone, Copy, Debug)]
pub struct Unpacked {
    /// How many files were written.
    pub n_files: usize,
    /// Their bytes.
    pub n_bytes: u64,
    /// Whether they are in a directory of the given name.
    pub is_directory: bool,
}

/// Writes the files that a .wcodec was packed from, byte for byte.
pub fn unpack<P: AsRef<Path>, Q: AsRef<Path>>(
    out: P,
    packed: Q,
    options: Option<&UnpackOptions>,
) -> Result<Unpacked, Error> {
    let (path, packed) = (path_of(out.as_ref())?, path_of(packed.as_ref())?);
    let options = options.map_or(null(), |o| o.as_ptr() as *const _);
    // SAFETY: all of it is valid for the call.
    let mut result = unsafe { defaults(sys::tare_unpack_result_init) };
    let mut source = unsafe { defaults(sys::tare_source_init) };
    source.kind = sys::TARE_SOURCE_PATH;
    source.name = packed.as_ptr();
    Error::check(Some(&packed), |err| unsafe {
        sys::tare_unpack(&mut result, path.as_ptr(), &source, options, err)
    })?;
    Ok(Unpacked {
        n_files: result.n_files,
        n_bytes: result.n_bytes,
        is_directory: result.is_directory,
    })
}
