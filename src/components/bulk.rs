//! Doing something to several rows of a list at once.
//!
//! A [`BulkForm`] holds the table with a [`PickCell`] in each row and a [`BulkBar`], which appears as soon as
//! a row is picked. Every button leads to the page that asks first, so the form is a GET form and changes
//! nothing by itself.

use leptos::prelude::*;

use crate::components::icon::Icon;

/// One button of the bar.
#[derive(Clone, Debug)]
pub struct BulkAction {
    /// The verb: "Disable". Without script the button says "Disable selected", with it "Disable 3".
    pub verb: &'static str,
    pub icon: &'static str,
    /// The address of the page that asks first.
    pub asks_at: String,
    /// Whether it takes something away.
    pub is_dangerous: bool,
}

/// The form around the table and the bar.
#[component]
pub fn BulkForm(
    /// The address of the page that asks first, where the return key leads; each button has its own.
    #[prop(into)]
    action: String,
    children: Children,
) -> AnyView {
    html! { <form class="bulk" method="get" action=action data-bulk="">{children()}</form> }
}

/// The box in the head of the table that picks all rows. Needs script and is hidden without it.
#[component]
pub fn PickAll(
    /// What it picks: "Select all people on this page".
    #[prop(into)]
    label: String,
) -> AnyView {
    html! {
        <td class="pick">
            <input class="needs-script" type="checkbox" aria-label=label data-bulk-all="" autocomplete="off"/>
        </td>
    }
}

/// The box of one row.
#[component]
pub fn PickCell(
    /// The id that is sent as `id`.
    #[prop(into)]
    id: String,
    /// What it picks: "Select Mara Lindqvist".
    #[prop(into)]
    label: String,
) -> AnyView {
    html! { <td class="pick"><input type="checkbox" name="id" value=id aria-label=label autocomplete="off"/></td> }
}

/// The bar that floats above the list while rows are picked.
#[component]
pub fn BulkBar(
    /// What is picked, in the plural: "people".
    noun: &'static str,
    actions: Vec<BulkAction>,
    /// Why none of them can be used; they are disabled then, and the bar says so.
    #[prop(optional_no_strip)]
    disabled_because: Option<String>,
) -> AnyView {
    let label = format!("Actions for the selected {noun}");
    let off = disabled_because.is_some();
    let described = off.then_some("bulk-reason");
    let reason = disabled_because.map(|reason| view! { <span class="reason" id="bulk-reason">{reason}</span> });
    let buttons: Vec<_> = actions
        .into_iter()
        .map(|action| {
            let class = if action.is_dangerous { "btn danger-quiet" } else { "btn" };
            view! {
                <button
                    class=class type="submit" formaction=action.asks_at disabled=off aria-describedby=described
                    data-confirm="" data-bulk-label=action.verb
                >
                    <Icon name=action.icon/>
                    <span class="label">{format!("{} selected", action.verb)}</span>
                </button>
            }
        })
        .collect();
    html! {
        <div class="bulkbar" role="group" aria-label=label>
            <span class="n needs-script"><span data-bulk-count="">"0"</span>" selected"</span>
            <span class="sep needs-script"></span>
            {buttons}
            {reason}
            <button class="btn ghost icon" type="reset" aria-label="Clear selection"><Icon name="x"/></button>
        </div>
    }
}
