//! The applications of an instance, and whether they can be opened.

use atelier_domain::compute::instance::InstanceState;
use atelier_domain::text::counted;
use atelier_domain::time::Span;
use atelier_protocol::{AppState, AppStatus, AppsStatus};

use crate::studio::instance::{JUPYTER, TERMINAL};

/// How an application does, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppLook {
    /// Its instance is off, or it cannot be had at all.
    Off,
    /// It comes.
    Starting,
    /// It can be opened.
    Ready,
    /// It ended too often, or never answered.
    Failed,
}

impl AppLook {
    /// The name in the API.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Failed => "failed",
        }
    }
}

/// An application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppView {
    /// Its name in addresses.
    pub name: String,
    /// Its name for people.
    pub label: String,
    /// A shorter one, for lists.
    pub short: &'static str,
    /// Its icon.
    pub icon: &'static str,
    /// How it does.
    pub look: AppLook,
    /// The same in words.
    pub said: String,
    /// What it printed last, when it failed.
    pub last_lines: Vec<String>,
}

/// What is known of an instance's node right now.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Whether its agent is connected.
    pub is_connected: bool,
    /// What the agent says of the applications; nothing of an earlier operation counts.
    pub status: Option<AppsStatus>,
}

/// All applications of an instance in that state.
pub fn apps(state: InstanceState, known: &Known) -> Vec<AppView> {
    let others = known.status.iter().flat_map(|status| &status.apps).filter(|app| app.name != JUPYTER);
    let others: Vec<AppView> = others.map(|app| other(state, app)).collect();
    [jupyter(state, known), terminal(state, known)].into_iter().chain(others).collect()
}

fn is_up(state: InstanceState) -> bool {
    matches!(state, InstanceState::Running | InstanceState::JobRunning)
}

fn is_coming(state: InstanceState) -> bool {
    matches!(
        state,
        InstanceState::Creating
            | InstanceState::Starting
            | InstanceState::SettingUp
            | InstanceState::UserSettingUp
            | InstanceState::Restarting
    )
}

fn jupyter(state: InstanceState, known: &Known) -> AppView {
    let status = known.status.as_ref();
    let app = status.and_then(|status| status.apps.iter().find(|app| app.name == JUPYTER));
    let (look, said, last_lines) = match (app, status) {
        (Some(app), _) if is_up(state) => described(app),
        (None, Some(_)) if is_up(state) => {
            (AppLook::Off, "This server has no environment for it yet".to_owned(), Vec::new())
        }
        (_, None) if is_up(state) => (AppLook::Starting, "Nothing is known of it yet".to_owned(), Vec::new()),
        _ => (elsewhere(state), off(state).to_owned(), Vec::new()),
    };
    AppView { name: JUPYTER.into(), label: "JupyterLab".into(), short: "Lab", icon: "notebook", look, said, last_lines }
}

/// The terminal needs no process of its own: it opens as soon as the environment is there, also where scripts failed.
fn terminal(state: InstanceState, known: &Known) -> AppView {
    let is_rescue = matches!(state, InstanceState::SetupFailed | InstanceState::UserSetupFailed);
    let open = known.status.as_ref().map_or(0, |status| status.terminals.len() as u64);
    let (look, said) = match (is_up(state) || is_rescue, known.is_connected) {
        (true, false) => (AppLook::Starting, "Its agent is not connected".to_owned()),
        (true, true) if is_rescue => (AppLook::Ready, "To mend what failed".to_owned()),
        (true, true) if open > 0 => (AppLook::Ready, format!("{} open", counted(open, "session", "sessions"))),
        (true, true) => (AppLook::Ready, "Ready".to_owned()),
        (false, _) => (elsewhere(state), off(state).to_owned()),
    };
    AppView {
        name: TERMINAL.into(),
        label: if is_rescue { "Rescue terminal".into() } else { "Terminal".into() },
        short: if is_rescue { "Rescue" } else { "Terminal" },
        icon: "terminal",
        look,
        said,
        last_lines: Vec::new(),
    }
}

fn other(state: InstanceState, app: &AppStatus) -> AppView {
    let (look, said, last_lines) =
        if is_up(state) { described(app) } else { (elsewhere(state), off(state).to_owned(), Vec::new()) };
    AppView { name: app.name.clone(), label: app.name.clone(), short: "Open", icon: "external", look, said, last_lines }
}

const fn elsewhere(state: InstanceState) -> AppLook {
    match state {
        InstanceState::Creating
        | InstanceState::Starting
        | InstanceState::SettingUp
        | InstanceState::UserSettingUp
        | InstanceState::Restarting => AppLook::Starting,
        _ => AppLook::Off,
    }
}

fn off(state: InstanceState) -> &'static str {
    match state {
        _ if is_coming(state) => "Starts with the instance",
        InstanceState::Stopped | InstanceState::Stopping | InstanceState::Resizing => "Start and open",
        InstanceState::SetupFailed | InstanceState::UserSetupFailed => "Waits for a set-up that works",
        InstanceState::Unknown | InstanceState::Unusable => "Its node does not answer",
        _ => "Not there",
    }
}

fn described(app: &AppStatus) -> (AppLook, String, Vec<String>) {
    let since = Span::millis(app.since_ms);
    match app.state {
        AppState::Waiting => (AppLook::Starting, "Waits for the scripts".into(), Vec::new()),
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
        AppState::Failed => {
            (AppLook::Failed, "It failed; restart the instance to try again".into(), app.last_lines.clone())
        }
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
    use super::*;
    use atelier_domain::compute::InstanceId;

    fn known(state: AppState) -> Known {
        let app = AppStatus {
            name: JUPYTER.into(),
            state,
            since_ms: 4_000,
            took_ms: Some(3_240),
            restarts: 0,
            last_lines: vec!["no module named jupyterlab".into()],
        };
        let status =
            AppsStatus { instance: InstanceId(1), generation: 1, apps: vec![app], terminals: vec!["1".into()] };
        Known { is_connected: true, status: Some(status) }
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
        let stopped = looks_of_stopped();
        assert!(stopped.iter().all(|look| *look == AppLook::Off));
    }

    fn looks_of_stopped() -> Vec<AppLook> {
        apps(InstanceState::Stopped, &Known::default()).into_iter().map(|app| app.look).collect()
    }
}
