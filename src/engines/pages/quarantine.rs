//! Asks what becomes of something in quarantine.

use atelier_domain::access::Action;
use atelier_domain::files::bytes;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::engines::{Held, engines};
use leptos::prelude::*;

use crate::components::{Card, Crumb, Field, Look, NavItem, Page, PostForm, SubmitButton};
use crate::frame::{Place, Visit, help, load, studio};
use crate::server::caller::here;
use crate::server::page;

/// Restore it to somebody, or remove it.
#[component]
pub fn QuarantinePage() -> impl IntoView {
    studio(Place::of(NavItem::Engines, Action::InstanceTransfer, &[]), |visit| {
        let name = page::query("name").unwrap_or_default();
        load(visit.viewer.clone(), async { engines(&here()?).await }, move |detail| {
            match detail.held.into_iter().find(|held| held.name == name) {
                Some(held) => decide(&visit, &held),
                None => help::not_found(&visit.viewer, "entry in quarantine"),
            }
        })
    })
}

fn decide(visit: &Visit, held: &Held) -> AnyView {
    let (restore, remove) = (visit.form("restore_held"), visit.form("remove_held"));
    let (to_restore, to_remove) = (vec![("name", held.name.clone())], vec![("name", held.name.clone())]);
    let size = format!("{}, {}", counted(held.files, "file", "files"), bytes(held.bytes));
    let (email, problem) = (restore.value("email", ""), restore.problem("email"));
    html! {
        <Page heading=held.what.clone() crumbs=vec![Crumb::new("Engines", paths::engines(visit.slug()))]>
            <p class="muted">{size}". The restored database doesn’t know it."</p>
            <Card heading="Restore">
                <PostForm function="restore_held" state=restore hidden=to_restore>
                    <Field
                        label="Email" name="email" kind="email" value=email problem=problem
                        required=true autocomplete="off" help="Who gets it, in the folder restored of their Files."
                    />
                    <div class="row"><SubmitButton>"Restore files"</SubmitButton></div>
                </PostForm>
            </Card>
            <Card heading="Remove">
                <p class="muted">"This can’t be undone."</p>
                <PostForm function="remove_held" state=remove hidden=to_remove>
                    <div class="row"><SubmitButton look=Look::Danger icon="trash">"Remove files"</SubmitButton></div>
                </PostForm>
            </Card>
        </Page>
    }
}
