//! What these tests share: golden files, and how much is tried.

use std::path::Path;

use proptest::prelude::ProptestConfig;

/// How many times the usual number of sites and cases is tried: `ATELIER_TEST_EFFORT`, else once.
pub fn effort() -> u32 {
    let Ok(text) = std::env::var("ATELIER_TEST_EFFORT") else { return 1 };
    text.parse().ok().filter(|effort| *effort > 0).expect("ATELIER_TEST_EFFORT is a number from 1 on")
}

/// So many cases of a property, times the effort.
pub fn cases(usual: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, cases: usual.saturating_mul(effort()), ..ProptestConfig::default() }
}

/// Compares with a golden file, or writes it anew where `UPDATE_GOLDEN` is set.
pub fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).expect("the golden folder is part of the repository");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "tests/golden/{name} differs; UPDATE_GOLDEN=1 writes it anew");
}
