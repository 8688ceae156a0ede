//! The price of what stands in a form. Script asks for it again while one types; without script a button
//! does.

use atelier_studio::clusters::quote::{Quote, Quoted};
use leptos::prelude::*;

use crate::components::{Card, Icon};

/// The price in a card of its own.
pub fn card(heading: &'static str, quoted: &Quoted) -> AnyView {
    let part = part(quoted);
    view! { <Card heading=heading note="as it stands">{part}{lost()}</Card> }.into_any()
}

/// The price alone: what is asked for again.
pub fn part(quoted: &Quoted) -> AnyView {
    let content = match quoted {
        Quoted::Price(quote) => price(quote),
        Quoted::Unclear(why) => {
            let why: Vec<_> = why.iter().map(|line| view! { <li>{line.clone()}</li> }).collect();
            view! { <p><Icon name="warn" class="i-s"/>" No price yet:"</p><ul class="list">{why}</ul> }.into_any()
        }
        Quoted::Unchanged => ().into_any(),
    };
    view! { <div class="quote" role="status" data-quote-part="">{content}</div> }.into_any()
}

fn price(quote: &Quote) -> AnyView {
    let lines: Vec<_> = quote.lines.iter().map(|line| view! { <p class="muted">{line.clone()}</p> }).collect();
    view! { <p class="price">{format!("{} ", quote.figure)}<small>{quote.per.clone()}</small></p>{lines} }.into_any()
}

/// What is shown when the server could not be asked; script alone can know that.
pub fn lost() -> AnyView {
    view! { <p class="help quote-lost">"The server did not answer: this is the price from before the last change."</p> }
        .into_any()
}

/// The button that asks for the price without script: the form goes back to its own page, which shows what
/// was typed.
pub fn check_button(page: String) -> AnyView {
    view! {
        <button class="btn without-script" type="submit" formmethod="get" formaction=page formnovalidate>
            <Icon name="cost"/>"Check price"
        </button>
    }
    .into_any()
}
