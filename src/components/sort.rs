//! Headings of columns that sort.

use leptos::prelude::*;

use crate::components::Query;
use crate::components::icon::Icon;

/// How a list is sorted now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sort {
    pub key: String,
    /// From last to first.
    pub descending: bool,
}

impl Sort {
    /// The order by a column.
    pub fn by(key: impl Into<String>, descending: bool) -> Self {
        Self { key: key.into(), descending }
    }
}

/// The heading of a column: a link that sorts by it, and turns the order around if it is sorted by it
/// already. The rest of the query stays, only the page starts anew.
#[component]
pub fn SortHeader(
    label: &'static str,
    /// The name of the column under `sort` in the query.
    key: &'static str,
    sort: Sort,
    query: Query,
    /// Whether the first click sorts from last to first, as for times: newest first.
    #[prop(optional)]
    descending_first: bool,
    /// More classes, such as `right` or `c-owner`.
    #[prop(optional, into)]
    class: Option<&'static str>,
) -> AnyView {
    let is_current = sort.key == key;
    let next = if is_current { !sort.descending } else { descending_first };
    let url = query.from_the_start().with("sort", key).with("dir", if next { "desc" } else { "" }).url();
    let order = is_current.then_some(if sort.descending { "descending" } else { "ascending" });
    let arrow = is_current.then(|| view! { <Icon name="down" class=if sort.descending { "i-s" } else { "i-s up" }/> });
    html! { <th scope="col" class=class aria-sort=order><a href=url>{label}{arrow}</a></th> }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    fn header(sort: Sort, query: &str, descending_first: bool) -> String {
        let query = Query::parse("/people", query);
        html(move || {
            view! {
                <SortHeader label="Seen" key="seen" sort=sort query=query descending_first=descending_first/>
            }
        })
    }

    #[test]
    fn a_click_sorts_and_keeps_the_rest_of_the_query() {
        let other = header(Sort::by("name", false), "q=a%20b&role=owner&after=x&sort=name", false);
        assert!(other.contains("/people?q=a+b&amp;role=owner&amp;sort=seen\""), "{other}");
        assert!(!other.contains("aria-sort"), "{other}");
    }

    #[test]
    fn a_second_click_turns_the_order_around() {
        let up = header(Sort::by("seen", false), "sort=seen", false);
        assert!(up.contains("/people?sort=seen&amp;dir=desc\"") && up.contains(r#"aria-sort="ascending""#), "{up}");
        let down = header(Sort::by("seen", true), "sort=seen&dir=desc", false);
        assert!(down.contains("/people?sort=seen\"") && down.contains(r#"aria-sort="descending""#), "{down}");
    }

    #[test]
    fn times_start_with_the_newest() {
        let first = header(Sort::by("name", false), "", true);
        assert!(first.contains("/people?sort=seen&amp;dir=desc\""), "{first}");
    }
}
