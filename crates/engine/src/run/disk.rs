//! The disk of an embedded database: room of its own in the write-ahead log, which nobody else can take, and
//! a ballast that is thrown off when the disk is full, so that stopping and deleting can still be made
//! durable.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Tells how many bytes are free where a directory lies.
pub type FreeSpace = Arc<dyn Fn(&Path) -> io::Result<u64> + Send + Sync>;

/// What may be set about the disk.
#[derive(Clone)]
pub struct DiskOptions {
    /// How large the ballast is, in bytes.
    pub ballast: u64,
    /// With less free space than this the disk counts as full.
    pub floor: u64,
    /// Tells the free space where the database lies.
    pub free: FreeSpace,
}

impl std::fmt::Debug for DiskOptions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("DiskOptions").field("ballast", &self.ballast).field("floor", &self.floor).finish()
    }
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self { ballast: 64 << 20, floor: 64 << 20, free: Arc::new(free_space) }
    }
}

fn free_space(folder: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Throws the ballast off before the database is opened, if there is no room: starting writes too.
pub fn make_room(folder: &Path) {
    let floor = DiskOptions::default().floor;
    if free_space(folder).is_ok_and(|free| free < floor) && std::fs::remove_file(folder.join("ballast")).is_ok() {
        tracing::error!(path = %folder.display(), "the disk is full: the ballast was thrown off to be able to start");
    }
}

#[derive(Debug)]
pub(super) struct Disk {
    folder: PathBuf,
    options: DiskOptions,
    is_low: bool,
    /// Looks since room was last kept in the log.
    looks: u32,
}

/// What the write-ahead log has on disk before it needs it. As much as SQLite's index of the log covers
/// without growing: that file cannot be opened here, since closing it would give up SQLite's locks on it.
const LOG_ROOM: u64 = 16 << 20;
/// A log that SQLite has made anew gets its room after so many looks.
const LOOKS: u32 = 256;

impl Disk {
    /// Lays the ballast down, if there is room for it.
    pub async fn watch(folder: &Path, options: DiskOptions) -> Self {
        let mut disk = Self { folder: folder.to_owned(), options, is_low: false, looks: 0 };
        disk.look().await;
        if !disk.is_low && !disk.lay_down().await {
            disk.is_low = true;
        }
        disk
    }

    /// Whether only what frees something may be written.
    pub const fn is_low(&self) -> bool {
        self.is_low
    }

    /// Free bytes and how many there should be.
    pub fn numbers(&self) -> (u64, u64) {
        ((self.options.free)(&self.folder).unwrap_or_default(), self.options.floor)
    }

    /// Looks at the free space. The ballast goes when there is too little; it comes back when there is room
    /// for it besides.
    pub async fn look(&mut self) {
        // A file system that cannot tell is taken to have room; its own refusals are heard all the same.
        let Ok(free) = (self.options.free)(&self.folder) else { return };
        self.keep_room();
        if !self.is_low && free < self.options.floor {
            self.is_full();
        } else if self.is_low
            && free >= self.options.floor.saturating_add(self.options.ballast)
            && self.lay_down().await
        {
            self.is_low = false;
            tracing::info!(free, "the disk has room again");
        }
    }

    /// Keeps room in the log, so that what stops and deletes is written also when others have taken all there
    /// is.
    fn keep_room(&mut self) {
        self.looks = self.looks.wrapping_add(1);
        if self.looks % LOOKS != 1 || self.is_low {
            return;
        }
        let path = self.folder.join("atelier.db-wal");
        let kept = File::options().write(true).open(&path).and_then(|log| {
            let flags = rustix::fs::FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(&log, flags, 0, LOG_ROOM).map_err(io::Error::from)
        });
        if let Err(error) = kept {
            tracing::debug!(%error, path = %path.display(), "the database's log has no room of its own");
        }
    }

    /// Something could not be written: throws the ballast off.
    pub fn is_full(&mut self) {
        self.is_low = true;
        let path = self.ballast();
        match std::fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::error!(%error, path = %path.display(), "the ballast could not be thrown off"),
        }
        let (free, floor) = self.numbers();
        tracing::error!(
            free,
            floor,
            "the disk is full: only what stops, cancels or deletes is taken until there is room"
        );
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }

    async fn lay_down(&self) -> bool {
        let (path, size) = (self.ballast(), self.options.ballast);
        let made = tokio::task::spawn_blocking(move || {
            lay_down(&path, size).inspect_err(|_| {
                // Half a ballast is only in the way.
                let _ = std::fs::remove_file(&path);
            })
        });
        match made.await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(%error, "there is no room for the ballast that is thrown off when the disk is full");
                false
            }
            Err(_) => false,
        }
    }
}

/// Makes a file that really takes so much room.
fn lay_down(path: &Path, size: u64) -> io::Result<()> {
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    if file.metadata()?.len() == size {
        return Ok(());
    }
    file.set_len(0)?;
    match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size) {
        Ok(()) => {}
        // Not every file system can; then it is written.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
            let block = vec![0xA5_u8; 1 << 20];
            let mut left = size;
            while left > 0 {
                let part = left.min(block.len() as u64);
                (&file).write_all(&block[..usize::try_from(part).unwrap_or(block.len())])?;
                left -= part;
            }
        }
        Err(error) => return Err(error.into()),
    }
    file.sync_all()
}
