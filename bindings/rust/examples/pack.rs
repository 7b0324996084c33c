// SPDX-License-Identifier: MIT
//
// From a model to 8 bits per weight, packed, and back: pack MODEL FOLDER. The folder is made.
use std::path::Path;

fn run(model: &str, folder: &Path) -> Result<(), tare::Error> {
    let options = tare::ConvertOptions::new()?
        .set("type", "q8_0")?
        .set("threads", "2")?;
    let (small, packed, again) = (
        folder.join("small.gguf"),
        folder.join("small.wcodec"),
        folder.join("again.gguf"),
    );
    tare::convert(&small, &tare::Model::open(model)?, Some(&options))?;
    let result = tare::pack(&packed, &tare::Model::open(&small)?, None)?;
    println!(
        "packed {} bytes into {}",
        result.from_bytes, result.to_bytes
    );
    let result = tare::unpack(&again, &packed, None)?;
    println!("unpacked {} bytes", result.n_bytes);

    let (a, b) = (tare::Model::open(&small)?, tare::Model::open(&packed)?);
    for (x, y) in a.tensors().zip(b.tensors()) {
        assert_eq!(
            (x.name(), x.dims(), x.type_name()),
            (y.name(), y.dims(), y.type_name())
        );
        assert_eq!(x.plane(0)?, y.plane(0)?, "{}", x.name());
    }
    println!(
        "{} tensors are the same, in {}",
        a.summary().n_tensors,
        b.summary().format
    );
    Ok(())
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.len() != 3 {
        eprintln!("usage: pack MODEL FOLDER");
        std::process::exit(2);
    }
    if let Err(error) = std::fs::create_dir_all(&args[2]) {
        eprintln!("pack: {}: {error}", args[2]);
        std::process::exit(1);
    }
    if let Err(error) = run(&args[1], Path::new(&args[2])) {
        eprintln!("pack: {error}");
        std::process::exit(1);
    }
}
