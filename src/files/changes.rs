//! What people change in Files. What the API changes goes the same ways.

use atelier_domain::access::{Action, Whose};
use atelier_domain::files::{FilePath, bytes, check_new_name, parse_bytes};
use atelier_domain::history::Event;
use atelier_domain::paths;
use atelier_domain::text::{Problem, counted, shortened};
use atelier_studio::files::commands::{add_folder, bring_back, discard, purge, shift};
use atelier_studio::files::desk::{Desk, Use, shown};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

/// The most things of one request.
const MOST: usize = 1_000;

pub async fn make_folder(path: &str, name: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let folder = Desk::path(path)?;
    let (made, _) = add_folder(&caller, &folder, name.trim()).await?;
    let slug = &caller.actor()?.workspace.slug;
    Ok(Done::go(paths::files(slug, made.as_str()), format!("The folder “{}” was made.", shortened(made.name()))))
}

pub async fn move_file(path: &str, folder: &str, name: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let from = Desk::path(path)?;
    let folder = FilePath::parse(folder.trim()).map_err(|problem| Problem::new("folder", problem.message))?;
    check_new_name(name.trim())?;
    let to = folder.join(name.trim())?;
    let slug = caller.actor()?.workspace.slug.clone();
    if from == to {
        return Ok(Done::go(paths::files(&slug, folder.as_str()), "It has that name and place already."));
    }
    shift(&caller, &from, &to).await.map_err(|error| match error {
        AppError::Refused { code, .. } if code == "files.exists" => {
            let message = format!("“{}” is there already. Choose another name.", shortened(to.name()));
            Problem::new("name", message).into()
        }
        AppError::NotFound { .. } => {
            Problem::new("folder", format!("There is no folder “{}”, or it is not for you.", shown(&folder))).into()
        }
        other => other,
    })?;
    Ok(Done::go(paths::files(&slug, folder.as_str()), format!("“{}” is now “{}”.", shown(&from), shown(&to))))
}

pub async fn delete(ids: &[String]) -> Result<Done, AppError> {
    let caller = here()?;
    if ids.is_empty() || ids.len() > MOST {
        return Err(Problem::new("ids", format!("Choose 1 to {MOST} things; these are {}.", ids.len())).into());
    }
    let paths: Vec<FilePath> = ids.iter().map(|id| Desk::path(id)).collect::<Result<_, _>>()?;
    let (gone, problem) = discard(&caller, &paths).await?;
    let slug = &caller.actor()?.workspace.slug;
    let back = paths.first().and_then(FilePath::parent).unwrap_or_default();
    if let Some(error) = problem {
        let before = if gone > 0 {
            format!("{} moved to the trash; then: ", counted(gone, "thing was", "things were"))
        } else {
            String::new()
        };
        return Err(AppError::Refused { code: "files.not-all".into(), message: format!("{before}{error}") });
    }
    let said = match paths.as_slice() {
        [only] => format!("“{}” is in the trash now.", shortened(only.name())),
        many => format!("{} are in the trash now.", counted(many.len() as u64, "thing", "things")),
    };
    Ok(Done::go(paths::files(slug, back.as_str()), said))
}

pub async fn restore(ids: &[String]) -> Result<Done, AppError> {
    let caller = here()?;
    if ids.is_empty() || ids.len() > MOST {
        return Err(Problem::new("ids", format!("Choose 1 to {MOST} things; these are {}.", ids.len())).into());
    }
    let mut places = Vec::new();
    for id in ids {
        places.push(bring_back(&caller, id).await?);
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

pub async fn empty_trash() -> Result<Done, AppError> {
    let caller = here()?;
    let count = purge(&caller, None).await?;
    let slug = &caller.actor()?.workspace.slug;
    let said = match count {
        0 => "The trash was empty already.".to_owned(),
        count => format!("{} gone for good.", counted(count as u64, "thing is", "things are")),
    };
    Ok(Done::go(paths::trash(slug), said))
}

pub async fn open_folder(is_open: bool) -> Result<Done, AppError> {
    let caller = here()?;
    let desk = Desk::open(&caller).await?;
    desk.check(&caller, &desk.home(), Use::Write).await?;
    desk.work(&caller, Use::Write, move |area, who| area.open_home(who, is_open)).await?;
    Ok(Done::stay(if is_open {
        "Everybody may look into your folder now. You alone change it."
    } else {
        "Your folder is closed to everybody else now."
    }))
}

pub async fn set_limit(text: &str) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise(Action::WorkspaceWrite).await?;
    let limit = match text.trim() {
        "" => None,
        text => Some(parse_bytes(text).filter(|limit| *limit > 0).ok_or_else(|| {
            let message =
                format!("A limit is a size such as 20 GiB, or empty for none; this is “{}”.", shortened(text));
            Problem::new("limit", message)
        })?),
    };
    let said = limit.map(bytes).unwrap_or_default();
    let event = Event::FilesLimitSet { limit: said.clone() };
    let mut tx = caller.begin(Action::WorkspaceWrite, Whose::Others).await?;
    let workspace = caller.actor()?.workspace.id.clone();
    caller.checked(tx.set_files_limit(&workspace, &caller.author(None)?, limit, &event).await)?;
    caller.checked(tx.commit().await)?;
    Ok(Done::stay(match limit {
        Some(_) => format!("Each person may keep {said} in Files now. What is there already stays."),
        None => "There is no limit on people’s files any more.".to_owned(),
    }))
}
