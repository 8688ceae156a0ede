//! Packages of the operating system: installed by apt where we are root on Debian or Ubuntu, otherwise asked
//! for.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::chromium;
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::step;

/// A program that comes in a package.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// What people call it.
    what: &'static str,
    package: &'static str,
    is_there: fn() -> bool,
}

pub const POSTGRES: Need = Need {
    what: "PostgreSQL, for the tests of the store",
    package: "postgresql",
    is_there: atelier_testing::postgres::is_installed,
};
pub const BUBBLEWRAP: Need = Need {
    what: "bubblewrap, which keeps people on one machine apart",
    package: "bubblewrap",
    is_there: || process::find("bwrap").is_some(),
};
pub const SSH: Need = Need {
    what: "the SSH clients of OpenSSH, for the tests of the way in by SSH",
    package: "openssh-client",
    is_there: || ["ssh", "scp", "sftp", "ssh-keygen"].iter().all(|program| process::find(program).is_some()),
};
pub const SSHD: Need = Need {
    what: "OpenSSH's server, to compare with",
    package: "openssh-server",
    is_there: || Path::new("/usr/sbin/sshd").exists(),
};
pub const VENV: Need = Need {
    what: "Python with its part that makes environments, for instances",
    package: "python3-venv",
    is_there: makes_environments,
};
pub const NODE: Need = Need {
    what: "Node.js, for the terminal page and the browser tests",
    package: "nodejs",
    is_there: || process::find("node").is_some(),
};
pub const NPM: Need = Need {
    what: "npm, for the terminal page and the browser tests",
    package: "npm",
    is_there: || process::find("npm").is_some(),
};
pub const CHROMIUM: Need = Need {
    what: "Chromium, for the browser tests",
    package: "chromium-headless-shell",
    is_there: || chromium::find().is_some(),
};

/// What code-server is compiled with.
pub const CODE_SERVER: [Need; 7] = [
    Need { what: "a compiler of C++, for VS Code", package: "g++", is_there: || process::find("g++").is_some() },
    Need { what: "make, for VS Code", package: "make", is_there: || process::find("make").is_some() },
    Need { what: "pkg-config, for VS Code", package: "pkg-config", is_there: || process::find("pkg-config").is_some() },
    Need {
        what: "headers of Kerberos, for VS Code",
        package: "libkrb5-dev",
        is_there: || Path::new("/usr/include/gssapi/gssapi.h").exists(),
    },
    Need {
        what: "headers of libsecret, for VS Code",
        package: "libsecret-1-dev",
        is_there: || Path::new("/usr/include/libsecret-1/libsecret/secret.h").exists(),
    },
    Need {
        what: "headers of X11, for VS Code",
        package: "libx11-dev",
        is_there: || Path::new("/usr/include/X11/Xlib.h").exists(),
    },
    Need {
        what: "headers of xkbfile, for VS Code",
        package: "libxkbfile-dev",
        is_there: || Path::new("/usr/include/X11/extensions/XKBrules.h").exists(),
    },
];

/// Provides all of `needs`, or fails with what is missing and the command that installs it.
pub fn ensure(needs: &[Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !(need.is_there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    if can_install() {
        return install(&packages);
    }
    Err(ask_for(&missing))
}

/// Installs what makes the product better but is not needed to start it; where that can't be done, says how.
pub fn try_to_have(need: &Need) {
    if (need.is_there)() {
        return;
    }
    let installed = if can_install() { install(&[need.package]) } else { Err(ask_for(&[need])) };
    if let Err(failure) = installed {
        eprintln!("  Going on without: {failure}");
    }
}

fn ask_for(missing: &[&Need]) -> Failure {
    let names: Vec<&str> = missing.iter().map(|need| need.what).collect();
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    Failure::new(format!(
        "these are missing: {}. They can only be installed from here as root on Debian or Ubuntu. Install them, \
         there with `sudo apt-get install {}`, and run this again.",
        names.join("; "),
        packages.join(" "),
    ))
}

/// Debian has Python without the part that puts pip into an environment, in a package of its own.
fn makes_environments() -> bool {
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-I", "-c", "import ensurepip, venv"]).stdout(Stdio::null()).stderr(Stdio::null());
    python.status().is_ok_and(|status| status.success())
}

/// Installs packages by apt; only to be called where [`can_install`] says yes.
pub fn install(packages: &[&str]) -> Result<()> {
    step(&format!("Installing {}", packages.join(", ")), || {
        let apt = || {
            let mut apt = Command::new("apt-get");
            apt.env("DEBIAN_FRONTEND", "noninteractive").args(["--quiet", "--yes"]);
            apt
        };
        process::run(apt().arg("update"))?;
        if packages.contains(&POSTGRES.package) {
            want_no_cluster(Path::new(CREATE_CLUSTER))?;
        }
        // A setting that is there before its package stays as it is.
        process::run(
            apt()
                .env("UCF_FORCE_CONFFOLD", "1")
                .args(["install", "--no-install-recommends", "--option=Dpkg::Options::=--force-confold"])
                .args(packages),
        )
    })
}

/// Where Debian reads whether installing PostgreSQL also starts a server.
const CREATE_CLUSTER: &str = "/etc/postgresql-common/createcluster.conf";

/// Keeps the package from starting a server of its own: the tests start theirs. A decision that is there
/// already stays.
fn want_no_cluster(file: &Path) -> Result<()> {
    if file.exists() {
        return Ok(());
    }
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).map_err(Failure::file("creating", folder))?;
    fs::write(file, "create_main_cluster = false\n").map_err(Failure::file("writing", file))
}

/// Says whether packages can be installed without asking anybody.
pub fn can_install() -> bool {
    is_root() && process::find("apt-get").is_some() && !os_ids().is_empty()
}

/// Says whether this is Debian itself. Ubuntu's package `chromium` is only a stub that asks for snap.
pub fn is_debian() -> bool {
    os_ids().first().is_some_and(|id| id == "debian")
}

pub fn is_root() -> bool {
    // /proc/self belongs to the user whose rights the process has
    fs::metadata(Path::new("/proc/self")).is_ok_and(|metadata| metadata.uid() == 0)
}

/// Returns `ID` and `ID_LIKE` of the system, if it is Debian, Ubuntu or made from them.
fn os_ids() -> Vec<String> {
    let ids = parse_ids(&fs::read_to_string("/etc/os-release").unwrap_or_default());
    if ids.iter().any(|id| id == "debian" || id == "ubuntu") { ids } else { Vec::new() }
}

fn parse_ids(os_release: &str) -> Vec<String> {
    ["ID=", "ID_LIKE="]
        .iter()
        .filter_map(|key| os_release.lines().find_map(|line| line.strip_prefix(key)))
        .flat_map(|value| value.trim_matches('"').split_whitespace())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_system_and_its_parents() {
        assert_eq!(parse_ids("PRETTY_NAME=\"Debian\"\nID=debian\nVERSION_ID=\"12\"\n"), ["debian"]);
        assert_eq!(parse_ids("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"), ["linuxmint", "ubuntu", "debian"]);
        assert!(parse_ids("NAME=Something").is_empty());
    }

    #[test]
    fn no_server_is_started_unless_somebody_has_decided_so() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("postgresql-common/createcluster.conf");
        want_no_cluster(&file).expect("it is written");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "create_main_cluster = false\n");
        fs::write(&file, "create_main_cluster = true\n").expect("a file can be written");
        want_no_cluster(&file).expect("it is left");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "create_main_cluster = true\n");
    }

    #[test]
    fn a_missing_package_is_asked_for_by_command() {
        let text = ask_for(&[&POSTGRES, &CHROMIUM]).to_string();
        assert!(text.contains("`sudo apt-get install postgresql chromium-headless-shell`"), "{text}");
    }
}
