//! The files of the workspace, for pages and the API alike: who asks → may they → the disk, as them → the
//! answer in words.
//!
//! Where people have users of their own the kernel judges every step. Where they have not, everything belongs
//! to one user, and the same rules are kept here: a person's own folder is theirs, and others see it only
//! when it is open.

use std::collections::{HashMap, hash_map};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use atelier_domain::access::{Action, Whose};
use atelier_domain::error::AppError;
use atelier_domain::files::{FilePath, bytes};
use atelier_domain::history::Event;
use atelier_domain::text::{Problem, shortened};
use atelier_engine::clock;
use atelier_engine::fleet::Fleet;
use atelier_files::{Area, Entry, Error, Who};
use tokio::sync::Notify;

use crate::caller::Caller;
use crate::files::count::Counted;

/// So much of the disk is never given to files: stopping and deleting must be written down somewhere.
pub const RESERVE: u64 = 256 << 20;
/// So long is waited until a request gives an upload back that another wants: it finishes its write.
const HAND_OVER: Duration = Duration::from_secs(10);

/// The files of the server: the area, and what was counted in it.
#[derive(Debug, Default)]
pub struct Files {
    area: OnceLock<Arc<Area>>,
    /// Where programs in sandboxes see it.
    seen_at: OnceLock<PathBuf>,
    pub counted: Arc<Counted>,
    /// Uploads that a request is adding to.
    busy: Mutex<HashMap<String, Arc<Holder>>>,
}

/// The request that has an upload in its hands.
#[derive(Debug, Default)]
struct Holder {
    is_wanted: Notify,
    is_free: Notify,
}

impl Files {
    /// The area; opened when it is first asked for.
    pub fn area(&self, fleet: &Fleet) -> Result<Arc<Area>, Error> {
        if let Some(area) = self.area.get() {
            return Ok(area.clone());
        }
        let opened = Arc::new(Area::open(&fleet.folders().shared())?);
        Ok(self.area.get_or_init(|| opened).clone())
    }

    /// Notes where programs in sandboxes see the area.
    pub fn see_at(&self, place: PathBuf) {
        drop(self.seen_at.set(place));
    }

    /// Where programs in sandboxes see the area.
    pub fn seen_at(&self, fleet: &Fleet) -> PathBuf {
        self.seen_at.get().cloned().unwrap_or_else(|| fleet.folders().shared())
    }

    /// Takes an upload for one request, or says who has it.
    fn try_take(self: &Arc<Self>, id: &str) -> Result<Taken, Arc<Holder>> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        match busy.entry(id.to_owned()) {
            hash_map::Entry::Occupied(held) => Err(held.get().clone()),
            hash_map::Entry::Vacant(free) => {
                let holder = free.insert(Arc::default()).clone();
                Ok(Taken { files: self.clone(), id: id.to_owned(), holder })
            }
        }
    }

    /// Takes an upload for one request. Whoever has it is asked to leave: a request whose client is gone
    /// would hold it until its patience ends. None if they do not in time.
    pub async fn take(self: &Arc<Self>, id: &str) -> Option<Taken> {
        let taking = async {
            loop {
                let holder = match self.try_take(id) {
                    Ok(taken) => return taken,
                    Err(holder) => holder,
                };
                let freed = holder.is_free.notified();
                tokio::pin!(freed);
                freed.as_mut().enable();
                // Given back between the two looks: nobody would say so a second time.
                if let Ok(taken) = self.try_take(id) {
                    return taken;
                }
                holder.is_wanted.notify_one();
                freed.await;
            }
        };
        tokio::time::timeout(HAND_OVER, taking).await.ok()
    }
}

/// An upload in the hands of one request.
#[derive(Debug)]
pub struct Taken {
    files: Arc<Files>,
    id: String,
    holder: Arc<Holder>,
}

impl Taken {
    pub async fn wanted(&self) {
        self.holder.is_wanted.notified().await;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.files.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        self.holder.is_free.notify_waiters();
    }
}

/// Somebody at work with files.
#[derive(Clone, Debug)]
pub struct Desk {
    pub area: Arc<Area>,
    pub who: Who,
    pub has_own_users: bool,
    pub may_write: bool,
}

/// What is done with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Read,
    /// Changed, or something in it.
    Write,
}

impl Desk {
    /// Sits down. Needs `file.read`; the own folder is made if it is missing.
    pub async fn open(caller: &Caller) -> Result<Self, AppError> {
        let actor = caller.authorise(Action::FileRead).await?;
        let rights = actor.person.rights();
        let user = caller.checked(caller.store().local_user(&actor.person.id).await)?;
        let has_own_users = caller.studio.fleet().has_own_users();
        let who = Who { handle: user.handle, uid: has_own_users.then_some(user.uid) };
        let may_write = rights.check(Action::FileWrite, Whose::Own).is_ok();
        let (files, fleet, person) = (caller.studio.files().clone(), caller.studio.fleet().clone(), who.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let area = files.area(&fleet)?;
            if may_write {
                area.welcome(&person)?;
            }
            Ok::<_, Error>(area)
        });
        let area = caller.checked(caller.checked(opened.await)?)?;
        Ok(Self { area, who, has_own_users, may_write })
    }

    /// Reads a path as it was typed.
    pub fn path(text: &str) -> Result<FilePath, AppError> {
        FilePath::parse(text).map_err(AppError::invalid)
    }

    pub fn home(&self) -> FilePath {
        FilePath::home_of(&self.who.handle).unwrap_or_default()
    }

    /// Whether the caller may do that there, by the portal's own rules. The disk has the last word.
    pub async fn check(&self, caller: &Caller, path: &FilePath, what: Use) -> Result<(), AppError> {
        let is_mine = path.person() == Some(self.who.handle.as_str());
        match what {
            Use::Write => {
                caller.authorise_for(Action::FileWrite, Whose::Own).await?;
                match path.person() {
                    Some(other) if !is_mine => Err(AppError::refused(
                        "files.not-yours",
                        format!(
                            "“Users/{other}” is somebody else’s own folder: they alone change what is in it. Copy what \
                             you need to your own."
                        ),
                    )),
                    _ => Ok(()),
                }
            }
            Use::Read => {
                let Some(other) = path.person().filter(|_| !is_mine && !self.has_own_users) else { return Ok(()) };
                let home = FilePath::home_of(other).map_err(AppError::invalid)?;
                if self.look(caller, &home).await?.is_open() {
                    Ok(())
                } else {
                    Err(AppError::not_found("file or folder"))
                }
            }
        }
    }

    /// What the disk says of something. Whether the caller may see it was judged before.
    pub async fn look(&self, caller: &Caller, path: &FilePath) -> Result<Entry, AppError> {
        let path = path.clone();
        self.work(caller, Use::Read, move |area, who| area.look(who, &path)).await
    }

    /// Whether something may be renamed, moved or deleted: not the top, not the folder of everybody's own,
    /// not one's own folder itself.
    pub fn check_movable(path: &FilePath) -> Result<(), AppError> {
        if path.is_top() || path.is_users() || path.is_home() {
            return Err(AppError::refused(
                "files.fixed",
                format!("“{path}” has its place: every instance and job finds it there."),
            ));
        }
        Ok(())
    }

    /// Whether something may be made in a folder: everybody's own folders make themselves.
    pub fn check_parent(parent: &FilePath) -> Result<(), AppError> {
        if parent.is_users() {
            let message = "Everybody’s own folder is made by Atelier. Open yours, or make a shared folder at the top.";
            return Err(AppError::refused("files.fixed", message));
        }
        Ok(())
    }

    /// Does something on the disk, on a thread that may wait for it.
    pub async fn work<T: Send + 'static>(
        &self,
        caller: &Caller,
        what: Use,
        work: impl FnOnce(&Area, &Who) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, AppError> {
        let (area, who) = (self.area.clone(), self.who.clone());
        let done = caller.checked(tokio::task::spawn_blocking(move || work(&area, &who)).await)?;
        done.map_err(|error| said(caller, error, what))
    }

    /// Whether there is room for so many bytes more: on the disk, and within what the person may have.
    pub async fn check_room(&self, caller: &Caller, more: u64) -> Result<(), AppError> {
        let (free, _) = self.work(caller, Use::Read, |area, _| area.room()).await?;
        if caller.studio.engine().status().is_disk_low || free < more.saturating_add(RESERVE) {
            return Err(full(free, more));
        }
        let workspace = &caller.actor()?.workspace.id;
        if let Some(limit) = caller.checked(caller.store().files_limit(workspace).await)? {
            crate::files::count::check_limit(caller, self, limit, more).await?;
        }
        Ok(())
    }

    /// Why there is no room for so many bytes.
    pub async fn no_room(&self, caller: &Caller, more: u64) -> AppError {
        match self.check_room(caller, more).await {
            Err(error) => error,
            Ok(()) => full(self.area.room().map_or(0, |(free, _)| free), more),
        }
    }

    /// Notes something in the history, where others are concerned: what is in one's own folder is one's own
    /// business.
    pub async fn note(&self, caller: &Caller, paths: &[&FilePath], event: &Event) -> Result<(), AppError> {
        if paths.iter().all(|path| path.person().is_some()) {
            return Ok(());
        }
        let (workspace, author) = (caller.actor()?.workspace.id.clone(), caller.author(None)?);
        let written = async {
            let mut tx = caller.store().begin(clock::now()).await?;
            tx.record(&workspace, &author, None, event).await?;
            tx.commit().await.map(|_| ())
        };
        // It is done by now; that it could not be noted must not look like a failure.
        if let Err(error) = written.await {
            tracing::warn!(%error, "a change of files was not noted in the history");
        }
        Ok(())
    }
}

/// Whether so many bytes can be written and the reserve is still there afterwards. Asked before each write:
/// others write too, and what was free when a file began to come may be gone.
pub fn check_reserve(area: &Area, more: usize) -> Result<(), Error> {
    let (free, _) = area.room()?;
    if free < RESERVE.saturating_add(more as u64) { Err(Error::Full { free }) } else { Ok(()) }
}

fn full(free: u64, more: u64) -> AppError {
    let (free, kept) = (bytes(free), bytes(RESERVE));
    let needed = if more > 0 { format!(" This needs {}.", bytes(more)) } else { String::new() };
    AppError::refused(
        "disk-full",
        format!(
            "The server’s disk has {free} free, of which {kept} are kept so that stopping and deleting always \
             work.{needed} Empty your trash, or ask an operator to make room."
        ),
    )
}

/// Says that somebody’s limit would be passed, with the numbers.
pub fn over(used: u64, more: u64, limit: u64) -> AppError {
    let (used, more, limit) = (bytes(used), bytes(more), bytes(limit));
    AppError::refused(
        "files.limit",
        format!(
            "You use {used} of the {limit} that each person may have, and this needs {more} more. Delete something and \
             empty your trash, or ask an Owner to raise the limit."
        ),
    )
}

/// What people are told when the disk refuses.
pub fn said(caller: &Caller, error: Error, what: Use) -> AppError {
    let refused = |code, message: &str| AppError::refused(code, message);
    match error {
        Error::NotFound | Error::NotAFolder => AppError::not_found("file or folder"),
        Error::Denied if what == Use::Read => AppError::not_found("file or folder"),
        Error::Denied => refused(
            "files.denied",
            "The rights on disk don’t allow this: it’s somebody else’s. Ask them, or copy it to your own folder.",
        ),
        Error::Exists => refused("files.exists", "Something of that name is there already. Choose another name."),
        Error::IsAFolder => refused("files.is-folder", "This is a folder; a file is needed here."),
        Error::Link => refused(
            "files.link",
            "This is a link, or the way to it leads over one. Links are not followed here; open what it points to.",
        ),
        Error::Changed { now: Some(_) } => refused(
            "files.changed",
            "Somebody has changed this file since you opened it. Nothing was written; look at it again.",
        ),
        Error::Changed { now: None } => {
            refused("files.changed", "This file was moved or deleted since you opened it. Nothing was written.")
        }
        Error::Full { free } => full(free, 0),
        Error::Offset { at } => AppError::refused(
            "files.offset",
            format!("The upload goes on at byte {at}; the piece began elsewhere. Ask how far it is."),
        ),
        Error::Busy => refused("files.busy", "Another request is adding to this upload. Try again in a moment."),
        Error::IntoItself => refused("files.into-itself", "A folder cannot be moved into itself."),
        Error::OtherDisk => {
            refused("files.other-disk", "The two places are on different disks. Copy it and delete the first one.")
        }
        Error::TooMany { most } => AppError::refused(
            "files.too-many",
            format!("There are more than {most} files in it. Take its folders one by one."),
        ),
        Error::Io(error) if error.raw_os_error() == Some(36) => {
            AppError::invalid(Problem::new("name", "The name is too long for the disk."))
        }
        Error::Io(error) => {
            tracing::error!(%error, "the disk failed");
            AppError::Internal { request: caller.request.id.clone() }
        }
    }
}

/// Whether a refusal says that somebody else was quicker.
pub fn is_conflict(error: &AppError) -> bool {
    matches!(error, AppError::Refused { code, .. } if code == "files.changed" || code == "files.exists")
}

/// The beginning of a path for a sentence.
pub fn shown(path: &FilePath) -> String {
    shortened(&path.to_string())
}
