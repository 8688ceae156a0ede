//! VS Code for instances, installed in the foreground: before a server goes offline, or without the portal.

use atelier_engine::environments::editor::{EditorNews, install_now};
use clap::Command;

use crate::cli::environment::cancelable;
use crate::server::config::Config;

/// `atelier editor …`.
pub fn command() -> Command {
    Command::new("editor")
        .about("Looks after VS Code for instances, for operators with a shell on the server")
        .subcommand_required(true)
        .subcommand(Command::new("install").about(
            "Installs it now if it is missing, and prints where it is; a server that runs offers it at its next look",
        ))
}

/// Installs it, with what happens on standard error.
pub async fn install(config: Config) -> Result<(), String> {
    let mut hear = |news: EditorNews<'_>| match news {
        EditorNews::Phase(phase) => eprintln!("— {}", phase.words()),
        EditorNews::Line(line) => eprintln!("  {line}"),
    };
    let built = cancelable(move |stop| install_now(&config.environments, stop, &mut hear)).await?;
    eprintln!(
        "VS Code takes {} MB; it was installed in {} s.",
        built.size.div_ceil(1_000_000),
        built.built_in().as_secs()
    );
    println!("{}", built.path.display());
    Ok(())
}
