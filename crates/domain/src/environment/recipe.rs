//! What somebody wrote, read line by line.

use serde::{Deserialize, Serialize};

use super::conda;
use super::requirements::{MAX_LINE, Requirement, Requirements, normalised, read};
use crate::text::{Problem, counted, shortened};

/// The most bytes of a recipe: comments count too.
pub const MAX_RECIPE: usize = 64 << 10;
/// The most packages: what is frozen names every one that others brought with them.
pub const MAX_PACKAGES: usize = 1_000;
/// The name of the field, in forms and problems.
const FIELD: &str = "recipe";
/// So many lines that are wrong are named at once.
const NAMED: usize = 8;

crate::keyed_enum! {
    /// How a recipe is written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Format {
        /// One package a line, as pip takes them.
        Requirements = "requirements";
        /// A list under `dependencies:`, as conda takes it.
        Conda = "conda";
    }
}

impl Format {
    /// Which one a text is written in: only conda’s has such headings.
    pub fn of(text: &str) -> Self {
        let is_heading = |line: &str| {
            let line = line.split('#').next().unwrap_or_default().trim_end();
            ["dependencies:", "channels:"].iter().any(|heading| line.starts_with(heading))
        };
        if text.lines().any(is_heading) { Self::Conda } else { Self::Requirements }
    }
}

/// A package of a recipe and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeLine {
    /// The number of its line, from 1.
    pub number: usize,
    /// As it stands there.
    pub text: String,
    pub(super) requirement: Requirement,
}

impl RecipeLine {
    /// Line 3, “numpy=1.26”.
    pub fn shown(&self) -> String {
        format!("line {}, “{}”", self.number, shortened(&self.text))
    }
}

/// A list of packages that can be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    text: String,
    format: Format,
    lines: Vec<RecipeLine>,
}

/// What one line is, once it is read.
pub(super) enum Meaning {
    /// A package, as pip would write it.
    Package(String),
    /// Nothing that is to be installed.
    Nothing,
}

impl Recipe {
    /// Reads a recipe. `python` is the version of the server's Python, where that is known: what asks for
    /// another one is refused. All lines that are wrong are named, in one problem of the field `recipe`.
    pub fn parse(text: &str, python: Option<&str>) -> Result<Self, Problem> {
        let text = text.replace("\r\n", "\n");
        let refuse = |message: String| Err(Problem::new(FIELD, message));
        if text.len() > MAX_RECIPE {
            let (most, bytes) = (MAX_RECIPE >> 10, text.len().div_ceil(1 << 10));
            return refuse(format!("A list has at most {most} KiB; this has {bytes} KiB. Shorten it."));
        }
        let format = Format::of(&text);
        let mut complaints: Vec<String> = Vec::new();
        let mut complain = |number: usize, line: &str, why: &str| {
            complaints.push(format!("Line {number}, “{}”: {why}", shortened(line.trim())));
        };
        let mut lines: Vec<RecipeLine> = Vec::new();
        let found: Vec<(usize, &str, Result<Meaning, String>)> = match format {
            Format::Requirements => plain(&text),
            Format::Conda => conda::lines(&text, python),
        };
        for (number, line, meaning) in found {
            let count = line.chars().count();
            if count > MAX_LINE {
                complain(number, line, &format!("it has {count} characters; a line may have {MAX_LINE}."));
                continue;
            }
            let read = match meaning {
                Ok(Meaning::Nothing) => continue,
                Ok(Meaning::Package(package)) => read(&package),
                Err(why) => Err(why),
            };
            let requirement = match read {
                Ok(requirement) => requirement,
                Err(why) => {
                    complain(number, line, &why);
                    continue;
                }
            };
            let is_twin =
                |other: &&RecipeLine| other.requirement.name() == requirement.name() && !other.requirement.has_marker();
            if let (Some(twin), false) = (lines.iter().find(is_twin), requirement.has_marker()) {
                let why = format!("{} stands on line {} already. Keep one of them.", requirement.name(), twin.number);
                complain(number, line, &why);
                continue;
            }
            lines.push(RecipeLine { number, text: line.trim().to_owned(), requirement });
        }
        if !complaints.is_empty() {
            let more = complaints.len().saturating_sub(NAMED);
            complaints.truncate(NAMED);
            if more > 0 {
                complaints.push(format!("{} wrong as well.", counted(more as u64, "more line is", "more lines are")));
            }
            return refuse(complaints.join("\n"));
        }
        if lines.len() > MAX_PACKAGES {
            let count = lines.len();
            return refuse(format!("The list may have {MAX_PACKAGES} packages; this one has {count}. Shorten it."));
        }
        if lines.is_empty() {
            return refuse("The list is empty. Name at least one package, such as numpy.".into());
        }
        Ok(Self { text: text.trim_end().to_owned(), format, lines })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How it is written.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Its packages and where they stand.
    pub fn lines(&self) -> &[RecipeLine] {
        &self.lines
    }

    /// What pip is told: the same for all recipes that mean the same.
    pub fn requirements(&self) -> Requirements {
        let lines: Vec<Requirement> = self.lines.iter().map(|line| line.requirement.clone()).collect();
        Requirements::of(&lines)
    }

    /// The line that names a package, by the package’s name or by all that pip says about it: `numpy>=99`.
    pub fn line_of(&self, package: &str) -> Option<&RecipeLine> {
        let package = package.trim();
        let end = package.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))).unwrap_or(package.len());
        let name = normalised(&package[..end]);
        self.lines.iter().find(|line| !name.is_empty() && line.requirement.name() == name)
    }
}

/// One package a line; what follows a `#` is for people.
fn plain(text: &str) -> Vec<(usize, &str, Result<Meaning, String>)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, without_comment(line).trim()));
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line)| (number, line, Ok(Meaning::Package(line.to_owned()))))
        .collect()
}

/// A comment begins a line, or stands behind a blank.
pub(super) fn without_comment(line: &str) -> &str {
    let begins = |(at, _): &(usize, &str)| *at == 0 || line[..*at].ends_with([' ', '\t']);
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let recipe = Recipe::parse(text, Some("3.11.2")).unwrap_or_else(|problem| panic!("{}", problem.message));
        recipe.requirements().lines().map(ToOwned::to_owned).collect()
    }

    #[test]
    fn comments_are_for_people_and_what_means_the_same_is_the_same() {
        assert_eq!(lines("# the model\n\nNumPy >= 1.26 , <2 # numbers\npandas\r\n"), ["numpy<2,>=1.26", "pandas"]);
        assert_eq!(lines("Zope.Interface[b, A] (==5.0)"), ["zope-interface[a,b]==5.0"]);
        assert_eq!(lines("x>=1;python_version<'3.12'"), ["x>=1; python_version<'3.12'"]);
        let (one, two) = ("b\na>=1,<2", "A <2, >=1\nB");
        let sorted = |text| {
            let mut lines = lines(text);
            lines.sort();
            lines
        };
        assert_eq!(sorted(one), sorted(two));
    }

    #[test]
    fn every_wrong_line_is_named_with_its_number() {
        let problem = Recipe::parse("numpy\n# fine\n-e .\npandas=2\nNumpy>=1\n", None).expect_err("three are wrong");
        assert_eq!(problem.field, "recipe");
        let said: Vec<&str> = problem.message.lines().collect();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].starts_with("Line 3, “-e .”: options are not taken"), "{said:?}");
        assert!(said[1].starts_with("Line 4, “pandas=2”: “=2” is no version"), "{said:?}");
        assert!(said[2].starts_with("Line 5, “Numpy>=1”: numpy stands on line 1 already"), "{said:?}");
        let many: String = (0..20).map(|_| "-x\n").collect();
        let problem = Recipe::parse(&many, None).expect_err("all are wrong");
        assert!(problem.message.ends_with("12 more lines are wrong as well."), "{}", problem.message);
    }

    #[test]
    fn the_size_is_bounded() {
        assert!(Recipe::parse("  \n# nothing\n", None).is_err_and(|p| p.message.contains("empty")));
        let long = "# x\n".repeat(MAX_RECIPE);
        assert!(Recipe::parse(&long, None).is_err_and(|p| p.message.contains("64 KiB")));
        let many: String = (0..=MAX_PACKAGES).map(|i| format!("p{i}\n")).collect();
        assert!(Recipe::parse(&many, None).is_err_and(|p| p.message.contains("1000 packages")));
        assert!(Recipe::parse(&"x".repeat(MAX_LINE + 1), None).is_err_and(|p| p.message.contains("201 characters")));
    }

    #[test]
    fn a_package_is_found_by_what_pip_says_of_it() {
        let recipe = Recipe::parse("# a\nScikit_Learn>=1\nnumpy", None).expect("two");
        let line = recipe.line_of("scikit-learn>=1").expect("is there");
        assert_eq!((line.number, line.shown()), (2, "line 2, “Scikit_Learn>=1”".to_owned()));
        assert_eq!(recipe.line_of("numpy==99").map(|line| line.number), Some(3));
        assert_eq!(recipe.line_of("pandas"), None);
        assert_eq!(recipe.line_of("==3"), None);
    }
}
