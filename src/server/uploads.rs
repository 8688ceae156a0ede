//! Files that come in with a request. They are written as they come, found by the hash of their content
//! afterwards, and kept only if the whole request is good: what is refused leaves nothing behind.

use std::path::PathBuf;
use std::time::Duration;

use atelier_domain::text::{Problem, shortened};
use atelier_engine::fleet::Folders;
use atelier_protocol::TaskFile;
use atelier_studio::jobs::submit::{MAX_FILES, check_path};
use atelier_studio::jobs::typed::Values;
use axum::extract::multipart::{Field, Multipart};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

use crate::server::state::AppState;

/// How long nothing may come.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most that all fields but the files may have, in bytes.
const MOST_TEXT: usize = 2 << 20;
/// The most fields and files.
const MOST_PARTS: usize = 2 * MAX_FILES + 64;

/// Files that came in; what is not kept is removed.
#[derive(Debug, Default)]
pub struct Incoming {
    files: Vec<(PathBuf, TaskFile)>,
}

impl Drop for Incoming {
    fn drop(&mut self) {
        for (path, _) in &self.files {
            // What cannot be removed lies in a folder of its own that nothing reads.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[derive(Debug)]
pub enum Refusal {
    /// A field is wrong.
    Field(Problem),
    /// The files have more bytes than one upload may have.
    TooLarge(String),
    /// The disk has no room.
    NoRoom(String),
    /// Nothing came for too long.
    Late(String),
    /// The request cannot be read.
    Broken(String),
    /// The server could not write.
    Failed(String),
}

/// Reads all fields into `values`, and writes all files.
pub async fn receive(state: &AppState, mut multipart: Multipart, values: &mut Values) -> Result<Incoming, Refusal> {
    let mut incoming = Incoming::default();
    let (mut text, mut parts, mut bytes) = (0, 0, 0_u64);
    loop {
        let next = tokio::time::timeout(PATIENCE, multipart.next_field()).await;
        let field = next.map_err(|_| late())?.map_err(|error| Refusal::Broken(error.body_text()))?;
        let Some(field) = field else { return Ok(incoming) };
        parts += 1;
        if parts > MOST_PARTS {
            let message = format!("One upload has at most {MAX_FILES} files; this has more.");
            return Err(Refusal::Field(Problem::new("files", message)));
        }
        let name = field.name().unwrap_or_default().to_owned();
        match field.file_name().map(ToOwned::to_owned) {
            // A field for files in which none was chosen.
            Some(file) if file.is_empty() => {}
            Some(file) => write(state, field, &file, &mut bytes, &mut incoming).await?,
            None => {
                let value = read_text(field, &mut text).await?;
                values.entry(name.trim_end_matches("[]").to_owned()).or_default().push(value);
            }
        }
    }
}

async fn read_text(mut field: Field<'_>, total: &mut usize) -> Result<String, Refusal> {
    let mut value = Vec::new();
    while let Some(piece) = piece(&mut field).await? {
        *total += piece.len();
        if *total > MOST_TEXT {
            let message =
                format!("All fields together have at most {MOST_TEXT} bytes. Upload longer scripts as a file.");
            return Err(Refusal::Field(Problem::new("script", message)));
        }
        value.extend_from_slice(&piece);
    }
    Ok(String::from_utf8_lossy(&value).into_owned())
}

async fn piece(field: &mut Field<'_>) -> Result<Option<axum::body::Bytes>, Refusal> {
    let next = tokio::time::timeout(PATIENCE, field.chunk()).await;
    next.map_err(|_| late())?.map_err(|error| Refusal::Broken(error.body_text()))
}

fn late() -> Refusal {
    let seconds = PATIENCE.as_secs();
    Refusal::Late(format!(
        "Nothing came for {seconds} s, so the upload was given up. Nothing was submitted; try again."
    ))
}

/// Writes one file under a name of its own, and works out its hash meanwhile.
async fn write(
    state: &AppState,
    mut field: Field<'_>,
    file: &str,
    total: &mut u64,
    incoming: &mut Incoming,
) -> Result<(), Refusal> {
    let path = file.replace('\\', "/");
    check_path(&path).map_err(|message| Refusal::Field(Problem::new("files", message)))?;
    let limit = state.config().upload_limit;
    let folder = state.fleet().folders().blobs().join("incoming");
    let room = |error: &std::io::Error| no_room(state, error);
    // For us alone, wherever the data directory lies.
    let mut builder = tokio::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(&folder).await.map_err(|error| room(&error))?;
    let place = folder.join(atelier_studio::secret::random_token());
    let mut options = tokio::fs::File::options();
    options.write(true).create_new(true).mode(0o600);
    let mut out = options.open(&place).await.map_err(|error| room(&error))?;
    // From here on it is removed if anything goes wrong.
    incoming.files.push((place, TaskFile { path: path.clone(), blob: String::new(), size: 0 }));
    let (mut hash, mut size) = (Sha256::new(), 0_u64);
    while let Some(piece) = piece(&mut field).await? {
        size += piece.len() as u64;
        *total += piece.len() as u64;
        if *total > limit {
            let (most, name) = (limit >> 20, shortened(&path));
            let message = format!(
                "Files of one upload have at most {most} MiB together; with “{name}” these have more. Nothing was \
                 kept. Put large data where jobs can read it."
            );
            return Err(Refusal::TooLarge(message));
        }
        hash.update(&piece);
        out.write_all(&piece).await.map_err(|error| room(&error))?;
    }
    out.flush().await.map_err(|error| room(&error))?;
    out.sync_all().await.map_err(|error| room(&error))?;
    if let Some((_, file)) = incoming.files.last_mut() {
        file.blob = atelier_domain::text::hex(&hash.finalize());
        file.size = size;
    }
    Ok(())
}

impl Incoming {
    pub const fn len(&self) -> usize {
        self.files.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Puts the files where jobs find them. A file replaces one of the same path that came before it.
    pub async fn keep(mut self, state: &AppState) -> Result<Vec<TaskFile>, Refusal> {
        let blobs = state.fleet().blobs();
        for (place, file) in &self.files {
            let (blobs, place, hash) = (blobs.clone(), place.clone(), file.blob.clone());
            let taken = tokio::task::spawn_blocking(move || blobs.take_in(&place, &hash)).await;
            taken.map_err(std::io::Error::other).flatten().map_err(|error| no_room(state, &error))?;
        }
        let mut kept: Vec<TaskFile> = Vec::new();
        for (_, file) in self.files.drain(..) {
            kept.retain(|known| known.path != file.path);
            kept.push(file);
        }
        Ok(kept)
    }
}

/// What people are told when a file cannot be written.
fn no_room(state: &AppState, error: &std::io::Error) -> Refusal {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    if matches!(error.kind(), StorageFull | QuotaExceeded) {
        let free = rustix::fs::statvfs(state.fleet().folders().data()).map_or(0, |info| info.f_bavail * info.f_frsize);
        let message = format!(
            "The server’s disk has no room for this: {} MiB are free. Nothing was kept. Ask an operator to make room.",
            free >> 20
        );
        return Refusal::NoRoom(message);
    }
    tracing::error!(%error, "an upload could not be written");
    Refusal::Failed("The server could not write the files. Nothing was kept; an operator finds more in its log.".into())
}

/// Removes what a server that was killed had received of uploads.
pub fn clear(folders: &Folders) {
    let incoming = folders.blobs().join("incoming");
    if let Err(error) = std::fs::remove_dir_all(&incoming)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "what was left of uploads could not be removed");
    }
}
