//! Compute: what there will be, said plainly while there is nothing to run it on.

use atelier_domain::access::{Action, Whose};
use leptos::prelude::*;

use super::frame::{Place, Visit, param, studio};
use super::help;
use crate::components::{Button, EmptyState, Look, NavItem, Page, Tab, Tabs, WayOut};
use crate::paths;
use crate::server::page;

/// One kind of compute.
struct Kind {
    key: &'static str,
    label: &'static str,
    /// Whether the tab counts them; serverless jobs are no things that are kept.
    is_counted: bool,
    heading: &'static str,
    text: &'static str,
    create: &'static str,
    /// Why nothing can be created.
    because: &'static str,
    /// The right that creating one needs.
    needs: Action,
}

static KINDS: [Kind; 4] = [
    Kind {
        key: "instances",
        label: "Instances",
        is_counted: true,
        heading: "Your workstations will be here",
        text: "An instance is a machine of your own with JupyterLab, VS Code and a terminal. It sleeps when you do, and \
               your files stay.",
        create: "Create instance",
        because: "Instances need an engine to run on, and this server has none yet. Creating them comes with the first \
                  engine.",
        needs: Action::InstanceCreate,
    },
    Kind {
        key: "clusters",
        label: "Clusters",
        is_counted: true,
        heading: "Clusters that grow with the work will be here",
        text: "A cluster is a set of equal nodes for jobs. It grows to its maximum when jobs wait, and shrinks to its \
               minimum when they are done.",
        create: "Create cluster",
        because: "Clusters need an engine that makes their nodes, and this server has none yet. Creating them comes with \
                  the first engine.",
        needs: Action::ClusterCreate,
    },
    Kind {
        key: "attached",
        label: "Attached",
        is_counted: true,
        heading: "Machines you already have will be here",
        text: "An attached compute stays yours: a machine over SSH, a Slurm cluster, a Kubernetes namespace. Atelier runs \
               work on it and looks after nothing else.",
        create: "Attach a machine",
        because: "Attaching needs an engine that reaches the machine, and this server has none yet.",
        needs: Action::AttachedWrite,
    },
    Kind {
        key: "serverless",
        label: "Serverless",
        is_counted: false,
        heading: "Jobs that need no machine of their own will be here",
        text: "Give a command and a size, and get a log and files back. The machine exists only for as long as the job.",
        create: "Submit job",
        because: "A serverless job needs an engine that makes its machine, and this server has none yet.",
        needs: Action::JobSubmit,
    },
];

const PLACE: Place = Place { nav: NavItem::Compute, needs: Some((Action::InstanceRead, Whose::Others)), topics: &[] };

/// The address without a tab leads to the first.
#[component]
pub fn ComputeStart() -> impl IntoView {
    page::redirect(&paths::compute(&param("workspace"), KINDS[0].key));
}

/// One kind of compute, by the tab in the address.
#[component]
pub fn ComputePage() -> impl IntoView {
    studio(PLACE, |visit| match KINDS.iter().find(|kind| kind.key == param("tab")) {
        Some(kind) => compute(&visit, kind),
        None => help::not_found(&visit.viewer, "kind of compute"),
    })
}

fn compute(visit: &Visit, kind: &'static Kind) -> AnyView {
    let slug = visit.slug();
    let tabs = KINDS
        .iter()
        .map(|tab| Tab {
            href: paths::compute(slug, tab.key),
            label: tab.label.to_owned(),
            count: tab.is_counted.then_some(0),
            is_current: tab.key == kind.key,
        })
        .collect();
    // Who lacks the right should not wait for an engine in vain.
    let because = match visit.viewer.rights.check(kind.needs, Whose::Own) {
        Ok(()) => kind.because.to_owned(),
        Err(denied) => format!("{} {}", kind.because, visit.viewer.why_not(&denied)),
    };
    let said = because.clone();
    let ways = ways(visit);
    view! {
        <Page heading="Compute" title=kind.label>
            <Tabs label="Kinds of compute" tabs=tabs/>
            <EmptyState heading=kind.heading text=kind.text>
                <Button look=Look::Primary large=true icon="plus" disabled_because=Some(because)>{kind.create}</Button>
                <p class="faint xs">{said}</p>
            </EmptyState>
            <div class="cols-3 empty-ways">{ways}</div>
        </Page>
    }
    .into_any()
}

/// What can be done in the meantime.
fn ways(visit: &Visit) -> AnyView {
    let slug = visit.slug();
    let people = if visit.viewer.may(Action::MemberWrite).is_ok() {
        "Add who will work here, so that they are ready when it is."
    } else {
        "See who is here, and who can help you."
    };
    view! {
        <WayOut href=paths::people(slug) icon="users" label="People" help=people/>
        <WayOut href=paths::roles(slug) icon="shield" label="Roles" help="Who may create, start and stop what."/>
        <WayOut href=paths::activity(slug) icon="audit" label="Activity" help="What has happened here, by whom and why."/>
    }
    .into_any()
}
