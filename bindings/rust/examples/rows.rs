// SPDX-License-Identifier: MIT
//
// The first numbers of a row of a tensor: rows MODEL TENSOR ROW.
use std::process::exit;

fn print_row(path: &str, name: &str, row: u64) -> Result<(), tare::Error> {
    let model = tare::Model::open(path)?;
    let tensor = model.tensor(name).unwrap_or_else(|| {
        eprintln!("rows: no tensor {name}");
        exit(1)
    });
    let numbers = tensor.rows(row, 1)?;
    print!("{}, row {row} of {}:", tensor.type_name(), tensor.n_rows());
    for number in numbers.iter().take(4) {
        print!(" {number:.5}");
    }
    println!();
    Ok(())
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match (args.len(), args.get(3).and_then(|text| text.parse().ok())) {
        (4, Some(row)) => {
            if let Err(error) = print_row(&args[1], &args[2], row) {
                eprintln!("rows: {error}");
                exit(1);
            }
        }
        _ => {
            eprintln!("usage: rows MODEL TENSOR ROW");
            exit(2);
        }
    }
}
