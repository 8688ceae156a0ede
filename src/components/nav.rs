//! The navigation: the column at the left and the bar on phones, of the one table of pages.

use atelier_domain::paths;
use atelier_domain::portal::{NavGroup, NavItem, entries};
use leptos::prelude::*;

use crate::components::icon::{Icon, Mark};
use crate::viewer::Viewer;

/// What the bar on phones has room for, beside the profile.
const THUMBS: [NavItem; 4] = [NavItem::Home, NavItem::Compute, NavItem::Jobs, NavItem::People];

/// The column at the left.
#[component]
pub fn Nav(
    viewer: Viewer,
    /// The part that the page belongs to.
    current: NavItem,
) -> AnyView {
    let slug = viewer.workspace.slug.clone();
    let groups: Vec<_> = NavGroup::ALL
        .into_iter()
        .filter_map(|group| {
            let entries: Vec<_> = entries(group)
                .filter(|(_, page)| page.is_for(&viewer.rights))
                .map(|(item, page)| {
                    view! {
                        <li>
                            <a
                                class="item" href=(page.href)(&slug) title=page.name
                                aria-current=(item == current).then_some("page")
                            >
                                <Icon name=page.icon/>
                                <span>{page.name}</span>
                            </a>
                        </li>
                    }
                })
                .collect();
            let heading = group.heading().map(|heading| view! { <h2>{heading}</h2> });
            (!entries.is_empty()).then(|| view! { {heading}<ul class="items">{entries}</ul> })
        })
        .collect();
    let (word, collapsed) = if viewer.nav_collapsed { ("Expand", "off") } else { ("Collapse", "on") };
    let label = format!("{word} the navigation");
    html! {
        <nav class="nav" aria-label="Main">
            <a class="brand" href=paths::home(&slug) aria-label="Atelier, home"><Mark/><span>"Atelier"</span></a>
            {groups}
            <div class="foot">
                <form method="post" action=paths::function("set_nav")>
                    <input type="hidden" name="collapsed" value=collapsed/>
                    <button class="collapse" type="submit" aria-label=label title=word>
                        <Icon name="collapse"/>
                        <span>{word}</span>
                    </button>
                </form>
            </div>
        </nav>
    }
}

/// The bar on phones: at most five places that a thumb reaches.
#[component]
pub fn TabBar(
    viewer: Viewer,
    /// The part that the page belongs to.
    current: NavItem,
) -> AnyView {
    let slug = viewer.workspace.slug.clone();
    let entries: Vec<_> = NavGroup::ALL
        .into_iter()
        .flat_map(entries)
        .filter(|(item, page)| THUMBS.contains(item) && page.is_for(&viewer.rights))
        .map(|(item, page)| {
            let current = (item == current).then_some("page");
            view! { <a href=(page.href)(&slug) aria-current=current><Icon name=page.icon/>{page.name}</a> }
        })
        .collect();
    let profile = (current == NavItem::Profile).then_some("page");
    html! {
        <nav class="tabbar" aria-label="Main, compact">
            {entries}
            <a href=paths::PROFILE aria-current=profile><Icon name="user"/>"Profile"</a>
        </nav>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_on_phones_has_at_most_five_places() {
        const { assert!(THUMBS.len() < 5, "the profile is the fifth") };
        let all: Vec<NavItem> = NavGroup::ALL.into_iter().flat_map(entries).map(|(item, _)| item).collect();
        assert!(THUMBS.iter().all(|item| all.contains(item)));
    }
}
