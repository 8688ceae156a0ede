//! Applications that people add to their instances, by pages and by the API alike.
//!
//! What such an application does it does as its instance's owner, with the owner's home. So it is like
//! opening a terminal: the owner alone adds, changes, removes and restarts them, and reads their commands.

use atelier_domain::access::Action;
use atelier_domain::compute::app::{AppDraft, AppName, CustomApp, check_beside};
use atelier_domain::error::AppError;
use atelier_domain::history::Event;

use crate::caller::Caller;
use crate::instances::commands::{JUPYTER, Subject, VSCODE, authorise};

/// The applications that were added to an instance, for its owner.
pub async fn apps_of(caller: &Caller, subject: &Subject) -> Result<Vec<CustomApp>, AppError> {
    authorise(caller, subject, Action::InstanceConnect).await?;
    caller.checked(caller.store().apps_of(subject.id).await)
}

/// Adds an application, or changes the one of that name. `replaces` is its name so far, if that was another.
/// Says whether it is new. Durable when this returns; a running instance's agent has been told.
pub async fn put_app(
    caller: &Caller,
    subject: &Subject,
    draft: AppDraft,
    replaces: Option<&AppName>,
) -> Result<(CustomApp, bool), AppError> {
    authorise(caller, subject, Action::InstanceConnect).await?;
    let app = draft.check().map_err(|problems| AppError::Invalid { problems })?;
    let author = caller.author(None)?;
    let workspace = caller.actor()?.workspace.id.clone();
    let mut tx = caller.begin(Action::InstanceConnect, subject.whose(caller)?).await?;
    let mut others = caller.checked(tx.apps_of(subject.id).await)?;
    let instance = subject.name.to_string();
    let renamed = replaces.filter(|name| **name != app.name);
    if let Some(before) = renamed {
        if !others.iter().any(|other| other.name == *before) {
            return Err(AppError::not_found("application"));
        }
        if others.iter().any(|other| other.name == app.name) {
            let message = format!("There is an application “{}” already. Choose another name.", app.name);
            return Err(atelier_domain::text::Problem::new("name", message).into());
        }
        let event = Event::AppRemoved { instance: instance.clone(), app: before.to_string() };
        caller.checked(tx.remove_app(&workspace, subject.id, before, &author, &event).await)?;
        others.retain(|other| other.name != *before);
    }
    check_beside(&app, &others)?;
    let known = others.iter().find(|other| other.name == app.name);
    if known == Some(&app) {
        return Ok((app, false));
    }
    let is_new = known.is_none();
    let name = app.name.to_string();
    let event =
        if is_new { Event::AppAdded { instance, app: name } } else { Event::AppChanged { instance, app: name } };
    caller.checked(tx.put_app(&workspace, subject.id, &app, &author, &event).await)?;
    caller.checked(tx.commit().await)?;
    caller.studio.fleet().apps_changed(subject.id).await;
    Ok((app, is_new))
}

/// Takes an application away; open pages of it are closed.
pub async fn remove_app(caller: &Caller, subject: &Subject, name: &AppName) -> Result<(), AppError> {
    authorise(caller, subject, Action::InstanceConnect).await?;
    let author = caller.author(None)?;
    let workspace = caller.actor()?.workspace.id.clone();
    let mut tx = caller.begin(Action::InstanceConnect, subject.whose(caller)?).await?;
    let event = Event::AppRemoved { instance: subject.name.to_string(), app: name.to_string() };
    if !caller.checked(tx.remove_app(&workspace, subject.id, name, &author, &event).await)? {
        return Err(AppError::not_found("application"));
    }
    caller.checked(tx.commit().await)?;
    caller.studio.fleet().apps_changed(subject.id).await;
    Ok(())
}

/// Ends an application of a running instance and starts it again.
pub async fn restart_app(caller: &Caller, subject: &Subject, name: &str) -> Result<(), AppError> {
    authorise(caller, subject, Action::InstanceConnect).await?;
    let is_own = [JUPYTER, VSCODE].contains(&name);
    if !is_own && !caller.checked(caller.store().has_app(subject.id, name).await)? {
        return Err(AppError::not_found("application"));
    }
    if caller.studio.fleet().restart_app(subject.id, name).await {
        return Ok(());
    }
    let message = format!(
        "{} does not run, or its node does not answer. Its applications start with it; there is nothing to restart \
         now.",
        subject.name
    );
    Err(AppError::refused("instance-not-running", message))
}
