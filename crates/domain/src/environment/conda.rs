//! A conda-style list, as far as it has a meaning for pip.
//!
//! It is read line by line and not as any YAML: what is understood is what conda itself writes, and each
//! complaint can name its line.

use super::recipe::{Meaning, without_comment};

/// What is no Python package, or none that the index has under that name; with what to do.
const STRANGERS: [(&str, &str); 22] = [
    ("pytorch", "it is called torch in the Python index. Write torch."),
    ("pytorch-cuda", "torch from the Python index brings CUDA with it. Remove the line and write torch."),
    ("opencv", "it is called opencv-python in the Python index. Write opencv-python."),
    ("matplotlib-base", "it is called matplotlib in the Python index. Write matplotlib."),
    ("py-xgboost", "it is called xgboost in the Python index. Write xgboost."),
    ("pytables", "it is called tables in the Python index. Write tables."),
    ("msgpack-python", "it is called msgpack in the Python index. Write msgpack."),
    ("cudatoolkit", NOT_PYTHON),
    ("cuda-toolkit", NOT_PYTHON),
    ("cudnn", NOT_PYTHON),
    ("nodejs", NOT_PYTHON),
    ("openjdk", NOT_PYTHON),
    ("gcc", NOT_PYTHON),
    ("gxx", NOT_PYTHON),
    ("compilers", NOT_PYTHON),
    ("make", NOT_PYTHON),
    ("ffmpeg", NOT_PYTHON),
    ("git", NOT_PYTHON),
    ("openssl", NOT_PYTHON),
    ("sqlite", NOT_PYTHON),
    ("zlib", NOT_PYTHON),
    ("perl", NOT_PYTHON),
];
const NOT_PYTHON: &str =
    "it is no Python package. Remove the line, and ask an operator to install it on the server if the system lacks it.";

/// How libraries of the system begin, which conda writes down as well.
const SYSTEM: [&str; 10] = [
    "libgcc",
    "libstdcxx",
    "libcxx",
    "libffi",
    "libpng",
    "libblas",
    "libcblas",
    "liblapack",
    "libgfortran",
    "libopenblas",
];

/// Under which heading a line stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Under {
    Nothing,
    Dependencies,
    Pip { indent: usize },
    Ignored,
}

/// What each line means, with its number.
pub(super) fn lines<'a>(text: &'a str, python: Option<&str>) -> Vec<(usize, &'a str, Result<Meaning, String>)> {
    let mut under = Under::Nothing;
    let mut found = Vec::new();
    for (index, whole) in text.lines().enumerate() {
        let line = without_comment(whole).trim_end();
        let inner = line.trim_start();
        if inner.is_empty() || inner == "---" {
            continue;
        }
        let indent = line.len() - inner.len();
        let meaning = match item(inner) {
            None if indent == 0 => heading(inner, &mut under),
            None => Err("it is neither a heading nor an item. Write items as “- numpy=1.26”.".to_owned()),
            Some(written) => {
                if let Under::Pip { indent: of_pip } = under
                    && indent <= of_pip
                {
                    under = Under::Dependencies;
                }
                match under {
                    Under::Nothing => Err("it stands under no heading. Put it under “dependencies:”.".to_owned()),
                    Under::Ignored => Ok(Meaning::Nothing),
                    Under::Pip { .. } => Ok(Meaning::Package(written.to_owned())),
                    Under::Dependencies if written == "pip:" => {
                        under = Under::Pip { indent };
                        Ok(Meaning::Nothing)
                    }
                    Under::Dependencies => dependency(written, python),
                }
            }
        };
        found.push((index + 1, inner, meaning));
    }
    found
}

/// What stands behind the `-` of an item, without quotes.
fn item(line: &str) -> Option<&str> {
    let written = line.strip_prefix('-')?;
    let written = written.strip_prefix([' ', '\t'])?.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| written.strip_prefix(*quote)?.strip_suffix(*quote));
    Some(quoted.unwrap_or(written))
}

fn heading(line: &str, under: &mut Under) -> Result<Meaning, String> {
    let (key, value) = line.split_once(':').unwrap_or((line, ""));
    *under = Under::Ignored;
    match (key.trim(), value.trim()) {
        ("dependencies", "") => {
            *under = Under::Dependencies;
            Ok(Meaning::Nothing)
        }
        ("dependencies", _) => Err("write each package on a line of its own, as “- numpy=1.26”.".to_owned()),
        // What conda calls it and where it was: both are said elsewhere here.
        ("name" | "prefix", _) => Ok(Meaning::Nothing),
        ("channels", _) => {
            Err("channels have no meaning here: packages come from the Python index that the server’s pip is set to. \
                 Remove the heading and what stands under it."
                .to_owned())
        }
        ("variables", _) => Err("variables belong to jobs, not to environments. Remove it.".to_owned()),
        (other, _) => {
            let other = crate::text::shortened(other);
            Err(format!("“{other}” has no meaning here. Only name, dependencies and pip are understood."))
        }
    }
}

/// One package in conda's words.
fn dependency(written: &str, python: Option<&str>) -> Result<Meaning, String> {
    if let Some((channel, package)) = written.split_once("::") {
        let channel = crate::text::shortened(channel);
        return Err(format!("it names the channel {channel}, which has no meaning here. Write {}.", package.trim()));
    }
    let end = written.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))).unwrap_or(written.len());
    let (name, rest) = (written[..end].to_lowercase(), written[end..].trim());
    if name.is_empty() {
        return Err("it must begin with the name of a package, such as numpy.".to_owned());
    }
    let versions = versions(&name, rest)?;
    match name.as_str() {
        "python" => return fits(&versions, python).map(|()| Meaning::Nothing),
        // They are in every environment.
        "pip" | "setuptools" | "wheel" if versions.is_empty() => return Ok(Meaning::Nothing),
        _ => {}
    }
    if let Some((_, why)) = STRANGERS.iter().find(|(stranger, _)| *stranger == name) {
        return Err((*why).to_owned());
    }
    let is_system = name.starts_with("r-")
        || name.starts_with('_')
        || name.ends_with("-compiler")
        || SYSTEM.iter().any(|begin| name.starts_with(begin));
    if is_system {
        return Err(NOT_PYTHON.to_owned());
    }
    Ok(Meaning::Package(format!("{name}{}", versions.join(","))))
}

/// Conda's versions as pip writes them: `=1.26` is any 1.26, and so is `1.26.*` behind a blank.
fn versions(name: &str, rest: &str) -> Result<Vec<String>, String> {
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    if rest.contains('|') {
        return Err(
            "versions with “|” cannot be asked of pip. Write one of them, or a range such as >=1.2,<2.".to_owned()
        );
    }
    let clause = |text: &str| -> Result<String, String> {
        let text = text.trim();
        for operator in ["==", ">=", "<=", "!=", "~=", "<", ">"] {
            if let Some(version) = text.strip_prefix(operator) {
                let version = version.trim();
                return match version.split_once('=') {
                    Some((version, _)) => Err(build(name, version)),
                    None => Ok(format!("{operator}{version}")),
                };
            }
        }
        let version = text.strip_prefix('=').unwrap_or(text).trim();
        if let Some((version, _)) = version.split_once('=') {
            return Err(build(name, version));
        }
        if let Some((version, _)) = version.split_once(' ') {
            return Err(build(name, version));
        }
        Ok(format!("=={}.*", version.trim_end_matches('*').trim_end_matches('.')))
    };
    rest.split(',').map(clause).collect()
}

fn build(name: &str, version: &str) -> String {
    format!("a build cannot be chosen here, only a version. Write {name}={version}.")
}

/// Whether the server's Python is what is asked for.
fn fits(wanted: &[String], python: Option<&str>) -> Result<(), String> {
    let Some(python) = python else { return Ok(()) };
    let numbers = |version: &str| version.split('.').map_while(|part| part.parse::<u32>().ok()).collect::<Vec<_>>();
    let have = numbers(python);
    let is_met = |clause: &String| {
        let at = clause.find(|c: char| c.is_ascii_digit()).unwrap_or(clause.len());
        let (operator, version) = clause.split_at(at);
        let wanted = numbers(version.trim_end_matches(".*"));
        // As many parts of the own one as the other has, so that 3.11 stands for all of its releases.
        let same: Vec<u32> = have.iter().copied().take(wanted.len()).collect();
        match operator {
            "==" => same == wanted,
            "!=" => same != wanted,
            ">=" => same >= wanted,
            "<=" => same <= wanted,
            ">" => same > wanted,
            "<" => same < wanted,
            "~=" => same >= wanted && have.first() == wanted.first(),
            _ => false,
        }
    };
    if wanted.iter().all(is_met) {
        return Ok(());
    }
    let series = have.iter().take(2).map(ToString::to_string).collect::<Vec<_>>().join(".");
    Err(format!(
        "this server has Python {python}, and environments stand on that. Write python={series} or leave it out."
    ))
}

#[cfg(test)]
mod tests {
    use super::super::Recipe;

    const USUAL: &str = "name: churn\n\
                         dependencies:\n  - python=3.11\n  - numpy=1.26 # numbers\n  - \"pandas>=2,<3\"\n  - \
                         scikit-learn 1.5.*\n  - pip\n  - pip:\n      - lightgbm==4.3.0\n      - torch\n  - \
                         scipy==1.11.4\nprefix: /opt/x\n";

    #[test]
    fn what_conda_writes_becomes_what_pip_takes() {
        let recipe = Recipe::parse(USUAL, Some("3.11.2")).unwrap_or_else(|problem| panic!("{}", problem.message));
        let list = recipe.requirements();
        let lines: Vec<&str> = list.lines().collect();
        assert_eq!(
            lines,
            ["numpy==1.26.*", "pandas<3,>=2", "scikit-learn==1.5.*", "lightgbm==4.3.0", "torch", "scipy==1.11.4"]
        );
        assert_eq!(recipe.line_of("lightgbm").map(|line| line.number), Some(9));
    }

    #[test]
    fn what_pip_cannot_do_is_refused_by_line_with_what_to_do() {
        for (line, part) in [
            ("- cudatoolkit=11", "no Python package"),
            ("- r-base", "no Python package"),
            ("- libgcc-ng=12", "no Python package"),
            ("- pytorch", "called torch"),
            ("- conda-forge::numpy", "Write numpy."),
            ("- numpy=1.26.4=py311h1", "Write numpy=1.26.4."),
            ("- numpy==1.26.4=py311h1", "Write numpy=1.26.4."),
            ("- numpy=1.26|1.27", "“|”"),
            ("- python=3.12", "this server has Python 3.11.2"),
            ("- python>=3.12", "Write python=3.11"),
            ("- python=3.11.9", "this server has Python 3.11.2"),
            ("- ==3", "begin with the name"),
            ("  numpy", "neither a heading nor an item"),
        ] {
            let text = format!("dependencies:\n- six\n{line}\n");
            let problem = Recipe::parse(&text, Some("3.11.2")).expect_err(line);
            assert!(problem.message.starts_with("Line 3, "), "{line}: {}", problem.message);
            assert!(problem.message.contains(part), "{line}: {}", problem.message);
        }
        let channels =
            Recipe::parse("channels:\n  - conda-forge\ndependencies:\n  - six\n", None).expect_err("channels");
        assert!(channels.message.starts_with("Line 1, “channels:”: channels have no meaning"), "{}", channels.message);
        assert_eq!(channels.message.lines().count(), 1, "{}", channels.message);
        let other = Recipe::parse("dependencies:\n  - six\nvariables:\n  A: b\n", None).expect_err("variables");
        assert!(other.message.contains("Line 3") && other.message.contains("belong to jobs"), "{}", other.message);
    }

    #[test]
    fn the_python_of_the_server_is_taken_however_it_is_asked_for() {
        for python in [
            "python",
            "python=3.11",
            "python=3.11.2",
            "python==3.11.*",
            "python>=3.9,<3.13",
            "python=3",
            "python ~=3.10",
        ] {
            let text = format!("dependencies:\n  - {python}\n  - six\n");
            let read = Recipe::parse(&text, Some("3.11.2"));
            assert!(read.is_ok(), "{python}: {read:?}");
        }
    }
}
