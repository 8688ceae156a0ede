//! A person's home and their layer of an environment. All of this runs as the person, so whatever they have
//! put in the way can hurt only them.
//!
//! A layer is a virtual environment that stands on another one: it has its own `bin` and `site-packages`, and
//! finds in the base what it does not have itself. `pip` installs into the layer and cannot touch the base.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::wire::Furnish;

/// Names the base that a layer's programs were made for.
const MARK: &str = ".atelier-base";
/// A first line may not be longer on older systems.
const LONGEST_FIRST_LINE: usize = 120;
/// Where a Python is looked for when there is no base.
const SYSTEM_PYTHONS: [&str; 2] = ["/usr/bin/python3", "/usr/local/bin/python3"];

/// Makes what is not there. What is there and right is left alone, so that it takes no time.
pub fn furnish(furnish: &Furnish) -> Result<(), String> {
    let (home, layer) = (Path::new(&furnish.home), Path::new(&furnish.layer));
    profile(home).map_err(|error| format!("the home cannot be written: {error}"))?;
    let base = furnish.base.as_deref().map(Path::new);
    let python = match base {
        Some(base) => Some(Python::of(base)?),
        None => SYSTEM_PYTHONS.iter().find_map(|program| Python::system(Path::new(program))),
    };
    let Some(python) = python else { return Ok(()) };
    python.put(layer, base).map_err(|error| format!("the layer {} cannot be made: {error}", layer.display()))
}

/// A login shell forgets where programs are; this reminds it. People may change it, so it is written only
/// once.
fn profile(home: &Path) -> io::Result<()> {
    if [".profile", ".bash_profile", ".bash_login"].iter().any(|name| home.join(name).exists()) {
        return Ok(());
    }
    for name in [".bashrc", ".bash_logout"] {
        let (from, to) = (Path::new("/etc/skel").join(name), home.join(name));
        if from.is_file() && !to.exists() {
            fs::copy(from, to)?;
        }
    }
    let mut text = fs::read_to_string("/etc/skel/.profile").unwrap_or_default();
    text.push_str(
        "\n# The instance's own programs come first.\nif [ -n \"$ATELIER_PATH\" ]; then\n    \
         PATH=\"$ATELIER_PATH\"\n    export PATH\nfi\n",
    );
    fs::write(home.join(".profile"), text)
}

/// A Python that a layer uses.
struct Python {
    /// The program itself, outside of any virtual environment.
    program: PathBuf,
    /// The folder in which it is.
    home: String,
    /// `3.11`.
    version: String,
    /// `3.11.2`, if known.
    full_version: String,
}

impl Python {
    /// That of a base environment.
    fn of(base: &Path) -> Result<Self, String> {
        let cannot = |why: String| format!("the environment {} cannot be used: {why}", base.display());
        let config =
            fs::read_to_string(base.join("pyvenv.cfg")).map_err(|error| cannot(format!("pyvenv.cfg: {error}")))?;
        let value = |name: &str| {
            let lines = config.lines().filter_map(|line| line.split_once('='));
            lines.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let home = value("home").ok_or_else(|| cannot("pyvenv.cfg names no home".to_owned()))?;
        let program = fs::canonicalize(base.join("bin/python3"))
            .map_err(|error| cannot(format!("its Python cannot be reached: {error}")))?;
        let version = packages_version(base).ok_or_else(|| cannot("it has no packages".to_owned()))?;
        let full_version = value("version").or_else(|| value("version_info")).unwrap_or(&version).to_owned();
        Ok(Self { program, home: home.to_owned(), version, full_version })
    }

    fn system(program: &Path) -> Option<Self> {
        let real = fs::canonicalize(program).ok()?;
        let version = real.file_name()?.to_str()?.strip_prefix("python")?.to_owned();
        let home = program.parent()?.to_str()?.to_owned();
        version.starts_with("3.").then(|| Self { program: real, home, full_version: version.clone(), version })
    }

    fn put(&self, layer: &Path, base: Option<&Path>) -> io::Result<()> {
        let (programs, packages) = (layer.join("bin"), format!("lib/python{}/site-packages", self.version));
        fs::create_dir_all(layer.join(&packages))?;
        fs::create_dir_all(&programs)?;
        link(Path::new("lib"), &layer.join("lib64"))?;
        for name in ["python", "python3", &format!("python{}", self.version)] {
            link(&self.program, &programs.join(name))?;
        }
        let config = format!(
            "home = {}\ninclude-system-site-packages = false\nversion = {}\nexecutable = {}\n",
            self.home,
            self.full_version,
            self.program.display()
        );
        put(&layer.join("pyvenv.cfg"), config.as_bytes(), 0o644)?;
        let found = base.map(|base| base.join(&packages).display().to_string());
        // As a folder of packages of its own, so that what lies there and wants to be read at the start is
        // read.
        let found = found.map(|found| format!("import site; site.addsitedir({})\n", quoted(&found)));
        put(&layer.join(&packages).join("atelier-base.pth"), found.unwrap_or_default().as_bytes(), 0o644)?;
        let mark = base.map(|base| base.display().to_string()).unwrap_or_default();
        if fs::read_to_string(layer.join(MARK)).is_ok_and(|found| found == mark) {
            return Ok(());
        }
        for name in ["pip", "pip3"] {
            put_program(&programs.join(name), b"#!/bin/sh\nexec \"${0%/*}/python\" -m pip \"$@\"\n")?;
        }
        if let Some(base) = base {
            take_over(&base.join("bin"), &programs)?;
        }
        put(&layer.join(MARK), mark.as_bytes(), 0o644)
    }
}

/// Programs of the base that are Python: in the layer they run with the layer's Python, so that they see what
/// it has.
fn take_over(from: &Path, to: &Path) -> io::Result<()> {
    let python = to.join("python").display().to_string();
    let first = if python.len() <= LONGEST_FIRST_LINE && !python.contains(char::is_whitespace) {
        format!("#!{python}\n")
    } else {
        format!("#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n")
    };
    for entry in fs::read_dir(from)?.flatten() {
        let name = entry.file_name();
        let is_own = name.to_str().is_none_or(|name| name.starts_with("pip") || name.starts_with("activate"));
        if is_own || !entry.file_type()?.is_file() || to.join(&name).exists() {
            continue;
        }
        let Ok(text) = fs::read_to_string(entry.path()) else { continue };
        if let Some(body) = without_first_line(&text, from) {
            put_program(&to.join(&name), format!("{first}{body}").as_bytes())?;
        }
    }
    Ok(())
}

/// The text of a program behind what says that a Python of that folder reads it.
fn without_first_line<'a>(text: &'a str, folder: &Path) -> Option<&'a str> {
    let python = folder.join("python").display().to_string();
    let (first, rest) = text.split_once('\n')?;
    if first.strip_prefix("#!")?.trim().trim_matches('"').starts_with(&python) {
        return Some(rest);
    }
    // Where the name is too long for a first line, a shell that Python takes for a text finds it.
    let (second, rest) = rest.split_once('\n')?;
    let (third, rest) = rest.split_once('\n')?;
    (first == "#!/bin/sh" && second.starts_with("'''exec'") && second.contains(&python) && third == "' '''")
        .then_some(rest)
}

/// For which Python an environment has packages.
fn packages_version(base: &Path) -> Option<String> {
    let entries = fs::read_dir(base.join("lib")).ok()?.flatten();
    let with_packages = entries.filter(|entry| entry.path().join("site-packages").is_dir());
    let mut names = with_packages.filter_map(|entry| entry.file_name().into_string().ok());
    names.find_map(|name| name.strip_prefix("python3.").map(|minor| format!("3.{minor}")))
}

/// A text as Python reads it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn link(to: &Path, at: &Path) -> io::Result<()> {
    if fs::read_link(at).is_ok_and(|found| found == to) {
        return Ok(());
    }
    match fs::remove_file(at) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => symlink(to, at),
    }
}

fn put(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    fs::write(path, content)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn put_program(path: &Path, content: &[u8]) -> io::Result<()> {
    put(path, content, 0o755)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_the_base_are_known_by_their_first_lines() {
        let folder = Path::new("/base/bin");
        assert_eq!(without_first_line("#!/base/bin/python3\nimport x\n", folder), Some("import x\n"));
        assert_eq!(without_first_line("#!/base/bin/python\nx", folder), Some("x"));
        assert_eq!(without_first_line("#!/usr/bin/python3\nx", folder), None);
        assert_eq!(without_first_line("\u{7f}ELF", folder), None);
        let long = "#!/bin/sh\n'''exec' /base/bin/python3 \"$0\" \"$@\"\n' '''\nimport y\n";
        assert_eq!(without_first_line(long, folder), Some("import y\n"));
        assert_eq!(without_first_line("#!/bin/sh\necho\nmore\n", folder), None);
    }

    #[test]
    fn a_layer_stands_on_its_base_and_is_left_alone_the_next_time() {
        let folder = tempfile::tempdir().unwrap();
        let (base, layer, home) = (folder.path().join("base"), folder.path().join("layer"), folder.path().join("home"));
        fs::create_dir_all(base.join("lib/python3.99/site-packages")).unwrap();
        fs::create_dir_all(base.join("bin")).unwrap();
        fs::create_dir_all(&home).unwrap();
        fs::write(base.join("pyvenv.cfg"), "home = /somewhere\nversion = 3.99.1\n").unwrap();
        symlink("/bin/sh", base.join("bin/python3")).unwrap();
        fs::write(base.join("bin/tool"), format!("#!{}/bin/python3\nprint()\n", base.display())).unwrap();
        let text = |path: &Path| path.display().to_string();
        let order = Furnish { home: text(&home), layer: text(&layer), base: Some(text(&base)) };
        furnish(&order).unwrap();
        let config = fs::read_to_string(layer.join("pyvenv.cfg")).unwrap();
        assert!(config.starts_with("home = /somewhere\ninclude-system-site-packages = false\nversion = 3.99.1\n"));
        let tool = fs::read_to_string(layer.join("bin/tool")).unwrap();
        assert_eq!(tool, format!("#!{}/bin/python\nprint()\n", layer.display()));
        assert!(fs::read_to_string(home.join(".profile")).unwrap().contains("ATELIER_PATH"));
        // What people change stays.
        fs::write(home.join(".profile"), "mine").unwrap();
        fs::write(layer.join("bin/tool"), "mine").unwrap();
        furnish(&order).unwrap();
        assert_eq!(fs::read_to_string(home.join(".profile")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(layer.join("bin/tool")).unwrap(), "mine");
    }
}
