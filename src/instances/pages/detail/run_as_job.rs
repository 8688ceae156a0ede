//! A file of the workspace as a job, with the packages of an instance.

use atelier_domain::access::{Action, Whose};
use atelier_domain::paths;
use atelier_studio::instances::detail::InstanceDetail;
use atelier_studio::jobs::typed::INSTANCE;
use leptos::prelude::*;

use crate::components::{Card, Field, LinkButton, SubmitButton};
use crate::frame::Visit;

/// The ways to the form; only for its owner, who alone sees what is installed in it.
pub fn card(visit: &Visit, detail: &InstanceDetail) -> Option<AnyView> {
    if !detail.view.is_own() || visit.viewer.rights.check(Action::JobSubmit, Whose::Own).is_err() {
        return None;
    }
    let (action, name) = (paths::new_job(visit.slug()), detail.view.name.clone());
    let help = format!(
        "A script or notebook of Files, such as Users/…/train.py. The form that opens has the packages of {name}."
    );
    let on_it = format!("{action}?cluster={INSTANCE}{name}");
    let card = view! {
        <Card heading="Run a job here">
            <p class="muted">"One job for each core runs at once; the others wait in this instance’s queue."</p>
            <div class="row"><LinkButton href=on_it icon="play">"Submit job"</LinkButton></div>
        </Card>
        <Card heading="Run a file as a job">
            <form class="stack" method="get" action=action>
                <input type="hidden" name="instance" value=name/>
                <Field label="File" name="file" autocomplete="off" required=true help=help/>
                <div class="row"><SubmitButton icon="play">"Fill in a job"</SubmitButton></div>
            </form>
        </Card>
    };
    Some(card.into_any())
}
