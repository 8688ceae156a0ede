//! The form that adds a person.

use atelier_domain::access::{Action, Role};
use atelier_domain::paths;
use leptos::prelude::*;

use crate::components::{Card, Crumb, Field, LinkButton, Look, NavItem, Page, PostForm, SaveRow, WhyField};
use crate::frame::{Place, Visit, studio};
use crate::people::pages::role_fields::RoleChoices;

/// Adds a person with a temporary password.
#[component]
pub fn NewPersonPage() -> impl IntoView {
    studio(Place::of(NavItem::People, Action::MemberWrite, &[]), |visit| {
        let back = paths::people(visit.slug());
        let form = form(&visit, back.clone());
        html! {
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
    })
}

fn form(visit: &Visit, back: String) -> AnyView {
    let state = visit.form("create_person");
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
