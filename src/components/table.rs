//! Tables and their frame.

use leptos::prelude::*;

/// The frame around a table and its foot. Columns leave it in order of importance when room gets tight; see
/// `style/components/table.css` for the classes.
#[component]
pub fn TableWrap(
    /// Whether the table may be wider than its frame and scrolls in it; needs a label then, since the frame
    /// takes the keyboard's focus.
    #[prop(optional, into)]
    scrolls: Option<String>,
    /// The name of this part for the live refresh, such as `people`; unique on the page. Rows have a
    /// `data-key`.
    #[prop(optional, into)]
    live: Option<&'static str>,
    /// What the rows are, for the announcement of changes: `person|people`.
    #[prop(optional, into)]
    announce: Option<&'static str>,
    /// The table and, under it, a [`super::Pager`].
    children: Children,
) -> AnyView {
    let is_region = scrolls.is_some();
    html! {
        <div
            class=if is_region { "table-wrap table-scroll" } else { "table-wrap" }
            data-live=live data-announce=announce
            role=is_region.then_some("region") tabindex=is_region.then_some("0") aria-label=scrolls
        >
            {children()}
        </div>
    }
}

/// The cells of a table's first row: words and class of each column. The class `sr` hides the words from all
/// but assistive technology; a column without words has no heading.
pub fn heads(columns: &[(&'static str, &'static str)]) -> AnyView {
    let cell = |&(words, class): &(&'static str, &'static str)| match (words, class) {
        ("", _) => html! { <td></td> },
        (_, "sr") => html! { <th scope="col"><span class="sr">{words}</span></th> },
        (_, "") => html! { <th scope="col">{words}</th> },
        (_, class) => html! { <th scope="col" class=class>{words}</th> },
    };
    columns.iter().map(cell).collect_view().into_any()
}

/// A table in its frame: a caption for assistive technology, headings and rows.
#[component]
pub fn Table<H: IntoView + 'static, R: IntoView + 'static>(
    /// `table` and what else, such as `tight`.
    class: &'static str,
    #[prop(into)] caption: String,
    /// The cells of the first row.
    head: H,
    rows: R,
    /// What stands under it, such as a [`super::Pager`].
    #[prop(optional)]
    children: Option<Children>,
) -> AnyView {
    html! {
        <TableWrap>
            <table class=class>
                <caption class="sr">{caption}</caption>
                <thead><tr>{head}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
            {children.map(|children| children())}
        </TableWrap>
    }
}
