//! JupyterHub beside Atelier, in the same run on the same machine: its hub, its home and its list of as many
//! people.
//!
//! It is asked directly on the hub's own port. Its proxy, through which everything goes in real use, is left
//! out: that needs Node and makes the hub slower, so leaving it out is to the peer's advantage.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use atelier_testing::free_port;
use serde_json::json;

use super::report::Report;
use super::report::Wanted::Context;
use super::running::Running;
use super::{Rates, http, load};
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::step;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const PASSWORD: &str = "kettle-orbit-violin";

/// What the hub needs to run alone: one who may do everything, an API token, and a proxy that does nothing.
const CONFIG: &str = r#"
from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    async def start(self): ...
    async def stop(self): ...
    async def add_route(self, routespec, target, data): ...
    async def delete_route(self, routespec): ...
    async def get_all_routes(self): return {}
    async def check_routes(self, *args, **kwargs): ...


c = get_config()
c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.bind_url = "http://127.0.0.1:@PUBLIC@"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:@HUB@"
c.JupyterHub.db_url = "sqlite:///hub.sqlite"
c.JupyterHub.log_level = "WARN"
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = "@PASSWORD@"
c.Authenticator.allow_all = True
c.Authenticator.admin_users = {"admin"}
c.JupyterHub.services = [{"name": "bench", "api_token": "@TOKEN@"}]
c.JupyterHub.load_roles = [{"name": "bench", "scopes": ["admin:users"], "services": ["bench"]}]
"#;

/// Measures the peer and adds how many times faster Atelier was in this run.
pub fn compare(
    folder: &Path,
    people: usize,
    connections: usize,
    lasting: Duration,
    ours: &Rates,
    report: &mut Report,
) -> Result<()> {
    let folder = folder.join("peer");
    step("Installing JupyterHub into a throw-away environment", || install(&folder))?;
    let hub = start(&folder)?;
    let about = hub.ask("GET", "/hub/api/", &[], "")?.text();
    let about: serde_json::Value = serde_json::from_str(&about).unwrap_or_default();
    let version = about["version"].as_str().unwrap_or("of an unknown version").to_owned();
    let cookie = step(&format!("Making {people} people in JupyterHub"), || {
        make_people(&hub, people)?;
        sign_in(&hub)
    })?;

    let authorization = format!("token {TOKEN}");
    let by_cookie: &[_] = &[("accept", "text/html"), ("cookie", cookie.as_str())];
    let by_token: &[_] = &[("accept", "application/json"), ("authorization", authorization.as_str())];
    // Its page of people is a script that calls this, 50 rows at a time as in ours.
    for (what, path, headers, ours) in [
        ("home, signed in", "/hub/home", by_cookie, ours.home),
        ("list of users by its API, 50 rows of 1,000", "/hub/api/users?limit=50", by_token, ours.people),
    ] {
        let theirs = step(&format!("Loading JupyterHub's {what}"), || {
            let request = http::request("GET", path, hub.port(), headers, "");
            load::as_fast_as_possible(hub.port(), connections, lasting, &request)
        })?;
        report.add(format!("JupyterHub's {what}: requests"), Context, theirs.per_second(), "/s");
        report.add(format!("JupyterHub's {what}: p99"), Context, theirs.percentile_ms(0.99), "ms");
        report.add(format!("JupyterHub's {what}: ours is faster by"), Context, ours / theirs.per_second(), "times");
    }
    report.add("JupyterHub's resident memory", Context, hub.memory_mb("VmRSS")?, "MB");
    report.note(format!("JupyterHub {version} was asked directly, without its proxy."));
    // How the peer ends is its own business, as long as it does.
    drop(hub);
    Ok(())
}

fn install(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(Failure::file("making", folder))?;
    process::output(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")))?;
    let mut pip = Command::new(folder.join("venv/bin/pip"));
    process::output(pip.args(["install", "--quiet", "--disable-pip-version-check", "jupyterhub"]))?;
    Ok(())
}

fn start(folder: &Path) -> Result<Running> {
    let port = free_port();
    let config = CONFIG
        .replace("@PUBLIC@", &free_port().to_string())
        .replace("@HUB@", &port.to_string())
        .replace("@PASSWORD@", PASSWORD)
        .replace("@TOKEN@", TOKEN);
    let file = folder.join("jupyterhub_config.py");
    fs::write(&file, config).map_err(Failure::file("writing", &file))?;
    let mut command = Command::new(folder.join("venv/bin/jupyterhub"));
    command.arg("--config").arg(file).current_dir(folder);
    Ok(Running::start(&mut command, port, "/hub/api/", &folder.join("hub.log"))?.0)
}

fn make_people(hub: &Running, count: usize) -> Result<()> {
    // the admin is one of them
    let names: Vec<String> = (1..count).map(|number| format!("person-{number:04}")).collect();
    let authorization = format!("token {TOKEN}");
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    for some in names.chunks(100) {
        let answer = hub.ask("POST", "/hub/api/users", &headers, &json!({ "usernames": some }).to_string())?;
        if answer.status != 201 {
            return Err(Failure::new(format!(
                "JupyterHub makes no users: status {}: {}",
                answer.status,
                answer.text()
            )));
        }
    }
    Ok(())
}

/// Signs the admin in as its form does and gives the cookies.
fn sign_in(hub: &Running) -> Result<String> {
    let form = hub.ask("GET", "/hub/login", &[], "")?.cookies();
    let token = form.split("; ").find_map(|pair| pair.strip_prefix("_xsrf=")).unwrap_or_default();
    let headers = [("cookie", form.as_str()), ("content-type", "application/x-www-form-urlencoded")];
    let body = http::form(&[("username", "admin"), ("password", PASSWORD), ("_xsrf", token)]);
    let answer = hub.ask("POST", "/hub/login", &headers, &body)?;
    if answer.status != 302 {
        return Err(Failure::new(format!("JupyterHub lets nobody in: status {}", answer.status)));
    }
    Ok(format!("{form}; {}", answer.cookies()))
}
