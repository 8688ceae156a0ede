//! The last step: all of it at a glance.

use atelier_domain::compute::script::ScriptKind;
use atelier_domain::time::Span;
use atelier_studio::schedules::typed::{idle_of, jobs_of, week_of};
use atelier_studio::schedules::week::say_week;
use leptos::prelude::*;

use crate::components::{ChoiceKind, ChoiceList, Def, DefList};
use crate::form::FormState;
use crate::frame::Visit;
use crate::instances::pages::detail::own_apps::choice;
use crate::instances::pages::detail::scripts::label;
use crate::instances::wizard::steps::Wizard;

/// All of it at a glance, and whether it starts at once.
pub fn step(visit: &Visit, _state: &FormState, wizard: &Wizard) -> AnyView {
    let fields = &wizard.fields;
    let value = |field: &str| fields.get(field).to_owned();
    let owner = wizard.known.people.iter().find(|(id, _)| id.as_str() == fields.get("owner"));
    let owner = owner.map_or_else(|| format!("Me ({})", visit.viewer.name), |(_, name)| name.clone());
    let week = fields.is_on("scheduled").then(|| week_of(fields).ok()).flatten();
    let awake = week.as_ref().map_or_else(
        || "When somebody starts it".to_owned(),
        |week| format!("{}, {}", say_week(&week.grid), week.zone.as_str()),
    );
    let jobs = week.is_some().then(|| match jobs_of(fields) {
        Ok(jobs) if jobs.is_now() => "ends them".to_owned(),
        Ok(jobs) => jobs.phrase().trim_start_matches("; ").to_owned(),
        Err(_) => String::new(),
    });
    let jobs = jobs.map(|jobs| view! { <Def term="A stop while jobs run">{jobs}</Def> });
    let idle = match idle_of(fields) {
        Ok(0) | Err(_) => "Off".to_owned(),
        Ok(minutes) => format!("After {} without activity", Span::minutes(minutes)),
    };
    let quota = if fields.get("quota") == "keep" { "Kept" } else { "Given back" };
    let scripts: Vec<_> = ScriptKind::ALL
        .into_iter()
        .map(|kind| {
            let said = script(kind, wizard);
            view! { <Def term=label(kind)>{said}</Def> }
        })
        .collect();
    let tags: Vec<_> = value("tags")
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|tag| view! { <span class="tag">{tag.to_owned()}</span> })
        .collect();
    let tags = if tags.is_empty() {
        html! { "None" }
    } else {
        html! { <span class="row-tight tags">{tags}</span> }
    };
    let chosen = if fields.get("begin") == "stopped" { "stopped" } else { "now" };
    let begins = vec![
        choice("now", "Start it now", "It costs from the moment its node is wished for.", chosen),
        choice("stopped", "Leave it stopped", "It waits for its first start, by hand or by schedule.", chosen),
    ];
    let (name, size) = (value("name").trim().to_lowercase(), value("size"));
    html! {
        <section class="card">
            <header><h2>"Review"</h2></header>
            <div class="body">
                <DefList>
                    <Def term="Name">{name}</Def>
                    <Def term="Owner">{owner}</Def>
                    <Def term="Size">{size}</Def>
                    <Def term="Awake">{awake}</Def>
                    {jobs}
                    <Def term="Idle shutdown">{idle}</Def>
                    <Def term="Quota while stopped">{quota}</Def>
                    <Def term="Applications">"JupyterLab, Terminal"</Def>
                    {scripts}
                    <Def term="Tags">{tags}</Def>
                </DefList>
            </div>
        </section>
        <section class="card">
            <header><h2>"Then"</h2></header>
            <div class="body">
                <ChoiceList legend="Then" legend_hidden=true name="begin" kind=ChoiceKind::One choices=begins/>
            </div>
        </section>
    }
}

fn script(kind: ScriptKind, wizard: &Wizard) -> String {
    let get = |what: &str| wizard.fields.get(&format!("{}_{what}", kind.key())).trim().to_owned();
    let lines = get("script").lines().count() as u64;
    if lines == 0 {
        return "None".to_owned();
    }
    let arguments = get("arguments");
    let arguments = if arguments.is_empty() { String::new() } else { format!(", with {arguments}") };
    let limit = match get("limit") {
        limit if limit.is_empty() => "15".to_owned(),
        limit => limit,
    };
    format!("{}{arguments}, {limit} min at most", atelier_domain::text::counted(lines, "line", "lines"))
}
