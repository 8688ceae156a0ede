//! What an instance printed: a window of it, made on the server. Script follows the end of it.

use atelier_domain::paths;
use atelier_studio::caller::Caller;
use atelier_studio::instances::detail::InstanceDetail;
use atelier_studio::instances::logs::{LogsView, logs};
use atelier_studio::jobs::log::Place;
use leptos::prelude::*;

use crate::components::{Card, Icon, Query};
use crate::error::AppError;
use crate::frame::Visit;
use crate::jobs::pages::log::{lines as log_lines, ways as log_ways};
use crate::jobs::pages::words::bytes;

/// Reads what the address asks for; what it says wrongly is left out.
pub async fn read(caller: &Caller, detail: &InstanceDetail, query: &Query) -> Result<LogsView, AppError> {
    let number = |key: &str| query.get(key).parse::<u64>().ok();
    let place = match (number("from"), number("until")) {
        (Some(from), _) => Place::From(from),
        (None, Some(until)) => Place::Until(until),
        (None, None) => Place::End,
    };
    logs(caller, &detail.view.subject(), &detail.apps, query.get("log"), place).await
}

pub fn tab(visit: &Visit, query: &Query, detail: &InstanceDetail, view: &LogsView) -> AnyView {
    let Some(window) = &view.window else {
        return html! {
            <Card heading="Logs">
                <p class="muted">
                    "Nothing was printed yet. Its set-up and its applications print here once it has started."
                </p>
            </Card>
        };
    };
    let (slug, name) = (visit.slug(), &detail.view.name);
    let here = Query::of(query.path().to_owned()).with("log", &view.name);
    let links: Vec<_> = view
        .all
        .iter()
        .map(|log| {
            let href = Query::of(query.path().to_owned()).with("log", &log.name).url();
            let current = (log.name == view.name).then_some("true");
            view! { <a href=href aria-current=current>{format!("{} ({})", log.label, bytes(log.length))}</a> }
        })
        .collect();
    let word = view.all.iter().find(|log| log.name == view.name).map(|log| log.label.clone()).unwrap_or_default();
    let file = paths::instance_log(slug, name, &view.name);
    // Only the end grows, and only while there is a node; an older page stays as it is.
    let is_live = view.is_end && detail.view.instance.node.is_some();
    let stream = is_live.then(|| paths::instance_log_events(slug, name, &view.name));
    let following = is_live.then(|| {
        view! {
            <button class="btn sm needs-script" type="button" aria-pressed="true" data-log-follow="">
                <Icon name="down"/>"Follow"
            </button>
        }
    });
    let (lines, ways) = (log_lines(window, &here), log_ways(window, &here, view.is_end));
    let status = format!("{} in all, standard output and standard error.", bytes(window.length));
    let link = here.url();
    let label = format!("Log: {word}");
    html! {
        <section
            class="log" aria-label=label data-log=stream data-log-after=window.follow_from.to_string()
            data-log-link=link
        >
            <div class="bar">
                <b>{word.clone()}</b>
                <span class="tools">
                    <button class="btn sm" type="button" popovertarget="m-logs">
                        "Choose a log"
                        <Icon name="down" class="i-s"/>
                    </button>
                    <a class="btn sm icon" href=file download="" aria-label="Download the log">
                        <Icon name="download"/>
                    </a>
                </span>
                {following}
            </div>
            {lines}
            <div class="status"><span data-log-status="" role="status">{status}</span>{ways}</div>
        </section>
        <div class="menu start" id="m-logs" popover="auto"><h3>"Logs"</h3>{links}</div>
    }
}
