//! The program: arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    harness_sim::init();
    harness_sim::cli::main()
}
