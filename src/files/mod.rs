//! Files of the workspace: folders, one file, the editor, uploads and downloads, the trash, and the same over
//! REST.

#[cfg(feature = "ssr")]
pub mod http;
#[cfg(feature = "ssr")]
pub mod pages;

pub mod functions;
#[cfg(feature = "ssr")]
pub mod rest;
