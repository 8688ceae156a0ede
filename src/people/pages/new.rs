//! The form that adds a person.

use atelier_domain::access::{Action, Role};
use atelier_domain::paths;
use atelier_studio::people::commands::unconfirmed_trust;
use leptos::prelude::*;

use crate::components::{Card, Checkbox, Crumb, Field, LinkButton, Look, NavItem, Page, PostForm, SaveRow, WhyField};
use crate::frame::{Place, Visit, load, studio};
use crate::people::pages::role_fields::RoleChoices;
use crate::server::caller::here;

/// Adds a person with a temporary password.
#[component]
pub fn NewPersonPage() -> impl IntoView {
    studio(Place::of(NavItem::People, Action::MemberWrite, &[]), |visit| {
        let read = async { unconfirmed_trust(&here()?).await };
        load(visit.viewer.clone(), read, move |mixed| show(&visit, mixed))
    })
}

fn show(visit: &Visit, mixed: Option<&'static str>) -> AnyView {
    let back = paths::people(visit.slug());
    let form = form(visit, back.clone(), mixed);
    view! {
        <Page
            heading="Add person" crumbs=vec![Crumb::new("People", back)]
            sub=format!("They can sign in to {} as soon as you have given them their temporary \
                         password.", visit.viewer.workspace.name)
        >
            <div class="split">
                {form}
                <aside class="stack">{next_steps()}</aside>
            </div>
        </Page>
    }
    .into_any()
}

fn form(visit: &Visit, back: String, mixed: Option<&'static str>) -> AnyView {
    let state = visit.form("create_person");
    let trust = mixed.map(|why| {
        let problem = state.problem("trust").map(|problem| view! { <p class="err" role="alert">{problem}</p> });
        html! {
            {problem}
            <Checkbox name="trust" label="Everyone here trusts everyone" help=why/>
        }
    });
    html! {
        <Card>
            <PostForm function="create_person" state=state.clone()>
                <Field
                    form=&state label="Name" name="name" required=true autofocus=true maxlength=80_u32
                    autocomplete="off"
                />
                <Field
                    form=&state label="E-mail" name="email" kind="email" required=true autocomplete="off"
                    help="They sign in with it. Atelier sends no mail."
                />
                <RoleChoices state=state.clone() held=vec![Role::DataScientist]/>
                {trust}
                <WhyField state=state.clone()/>
                <SaveRow label="Add person" look=Look::Primary icon="plus" pending="Adding…">
                    <LinkButton href=back look=Look::Ghost>"Cancel"</LinkButton>
                </SaveRow>
            </PostForm>
        </Card>
    }
}

fn next_steps() -> AnyView {
    html! {
        <Card heading="What happens next">
            <ol class="steps-list">
                <li>"You see a temporary password, once. Hand it over in person or by a channel you trust."</li>
                <li>"They sign in with it and choose their own before anything else."</li>
                <li>"Until then they are listed as waiting for the first sign-in."</li>
            </ol>
        </Card>
    }
}
