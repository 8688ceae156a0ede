//! What lies in the data directory and the database doesn't know, from the server's own shell. A server that
//! runs on the same data need not be stopped.

use atelier_domain::history::{Actor, Event};
use atelier_domain::name::EmailAddress;
use atelier_engine::clock;
use atelier_engine::drivers::local::Machine;
use atelier_engine::fleet::Folders;
use atelier_engine::quarantine::Quarantine;
use atelier_engine::store::{Author, Missing, Store};
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::server::config::Config;
use crate::server::serve::open_store;

/// `atelier quarantine …`.
pub fn command() -> Command {
    let name = || Arg::new("name").value_name("NAME").required(true).help("Which, as listed");
    Command::new("quarantine")
        .about("Looks after files that a restored database doesn't know")
        .subcommand_required(true)
        .subcommand(
            Command::new("list")
                .about("Lists what is in quarantine: name, size, since when")
                .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Prints JSON")),
        )
        .subcommand(
            Command::new("restore").about("Moves it to a person's folder in Files").arg(name()).arg(
                Arg::new("user").long("user").value_name("EMAIL").required(true).help("Who gets it: their address"),
            ),
        )
        .subcommand(Command::new("remove").about("Removes it for good").arg(name()))
}

/// Carries one of them out.
pub async fn run(config: Config, matches: ArgMatches) -> Result<(), String> {
    let Some((verb, matches)) = matches.subcommand() else { return Err("there is no such command".into()) };
    let quarantine = Quarantine::new(Folders::new(&config.data));
    let given = |name: &str| matches.get_one::<String>(name).cloned().unwrap_or_default();
    if verb == "list" {
        return list(&quarantine, matches.get_flag("json"));
    }
    let store = open_store(&config, Missing::Refuse).await?;
    let done = match verb {
        "restore" => restore(&config, &store, &quarantine, &given("name"), &given("user")).await,
        _ => remove(&store, &quarantine, &given("name")).await,
    };
    store.close().await;
    done
}

fn list(quarantine: &Quarantine, is_json: bool) -> Result<(), String> {
    let held = quarantine.list().map_err(|error| error.to_string())?;
    if is_json {
        println!("{}", serde_json::json!({ "quarantine": held }));
        return Ok(());
    }
    if held.is_empty() {
        println!("Quarantine is empty.");
    }
    for held in held {
        let at = jiff::Timestamp::from_millisecond(held.at.0).map(|at| at.strftime("%Y-%m-%d %H:%M UTC").to_string());
        let (size, at) = (atelier_domain::files::bytes(held.bytes), at.unwrap_or_default());
        println!("{:<40} {size:>10}  {at}  {}", held.name, held.what);
    }
    Ok(())
}

async fn restore(
    config: &Config,
    store: &Store,
    quarantine: &Quarantine,
    name: &str,
    email: &str,
) -> Result<(), String> {
    let email = EmailAddress::parse(email).map_err(|problem| problem.message)?;
    let account = store.account_by_email(email.as_str()).await.map_err(|error| error.to_string())?;
    let account = account.ok_or_else(|| format!("nobody has an account with the address {email}"))?;
    let user = store.local_user(&account.person.id).await.map_err(|error| error.to_string())?;
    let has_own_users = config.local.as_ref().is_some_and(|local| Machine::look().has_own_users(local.isolation));
    let uid = has_own_users.then_some(user.uid);
    let to = quarantine.restore(name, &user.handle, uid).map_err(|error| error.to_string())?;
    record(store, &Event::QuarantineRestored { name: name.to_owned(), to: to.clone() }).await?;
    println!("{to}");
    Ok(())
}

async fn remove(store: &Store, quarantine: &Quarantine, name: &str) -> Result<(), String> {
    let held = quarantine.remove(name).map_err(|error| error.to_string())?;
    record(store, &Event::QuarantineRemoved { name: held.name }).await
}

async fn record(store: &Store, event: &Event) -> Result<(), String> {
    let said = |error: atelier_engine::store::Error| error.to_string();
    let author = Author { actor: Actor::Console, request: String::new(), why: None };
    let workspaces = store.workspaces().await.map_err(said)?;
    let mut tx = store.begin(clock::now()).await.map_err(said)?;
    for workspace in workspaces {
        tx.record(&workspace.id, &author, None, event).await.map_err(said)?;
    }
    tx.commit().await.map_err(said)?;
    Ok(())
}
