//! The files of the workspace as forms change them: folders, files, the trash, and the limit.

use leptos::prelude::*;
#[cfg(feature = "ssr")]
use {
    crate::error::AppError,
    crate::server::caller::here,
    atelier_domain::access::Action,
    atelier_domain::files::{FilePath, bytes, check_new_name, parse_bytes},
    atelier_domain::paths,
    atelier_domain::text::{Problem, counted, shortened},
    atelier_studio::files::commands,
    atelier_studio::files::desk::{Desk, shown},
};

use crate::done::Done;
use crate::error::FnError;

/// Makes a folder in the folder at `path`. Needs `file.write`.
#[server(prefix = "/fn", endpoint = "make_folder")]
pub async fn make_folder(#[server(default)] path: String, name: String) -> Result<Done, FnError> {
    let caller = here()?;
    let folder = Desk::path(&path)?;
    let (made, _) = commands::add_folder(&caller, &folder, name.trim()).await?;
    let slug = &caller.actor()?.workspace.slug;
    Ok(Done::go(paths::files(slug, made.as_str()), format!("The folder “{}” was made.", shortened(made.name()))))
}

/// Gives something another name or another folder. Needs `file.write` at both places.
#[server(prefix = "/fn", endpoint = "move_file")]
pub async fn move_file(path: String, #[server(default)] folder: String, name: String) -> Result<Done, FnError> {
    let caller = here()?;
    let from = Desk::path(&path)?;
    let folder = FilePath::parse(folder.trim()).map_err(|problem| Problem::new("folder", problem.message))?;
    check_new_name(name.trim())?;
    let to = folder.join(name.trim())?;
    let next = paths::files(&caller.actor()?.workspace.slug, folder.as_str());
    if from == to {
        return Ok(Done::go(next, "It has that name and place already."));
    }
    commands::shift(&caller, &from, &to).await.map_err(|error| match error {
        AppError::Refused { code, .. } if code == "files.exists" => {
            let message = format!("“{}” is there already. Choose another name.", shortened(to.name()));
            Problem::new("name", message).into()
        }
        AppError::NotFound { .. } => {
            Problem::new("folder", format!("There is no folder “{}”, or it is not for you.", shown(&folder))).into()
        }
        other => other,
    })?;
    Ok(Done::go(next, format!("“{}” is now “{}”.", shown(&from), shown(&to))))
}

/// Moves things to the trash of who deletes them. Needs `file.write`.
#[server(prefix = "/fn", endpoint = "delete_files")]
pub async fn delete_files(#[server(default)] ids: Vec<String>) -> Result<Done, FnError> {
    let caller = here()?;
    check_count(&ids)?;
    let paths: Vec<FilePath> = ids.iter().map(|id| Desk::path(id)).collect::<Result<_, _>>()?;
    let (gone, problem) = commands::discard(&caller, &paths).await?;
    let slug = &caller.actor()?.workspace.slug;
    let back = paths.first().and_then(FilePath::parent).unwrap_or_default();
    if let Some(error) = problem {
        let before = if gone > 0 {
            format!("{} moved to the trash; then: ", counted(gone, "thing was", "things were"))
        } else {
            String::new()
        };
        return Err(AppError::Refused { code: "files.not-all".into(), message: format!("{before}{error}") }.into());
    }
    let said = match paths.as_slice() {
        [only] => format!("“{}” is in the trash now.", shortened(only.name())),
        many => format!("{} are in the trash now.", counted(many.len() as u64, "thing", "things")),
    };
    Ok(Done::go(paths::files(slug, back.as_str()), said))
}

/// Brings things back from one's own trash. Needs `file.write`.
#[server(prefix = "/fn", endpoint = "restore_files")]
pub async fn restore_files(#[server(default)] ids: Vec<String>) -> Result<Done, FnError> {
    let caller = here()?;
    check_count(&ids)?;
    let mut places = Vec::new();
    for id in &ids {
        places.push(commands::bring_back(&caller, id).await?);
    }
    let slug = &caller.actor()?.workspace.slug;
    Ok(match places.as_slice() {
        [only] => Done::go(
            paths::files(slug, only.parent().unwrap_or_default().as_str()),
            format!("It is back as “{}”.", shown(only)),
        ),
        many => Done::stay(format!("{} are back where they were.", counted(many.len() as u64, "thing", "things"))),
    })
}

/// Removes everything in one's own trash for good. Needs `file.write`.
#[server(prefix = "/fn", endpoint = "empty_trash")]
pub async fn empty_trash() -> Result<Done, FnError> {
    let caller = here()?;
    let said = match commands::purge(&caller, None).await? {
        0 => "The trash was empty already.".to_owned(),
        count => format!("{} gone for good.", counted(count as u64, "thing is", "things are")),
    };
    Ok(Done::go(paths::trash(&caller.actor()?.workspace.slug), said))
}

/// Opens one's own folder to everyone, or closes it. Needs `file.write`.
#[server(prefix = "/fn", endpoint = "open_folder")]
pub async fn open_folder(#[server(default)] open: String) -> Result<Done, FnError> {
    let is_open = open == "on";
    commands::open_home(&here()?, is_open).await?;
    Ok(Done::stay(if is_open {
        "Everybody may look into your folder now. You alone change it."
    } else {
        "Your folder is closed to everybody else now."
    }))
}

/// Sets how much each person may keep in Files. Needs `workspace.write`.
#[server(prefix = "/fn", endpoint = "set_files_limit")]
pub async fn set_files_limit(#[server(default)] limit: String) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Action::WorkspaceWrite).await?;
    let limit = match limit.trim() {
        "" => None,
        text => Some(parse_bytes(text).filter(|limit| *limit > 0).ok_or_else(|| {
            let message =
                format!("A limit is a size such as 20 GiB, or empty for none; this is “{}”.", shortened(text));
            Problem::new("limit", message)
        })?),
    };
    commands::set_limit(&caller, limit).await?;
    Ok(Done::stay(match limit.map(bytes) {
        Some(said) => format!("Each person may keep {said} in Files now. What is there already stays."),
        None => "There is no limit on people’s files any more.".to_owned(),
    }))
}

/// The most things of one request.
#[cfg(feature = "ssr")]
const MOST: usize = 1_000;

#[cfg(feature = "ssr")]
fn check_count(ids: &[String]) -> Result<(), Problem> {
    match ids.len() {
        1..=MOST => Ok(()),
        count => Err(Problem::new("ids", format!("Choose 1 to {MOST} things; these are {count}."))),
    }
}
