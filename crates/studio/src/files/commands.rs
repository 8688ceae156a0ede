//! What people do to files and folders.

use atelier_domain::access::{Action, Whose};
use atelier_domain::error::AppError;
use atelier_domain::files::{FilePath, bytes, check_new_name};
use atelier_domain::history::Event;
use atelier_domain::text::{Problem, shortened};
use atelier_engine::clock;
use atelier_files::Entry;

use crate::caller::Caller;
use crate::files::desk::{Desk, Use};

/// Makes a folder.
pub async fn add_folder(caller: &Caller, folder: &FilePath, name: &str) -> Result<(FilePath, Entry), AppError> {
    let desk = Desk::open(caller).await?;
    check_new_name(name)?;
    Desk::check_parent(folder)?;
    let path = folder.join(name)?;
    desk.check(caller, &path, Use::Write).await?;
    desk.check_room(caller, 0).await?;
    let wanted = path.clone();
    let made = desk.work(caller, Use::Write, move |area, who| area.make_folder(who, &wanted)).await;
    match made {
        Ok(entry) => Ok((path, entry)),
        Err(AppError::Refused { code, .. }) if code == "files.exists" => {
            Err(Problem::new("name", format!("“{}” is there already. Choose another name.", shortened(name))).into())
        }
        Err(error) => Err(error),
    }
}

/// Gives something another name or place.
pub async fn shift(caller: &Caller, from: &FilePath, to: &FilePath) -> Result<Entry, AppError> {
    let desk = Desk::open(caller).await?;
    Desk::check_movable(from)?;
    check_new_name(to.name())?;
    Desk::check_parent(&to.parent().unwrap_or_default())?;
    for path in [from, to] {
        desk.check(caller, path, Use::Write).await?;
    }
    let (old, new) = (from.clone(), to.clone());
    let entry = desk.work(caller, Use::Write, move |area, who| area.rename(who, &old, &new)).await?;
    let event = Event::FileMoved { from: from.as_str().to_owned(), to: to.as_str().to_owned() };
    desk.note(caller, &[from, to], &event).await?;
    Ok(entry)
}

/// Moves things to the trash, as far as that can be done. Says how many, and what was in the way.
pub async fn discard(caller: &Caller, paths: &[FilePath]) -> Result<(u64, Option<AppError>), AppError> {
    let desk = Desk::open(caller).await?;
    for path in paths {
        Desk::check_movable(path)?;
        desk.check(caller, path, Use::Write).await?;
    }
    let mut gone = Vec::new();
    let mut problem = None;
    for path in paths {
        let (wanted, now) = (path.clone(), clock::now().0);
        match desk.work(caller, Use::Write, move |area, who| area.delete(who, &wanted, now)).await {
            Ok(_) => gone.push(path),
            Err(error) => {
                problem = Some(error);
                break;
            }
        }
    }
    if !gone.is_empty() {
        let event = Event::FilesDeleted { paths: gone.iter().map(|path| path.as_str().to_owned()).collect() };
        desk.note(caller, &gone, &event).await?;
    }
    Ok((gone.len() as u64, problem))
}

/// Brings one thing back.
pub async fn bring_back(caller: &Caller, id: &str) -> Result<FilePath, AppError> {
    let desk = Desk::open(caller).await?;
    caller.authorise_for(Action::FileWrite, Whose::Own).await?;
    let id = id.to_owned();
    desk.work(caller, Use::Write, move |area, who| area.restore(who, &id)).await
}

/// Removes one thing from the caller's trash for good, or all of them.
pub async fn purge(caller: &Caller, id: Option<String>) -> Result<usize, AppError> {
    let desk = Desk::open(caller).await?;
    caller.authorise_for(Action::FileWrite, Whose::Own).await?;
    let purged = desk.work(caller, Use::Write, move |area, who| area.purge(who, id.as_deref(), i64::MAX)).await;
    // Also where something was in the way: the rest is gone.
    caller.studio.files().counted.forget(desk.area.clone());
    let count = purged?;
    Ok(count)
}

/// Lets everybody look into one's own folder, or nobody.
pub async fn open_home(caller: &Caller, is_open: bool) -> Result<(), AppError> {
    let desk = Desk::open(caller).await?;
    desk.check(caller, &desk.home(), Use::Write).await?;
    desk.work(caller, Use::Write, move |area, who| area.open_home(who, is_open)).await?;
    Ok(())
}

/// Sets how much each person may keep, in bytes; nothing means no limit. Needs `workspace.write`.
pub async fn set_limit(caller: &Caller, limit: Option<u64>) -> Result<(), AppError> {
    let event = Event::FilesLimitSet { limit: limit.map(bytes).unwrap_or_default() };
    let mut tx = caller.begin(Action::WorkspaceWrite, Whose::Others).await?;
    let workspace = &caller.actor()?.workspace.id;
    caller.checked(tx.set_files_limit(workspace, &caller.author(None)?, limit, &event).await)?;
    caller.checked(tx.commit().await)?;
    Ok(())
}
