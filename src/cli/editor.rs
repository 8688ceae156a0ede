//! VS Code for instances, installed in the foreground: before a server goes offline, or without the portal.

use std::sync::Arc;

use atelier_engine::environments::Cancel;
use atelier_engine::environments::editor::{EditorNews, install_now};
use clap::Command;

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
    let cancel = Arc::new(Cancel::default());
    let (done, is_done) = tokio::sync::oneshot::channel();
    let (settings, stop) = (config.environments, Arc::clone(&cancel));
    std::thread::spawn(move || {
        let mut hear = |news: EditorNews<'_>| match news {
            EditorNews::Phase(phase) => eprintln!("— {}", phase.words()),
            EditorNews::Line(line) => eprintln!("  {line}"),
        };
        // Nobody waits for it after an interruption.
        let _ = done.send(install_now(&settings, &stop, &mut hear));
    });
    tokio::pin!(is_done);
    let built = tokio::select! {
        built = &mut is_done => built,
        _ = tokio::signal::ctrl_c() => {
            cancel.cancel();
            is_done.await
        }
    };
    let built = built.map_err(|_| "the installation broke off".to_owned())?.map_err(|failure| failure.to_string())?;
    eprintln!(
        "VS Code takes {} MB; it was installed in {} s.",
        built.size.div_ceil(1_000_000),
        built.built_in().as_secs()
    );
    println!("{}", built.path.display());
    Ok(())
}
