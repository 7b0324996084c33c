// SPDX-License-Identifier: MIT
//
// Options of verbs, by the names and as the texts that the command has (tare/experimental/options.h).
use crate::error::{text_of, Error};
use crate::sys;

/// What the library makes of a verb's options.
struct Texts {
    ptr: *mut sys::tare_options,
}

impl Texts {
    fn new(verb: sys::tare_verb) -> Result<Texts, Error> {
        let mut ptr = std::ptr::null_mut();
        // SAFETY: NULL is malloc; `ptr` is set or the call fails.
        Error::check(None, |err| unsafe {
            sys::tare_options_new(&mut ptr, verb, std::ptr::null(), err)
        })?;
        Ok(Texts { ptr })
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let (name, value) = (text_of(name)?, text_of(value)?);
        // SAFETY: the texts are copied during the call.
        Error::check(None, |err| unsafe {
            sys::tare_option_set(self.ptr, name.as_ptr(), value.as_ptr(), err)
        })
    }
}

impl Drop for Texts {
    fn drop(&mut self) {
        // SAFETY: it is ours.
        unsafe { sys::tare_options_free(self.ptr) }
    }
}

macro_rules! options {
    ($(#[$doc:meta])* $name:ident, $verb:expr, $struct:ident, $get:ident) => {
        $(#[$doc])*
        pub struct $name {
            texts: Texts,
        }

        impl $name {
            /// All at their defaults.
            pub fn new() -> Result<$name, Error> {
                Ok($name { texts: Texts::new($verb)? })
            }

            /// Sets an option by the name that the command has for it: `set("type", "q8_0")`; of a
            /// switch the value is "true". A name or value that there is not is an error.
            pub fn set(mut self, name: &str, value: &str) -> Result<$name, Error> {
                self.texts.set(name, value)?;
                Ok(self)
            }

            /// For calls of [`sys`](crate::sys), and for what is not text; valid as long as this.
            pub fn as_ptr(&self) -> *mut sys::$struct {
                // SAFETY: they are of that verb.
                unsafe { sys::$get(self.texts.ptr) }
            }
        }
    };
}

options!(
    /// Of [`convert`](crate::convert) and [`quantize`](crate::quantize).
    ConvertOptions, sys::TARE_VERB_CONVERT, tare_convert_options, tare_options_convert
);
options!(
    /// Of [`pack`](crate::pack).
    PackOptions, sys::TARE_VERB_PACK, tare_pack_options, tare_options_pack
);
options!(
    /// Of [`unpack`](crate::unpack).
    UnpackOptions, sys::TARE_VERB_UNPACK, tare_unpack_options, tare_options_unpack
);
