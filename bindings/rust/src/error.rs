// SPDX-License-Identifier: MIT
//
// What a call reports.
use crate::sys;
use std::ffi::{CStr, CString};
use std::fmt;
use std::mem::MaybeUninit;
use std::os::raw::c_char;
use std::path::Path;

/// Why a call failed. Its text is the line that the command prints: file, byte, tensor, what was
/// expected.
pub struct Error {
    status: sys::tare_status,
    code: Option<&'static str>,
    text: String,
}

impl Error {
    /// Whose fault it is: one of the `TARE_ERR_` of [`sys`].
    pub fn status(&self) -> sys::tare_status {
        self.status
    }

    /// Identifies some faults for programs, one of the `TARE_CODE_` of [`sys`].
    pub fn code(&self) -> Option<&'static str> {
        self.code
    }

    pub(crate) fn argument(text: &str) -> Error {
        Error {
            status: sys::TARE_ERR_ARG,
            code: None,
            text: text.to_string(),
        }
    }

    /// `file`: what the call was about.
    fn of(err: &sys::tare_error, file: Option<&CStr>) -> Error {
        let file = file.map_or(std::ptr::null(), CStr::as_ptr);
        let mut line = vec![0u8; 1024];
        // SAFETY: the buffer has the size that is given; `err` is filled in, its texts are static.
        let (length, code) = unsafe {
            let length =
                sys::tare_error_format(line.as_mut_ptr() as *mut c_char, line.len(), err, file);
            (
                length.min(line.len() - 1),
                (!err.code.is_null()).then(|| CStr::from_ptr(err.code)),
            )
        };
        Error {
            status: err.status,
            code: code.and_then(|c| c.to_str().ok()),
            text: String::from_utf8_lossy(&line[..length]).into_owned(),
        }
    }

    /// Makes a call, which fills in the error that it is given if it returns anything but OK.
    pub(crate) fn check<F>(file: Option<&CStr>, call: F) -> Result<(), Error>
    where
        F: FnOnce(*mut sys::tare_error) -> sys::tare_status,
    {
        let mut err = MaybeUninit::<sys::tare_error>::zeroed();
        match call(err.as_mut_ptr()) {
            sys::TARE_OK => Ok(()),
            // SAFETY: zeros are a tare_error, and a call that failed has filled it in.
            _ => Err(Error::of(unsafe { &err.assume_init() }, file)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (status {}, code {:?})",
            self.text, self.status, self.code
        )
    }
}

impl std::error::Error for Error {}

/// A path as C takes it.
pub(crate) fn path_of(path: &Path) -> Result<CString, Error> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::argument("a path with a NUL in it"))
}

/// A text as C takes it.
pub(crate) fn text_of(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::argument("a text with a NUL in it"))
}
