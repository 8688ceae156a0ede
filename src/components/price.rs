//! The price of a form. Script updates it while a person types; without script a button
//! does.

use atelier_studio::clusters::quote::{Quote, Quoted};
use leptos::prelude::*;

use crate::components::{Card, Icon};

/// The price in its own card.
pub fn card(heading: &'static str, quoted: &Quoted) -> AnyView {
    let part = part(quoted);
    html! { <Card heading=heading note="as it stands">{part}{lost()}</Card> }
}

/// The price alone: what is asked for again.
pub fn part(quoted: &Quoted) -> AnyView {
    let content = match quoted {
        Quoted::Price(quote) => price(quote),
        Quoted::Unclear(why) => {
            let why: Vec<_> = why.iter().map(|line| view! { <li>{line.clone()}</li> }).collect();
            html! { <p><Icon name="warn" class="i-s"/>" No price yet:"</p><ul class="list">{why}</ul> }
        }
        Quoted::Unchanged => ().into_any(),
    };
    html! { <div class="quote" role="status" data-quote-part="">{content}</div> }
}

fn price(quote: &Quote) -> AnyView {
    let lines: Vec<_> = quote.lines.iter().map(|line| view! { <p class="muted">{line.clone()}</p> }).collect();
    html! { <p class="price">{format!("{} ", quote.figure)}<small>{quote.per.clone()}</small></p>{lines} }
}

/// What is shown when the server could not be asked; script alone can know that.
pub fn lost() -> AnyView {
    html! { <p class="help quote-lost">"The server did not answer: this is the price from before the last change."</p> }
}

/// The button that asks for the price without script: the form goes back to its own page, which shows what
/// was typed.
pub fn check_button(page: String) -> AnyView {
    html! {
        <button class="btn without-script" type="submit" formmethod="get" formaction=page formnovalidate>
            <Icon name="cost"/>"Check price"
        </button>
    }
}
