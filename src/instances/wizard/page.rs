//! The wizard that makes an instance. Each step is a plain form that carries what was typed in all of them,
//! so nothing is lost going back and forth, with and without script.

use atelier_domain::access::Action;
use atelier_domain::fields::{DAYS, Fields};
use atelier_domain::history::Topic;
use atelier_domain::paths;
use leptos::prelude::*;
use leptos::server_fn::ServerFn as _;

use crate::components::{
    Banner, Crumb, EmptyState, Icon, LinkButton, Look, NavItem, Page, SubmitButton, TextField, Tone, Why,
};
use crate::form::{Flash, FormState};
use crate::frame::{Place, Visit, load, studio};
use crate::instances::typing::QuoteInstance;
use crate::instances::wizard::steps::{FIELDS, Step, Wizard, is_shown, wizard};
use crate::server::caller::here;
use crate::server::page;

/// The name under which the page finds its flash.
pub const FORM: &str = "new_instance";

/// What decides about the summary.
const PRICED: [&str; 9] = ["name", "owner", "size", "scheduled", "time_zone", "idle", "idle_minutes", "quota", "begin"];

#[component]
pub fn NewInstancePage() -> impl IntoView {
    studio(Place::own(NavItem::Compute, Action::InstanceCreate, &[Topic::Engine]), |visit| {
        let (caller, state) = (here(), visit.form(FORM));
        let query = |name: &str| page::query(name).unwrap_or_default();
        let (draft, step) = (query("draft"), Step::or_first(&query("step")));
        let proposed = ["name", "size"].map(|field| (field, query(field)));
        let typed = visit.flash.as_ref().filter(|flash| flash.form == FORM && !flash.values.is_empty());
        let typed = typed.map(|flash| {
            flash.values.iter().filter_map(|(k, all)| Some((k.clone(), all.last()?.clone()))).collect::<Fields>()
        });
        let read = async move { wizard(&caller?, typed, &draft, step, &proposed).await };
        load(visit.viewer.clone(), read, move |wizard| show(&visit, &state, wizard))
    })
}

fn show(visit: &Visit, state: &FormState, wizard: Wizard) -> AnyView {
    let slug = visit.slug();
    let back = paths::compute(slug, "instances");
    let crumbs = vec![Crumb::new("Compute", back.clone()), Crumb::new("Instances", back.clone())];
    let content = if wizard.sizes.is_empty() { no_sizes(visit) } else { form(visit, state, wizard, back) };
    html! { <Page heading="New instance" crumbs=crumbs>{content}</Page> }
}

fn no_sizes(visit: &Visit) -> AnyView {
    let (add, refusal) = (paths::size(visit.slug(), "new"), visit.viewer.may(Action::SizeWrite).err());
    let refusal = refusal.map(|denied| visit.viewer.why_not(&denied));
    html! {
        <EmptyState
            heading="There are no sizes yet"
            text="An instance runs on a node of one size. The catalogue is empty, so nothing can be chosen."
        >
            <LinkButton href=add look=Look::Primary icon="plus" disabled_because=refusal>"Add size"</LinkButton>
        </EmptyState>
    }
}

fn form(visit: &Visit, state: &FormState, wizard: Wizard, back: String) -> AnyView {
    let (slug, step) = (visit.slug(), wizard.step);
    let refusal = state.refusal().map(|reason| {
        view! { <Why tone=Tone::Failed title="Nothing was created" text=reason alert=true/> }
    });
    let lost = wizard.is_lost.then(|| {
        let text = "What was typed before is no longer kept: more than a day has passed, or the address is somebody \
                    else’s. Begin again.";
        view! { <Banner tone=Tone::Warning text=text/> }
    });
    // What only the engine could know is said first; what is typed wrong is known here.
    let mut problems = state.problems();
    problems.extend(
        wizard.problems.iter().filter(|more| !state.problems().iter().any(|known| known.field == more.field)).cloned(),
    );
    let values = wizard.fields.0.iter().map(|(field, value)| (field.clone(), vec![value.clone()])).collect();
    let flash = Flash { form: FORM.into(), values, problems, ..Flash::default() };
    let state = FormState::of(Some(&flash), FORM);
    let content = match step {
        Step::Size => crate::instances::wizard::page_size::step(visit, &state, &wizard),
        Step::Schedule => crate::instances::wizard::page_place::schedule(visit, &state, &wizard),
        Step::Access => crate::instances::wizard::page_place::access(visit, &state, &wizard),
        Step::Applications => crate::instances::wizard::page_applications::step(visit, &state, &wizard),
        Step::Tags => tags(&state),
        Step::Review => crate::instances::wizard::page_review::step(visit, &state, &wizard),
    };
    let (hidden, steps, ways) = (carried(&wizard), stepper(step), ways(step, back));
    let of: Vec<String> = PRICED
        .iter()
        .map(|field| (*field).to_owned())
        .chain(DAYS.iter().flat_map(|day| [(*day).to_owned(), format!("{day}_start"), format!("{day}_stop")]))
        .collect();
    let side = crate::instances::wizard::page_summary::side(step, &wizard.summary);
    html! {
        {lost}
        <form
            method="post" action=paths::new_instance_step(slug) enctype="multipart/form-data" class="split" novalidate
            data-post=FORM data-quote=QuoteInstance::PATH data-quote-of=of.join(",")
        >
            // What Enter presses: the first button of a form.
            <button class="sr" type="submit" name="go" value="next" tabindex="-1" aria-hidden="true">"Next"</button>
            <input type="hidden" name="step" value=step.key()/>
            {hidden}
            <div class="stack">
                {steps}
                {refusal}
                {content}
                {ways}
            </div>
            {side}
        </form>
    }
}

/// What was typed in the other steps.
fn carried(wizard: &Wizard) -> AnyView {
    let days = DAYS.iter().flat_map(|day| [(*day).to_owned(), format!("{day}_start"), format!("{day}_stop")]);
    let all = FIELDS.iter().map(|field| (*field).to_owned()).chain(days);
    all.filter(|field| !is_shown(wizard.step, field) && wizard.fields.is_on(field))
        .map(|field| {
            let value = wizard.fields.get(&field).to_owned();
            view! { <input type="hidden" name=field value=value/> }
        })
        .collect_view()
        .into_any()
}

/// The steps as buttons: going anywhere takes what was typed along.
fn stepper(current: Step) -> AnyView {
    let steps: Vec<_> = Step::ALL
        .into_iter()
        .map(|step| {
            let here = (step == current).then_some("step");
            view! {
                <li><button type="submit" name="go" value=step.key() aria-current=here>{step.label()}</button></li>
            }
        })
        .collect();
    html! { <ol class="steps" aria-label="Steps">{steps}</ol> }
}

fn ways(step: Step, back: String) -> AnyView {
    let before = step.before().map(|before| {
        view! { <SubmitButton look=Look::Plain name="go" value=before.key().to_owned()>"Back"</SubmitButton> }
    });
    let next = step.next().map(|next| {
        let label = format!("Next: {}", next.label().to_lowercase());
        view! {
            <button class="btn" type="submit" name="go" value=next.key()>{label}<Icon name="arrow"/></button>
        }
    });
    html! {
        <div class="row-between">
            <LinkButton href=back look=Look::Ghost>"Cancel"</LinkButton>
            <span class="row">{before}{next}</span>
        </div>
    }
}

fn tags(state: &FormState) -> AnyView {
    html! {
        <section class="card">
            <header><h2>"Tags"</h2></header>
            <div class="body stack">
                <TextField
                    form=state label="Tags" name="tags" rows=5
                    help="One a line, such as project=churn. Lists are filtered by them; they change nothing else."
                />
            </div>
        </section>
    }
}
