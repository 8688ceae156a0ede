//! Every address of the portal, built in one place so that a link cannot point nowhere.

/// The page that makes the first account.
pub const SET_UP: &str = "/set-up";
/// The sign-in page.
pub const SIGN_IN: &str = "/sign-in";
/// One's own profile.
pub const PROFILE: &str = "/profile";
/// Where a temporary password is replaced.
pub const NEW_PASSWORD: &str = "/new-password";
/// Where server functions live; `/api` is kept for the REST API.
pub const FUNCTIONS: &str = "/fn";

/// Home of a workspace.
pub fn home(workspace: &str) -> String {
    format!("/w/{workspace}")
}

/// The compute page; `tab` is one of `instances`, `clusters`, `attached`, `serverless`.
pub fn compute(workspace: &str, tab: &str) -> String {
    format!("/w/{workspace}/compute/{tab}")
}

/// The history of the workspace.
pub fn activity(workspace: &str) -> String {
    format!("/w/{workspace}/activity")
}

/// The list of people.
pub fn people(workspace: &str) -> String {
    format!("/w/{workspace}/admin/people")
}

/// The form that adds a person.
pub fn new_person(workspace: &str) -> String {
    format!("/w/{workspace}/admin/people/new")
}

/// One person.
pub fn person(workspace: &str, id: &str) -> String {
    format!("/w/{workspace}/admin/people/{id}")
}

/// The page that asks before a verb is carried out on people; the ids follow as `?id=…&id=…`.
pub fn confirm_people(workspace: &str, verb: &str) -> String {
    format!("/w/{workspace}/admin/people/confirm/{verb}")
}

/// The matrix of roles.
pub fn roles(workspace: &str) -> String {
    format!("/w/{workspace}/admin/roles")
}

/// Search everywhere.
pub fn search(workspace: &str) -> String {
    format!("/w/{workspace}/search")
}

/// The stream of revisions.
pub fn events(workspace: &str) -> String {
    format!("/w/{workspace}/events")
}

/// Whether an address is that of a server function.
pub fn is_function(path: &str) -> bool {
    path.strip_prefix(FUNCTIONS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The address of a server function.
pub fn function(name: &str) -> String {
    format!("{FUNCTIONS}/{name}")
}
