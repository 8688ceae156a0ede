//! The instance that is measured, and the server that it belongs to.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde_json::{Value, json};

use super::super::load::{now, pause};
use super::super::running::Running;
use super::super::studio::Studio;
use super::door::Door;
use crate::failure::{Failure, Result};

/// The application that has an address of its own and a socket in the instance.
pub const LAB: &str = "jupyter";

const NAME: &str = "desk";
/// Some minutes on a machine where others compile.
const PATIENCE: Duration = Duration::from_secs(180);
const AGAIN: Duration = Duration::from_millis(50);

/// Settings that [`Studio`] does not know are in the file that a server reads by itself.
pub fn configure(folder: &Path, environments: &Path) -> Result<()> {
    let data = folder.join("data");
    fs::create_dir_all(&data).map_err(Failure::file("making", &data))?;
    let file = data.join("atelier.toml");
    // Written as JSON, a text is TOML too.
    let text = format!("environments = {}\n", json!(environments));
    fs::write(&file, text).map_err(Failure::file("writing", &file))
}

/// One instance of the Owner's, with its server.
#[derive(Debug)]
pub struct Desk {
    server: Running,
    data: PathBuf,
    token: String,
    /// The Owner's cookie at the portal.
    cookie: String,
    folder: PathBuf,
}

impl Desk {
    /// Starts the server and makes the instance; gives it once it runs and JupyterLab answers.
    pub fn create(studio: &Studio, folder: &Path) -> Result<Self> {
        let (server, _) = studio.start()?;
        let (cookie, token) = (studio.sign_in(&server)?, studio.token()?);
        let mut desk = Self { server, data: folder.join("data"), token, cookie, folder: PathBuf::new() };
        let wanted = json!({"name": NAME, "size": "local-2", "idle_minutes": 0});
        let made = desk.api("POST", "/instances", &wanted)?;
        let id = made["id"].as_str().unwrap_or_default();
        let number = id.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        desk.folder = desk.data.join("instances").join(number);
        desk.wait_for_lab()?;
        Ok(desk)
    }

    /// The same instance on a fresh node, with a fresh server.
    pub fn anew(self, studio: &Studio) -> Result<Self> {
        self.stop()?;
        let Self { server, data, token, folder, .. } = self;
        server.stop()?;
        let (server, _) = studio.start()?;
        let cookie = studio.sign_in(&server)?;
        let desk = Self { server, data, token, cookie, folder };
        desk.start()?;
        desk.wait_for_lab()?;
        Ok(desk)
    }

    /// Stops the instance and its server.
    pub fn close(self) -> Result<()> {
        self.stop()?;
        self.server.stop()
    }

    pub const fn server(&self) -> &Running {
        &self.server
    }

    /// The Owner's cookie at the portal.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// What a script of the Owner's sends with each request.
    pub fn api_headers(&self) -> [(&'static str, String); 2] {
        [("authorization", format!("Bearer {}", self.token)), ("content-type", "application/json".to_owned())]
    }

    fn api(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let headers = self.api_headers();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.server.ask(method, &format!("/api/v1{path}"), &headers, &body)?;
        let text = answer.text();
        if !(200..300).contains(&answer.status) {
            return Err(Failure::new(format!("{method} {path} was answered with {}: {text}", answer.status)));
        }
        serde_json::from_str(&text).map_err(|error| Failure::new(format!("{method} {path}: {error}: {text}")))
    }

    /// Wishes that it starts; that is on its way then.
    pub fn start(&self) -> Result<()> {
        self.api("POST", &format!("/instances/{NAME}/start"), &json!({})).map(|_| ())
    }

    /// Stops it and waits until it is.
    pub fn stop(&self) -> Result<()> {
        self.api("POST", &format!("/instances/{NAME}/stop"), &json!({}))?;
        self.wait_for("stopped")
    }

    fn wait_for(&self, state: &str) -> Result<()> {
        let since = now();
        loop {
            let seen = self.api("GET", &format!("/instances/{NAME}?wait=20s"), &Value::Null)?;
            if seen["state"] == state {
                return Ok(());
            }
            if since.elapsed() > PATIENCE {
                return Err(Failure::new(format!("the instance does not become {state}: {seen:#}")));
            }
            pause(AGAIN);
        }
    }

    /// How long the last start took until the instance could be used, before its applications.
    pub fn last_start(&self) -> Result<Option<Duration>> {
        let seen = self.api("GET", &format!("/instances/{NAME}"), &Value::Null)?;
        Ok(seen["start"]["took_seconds"].as_f64().map(Duration::from_secs_f64))
    }

    /// Waits until JupyterLab answers its agent. Nothing is asked over the proxy, which would keep a
    /// connection to it.
    fn wait_for_lab(&self) -> Result<()> {
        self.wait_for("running")?;
        let since = now();
        loop {
            let apps = self.api("GET", &format!("/instances/{NAME}/apps"), &Value::Null)?;
            let lab = apps["apps"].as_array().into_iter().flatten().find(|app| app["name"] == LAB);
            match lab.and_then(|lab| lab["state"].as_str()) {
                Some("ready") => return Ok(()),
                Some("failed") => return Err(Failure::new(format!("JupyterLab failed: {apps:#}"))),
                _ if since.elapsed() > PATIENCE => {
                    return Err(Failure::new(format!("JupyterLab does not get ready: {apps:#}")));
                }
                _ => pause(AGAIN),
            }
        }
    }

    /// Goes into an application as a browser does that was never there.
    pub fn enter(&self, app: &str) -> Result<Door> {
        let path = format!("/w/studio/instances/{NAME}/enter/{app}?next=%2F");
        let answer = self.server.ask("GET", &path, &[("accept", "text/html"), ("cookie", &self.cookie)], "")?;
        let place = answer.header("location").unwrap_or_default();
        let (host, path) = place
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .ok_or_else(|| Failure::new(format!("{path} leads to {place:?}, status {}", answer.status)))?;
        Door::redeem(self.server.port(), host, &format!("/{path}"))
    }

    /// The socket of JupyterLab. Whatever listens there, as somebody else's it would not be reached.
    fn socket(&self) -> PathBuf {
        self.folder.join("run").join(format!("{LAB}.sock"))
    }

    /// Puts another listener in JupyterLab's place; `listen` makes it at the path that it is given.
    ///
    /// JupyterLab itself runs on, without hearing of anything: the agent looks for the socket in the file
    /// system at each connection, and takes whatever is there and is the owner's. So everything on the way is
    /// the product's own.
    pub fn in_place_of_lab<T>(&self, listen: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
        let path = self.socket();
        let owner = fs::symlink_metadata(&path).map_err(Failure::file("looking at", &path))?;
        let gone = fs::remove_file(&path);
        gone.map_err(Failure::file("removing", &path))?;
        let listening = listen(&path)?;
        let given: io::Result<()> = chown(&path, Some(owner.uid()), Some(owner.gid()));
        given.map_err(Failure::file("giving away", &path))?;
        Ok(listening)
    }
}
