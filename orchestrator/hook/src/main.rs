//! Arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    // In a process that the engine started as a supervisor this does not return.
    dogwatch_engine::init();
    dogwatch::cli::main()
}
