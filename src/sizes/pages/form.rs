//! The form for a size, and the question before one is removed.

use atelier_domain::access::Action;
use atelier_domain::paths;
use atelier_engine::run::CommandId;
use atelier_studio::sizes::list::{site_names, sizes};
use atelier_studio::sizes::row::SizeRow;
use atelier_studio::typed::{typed_cores, typed_memory};
use leptos::prelude::*;

use crate::components::{
    Card, ConfirmCard, Crumb, Field, LinkButton, Look, NavItem, Page, PostForm, SaveRow, SelectField,
};
use crate::frame::{Place, Visit, help, load, param, studio};
use crate::server::caller::here;

const PLACE: Place = Place::of(NavItem::Sizes, Action::SizeWrite, &[]);

/// Adds a size (`new` in the address) or changes the one that is named there.
#[component]
pub fn SizePage() -> impl IntoView {
    studio(PLACE, |visit| {
        let (caller, name) = (here(), param("name"));
        let read = async move {
            let caller = caller?;
            let currency = caller.studio.settings().currency.clone();
            Ok((sizes(&caller).await?, site_names(&caller).await?, currency))
        };
        load(visit.viewer.clone(), read, move |(sizes, sites, currency)| {
            let found = sizes.into_iter().find(|size| size.name == name);
            match found {
                None if name != "new" => help::not_found(&visit.viewer, "size"),
                size => form(&visit, size.as_ref(), sites, &currency),
            }
        })
    })
}

/// Asks before a size is removed.
#[component]
pub fn RemoveSizePage() -> impl IntoView {
    studio(PLACE, |visit| {
        let (caller, name) = (here(), param("name"));
        let read = async move { sizes(&caller?).await };
        load(visit.viewer.clone(), read, move |sizes| match sizes.into_iter().find(|size| size.name == name) {
            None => help::not_found(&visit.viewer, "size"),
            Some(size) => ask(&visit, &size),
        })
    })
}

fn form(visit: &Visit, size: Option<&SizeRow>, sites: Vec<String>, currency: &str) -> AnyView {
    let state = visit.form("put_size");
    let back = paths::sizes(visit.slug());
    let heading = size.map_or_else(|| "Add size".to_owned(), |size| format!("Change {}", size.name));
    let known = |field: &'static str, otherwise: &str, pick: fn(&SizeRow) -> String| {
        state.value(field, &size.map_or_else(|| otherwise.to_owned(), pick))
    };
    let (name, family) =
        (known("name", "", |size| size.name.clone()), known("family", "general", |size| size.family.clone()));
    let cores = known("cores", "", |size| typed_cores(size.shape.cores));
    let memory = known("memory", "", |size| typed_memory(size.shape.memory));
    let gpus = known("gpus", "0", |size| size.shape.gpus.to_string());
    let cost = known("price", "0", |size| size.price.typed());
    let is_known = size.is_some();
    let site =
        state.value("site", &size.map_or_else(|| sites.first().cloned().unwrap_or_default(), |size| size.site.clone()));
    let options = sites.into_iter().map(|site| (site.clone(), site)).collect();
    let hidden = vec![("command_id", CommandId::random().as_str().to_owned())];
    let price = format!("Price per hour, {currency}");
    html! {
        <Page
            heading=heading crumbs=vec![Crumb::new("Sizes", back.clone())]
            sub="Nodes that exist stay as they are. What is in use keeps its cores, memory, family and site; its price \
                 can change."
        >
            <Card>
                <PostForm function="put_size" state=state.clone() hidden=hidden>
                    <div class="cols-3">
                        <Field
                            form=&state label="Name" name="name" value=name required=true readonly=is_known
                            maxlength=40_u32 autocomplete="off"
                        />
                        <Field
                            form=&state label="Family" name="family" value=family required=true maxlength=40_u32
                            autocomplete="off" help="Sizes of one family share a quota."
                        />
                        <SelectField
                            form=&state label="Site" name="site" options=options value=site
                            help="Where its nodes are made."
                        />
                    </div>
                    <div class="cols-3">
                        <Field
                            form=&state label="Cores" name="cores" value=cores required=true autocomplete="off"
                            help="Such as 2 or 0.5."
                        />
                        <Field
                            form=&state label="Memory, GiB" name="memory" value=memory required=true autocomplete="off"
                            help="Such as 8 or 1.5."
                        />
                        <Field form=&state label="GPUs" name="gpus" kind="number" value=gpus required=true/>
                    </div>
                    <Field
                        form=&state label=price name="price" value=cost required=true autocomplete="off"
                        help="For one node. 0 costs nothing."
                    />
                    <SaveRow label="Save size" look=Look::Primary>
                        <LinkButton href=back look=Look::Ghost>"Cancel"</LinkButton>
                    </SaveRow>
                </PostForm>
            </Card>
        </Page>
    }
}

fn ask(visit: &Visit, size: &SizeRow) -> AnyView {
    let state = visit.form("remove_size");
    let back = paths::sizes(visit.slug());
    let hidden = vec![("name", size.name.clone()), ("command_id", CommandId::random().as_str().to_owned())];
    let (title, go) = (format!("Remove {} from the catalogue?", size.name), format!("Remove {}", size.name));
    html! {
        <Page heading="Remove size" crumbs=vec![Crumb::new("Sizes", back.clone())]>
            <ConfirmCard
                title=title function="remove_size" hidden=hidden state=state keep="Keep it" back=back go=go icon="trash"
                text="Nothing new can be made of it. While something is made of it, it stays and you are told by what."
            />
        </Page>
    }
}
