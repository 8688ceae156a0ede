//! The command line: `atelier serve`, `atelier config`, `atelier simulate …`, `atelier token …`,
//! `atelier user …`.
//!
//! Every command that needs settings takes the same ones, made from the one table in
//! [`crate::server::config`], and reads them the same way.

mod editor;
mod environment;
mod nodes;
mod quarantine;
mod replay;
mod simulate;
mod token;
mod user;

use std::collections::BTreeMap;
use std::process::ExitCode;

use atelier_domain::account::Ending;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command};

use crate::server::config::{Config, ConfigError, Layers, SETTINGS, Secrecy, did_you_mean};
use crate::server::{serve, telemetry};

/// What drivers start on nodes: the agent, and the launcher of its sandboxes. None for everything else.
pub fn on_a_node(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> Option<ExitCode> {
    let outcome = match arguments.next()?.to_str()? {
        "launcher" => atelier_agent::launcher(arguments),
        "agent" => match (arguments.next(), arguments.next(), arguments.next()) {
            (Some(flag), Some(file), None) if flag == "--config" => atelier_agent::run(std::path::Path::new(&file)),
            (Some(help), None, None) if help == "--help" || help == "-h" => return None,
            _ => Err("agent needs --config FILE, a file that a driver has written for it".to_owned()),
        },
        _ => return None,
    };
    Some(finish(outcome))
}

/// Runs the command line and gives the exit code.
pub fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::DisplayHelp
                    | ErrorKind::DisplayVersion
                    | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            ) =>
        {
            // Nobody is told if even this cannot be printed.
            let _ = error.print();
            return if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
                ExitCode::from(2)
            } else {
                ExitCode::SUCCESS
            };
        }
        Err(error) => return fail(&one_line(&error), 2),
    };
    let (name, sub) = matches.subcommand().unwrap_or(("", &matches));
    // A simulation has all it needs in its scenario, whatever the settings of a server are.
    if name == "simulate" {
        return simulate::run(sub);
    }
    let layers = match layers(sub) {
        Ok(layers) => layers,
        Err(error) => return fail(&error.to_string(), 2),
    };
    let config = match Config::parse(&layers) {
        Ok(config) => config,
        Err(error) => return fail(&error.to_string(), 2),
    };
    match name {
        "config" => {
            for (key, value, source) in layers.shown() {
                println!("{key:<22} {value:<40} {source}");
            }
            ExitCode::SUCCESS
        }
        "serve" => {
            telemetry::start(&config);
            warn_of_unknown_variables();
            let restored = if sub.get_flag(ACCEPT) { serve::Restored::Accept } else { serve::Restored::Refuse };
            finish(block_on(serve::run(config, restored, crate::router::build)))
        }
        "environment" => finish(block_on(environment::build(config))),
        "editor" => finish(block_on(editor::install(config))),
        "quarantine" => finish(block_on(quarantine::run(config, sub.clone()))),
        "replay" => finish(block_on(replay::run(config, sub.clone()))),
        "network" => finish(block_on(nodes::network(config))),
        "stop-all" => finish(block_on(nodes::stop_all(config))),
        "token" => finish(block_on(token::run(config, sub.clone()))),
        "user" => match sub.subcommand() {
            Some(("reset-password", reset)) => {
                let email = reset.get_one::<String>("email").cloned().unwrap_or_default();
                let ending = Ending { tokens: reset.get_flag("end-tokens"), ssh_keys: reset.get_flag("end-ssh-keys") };
                finish(block_on(user::reset_password(config, email, ending)))
            }
            _ => ExitCode::from(2),
        },
        _ => ExitCode::from(2),
    }
}

/// A decision for one start, so it's no setting.
const ACCEPT: &str = "accept-restored-database";

fn accept_restored() -> Arg {
    Arg::new(ACCEPT)
        .long(ACCEPT)
        .action(clap::ArgAction::SetTrue)
        .help("Goes on with a database that was restored from a backup; what it doesn't know moves to quarantine")
}

fn command() -> Command {
    let with_settings = |mut command: Command| {
        for setting in SETTINGS {
            let default =
                if setting.default.is_empty() { String::new() } else { format!(" [default: {}]", setting.default) };
            let help = format!("{}{default} [env: {}]", setting.help, setting.variable());
            command = command
                .arg(Arg::new(setting.key).long(setting.flag()).value_name(setting.value_name).help(help).global(true));
        }
        command
    };
    Command::new("atelier")
        .about("A self-hosted compute studio")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(with_settings(Command::new("serve").about("Runs the portal and its engine").arg(accept_restored())))
        .subcommand(with_settings(
            Command::new("config").about("Prints the settings in force and where each comes from, secrets masked"),
        ))
        .subcommand(
            Command::new("agent")
                .about("Runs jobs on a node; started by the server’s drivers")
                .arg(Arg::new("config").long("config").value_name("FILE").help("What the driver has written for it")),
        )
        // Carried out before any of this is looked at, by the crate that programs on nodes have too; here for
        // --help alone.
        .subcommands(
            [
                ("whoami", "Says who you are, over the REST API"),
                ("jobs", "Lists jobs, over the REST API"),
                ("submit", "Submits a job, over the REST API: submit --cluster pool -- python train.py"),
                ("job", "Says how a job does, or waits for it, over the REST API"),
                ("logs", "Prints what a job prints, over the REST API"),
                ("cancel", "Cancels a job, over the REST API"),
            ]
            .map(|(name, about)| Command::new(name).about(about)),
        )
        .subcommand(with_settings(
            Command::new("stop-all").about("Ends all nodes on this machine that a stopped server has left running"),
        ))
        .subcommand(with_settings(
            Command::new("network").about("Lists what is changed about this machine for users' networks"),
        ))
        .subcommand(with_settings(environment::command()))
        .subcommand(with_settings(editor::command()))
        .subcommand(with_settings(quarantine::command()))
        .subcommand(with_settings(replay::command()))
        .subcommand(simulate::command())
        .subcommand(with_settings(token::command()))
        .subcommand(with_settings(
            Command::new("user")
                .about("Looks after accounts, for operators with a shell on the server")
                .subcommand_required(true)
                .subcommand(
                    Command::new("reset-password")
                        .about("Sets a temporary password, prints it, and ends the person's sessions")
                        .arg(Arg::new("email").value_name("EMAIL").required(true))
                        .arg(flag("end-tokens", "Revokes the person's personal tokens too"))
                        .arg(flag("end-ssh-keys", "Removes the person's SSH keys too")),
                ),
        ))
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(clap::ArgAction::SetTrue)
}

/// Joins flags, environment and file. A global flag may stand before or after the inner command.
fn layers(matches: &ArgMatches) -> Result<Layers, ConfigError> {
    let innermost = matches.subcommand().map_or(matches, |(_, inner)| inner);
    let mut flags = BTreeMap::new();
    for setting in SETTINGS {
        if let Ok(Some(value)) = innermost.try_get_one::<String>(setting.key) {
            flags.insert(setting.key.to_owned(), value.clone());
        }
    }
    Layers::join(&flags, &environment()?)
}

/// The variables that are meant for us. Others are not looked at: they need not even be text.
fn environment() -> Result<BTreeMap<String, String>, ConfigError> {
    let mut found = BTreeMap::new();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with("ATELIER_")) else { continue };
        let value = value.into_string().map_err(|_| {
            ConfigError(format!("{name}: the value of the environment variable {name} is not text (UTF-8)"))
        })?;
        found.insert(name.to_owned(), value);
    }
    Ok(found)
}

/// A variable that looks like ours but is none of ours is worth a line, not a refusal: container platforms
/// set some.
fn warn_of_unknown_variables() {
    for name in environment().unwrap_or_default().into_keys() {
        let Some(rest) = name.strip_prefix("ATELIER_") else { continue };
        let key = rest.to_lowercase();
        if !SETTINGS.iter().any(|setting| setting.key == key) {
            tracing::warn!("the environment variable {name} is not a setting{}", did_you_mean(&key));
        }
    }
}

/// Clap's complaint in one line that names the flag and the value.
fn one_line(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let name = argument.trim_start_matches('-').split('=').next().unwrap_or_default().to_owned();
            let near = did_you_mean(&name);
            // A mistyped flag for a secret is followed by the secret.
            let is_secret = SETTINGS
                .iter()
                .any(|setting| setting.secrecy != Secrecy::Open && near.contains(&format!(" {}?", setting.key)));
            let value = value_after(&argument, std::env::args()).filter(|_| !is_secret);
            let shown = match value {
                Some(value) => format!("{} {value:?}", name_of(&argument)),
                None => name_of(&argument).to_owned(),
            };
            format!("{shown} (command line) is not a flag{}; see atelier --help", near.replace('_', "-"))
        }
        ErrorKind::InvalidSubcommand => {
            let name = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("{name:?} (command line) is not a command; see atelier --help")
        }
        ErrorKind::MissingRequiredArgument => format!("{argument} (command line) is missing; see atelier --help"),
        ErrorKind::InvalidValue => format!("{argument} (command line) needs a value"),
        ErrorKind::ArgumentConflict => format!("{argument} (command line) is given twice"),
        _ => error.to_string().lines().next().unwrap_or("the command line was not understood").to_owned(),
    }
}

/// What the command line gives an unknown flag: `x` of `--lisen x` and of `--lisen=x`.
fn value_after(flag: &str, words: impl Iterator<Item = String>) -> Option<String> {
    let name = name_of(flag);
    let mut words = words.skip_while(|word| name_of(word) != name);
    match words.next()?.split_once('=') {
        Some((_, value)) => Some(value.to_owned()),
        None => words.next().filter(|word| !word.starts_with('-')),
    }
}

/// `--lisen` of `--lisen=x`.
fn name_of(flag: &str) -> &str {
    flag.split('=').next().unwrap_or(flag)
}

fn block_on(work: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime could not be started: {error}"))?;
    runtime.block_on(work)
}

fn finish(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => fail(&message, 1),
    }
}

fn fail(message: &str, code: u8) -> ExitCode {
    eprintln!("atelier: {}", message.replace('\n', " "));
    ExitCode::from(code)
}
