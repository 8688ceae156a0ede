//! What two environments have and have not in common.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::requirements::normalised;

/// Installed packages with their versions.
pub type Packages = Vec<(String, String)>;

/// What became of one package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub name: String,
    /// The version before; none if it is new.
    pub before: Option<String>,
    /// The version after; none if it is gone.
    pub after: Option<String>,
}

/// What changed from one list to another, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackagesDiff {
    /// Only in the second.
    pub added: Vec<Change>,
    /// Only in the first.
    pub removed: Vec<Change>,
    /// In both, in other versions.
    pub changed: Vec<Change>,
    /// How many are the same.
    pub same: usize,
}

impl PackagesDiff {
    /// Compares two lists; names count as pip compares them.
    pub fn between(before: &[(String, String)], after: &[(String, String)]) -> Self {
        let by_name = |list: &[(String, String)]| -> BTreeMap<String, (String, String)> {
            list.iter().map(|(name, version)| (normalised(name), (name.clone(), version.clone()))).collect()
        };
        let (old, mut new) = (by_name(before), by_name(after));
        let mut diff = Self::default();
        for (key, (name, version)) in old {
            match new.remove(&key) {
                None => diff.removed.push(Change { name, before: Some(version), after: None }),
                Some((_, now)) if now == version => diff.same += 1,
                Some((name, now)) => diff.changed.push(Change { name, before: Some(version), after: Some(now) }),
            }
        }
        diff.added = new.into_values().map(|(name, now)| Change { name, before: None, after: Some(now) }).collect();
        diff
    }

    /// Whether there is nothing to tell.
    pub const fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_went_and_changed_is_told_apart() {
        let list = |pairs: &[(&str, &str)]| -> Packages {
            pairs.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect()
        };
        let before = list(&[("numpy", "1.26.4"), ("Scikit_Learn", "1.4"), ("six", "1.16")]);
        let after = list(&[("numpy", "2.0"), ("scikit-learn", "1.4"), ("polars", "1.0")]);
        let diff = PackagesDiff::between(&before, &after);
        let names = |changes: &[Change]| changes.iter().map(|change| change.name.clone()).collect::<Vec<_>>();
        assert_eq!((names(&diff.added), names(&diff.removed)), (vec!["polars".to_owned()], vec!["six".to_owned()]));
        assert_eq!(
            diff.changed,
            [Change { name: "numpy".into(), before: Some("1.26.4".into()), after: Some("2.0".into()) }]
        );
        assert_eq!(diff.same, 1);
        assert!(PackagesDiff::between(&before, &before).is_empty());
    }
}
