//! What the pages of Files show.

use std::io::Read as _;
use std::sync::Arc;

use atelier_domain::Timestamp;
use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::error::AppError;
use atelier_domain::files::{FilePath, USERS};
use atelier_engine::store::FileOwner;
use atelier_files::{Area, Deleted, Entry, Kind, Listing, Usage, UsedBy, Wanted, Who};

use crate::caller::Caller;
use crate::files::desk::{Desk, Use, said};
use crate::files::preview::{MOST_EDIT, Preview};
use crate::files::{count, notebook, preview, run_as_job};
use crate::orders::ask;

pub const PAGE: usize = 200;

/// A folder and all around it.
#[derive(Debug)]
pub struct FolderPage {
    pub path: FilePath,
    pub listing: Listing,
    pub owners: Owners,
    pub home: FilePath,
    /// Whether everybody may look into it; only on its own page.
    pub is_home_open: Option<bool>,
    pub used: u64,
    pub limit: Option<u64>,
    /// How much of the disk is free, and how large it is.
    pub room: (u64, u64),
    /// Why nothing can be changed here.
    pub refusal: Option<String>,
    pub has_own_users: bool,
    /// Where programs find the area.
    pub inside: String,
    /// The folders around it, from the top down to its own.
    pub tree: Vec<TreeLevel>,
}

/// So many folders of one level are in the tree.
const MOST_IN_LEVEL: usize = 50;

/// One level of the tree: the folders in one folder.
#[derive(Debug)]
pub struct TreeLevel {
    pub folder: FilePath,
    pub folders: Vec<FilePath>,
    pub more: usize,
    /// Whether there is more than was read.
    pub is_partial: bool,
}

/// Reads the folders on the way to one and those beside them. A level that may not be read has only the one
/// that leads on.
async fn tree(caller: &Caller, desk: &Desk, path: &FilePath) -> Result<Vec<TreeLevel>, AppError> {
    let mut way = vec![path.clone()];
    while let Some(above) = way.last().and_then(FilePath::parent) {
        way.push(above);
    }
    way.reverse();
    let home = desk.home();
    let read = move |area: &Area, who: &Who| {
        let level = |number: usize, folder: &FilePath| {
            let next = way.get(number + 1);
            let found = area.folders(who, folder, MOST_IN_LEVEL, next.map(FilePath::name)).unwrap_or_default();
            // What is closed to others leads nowhere for them.
            let is_open = |entry: &Entry, path: &FilePath| !folder.is_users() || entry.is_open() || *path == home;
            let paths = found.entries.iter().filter_map(|entry| {
                folder.join(&entry.name).ok().filter(|path| is_open(entry, path) || Some(path) == next)
            });
            let mut folders: Vec<FilePath> = paths.collect();
            folders.extend(next.filter(|next| !folders.contains(next)).cloned());
            TreeLevel { folder: folder.clone(), folders, more: found.more, is_partial: found.is_partial }
        };
        Ok(way.iter().enumerate().map(|(number, folder)| level(number, folder)).collect())
    };
    desk.work(caller, Use::Read, read).await
}

/// Names of people, by what the disk and paths know of them.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    people: Arc<Vec<FileOwner>>,
    has_own_users: bool,
}

impl Owners {
    async fn read(caller: &Caller) -> Result<Self, AppError> {
        let people = Arc::new(caller.checked(caller.store().file_owners().await)?);
        Ok(Self { people, has_own_users: caller.studio.fleet().has_own_users() })
    }

    /// Whose something is; empty where nobody knows.
    pub fn of(&self, path: &FilePath, entry: &Entry) -> String {
        let found = if self.has_own_users {
            self.people.iter().find(|person| person.uid == entry.owner)
        } else {
            path.person().and_then(|handle| self.people.iter().find(|person| person.handle == handle))
        };
        found.map(|person| person.name.clone()).unwrap_or_default()
    }

    /// The name of who has that short name.
    pub fn name(&self, handle: &str) -> Option<String> {
        self.people.iter().find(|person| person.handle == handle).map(|person| person.name.clone())
    }

    pub fn people(&self) -> &[FileOwner] {
        &self.people
    }
}

/// Reads a folder. Needs `file.read`.
pub async fn folder(caller: &Caller, path: &str, wanted: Wanted) -> Result<FolderPage, AppError> {
    let desk = Desk::open(caller).await?;
    let path = Desk::path(path)?;
    desk.check(caller, &path, Use::Read).await?;
    let listing = list_part(caller, &desk, &path, wanted).await?;
    let (workspace, home) = (caller.actor()?.workspace.id.clone(), desk.home());
    let is_home_open = match path == home && desk.may_write {
        true => Some(desk.look(caller, &home).await?.is_open()),
        false => None,
    };
    let refusal = desk.check(caller, &path, Use::Write).await.and_then(|()| Desk::check_parent(&path)).err();
    Ok(FolderPage {
        owners: Owners::read(caller).await?,
        is_home_open,
        used: count::used_by(caller, &desk).await?.bytes,
        limit: caller.checked(caller.store().files_limit(&workspace).await)?,
        room: desk.work(caller, Use::Read, |area, _| area.room()).await?,
        refusal: refusal.map(|error| error.to_string()),
        has_own_users: desk.has_own_users,
        inside: caller.studio.files().seen_at(caller.studio.fleet()).display().to_string(),
        tree: tree(caller, &desk, &path).await?,
        home,
        listing,
        path,
    })
}

/// Lists a part of a folder.
pub async fn list_part(caller: &Caller, desk: &Desk, path: &FilePath, wanted: Wanted) -> Result<Listing, AppError> {
    let path = path.clone();
    desk.work(caller, Use::Read, move |area, who| area.list(who, &path, &wanted)).await
}

/// A file and how it is shown.
#[derive(Debug)]
pub struct FileDetail {
    pub path: FilePath,
    pub entry: Entry,
    pub owner: String,
    /// How it is shown; none for what is no file.
    pub preview: Option<Preview>,
    /// Why it cannot be changed.
    pub refusal: Option<String>,
    /// Whether the editor takes it.
    pub is_text: bool,
    /// Whether it can be run as a job, and whether the caller may.
    pub runs: bool,
    /// Where programs find it.
    pub inside: String,
    /// The caller's own instances that run, in which JupyterLab can open it.
    pub labs: Vec<String>,
}

/// Reads a file for its page. Needs `file.read`.
pub async fn file_detail(caller: &Caller, path: String) -> Result<FileDetail, AppError> {
    let desk = Desk::open(caller).await?;
    let path = Desk::path(&path)?;
    desk.check(caller, &path, Use::Read).await?;
    let entry = desk.look(caller, &path).await?;
    let slug = caller.actor()?.workspace.slug.clone();
    let shown = if entry.kind == Kind::File {
        let wanted = path.clone();
        // Large notebooks are held in memory while they are read, so a few at a time.
        let _turn = match path.ending().as_str() {
            "ipynb" => Some(caller.checked(notebook::TURNS.acquire().await)?),
            _ => None,
        };
        let made = desk.work(caller, Use::Read, move |area, who| {
            let (file, entry) = area.read(who, &wanted)?;
            Ok(preview::of(file, &wanted, entry.size, &slug)?)
        });
        Some(made.await?)
    } else {
        None
    };
    let refusal = desk.check(caller, &path, Use::Write).await.err().map(|error| error.to_string());
    let is_shown_as_text = matches!(
        shown,
        Some(Preview::Text { .. } | Preview::Table { .. } | Preview::Markdown { .. } | Preview::Notebook(_))
    );
    let is_text = entry.kind == Kind::File && entry.size <= MOST_EDIT && (entry.size == 0 || is_shown_as_text);
    let may_submit = caller.actor()?.person.rights().check(Action::JobSubmit, Whose::Own).is_ok();
    Ok(FileDetail {
        owner: Owners::read(caller).await?.of(&path, &entry),
        runs: may_submit && entry.kind == Kind::File && run_as_job::is_runnable(&path),
        inside: caller.studio.files().seen_at(caller.studio.fleet()).join(path.as_str()).display().to_string(),
        labs: labs(caller).await?,
        preview: shown,
        refusal,
        is_text,
        entry,
        path,
    })
}

/// The caller's own instances that run.
async fn labs(caller: &Caller) -> Result<Vec<String>, AppError> {
    let actor = caller.actor()?;
    let (workspace, me) = (actor.workspace.id.clone(), actor.person.id.clone());
    ask(caller, move |world| {
        let mine = world.instances().filter(|instance| instance.workspace == workspace && instance.owner == me);
        mine.filter(|instance| {
            matches!(world.instance_state(instance), InstanceState::Running | InstanceState::JobRunning)
        })
        .map(|instance| instance.name.to_string())
        .collect()
    })
    .await
}

/// What the editor begins with.
#[derive(Debug)]
pub struct EditorPage {
    pub path: FilePath,
    pub version: String,
    pub text: String,
    /// Whether its lines end with two characters.
    pub has_crlf: bool,
    pub language: &'static str,
}

/// Reads a text for the editor. Needs `file.write` there.
pub async fn editor(caller: &Caller, path: String) -> Result<EditorPage, AppError> {
    let desk = Desk::open(caller).await?;
    let path = Desk::path(&path)?;
    desk.check(caller, &path, Use::Read).await?;
    desk.check(caller, &path, Use::Write).await?;
    let wanted = path.clone();
    let (file, entry) = desk.work(caller, Use::Read, move |area, who| area.read(who, &wanted)).await?;
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        file.take(MOST_EDIT + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let bytes = caller.checked(read.await)?.map_err(|error| said(caller, error.into(), Use::Read))?;
    let text = preview::text_of(&bytes, false).filter(|_| bytes.len() as u64 <= MOST_EDIT);
    let Some(text) = text.map(ToOwned::to_owned) else {
        let message = format!(
            "The editor takes texts of at most {} KiB in UTF-8. Download this file, or open it in JupyterLab.",
            MOST_EDIT >> 10
        );
        return Err(AppError::refused("files.no-text", message));
    };
    if let Some(why) = preview::why_not_edited(&text) {
        let message = format!(
            "The editor would change more of this file than you do: {why} Open it in JupyterLab or a terminal."
        );
        return Err(AppError::refused("files.no-text", message));
    }
    let language = atelier_domain::files::colour::Language::of(path.name(), &text).name();
    Ok(EditorPage { has_crlf: text.contains("\r\n"), version: entry.version, path, text, language })
}

/// What the form for a new file or folder needs: whether one may make something there.
pub async fn place_for_new(caller: &Caller, path: String) -> Result<FilePath, AppError> {
    let desk = Desk::open(caller).await?;
    let path = Desk::path(&path)?;
    desk.check(caller, &path, Use::Write).await?;
    Desk::check_parent(&path)?;
    desk.look(caller, &path).await?;
    Ok(path)
}

/// What is about to be moved or deleted, with what it is.
pub async fn chosen(caller: &Caller, ids: Vec<String>) -> Result<Vec<(FilePath, Entry, Result<(), String>)>, AppError> {
    let desk = Desk::open(caller).await?;
    let mut found = Vec::new();
    for id in ids.iter().take(1_000) {
        let path = Desk::path(id)?;
        desk.check(caller, &path, Use::Read).await?;
        let entry = desk.look(caller, &path).await?;
        let judged = match Desk::check_movable(&path) {
            Ok(()) => desk.check(caller, &path, Use::Write).await,
            Err(error) => Err(error),
        };
        found.push((path, entry, judged.map_err(|error| error.to_string())));
    }
    Ok(found)
}

/// What is in the caller's trash; nothing for who has none.
pub async fn trash(caller: &Caller) -> Result<Vec<Deleted>, AppError> {
    let desk = Desk::open(caller).await?;
    if !desk.may_write {
        return Ok(Vec::new());
    }
    desk.work(caller, Use::Read, |area, who| area.trash(who)).await
}

/// Who uses how much.
#[derive(Debug)]
pub struct UsagePage {
    pub mine: UsedBy,
    pub limit: Option<u64>,
    /// How much of the disk is free, and how large it is.
    pub room: (u64, u64),
    /// Everybody by name and short name, the most first; only for who sets limits.
    pub people: Option<Vec<(String, String, u64, u64)>>,
    pub total: u64,
    pub at: Timestamp,
    /// Whether there is more than was counted.
    pub is_partial: bool,
}

/// Who uses how much, for the page. Needs `file.read`.
pub async fn usage_page(caller: &Caller) -> Result<UsagePage, AppError> {
    let desk = Desk::open(caller).await?;
    let (usage, at) = count::usage(caller, &desk, true).await?;
    let actor = caller.actor()?;
    let sees_all = actor.person.rights().check(Action::WorkspaceWrite, Whose::Others).is_ok();
    let owners = Owners::read(caller).await?;
    let mut mine = count::used_by(caller, &desk).await?;
    // What others cannot see is not named: paths of one's own things and of shared ones only.
    mine.largest.retain(|large| !large.path.starts_with(USERS) || large.path.starts_with(desk.home().as_str()));
    Ok(UsagePage {
        mine,
        limit: caller.checked(caller.store().files_limit(&actor.workspace.id).await)?,
        room: desk.work(caller, Use::Read, |area, _| area.room()).await?,
        people: sees_all.then(|| everybody(&usage, &owners, desk.has_own_users)),
        total: usage.bytes,
        is_partial: usage.is_partial,
        at,
    })
}

fn everybody(usage: &Usage, owners: &Owners, has_own_users: bool) -> Vec<(String, String, u64, u64)> {
    let mut all: Vec<_> = owners
        .people()
        .iter()
        .map(|person| {
            let used = count::of(usage, has_own_users.then_some(person.uid), &person.handle);
            (person.name.clone(), person.handle.clone(), used.bytes, used.files)
        })
        .collect();
    all.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
    all
}

/// How much each person may keep. Needs `workspace.read`.
pub async fn files_limit(caller: &Caller) -> Result<Option<u64>, AppError> {
    let workspace = caller.authorise(Action::WorkspaceRead).await?.workspace.id.clone();
    caller.checked(caller.store().files_limit(&workspace).await)
}
