//! The list of instances.

use atelier_domain::access::Action;
use atelier_domain::compute::instance::{Instance, InstanceState, OperationResult};
use atelier_domain::compute::size::Price;
use atelier_domain::error::AppError;
use atelier_domain::text::search_text;
use atelier_domain::world::World;
use atelier_domain::{UserId, WorkspaceId};

use crate::caller::Caller;
use crate::clusters::list::since_last_step;
use crate::instances::row::{InstanceRow, Step, complete, row};
use crate::orders::ask;

/// How many instances a page shows.
const PAGE: usize = 50;
/// How many points the little charts have.
const SPARK: usize = 32;

/// What the list is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstanceSort {
    /// By name.
    #[default]
    Name,
    /// By state.
    State,
    /// By size.
    Size,
    /// By owner.
    Owner,
    /// By age.
    Created,
}

impl InstanceSort {
    /// Every order.
    pub const ALL: [Self; 5] = [Self::Name, Self::State, Self::Size, Self::Owner, Self::Created];

    /// The name in the URL.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::State => "state",
            Self::Size => "size",
            Self::Owner => "owner",
            Self::Created => "created",
        }
    }
}

/// What one click shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstanceView {
    /// All of them.
    #[default]
    All,
    /// The viewer's own.
    Mine,
    /// Those with a node.
    Running,
    /// Those that somebody should look at.
    Attention,
}

impl InstanceView {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::All, Self::Mine, Self::Running, Self::Attention];

    /// The name in the URL.
    pub const fn key(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Mine => "mine",
            Self::Running => "running",
            Self::Attention => "attention",
        }
    }

    /// The words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Mine => "Mine",
            Self::Running => "Running",
            Self::Attention => "Needs attention",
        }
    }

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
    /// What one click shows.
    pub view: InstanceView,
    /// The order.
    pub sort: InstanceSort,
    /// From last to first.
    pub descending: bool,
    /// How many are left out before the first.
    pub after: usize,
}

/// One page of the list.
#[derive(Clone, Debug)]
pub struct InstancePage {
    /// At most 50 instances.
    pub rows: Vec<InstanceRow>,
    /// How many fit the filter.
    pub matching: usize,
    /// How many there are under each view, whatever else is filtered.
    pub counts: [u64; 4],
    /// What all nodes of instances cost in an hour now, as far as the viewer may know.
    pub per_hour: Option<String>,
    /// Where the next page begins.
    pub next: Option<usize>,
    /// Where the page before begins.
    pub previous: Option<usize>,
    /// Why the engine does nothing at all, if somebody paused it.
    pub paused: Option<String>,
    /// Why applications cannot be opened.
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
    rows: Vec<InstanceRow>,
    matching: usize,
    counts: [u64; 4],
    running_price: u64,
    paused: Option<String>,
}

/// Instances of the workspace. Needs `instance.read`.
pub async fn list_instances(caller: &Caller, query: &InstanceQuery) -> Result<InstancePage, AppError> {
    let actor = caller.authorise(Action::InstanceRead).await?;
    let (workspace, wanted) = (actor.workspace.id.clone(), Wanted::parse(&query.q));
    let (step, asked) = (Step::of(caller, since_last_step(caller))?, query.clone());
    let looked = ask(caller, move |world| look(world, &workspace, &asked, &wanted, step)).await?;
    let mut rows = looked.rows;
    complete(caller, &mut rows).await?;
    let nodes: Vec<_> = rows.iter().filter_map(|row| row.node).collect();
    let mut used = caller.studio.fleet().board().cores_in_use(&nodes, SPARK);
    for row in &mut rows {
        let cores = row.cores.max(1);
        let used = row.node.and_then(|node| used.remove(&node)).unwrap_or_default();
        row.cpu = used.into_iter().map(|used| u32::try_from(used * 100 / cores).unwrap_or(u32::MAX).min(100)).collect();
    }
    let sees_all = actor.person.rights().check(Action::CostRead, atelier_domain::access::Whose::Others).is_ok();
    Ok(InstancePage {
        next: (query.after + PAGE < looked.matching).then_some(query.after + PAGE),
        previous: (query.after > 0).then(|| query.after.saturating_sub(PAGE)),
        matching: looked.matching,
        counts: looked.counts,
        per_hour: sees_all.then(|| Price(looked.running_price).said(&caller.studio.settings().currency)),
        paused: looked.paused,
        apps_trouble: caller.studio.settings().apps_trouble.clone(),
        rows,
    })
}

/// All is counted, but only what the page shows is looked at closely: this runs in the engine's loop.
fn look(world: &World, workspace: &WorkspaceId, query: &InstanceQuery, wanted: &Wanted, step: Step) -> Looked {
    let step = step.with_sizes(world);
    let (mut counts, mut running_price) = ([0; 4], 0_u64);
    let mut fitting: Vec<(&Instance, InstanceState)> = Vec::new();
    for instance in world.instances().filter(|instance| instance.workspace == *workspace) {
        let state = world.instance_state(instance);
        for (view, count) in InstanceView::ALL.into_iter().zip(&mut counts) {
            *count += u64::from(view.holds(instance, state, &step.viewer));
        }
        if instance.node.is_some() {
            running_price = running_price.saturating_add(step.price_of(instance).0);
        }
        if query.view.holds(instance, state, &step.viewer) && wanted.fits(instance, state, &step.viewer) {
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
        rows: shown.map(|(instance, _)| row(world, instance, &step)).collect(),
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
