//! Keys for SSH and the switch of each instance, for the portal and the API alike.

use atelier_domain::access::{Action, Whose};
use atelier_domain::error::AppError;
use atelier_domain::ssh::{KeyName, KeyRefusal, PublicKey};
use atelier_domain::text::is_id;
use atelier_domain::{SshKeyId, Timestamp};
use atelier_engine::store::SshKey;

use crate::caller::Caller;
use crate::instances::commands::Subject;

/// The caller's own keys, newest first.
pub async fn keys(caller: &Caller) -> Result<Vec<SshKey>, AppError> {
    let actor = caller.actor()?;
    caller.checked(caller.store().ssh_keys_of(&actor.person.id).await)
}

/// Adds a key to the caller's own, and gives it.
pub async fn add_key(caller: &Caller, name: &str, key: &str) -> Result<SshKey, AppError> {
    caller.authorise_for(Action::ProfileWrite, Whose::Own).await?;
    let key = PublicKey::parse(key)?;
    let name = KeyName::parse(name, &key)?;
    let print = key.fingerprint();
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    let id = &caller.actor()?.person.id;
    let person = caller.checked(tx.person(id).await)?.ok_or(AppError::SignedOut)?;
    let now = tx.now();
    let made = caller.checked(tx.insert_ssh_key(&person, &name, &key, &print, &author).await)?;
    let id = made.map_err(|refusal| match refusal {
        KeyRefusal::TooMany => AppError::refused(refusal.code(), refusal.to_string()),
        // What is wrong with a key is said beside it.
        KeyRefusal::Own(_) | KeyRefusal::Others => {
            atelier_domain::text::Problem::new("key", refusal.to_string()).into()
        }
    })?;
    caller.checked(tx.commit().await)?;
    Ok(SshKey {
        id,
        user: person.id,
        name: name.as_str().to_owned(),
        kind: key.kind_of().to_string(),
        line: key.line(),
        fingerprint: print,
        created_at: now,
        used_at: None,
        removed_at: None,
    })
}

/// Takes one of the caller's keys away. Connections that came in with it end: they hear of the change.
pub async fn remove_key(caller: &Caller, id: &str) -> Result<String, AppError> {
    let actor = caller.authorise_for(Action::ProfileWrite, Whose::Own).await?;
    let unknown = || AppError::not_found("SSH key of yours");
    if !is_id(id) {
        return Err(unknown());
    }
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::ProfileWrite, Whose::Own).await?;
    let removed = caller.checked(tx.remove_ssh_key(&actor.person, &SshKeyId::new(id), &author).await)?;
    let name = removed.ok_or_else(unknown)?;
    caller.checked(tx.commit().await)?;
    Ok(name)
}

/// How an instance stands to SSH, as its owner sees it.
#[derive(Clone, Debug)]
pub struct SshView {
    /// Since when it can be entered; nothing while it cannot.
    pub since: Option<Timestamp>,
    /// How to connect; nothing where the server has no SSH.
    pub directions: Option<Directions>,
    pub open: u64,
    pub keys: u64,
}

/// Reads it. Nothing for whom it does not concern: an instance is entered by its owner alone.
pub async fn view(caller: &Caller, subject: &Subject) -> Result<Option<SshView>, AppError> {
    if subject.whose(caller)? != Whose::Own {
        return Ok(None);
    }
    let switched = caller.checked(caller.store().ssh_of(subject.id).await)?;
    Ok(Some(SshView {
        since: switched.filter(|(by, _)| *by == subject.owner).map(|(_, since)| since),
        directions: caller.studio.directions().cloned(),
        open: caller.studio.fleet().board().ssh_open(subject.id),
        keys: keys(caller).await?.len() as u64,
    }))
}

/// Switches SSH on or off for an instance; for its owner, who may open it. Whether that changed anything.
pub async fn switch(caller: &Caller, subject: &Subject, is_on: bool) -> Result<bool, AppError> {
    let whose = subject.whose(caller)?;
    caller.authorise_for(Action::InstanceConnect, whose).await?;
    if is_on && caller.studio.directions().cloned().is_none() {
        let why = "This server takes no SSH connections. An administrator sets ssh_listen, such as 0.0.0.0:2222, and \
                   starts it again.";
        return Err(AppError::refused("ssh.not-served", why));
    }
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::InstanceConnect, whose).await?;
    let workspace = &caller.actor()?.workspace.id;
    let instance = (subject.id, subject.name.as_str());
    let has_changed = caller.checked(tx.switch_ssh(workspace, instance, &subject.owner, is_on, &author).await)?;
    if has_changed {
        caller.checked(tx.commit().await)?;
    }
    Ok(has_changed)
}

/// How people connect to an instance, as pages and the API say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directions {
    pub host: String,
    pub port: u16,
    /// The server's key, as people compare it.
    pub fingerprint: String,
    /// The same for a file of known hosts.
    pub known_host: String,
}

impl Directions {
    pub fn command(&self, instance: &str) -> String {
        if self.port == 22 {
            format!("ssh {instance}@{}", self.host)
        } else {
            format!("ssh {instance}@{} -p {}", self.host, self.port)
        }
    }

    /// What belongs into `~/.ssh/config`, for editors and for a short name.
    pub fn snippet(&self, instance: &str) -> String {
        let (host, port) = (&self.host, self.port);
        format!(
            "Host {instance}\n    HostName {host}\n    Port {port}\n    User {instance}\n    ServerAliveInterval 30\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_can_be_copied() {
        let directions = Directions {
            host: "studio.example.org".into(),
            port: 2222,
            fingerprint: "SHA256:x".into(),
            known_host: String::new(),
        };
        assert_eq!(directions.command("desk"), "ssh desk@studio.example.org -p 2222");
        assert!(directions.snippet("desk").contains("Host desk\n    HostName studio.example.org\n    Port 2222\n"));
        assert_eq!(Directions { port: 22, ..directions }.command("desk"), "ssh desk@studio.example.org");
    }
}
