//! What was typed into the wizard so far, between one step and the next.
//!
//! Each step sends the whole form and is answered with an address that names what was typed by its hash. So
//! going back and forth and reloading lose nothing, two tabs do not meet, and a script of 64 KiB fits. A
//! draft is kept like an uploaded file: nobody names it, so it is removed a day after somebody looked at it
//! last.

use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

use atelier_domain::UserId;
use atelier_domain::fields::Fields;
use atelier_engine::fleet::{Blobs, Folders};
use atelier_studio::caller::Caller;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::AppError;

/// The longest draft that is read again.
const MOST: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Draft {
    /// Only its owner reads it.
    person: UserId,
    fields: Fields,
}

/// Keeps what was typed, and gives the name under which it is found again.
pub async fn save(caller: &Caller, fields: &Fields) -> Result<String, AppError> {
    let draft = Draft { person: caller.actor()?.person.id.clone(), fields: fields.clone() };
    let text = caller.checked(serde_json::to_vec(&draft))?;
    let (blobs, folders) = (caller.studio.fleet().blobs().clone(), caller.studio.fleet().folders().clone());
    let done = tokio::task::spawn_blocking(move || keep(&blobs, &folders, &text)).await;
    caller.checked(done.map_err(io::Error::other).flatten())
}

fn keep(blobs: &Blobs, folders: &Folders, text: &[u8]) -> io::Result<String> {
    let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    if blobs.claim(&hash, atelier_engine::clock::now()).is_some() {
        return Ok(hash);
    }
    let incoming = folders.blobs().join("incoming");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&incoming)?;
    let place = incoming.join(atelier_studio::secret::random_token());
    let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&place)?;
    let written = file.write_all(text).and_then(|()| blobs.take_in(&place, &hash));
    if written.is_err() {
        // What cannot be removed lies in a folder that is emptied at the next start.
        let _ = std::fs::remove_file(&place);
    }
    written.map(|()| hash)
}

/// What was typed under that name, if it is the caller's and still there.
pub async fn load(caller: &Caller, name: &str) -> Option<Fields> {
    let person = caller.actor().ok()?.person.id.clone();
    let (blobs, folders) = (caller.studio.fleet().blobs().clone(), caller.studio.fleet().folders().clone());
    let path = folders.blob(name)?;
    let name = name.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let length = blobs.claim(&name, atelier_engine::clock::now())?;
        if length > MOST { None } else { std::fs::read(path).ok() }
    });
    let draft: Draft = serde_json::from_slice(&read.await.ok()??).ok()?;
    (draft.person == person).then_some(draft.fields)
}
