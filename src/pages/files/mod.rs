//! The files of the workspace.

mod ask;
mod edit;
mod list;
mod notebook;
mod trash;
mod usage;
mod view;

use atelier_domain::files::FilePath;

pub use ask::{DeleteFilesPage, EmptyTrashPage, MoveFilePage};
pub use edit::{EditFilePage, NewFilePage};
pub use list::FilesPage;
pub use trash::TrashPage;
pub use usage::FilesUsagePage;
pub use view::FilePage;

use crate::components::Crumb;
use crate::paths;

/// The folders that lead to something, the area first.
fn crumbs(slug: &str, path: &FilePath) -> Vec<Crumb> {
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
fn icon(kind: atelier_files::Kind, path: &FilePath) -> &'static str {
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
