//! Lists the recordings, so that they are compiled into the program and `cargo install` brings them along.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let top = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("recordings");
    println!("cargo::rerun-if-changed={}", top.display());
    let mut files = Vec::new();
    collect(&top, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&top).map_err(io::Error::other)?;
        println!("cargo::rerun-if-changed={}", file.display());
        let _ = writeln!(
            list,
            "    ({:?}, include_str!({:?})),",
            name.display().to_string(),
            file.display().to_string()
        );
    }
    list.push(']');
    fs::write(Path::new(&variable("OUT_DIR")?).join("recordings.rs"), list)
}

#[allow(clippy::disallowed_methods, reason = "cargo talks to build scripts by environment variables")]
fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(io::Error::other)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json" || extension == "jsonl") {
            files.push(path);
        }
    }
    Ok(())
}
