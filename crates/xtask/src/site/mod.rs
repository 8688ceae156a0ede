//! Everything the browser loads, built into `target/site`: wasm and script, one style sheet, fonts and icons.
//!
//! Nearly every file has a hash of its content in its name and may be cached for ever; `manifest.json` maps
//! the names that code uses to those. Files that gain from it have a brotli sibling, so that the server never
//! compresses.

mod compress;
mod css;
mod names;
mod public;
mod scss;
mod terminal;
mod wasm;
mod write;

use std::collections::BTreeMap;

use crate::failure::Result;
use crate::progress::step;
use crate::setup::wasm::Toolchain;
use crate::workspace::Workspace;

/// The site's files by path without a leading slash, and the new names by the old.
#[derive(Debug, Default)]
pub struct Site {
    files: BTreeMap<String, Vec<u8>>,
    renamed: BTreeMap<String, String>,
}

/// Builds the site and writes what changed.
pub fn build(workspace: &Workspace, toolchain: &Toolchain) -> Result<Site> {
    let mut site = Site::default();
    step("Building the browser's half", || wasm::add(&mut site, workspace, toolchain))?;
    step("Putting the site together", || {
        public::add(&mut site, &workspace.root().join("public"))?;
        terminal::add(&mut site, workspace)?;
        css::add(&mut site, &workspace.root().join("style"))?;
        write::write(&site, &workspace.site())
    })?;
    Ok(site)
}

impl Site {
    /// Adds a file whose name stays, for addresses that others know by heart.
    fn add(&mut self, path: &str, bytes: Vec<u8>) {
        self.files.insert(path.to_owned(), bytes);
    }

    /// Adds a file under a name with its hash.
    fn add_hashed(&mut self, path: &str, bytes: Vec<u8>) {
        let hashed = names::with_hash(path, &names::hash(&[&bytes]));
        self.rename(path, &hashed);
        self.files.insert(hashed, bytes);
    }

    /// Adds a file under a name of the caller's making that changes with the content.
    fn add_renamed(&mut self, path: &str, new_path: &str, bytes: Vec<u8>) {
        self.rename(path, new_path);
        self.files.insert(new_path.to_owned(), bytes);
    }

    fn rename(&mut self, path: &str, new_path: &str) {
        self.renamed.insert(format!("/{path}"), format!("/{new_path}"));
    }

    /// Returns a text that differs when any file or name does.
    pub fn fingerprint(&self) -> String {
        let parts: Vec<&[u8]> =
            self.files.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes.as_slice()]).collect();
        names::hash(&parts)
    }
}
