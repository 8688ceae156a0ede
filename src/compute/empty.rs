//! Kinds of compute that cannot be made yet, said plainly.

use atelier_domain::access::{Action, Whose};
use atelier_domain::paths;
use leptos::prelude::*;

use crate::components::{Button, EmptyState, Look, WayOut};
use crate::frame::Visit;
use crate::frame::compute::{counted, framed};

/// What a tab says that has nothing to show.
struct Kind {
    key: &'static str,
    heading: &'static str,
    text: &'static str,
    create: &'static str,
    /// Why nothing can be created.
    because: &'static str,
    /// The right that creating one needs.
    needs: Action,
}

static ATTACHED: Kind = Kind {
    key: "attached",
    heading: "Machines you already have will be here",
    text: "An attached compute stays yours: a machine over SSH, a Slurm cluster, a Kubernetes namespace. Atelier runs \
           work on it and looks after nothing else.",
    create: "Attach a machine",
    because: "Attaching needs a driver that reaches the machine, and this server has none yet.",
    needs: Action::AttachedWrite,
};

/// The tab of attached machines.
pub fn attached(visit: Visit) -> AnyView {
    tab(visit, &ATTACHED)
}

fn tab(visit: Visit, kind: &'static Kind) -> AnyView {
    counted(visit, move |visit, counts| {
        // Who lacks the right should not wait in vain.
        let because = match visit.viewer.rights.check(kind.needs, Whose::Own) {
            Ok(()) => kind.because.to_owned(),
            Err(denied) => format!("{} {}", kind.because, visit.viewer.why_not(&denied)),
        };
        let said = because.clone();
        let ways = ways(visit);
        let inside = view! {
            <EmptyState heading=kind.heading text=kind.text>
                <Button look=Look::Primary large=true icon="plus" disabled_because=Some(because)>{kind.create}</Button>
                <p class="faint xs">{said}</p>
            </EmptyState>
            <div class="cols-3 empty-ways">{ways}</div>
        };
        framed(visit, kind.key, counts, None, inside.into_any())
    })
}

/// What can be done in the meantime.
fn ways(visit: &Visit) -> AnyView {
    let slug = visit.slug();
    html! {
        <WayOut
            href=paths::compute(slug, "clusters") icon="cluster" label="Clusters"
            help="Equal nodes for jobs that grow with their queue and shrink when it is empty."
        />
        <WayOut
            href=paths::compute(slug, "serverless") icon="bolt" label="Serverless"
            help="Jobs on machines that exist only for as long as the job."
        />
        <WayOut href=paths::roles(slug) icon="shield" label="Roles" help="Who may create, start and stop what."/>
    }
}
