//! The form that adds a person.

use atelier_domain::access::{Action, Role, Whose};
use atelier_domain::paths;
use atelier_studio::people::commands::unconfirmed_trust;
use leptos::prelude::*;

use crate::components::{
    Card, Checkbox, Crumb, Field, LinkButton, Look, NavItem, Page, PostForm, SubmitButton, WhyField,
};
use crate::frame::{Place, Visit, load, studio};
use crate::people::pages::role_fields::RoleChoices;
use crate::server::caller::here;

/// Adds a person with a temporary password.
#[component]
pub fn NewPersonPage() -> impl IntoView {
    let place = Place { nav: NavItem::People, needs: Some((Action::MemberWrite, Whose::Others)), topics: &[] };
    studio(place, |visit| {
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
        view! {
            {problem}
            <Checkbox name="trust" label="Everyone here trusts everyone" help=why/>
        }
    });
    view! {
        <Card>
            <PostForm function="create_person" state=state.clone()>
                <Field
                    label="Name" name="name" value=state.value("name", "") problem=state.problem("name")
                    required=true autofocus=true maxlength=80_u32 autocomplete="off"
                />
                <Field
                    label="E-mail" name="email" kind="email" value=state.value("email", "")
                    problem=state.problem("email")
                    required=true autocomplete="off" help="They sign in with it. Atelier sends no mail."
                />
                <RoleChoices state=state.clone() held=vec![Role::DataScientist]/>
                {trust}
                <WhyField state=state.clone()/>
                <div class="row">
                    <SubmitButton icon="plus" pending="Adding…">"Add person"</SubmitButton>
                    <LinkButton href=back look=Look::Ghost>"Cancel"</LinkButton>
                </div>
            </PostForm>
        </Card>
    }
    .into_any()
}

fn next_steps() -> AnyView {
    view! {
        <Card heading="What happens next">
            <ol class="steps-list">
                <li>"You see a temporary password, once. Hand it over in person or by a channel you trust."</li>
                <li>"They sign in with it and choose their own before anything else."</li>
                <li>"Until then they are listed as waiting for the first sign-in."</li>
            </ol>
        </Card>
    }
    .into_any()
}
