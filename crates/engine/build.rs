//! Lists the steps of the database for `store/migrations.rs`, which carries them in the program.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    println!("cargo:rerun-if-changed={}", folder.display());
    println!("cargo:rerun-if-changed=build.rs");
    let names = fs::read_dir(&folder).expect("the migrations are there").map(|entry| {
        let name = entry.expect("the folder can be read").file_name();
        name.into_string().expect("migrations have names of letters")
    });
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".sql")).collect();
    names.sort_unstable();
    let mut list = String::from("&[\n");
    for name in names {
        let file = folder.join(&name);
        writeln!(list, "    ({name:?}, include_str!({file:?})),").expect("writing to memory does not fail");
    }
    list.push_str("]\n");
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    fs::write(Path::new(&out).join("migrations.rs"), list).expect("the folder can be written to");
}
