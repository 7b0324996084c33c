// SPDX-License-Identifier: MIT
//
//! libtare for Rust: what has to be freed frees itself, an error is an [`Error`], and nothing that is
//! not `unsafe` can break memory. What has no function here is called through [`sys`], as from C.
//!
//! ```no_run
//! # fn main() -> Result<(), tare::Error> {
//! let model = tare::Model::open("model.gguf")?;
//! for tensor in model.tensors() {
//!     println!("{} {:?} {}", tensor.name(), tensor.dims(), tensor.type_name());
//! }
//! let rows = model.tensor("output.weight").expect("there is none").rows(0, 2)?;
//! println!("{}", rows[0]);
//! tare::convert("model.safetensors", &model, None)?;
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

pub mod sys;

mod error;
mod model;
mod options;
mod verbs;

pub use error::Error;
pub use model::{Model, OpenOptions, Summary, Tensor};
pub use options::{ConvertOptions, PackOptions, UnpackOptions};
pub use verbs::{convert, pack, quantize, unpack, Packed, Unpacked};

use std::ffi::CStr;

/// The version of the library that runs, "major.minor.patch".
pub fn version() -> &'static str {
    // SAFETY: the library's texts are static and UTF-8.
    unsafe { CStr::from_ptr(sys::tare_version()) }.to_str().unwrap_or("")
}
