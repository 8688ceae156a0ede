//! Who may know whom. This is the table to edit; `docs/ARCHITECTURE.md` shows it, and the lint says so if it
//! doesn't.

/// Somebody, and all that they may depend on.
pub type Row = (&'static str, &'static [&'static str]);

/// Between the crates of the workspace, by the names of their folders; `atelier` is `src/`.
///
/// Dependencies of tests are free. An arrow that is listed and not used is an error too.
pub const CRATES: &[Row] = &[
    ("agent", &["client", "confine", "domain", "pipe", "protocol"]),
    ("atelier", &["agent", "client", "domain", "engine", "files", "gateway", "pipe", "protocol", "simulate", "studio"]),
    ("client", &["pipe"]),
    ("confine", &[]),
    ("domain", &[]),
    ("engine", &["confine", "domain", "pipe", "protocol"]),
    ("files", &["domain"]),
    ("gateway", &["pipe", "protocol"]),
    ("pipe", &[]),
    ("protocol", &["domain"]),
    ("simulate", &["domain"]),
    ("studio", &["domain", "engine", "files", "protocol", "simulate"]),
    ("testing", &["pipe"]),
    ("xtask", &["testing"]),
];

/// Names for several modules of `src/` at once, for both sides of an arrow.
pub const GROUPS: &[Row] = &[
    (
        NOUNS,
        &[
            "account",
            "clusters",
            "compute",
            "cost",
            "engines",
            "environments",
            "files",
            "history",
            "home",
            "instances",
            "jobs",
            "people",
            "quota",
            "schedules",
            "search",
            "settings",
            "sizes",
        ],
    ),
    (BASICS, &["done", "error", "form", "viewer"]),
];

/// Each has its pages, server functions and REST handlers.
pub const NOUNS: &str = "NOUNS";
const BASICS: &str = "BASICS";

/// Between the modules of `src/`: the folders and files right in it. No cycles.
pub const MODULES: &[Row] = &[
    ("done", &[]),
    ("error", &[]),
    ("form", &[]),
    ("viewer", &[]),
    ("islands", &[BASICS]),
    ("server", &[BASICS]),
    ("components", &[BASICS, "islands", "server"]),
    ("frame", &[BASICS, "components", "server"]),
    (NOUNS, &[BASICS, "components", "frame", "islands", "server"]),
    ("typing", &[NOUNS, "islands"]),
    ("app", &[NOUNS, "frame", "server"]),
    ("rest", &[NOUNS, "server"]),
    ("router", &[NOUNS, "app", "rest", "server"]),
    ("cli", &["router", "server"]),
    ("lib", &[BASICS, NOUNS, "app", "cli", "components", "frame", "islands", "rest", "router", "server", "typing"]),
    ("main", &["cli", "lib"]),
];

/// From noun to noun, one by one. An arrow that is listed and not used is an error too.
pub const BETWEEN_NOUNS: &[Row] = &[
    ("clusters", &["jobs", "quota"]),
    ("compute", &["clusters", "instances"]),
    ("engines", &["clusters"]),
    ("home", &["history", "jobs"]),
    ("instances", &["clusters", "jobs", "schedules"]),
    ("people", &["history"]),
];
