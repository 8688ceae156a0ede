//! Scripts as people type or upload them. Their text is kept like files of jobs, under its hash.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

use atelier_domain::compute::script::{DEFAULT_SCRIPT, MAX_SCRIPT_BYTES, Script, ScriptKind, Scripts, split_arguments};
use atelier_domain::error::AppError;
use atelier_domain::text::Problem;
use atelier_domain::time::Span;
use atelier_engine::fleet::Fleet;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::caller::Caller;
use crate::secret::random_token;

/// A script: its text, or the hash of a file that was uploaded before. Neither means that there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptRequest {
    pub text: String,
    /// The SHA-256 of a file that was uploaded.
    pub blob: String,
    /// What follows its name: words and quotes, no shell.
    pub arguments: String,
    /// How long it may take; 15 minutes if left out.
    pub limit_seconds: Option<u32>,
}

/// Both scripts of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptsRequest {
    /// Runs once, and again after a rebuild.
    pub creation: ScriptRequest,
    pub startup: ScriptRequest,
}

impl ScriptRequest {
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.blob.is_empty()
    }

    /// As it runs: browsers send lines in the manner of Windows, which no shell reads.
    fn plain(&self) -> String {
        self.text.replace("\r\n", "\n")
    }

    fn limit(&self) -> Span {
        self.limit_seconds.map_or(DEFAULT_SCRIPT, Span::seconds)
    }

    fn check(&self, kind: ScriptKind) -> Vec<Problem> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut problems = Vec::new();
        let mut wrong = |field: &str, message: String| {
            problems.push(Problem::new(format!("{}_{field}", kind.key()), message));
        };
        let bytes = self.plain().len();
        if bytes > MAX_SCRIPT_BYTES {
            wrong("script", format!("A script has at most {MAX_SCRIPT_BYTES} bytes; this has {bytes}."));
        }
        if self.text.contains('\0') {
            wrong("script", "A script has no zero bytes.".into());
        }
        if !self.text.trim().is_empty() && !self.blob.is_empty() {
            wrong("script", "Give the text of the script or the hash of a file, not both.".into());
        }
        if let Err(problem) = split_arguments(&self.arguments) {
            wrong("arguments", problem.message);
        }
        problems
    }
}

impl ScriptsRequest {
    const fn all(&self) -> [(ScriptKind, &ScriptRequest); 2] {
        [(ScriptKind::Creation, &self.creation), (ScriptKind::Startup, &self.startup)]
    }

    /// What is wrong, as far as can be said without looking at files: `creation_script`, `startup_limit`.
    pub fn check(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.all().into_iter().flat_map(|(kind, script)| script.check(kind)).collect();
        // The core judges the rest; the text's hash is not known yet.
        let stand_in = |script: &ScriptRequest| {
            (!script.is_empty()).then(|| Script {
                blob: "0".repeat(64),
                arguments: String::new(),
                limit: script.limit(),
            })
        };
        let scripts = Scripts { creation: stand_in(&self.creation), startup: stand_in(&self.startup) };
        problems.extend(scripts.check().err());
        problems
    }
}

/// Keeps the texts, and names them by their hashes.
pub async fn keep(caller: &Caller, request: &ScriptsRequest) -> Result<Scripts, AppError> {
    let problems = request.check();
    if !problems.is_empty() {
        return Err(AppError::Invalid { problems });
    }
    let mut kept = Scripts::default();
    for (kind, script) in request.all() {
        if script.is_empty() {
            continue;
        }
        let blob = blob_of(caller, kind, script).await?;
        let script = Script { blob, arguments: script.arguments.trim().to_owned(), limit: script.limit() };
        match kind {
            ScriptKind::Creation => kept.creation = Some(script),
            ScriptKind::Startup => kept.startup = Some(script),
        }
    }
    Ok(kept)
}

async fn blob_of(caller: &Caller, kind: ScriptKind, script: &ScriptRequest) -> Result<String, AppError> {
    let fleet = caller.studio.fleet().clone();
    if script.blob.is_empty() {
        let text = script.plain();
        let written = tokio::task::spawn_blocking(move || write(&fleet, &text));
        let hash = caller.checked(caller.checked(written.await)?)?;
        crate::uploads::note(caller, std::slice::from_ref(&hash)).await?;
        return Ok(hash);
    }
    let is_nameable =
        crate::uploads::nameable(caller, std::slice::from_ref(&script.blob)).await?.contains(&script.blob);
    let (hash, now) = (script.blob.clone(), atelier_engine::clock::now());
    let claimed = tokio::task::spawn_blocking(move || fleet.blobs().claim(&hash, now).filter(|_| is_nameable));
    let message = match caller.checked(claimed.await)? {
        Some(bytes) if bytes <= MAX_SCRIPT_BYTES as u64 => return Ok(script.blob.clone()),
        Some(bytes) => format!("A script has at most {MAX_SCRIPT_BYTES} bytes; this file has {bytes}."),
        None => "You have uploaded no file with this hash. Upload it first.".to_owned(),
    };
    Err(AppError::invalid(Problem::new(format!("{}_script", kind.key()), message)))
}

/// Writes a text where agents find it. Blocks.
fn write(fleet: &Fleet, text: &str) -> io::Result<String> {
    let hash = atelier_domain::text::hex(&Sha256::digest(text.as_bytes()));
    let folder = fleet.folders().blobs().join("incoming");
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let place = folder.join(random_token());
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&place)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fleet.blobs().take_in(&place, &hash)?;
    Ok(hash)
}

/// The text of a script, to be read by people; none if it is gone.
pub async fn text_of(caller: &Caller, script: &Script) -> Option<String> {
    let path = caller.studio.fleet().folders().blob(&script.blob)?;
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(MAX_SCRIPT_BYTES as u64).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    });
    read.await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> ScriptRequest {
        ScriptRequest { text: text.into(), ..ScriptRequest::default() }
    }

    #[test]
    fn all_that_is_wrong_is_said_beside_its_field() {
        let request = ScriptsRequest {
            creation: ScriptRequest { arguments: "'open".into(), ..script(&"x".repeat(MAX_SCRIPT_BYTES + 1)) },
            startup: ScriptRequest { limit_seconds: Some(90_000), ..script("true\0") },
        };
        let fields: Vec<String> = request.check().into_iter().map(|problem| problem.field).collect();
        assert_eq!(fields, ["creation_script", "creation_arguments", "startup_script", "startup_limit"]);
    }

    #[test]
    fn lines_end_as_shells_read_them_and_blank_is_none() {
        assert_eq!(script("a\r\nb\r\n").plain(), "a\nb\n");
        assert!(script(" \r\n").is_empty());
        let blank = ScriptsRequest {
            creation: ScriptRequest { limit_seconds: Some(0), ..script(" ") },
            ..ScriptsRequest::default()
        };
        assert_eq!(blank.check(), []);
    }
}
