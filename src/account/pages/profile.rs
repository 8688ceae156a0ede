//! One's own account: name, time zone, look, password, sessions.

use atelier_domain::account::Theme;
use atelier_domain::text::counted;
use atelier_studio::account::sessions::{SessionRow, own_sessions};
use leptos::prelude::*;

use crate::account::pages::sign_in::{password_help, zone_options};
use crate::components::{
    Card, Checkbox, Choice, ChoiceKind, ChoiceList, Def, DefList, Field, Look, NavItem, Page, PostForm, SelectField,
    StateTag, StateWord, SubmitButton, Table, ago, at_time, heads,
};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;
use crate::viewer::Viewer;

/// Everything about oneself on one page.
#[component]
pub fn ProfilePage() -> impl IntoView {
    studio(Place { nav: NavItem::Profile, needs: None, topics: &[] }, |visit| {
        let sessions = load(visit.viewer.clone(), async move { own_sessions(&here()?).await }, {
            let viewer = visit.viewer.clone();
            move |rows| sessions(rows, &viewer)
        });
        let (details, password, standing) = (details(&visit), password(&visit), standing(&visit.viewer));
        let tokens = crate::account::pages::profile_tokens::tokens(&visit);
        let keys = crate::account::pages::profile_ssh::keys(&visit);
        html! {
            <Page heading="Profile" sub="How you appear, how the portal appears to you, and where you are signed in.">
                <div class="split">
                    <div class="stack">{details}{password}{sessions}{keys}{tokens}</div>
                    <aside class="stack">{standing}</aside>
                </div>
            </Page>
        }
    })
}

fn details(visit: &Visit) -> AnyView {
    let (viewer, state) = (&visit.viewer, visit.form("update_profile"));
    let (name, zone) = (state.value("name", &viewer.name), state.value("time_zone", &viewer.time_zone));
    let themes = Theme::ALL
        .into_iter()
        .map(|theme| Choice {
            value: theme.key().to_owned(),
            label: theme.label().to_owned(),
            ticked: state.is_ticked("theme", theme.key(), theme == viewer.theme),
            ..Choice::default()
        })
        .collect();
    html! {
        <Card heading="About you">
            <PostForm function="update_profile" state=state.clone()>
                <Field
                    form=&state label="Name" name="name" value=name required=true maxlength=80_u32 autocomplete="name"
                />
                <SelectField
                    form=&state label="Time zone" name="time_zone" options=zone_options(&zone) value=zone.clone()
                    help="Times and schedules are shown in it."
                />
                <ChoiceList
                    legend="Theme" name="theme" kind=ChoiceKind::One choices=themes problem=state.problem("theme")
                />
                <div class="row"><SubmitButton pending="Saving…">"Save profile"</SubmitButton></div>
            </PostForm>
        </Card>
    }
}

fn password(visit: &Visit) -> AnyView {
    let (state, email) = (visit.form("change_password"), visit.viewer.email.clone());
    html! {
        <Card heading="Password" note="ends your other sessions">
            <PostForm function="change_password" state=state.clone()>
                <Field
                    form=&state label="Current password" name="current" kind="password" required=true
                    autocomplete="current-password"
                />
                <Field
                    form=&state label="New password" name="password" kind="password" required=true
                    autocomplete="new-password" check="password" email=email help=password_help()
                />
                <Checkbox name="end_tokens" label="Revoke all my personal tokens"/>
                <Checkbox
                    name="end_ssh_keys" label="Remove all my SSH keys"
                    help="Tick both if somebody else may know your password: they could have added their own."
                />
                <div class="row"><SubmitButton look=Look::Plain pending="Saving…">"Change password"</SubmitButton></div>
            </PostForm>
        </Card>
    }
}

fn sessions(rows: Vec<SessionRow>, viewer: &Viewer) -> AnyView {
    let note = counted(rows.len() as u64, "session", "sessions");
    let rows: Vec<_> = rows.into_iter().map(|row| session(row, viewer)).collect();
    html! {
        <Card heading="Sessions" note=note flush=true>
            <Table
                class="table tight" caption="Where you are signed in" rows=rows
                head=heads(&[
                    ("Device", ""), ("State", ""), ("Signed in", "c-owner"), ("Last used", ""), ("Ends", "c-size"),
                    ("", ""),
                ])
            >
                <div class="table-foot">
                    <span>"Sign out everywhere ends every session, this one included."</span>
                    <PostForm function="sign_out_everywhere" class="push">
                        <SubmitButton look=Look::DangerQuiet small=true icon="logout" pending="Signing out…">
                            "Sign out everywhere"
                        </SubmitButton>
                    </PostForm>
                </div>
            </Table>
        </Card>
    }
}

fn session(row: SessionRow, viewer: &Viewer) -> impl IntoView + use<> {
    let state = if row.is_current { StateWord::ThisSession } else { StateWord::Active };
    let end = (!row.is_current).then(|| {
        let label = format!("End the session on {}", row.device);
        view! {
            <PostForm function="end_session" class="row-tight" hidden=vec![("key", row.key.to_string())]>
                <SubmitButton look=Look::Plain small=true label=label pending="Ending…">"End"</SubmitButton>
            </PostForm>
        }
    });
    view! {
        <tr data-key=row.key.to_string()>
            <th scope="row"><span class="name">{row.device}</span><span class="l2">{row.address}</span></th>
            <td><StateTag state=state/></td>
            <td class="c-owner">{ago(viewer, row.created_at)}</td>
            <td>{ago(viewer, row.seen_at)}</td>
            <td class="c-size">{at_time(viewer, row.ends_at)}</td>
            <td class="right">{end}</td>
        </tr>
    }
}

fn standing(viewer: &Viewer) -> AnyView {
    let roles: Vec<_> = viewer
        .rights
        .roles()
        .iter()
        .map(|role| view! { <li><b>{role.label()}</b><span class="l2">{role.summary()}</span></li> })
        .collect();
    let (email, workspace) = (viewer.email.clone(), viewer.workspace.name.clone());
    let all_roles = atelier_domain::paths::roles(&viewer.workspace.slug);
    html! {
        <Card heading="Your account">
            <DefList>
                <Def term="E-mail">{email}</Def>
                <Def term="Workspace">{workspace}</Def>
            </DefList>
            <ul class="stack-s">{roles}</ul>
            <p class="help">
                "Your e-mail and roles are changed by an Owner. "
                <a href=all_roles>"What each role may do"</a>
            </p>
        </Card>
    }
}
