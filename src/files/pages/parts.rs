//! The files of the workspace.

use atelier_domain::files::FilePath;
use atelier_domain::paths;

use crate::components::Crumb;

/// The folders that lead to something, the area first.
pub fn crumbs(slug: &str, path: &FilePath) -> Vec<Crumb> {
    let mut crumbs = Vec::new();
    let mut at = path.parent();
    while let Some(folder) = at {
        let label = if folder.is_top() { "Files".to_owned() } else { folder.name().to_owned() };
        crumbs.push(Crumb::new(label, paths::files(slug, folder.as_str())));
        at = folder.parent();
    }
    crumbs.reverse();
    crumbs
}

/// The icon of a file, by its name.
pub fn icon(kind: atelier_files::Kind, path: &FilePath) -> &'static str {
    use atelier_files::Kind;
    match kind {
        Kind::Folder => "folder",
        Kind::Link => "external",
        Kind::Other => "attach",
        Kind::File => match path.ending().as_str() {
            "ipynb" => "notebook",
            "py" | "sh" | "rs" | "r" | "jl" | "js" | "sql" | "c" | "cpp" => "code",
            "csv" | "tsv" | "parquet" | "xlsx" => "columns",
            _ => "audit",
        },
    }
}
