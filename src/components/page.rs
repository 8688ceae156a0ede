//! The head of a page and the room for its content.

use leptos::prelude::*;
use leptos_meta::Title;

/// A step on the way to this page.
#[derive(Clone, Debug)]
pub struct Crumb {
    pub label: String,
    pub href: String,
}

impl Crumb {
    pub fn new(label: impl Into<String>, href: impl Into<String>) -> Self {
        Self { label: label.into(), href: href.into() }
    }
}

/// A page inside the shell: its title, its heading, and its content. The heading is the title of the tab too.
#[component]
pub fn Page(
    /// The heading, and the tab's title with " · Atelier" behind it.
    #[prop(into)]
    heading: String,
    /// The title of the tab where it differs from the heading, as with a greeting.
    #[prop(optional, into)]
    title: Option<String>,
    /// One or two sentences under the heading.
    #[prop(optional, into)]
    sub: String,
    /// The steps that lead here, without the page itself.
    #[prop(optional)]
    crumbs: Vec<Crumb>,
    /// Shown beside the heading, such as a state pill.
    #[prop(optional_no_strip, into)]
    beside: Option<AnyView>,
    /// At most four buttons, one of them primary.
    #[prop(optional_no_strip, into)]
    actions: Option<AnyView>,
    children: Children,
) -> AnyView {
    let title = format!("{} · Atelier", title.unwrap_or_else(|| heading.clone()));
    let here = heading.clone();
    let crumbs = (!crumbs.is_empty()).then(|| {
        let steps: Vec<_> =
            crumbs.into_iter().map(|step| view! { <li><a href=step.href>{step.label}</a></li> }).collect();
        view! {
            <nav aria-label="The way to this page">
                <ol class="crumbs">{steps}<li aria-current="page">{here}</li></ol>
            </nav>
        }
    });
    let sub = (!sub.is_empty()).then(|| view! { <p class="sub">{sub}</p> });
    let actions = actions.map(|actions| view! { <div class="actions">{actions}</div> });
    html! {
        <Title text=atelier_studio::html::text(&title)/>
        <div class="page">
            {crumbs}
            <header class="page-head">
                <div class="titles"><h1>{heading}{beside}</h1>{sub}</div>
                {actions}
            </header>
            {children()}
        </div>
    }
}
