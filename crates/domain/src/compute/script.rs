//! Scripts of an instance: one that runs once when it is made (and again after a rebuild), one that runs at
//! each start.

use serde::{Deserialize, Serialize};

use crate::text::{Problem, counted};
use crate::time::Span;

/// How long a script may take, unless its maker says otherwise.
pub const DEFAULT_SCRIPT: Span = Span::minutes(15);
/// The longest time for a script.
pub const MAX_SCRIPT: Span = Span::hours(24);
/// The largest script, in bytes.
pub const MAX_SCRIPT_BYTES: usize = 64 * 1024;
/// The longest text of arguments, in bytes.
pub const MAX_ARGUMENTS: usize = 4_000;

/// A script. Its text is kept elsewhere, under its hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Script {
    /// The SHA-256 of its text, in 64 small hexadecimal digits.
    pub blob: String,
    /// What follows its name: words and quotes, read without a shell ([`split_arguments`]).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// How long it may take.
    pub limit: Span,
}

crate::keyed_enum! {
    /// When a script runs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum ScriptKind {
        /// Once, and again after a rebuild.
        Creation = "creation";
        Startup = "startup";
    }
}

/// One script that is to run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ScriptRun {
    /// Which of the two.
    pub kind: ScriptKind,
    pub script: Script,
}

/// The scripts of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scripts {
    /// Runs once, and again after a rebuild.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation: Option<Script>,
    /// Runs at each start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup: Option<Script>,
}

impl Scripts {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.creation.is_none() && self.startup.is_none()
    }

    /// What runs at a start, in this order.
    pub fn to_run(&self, creation_done: bool) -> Vec<ScriptRun> {
        let creation = self.creation.iter().filter(|_| !creation_done).map(|script| (ScriptKind::Creation, script));
        let startup = self.startup.iter().map(|script| (ScriptKind::Startup, script));
        creation.chain(startup).map(|(kind, script)| ScriptRun { kind, script: script.clone() }).collect()
    }

    /// Refuses what cannot be run; a problem names its field: `creation_limit`, `startup_arguments`.
    pub fn check(&self) -> Result<(), Problem> {
        for (kind, script) in ScriptKind::ALL.into_iter().zip([&self.creation, &self.startup]) {
            let Some(script) = script else { continue };
            let field = |what: &str| format!("{}_{what}", kind.key());
            let is_hash = script.blob.len() == 64
                && script.blob.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
            if !is_hash {
                let message = "A script is named by the SHA-256 of its text, 64 digits of 0–9 and a–f.";
                return Err(Problem::new(field("script"), message));
            }
            if script.limit < Span::seconds(1) || script.limit > MAX_SCRIPT {
                let message = format!("A script gets between 1 s and {MAX_SCRIPT}; this is {}.", script.limit);
                return Err(Problem::new(field("limit"), message));
            }
            split_arguments(&script.arguments).map_err(|problem| Problem::new(field("arguments"), problem.message))?;
        }
        Ok(())
    }
}

/// How long all of these may take together.
pub fn limit_of(runs: &[ScriptRun]) -> Span {
    runs.iter().fold(Span::ZERO, |sum, run| sum.plus(run.script.limit))
}

/// Splits arguments as a shell would, but without one: words between white space, `'…'` as it is, `"…"` with
/// `\"` and `\\`, and `\` before any character outside quotes. Nothing is expanded.
pub fn split_arguments(text: &str) -> Result<Vec<String>, Problem> {
    let wrong = |message: String| Err(Problem::new("arguments", message));
    if text.len() > MAX_ARGUMENTS {
        return wrong(format!("Arguments have at most {MAX_ARGUMENTS} bytes; these have {}.", text.len()));
    }
    if text.contains('\0') {
        return wrong("Arguments cannot have a NUL character.".into());
    }
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        match next {
            space if space.is_whitespace() => words.extend(word.take()),
            quote @ ('\'' | '"') => {
                let word = word.get_or_insert_with(String::new);
                loop {
                    match chars.next() {
                        None => {
                            let place = counted(words.len() as u64, "word", "words");
                            return wrong(format!("A {quote} is opened after {place} and never closed."));
                        }
                        Some(end) if end == quote => break,
                        Some('\\') if quote == '"' => match chars.next() {
                            Some(escaped @ ('"' | '\\')) => word.push(escaped),
                            Some(other) => word.extend(['\\', other]),
                            None => word.push('\\'),
                        },
                        Some(other) => word.push(other),
                    }
                }
            }
            '\\' => match chars.next() {
                Some(escaped) => word.get_or_insert_with(String::new).push(escaped),
                None => {
                    return wrong(
                        "A \\ at the end has nothing to stand before; write \\\\ for the sign itself.".into(),
                    );
                }
            },
            other => word.get_or_insert_with(String::new).push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn script(limit: Span) -> Script {
        Script { blob: "a1".repeat(32), arguments: String::new(), limit }
    }

    #[test]
    fn words_are_split_without_a_shell() {
        let split = |text: &str| split_arguments(text).expect("words");
        assert_eq!(split(""), Vec::<String>::new());
        assert_eq!(split("  a  b\tc\n"), ["a", "b", "c"]);
        assert_eq!(split(r#"--name "Ada Lovelace" 'it''s' "" x\ y"#), ["--name", "Ada Lovelace", "its", "", "x y"]);
        assert_eq!(split(r#""a \"b\" \\ \n" '\n'"#), [r#"a "b" \ \n"#, r"\n"]);
        assert_eq!(split("$HOME `id` $(id) ; rm * > x"), ["$HOME", "`id`", "$(id)", ";", "rm", "*", ">", "x"]);
    }

    #[test]
    fn what_is_not_closed_is_refused_in_words() {
        let refused = |text: &str| split_arguments(text).expect_err("refused").message;
        assert_eq!(refused("a b 'c"), "A ' is opened after 2 words and never closed.");
        assert_eq!(refused(r#""a"#), "A \" is opened after 0 words and never closed.");
        assert!(refused("a\\").contains("at the end"));
        assert!(refused("a\0b").contains("NUL"));
        assert!(refused(&"x".repeat(4_001)).contains("these have 4001"));
    }

    #[test]
    fn a_wrong_script_names_its_field() {
        let field = |scripts: Scripts| scripts.check().expect_err("refused").field;
        let creation = |script: Script| Scripts { creation: Some(script), startup: None };
        assert_eq!(field(creation(script(Span::ZERO))), "creation_limit");
        assert_eq!(field(creation(Script { blob: "../../etc".into(), ..script(DEFAULT_SCRIPT) })), "creation_script");
        let bad = Script { arguments: "'".into(), ..script(DEFAULT_SCRIPT) };
        assert_eq!(field(Scripts { creation: Some(script(DEFAULT_SCRIPT)), startup: Some(bad) }), "startup_arguments");
        assert_eq!(creation(script(MAX_SCRIPT)).check(), Ok(()));
    }

    #[test]
    fn what_runs_at_a_start() {
        let both = Scripts { creation: Some(script(Span::minutes(2))), startup: Some(script(Span::minutes(3))) };
        let kinds = |done: bool| both.to_run(done).iter().map(|run| run.kind).collect::<Vec<_>>();
        assert_eq!(kinds(false), ScriptKind::ALL);
        assert_eq!(kinds(true), [ScriptKind::Startup]);
        assert_eq!(limit_of(&both.to_run(false)), Span::minutes(5));
        assert!(Scripts::default().to_run(false).is_empty());
    }

    proptest! {
        /// Whatever words there are: quoted, they come back as they were.
        #[test]
        fn quoted_words_come_back(words in proptest::collection::vec("[ -~äß\\n]{0,12}", 0..8)) {
            let quoted: Vec<String> =
                words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
            prop_assert_eq!(split_arguments(&quoted.join(" ")), Ok(words));
        }

        #[test]
        fn any_text_is_split_or_refused(text in any::<String>()) {
            let _ = split_arguments(&text);
        }
    }
}
