//! Writing the site: what changed is written, what is no longer part of it is removed, what is the same is
//! left alone.
//!
//! Leaving alone matters: compressing takes seconds, and cargo embeds the files again when their times
//! change.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::public::read_tree;
use super::{Site, compress};
use crate::failure::{Failure, Result};

pub fn write(site: &Site, directory: &Path) -> Result<()> {
    let mut kept = BTreeSet::new();
    let mut compressed_sizes = Vec::new();
    for (path, bytes) in &site.files {
        let plain = directory.join(path);
        let compressed = directory.join(format!("{path}.br"));
        let is_current = fs::read(&plain).is_ok_and(|old| old == *bytes);
        if !is_current || !compressed.exists() {
            // the compressed form first: should we be stopped in between, the plain one still tells that work
            // is left
            match compress::brotli(path, bytes) {
                Some(smaller) => replace(&compressed, &smaller)?,
                None => remove(&compressed)?,
            }
        }
        if !is_current {
            replace(&plain, bytes)?;
        }
        let size = fs::metadata(&compressed).map_or(bytes.len() as u64, |metadata| metadata.len());
        compressed_sizes.push((path.as_str(), size));
        kept.extend([path.clone(), format!("{path}.br")]);
    }
    let manifest =
        serde_json::to_string_pretty(&site.renamed).map_err(|error| Failure::new(format!("no manifest: {error}")))?;
    let manifest_file = directory.join("manifest.json");
    if fs::read_to_string(&manifest_file).ok().as_deref() != Some(&manifest) {
        replace(&manifest_file, manifest.as_bytes())?;
    }
    kept.insert("manifest.json".to_owned());
    remove_others(directory, &kept)?;
    eprintln!("  {}", summary(&compressed_sizes));
    Ok(())
}

/// Writes a file so that nobody ever reads half of it.
fn replace(file: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory).map_err(Failure::file("creating", directory))?;
    }
    let mut partial = file.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    fs::write(&partial, bytes).map_err(Failure::file("writing", &partial))?;
    fs::rename(&partial, file).map_err(Failure::file("writing", file))
}

fn remove(file: &Path) -> Result<()> {
    if file.exists() { fs::remove_file(file).map_err(Failure::file("removing", file)) } else { Ok(()) }
}

fn remove_others(directory: &Path, kept: &BTreeSet<String>) -> Result<()> {
    for (path, _) in read_tree(directory)? {
        if !kept.contains(&path) {
            remove(&directory.join(path))?;
        }
    }
    Ok(())
}

/// Tells what a first visit loads, because every kilobyte here is paid by everyone.
fn summary(sizes: &[(&str, u64)]) -> String {
    let sum = |extension: &str| -> u64 {
        sizes.iter().filter(|(path, _)| path.ends_with(extension)).map(|(_, size)| size).sum()
    };
    let kb = |bytes: u64| format!("{}.{} kB", bytes / 1000, bytes % 1000 / 100);
    let (wasm, js, css, svg) = (sum(".wasm"), sum(".js"), sum(".css"), sum(".svg"));
    format!(
        "compressed: wasm {}, script {}, styles {}, icons {}, together {}; fonts {}",
        kb(wasm),
        kb(js),
        kb(css),
        kb(svg),
        kb(wasm + js + css + svg),
        kb(sum(".woff2"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_changes_and_removes_leftovers() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let text = "words ".repeat(50).into_bytes();
        let mut site = Site::default();
        site.add("robots.txt", text.clone());
        site.add_hashed("icons.svg", text.clone());
        write(&site, directory.path()).expect("it can be written");
        let written_at = |name: &str| {
            fs::metadata(directory.path().join(name)).and_then(|metadata| metadata.modified()).expect("it is there")
        };
        let first = (written_at("robots.txt"), written_at("robots.txt.br"), written_at("manifest.json"));

        let icons = site.renamed["/icons.svg"].trim_start_matches('/').to_owned();
        assert!(directory.path().join(format!("{icons}.br")).exists());
        write(&site, directory.path()).expect("it can be written again");
        assert_eq!((written_at("robots.txt"), written_at("robots.txt.br"), written_at("manifest.json")), first);

        let mut other = Site::default();
        other.add("robots.txt", b"new".to_vec());
        write(&other, directory.path()).expect("it can be written");
        assert_eq!(fs::read(directory.path().join("robots.txt")).expect("it is there"), b"new");
        assert!(!directory.path().join("robots.txt.br").exists(), "three letters do not gain");
        assert!(!directory.path().join(icons).exists());
    }

    #[test]
    fn tells_the_sizes_of_a_first_visit() {
        let sizes = [("pkg/a.wasm", 90_123), ("pkg/a.js", 7_000), ("pkg/s.css", 9_950), ("fonts/i.woff2", 48_256)];
        assert_eq!(
            summary(&sizes),
            "compressed: wasm 90.1 kB, script 7.0 kB, styles 9.9 kB, icons 0.0 kB, together 107.0 kB; fonts 48.2 kB"
        );
    }
}
