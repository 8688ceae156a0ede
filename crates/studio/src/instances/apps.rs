//! The applications of an instance, and whether they can be opened.

use atelier_domain::compute::app::{CustomApp, Network, Preset};
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::text::counted;
use atelier_domain::time::Span;
use atelier_protocol::{AppState, AppStatus, AppsStatus};

use crate::instances::commands::{JUPYTER, TERMINAL, VSCODE};

atelier_domain::keyed_enum! {
    /// How an application does, for people.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
    pub enum AppLook {
        /// Its instance is off, or it cannot be had at all.
        #[default]
        Off = "off";
        Starting = "starting";
        Ready = "ready";
        /// It ended too often, or never answered.
        Failed = "failed";
    }
}

impl AppLook {
    /// The state that colours it; none for what needs no look.
    pub const fn state(self) -> Option<&'static str> {
        match self {
            Self::Starting | Self::Failed => Some(self.key()),
            Self::Off | Self::Ready => None,
        }
    }
}

/// An application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppView {
    pub name: String,
    pub label: String,
    pub icon: &'static str,
    pub look: AppLook,
    /// The same in words.
    pub said: String,
    /// What it printed last, when it failed.
    pub last_lines: Vec<String>,
    pub page: String,
    pub is_custom: bool,
    /// Whether other people of its machine can reach its port, or will be able to.
    pub is_exposed: bool,
}

/// What is known of an instance's node right now.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub is_connected: bool,
    /// What the agent says of the applications; nothing of an earlier operation counts.
    pub status: Option<AppsStatus>,
    pub custom: Vec<CustomApp>,
    pub has_vscode: bool,
}

impl Known {
    fn status_of(&self, name: &str) -> Option<&AppStatus> {
        self.status.as_ref()?.apps.iter().find(|app| app.name == name)
    }

    /// What it means that the agent of a running instance says nothing of an application of Atelier's.
    const fn unsaid(&self, missing: &'static str) -> (AppLook, &'static str) {
        match self.status {
            Some(_) => (AppLook::Off, missing),
            None => (AppLook::Starting, "Nothing is known of it yet"),
        }
    }
}

/// All applications of an instance in that state.
pub fn apps(state: InstanceState, known: &Known) -> Vec<AppView> {
    let custom = known.custom.iter().map(|app| custom(state, known, app));
    [jupyter(state, known), terminal(state, known)].into_iter().chain(vscode(state, known)).chain(custom).collect()
}

fn is_up(state: InstanceState) -> bool {
    matches!(state, InstanceState::Running | InstanceState::JobRunning)
}

impl AppView {
    /// How it does while its instance is in that state; `unsaid` is what it means that its agent says nothing
    /// of it.
    fn doing(self, state: InstanceState, status: Option<&AppStatus>, unsaid: (AppLook, &str)) -> Self {
        let (look, said, last_lines) = match status {
            _ if !is_up(state) => not_up(state),
            Some(status) => described(status),
            None => (unsaid.0, unsaid.1.to_owned(), Vec::new()),
        };
        Self { look, said, last_lines, ..self }
    }
}

fn jupyter(state: InstanceState, known: &Known) -> AppView {
    let app = AppView {
        name: JUPYTER.into(),
        label: "JupyterLab".into(),
        icon: "notebook",
        page: "/lab".into(),
        ..AppView::default()
    };
    app.doing(state, known.status_of(JUPYTER), known.unsaid("This server has no environment for it yet"))
}

/// VS Code is offered where it is installed, or was when the instance started.
fn vscode(state: InstanceState, known: &Known) -> Option<AppView> {
    let status = known.status_of(VSCODE);
    let app =
        AppView { name: VSCODE.into(), label: "VS Code".into(), icon: "code", page: "/".into(), ..AppView::default() };
    let is_offered = status.is_some() || known.has_vscode;
    is_offered.then(|| app.doing(state, status, known.unsaid("Restart the instance to get it")))
}

/// The terminal needs no process of its own: it opens as soon as the environment is there, also where scripts
/// failed.
fn terminal(state: InstanceState, known: &Known) -> AppView {
    let is_rescue = matches!(state, InstanceState::SetupFailed | InstanceState::UserSetupFailed);
    let open = known.status.as_ref().map_or(0, |status| status.terminals.len() as u64);
    let (look, said) = match (is_up(state) || is_rescue, known.is_connected) {
        (true, false) => (AppLook::Starting, "Its agent is not connected".to_owned()),
        (true, true) if is_rescue => (AppLook::Ready, "To mend what failed".to_owned()),
        (true, true) if open > 0 => (AppLook::Ready, format!("{} open", counted(open, "session", "sessions"))),
        (true, true) => (AppLook::Ready, "Ready".to_owned()),
        (false, _) => {
            let (look, said, _) = not_up(state);
            (look, said)
        }
    };
    AppView {
        name: TERMINAL.into(),
        label: if is_rescue { "Rescue terminal".into() } else { "Terminal".into() },
        icon: "terminal",
        look,
        said,
        page: "/".into(),
        ..AppView::default()
    }
}

fn custom(state: InstanceState, known: &Known, app: &CustomApp) -> AppView {
    let status = known.status_of(app.name.as_str());
    let is_open = app.draft.port.is_some() && app.draft.network == Network::Open;
    let view = AppView {
        name: app.name.to_string(),
        label: app.label().to_owned(),
        icon: match app.draft.preset {
            Preset::Tensorboard => "gauge",
            Preset::Mlflow => "audit",
            Preset::Marimo => "notebook",
            Preset::Own => "bolt",
        },
        page: app.draft.page.clone(),
        is_custom: true,
        is_exposed: status.map_or(is_open, |status| status.is_exposed),
        ..AppView::default()
    };
    view.doing(state, status, (AppLook::Starting, "Its agent hears of it in a moment"))
}

/// Where its instance is not up.
fn not_up(state: InstanceState) -> (AppLook, String, Vec<String>) {
    let (look, said) = match state {
        InstanceState::Creating
        | InstanceState::Starting
        | InstanceState::SettingUp
        | InstanceState::UserSettingUp
        | InstanceState::Restarting => (AppLook::Starting, "Starts with the instance"),
        InstanceState::Stopped | InstanceState::Stopping | InstanceState::Resizing => (AppLook::Off, "Start and open"),
        InstanceState::SetupFailed | InstanceState::UserSetupFailed => (AppLook::Off, "Waits for a set-up that works"),
        InstanceState::Unknown | InstanceState::Unusable => (AppLook::Off, "Its node does not answer"),
        _ => (AppLook::Off, "Not there"),
    };
    (look, said.to_owned(), Vec::new())
}

fn described(app: &AppStatus) -> (AppLook, String, Vec<String>) {
    let since = Span::millis(app.since_ms);
    match app.state {
        AppState::Waiting => (AppLook::Starting, "Waits for the scripts".into(), Vec::new()),
        AppState::OnDemand => (AppLook::Ready, "Starts when you open it".into(), Vec::new()),
        AppState::Starting => (AppLook::Starting, format!("Starting for {since}"), Vec::new()),
        AppState::Ready => {
            let took = app.took_ms.map(|took| format!("Ready after {}", seconds(took)));
            let again = match app.restarts {
                0 => String::new(),
                count => format!(", started again {}", counted(count.into(), "time", "times")),
            };
            (AppLook::Ready, took.unwrap_or_else(|| "Ready".into()) + &again, Vec::new())
        }
        AppState::BackingOff => {
            let said = format!("It ended and starts again soon, for the {} time", ordinal(app.restarts + 1));
            (AppLook::Starting, said, app.last_lines.clone())
        }
        AppState::Failed => (AppLook::Failed, "It failed; restart it to try again".into(), app.last_lines.clone()),
    }
}

/// To a tenth of a second: that is what people feel.
pub fn seconds(millis: u64) -> String {
    match millis {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => Span::millis(millis).to_string(),
    }
}

fn ordinal(count: u32) -> String {
    match count {
        1 => "first".into(),
        2 => "second".into(),
        3 => "third".into(),
        more => format!("{more}th"),
    }
}

#[cfg(test)]
mod tests {
    use atelier_domain::compute::InstanceId;

    use super::*;

    fn known(state: AppState) -> Known {
        let app = AppStatus {
            name: JUPYTER.into(),
            state,
            since_ms: 4_000,
            took_ms: Some(3_240),
            restarts: 0,
            last_lines: vec!["no module named jupyterlab".into()],
            is_exposed: false,
        };
        let status =
            AppsStatus { instance: InstanceId(1), generation: 1, apps: vec![app], terminals: vec!["1".into()] };
        Known { is_connected: true, status: Some(status), ..Known::default() }
    }

    fn looks(state: InstanceState, known: &Known) -> Vec<(AppLook, String)> {
        apps(state, known).into_iter().map(|app| (app.look, app.said)).collect()
    }

    #[test]
    fn a_running_instance_says_how_each_application_does() {
        let running = InstanceState::Running;
        let ready = looks(running, &known(AppState::Ready));
        assert_eq!(ready[0], (AppLook::Ready, "Ready after 3.2 s".into()));
        assert_eq!(ready[1], (AppLook::Ready, "1 session open".into()));
        assert_eq!(looks(running, &known(AppState::Starting))[0], (AppLook::Starting, "Starting for 4 s".into()));
        let failed = apps(running, &known(AppState::Failed)).remove(0);
        assert_eq!((failed.look, failed.last_lines.len()), (AppLook::Failed, 1));
        // A server that was just started knows nothing yet.
        assert_eq!(
            looks(running, &Known::default()).iter().map(|(look, _)| *look).collect::<Vec<_>>(),
            [AppLook::Starting; 2]
        );
    }

    #[test]
    fn where_scripts_failed_only_the_rescue_terminal_opens() {
        let looks: Vec<AppLook> = looks(InstanceState::UserSetupFailed, &known(AppState::Waiting))
            .into_iter()
            .map(|(look, _)| look)
            .collect();
        assert_eq!(looks, [AppLook::Off, AppLook::Ready]);
        let stopped = apps(InstanceState::Stopped, &Known::default());
        assert!(stopped.iter().all(|app| app.look == AppLook::Off));
    }

    #[test]
    fn added_applications_and_vs_code_are_shown_in_every_state() {
        let draft = Preset::Tensorboard.draft();
        let custom = vec![draft.check().expect("a preset")];
        let mut known = Known { custom, has_vscode: true, ..known(AppState::Ready) };
        let names = |known: &Known, state| apps(state, known).into_iter().map(|app| app.name).collect::<Vec<_>>();
        assert_eq!(names(&known, InstanceState::Stopped), [JUPYTER, TERMINAL, VSCODE, "tensorboard"]);
        let shown = apps(InstanceState::Running, &known);
        assert_eq!((shown[2].look, shown[2].said.as_str()), (AppLook::Off, "Restart the instance to get it"));
        assert_eq!((shown[3].look, shown[3].label.as_str()), (AppLook::Starting, "TensorBoard"));
        assert!(!shown[3].is_exposed);
        let status = |name: &str, state| AppStatus {
            name: name.into(),
            state,
            since_ms: 0,
            took_ms: None,
            restarts: 0,
            last_lines: Vec::new(),
            is_exposed: true,
        };
        if let Some(told) = &mut known.status {
            told.apps.extend([status(VSCODE, AppState::OnDemand), status("tensorboard", AppState::Ready)]);
        }
        let shown = apps(InstanceState::Running, &known);
        assert_eq!((shown[2].look, shown[2].said.as_str()), (AppLook::Ready, "Starts when you open it"));
        // Its agent says that others can reach it.
        assert!(shown[3].is_exposed);
        known.has_vscode = false;
        assert_eq!(names(&known, InstanceState::Stopped).len(), 4, "the running one has it still");
    }
}
