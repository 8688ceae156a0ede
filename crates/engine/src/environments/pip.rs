//! How far pip is, by what it prints.

use std::collections::BTreeSet;

use super::base_status::Phase;

/// What pip has said so far.
#[derive(Debug, Default)]
pub(super) struct Pip {
    seen: BTreeSet<String>,
    installing: usize,
    is_downloading: bool,
    /// What it began last, and who wanted that.
    last: Vec<String>,
}

impl Pip {
    pub fn hear(&mut self, line: &str) {
        let line = line.trim_start();
        if let Some(wanted) = line.strip_prefix("Collecting ") {
            let end = wanted.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))).unwrap_or(wanted.len());
            self.seen.insert(wanted[..end].to_lowercase().replace(['_', '.'], "-"));
            // … x>=1 (from y==2->z): from the package to the list.
            let chain =
                wanted.split_once("(from ").and_then(|(_, rest)| rest.split_once(')')).map_or("", |(chain, _)| chain);
            let chain = chain.split("->").filter(|name| !name.is_empty());
            self.last = std::iter::once(&wanted[..end]).chain(chain).map(ToOwned::to_owned).collect();
        } else if let Some(file) = line.strip_prefix("Downloading ") {
            // Before that it only looks at what packages need.
            self.is_downloading |= !file.contains(".metadata");
        } else if let Some(list) = line.strip_prefix("Installing collected packages: ") {
            self.installing = list.split(',').count();
        }
    }

    /// Which part of the work it is at. It goes on looking while it downloads.
    pub const fn phase(&self) -> Phase {
        match (self.installing, self.is_downloading) {
            (1.., _) => Phase::Installing,
            (0, true) => Phase::Downloading,
            (0, false) => Phase::Resolving,
        }
    }

    /// What it began last, and who wanted that.
    pub fn last(self) -> Vec<String> {
        self.last
    }

    /// How many packages it knows that it needs.
    pub fn packages(&self) -> usize {
        self.installing.max(self.seen.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phases_follow_from_the_lines() {
        let mut pip = Pip::default();
        assert_eq!((pip.phase(), pip.packages()), (Phase::Resolving, 0));
        for (line, phase, packages) in [
            ("Looking in links: /opt/wheels", Phase::Resolving, 0),
            ("Collecting jupyterlab<5,>=4.2", Phase::Resolving, 1),
            ("  Downloading jupyterlab-4.4.0-py3-none-any.whl.metadata (16 kB)", Phase::Resolving, 1),
            ("Collecting async-lru>=1.0.0 (from jupyterlab)", Phase::Resolving, 2),
            ("Collecting Async_LRU>=1.0.0 (from other)", Phase::Resolving, 2),
            ("  Downloading async_lru-2.0.5-py3-none-any.whl (6.1 kB)", Phase::Downloading, 2),
            ("Collecting six", Phase::Downloading, 3),
            ("  Using cached six-1.17.0-py2.py3-none-any.whl (11 kB)", Phase::Downloading, 3),
            ("Installing collected packages: six, async-lru, jupyterlab, wheel", Phase::Installing, 4),
            ("Successfully installed six-1.17.0", Phase::Installing, 4),
        ] {
            pip.hear(line);
            assert_eq!((pip.phase(), pip.packages()), (phase, packages), "{line}");
        }
    }
}
