//! The files of the workspace: folders, files, the trash, who uses how much.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
pub use atelier_studio::files::list::*;
use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Makes a folder in the folder at `path`. Needs `file.write`.
#[server(prefix = "/fn", endpoint = "make_folder")]
pub async fn make_folder(#[server(default)] path: String, name: String) -> Result<Done, FnError> {
    Ok(crate::files::changes::make_folder(&path, &name).await?)
}

/// Gives something another name or another folder. Needs `file.write` at both places.
#[server(prefix = "/fn", endpoint = "move_file")]
pub async fn move_file(path: String, #[server(default)] folder: String, name: String) -> Result<Done, FnError> {
    Ok(crate::files::changes::move_file(&path, &folder, &name).await?)
}

/// Moves things to the trash of who deletes them. Needs `file.write`.
#[server(prefix = "/fn", endpoint = "delete_files")]
pub async fn delete_files(#[server(default)] ids: Vec<String>) -> Result<Done, FnError> {
    Ok(crate::files::changes::delete(&ids).await?)
}

/// Brings things back from one's own trash. Needs `file.write`.
#[server(prefix = "/fn", endpoint = "restore_files")]
pub async fn restore_files(#[server(default)] ids: Vec<String>) -> Result<Done, FnError> {
    Ok(crate::files::changes::restore(&ids).await?)
}

/// Removes everything in one's own trash for good. Needs `file.write`.
#[server(prefix = "/fn", endpoint = "empty_trash")]
pub async fn empty_trash() -> Result<Done, FnError> {
    Ok(crate::files::changes::empty_trash().await?)
}

/// Lets everybody look into one's own folder, or nobody. Needs `file.write`.
#[server(prefix = "/fn", endpoint = "open_folder")]
pub async fn open_folder(#[server(default)] open: String) -> Result<Done, FnError> {
    Ok(crate::files::changes::open_folder(open == "on").await?)
}

/// Sets how much each person may keep in Files. Needs `workspace.write`.
#[server(prefix = "/fn", endpoint = "set_files_limit")]
pub async fn set_files_limit(#[server(default)] limit: String) -> Result<Done, FnError> {
    Ok(crate::files::changes::set_limit(&limit).await?)
}
