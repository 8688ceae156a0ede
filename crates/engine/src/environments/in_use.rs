//! Which environments processes of this machine run with: notebooks begin and end without anybody being told.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use atelier_domain::environment::EnvironmentHash;

/// Those whose folder stands in the command line of a process.
pub(super) fn by_processes(folder: &Path) -> BTreeSet<EnvironmentHash> {
    let sign = format!("{}/", folder.display());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        // Who ends meanwhile, or may not be looked at, uses nothing that we know of.
        fs::read(entry.path().join("cmdline")).ok()
    });
    let mut found = BTreeSet::new();
    for line in lines {
        let text = String::from_utf8_lossy(&line);
        for (at, _) in text.match_indices(&sign) {
            found.extend(text.get(at + sign.len()..at + sign.len() + 20).and_then(EnvironmentHash::parse));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_command_line() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(by_processes(folder.path()).is_empty());
        let hash = EnvironmentHash([7; 10]);
        let argument = format!("{}/{hash}/bin/python", folder.path().display());
        let mut process = std::process::Command::new("/bin/sh")
            .args(["-c", "read line", &argument])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("starts");
        let found = atelier_testing::wait_until("the process", std::time::Duration::from_secs(10), || {
            let found = by_processes(folder.path());
            (!found.is_empty()).then_some(found)
        });
        assert_eq!(found, BTreeSet::from([hash]));
        drop(process.stdin.take());
        process.wait().expect("ends");
    }
}
