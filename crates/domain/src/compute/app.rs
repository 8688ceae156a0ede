//! Applications that people add to their instances: a command that listens on a socket or on a port, and
//! shows pages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::script::split_arguments;
use crate::name::dns_label;
use crate::text::{Problem, shortened};

/// How many applications an instance can have beside those of Atelier itself.
pub const MAX_APPS: usize = 16;
/// The ports on which they can listen.
pub const PORTS: std::ops::RangeInclusive<u16> = 1_025..=65_534;
/// The longest name for people, in characters.
pub const MAX_LABEL: usize = 40;
/// The longest path, in bytes.
pub const MAX_PATH: usize = 500;
/// The most variables of one application.
pub const MAX_VARIABLES: usize = 64;
/// The longest value of a variable, in bytes.
pub const MAX_VALUE: usize = 4_000;

/// Names that Atelier's own applications have, or may come to have.
const RESERVED: [&str; 6] = ["jupyter", "terminal", "vscode", "ssh", "portal", "atelier"];
/// What the log of the present set-up is called; logs of applications bear their names.
pub const SETUP_LOG: &str = "setup";
/// Variables that Atelier sets itself.
const OWN_VARIABLES: [&str; 3] = ["PORT", "ATELIER_APP", "ATELIER_APP_SOCKET"];

/// What the log of that set-up is called: `setup-3`.
pub fn setup_log(generation: u64) -> String {
    format!("{SETUP_LOG}-{generation}")
}

/// Which set-up a log of that name is of.
pub fn setup_of(log: &str) -> Option<u64> {
    log.strip_prefix(SETUP_LOG)?.strip_prefix('-')?.parse().ok()
}

crate::keyed_enum! {
    /// What an application begins as.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Preset {
        /// Runs of training, as charts.
        Tensorboard = "tensorboard", "TensorBoard";
        Mlflow = "mlflow", "MLflow";
        /// Notebooks that are Python files.
        Marimo = "marimo", "marimo";
        /// Whatever its owner says.
        #[default]
        Own = "own", "Your own command";
    }
}

impl Preset {
    /// The preset of that name.
    pub fn parse(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.key() == key)
    }

    /// What it is for.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Tensorboard => "Charts of training runs, from the logs in ~/runs.",
            Self::Mlflow => "Experiments and models, kept in ~/mlflow.",
            Self::Marimo => "Notebooks that are plain Python files.",
            Self::Own => "Any program that serves web pages on a port or a socket.",
        }
    }

    /// The package that brings its program.
    pub const fn package(self) -> Option<&'static str> {
        match self {
            Self::Tensorboard => Some("tensorboard"),
            Self::Mlflow => Some("mlflow"),
            Self::Marimo => Some("marimo"),
            Self::Own => None,
        }
    }

    /// What helps where its program is missing.
    pub fn remedy(self) -> Option<String> {
        let package = self.package()?;
        Some(format!(
            "Run “pip install {package}” in a terminal of this instance, then restart the application on its page."
        ))
    }

    /// An application as the preset makes it.
    pub fn draft(self) -> AppDraft {
        let port = |port: u16, command: &str, health: &str| AppDraft {
            name: self.key().to_owned(),
            label: self.label().to_owned(),
            preset: self,
            command: command.to_owned(),
            port: Some(port),
            health: health.to_owned(),
            ..AppDraft::default()
        };
        match self {
            Self::Tensorboard => port(6_006, "tensorboard --logdir {home}/runs --host 127.0.0.1 --port {port}", "/"),
            Self::Mlflow => port(
                5_000,
                "mlflow server --backend-store-uri sqlite:///{home}/mlflow.db --artifacts-destination {home}/mlflow \
                 --host 127.0.0.1 --port {port}",
                "/health",
            ),
            Self::Marimo => port(
                2_718,
                "marimo edit --headless --host 127.0.0.1 --port {port} --no-token --skip-update-check {home}",
                "/health",
            ),
            Self::Own => AppDraft { port: Some(8_000), ..AppDraft::default() },
        }
    }
}

crate::keyed_enum! {
    /// Which network an application on a port is in.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Network {
        /// One that only the private applications of its instance are in: nobody else reaches its port, and
        /// it reaches nothing else.
        #[default]
        Private = "private";
        /// That of the machine: other people there can reach its port.
        Open = "open";
    }
}

/// The name of an application in addresses: 3–16 of a–z, 0–9 and `-`, a letter first, no `-` last, no `--`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AppName(String);

impl AppName {
    /// Parses the field `name`; capitals are lowered.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let name = dns_label(text, 3, 16).map_err(|message| Problem::new("name", message))?;
        if RESERVED.contains(&name.as_str()) || name.starts_with(SETUP_LOG) {
            let message = format!("“{name}” is a name that Atelier uses itself. Choose another, such as my-{name}.");
            let message = if name.starts_with(SETUP_LOG) {
                format!("Names that begin with “{SETUP_LOG}” are those of set-up logs. Choose another than “{name}”.")
            } else {
                message
            };
            return Err(Problem::new("name", message));
        }
        Ok(Self(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for AppName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// An application as somebody describes it, in a form or over the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AppDraft {
    /// Its name in addresses.
    pub name: String,
    /// Its name for people; nothing if that is the same.
    pub label: String,
    /// What it began as.
    pub preset: Preset,
    /// The command: words and quotes, read without a shell. `{port}`, `{socket}` and `{home}` become what
    /// they are.
    pub command: String,
    /// Variables of its own.
    pub environment: BTreeMap<String, String>,
    /// The port on which it listens; nothing if it listens on its socket.
    pub port: Option<u16>,
    /// The network that its port is in.
    pub network: Network,
    /// Asked until it answers.
    pub health: String,
    /// The page that opens.
    pub page: String,
}

impl Default for AppDraft {
    fn default() -> Self {
        Self {
            name: String::new(),
            label: String::new(),
            preset: Preset::Own,
            command: String::new(),
            environment: BTreeMap::new(),
            port: None,
            network: Network::Private,
            health: "/".to_owned(),
            page: "/".to_owned(),
        }
    }
}

/// An application that was added to an instance. What is in it was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "AppDraft", into = "AppDraft")]
pub struct CustomApp {
    /// Its name in addresses.
    pub name: AppName,
    /// All of it, the name too.
    pub draft: AppDraft,
}

impl From<CustomApp> for AppDraft {
    fn from(app: CustomApp) -> Self {
        app.draft
    }
}

impl TryFrom<AppDraft> for CustomApp {
    type Error = String;

    fn try_from(draft: AppDraft) -> Result<Self, String> {
        draft.check().map_err(|problems| problems.into_iter().map(|problem| problem.message).collect())
    }
}

impl CustomApp {
    /// What people call it.
    pub fn label(&self) -> &str {
        if self.draft.label.is_empty() { self.name.as_str() } else { &self.draft.label }
    }

    /// The program with its arguments.
    pub fn argv(&self) -> Vec<String> {
        // Checked when it was made.
        split_arguments(&self.draft.command).unwrap_or_default()
    }
}

impl AppDraft {
    /// Judges all of it; each problem beside its field.
    pub fn check(mut self) -> Result<CustomApp, Vec<Problem>> {
        let mut problems = Vec::new();
        let name = AppName::parse(&self.name).map_err(|problem| problems.push(problem)).ok();
        self.label = self.label.split_whitespace().collect::<Vec<_>>().join(" ");
        let count = self.label.chars().count();
        if count > MAX_LABEL {
            let message = format!("A name for people has at most {MAX_LABEL} characters; this has {count}.");
            problems.push(Problem::new("label", message));
        }
        if self.label.chars().any(crate::text::is_unseen) {
            problems.push(Problem::new("label", "A name for people has no control characters."));
        }
        problems.extend(command_problem(&self));
        problems.extend(self.environment.iter().find_map(|(name, value)| variable_problem(name, value)));
        if self.environment.len() > MAX_VARIABLES {
            let message =
                format!("An application has at most {MAX_VARIABLES} variables; these are {}.", self.environment.len());
            problems.push(Problem::new("environment", message));
        }
        if let Some(port) = self.port.filter(|port| !PORTS.contains(port)) {
            let (first, last) = (PORTS.start(), PORTS.end());
            let message = format!("A port is a number from {first} to {last}; this is {port}.");
            problems.push(Problem::new("port", message));
        }
        for (field, what, path) in
            [("health", "The address that is asked", &self.health), ("page", "The page that opens", &self.page)]
        {
            problems.extend(path_problem(field, what, path));
        }
        match name {
            Some(name) if problems.is_empty() => {
                self.name = name.to_string();
                self.command = self.command.trim().to_owned();
                Ok(CustomApp { name, draft: self })
            }
            _ => Err(problems),
        }
    }
}

/// Whether an application fits to the others of its instance.
pub fn check_beside(app: &CustomApp, others: &[CustomApp]) -> Result<(), Problem> {
    let others: Vec<&CustomApp> = others.iter().filter(|other| other.name != app.name).collect();
    if others.len() >= MAX_APPS {
        let message =
            format!("An instance has at most {MAX_APPS} applications of its own. Remove one that is not needed.");
        return Err(Problem::new("name", message));
    }
    let is_same = |other: &&&CustomApp| {
        app.draft.port.is_some() && (other.draft.port, other.draft.network) == (app.draft.port, app.draft.network)
    };
    match (others.iter().find(is_same), app.draft.port) {
        (Some(other), Some(port)) => {
            let message = format!("“{}” listens on port {port} already. Choose another port.", other.name);
            Err(Problem::new("port", message))
        }
        _ => Ok(()),
    }
}

/// Reads variables as they are typed: one a line, `NAME=value`.
pub fn parse_variables(text: &str) -> Result<BTreeMap<String, String>, Problem> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| match line.split_once('=') {
            Some((name, value)) => Ok((name.trim().to_owned(), value.to_owned())),
            None => {
                let message = format!("Line {} has no “=”: “{}”. Write NAME=value.", at + 1, shortened(line));
                Err(Problem::new("environment", message))
            }
        })
        .collect()
}

fn command_problem(draft: &AppDraft) -> Option<Problem> {
    let wrong = |message: String| Some(Problem::new("command", message));
    let words = match split_arguments(&draft.command) {
        Ok(words) => words,
        Err(problem) => return wrong(problem.message.replace("Arguments have", "A command has")),
    };
    let first = words.first().map_or("", String::as_str);
    if first.is_empty() {
        return wrong("Enter the command that starts it.".into());
    }
    if draft.port.is_none() && draft.command.contains("{port}") {
        return wrong(
            "The command asks for {port}, but the application listens on its socket. Choose a port, or write {socket}."
                .into(),
        );
    }
    if draft.port.is_some() && draft.command.contains("{socket}") {
        return wrong(
            "The command asks for {socket}, but the application listens on a port. Write {port}, or choose its socket."
                .into(),
        );
    }
    None
}

fn variable_problem(name: &str, value: &str) -> Option<Problem> {
    let wrong = |message: String| Some(Problem::new("environment", message));
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let shown = shortened(name);
    if !is_name || name.len() > 200 {
        return wrong(format!("“{shown}” cannot be the name of a variable: letters, digits and _, no digit first."));
    }
    if OWN_VARIABLES.contains(&name) {
        return wrong(format!("{shown} is set by Atelier itself. Leave it out."));
    }
    if value.len() > MAX_VALUE {
        return wrong(format!("A value has at most {MAX_VALUE} bytes; that of {shown} has {}.", value.len()));
    }
    if value.contains('\0') {
        return wrong(format!("The value of {shown} has a NUL character."));
    }
    None
}

fn path_problem(field: &'static str, what: &str, path: &str) -> Option<Problem> {
    let wrong = |message: String| Some(Problem::new(field, message));
    if path.len() > MAX_PATH {
        return wrong(format!("{what} has at most {MAX_PATH} bytes; this has {}.", path.len()));
    }
    if !path.starts_with('/') || path.starts_with("//") || path.contains('\\') {
        return wrong(format!("{what} begins with one “/”, such as /health; this is “{}”.", shortened(path)));
    }
    if path.bytes().any(|byte| !(0x21..=0x7e).contains(&byte)) {
        return wrong(format!("{what} has no spaces and no signs beside those of plain addresses."));
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn draft() -> AppDraft {
        AppDraft {
            name: "board".into(),
            command: "serve --port {port}".into(),
            port: Some(8_080),
            ..AppDraft::default()
        }
    }

    fn app(name: &str, port: Option<u16>, network: Network) -> CustomApp {
        AppDraft { name: name.into(), command: "serve".into(), port, network, ..draft() }.check().expect("fine")
    }

    #[test]
    fn logs_of_set_ups_have_numbers() {
        for generation in [0, 1, 11, u64::MAX] {
            assert_eq!(setup_of(&setup_log(generation)), Some(generation));
        }
        for other in ["setup", "setup-", "setup-x", "setup1", "jupyter", "a-setup-1"] {
            assert_eq!(setup_of(other), None, "{other}");
        }
        assert!(AppName::parse(SETUP_LOG).is_err(), "no application has the name of that log");
    }

    #[test]
    fn presets_are_fine_as_they_are_and_say_what_brings_their_program() {
        for preset in Preset::ALL {
            assert_eq!(Preset::parse(preset.key()), Some(preset));
            let Some(package) = preset.package() else { continue };
            let app = preset.draft().check().expect("a preset passes its own rules");
            assert_eq!((app.argv()[0].as_str(), app.label()), (package, preset.label()));
            assert!(app.draft.command.contains("{port}") && app.draft.command.contains("127.0.0.1"));
            assert!(preset.remedy().is_some_and(|words| words.contains(&format!("pip install {package}"))));
        }
        assert_eq!(Preset::parse("emacs"), None);
    }

    #[test]
    fn every_field_has_its_own_complaint() {
        let one = |draft: AppDraft| {
            let problems = draft.check().expect_err("refused");
            assert_eq!(problems.len(), 1, "{problems:?}");
            let Problem { field, message } = problems.into_iter().next().expect("one");
            format!("{field}: {message}")
        };
        let variable = |name: &str, value: &str| AppDraft {
            environment: BTreeMap::from([(name.into(), value.into())]),
            ..draft()
        };
        for (bad, part) in [
            (AppDraft { name: "ab".into(), ..draft() }, "name: A short name has 3 to 16 characters; this has 2."),
            (AppDraft { name: "jupyter".into(), ..draft() }, "name: “jupyter” is a name that Atelier uses itself"),
            (AppDraft { name: "vscode".into(), ..draft() }, "such as my-vscode"),
            (AppDraft { name: "setup-3".into(), ..draft() }, "name: Names that begin with “setup”"),
            (AppDraft { name: "a--b".into(), ..draft() }, "name: A short name has single hyphens"),
            (
                AppDraft { label: "x".repeat(41), ..draft() },
                "label: A name for people has at most 40 characters; this has 41.",
            ),
            (AppDraft { command: "  ".into(), ..draft() }, "command: Enter the command"),
            (AppDraft { command: "'' x".into(), ..draft() }, "command: Enter the command"),
            (
                AppDraft { command: "serve 'x".into(), ..draft() },
                "command: A ' is opened after 1 word and never closed.",
            ),
            (AppDraft { command: "x".repeat(4_001), ..draft() }, "command: A command has at most 4000 bytes"),
            (AppDraft { port: None, ..draft() }, "command: The command asks for {port}"),
            (AppDraft { command: "serve {socket}".into(), ..draft() }, "command: The command asks for {socket}"),
            (AppDraft { port: Some(1_024), ..draft() }, "port: A port is a number from 1025 to 65534; this is 1024."),
            (AppDraft { port: Some(65_535), ..draft() }, "this is 65535."),
            (AppDraft { health: "health".into(), ..draft() }, "health: The address that is asked begins with one “/”"),
            (AppDraft { health: "/a b".into(), ..draft() }, "health: The address that is asked has no spaces"),
            (AppDraft { page: "//evil.example".into(), ..draft() }, "page: The page that opens begins with one “/”"),
            (AppDraft { page: format!("/{}", "x".repeat(500)), ..draft() }, "this has 501."),
            (variable("2x", "1"), "environment: “2x” cannot be the name of a variable"),
            (variable("PORT", "1"), "environment: PORT is set by Atelier itself"),
            (variable("X", &"x".repeat(4_001)), "environment: A value has at most 4000 bytes; that of X has 4001."),
            (variable("X", "\0"), "environment: The value of X has a NUL character."),
        ] {
            let said = one(bad);
            assert!(said.contains(part), "{said}");
        }
        let all = AppDraft { name: String::new(), command: String::new(), port: Some(1), ..draft() };
        assert_eq!(all.check().expect_err("refused").len(), 3);
    }

    #[test]
    fn others_of_the_instance_count() {
        let others: Vec<CustomApp> = (0..15).map(|at| app(&format!("app-{at}"), None, Network::Private)).collect();
        let board = app("board", Some(6_006), Network::Private);
        assert_eq!(check_beside(&board, &others), Ok(()));
        let full: Vec<CustomApp> = others.into_iter().chain([board.clone()]).collect();
        // Itself again is a change, not one more.
        assert_eq!(check_beside(&board, &full), Ok(()));
        let more = check_beside(&app("more", None, Network::Private), &full).expect_err("too many");
        assert!(more.message.contains("at most 16"));
        let same = check_beside(&app("other", Some(6_006), Network::Private), std::slice::from_ref(&board));
        assert_eq!(
            same.expect_err("the port is taken").message,
            "“board” listens on port 6006 already. Choose another port."
        );
        // Another network is another place.
        assert_eq!(check_beside(&app("other", Some(6_006), Network::Open), &[board]), Ok(()));
    }

    #[test]
    fn variables_are_read_line_by_line() {
        let read = parse_variables("A=1\n\n B =x=y\r\n").expect("read");
        assert_eq!(read, BTreeMap::from([("A".into(), "1".into()), ("B".into(), "x=y".into())]));
        assert_eq!(
            parse_variables("A=1\nnonsense").expect_err("refused").message,
            "Line 2 has no “=”: “nonsense”. Write NAME=value."
        );
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let kept = app("board", Some(6_006), Network::Open);
        let text = serde_json::to_string(&kept).expect("written");
        assert_eq!(serde_json::from_str::<CustomApp>(&text).expect("read"), kept);
    }

    proptest! {
        #[test]
        fn whatever_is_typed_is_taken_or_refused(
            name in ".{0,20}",
            command in ".{0,60}",
            health in ".{0,20}",
            port in any::<Option<u16>>(),
            variable in ".{0,10}",
        ) {
            let environment = BTreeMap::from([(variable, String::new())]);
            let draft = AppDraft { name, command, health, port, environment, ..AppDraft::default() };
            if let Ok(app) = draft.check() {
                prop_assert!(!app.argv().is_empty());
                // Checked once more it is the same.
                let again = app.draft.clone().check();
                prop_assert_eq!(again, Ok(app));
            }
        }
    }
}
