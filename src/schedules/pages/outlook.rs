//! What schedules are going to do and cost: the part of the page that follows the typing.

use atelier_domain::money::MONTH;
use atelier_domain::schedule::Action;
use atelier_studio::clock;
use atelier_studio::schedules::next::{AwakeCost, NextTime};
use atelier_studio::schedules::page::Outlook;
use leptos::prelude::*;

use crate::components::{Icon, Tone, Why, price};

/// The side of the page.
pub fn side(outlook: &Outlook) -> AnyView {
    let part = part(outlook);
    html! { <aside class="stack sticky-side">{part}{price::lost()}</aside> }
}

/// What is asked for again while one types.
pub fn part(outlook: &Outlook) -> AnyView {
    let note = outlook.here.clone();
    let times = times(outlook);
    let clocks = clocks(&outlook.times);
    let cost = outlook.cost.as_ref().map(cost);
    html! {
        <div class="quote stack" data-quote-part="">
            <section class="card" aria-labelledby="next-times">
                <header><h2 id="next-times">"Next times"</h2><span class="push note">{note}</span></header>
                <div class="body stack" role="status">{times}{clocks}</div>
            </section>
            {cost}
        </div>
    }
}

fn times(outlook: &Outlook) -> AnyView {
    if !outlook.unclear.is_empty() {
        let why: Vec<_> = outlook.unclear.iter().map(|line| view! { <li>{line.clone()}</li> }).collect();
        return html! { <p><Icon name="warn" class="i-s"/>" Not clear yet:"</p><ul class="list">{why}</ul> };
    }
    if outlook.times.is_empty() {
        return html! { <p class="muted">"Nothing is planned. It starts and stops by hand, or by idle shutdown."</p> };
    }
    let items: Vec<_> = outlook.times.iter().map(item).collect();
    html! { <ol class="events">{items}</ol> }
}

fn item(time: &NextTime) -> AnyView {
    let (icon, verb) = match time.action {
        Action::Start => ("play", "Start"),
        Action::Stop | Action::MinNodes(_) => ("stop", "Stop"),
    };
    let icon = if time.is_about_clocks && !time.is_skipped { "sun" } else { icon };
    let zone = &time.there.1;
    let elsewhere = match time.here.as_str() {
        "" => zone.clone(),
        here if here.starts_with("UTC ") => format!("{zone}, {} UTC", &here[4..]),
        here => format!("{zone}; {here} where you are"),
    };
    let note = time.note.as_ref().map(|note| view! { <span class="l2">{note.clone()}</span> });
    let (rfc, said) = (clock::rfc3339(time.at), time.there.0.clone());
    let verb = if time.is_skipped {
        html! { <s>{verb}</s> }
    } else {
        html! { {verb} }
    };
    html! {
        <li>
            <time datetime=rfc>{said}</time>
            <Icon name=icon/>
            <span>{verb}<span class="l2">{elsewhere}</span>{note}</span>
        </li>
    }
}

/// The clocks change between these times.
fn clocks(times: &[NextTime]) -> Option<AnyView> {
    let first = times.iter().find(|time| time.is_about_clocks)?;
    let what = first.note.clone().unwrap_or_default();
    let text = format!(
        "{} is the {what}. Times stay as they are written; in other zones they move.",
        first.there.0,
        what = what.trim_start_matches("the "),
    );
    let text = if what.starts_with("first after") { text } else { format!("{}: {what}.", first.there.0) };
    Some(html! { <Why tone=Tone::Warning title="The clocks change" text=text/> })
}

/// Hours of a month.
const ALWAYS: u64 = MONTH.as_millis().unsigned_abs() / 3_600_000;

fn cost(cost: &AwakeCost) -> AnyView {
    let figure =
        cost.month.clone().map(|month| view! { <p class="price">{month}" "<small>"per month, about"</small></p> });
    let meter = cost.hours.map(|hours| {
        let (all, hours) = (ALWAYS, hours.min(ALWAYS));
        let share = format!("{} % of always on.", hours * 100 / all);
        view! {
            <meter
                min="0" max=all low="550" high="700" optimum="0" value=hours aria-label="Share of the cost of always on"
            >
                {share.clone()}
            </meter>
            <p class="faint xs">{share}" Idle shutdown makes it less."</p>
        }
    });
    let how = cost.how.clone();
    html! {
        <section class="card">
            <div class="body stack"><div>{figure}<p class="faint xs">{how}</p></div>{meter}</div>
        </section>
    }
}
