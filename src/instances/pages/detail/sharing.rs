//! With whom an instance's applications are shared, and the form that shares one.

use atelier_domain::account::AccountState;
use atelier_domain::app_sharing::{Level, can_be_looked_at};
use atelier_domain::text::counted;
use atelier_studio::instances::detail::InstanceDetail;
use atelier_studio::instances::sharing::{ShareRow, SharingView};
use leptos::prelude::*;

use crate::components::{
    Card, Field, Look, PostForm, SaveRow, SelectField, SubmitButton, Table, Who, ago, ago_or, at_time, heads,
};
use crate::frame::Visit;
use crate::instances::pages::detail::parts::person_field;

/// The tab. The list is live; the form is not, so that typing isn't lost.
pub fn tab(visit: &Visit, detail: &InstanceDetail, view: SharingView) -> AnyView {
    let working = view.rows.iter().filter(|row| row.opens.is_some()).count() as u64;
    let note = counted(working, "share is open", "shares are open");
    let refusal = visit.form("revoke_share").refusal().map(|why| view! { <p class="err" role="alert">{why}</p> });
    let list = list(visit, detail, &view.rows);
    let (form, meanings) = (form(visit, detail, &view), meanings(detail));
    html! {
        <div class="split">
            <div class="stack">
                <div data-live="shares">
                    <Card heading="Shared with" note=note flush=true>{refusal}{list}</Card>
                </div>
                <Card heading="Share an application">{form}</Card>
            </div>
            <aside class="stack"><Card heading="What they can do">{meanings}</Card></aside>
        </div>
    }
}

fn list(visit: &Visit, detail: &InstanceDetail, rows: &[ShareRow]) -> AnyView {
    if rows.is_empty() {
        return html! {
            <div class="body"><p class="muted">"Nobody but you opens applications of this instance."</p></div>
        };
    }
    let rows: Vec<_> = rows.iter().map(|row| line(visit, detail, row)).collect();
    html! {
        <Table
            class="table tight" caption="With whom applications are shared" rows=rows
            head=heads(&[
                ("Person", ""), ("Application", ""), ("Until", ""), ("Since", "c-owner"), ("Last used", ""), ("", ""),
            ])
        />
    }
}

fn line(visit: &Visit, detail: &InstanceDetail, row: &ShareRow) -> AnyView {
    let viewer = &visit.viewer;
    let until = row.until.map_or_else(|| "no end".into_any(), |until| at_time(viewer, until));
    let used = ago_or(viewer, row.used_at, "never");
    let level = match row.opens {
        Some(level) => format!("to {}", level.key()),
        None if row.until.is_some_and(|until| until <= viewer.now) => "its time is over".to_owned(),
        None if row.person.state == AccountState::Disabled => "opens nothing: the account is disabled".to_owned(),
        None if !can_be_looked_at(&row.app) => "opens nothing: it cannot be shared to read".to_owned(),
        None => "opens nothing: the account cannot be used".to_owned(),
    };
    let hidden =
        vec![("instance", detail.view.name.clone()), ("app", row.app.clone()), ("person", row.person.id.to_string())];
    let label = format!("Revoke {} for {}", row.label, row.person.name);
    let key = format!("{}-{}", row.person.id, row.app);
    html! {
        <tr data-key=key>
            <th scope="row"><Who name=row.person.name.clone()/></th>
            <td data-label="Application"><span class="l1">{row.label.clone()}</span><span class="l2">{level}</span></td>
            <td data-label="Until">{until}</td>
            <td class="c-owner">{ago(viewer, row.since)}</td>
            <td data-label="Last used">{used}</td>
            <td class="right">
                <PostForm function="revoke_share" class="row-tight" hidden=hidden>
                    <SubmitButton look=Look::Plain small=true label=label pending="Revoking…">"Revoke"</SubmitButton>
                </PostForm>
            </td>
        </tr>
    }
}

fn form(visit: &Visit, detail: &InstanceDetail, view: &SharingView) -> AnyView {
    let state = visit.form("share_app");
    if view.colleagues.is_empty() {
        return html! { <p class="muted">"There is nobody else in this workspace yet."</p> };
    }
    let names = ["share-person", "With", "person"];
    let person = person_field(&state, &view.colleagues, names, "Choose a colleague", "");
    let apps: Vec<(String, String)> = detail.apps.iter().map(|app| (app.name.clone(), app.label.clone())).collect();
    let levels = Level::ALL.map(|level| (level.key().to_owned(), level.label().to_owned())).to_vec();
    let zone = format!("In {}. Leave it empty for no end.", visit.viewer.time_zone.replace('_', " "));
    let hidden = vec![("instance", detail.view.name.clone())];
    html! {
        <PostForm function="share_app" state=state.clone() hidden=hidden>
            <div class="cols-2">
                {person}
                <SelectField form=&state id="share-app" label="Application" name="app" options=apps/>
            </div>
            <div class="cols-2">
                <SelectField
                    form=&state id="share-level" label="What they may do" name="level" options=levels value="read"
                />
                <Field form=&state id="share-until" label="Until" name="until" kind="datetime-local" help=zone/>
            </div>
            <SaveRow label="Share" look=Look::Primary icon="users" pending="Sharing…"/>
        </PostForm>
    }
}

/// What the two words mean at each of its applications.
fn meanings(detail: &InstanceDetail) -> AnyView {
    let apps: Vec<_> = detail
        .apps
        .iter()
        .map(|app| {
            let levels = Level::ALL.map(|level| {
                let meaning = level.meaning(&app.name);
                view! { <p class="xs"><b>{level.label()}</b>": "{meaning}</p> }
            });
            view! { <div class="stack-s"><h3>{app.label.clone()}</h3>{levels.into_iter().collect_view()}</div> }
        })
        .collect();
    html! {
        {apps}
        <p class="muted xs">
            "Nobody starts or stops the instance, reaches its files or logs in with SSH by a share. Whoever may use an \
             application works as you: their work keeps the instance awake, and the page says who it was."
        </p>
    }
}
