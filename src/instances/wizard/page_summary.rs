//! The wizard's side: what it would be and cost, and the same as a request to the API.

use leptos::prelude::*;

use crate::components::{CodeBlock, Icon, SubmitButton, price};
use crate::instances::wizard::steps::Step;
use crate::instances::wizard::summary::{QuotaAfter, Summary};

/// The summary with the button that leads on.
pub fn side(step: Step, summary: &Summary) -> AnyView {
    let part = part(summary);
    let (button, help) = match step {
        Step::Review => (
            html! {
                <SubmitButton name="go" value="create" pending="Creating…" block=true large=true icon="plus">
                    "Create instance"
                </SubmitButton>
            },
            "Everything but the name can be changed later.",
        ),
        _ => (
            html! {
                <SubmitButton name="go" value="review" block=true large=true>"Review + create"</SubmitButton>
            },
            "The other steps have safe defaults. Everything but the name can be changed later.",
        ),
    };
    let refresh = view! {
        <div class="without-script">
            <SubmitButton name="go" value="stay" look=crate::components::Look::Plain block=true icon="cost">
                "Update summary"
            </SubmitButton>
        </div>
    };
    html! {
        <aside class="stack sticky-side">
            <section class="card" aria-labelledby="summary-title">
                <header><h2 id="summary-title">"Summary"</h2></header>
                <div class="body stack">
                    {part}
                    {price::lost()}
                    {button}
                    {(step != Step::Review).then_some(refresh)}
                    <p class="faint xs">{help}</p>
                </div>
            </section>
        </aside>
    }
}

/// The summary alone: what is asked for again while one types.
pub fn part(summary: &Summary) -> AnyView {
    let figure = summary.price.clone().map(|(figure, per)| {
        let how = summary.how.clone();
        view! { <div><p class="price">{figure}" "<small>{per}</small></p><p class="faint xs">{how}</p></div> }
    });
    let facts: Vec<_> =
        summary.facts.iter().map(|(term, fact)| view! { <dt>{*term}</dt><dd>{fact.clone()}</dd> }).collect();
    let quota = summary.quota.as_ref().map(quota);
    let notes: Vec<_> = summary
        .notes
        .iter()
        .map(|note| view! { <p class="muted xs"><Icon name="info" class="i-s"/>" "{note.clone()}</p> })
        .collect();
    let request = summary.request.clone().map(|text| {
        view! {
            <details class="more">
                <summary>"The same over the API"</summary>
                <CodeBlock text=text label="curl"/>
            </details>
        }
    });
    html! {
        <div class="quote" data-quote-part="">
            <div class="stack" role="status">
                {figure}
                <dl class="kv right-values">{facts}</dl>
                {quota}
                {notes}
            </div>
            {request}
        </div>
    }
}

fn quota(quota: &QuotaAfter) -> AnyView {
    let QuotaAfter { label, after, limit, said, note } = quota.clone();
    let (low, high) = ((limit * 3 / 4).to_string(), (limit * 19 / 20).to_string());
    let value = after.min(limit).to_string();
    let note = (!note.is_empty()).then(|| view! { <small class="faint">{note}</small> });
    let name = label.clone();
    html! {
        <div class="quota">
            <span class="row-between"><span>{label}</span><span class="num">{said.clone()}</span></span>
            <meter min="0" max=limit.to_string() low=low high=high optimum="0" value=value aria-label=name>
                {said}
            </meter>
            {note}
        </div>
    }
}
