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
    view! {
        <div
            class=if is_region { "table-wrap table-scroll" } else { "table-wrap" }
            data-live=live data-announce=announce
            role=is_region.then_some("region") tabindex=is_region.then_some("0") aria-label=scrolls
        >
            {children()}
        </div>
    }
    .into_any()
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
    view! {
        <TableWrap>
            <table class=class>
                <caption class="sr">{caption}</caption>
                <thead><tr>{head}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
            {children.map(|children| children())}
        </TableWrap>
    }
    .into_any()
}
