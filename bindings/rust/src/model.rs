// SPDX-License-Identifier: MIT
//
// A model and its tensors.
use crate::error::{path_of, Error};
use crate::sys;
use std::borrow::Cow;
use std::ffi::CStr;
use std::path::Path;

/// How a model is opened; `OpenOptions::default()` as [`Model::open`] does it.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The tensors as they lie in the files: of packed weights (GPTQ, AWQ, ...) codes and scales.
    pub stored: bool,
    /// Opens a member of a set of shards alone.
    pub one_shard: bool,
    /// Maps the files, so that [`Tensor::borrow`] works. A file that is cut short while it is mapped
    /// ends the process (SIGBUS).
    pub map: bool,
}

/// What is known of a model as a whole.
#[derive(Clone, Debug)]
pub struct Summary {
    /// "gguf", "safetensors", "hf", ...
    pub format: &'static str,
    /// How many tensors it has.
    pub n_tensors: usize,
    /// Elements of all tensors.
    pub n_parameters: u64,
    /// Bytes of all files together.
    pub file_bytes: u64,
    /// Bytes of all tensors.
    pub tensor_bytes: u64,
}

/// A model, open for reading; any number of threads may use it at once.
pub struct Model {
    ptr: *mut sys::tare_model,
}

// SAFETY: a tare_model does not change once it is open, and any thread may read and free it.
unsafe impl Send for Model {}
unsafe impl Sync for Model {}

impl Model {
    /// Opens a file or directory; the format is found by content.
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Model, Error> {
        Model::open_with(path, &OpenOptions::default())
    }

    /// The same, with options.
    pub fn open_with<P: AsRef<Path>>(path: P, options: &OpenOptions) -> Result<Model, Error> {
        let path = path_of(path.as_ref())?;
        let mut given = unsafe { defaults(sys::tare_open_options_init) };
        given.stored = options.stored;
        given.one_shard = options.one_shard;
        given.map = if options.map {
            sys::TARE_MAP_READ
        } else {
            sys::TARE_MAP_NONE
        };
        let mut ptr = std::ptr::null_mut();
        // SAFETY: all pointers are valid for the call, which sets `ptr` or fails.
        Error::check(Some(&path), |err| unsafe {
            sys::tare_open_path(&mut ptr, path.as_ptr(), &given, err)
        })?;
        Ok(Model { ptr })
    }

    /// For calls of [`sys`]; valid as long as the model.
    pub fn as_ptr(&self) -> *const sys::tare_model {
        self.ptr
    }

    /// What is known of it as a whole.
    pub fn summary(&self) -> Summary {
        // SAFETY: the summary belongs to the model; its texts are static.
        unsafe {
            let s = &*sys::tare_model_summarize(self.ptr);
            Summary {
                format: static_text(s.format),
                n_tensors: s.n_tensors,
                n_parameters: s.n_parameters,
                file_bytes: s.file_bytes,
                tensor_bytes: s.tensor_bytes,
            }
        }
    }

    /// Its tensors, in the order of the file.
    pub fn tensors(&self) -> impl Iterator<Item = Tensor<'_>> {
        (0..self.summary().n_tensors).filter_map(move |i| self.at(i))
    }

    /// The tensor of that whole name.
    pub fn tensor(&self, name: &str) -> Option<Tensor<'_>> {
        // SAFETY: the name is read during the call.
        let i = unsafe { sys::tare_model_find_tensor(self.ptr, str_of(name)) };
        usize::try_from(i).ok().and_then(|i| self.at(i))
    }

    fn at(&self, index: usize) -> Option<Tensor<'_>> {
        // SAFETY: NULL beyond the end, else valid as long as the model.
        let info = unsafe { sys::tare_model_tensor(self.ptr, index).as_ref() }?;
        Some(Tensor {
            model: self,
            index,
            info,
        })
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nothing that borrows from it is left.
        unsafe { sys::tare_model_free(self.ptr) }
    }
}

/// A tensor of a model.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    model: &'a Model,
    index: usize,
    info: &'a sys::tare_tensor,
}

impl<'a> Tensor<'a> {
    /// Its name; bytes that are no UTF-8 are replaced.
    pub fn name(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.name_bytes())
    }

    /// Its name as the file has it.
    pub fn name_bytes(&self) -> &'a [u8] {
        // SAFETY: the model owns it.
        unsafe { bytes_of(self.info.name.ptr as *const u8, self.info.name.len) }
    }

    /// Its number in the model, for calls of [`sys`].
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number format: "q4_k".
    pub fn type_name(&self) -> &'static str {
        // SAFETY: encodings are static.
        unsafe { static_text((*self.info.encoding).name) }
    }

    /// Its shape, outermost first: the last one is the row.
    pub fn dims(&self) -> &'a [u64] {
        // SAFETY: the model owns n_dims of them.
        unsafe { bytes_of(self.info.dims, self.info.n_dims as usize) }
    }

    /// The product of all dimensions but the last.
    pub fn n_rows(&self) -> u64 {
        self.info.n_rows
    }

    /// Elements of a row.
    pub fn cols(&self) -> u64 {
        self.info.cols
    }

    /// Bytes as stored, all planes together.
    pub fn size_bytes(&self) -> u64 {
        self.info.size_bytes
    }

    /// Decodes rows `first .. first + n`.
    pub fn rows(&self, first: u64, n: u64) -> Result<Vec<f32>, Error> {
        if first > self.n_rows() || n > self.n_rows() - first {
            return Err(Error::argument("rows beyond the last"));
        }
        let count = n
            .checked_mul(self.cols())
            .and_then(|c| usize::try_from(c).ok());
        let mut out =
            vec![0f32; count.ok_or_else(|| Error::argument("more numbers than memory has"))?];
        // SAFETY: the buffer has room for n rows.
        Error::check(None, |err| unsafe {
            sys::tare_tensor_rows_f32(out.as_mut_ptr(), self.model.ptr, self.index, first, n, err)
        })?;
        Ok(out)
    }

    /// Reads the stored bytes of a plane, little-endian.
    pub fn plane(&self, plane: u32) -> Result<Vec<u8>, Error> {
        let size = self.plane_size(plane)?;
        let mut out = vec![0u8; size];
        // SAFETY: the buffer has room for the plane.
        Error::check(None, |err| unsafe {
            sys::tare_tensor_read(
                out.as_mut_ptr() as *mut _,
                self.model.ptr,
                self.index,
                plane,
                0,
                size,
                err,
            )
        })?;
        Ok(out)
    }

    /// The stored bytes of a plane without a copy, of a model that was opened with
    /// [`OpenOptions::map`]; an error where the file does not hold them so.
    pub fn borrow(&self, plane: u32) -> Result<&'a [u8], Error> {
        let size = self.plane_size(plane)?;
        let mut bytes = std::ptr::null();
        // SAFETY: on success `bytes` points at the whole plane, mapped as long as the model.
        unsafe {
            Error::check(None, |err| {
                sys::tare_tensor_borrow(&mut bytes, self.model.ptr, self.index, plane, 1, err)
            })?;
            Ok(bytes_of(bytes, size))
        }
    }

    fn plane_size(&self, plane: u32) -> Result<usize, Error> {
        // SAFETY: encodings are static, and the model owns one plane for each of theirs.
        unsafe {
            if plane >= (*self.info.encoding).n_planes as u32 {
                return Err(Error::argument("the type has no such plane"));
            }
            let size = (*self.info.planes.add(plane as usize)).size;
            usize::try_from(size).map_err(|_| Error::argument("more bytes than memory has"))
        }
    }
}

/// A struct of C that begins with its size, with all its defaults.
///
/// # Safety
/// `init` is the function of that struct.
pub(crate) unsafe fn defaults<T>(init: unsafe extern "C" fn(*mut T, usize)) -> T {
    let mut out = std::mem::MaybeUninit::<T>::zeroed();
    init(out.as_mut_ptr(), std::mem::size_of::<T>());
    out.assume_init()
}

pub(crate) fn str_of(text: &str) -> sys::tare_str {
    sys::tare_str {
        ptr: text.as_ptr() as *const _,
        len: text.len(),
    }
}

unsafe fn bytes_of<'a, T>(ptr: *const T, n: usize) -> &'a [T] {
    if n == 0 {
        return &[];
    }
    std::slice::from_raw_parts(ptr, n)
}

unsafe fn static_text(text: *const std::os::raw::c_char) -> &'static str {
    CStr::from_ptr(text).to_str().unwrap_or("")
}
