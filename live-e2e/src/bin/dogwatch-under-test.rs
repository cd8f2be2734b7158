//! dogwatch, as the live tests install it: the program of this checkout, which `cargo test -p live-e2e` would not build
//! otherwise. A test gives it its name.

use std::process::ExitCode;

fn main() -> ExitCode {
    // In a process that the engine started as a supervisor this does not return.
    dogwatch_engine::init();
    dogwatch::cli::main()
}
