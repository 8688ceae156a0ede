//! The form that makes an environment, or another version of one.

use atelier_domain::access::Action;
use atelier_domain::environment::{MAX_LINE, MAX_NOTE, MAX_PACKAGES};
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::environments::list::{EnvironmentForm, environment_form};
use leptos::prelude::*;

use crate::components::{
    Card, Checkbox, Crumb, Field, LinkButton, Look, NavItem, Page, PostForm, Query, SaveRow, SelectField, TextField,
    Tone, Why, WhyField,
};
use crate::form::FormState;
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

#[component]
pub fn NewEnvironmentPage() -> impl IntoView {
    studio(Place::own(NavItem::Environments, Action::EnvironmentWrite, &[]), |visit| {
        let query = Query::here();
        let (of, from) = (query.get("of").to_owned(), query.get("from").to_owned());
        let read = async move { environment_form(&here()?, &of, &from).await };
        load(visit.viewer.clone(), read, move |form| show(&visit, &form))
    })
}

fn show(visit: &Visit, form: &EnvironmentForm) -> AnyView {
    let slug = visit.slug();
    let mut crumbs = vec![Crumb::new("Environments", paths::environments(slug))];
    let (heading, back) = match &form.of {
        Some(view) => {
            let name = view.row.name.to_string();
            let back = paths::named_environment(slug, &name);
            crumbs.push(Crumb::new(name.clone(), back.clone()));
            (format!("New version of {name}"), back)
        }
        None => ("New environment".to_owned(), paths::environments(slug)),
    };
    let frozen = form.frozen.as_ref().map(|frozen| {
        let title = format!("Frozen from {}", frozen.instance);
        let mut text = match frozen.packages.len() {
            0 => "You have installed nothing into it; the list is what all instances start with.".to_owned(),
            count => format!(
                "{} that you installed there, with their versions, and what all instances start with. Look through the \
                 list before you save it.",
                counted(count as u64, "package", "packages")
            ),
        };
        if !frozen.elsewhere.is_empty() {
            let count = counted(frozen.elsewhere.len() as u64, "package", "packages");
            text.push_str(&format!(" {count} came from an address or a folder and cannot be named here."));
        }
        view! { <Why tone=Tone::Neutral title=title text=text/> }
    });
    let fields = fields(form, &visit.form("save_environment"));
    html! {
        <Page
            heading=heading crumbs=crumbs
            sub="A version never changes once it is saved, so what ran with it can run with it again."
        >
            {frozen}
            <Card heading="Packages">
                {fields}
                <p><LinkButton href=back>"Cancel"</LinkButton></p>
            </Card>
        </Page>
    }
}

fn fields(form: &EnvironmentForm, state: &FormState) -> AnyView {
    let hidden = match &form.of {
        Some(view) => vec![("existing", view.row.name.to_string())],
        None => Vec::new(),
    };
    // Who freezes an instance into another version of what is there gives no name.
    let is_named = form.frozen.is_none() || form.own.is_empty();
    let name = form.of.is_none().then(|| {
        view! {
            <Field
                form=state label="Name" name="name" autocomplete="off" required=is_named
                help="3 to 24 of a–z, 0–9 and hyphens, such as churn. Jobs name it so."
            />
        }
    });
    // What was frozen may become another version of what is there.
    let existing = (form.of.is_none() && form.frozen.is_some() && !form.own.is_empty()).then(|| {
        let mut options = vec![(String::new(), "A new environment of the name above".to_owned())];
        options.extend(form.own.iter().map(|name| (name.clone(), format!("The next version of {name}"))));
        view! {
            <SelectField form=state label="Save as" name="existing" options=options/>
        }
    });
    let before = match (&form.of, &form.frozen) {
        (Some(view), _) => view.versions.first().map(|newest| newest.row.recipe.clone()).unwrap_or_default(),
        (None, Some(frozen)) => frozen.recipe.clone(),
        (None, None) => String::new(),
    };
    let recipe = state.value("recipe", &before);
    let rows = u32::try_from(recipe.lines().count().clamp(8, 24) + 2).unwrap_or(10);
    let python = if form.python.is_empty() { String::new() } else { format!(" Python is {} here.", form.python) };
    let help = format!(
        "Requirements, one package a line, such as pandas>=2,<3; or a list as conda writes it, under “dependencies:”. \
         At most {MAX_PACKAGES} packages, lines of {MAX_LINE} characters. No options and no addresses.{python} \
         ipykernel and nbconvert are added, so that notebooks can use it, in instances and as jobs."
    );
    let build = form.builds.then(|| {
        view! {
            <Checkbox
                name="build" label="Build it now" ticked=state.is_ticked("build", "on", true)
                help="Else the first job that names it has it built."
            />
        }
    });
    let state = state.clone();
    html! {
        <PostForm function="save_environment" hidden=hidden state=state.clone()>
            {name}
            {existing}
            <TextField form=&state label="List" name="recipe" value=recipe help=help rows=rows required=true/>
            <Field
                form=&state label="Note" name="note" autocomplete="off" maxlength=MAX_NOTE as u32
                help="What is special about this version."
            />
            <WhyField state=state/>
            {build}
            <SaveRow label="Save" look=Look::Primary/>
        </PostForm>
    }
}
