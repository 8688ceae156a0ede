//! The browser's half: compiled to wasm, then given its script by wasm-bindgen.
//!
//! The name fits what Leptos' `HydrationScripts` asks for with `output_name` set to the manifest's `pkg`:
//! `<pkg>.js` and `<pkg>_bg.wasm`. Both carry the same hash, because one is of no use without the other.

use std::fs;
use std::path::Path;

use wasm_bindgen_cli_support::Bindgen;

use super::public::read_tree;
use super::{Site, names};
use crate::failure::{Failure, Result};
use crate::setup::wasm::Toolchain;
use crate::workspace::Workspace;

const NAME: &str = "atelier";

pub fn add(site: &mut Site, workspace: &Workspace, toolchain: &Toolchain) -> Result<()> {
    let mut build = toolchain.cargo(workspace);
    // Said here and not in the manifest, where it would cost every native build the linking of a library that
    // nobody loads.
    build.arg("rustc").args(toolchain.library_arguments(workspace)).arg("--crate-type=cdylib");
    crate::compile::run(&mut build, "Building the browser's half")?;
    let package = bind(&toolchain.library(workspace))?;
    add_package(site, package);
    Ok(())
}

/// What wasm-bindgen makes of the compiled library.
#[derive(Debug)]
struct Package {
    script: String,
    wasm: Vec<u8>,
    /// Scripts that come with dependencies, by path below `snippets/`.
    snippets: Vec<(String, Vec<u8>)>,
}

fn bind(library: &Path) -> Result<Package> {
    let directory = tempfile::tempdir().map_err(|error| Failure::new(format!("no temporary directory: {error}")))?;
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(library)
        .out_name(NAME)
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true);
    bindgen
        .web(true)
        .and_then(|bindgen| bindgen.generate(directory.path()))
        .map_err(|error| Failure::new(format!("wasm-bindgen could not read {}: {error:#}", library.display())))?;

    let (script, wasm) =
        (directory.path().join(format!("{NAME}.js")), directory.path().join(format!("{NAME}_bg.wasm")));
    Ok(Package {
        script: fs::read_to_string(&script).map_err(Failure::file("reading", &script))?,
        wasm: fs::read(&wasm).map_err(Failure::file("reading", &wasm))?,
        snippets: read_tree(&directory.path().join("snippets"))?,
    })
}

fn add_package(site: &mut Site, package: Package) {
    let mut parts = vec![package.script.as_bytes(), package.wasm.as_slice()];
    parts.extend(package.snippets.iter().flat_map(|(path, bytes)| [path.as_bytes(), bytes.as_slice()]));
    let name = format!("{NAME}-{}", names::hash(&parts));

    let script = package
        .script
        .replace(&format!("{NAME}_bg.wasm"), &format!("{name}_bg.wasm"))
        .replace("./snippets/", &format!("./{name}-snippets/"));
    site.add_renamed(&format!("pkg/{NAME}.js"), &format!("pkg/{name}.js"), script.into_bytes());
    site.add_renamed(&format!("pkg/{NAME}_bg.wasm"), &format!("pkg/{name}_bg.wasm"), package.wasm);
    for (path, bytes) in package.snippets {
        site.add_renamed(&format!("pkg/snippets/{path}"), &format!("pkg/{name}-snippets/{path}"), bytes);
    }
    site.renamed.insert("pkg".to_owned(), name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_wasm_and_snippets_share_a_hash_and_find_each_other() {
        let mut site = Site::default();
        add_package(
            &mut site,
            Package {
                script: "import './snippets/x/inline0.js'; new URL('atelier_bg.wasm', import.meta.url)".to_owned(),
                wasm: vec![0],
                snippets: vec![("x/inline0.js".to_owned(), vec![1])],
            },
        );
        let name = &site.renamed["pkg"];
        let script = String::from_utf8(site.files[&format!("pkg/{name}.js")].clone()).expect("it is text");
        assert_eq!(
            script,
            format!("import './{name}-snippets/x/inline0.js'; new URL('{name}_bg.wasm', import.meta.url)")
        );
        assert!(site.files.contains_key(&format!("pkg/{name}_bg.wasm")));
        assert!(site.files.contains_key(&format!("pkg/{name}-snippets/x/inline0.js")));
    }
}
