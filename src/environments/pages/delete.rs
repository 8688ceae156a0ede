//! The question before an environment is deleted.

use atelier_domain::access::Action;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::environments::list::{NamedDetail, named_environment};
use leptos::prelude::*;

use crate::components::{ConfirmCard, Consequence, Crumb, LinkButton, NavItem, Page, Tone, Why};
use crate::frame::{Place, Visit, load, param, studio};
use crate::server::caller::here;

/// Asks before an environment is deleted. Script shows the card as a dialog on the page one came from.
#[component]
pub fn DeleteEnvironmentPage() -> impl IntoView {
    studio(Place::own(NavItem::Environments, Action::EnvironmentWrite, &[]), |visit| {
        let name = param("name");
        let read = async move { named_environment(&here()?, &name, "").await };
        load(visit.viewer.clone(), read, move |detail| ask(&visit, &detail))
    })
}

fn ask(visit: &Visit, detail: &NamedDetail) -> AnyView {
    let (name, slug) = (detail.view.row.name.to_string(), visit.slug());
    let back = paths::named_environment(slug, &name);
    let crumbs = vec![Crumb::new("Environments", paths::environments(slug)), Crumb::new(name.clone(), back.clone())];
    let because = detail.refusal.as_ref().map(ToString::to_string).or_else(|| detail.in_use.clone());
    let content = match because {
        Some(reason) => html! {
            <section class="confirm" data-confirm-card="">
                <Why tone=Tone::Warning title=format!("{name} stays") text=reason>
                    <LinkButton href=back>"Go back"</LinkButton>
                </Why>
            </section>
        },
        None => {
            let versions = counted(detail.view.versions.len() as u64, "version", "versions");
            let rows = vec![
                Consequence::new(
                    versions,
                    "Will be deleted with their lists. Jobs cannot name them any more.",
                    Tone::Warning,
                ),
                Consequence::new("Kernels in JupyterLab", "Will not be offered any more.", Tone::Warning),
                Consequence::new("Jobs that are over", "Are kept, with the name of what they ran with.", Tone::Neutral),
            ];
            let (keep, go) = (format!("Keep {name}"), format!("Delete {name}"));
            html! {
                <ConfirmCard
                    title=format!("Delete {name}?") rows=rows function="delete_environment"
                    hidden=vec![("environment", name.clone())] state=visit.form("delete_environment") keep=keep
                    back=back go=go icon="trash"
                />
            }
        }
    };
    html! { <Page heading="Delete environment" crumbs=crumbs>{content}</Page> }
}
