//! The form that submits a job.

use atelier_domain::access::Action;
use atelier_domain::paths;
use atelier_studio::jobs::form::{Advice, Beginning, JobForm, job_form};
use atelier_studio::jobs::quote::PRICED;
use atelier_studio::secret::random_token;
use leptos::prelude::*;
use leptos::server_fn::ServerFn as _;

use crate::components::{Banner, Card, Crumb, LinkButton, Look, NavItem, Page, SubmitButton, Tone, Why, price};
use crate::form::{Flash, FormState};
use crate::frame::{Place, Visit, load, studio};
use crate::jobs::http::submit::FORM;
use crate::jobs::pages::{fields, what_if};
use crate::jobs::typing::QuoteJob;
use crate::server::caller::here;
use crate::server::page;

#[component]
pub fn NewJobPage() -> impl IntoView {
    studio(Place::own(NavItem::Jobs, Action::JobSubmit, &[]), |visit| {
        let state = visit.form(FORM);
        let typed = visit.flash.as_ref().filter(|flash| flash.form == FORM).map(|flash| flash.values.clone());
        let typed = typed.filter(|values| !values.is_empty());
        let said = |name: &str| page::query(name).unwrap_or_default();
        let begin = Beginning {
            clone: said("clone"),
            cluster: said("cluster"),
            file: said("file"),
            instance: said("instance"),
        };
        let read = async move { job_form(&here()?, typed, &begin).await };
        load(visit.viewer.clone(), read, move |form| show(&visit, &state, form))
    })
}

fn show(visit: &Visit, state: &FormState, form: JobForm) -> AnyView {
    let slug = visit.slug();
    let refusal = state.refusal().map(|reason| {
        view! { <Why tone=Tone::Failed title="Nothing was submitted" text=reason alert=true/> }
    });
    let low = form.is_disk_low.then(|| {
        view! {
            <Banner
                tone=Tone::Warning
                text="The server’s disk is nearly full: jobs are refused until an operator has made room."
            />
        }
    });
    let advice = form.advice.as_ref().map(|advice| advise(slug, advice));
    // What was typed is known here, whether it was typed just now or copied from another job.
    let flash = Flash { form: FORM.into(), values: form.values.clone(), ..Flash::default() };
    let flash = Flash { problems: state.problems(), ..flash };
    let state = FormState::of(Some(&flash), FORM);
    let (what, place, more) = (fields::what(&state, &form), fields::place(&state, &form), fields::more(&state));
    let price = price::card("Price", &form.quote);
    let choices = form.choices.as_ref().map(|choices| what_if::card(&visit.viewer, choices));
    let (action, back) = (paths::upload_job(slug), paths::jobs(slug));
    html! {
        <Page
            heading="Submit job" crumbs=vec![Crumb::new("Jobs", paths::jobs(slug))]
            sub="It waits until its nodes are there, runs, and keeps what it printed and wrote."
        >
            {low}
            <form
                method="post" action=action enctype="multipart/form-data" class="split" data-post="submit_job"
                data-quote=QuoteJob::PATH data-quote-of=PRICED.join(",")
            >
                <input type="hidden" name="command_id" value=random_token()/>
                <div class="stack">
                    {refusal}
                    {advice}
                    {choices}
                    {what}
                    {place}
                    {more}
                </div>
                <aside class="stack sticky-side">
                    {price}
                    <Card>
                        <div class="stack-s">
                            <SubmitButton name="act" value="submit" pending="Submitting…" block=true icon="play">
                                "Submit job"
                            </SubmitButton>
                            <SubmitButton
                                name="act" value="when" look=Look::Plain pending="Working it out…" block=true
                                icon="clock"
                            >
                                "When would it start?"
                            </SubmitButton>
                            <LinkButton href=back look=Look::Ghost block=true>"Back to the jobs"</LinkButton>
                            <div class="without-script">
                                <SubmitButton name="act" value="check" look=Look::Plain block=true icon="cost">
                                    "Check price"
                                </SubmitButton>
                            </div>
                        </div>
                    </Card>
                </aside>
            </form>
        </Page>
    }
}

fn advise(slug: &str, advice: &Advice) -> AnyView {
    let freeze = advice.freeze.as_ref().map(|instance| {
        let href = format!("{}?from={instance}", paths::new_environment(slug));
        view! { <div class="row"><LinkButton href=href icon="code">{format!("Freeze {instance}")}</LinkButton></div> }
    });
    html! {
        <Why tone=Tone::Warning title=advice.title.clone() text=advice.text.clone()/>
        {freeze}
    }
}
