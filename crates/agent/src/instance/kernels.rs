//! What an application with notebook kernels says about them. Only asked, never touched: our questions must
//! not look like use.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use super::{http, socket};

#[derive(Debug, Deserialize)]
struct Kernel {
    id: String,
    #[serde(default)]
    execution_state: String,
}

#[derive(Debug, Deserialize)]
struct Session {
    #[serde(default)]
    path: String,
    kernel: Option<KernelOf>,
}

#[derive(Debug, Deserialize)]
struct KernelOf {
    id: String,
}

#[derive(Debug, Deserialize)]
struct Terminal {
    name: String,
    #[serde(default)]
    last_activity: String,
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How many kernels there are.
    pub kernels: usize,
    /// What the busy ones work on.
    pub busy: Vec<String>,
    /// Its own terminals, and when something last went through them.
    pub terminals: HashMap<String, String>,
}

/// Asks an application.
pub async fn ask(run: &Path, app: &str, uid: Option<u32>) -> Result<Found, String> {
    let kernels = get(run, app, uid, "/api/kernels").await?;
    if kernels == b"[]" {
        let terminals = get(run, app, uid, "/api/terminals").await.unwrap_or_default();
        return read(&kernels, b"[]", &terminals);
    }
    let sessions = get(run, app, uid, "/api/sessions").await.unwrap_or_default();
    let terminals = get(run, app, uid, "/api/terminals").await.unwrap_or_default();
    read(&kernels, &sessions, &terminals)
}

async fn get(run: &Path, app: &str, uid: Option<u32>, path: &str) -> Result<Vec<u8>, String> {
    let stream = socket::connect(run, app, uid).await.map_err(|error| error.to_string())?;
    match http::get(stream, path).await {
        Ok((200, body)) => Ok(body),
        Ok((code, _)) => Err(format!("it answers {path} with {code}")),
        Err(error) => Err(error.to_string()),
    }
}

fn read(kernels: &[u8], sessions: &[u8], terminals: &[u8]) -> Result<Found, String> {
    let kernels: Vec<Kernel> = serde_json::from_slice(kernels).map_err(|error| error.to_string())?;
    let sessions: Vec<Session> = serde_json::from_slice(sessions).unwrap_or_default();
    let terminals: Vec<Terminal> = serde_json::from_slice(terminals).unwrap_or_default();
    let notebook = |kernel: &Kernel| {
        let session = sessions.iter().find(|one| one.kernel.as_ref().is_some_and(|of| of.id == kernel.id));
        let path = session.map(|session| session.path.as_str()).filter(|path| !path.is_empty());
        path.map_or_else(|| "a kernel without a notebook".to_owned(), ToOwned::to_owned)
    };
    let busy = kernels.iter().filter(|kernel| kernel.execution_state == "busy").map(notebook).collect();
    let terminals = terminals.into_iter().map(|one| (one.name, one.last_activity)).collect();
    Ok(Found { kernels: kernels.len(), busy, terminals })
}

impl Found {
    pub fn sentence(&self) -> String {
        match (&self.busy[..], self.kernels) {
            ([], 0) => "no kernel runs".to_owned(),
            ([], 1) => "1 kernel, not busy".to_owned(),
            ([], count) => format!("{count} kernels, none busy"),
            ([one], _) => format!("{one} busy"),
            ([one, other], _) => format!("{one} and {other} busy"),
            ([one, rest @ ..], _) => format!("{one} and {} others busy", rest.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_busy_kernels_are_named() {
        let kernels =
            br#"[{"id": "a", "execution_state": "idle", "connections": 1}, {"id": "b", "execution_state": "busy"}]"#;
        let sessions = br#"[{"path": "analysis.ipynb", "kernel": {"id": "b"}}, {"path": "x", "kernel": null}]"#;
        let terminals = br#"[{"name": "1", "last_activity": "2026-01-01T00:00:00Z"}]"#;
        let found = read(kernels, sessions, terminals).unwrap();
        assert_eq!(found.sentence(), "analysis.ipynb busy");
        assert_eq!(found.terminals["1"], "2026-01-01T00:00:00Z");
        let found = read(br#"[{"id": "a", "execution_state": "starting"}, {"id": "b"}]"#, b"", b"nonsense").unwrap();
        assert_eq!(found.sentence(), "2 kernels, none busy");
        assert_eq!(read(b"[]", b"[]", b"[]").unwrap().sentence(), "no kernel runs");
        assert!(read(b"<html>", b"[]", b"[]").is_err());
    }
}
