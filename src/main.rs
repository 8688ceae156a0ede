//! The `atelier` binary: one program, several roles.

use std::process::ExitCode;

fn main() -> ExitCode {
    atelier::cli::main()
}
