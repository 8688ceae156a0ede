//! Arrows: who depends on whom, held against the table of who may.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::table::{BETWEEN_NOUNS, CRATES, GROUPS, MODULES, NOUNS, Row};

/// The file to edit, for sentences.
pub const TABLE: &str = "crates/xtask/src/lint/table.rs";
/// The page that shows the table.
pub const PAGE: &str = "docs/ARCHITECTURE.md";

/// Who depends on whom.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    pub from: String,
    pub to: String,
}

impl Arrow {
    pub fn new(from: &str, to: &str) -> Self {
        Self { from: from.to_owned(), to: to.to_owned() }
    }
}

impl fmt::Display for Arrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.from, self.to)
    }
}

/// Where each arrow was found.
pub type Found = BTreeMap<Arrow, Vec<String>>;

/// Everybody in the table and what each may depend on.
#[derive(Debug)]
pub struct Allowed {
    known: BTreeSet<String>,
    arrows: BTreeSet<Arrow>,
    /// Arrows that have to be used, each with the name of the list that it stands in.
    wanted: BTreeSet<Arrow>,
    list: &'static str,
}

impl Allowed {
    pub fn crates() -> Self {
        Self::new("CRATES", CRATES, &[], CRATES)
    }

    pub fn modules() -> Self {
        let mut allowed = Self::new("MODULES", MODULES, GROUPS, &[]);
        let between = Self::new("BETWEEN_NOUNS", BETWEEN_NOUNS, &[], BETWEEN_NOUNS);
        allowed.arrows.extend(between.arrows);
        allowed.wanted.extend(between.wanted);
        allowed
    }

    fn new(list: &'static str, rows: &[Row], groups: &[Row], wanted: &[Row]) -> Self {
        let arrows = expand(rows, groups);
        let known = rows.iter().flat_map(|(from, _)| members(from, groups)).map(str::to_owned).collect();
        Self { known, arrows, wanted: expand(wanted, groups), list }
    }

    /// One sentence for each arrow that isn't allowed, each listed one that isn't used, and each unknown
    /// name.
    pub fn judge(&self, names: &[String], found: &Found) -> Vec<String> {
        let unknown = names.iter().filter(|name| !self.known.contains(*name));
        let unknown = unknown.map(|name| format!("{name} is in no row of {} in {TABLE}: add one", self.list));
        let new = found.iter().filter(|(arrow, _)| arrow.from != arrow.to && !self.arrows.contains(arrow));
        let new = new.map(|(arrow, places)| {
            let more = match places.len() {
                0 | 1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            let place = places.first().map(String::as_str).unwrap_or_default();
            let list = self.list_for(arrow);
            format!("{arrow} is a new arrow, at {place}{more}: remove it, or allow it in {list} of {TABLE}")
        });
        let unused = self.wanted.iter().filter(|arrow| !found.contains_key(arrow));
        let unused = unused.map(|arrow| {
            format!("{arrow} is allowed but no longer used: remove it from {} of {TABLE}", self.list_for(arrow))
        });
        unknown.chain(new).chain(unused).collect()
    }

    fn list_for(&self, arrow: &Arrow) -> &'static str {
        let nouns = members(NOUNS, GROUPS);
        let is_noun = |name: &String| nouns.contains(&name.as_str());
        if self.list == "MODULES" && is_noun(&arrow.from) && is_noun(&arrow.to) { "BETWEEN_NOUNS" } else { self.list }
    }
}

fn members<'a>(name: &'a str, groups: &[Row]) -> Vec<&'a str> {
    let group = groups.iter().find(|(group, _)| *group == name);
    group.map_or_else(|| vec![name], |(_, members)| members.to_vec())
}

fn expand(rows: &[Row], groups: &[Row]) -> BTreeSet<Arrow> {
    let mut arrows = BTreeSet::new();
    for (from, all) in rows {
        for from in members(from, groups) {
            for to in all.iter().flat_map(|to| members(to, groups)).filter(|to| *to != from) {
                arrows.insert(Arrow::new(from, to));
            }
        }
    }
    arrows
}

/// The table as the page shows it, between its fences.
pub fn block() -> String {
    let width = |rows: &[Row]| rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (title, rows, sign) in [
        ("crates", CRATES, "→"),
        ("groups of modules of src", GROUPS, "="),
        ("modules of src", MODULES, "→"),
        ("from noun to noun", BETWEEN_NOUNS, "→"),
    ] {
        if !rows.is_empty() {
            text.push_str(&format!("{title}\n"));
        }
        for (name, all) in rows {
            let width = width(rows);
            let all = if all.is_empty() { "–".to_owned() } else { all.join(" ") };
            text.push_str(&format!("  {name:<width$} {sign} {all}\n"));
        }
    }
    text
}

/// Compares the table with the block of a page that begins with a fence and the word `arrows`.
pub fn compare_with_page(page: &str) -> Result<(), String> {
    let shown = page.split_once("\n```arrows\n").and_then(|(_, rest)| rest.split_once("```"));
    let wanted = block();
    match shown {
        Some((shown, _)) if shown == wanted => Ok(()),
        Some(_) => Err(format!(
            "the block `arrows` in {PAGE} doesn't show the table in {TABLE}: replace it by this\n\n```arrows\n\
             {wanted}```"
        )),
        None => Err(format!("{PAGE} has no block `arrows`: add this\n\n```arrows\n{wanted}```")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL_GROUPS: &[Row] = &[("GROUP", &["a", "b"])];
    const SMALL: &[Row] = &[("GROUP", &["base"]), ("base", &[]), ("top", &["GROUP", "base"])];

    fn small() -> Allowed {
        Allowed::new("SMALL", SMALL, SMALL_GROUPS, &[])
    }

    fn found(arrows: &[(&str, &str)]) -> Found {
        arrows.iter().map(|(from, to)| (Arrow::new(from, to), vec![format!("src/{from}.rs:3")])).collect()
    }

    #[test]
    fn rows_may_name_groups() {
        let allowed = small();
        assert_eq!(allowed.judge(&["a".to_owned(), "top".to_owned()], &found(&[("a", "base"), ("top", "b")])), [""; 0]);
        assert_eq!(allowed.judge(&[], &found(&[("a", "a")])), [""; 0]);
    }

    #[test]
    fn a_new_arrow_is_named_with_its_place_and_where_to_allow_it() {
        let mut arrows = found(&[("base", "a")]);
        arrows.values_mut().for_each(|places| places.push("src/base.rs:9".to_owned()));
        assert_eq!(
            small().judge(&[], &arrows),
            ["base → a is a new arrow, at src/base.rs:3 and 1 more: remove it, or allow it in SMALL of \
              crates/xtask/src/lint/table.rs"]
        );
        let between = Allowed::modules().judge(&[], &found(&[("sizes", "cost")]));
        assert!(between[0].contains("allow it in BETWEEN_NOUNS of"), "{between:?}");
    }

    #[test]
    fn unknown_names_and_unused_arrows_are_told() {
        let unknown = small().judge(&["c".to_owned()], &Found::new());
        assert_eq!(unknown, ["c is in no row of SMALL in crates/xtask/src/lint/table.rs: add one"]);
        let strict = Allowed::new("SMALL", &[("x", &["y"]), ("y", &[])], &[], &[("x", &["y"])]);
        let unused = strict.judge(&[], &Found::new());
        assert_eq!(
            unused,
            ["x → y is allowed but no longer used: remove it from SMALL of crates/xtask/src/lint/table.rs"]
        );
    }

    /// Takes away whoever points at nobody that is left, again and again; gives who is left.
    fn cycles(mut arrows: BTreeSet<Arrow>) -> BTreeSet<Arrow> {
        loop {
            let from: BTreeSet<String> = arrows.iter().map(|arrow| arrow.from.clone()).collect();
            let left: BTreeSet<Arrow> = arrows.iter().filter(|arrow| from.contains(&arrow.to)).cloned().collect();
            if left.len() == arrows.len() {
                return left;
            }
            arrows = left;
        }
    }

    #[test]
    fn the_tables_have_no_cycles_except_between_nouns() {
        assert_eq!(cycles(expand(CRATES, &[])), BTreeSet::new());
        assert_eq!(cycles(expand(MODULES, GROUPS)), BTreeSet::new());
        let round: &[Row] = &[("a", &["b"]), ("b", &["c"]), ("c", &["a", "d"]), ("d", &[])];
        assert_eq!(cycles(expand(round, &[])).len(), 3);
    }

    #[test]
    fn the_tables_name_only_who_has_a_row() {
        for (allowed, groups) in [(Allowed::crates(), &[] as &[Row]), (Allowed::modules(), GROUPS)] {
            for name in groups.iter().flat_map(|(_, members)| *members) {
                assert!(allowed.known.contains(*name), "{name} is in a group and has no row");
            }
            for Arrow { from, to } in &allowed.arrows {
                assert!(allowed.known.contains(from) && allowed.known.contains(to), "{from} → {to}");
            }
        }
        let nouns = members(NOUNS, GROUPS);
        for (from, all) in BETWEEN_NOUNS {
            assert!(nouns.contains(from) && all.iter().all(|to| nouns.contains(to)), "{from} isn't only about nouns");
        }
    }

    #[test]
    fn a_page_that_shows_another_table_is_told_what_to_show() {
        assert_eq!(compare_with_page(&format!("# Page\n\n```arrows\n{}```\n", block())), Ok(()));
        let told = compare_with_page("# Page\n\n```arrows\ncrates\n```\n").expect_err("it differs");
        assert!(told.ends_with(&format!("```arrows\n{}```", block())), "{told}");
        let told = compare_with_page("# Page\n").expect_err("there is none");
        assert!(told.starts_with("docs/ARCHITECTURE.md has no block `arrows`"), "{told}");
    }
}
