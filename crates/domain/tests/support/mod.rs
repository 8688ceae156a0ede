//! What the tests with golden files share.

use std::path::Path;

/// Compares with a golden file, or writes it anew where `UPDATE_GOLDEN` is set.
pub fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).expect("the golden folder is part of the repository");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "tests/golden/{name} differs; UPDATE_GOLDEN=1 writes it anew");
}
