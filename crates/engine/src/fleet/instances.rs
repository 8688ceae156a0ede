//! Instances: what their agents are told.

use std::path::PathBuf;

use atelier_domain::WorkspaceId;
use atelier_domain::compute::script::{ScriptRun, split_arguments};
use atelier_domain::compute::{InstanceId, NodeId};
use atelier_domain::world::Report;
use atelier_protocol::{App, Person, RunScripts, Script, SetUp, ToAgent};

use super::Fleet;
use super::dispatch::patiently;
use crate::environments::editor::{self, Editors};
use crate::environments::{BaseStatus, Environments};

/// The name of JupyterLab in addresses.
pub const JUPYTER: &str = "jupyter";
/// The name of VS Code in addresses.
pub const VSCODE: &str = "vscode";
/// The name of the terminal in addresses.
pub const TERMINAL: &str = "terminal";

/// An instance to be set up, as the engine says it.
pub(super) struct Wanted {
    pub instance: InstanceId,
    pub node: NodeId,
    pub generation: u64,
    pub workspace: WorkspaceId,
    pub name: String,
    pub layer: u32,
    pub has_scripts: bool,
}

impl Fleet {
    /// Says where the environment of instances comes from. Without it instances have a terminal only.
    pub fn stand_on(&self, environments: Environments) {
        // Set once, at the start of the server.
        let _ = self.inner.environments.set(environments);
    }

    /// Says where VS Code comes from.
    pub fn edit_with(&self, editors: Editors) {
        // Set once, at the start of the server.
        let _ = self.inner.editors.set(editors);
    }

    /// Where a named environment is, if it is complete.
    pub(super) fn environment(&self, hash: atelier_domain::environment::EnvironmentHash) -> Option<PathBuf> {
        self.inner.environments.get()?.named().path(hash)
    }

    /// The environment, once it is known whether there is one. While the first is being built a start waits
    /// for it.
    async fn base(&self) -> Option<PathBuf> {
        let base = self.inner.environments.get()?.base();
        let mut status = base.watch();
        loop {
            if let Some(path) = base.current() {
                return Some(path);
            }
            let is_coming = matches!(*status.borrow_and_update(), BaseStatus::Waiting | BaseStatus::Building { .. });
            if !is_coming || status.changed().await.is_err() {
                return base.current();
            }
        }
    }
}

/// Tells an agent to set an instance up, as soon as its environment is there.
pub(super) async fn set_up(fleet: Fleet, person: Person, wanted: Wanted) {
    let base = fleet.base().await;
    let workspaces = fleet.store().workspaces().await.unwrap_or_default();
    let workspace =
        workspaces.into_iter().find(|one| one.id == wanted.workspace).map(|one| one.slug).unwrap_or_default();
    let Some(custom) =
        patiently(&fleet, "the applications of an instance", || fleet.custom_apps(wanted.instance)).await
    else {
        return;
    };
    let editor = fleet.inner.editors.get().and_then(Editors::current);
    let programs: Vec<PathBuf> = editor.iter().map(|editor| editor.path.clone()).collect();
    let vscode = editor.and_then(|editor| editor::programs(&editor.path)).map(vscode);
    let apps = base.iter().map(|_| jupyter()).chain(vscode).chain(custom.apps).collect();
    let environment = [
        ("CI_NAME", wanted.name.as_str()),
        ("CI_WORKSPACE", workspace.as_str()),
        ("CI_LOCAL_UBUNTU_USER", person.handle.as_str()),
        ("ATELIER_INSTANCE", wanted.name.as_str()),
        ("ATELIER_WORKSPACE", workspace.as_str()),
    ];
    let environment = environment.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    // What says where its token counts, if it gets one.
    let url = if fleet.introduce(wanted.node, &person).await { fleet.identity_url(wanted.node) } else { None };
    let environment = environment.chain(url.map(|url| ("ATELIER_URL".to_owned(), url))).collect();
    let message = SetUp {
        instance: wanted.instance,
        generation: wanted.generation,
        name: wanted.name,
        workspace,
        person,
        folder: fleet.folders().instance(wanted.instance),
        base,
        kernels: fleet.inner.environments.get().map(|it| it.settings().kernels.clone()).filter(|path| path.is_dir()),
        layer: wanted.layer,
        apps,
        environment,
        has_scripts: wanted.has_scripts,
        apps_revision: custom.revision,
        programs,
    };
    fleet.say(wanted.node, ToAgent::SetUp(Box::new(message)));
}

/// JupyterLab, at an address of its own: only its agent reaches the socket, so it asks for no token.
fn jupyter() -> App {
    let argv = [
        "{layer}/bin/python",
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ServerApp.sock={socket}",
        "--ServerApp.sock_mode=0600",
        "--ServerApp.root_dir={home}",
        "--ServerApp.base_url=/",
        "--ServerApp.allow_remote_access=True",
        "--ServerApp.quit_button=False",
        // Anybody who reaches a kernel's ports reads all that it prints: no key is asked for there.
        "--KernelManager.transport=ipc",
        "--IdentityProvider.token=",
        "--PasswordIdentityProvider.hashed_password=",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ];
    App {
        name: JUPYTER.to_owned(),
        argv: argv.into_iter().map(str::to_owned).collect(),
        health: "/api".to_owned(),
        has_kernels: true,
        ..App::default()
    }
}

/// VS Code, started when somebody opens it: most instances that could have it never do. Only its agent
/// reaches the socket, so it asks for no password. What somebody sets and installs in it is in their home.
fn vscode((node, entry): (PathBuf, PathBuf)) -> App {
    let words = [
        "--socket={socket}",
        "--socket-mode=600",
        "--auth=none",
        // What listens at other ports of the node is not for those who may open VS Code.
        "--disable-proxy",
        "--disable-telemetry",
        "--disable-update-check",
        "--disable-workspace-trust",
        "--disable-getting-started-override",
        "--user-data-dir={home}/.local/share/code-server",
        "--extensions-dir={home}/.local/share/code-server/extensions",
        "{home}",
    ];
    let programs = [node, entry].map(|path| path.display().to_string());
    App {
        name: VSCODE.to_owned(),
        label: "VS Code".to_owned(),
        argv: programs.into_iter().chain(words.map(str::to_owned)).collect(),
        health: "/healthz".to_owned(),
        is_on_demand: true,
        reserves_much: true,
        ..App::default()
    }
}

/// Tells an agent to run scripts.
pub(super) fn run_scripts(
    fleet: &Fleet,
    instance: InstanceId,
    node: NodeId,
    generation: u64,
    runs: &[ScriptRun],
    is_trusted: bool,
) {
    let script = |run: &ScriptRun| {
        let file = fleet.folders().blob(&run.script.blob)?;
        Some(Script {
            label: run.kind.key().to_owned(),
            blob: run.script.blob.clone(),
            size: file.metadata().ok()?.len(),
            // Checked when they were given.
            arguments: split_arguments(&run.script.arguments).unwrap_or_default(),
            limit_seconds: u64::try_from(run.script.limit.as_millis()).unwrap_or_default().div_ceil(1_000),
        })
    };
    let Some(scripts) = runs.iter().map(script).collect::<Option<Vec<_>>>() else {
        let failure = Some("The text of a script is not in the data directory any more. Set the scripts again.".into());
        return report(fleet, Report::ScriptDone { instance, generation, creation_done: false, failure });
    };
    let throw_away = fleet.has_own_users().then(|| fleet.store().uids().throw_away(instance));
    let told = RunScripts { instance, generation, scripts, is_trusted, throw_away };
    fleet.say(node, ToAgent::RunScripts(Box::new(told)));
}

/// On one machine a home need not move to become that of a larger node.
pub(super) fn resize(fleet: &Fleet, instance: InstanceId, generation: u64) {
    report(fleet, Report::Resized { instance, generation, failure: None });
}

fn report(fleet: &Fleet, report: Report) {
    let fleet = fleet.clone();
    tokio::spawn(async move {
        if let Some(engine) = fleet.engine() {
            let _ = engine.report_all(&[report]).await;
        }
    });
}
