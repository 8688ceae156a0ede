//! Puts the agent into the server, if there is one to put in: released servers carry it as a small program of
//! its own.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher as _;
use std::path::Path;

/// Names the agent's program; `cargo xtask build --release` sets it.
const AGENT: &str = "ATELIER_AGENT";

fn main() {
    println!("cargo:rerun-if-env-changed={AGENT}");
    println!("cargo:rerun-if-changed=build.rs");
    let carried = std::env::var(AGENT).map_or_else(|_| "None".to_owned(), |path| carry(&path));
    let out = std::env::var("OUT_DIR").expect("cargo says where to write");
    let text = format!("pub const CARRIED: Option<Carried> = {carried};\n");
    std::fs::write(Path::new(&out).join("carried.rs"), text).expect("the folder can be written to");
}

/// The agent's program as an expression.
fn carry(path: &str) -> String {
    println!("cargo:rerun-if-changed={path}");
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{AGENT}={path}: {error}"));
    // It tells builds apart; it guards against nobody.
    let mut hash = DefaultHasher::new();
    hash.write(&bytes);
    format!("Some(Carried {{ bytes: include_bytes!({path:?}), hash: \"{:016x}\" }})", hash.finish())
}
