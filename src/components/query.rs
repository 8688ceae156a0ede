//! Addresses made out of the current one: the URL holds the state of a list, and every link changes one part
//! of it.

use leptos::prelude::*;
use leptos_router::hooks::use_location;
use url::form_urlencoded;

/// A path and its query, in order, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    path: String,
    pairs: Vec<(String, String)>,
}

impl Query {
    /// A path without a query.
    pub fn of(path: impl Into<String>) -> Self {
        Self { path: path.into(), pairs: Vec::new() }
    }

    /// A path with the query of a URL, with or without its question mark.
    pub fn parse(path: impl Into<String>, query: &str) -> Self {
        let query = query.strip_prefix('?').unwrap_or(query);
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned().filter(|(_, value)| !value.is_empty());
        Self { path: path.into(), pairs: pairs.collect() }
    }

    /// Where the request goes, as the router knows it.
    pub fn here() -> Self {
        let location = use_location();
        Self::parse(location.pathname.get_untracked(), &location.search.get_untracked())
    }

    /// The first value under a key; empty if there is none.
    pub fn get(&self, key: &str) -> &str {
        self.pairs.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value)
    }

    /// All values under a key.
    pub fn all(&self, key: &str) -> Vec<String> {
        self.pairs.iter().filter(|(name, _)| name == key).map(|(_, value)| value.clone()).collect()
    }

    /// The same with another value under a key; an empty value takes the key away.
    #[must_use]
    pub fn with(mut self, key: &str, value: &str) -> Self {
        let place = self.pairs.iter().position(|(name, _)| name == key);
        self.pairs.retain(|(name, _)| name != key);
        if !value.is_empty() {
            let place = place.unwrap_or(self.pairs.len()).min(self.pairs.len());
            self.pairs.insert(place, (key.to_owned(), value.to_owned()));
        }
        self
    }

    /// The same without some keys.
    #[must_use]
    pub fn without(mut self, keys: &[&str]) -> Self {
        self.pairs.retain(|(name, _)| !keys.contains(&name.as_str()));
        self
    }

    /// The same on the first page: where another order or filter begins.
    #[must_use]
    pub fn from_the_start(self) -> Self {
        self.without(&["after", "before"])
    }

    /// The same list from another place on; the first needs no number.
    pub fn turned(&self, key: &str, from: usize) -> String {
        self.clone().with(key, &if from == 0 { String::new() } else { from.to_string() }).url()
    }

    /// The page that begins after so many.
    pub fn after(&self, count: usize) -> String {
        self.turned("after", count)
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// What a GET form must carry along, since it replaces the whole query: all but some keys.
    pub fn pairs_but(&self, keys: &[&str]) -> Vec<(String, String)> {
        self.pairs.iter().filter(|(name, _)| !keys.contains(&name.as_str())).cloned().collect()
    }

    /// The address, percent-encoded.
    pub fn url(&self) -> String {
        if self.pairs.is_empty() {
            return self.path.clone();
        }
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.pairs).finish();
        format!("{}?{query}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_key_changes_and_the_others_stay() {
        let query = Query::parse("/w/lab/admin/people", "?q=a%26b&role=owner&after=xyz");
        assert_eq!(query.get("q"), "a&b");
        assert_eq!(query.clone().with("role", "reader").url(), "/w/lab/admin/people?q=a%26b&role=reader&after=xyz");
        assert_eq!(query.clone().from_the_start().with("role", "").url(), "/w/lab/admin/people?q=a%26b");
        assert_eq!(query.clone().with("sort", "seen").get("sort"), "seen");
        assert_eq!(query.pairs_but(&["q", "after"]), [("role".to_owned(), "owner".to_owned())]);
        assert_eq!(Query::of("/x").url(), "/x");
    }

    #[test]
    fn empty_values_make_no_long_addresses() {
        assert_eq!(Query::parse("/x", "q=&role=&sort=name").url(), "/x?sort=name");
    }

    #[test]
    fn a_key_may_come_several_times() {
        let query = Query::parse("/x", "id=1&id=2");
        assert_eq!(query.all("id"), ["1", "2"]);
        assert_eq!(query.with("id", "3").url(), "/x?id=3");
    }

    proptest! {
        /// Whatever people type comes back as it was.
        #[test]
        fn encoding_loses_nothing(value in "\\PC{1,40}") {
            let url = Query::of("/x").with("q", &value).url();
            prop_assert!(url.is_ascii());
            let (path, query) = url.split_once('?').unwrap();
            let again = Query::parse(path, query);
            prop_assert_eq!(again.get("q"), value);
        }
    }
}
