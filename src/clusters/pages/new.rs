//! The form that makes a cluster.

use atelier_domain::access::Action;
use atelier_domain::compute::size::Tier;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_engine::run::CommandId;
use atelier_studio::clusters::quote::{Quoted, quote_new_cluster};
use atelier_studio::sizes::list::sizes;
use atelier_studio::sizes::row::SizeRow;
use leptos::prelude::*;
use leptos::server_fn::ServerFn as _;

use crate::clusters::typing::QuoteCluster;
use crate::components::{
    Card, Crumb, EmptyState, Field, LinkButton, Look, NavItem, Page, PostForm, Query, SizeTable, SubmitButton,
    TextField, price, tier_choice,
};
use crate::form::FormState;
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

#[component]
pub fn NewClusterPage() -> impl IntoView {
    studio(Place::of(NavItem::Compute, Action::ClusterCreate, &[Topic::Engine]), |visit| {
        let (caller, typed) = (here(), Typed { state: visit.form("create_cluster"), query: Query::here() });
        let read = async move {
            let caller = caller?;
            let sizes = sizes(&caller).await?;
            let first = sizes.first().map_or("", |size| &size.name);
            let (size, min, max) = (typed.value("size", first), typed.value("min", "0"), typed.value("max", "4"));
            let quoted = quote_new_cluster(&caller, &size, [&min, &max, &typed.value("warm", "0")]).await?;
            Ok((sizes, typed, size, quoted))
        };
        load(visit.viewer.clone(), read, move |(sizes, typed, size, quoted)| {
            show(&visit, sizes, &typed, &size, &quoted)
        })
    })
}

/// What was typed: into the form that came back, or into the one whose price was asked for.
struct Typed {
    state: FormState,
    query: Query,
}

impl Typed {
    fn value(&self, field: &str, otherwise: &str) -> String {
        match self.query.get(field) {
            "" => self.state.value(field, otherwise),
            asked => self.state.value(field, asked),
        }
    }
}

fn show(visit: &Visit, sizes: Vec<SizeRow>, typed: &Typed, size: &str, quoted: &Quoted) -> AnyView {
    let back = paths::compute(visit.slug(), "clusters");
    let content =
        if sizes.is_empty() { no_sizes(visit) } else { form(visit, sizes, typed, size, quoted, back.clone()) };
    html! {
        <Page
            heading="Create cluster" crumbs=vec![Crumb::new("Compute", back.clone()), Crumb::new("Clusters", back)]
            sub="Equal nodes that grow with their queue and shrink when it is empty."
        >
            {content}
        </Page>
    }
}

fn no_sizes(visit: &Visit) -> AnyView {
    let (add, refusal) = (paths::size(visit.slug(), "new"), visit.viewer.may(Action::SizeWrite).err());
    let refusal = refusal.map(|denied| visit.viewer.why_not(&denied));
    html! {
        <EmptyState
            heading="There are no sizes yet"
            text="A cluster is made of nodes of one size. The catalogue is empty, so nothing can be chosen."
        >
            <LinkButton href=add look=Look::Primary icon="plus" disabled_because=refusal>"Add size"</LinkButton>
        </EmptyState>
    }
}

fn form(visit: &Visit, sizes: Vec<SizeRow>, typed: &Typed, size: &str, quoted: &Quoted, back: String) -> AnyView {
    let state = typed.state.clone();
    let hidden = vec![("command_id", CommandId::random().as_str().to_owned())];
    let (check, chosen) = (price::check_button(paths::new_cluster(visit.slug())), size.to_owned());
    let cost = price::card("Cost", quoted);
    let tier = tier_choice(&typed.value("tier", Tier::default().key()), state.problem("tier"));
    let [name, min, max, idle, warm, tags] =
        [("name", ""), ("min", "0"), ("max", "4"), ("idle", "120"), ("warm", "0"), ("tags", "")]
            .map(|(field, otherwise)| typed.value(field, otherwise));
    html! {
        <div data-quote=QuoteCluster::PATH data-quote-of="size,min,max,warm">
            <PostForm function="create_cluster" state=state.clone() hidden=hidden class="split">
                <Card>
                    <Field
                        form=&state label="Name" name="name" value=name required=true autofocus=true maxlength=24_u32
                        autocomplete="off"
                        help="3 to 24 of a–z, 0–9 and hyphens, beginning with a letter; unique in the workspace."
                    />
                    <SizeTable rows=sizes chosen=chosen problem=state.problem("size")/>
                    {tier}
                    <div class="cols-4 fields">
                        <Field
                            form=&state label="Fewest nodes" name="min" kind="number" value=min required=true
                            help="Kept also when nothing waits."
                        />
                        <Field
                            form=&state label="Most nodes" name="max" kind="number" value=max required=true
                            help="It never has more."
                        />
                        <Field
                            form=&state label="Idle seconds" name="idle" kind="number" value=idle required=true
                            help="So long a node stays without a job."
                        />
                        <Field
                            form=&state label="Kept ready" name="warm" kind="number" value=warm required=true
                            help="Idle nodes beyond what runs."
                        />
                    </div>
                    <TextField
                        form=&state label="Tags" name="tags" value=tags help="One a line, such as project=churn."
                    />
                </Card>
                <aside class="stack sticky-side">
                    {cost}
                    <Card>
                        <div class="stack-s">
                            <SubmitButton icon="plus" pending="Creating…" block=true>"Create cluster"</SubmitButton>
                            <LinkButton href=back look=Look::Ghost block=true>"Cancel"</LinkButton>
                            {check}
                        </div>
                    </Card>
                    <p class="faint xs">"Time counts from the wish for a node until it is gone."</p>
                </aside>
            </PostForm>
        </div>
    }
}
