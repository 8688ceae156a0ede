//! Personal tokens from the server's own shell. A server that runs on the same database need not be stopped.

use atelier_domain::history::Actor;
use atelier_domain::name::EmailAddress;
use atelier_domain::text::is_id;
use atelier_domain::token::{Lifetime, TokenName};
use atelier_domain::{Timestamp, TokenId};
use atelier_engine::clock;
use atelier_engine::store::{Author, Missing, Person, Store};
use atelier_studio::secret;
use clap::{Arg, ArgMatches, Command};

use crate::server::config::Config;
use crate::server::serve::open_store;

/// `atelier token …`.
pub fn command() -> Command {
    let user = || {
        Arg::new("user").long("user").value_name("EMAIL").required(true).help("Whose token: the address of the account")
    };
    Command::new("token")
        .about("Looks after personal tokens for the API, for operators with a shell on the server")
        .subcommand_required(true)
        .subcommand(
            Command::new("create")
                .about("Makes a token and prints its secret, this one time")
                .arg(user())
                .arg(
                    Arg::new("name")
                        .long("name")
                        .value_name("NAME")
                        .help("What it is for [default: made on the console]"),
                )
                .arg(Arg::new("days").long("days").value_name("N").help("For how many days it works [default: 90]")),
        )
        .subcommand(Command::new("list").about("Lists the tokens of an account, without their secrets").arg(user()))
        .subcommand(
            Command::new("revoke")
                .about("Takes a token away; it works no more")
                .arg(user())
                .arg(Arg::new("id").value_name("ID").required(true).help("Which, as listed")),
        )
}

/// Carries one of them out.
pub async fn run(config: Config, matches: ArgMatches) -> Result<(), String> {
    let Some((verb, matches)) = matches.subcommand() else { return Err("there is no such command".into()) };
    let given = |name: &str| match matches.try_get_one::<String>(name) {
        Ok(Some(value)) => value.clone(),
        _ => String::new(),
    };
    let email = EmailAddress::parse(&given("user")).map_err(|problem| problem.message)?;
    let name = match given("name") {
        name if name.is_empty() => "made on the console".to_owned(),
        name => name,
    };
    let name = TokenName::parse(&name).map_err(|problem| problem.message)?;
    let life = Lifetime::parse(&given("days")).map_err(|problem| problem.message)?;
    let store = open_store(&config, Missing::Refuse).await?;
    let done = match store.account_by_email(email.as_str()).await.map_err(|error| error.to_string()) {
        Ok(Some(account)) => match verb {
            "create" => create(&store, &account.person, &name, life).await,
            "list" => list(&store, &account.person).await,
            _ => revoke(&store, &account.person, &given("id")).await,
        },
        Ok(None) => Err(format!("nobody has an account with the address {email}; nothing was changed")),
        Err(error) => Err(error),
    };
    store.close().await;
    done
}

fn console() -> Author {
    Author { actor: Actor::Console, request: String::new(), why: None }
}

fn said(error: atelier_engine::store::Error) -> String {
    error.to_string()
}

async fn create(store: &Store, person: &Person, name: &TokenName, life: Lifetime) -> Result<(), String> {
    let (secret, hash) = secret::fresh();
    let mut tx = store.begin(clock::now()).await.map_err(said)?;
    let made = tx.insert_token(person, name, life, &hash, &console()).await.map_err(said)?;
    made.map_err(|refusal| format!("{}: {refusal}", person.email))?;
    tx.commit().await.map_err(said)?;
    println!("{secret}");
    eprintln!(
        "This is the token “{}” of {}. It works for {} days and is shown only now.",
        name.as_str(),
        person.email,
        life.days()
    );
    Ok(())
}

async fn list(store: &Store, person: &Person) -> Result<(), String> {
    for token in store.tokens_of(&person.id).await.map_err(said)? {
        let used = token.used_at.map_or_else(|| "never used".to_owned(), |at| format!("used {}", day(at)));
        println!("{:<38} {:<30} until {} {used}", token.id, token.name, day(token.expires_at));
    }
    Ok(())
}

async fn revoke(store: &Store, person: &Person, id: &str) -> Result<(), String> {
    let unknown = || format!("{} has no token {id:?}; nothing was changed", person.email);
    if !is_id(id) {
        return Err(unknown());
    }
    let mut tx = store.begin(clock::now()).await.map_err(said)?;
    let name = tx.revoke_token(person, &TokenId::new(id), &console()).await.map_err(said)?.ok_or_else(unknown)?;
    tx.commit().await.map_err(said)?;
    eprintln!("The token “{name}” of {} was revoked.", person.email);
    Ok(())
}

fn day(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| "?".into(), |at| at.strftime("%Y-%m-%d").to_string())
}
