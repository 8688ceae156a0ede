//! Who may know whom. This is the table to edit; `docs/ARCHITECTURE.md` shows it, and the lint says so if it
//! doesn't.

/// Somebody, and all that they may depend on.
pub type Row = (&'static str, &'static [&'static str]);

/// Between the crates of the workspace, by the names of their folders; `atelier` is `src/`.
///
/// Dependencies of tests are free. An arrow that is listed and not used is an error too.
pub const CRATES: &[Row] = &[
    ("agent", &["client", "confine", "domain", "pipe", "protocol"]),
    ("atelier", &["agent", "client", "domain", "engine", "files", "gateway", "pipe", "protocol", "simulate"]),
    ("client", &[]),
    ("confine", &[]),
    ("domain", &[]),
    ("engine", &["confine", "domain", "pipe", "protocol"]),
    ("files", &["domain"]),
    ("gateway", &["pipe", "protocol"]),
    ("pipe", &[]),
    ("protocol", &["domain"]),
    ("simulate", &["domain"]),
    ("testing", &[]),
    ("xtask", &["testing"]),
];

/// Names for several modules of `src/` at once, for both sides of an arrow.
pub const GROUPS: &[Row] = &[
    (
        NOUNS,
        &[
            "account",
            "clusters",
            "cost",
            "engines",
            "environments",
            "files",
            "help",
            "history",
            "home",
            "instances",
            "jobs",
            "people",
            "quota",
            "schedules",
            "search",
            "sizes",
        ],
    ),
    (BASICS, &["ansi", "error", "form", "paths", "viewer"]),
];

/// Each has its pages, server functions and REST handlers.
pub const NOUNS: &str = "NOUNS";
const BASICS: &str = "BASICS";

/// Between the modules of `src/`: the folders and files right in it. No cycles.
pub const MODULES: &[Row] = &[
    ("ansi", &[]),
    ("error", &[]),
    ("paths", &[]),
    ("form", &["error", "paths"]),
    ("viewer", &["error", "paths"]),
    ("islands", &[BASICS]),
    ("components", &[BASICS, "islands"]),
    ("web", &[BASICS]),
    (NOUNS, &[BASICS, "components", "islands", "web"]),
    ("app", &[BASICS, NOUNS, "components", "islands", "web"]),
    ("server", &[BASICS, NOUNS, "app", "components", "islands", "web"]),
    ("cli", &[BASICS, NOUNS, "components", "server", "web"]),
    ("lib", &[BASICS, NOUNS, "app", "cli", "components", "islands", "server", "web"]),
    ("main", &["cli", "lib", "server"]),
];

/// From noun to noun, one by one. An arrow that is listed and not used is an error too.
pub const BETWEEN_NOUNS: &[Row] = &[];
