//! The list of instances.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::instance::{Instance, InstanceState, OperationResult};
use atelier_domain::compute::size::Price;
use atelier_domain::error::AppError;
use atelier_domain::text::search_text;
use atelier_domain::world::World;
use atelier_domain::{UserId, WorkspaceId};
use serde::Serialize;

use crate::caller::Caller;
use crate::instances::view::{AsOf, InstanceView, complete};
use crate::orders::ask;

const PAGE: usize = 50;
/// How many points the little charts have.
const SPARK: usize = 32;

atelier_domain::keyed_enum! {
    /// What the list is sorted by, as the URL says it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    pub enum InstanceSort {
        #[default]
        Name = "name";
        State = "state";
        Size = "size";
        Owner = "owner";
        Created = "created";
    }
}

atelier_domain::keyed_enum! {
    /// What one click shows.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    pub enum QuickView {
        #[default]
        All = "", "All";
        Mine = "mine", "Mine";
        Running = "running", "Running";
        /// Those that somebody should look at.
        Attention = "attention", "Needs attention";
    }
}

impl QuickView {
    fn holds(self, instance: &Instance, state: InstanceState, me: &UserId) -> bool {
        match self {
            Self::All => true,
            Self::Mine => instance.owner == *me,
            Self::Running => matches!(state, InstanceState::Running | InstanceState::JobRunning),
            Self::Attention => needs_attention(instance, state, me),
        }
    }
}

/// Whether somebody should look at it: something failed, is silent, is about to stop, or waits for its owner.
fn needs_attention(instance: &Instance, state: InstanceState, me: &UserId) -> bool {
    let is_bad = matches!(
        state,
        InstanceState::CreateFailed
            | InstanceState::SetupFailed
            | InstanceState::UserSetupFailed
            | InstanceState::Unusable
            | InstanceState::Unknown
    );
    let has_failed = matches!(instance.operation.result, Some(OperationResult::Failed(_)));
    let waits_for_me = instance.awaits_acceptance() && instance.owner == *me;
    is_bad || has_failed || waits_for_me || !instance.notices.is_empty()
}

/// What the list shows, as the URL holds it: `?q=&view=&sort=&dir=&after=`.
#[derive(Clone, Debug, Default)]
pub struct InstanceQuery {
    /// Words, and `owner:me`, `state:running`, `size:gpu*`, `tag:project`.
    pub q: String,
    pub view: QuickView,
    pub sort: InstanceSort,
    pub descending: bool,
    /// How many are left out before the first.
    pub after: usize,
}

/// One page of the list.
#[derive(Clone, Debug)]
pub struct InstancePage {
    /// At most 50 instances, each with how much of its cores was in use in the last hour, in percent, the
    /// oldest first.
    pub rows: Vec<(InstanceView, Vec<u32>)>,
    pub matching: usize,
    /// How many there are under each view, whatever else is filtered.
    pub counts: [u64; 4],
    /// What all nodes of instances cost in an hour now, as far as the viewer may know.
    pub per_hour: Option<Price>,
    pub next: Option<usize>,
    pub previous: Option<usize>,
    /// Why the engine does nothing at all, if somebody paused it.
    pub paused: Option<String>,
    pub apps_trouble: Option<String>,
}

/// What is typed into the filter, understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wanted {
    words: Vec<String>,
    owner: Option<String>,
    state: Option<String>,
    size: Option<String>,
    tag: Option<String>,
}

impl Wanted {
    fn parse(typed: &str) -> Self {
        let mut wanted = Self::default();
        for word in search_text(typed).to_lowercase().split_whitespace() {
            let (key, value) = word.split_once(':').unwrap_or(("", word));
            let value = value.to_owned();
            match key {
                "owner" => wanted.owner = Some(value),
                "state" => wanted.state = Some(value),
                "size" => wanted.size = Some(value),
                "tag" => wanted.tag = Some(value),
                _ => wanted.words.push(word.to_owned()),
            }
        }
        wanted
    }

    fn fits(&self, instance: &Instance, state: InstanceState, me: &UserId) -> bool {
        let owner = |owner: &String| match owner.as_str() {
            "me" => instance.owner == *me,
            name => instance.owner_name.to_lowercase().contains(name),
        };
        let tags = |wanted: &String| {
            let all = instance.tags.0.iter();
            all.map(|(name, value)| format!("{name}={value}").to_lowercase()).any(|tag| tag.starts_with(wanted))
        };
        let word = |word: &String| {
            instance.name.as_str().contains(word.as_str())
                || instance.size.as_str().contains(word.as_str())
                || instance.owner_name.to_lowercase().contains(word.as_str())
                || instance.tags.0.iter().any(|(name, value)| format!("{name}={value}").to_lowercase().contains(word))
        };
        self.owner.as_ref().is_none_or(owner)
            && self.state.as_ref().is_none_or(|wanted| state.key().starts_with(wanted.as_str()))
            && self.size.as_ref().is_none_or(|wanted| globbed(wanted, instance.size.as_str()))
            && self.tag.as_ref().is_none_or(tags)
            && self.words.iter().all(word)
    }
}

/// `gpu*` begins so; without a star it is meant as it is.
fn globbed(wanted: &str, name: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == wanted,
    }
}

struct Looked {
    rows: Vec<InstanceView>,
    matching: usize,
    counts: [u64; 4],
    running_price: u64,
    paused: Option<String>,
}

/// Instances of the workspace. Needs `instance.read`.
pub async fn list_instances(caller: &Caller, query: &InstanceQuery) -> Result<InstancePage, AppError> {
    let actor = caller.authorise(Action::InstanceRead).await?;
    let (workspace, wanted) = (actor.workspace.id.clone(), Wanted::parse(&query.q));
    let (as_of, asked) = (AsOf::now(caller)?, query.clone());
    let mut looked = ask(caller, move |world| look(world, &workspace, &asked, &wanted, &as_of)).await?;
    complete(caller, &mut looked.rows).await?;
    let nodes: Vec<_> = looked.rows.iter().filter_map(|row| row.instance.node).collect();
    let mut used = caller.studio.fleet().board().cores_in_use(&nodes, SPARK);
    let rows = looked.rows.into_iter().map(|row| {
        let cores = row.shape().cores.max(1);
        let used = row.instance.node.and_then(|node| used.remove(&node)).unwrap_or_default();
        let percent = used.into_iter().map(|used| u32::try_from(used * 100 / cores).unwrap_or(u32::MAX).min(100));
        (row, percent.collect())
    });
    let sees_all = actor.person.rights().check(Action::CostRead, Whose::Others).is_ok();
    Ok(InstancePage {
        next: (query.after + PAGE < looked.matching).then_some(query.after + PAGE),
        previous: (query.after > 0).then(|| query.after.saturating_sub(PAGE)),
        matching: looked.matching,
        counts: looked.counts,
        per_hour: sees_all.then_some(Price(looked.running_price)),
        paused: looked.paused,
        apps_trouble: caller.studio.settings().apps_trouble.clone(),
        rows: rows.collect(),
    })
}

/// All is counted, but only what the page shows is looked at closely: this runs in the engine's loop.
fn look(world: &World, workspace: &WorkspaceId, query: &InstanceQuery, wanted: &Wanted, as_of: &AsOf) -> Looked {
    let me = &as_of.viewer;
    let (mut counts, mut running_price) = ([0; 4], 0_u64);
    let mut fitting: Vec<(&Instance, InstanceState)> = Vec::new();
    for instance in world.instances().filter(|instance| instance.workspace == *workspace) {
        let state = world.instance_state(instance);
        for (view, count) in QuickView::ALL.into_iter().zip(&mut counts) {
            *count += u64::from(view.holds(instance, state, me));
        }
        if instance.node.is_some() {
            let size = world.sizes().find(|size| size.name == instance.size);
            running_price = running_price.saturating_add(size.map_or(0, |size| size.price.0));
        }
        if query.view.holds(instance, state, me) && wanted.fits(instance, state, me) {
            fitting.push((instance, state));
        }
    }
    fitting.sort_by(|(a, x), (b, y)| {
        let first = match query.sort {
            InstanceSort::Name => std::cmp::Ordering::Equal,
            InstanceSort::State => x.key().cmp(y.key()),
            InstanceSort::Size => a.size.cmp(&b.size),
            InstanceSort::Owner => a.owner_name.cmp(&b.owner_name),
            InstanceSort::Created => a.id.cmp(&b.id),
        };
        first.then_with(|| a.name.cmp(&b.name))
    });
    if query.descending {
        fitting.reverse();
    }
    let shown = fitting.iter().skip(query.after).take(PAGE);
    let pause = world.state().pause.as_ref();
    Looked {
        rows: shown.map(|(instance, _)| InstanceView::of(world, instance, as_of)).collect(),
        matching: fitting.len(),
        counts,
        running_price,
        paused: pause.map(|pause| format!("{} paused all acting: {}", pause.by, pause.why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_read_as_it_is_typed() {
        let wanted = Wanted::parse(" Owner:ME state:running size:gpu* Fusion tag:project=churn ");
        let some = |text: &str| Some(text.to_owned());
        assert_eq!((wanted.owner, wanted.state, wanted.size), (some("me"), some("running"), some("gpu*")));
        assert_eq!((wanted.words, wanted.tag), (vec!["fusion".to_owned()], some("project=churn")));
        assert_eq!(Wanted::parse("when:now").words, ["when:now"]);
        assert!(globbed("gpu*", "gpu-l4") && globbed("gpu", "gpu") && !globbed("gpu", "gpu-l4"));
    }
}
