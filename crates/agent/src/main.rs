//! The agent alone, with the same commands as in the product: `agent --config FILE` and `launcher …`, and
//! those for people who work on a node (`whoami`, `submit` …).

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = atelier_client::run(std::env::args_os().skip(1)) {
        return code;
    }
    let mut arguments = std::env::args_os().skip(1);
    let command = arguments.next().unwrap_or_default();
    let outcome = match command.to_str() {
        Some("launcher") => atelier_agent::launcher(arguments),
        Some("agent") if arguments.next().is_some_and(|flag| flag == "--config") => {
            atelier_agent::run(&PathBuf::from(arguments.next().unwrap_or_default()))
        }
        _ => Err("use: agent --config FILE".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
