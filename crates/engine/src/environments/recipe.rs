//! What an environment is made of, and its name: two of the same name hold the same thing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atelier_domain::environment::{EnvironmentHash, Packages, Requirements};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::failure::Failure;

/// Counted up when environments are to be built differently, so that those of before are not taken for them.
const VERSION: u32 = 1;

/// Prints what it is, in one line.
const WHO: &str = "import json, sys, sysconfig; print(json.dumps({'name': sys.implementation.name, \
                   'version': '%d.%d.%d' % sys.version_info[:3], 'platform': sysconfig.get_platform()}))";

/// The Python that environments stand on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Python {
    pub program: PathBuf,
    /// `cpython`.
    pub name: String,
    /// `3.11.2`.
    pub version: String,
    /// `linux-x86_64`.
    pub platform: String,
}

impl Python {
    /// Asks a program who it is.
    pub(super) fn ask(program: &Path) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Said {
            name: String,
            version: String,
            platform: String,
        }
        let mut command = Command::new(program);
        command.args(["-I", "-c", WHO]).env_clear().stdin(Stdio::null());
        let output = command.output().map_err(|error| Failure::no_python(program, &error))?;
        let said = serde_json::from_slice::<Said>(&output.stdout);
        match said {
            Ok(Said { name, version, platform }) if output.status.success() => {
                Ok(Self { program: program.to_owned(), name, version, platform })
            }
            _ => Err(Failure::not_python(program, &String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// `3.11`: what packages are made for.
    pub fn series(&self) -> &str {
        self.version.rsplit_once('.').map_or(self.version.as_str(), |(series, _)| series)
    }

    /// Whether what stands on the one works with the other. A security update changes nothing.
    pub(super) fn fits(&self, other: &Self) -> bool {
        (&self.program, &self.name, self.series(), &self.platform)
            == (&other.program, &other.name, other.series(), &other.platform)
    }
}

/// What is to be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    pub requirements: Requirements,
    pub python: Python,
    /// Counted up by who wants the same list anew.
    pub edition: u32,
    pub kind: Kind,
    /// What was in it when it was built before, if it was. It says nothing about what it is, so it is not in
    /// the name.
    pub before: Packages,
}

/// What an environment is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Instances stand on it.
    #[default]
    Base,
    /// Jobs and notebooks name it. It gets what a notebook needs of it beside its list, and is nobody's base.
    Named,
}

impl Recipe {
    /// The name of the folder, as a number.
    pub fn short(&self) -> EnvironmentHash {
        EnvironmentHash::parse(&self.hash()).unwrap_or(EnvironmentHash([0; 10]))
    }

    /// The name of the folder. Short, since it is in the first line of every script in it, and that line may
    /// not be long.
    pub fn hash(&self) -> String {
        let mut lines: Vec<&str> = self.requirements.lines().collect();
        lines.sort_unstable();
        let Python { program, name, platform, .. } = &self.python;
        let kind = match self.kind {
            Kind::Base => "",
            Kind::Named => "named 2\n",
        };
        let text = format!(
            "{VERSION}\n{kind}{}\n{name} {} {platform}\n{}\n{}\n",
            self.edition,
            self.python.series(),
            program.display(),
            lines.join("\n")
        );
        atelier_domain::text::hex(&Sha256::digest(text.as_bytes())[..10])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(list: &str) -> Recipe {
        let python = Python {
            program: "/usr/bin/python3".into(),
            name: "cpython".into(),
            version: "3.11.2".into(),
            platform: "linux-x86_64".into(),
        };
        Recipe {
            requirements: Requirements::parse(list).expect("a list"),
            python,
            edition: 0,
            kind: Kind::Base,
            before: Packages::new(),
        }
    }

    #[test]
    fn the_same_things_have_the_same_name_and_others_another() {
        let one = recipe("numpy\npandas>=2");
        assert_eq!(one.hash().len(), 20);
        assert_eq!(one.hash(), recipe("pandas>=2\nnumpy").hash(), "the order says nothing");
        let newer = Python { version: "3.11.9".into(), ..one.python.clone() };
        assert_eq!(one.hash(), Recipe { python: newer, ..one.clone() }.hash(), "a security update says nothing");
        let change = |change: fn(&mut Recipe)| {
            let mut other = one.clone();
            change(&mut other);
            other.hash()
        };
        let mut others = vec![
            one.hash(),
            recipe("numpy").hash(),
            recipe("numpy\npandas>=3").hash(),
            change(|it| it.edition = 1),
            change(|it| it.kind = Kind::Named),
            change(|it| it.python.version = "3.12.2".into()),
            change(|it| it.python.name = "pypy".into()),
            change(|it| it.python.platform = "linux-aarch64".into()),
            change(|it| it.python.program = "/opt/python".into()),
        ];
        others.sort();
        others.dedup();
        assert_eq!(others.len(), 9);
    }

    #[test]
    fn a_program_that_is_no_python_is_said_to_be_none() {
        let missing = Python::ask(Path::new("/nowhere/python3")).expect_err("is not there");
        assert!(missing.why.contains("no Python at /nowhere/python3"), "{missing:?}");
        assert!(missing.help.contains("apt-get install python3 python3-venv"), "{missing:?}");
        let other = Python::ask(Path::new("/bin/true")).expect_err("is something else");
        assert!(other.why.contains("/bin/true"), "{other:?}");
    }
}
