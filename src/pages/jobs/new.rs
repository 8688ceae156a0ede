//! The form that submits a job.

use atelier_domain::access::{Action, Whose};
use leptos::prelude::*;

use super::{fields, what_if};
use crate::api::jobs::{JobForm, PRICED, job_form};
use crate::components::{Banner, Card, Crumb, LinkButton, Look, NavItem, Page, SubmitButton, Tone, Why};
use crate::form::{Flash, FormState};
use crate::pages::compute::price;
use crate::pages::frame::{Place, Visit, load, studio};
use crate::paths;
use crate::server::{page, random_token, uploads};

/// Submits a job.
#[component]
pub fn NewJobPage() -> impl IntoView {
    let place = Place { nav: NavItem::Jobs, needs: Some((Action::JobSubmit, Whose::Own)), topics: &[] };
    studio(place, |visit| {
        let state = visit.form(uploads::FORM);
        let typed = visit.flash.as_ref().filter(|flash| flash.form == uploads::FORM).map(|flash| flash.values.clone());
        let typed = typed.filter(|values| !values.is_empty());
        let (clone, cluster) = (page::query("clone").unwrap_or_default(), page::query("cluster").unwrap_or_default());
        let file = page::query("file").unwrap_or_default();
        let read = async move { job_form(typed, &clone, &cluster, &file).await };
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
    // What was typed is known here, whether it was typed just now or copied from another job.
    let flash = Flash { form: uploads::FORM.into(), values: form.values.clone(), ..Flash::default() };
    let flash = Flash { problems: state.problems(), ..flash };
    let state = FormState::of(Some(&flash), uploads::FORM);
    let (what, place, more) = (fields::what(&state, &form), fields::place(&state, &form), fields::more(&state));
    let price = price::card("Price", &form.quote);
    let choices = form.choices.as_ref().map(|choices| what_if::card(&visit.viewer, choices));
    let (action, back, quote) = (paths::upload_job(slug), paths::jobs(slug), paths::job_quote(slug));
    view! {
        <Page
            heading="Submit job" crumbs=vec![Crumb::new("Jobs", paths::jobs(slug))]
            sub="It waits until its nodes are there, runs, and keeps what it printed and wrote."
        >
            {low}
            <form
                method="post" action=action enctype="multipart/form-data" class="split" data-post="submit_job"
                data-quote=quote data-quote-of=PRICED.join(",")
            >
                <input type="hidden" name="command_id" value=random_token()/>
                <div class="stack">
                    {refusal}
                    {choices}
                    {what}
                    {place}
                    {more}
                </div>
                <aside class="stack sticky-side">
                    {price}
                    <Card>
                        <div class="stack-s">
                            <SubmitButton name="act" value="submit" pending="Submitting…" block=true icon="play">"Submit job"</SubmitButton>
                            <SubmitButton name="act" value="when" look=Look::Plain pending="Working it out…" block=true icon="clock">"When would it start?"</SubmitButton>
                            <LinkButton href=back look=Look::Ghost block=true>"Back to the jobs"</LinkButton>
                            <div class="without-script">
                                <SubmitButton name="act" value="check" look=Look::Plain block=true icon="cost">"Check price"</SubmitButton>
                            </div>
                        </div>
                    </Card>
                </aside>
            </form>
        </Page>
    }
    .into_any()
}
