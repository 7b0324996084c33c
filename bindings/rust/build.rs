// SPDX-License-Identifier: MIT
//
// Where libtare is: pkg-config says, which finds an installed tare, or one that PKG_CONFIG_PATH names.
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let out = Command::new("pkg-config")
        .args(["--libs", "tare"])
        .output()
        .expect("pkg-config cannot be run");
    if !out.status.success() {
        panic!(
            "pkg-config does not know tare; is it installed, or is PKG_CONFIG_PATH missing?\n{}",
            String::from_utf8_lossy(&out.stderr)
        );
    }
    for flag in String::from_utf8_lossy(&out.stdout).split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={library}");
        }
    }
    // pkg-config leaves out folders that the linker searches by itself, and names nothing then.
    println!("cargo:rustc-link-lib=tare");
}
