//! Whether a request to an application shows that somebody is at work.
//!
//! Looking is not activity, and neither is what an open page does by itself: a tab that was left open must
//! not keep a machine running.

use atelier_studio::instances::commands::VSCODE;
use axum::http::Method;

/// What pages of applications write by themselves, again and again: application, method, beginning of the
/// path.
///
/// JupyterLab writes down how its panels are arranged every ten seconds, whether anything has changed or not.
const BY_ITSELF: [(&str, Method, &str); 1] = [("jupyter", Method::PUT, "/lab/api/workspaces/")];

/// Judges by application, method and path.
pub fn is_activity(app: &str, method: &Method, path: &str) -> bool {
    let is_looking = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let is_by_itself =
        BY_ITSELF.iter().any(|(whose, how, start)| *whose == app && how == method && path.starts_with(start));
    // VS Code tells over its WebSockets what somebody does in it (`typing`); its requests are all its own.
    !is_looking && !is_by_itself && app != VSCODE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_open_tab_does_by_itself_is_not_activity() {
        for (app, method, path, counts) in [
            ("jupyter", Method::GET, "/api/kernels", false),
            ("jupyter", Method::HEAD, "/lab", false),
            ("jupyter", Method::PUT, "/lab/api/workspaces/default", false),
            ("jupyter", Method::PUT, "/api/contents/Untitled.ipynb", true),
            ("jupyter", Method::POST, "/api/sessions", true),
            ("jupyter", Method::DELETE, "/lab/api/workspaces/default", true),
            ("board", Method::PUT, "/lab/api/workspaces/default", true),
            ("vscode", Method::POST, "/mint-key", false),
            ("vscode", Method::GET, "/healthz", false),
        ] {
            assert_eq!(is_activity(app, &method, path), counts, "{app} {method} {path}");
        }
    }
}
