//! The Python environment of instances, built in the foreground: before a server goes offline, or for several
//! at once.

use std::sync::Arc;

use atelier_engine::environments::{Built, Cancel, Failure, News, build_now};
use atelier_engine::store::{BaseEnvironment, Missing, OpenError, Store};
use clap::Command;
use secrecy::ExposeSecret as _;

use crate::server::config::Config;

/// `atelier environment …`.
pub fn command() -> Command {
    Command::new("environment")
        .about("Looks after the Python environment of instances, for operators with a shell on the server")
        .subcommand_required(true)
        .subcommand(Command::new("build").about(
            "Builds it now if it is missing, and prints where it is; a server that runs takes it at its next look",
        ))
}

/// Builds it, with what happens on standard error.
pub async fn build(config: Config) -> Result<(), String> {
    let wanted = wanted(&config).await?;
    let mut hear = |news: News<'_>| match news {
        News::Phase(phase, 0) => eprintln!("— {}", phase.words()),
        News::Phase(phase, packages) => eprintln!("— {} ({packages} packages so far)", phase.words()),
        News::Line(line) => eprintln!("  {line}"),
    };
    let build = move |stop: &Cancel| build_now(&config.environments, &wanted, stop, &mut hear);
    let built = cancelable(build).await?;
    let Built { path, packages, size, .. } = &built;
    eprintln!(
        "The environment has {} packages and {} MB; it was built in {} s.",
        packages.len(),
        size.div_ceil(1_000_000),
        built.built_in().as_secs()
    );
    println!("{}", path.display());
    Ok(())
}

/// Does something on a thread of its own until Ctrl-C cancels it.
pub async fn cancelable<T: Send + 'static>(
    work: impl FnOnce(&Cancel) -> Result<T, Failure> + Send + 'static,
) -> Result<T, String> {
    let cancel = Arc::new(Cancel::default());
    let (done, is_done) = tokio::sync::oneshot::channel();
    let stop = Arc::clone(&cancel);
    // Nobody waits for it after an interruption.
    std::thread::spawn(move || drop(done.send(work(&stop))));
    tokio::pin!(is_done);
    let outcome = tokio::select! {
        outcome = &mut is_done => outcome,
        _ = tokio::signal::ctrl_c() => {
            cancel.cancel();
            is_done.await
        }
    };
    outcome.map_err(|_| "it broke off".to_owned())?.map_err(|failure| failure.to_string())
}

/// What the server's database asks for; where there is none yet, what a new server would.
async fn wanted(config: &Config) -> Result<BaseEnvironment, String> {
    let opened = match &config.database_url {
        Some(url) => Store::open(url.expose_secret(), Missing::Refuse).await,
        None => Store::open_sqlite(&config.data.join("atelier.db"), Missing::Refuse).await,
    };
    let store = match opened {
        Ok(store) => store,
        Err(OpenError::Missing) => return Ok(BaseEnvironment::default()),
        Err(error) => return Err(error.to_string()),
    };
    let wanted = store.base_environment().await.map_err(|error| error.to_string());
    store.close().await;
    wanted
}
