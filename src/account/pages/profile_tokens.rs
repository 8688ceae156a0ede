//! The card of personal tokens on the profile page.

use atelier_domain::text::counted;
use atelier_domain::token::{DEFAULT_DAYS, MAX_DAYS, MAX_NAME, MIN_DAYS};
use atelier_engine::store::Token;
use atelier_studio::account::tokens::own_tokens;
use leptos::prelude::*;

use crate::components::{Card, Field, Look, PostForm, SubmitButton, Table, ago, ago_or, at_time, heads};
use crate::form::FormState;
use crate::frame::{Visit, load};
use crate::server::caller::here;
use crate::viewer::Viewer;

/// The tokens with their verbs, and the form that makes one.
pub fn tokens(visit: &Visit) -> AnyView {
    let (viewer, made, revoked) = (visit.viewer.clone(), visit.form("create_token"), visit.form("revoke_token"));
    load(viewer.clone(), async move { own_tokens(&here()?).await }, move |rows| {
        let working = rows.iter().filter(|row| row.expires_at > viewer.now).count() as u64;
        let refusal = revoked.refusal().map(|reason| view! { <p class="err" role="alert">{reason}</p> });
        let (list, form) = (list(rows, &viewer), form(made));
        html! {
            <Card heading="API tokens" note=counted(working, "token works", "tokens work") flush=true>
                {list}
                <div class="body stack">{refusal}{form}</div>
            </Card>
        }
    })
}

fn list(rows: Vec<Token>, viewer: &Viewer) -> Option<AnyView> {
    if rows.is_empty() {
        return None;
    }
    let rows: Vec<_> = rows.into_iter().map(|row| token(row, viewer)).collect();
    let table = view! {
        <Table
            class="table tight" caption="Your tokens for the API" rows=rows
            head=heads(&[("Name", ""), ("Made", "c-owner"), ("Last used", ""), ("Works until", ""), ("", "")])
        />
    };
    Some(table.into_any())
}

fn token(row: Token, viewer: &Viewer) -> AnyView {
    let used = ago_or(viewer, row.used_at, "never");
    let expired = (row.expires_at <= viewer.now).then(|| view! { <span class="l2">"expired, works no more"</span> });
    let (label, key) = (format!("Revoke the token {}", row.name), row.id.to_string());
    html! {
        <tr data-key=key>
            <th scope="row"><span class="name">{row.name}</span>{expired}</th>
            <td class="c-owner">{ago(viewer, row.created_at)}</td>
            <td data-label="Last used">{used}</td>
            <td data-label="Works until">{at_time(viewer, row.expires_at)}</td>
            <td class="right">
                <PostForm function="revoke_token" class="row-tight" hidden=vec![("token", row.id.to_string())]>
                    <SubmitButton look=Look::Plain small=true label=label pending="Revoking…">"Revoke"</SubmitButton>
                </PostForm>
            </td>
        </tr>
    }
}

fn form(state: FormState) -> AnyView {
    let days = state.value("days", &DEFAULT_DAYS.to_string());
    html! {
        <p class="help">
            "Programs that use the API send a token in place of your password. A token may do what you may do, until \
             it expires or you revoke it. Its secret is shown once."
        </p>
        <PostForm function="create_token" state=state.clone()>
            <div class="cols-2">
                <Field
                    form=&state id="token-name" label="Name" name="name" required=true maxlength=MAX_NAME as u32
                    autocomplete="off" help="What it is for, or where it is used."
                />
                <Field
                    form=&state id="token-days" label="Days" name="days" kind="number" value=days autocomplete="off"
                    help=format!("How long it works: {MIN_DAYS} to {MAX_DAYS}.")
                />
            </div>
            <div class="row"><SubmitButton look=Look::Plain pending="Making…">"Make a token"</SubmitButton></div>
        </PostForm>
    }
}
