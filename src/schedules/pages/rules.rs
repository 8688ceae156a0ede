//! Every schedule of an instance as a row, and the form that adds a rule by cron.

use atelier_domain::fields::Fields;
use atelier_engine::run::CommandId;
use atelier_studio::schedules::next::{CronReading, read_cron};
use atelier_studio::schedules::page::{RuleRow, SchedulePage};
use leptos::prelude::*;
use leptos::server_fn::ServerFn as _;

use crate::components::{
    Icon, Look, PostForm, SaveRow, SelectField, SubmitButton, Table, at_time, heads, options, zones,
};
use crate::form::FormState;
use crate::frame::Visit;
use crate::schedules::typing::CheckCron;

/// All schedules, and one more.
pub fn card(visit: &Visit, page: &SchedulePage) -> AnyView {
    let list = if page.rows.is_empty() {
        html! {
            <p class="muted pad">
                "There are none. The week above makes some when it is saved; rules by cron are added below."
            </p>
        }
    } else {
        let rows: Vec<_> = page.rows.iter().map(|row| line(visit, page, row)).collect();
        html! {
            <Table
                class="table rules" caption="Schedules" rows=rows
                head=heads(&[("What and when", ""), ("Next", ""), ("Actions", "sr")])
            />
        }
    };
    let add = page.fixed_because.is_none().then(|| add(visit, page));
    html! {
        <section class="card gap-above" id="rules">
            <header><h2>"Schedules and extra rules"</h2><span class="push note">"16 at most"</span></header>
            <div data-live="rules" data-announce="schedule|schedules">{list}</div>
            {add}
        </section>
    }
}

fn hidden(page: &SchedulePage, row: &RuleRow) -> Vec<(&'static str, String)> {
    vec![
        ("instance", page.subject.name.to_string()),
        ("schedule", row.id.to_string()),
        ("command_id", CommandId::random().as_str().to_owned()),
    ]
}

fn line(visit: &Visit, page: &SchedulePage, row: &RuleRow) -> AnyView {
    let next = match (row.is_enabled, row.skipped, row.next) {
        (false, ..) => html! { <span class="faint">"disabled"</span> },
        (true, Some(skipped), _) => {
            html! { <s>{at_time(&visit.viewer, skipped)}</s><span class="l2">"skipped"</span> }
        }
        (true, None, Some(next)) => at_time(&visit.viewer, next),
        (true, None, None) => html! { <span class="faint">"never again"</span> },
    };
    let part = row.is_week.then(|| view! { <span class="l2">"part of the week above"</span> });
    let actions = page.fixed_because.is_none().then(|| actions(page, row));
    let edit = (page.fixed_because.is_none() && !row.is_week).then(|| edit(visit, page, row)).flatten();
    let sentence = row.sentence.clone();
    html! {
        <tr data-key=row.id.to_string()>
            <th scope="row"><span class="name">{sentence}</span>{part}{edit}</th>
            <td>{next}</td>
            <td class="right">{actions}</td>
        </tr>
    }
}

fn actions(page: &SchedulePage, row: &RuleRow) -> AnyView {
    let with = |field: &'static str, value: &str| {
        let mut all = hidden(page, row);
        all.push((field, value.to_owned()));
        all
    };
    let said = row.sentence.clone();
    let (enabled, word, icon) = if row.is_enabled { ("", "Disable", "pause") } else { ("on", "Enable", "play") };
    let label = format!("{word}: {said}");
    let switch = view! {
        <PostForm function="switch_schedule" hidden=with("enabled", enabled) class="inline-form">
            <SubmitButton look=Look::Plain small=true icon=icon label=label>{word}</SubmitButton>
        </PostForm>
    };
    let skip = (row.is_enabled && (row.next.is_some() || row.skipped.is_some())).then(|| {
        let (value, word) = if row.skipped.is_some() { ("", "Don’t skip") } else { ("on", "Skip next") };
        let label = format!("{word}: {said}");
        view! {
            <PostForm function="skip_schedule" hidden=with("skip", value) class="inline-form">
                <SubmitButton look=Look::Plain small=true label=label>{word}</SubmitButton>
            </PostForm>
        }
    });
    let label = format!("Delete: {said}");
    html! {
        <span class="row-tight">
            {skip}
            {switch}
            <PostForm function="remove_schedule" hidden=hidden(page, row) class="inline-form">
                <SubmitButton look=Look::DangerQuiet small=true icon="trash" label=label/>
            </PostForm>
        </span>
    }
}

/// The form that changes a rule, folded.
fn edit(visit: &Visit, page: &SchedulePage, row: &RuleRow) -> Option<AnyView> {
    let saved = row.fields.clone()?;
    let state = visit.form("change_rule");
    let is_this = state.value("schedule", "") == row.id.to_string();
    let state = if is_this { state } else { FormState::default() };
    let fields = typed(&saved, &state);
    let id = row.id.to_string();
    let inside = rule_fields(visit, &fields, &state, &id);
    let hidden = hidden(page, row);
    Some(html! {
        <details class="more" open=is_this>
            <summary>"Change"</summary>
            <PostForm function="change_rule" state=state hidden=hidden>
                {inside}
                <SaveRow label="Save rule"/>
            </PostForm>
        </details>
    })
}

fn add(visit: &Visit, page: &SchedulePage) -> AnyView {
    let state = visit.form("add_rule");
    let mut fresh: Fields = [("action", "stop"), ("jobs", "now"), ("drain", "60")].into_iter().collect();
    fresh.set("time_zone", page.fields.get("time_zone"));
    let fields = typed(&fresh, &state);
    let inside = rule_fields(visit, &fields, &state, "new");
    let hidden =
        vec![("instance", page.subject.name.to_string()), ("command_id", CommandId::random().as_str().to_owned())];
    let is_open = !state.problems().is_empty() || state.refusal().is_some();
    html! {
        <div class="body">
            <details class="more" open=is_open>
                <summary>"Add a rule by cron"</summary>
                <PostForm function="add_rule" state=state hidden=hidden>
                    {inside}
                    <SaveRow label="Add rule" icon="plus" pending="Adding…"/>
                </PostForm>
            </details>
        </div>
    }
}

fn typed(saved: &Fields, state: &FormState) -> Fields {
    ["action", "cron", "time_zone", "jobs", "drain"]
        .map(|field| (field, state.value(field, saved.get(field))))
        .into_iter()
        .collect()
}

/// What a rule is made of. `suffix` keeps the ids of several forms apart.
fn rule_fields(visit: &Visit, fields: &Fields, state: &FormState, suffix: &str) -> AnyView {
    let actions = options(&[("start", "Start"), ("stop", "Stop")]);
    let jobs = options(&[("now", "Stop anyway"), ("drain", "Wait for jobs"), ("skip", "Leave the stop out")]);
    let zone = match fields.get("time_zone") {
        "" => visit.viewer.time_zone.clone(),
        typed => typed.to_owned(),
    };
    let zones = zones(&zone);
    let reading = match state.problem("cron") {
        Some(problem) => CronReading::Wrong(problem),
        None => read_cron(fields.get("cron"), &zone, visit.viewer.now),
    };
    let is_wrong = matches!(reading, CronReading::Wrong(_));
    let (id, answer) = (format!("f-cron-{suffix}"), format!("f-cron-{suffix}-answer"));
    let cron = fields.get("cron").to_owned();
    let ids = |name: &str| format!("f-{name}-{suffix}");
    let (action, how, wait) =
        (fields.get("action").to_owned(), fields.get("jobs").to_owned(), fields.get("drain").to_owned());
    html! {
        <div class="cols-3">
            <SelectField form=state id=ids("action") label="What" name="action" options=actions value=action/>
            <div class="field">
                <label for=id.clone()>"Cron"</label>
                <input
                    class="input mono" id=id name="cron" type="text" value=cron autocomplete="off" spellcheck="false"
                    placeholder="0 18 * * MON-FRI"
                    data-ask=CheckCron::PATH data-ask-with="time_zone" aria-invalid=is_wrong.then_some("true")
                    aria-describedby=answer.clone()
                />
                {cron_answer(&reading, Some(answer))}
            </div>
            <SelectField
                id=ids("zone") label="Time zone" name="time_zone" options=zones value=zone
                problem=state.problem("time_zone")
            />
        </div>
        <div class="cols-3">
            <SelectField
                form=state id=ids("jobs") label="Running jobs" name="jobs" options=jobs value=how
                help="For a stop; a start touches none."
            />
            <crate::components::Field
                form=state id=ids("drain") label="Wait at most, minutes" name="drain" kind="number" value=wait
                help="If it waits for jobs: 1 to 1440."
            />
        </div>
    }
}

/// What a cron expression says: the part that is asked for again while one types.
pub fn cron_answer(reading: &CronReading, id: Option<String>) -> AnyView {
    let (class, icon, words) = match reading {
        CronReading::Nothing => ("answer help", None, "Minute, hour, day of month, month, day of week.".to_owned()),
        CronReading::Says(words, times) => {
            ("answer ok", Some("check"), format!("{words}. Next: {}.", times.join(", ")))
        }
        CronReading::Wrong(words) => ("answer err", Some("warn"), words.clone()),
    };
    let icon = icon.map(|icon| view! { <Icon name=icon class="i-s"/> });
    html! { <p class=class id=id data-answer="cron" role="status">{icon}<span class="label">{words}</span></p> }
}
