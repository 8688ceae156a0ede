//! One instance with everything that its pages show.

use atelier_domain::WorkspaceId;
use atelier_domain::access::{Action, Grant, Rights};
use atelier_domain::app_sharing::Level;
use atelier_domain::compute::ScheduleId;
use atelier_domain::compute::app::CustomApp;
use atelier_domain::compute::idle::IdleRules;
use atelier_domain::compute::instance::OperationResult;
use atelier_domain::compute::size::ComputeName;
use atelier_domain::error::AppError;
use atelier_domain::world::{About, ComputeRef, ScheduleTarget, World};
use atelier_engine::clock;
use atelier_engine::store::{DecisionEntry, DecisionFilter, HistoryFilter};
use atelier_protocol::Process;

use crate::caller::Caller;
use crate::clock as said;
use crate::clusters::nodes::AgentFacts;
use crate::instances::apps::{AppView, Known, apps};
use crate::instances::awake::{SignalRow, Watched, signals};
use crate::instances::usage::{Usage, usage};
use crate::instances::view::{AsOf, InstanceView, complete};
use crate::orders::ask;

/// One instance.
#[derive(Clone, Debug)]
pub struct InstanceDetail {
    /// What the list and the API show too.
    pub view: InstanceView,
    /// What administrators demand of idle shutdown.
    pub rules: IdleRules,
    pub watched: Watched,
    /// Its activity; details only for who may look inside.
    pub signals: Vec<SignalRow>,
    /// The largest processes; only for who may look inside.
    pub processes: Vec<Process>,
    /// Whether the viewer may look inside: it is theirs to operate.
    pub sees_inside: bool,
    pub apps: Vec<AppView>,
    /// What its owner added, in full; for its owner.
    pub own_apps: Vec<CustomApp>,
    /// What its owner shares of them with the viewer.
    pub shared: Vec<(String, Level)>,
    /// Why applications cannot be opened at all.
    pub apps_trouble: Option<String>,
    /// How applications are kept apart less well than they could be.
    pub apps_caution: Option<String>,
    /// What its node's agent says.
    pub agent: Option<AgentFacts>,
    /// Where its node is made.
    pub site: String,
    /// Who set its scripts.
    pub scripts_by: String,
    /// Its schedules, in words.
    pub schedules: Vec<(ScheduleId, String)>,
}

impl InstanceDetail {
    /// Whether somebody with these rights may open the application: it is theirs, or shared with them.
    pub fn may_open(&self, rights: &Rights, app: &str) -> bool {
        rights.check(Action::InstanceConnect, self.view.whose).is_ok() || self.shared_level(app).is_some()
    }

    /// What its owner lets the viewer do in an application.
    pub fn shared_level(&self, app: &str) -> Option<Level> {
        self.shared.iter().find(|(shared, _)| shared == app).map(|(_, level)| *level)
    }

    pub fn app(&self, name: &str) -> Option<&AppView> {
        self.apps.iter().find(|app| app.name == name)
    }

    /// The last thing that was done to it, and when.
    pub fn operation(&self, zone: &str) -> String {
        let operation = &self.view.instance.operation;
        let result = match &operation.result {
            None => " goes on",
            Some(OperationResult::Succeeded) => "",
            Some(OperationResult::Failed(_)) => " failed",
            Some(OperationResult::Overtaken) => " was overtaken",
        };
        let (what, when) = (operation.verb.phrase(), said::relative(operation.at, self.view.at.wall, zone));
        format!("{what} {}{result}, {when}", operation.trigger.phrase())
    }
}

/// The instance of that name. Needs `instance.read`.
pub async fn instance(caller: &Caller, name: &str) -> Result<InstanceDetail, AppError> {
    let actor = caller.authorise(Action::InstanceRead).await?;
    let nobody = || AppError::not_found("instance");
    let name = ComputeName::parse(name).map_err(|_| nobody())?;
    let (workspace, as_of) = (actor.workspace.id.clone(), AsOf::now(caller)?);
    let found = ask(caller, move |world| look(world, &workspace, &name, &as_of)).await?;
    let mut detail = found.ok_or_else(nobody)?;
    complete(caller, std::slice::from_mut(&mut detail.view)).await?;
    detail.sees_inside = actor.person.rights().check(Action::InstanceOperate, detail.view.whose).is_ok();
    let custom = caller.checked(caller.store().apps_of(detail.view.instance.id).await)?;
    add_what_is_live(caller, &mut detail, custom);
    if let Some(setter) = detail.view.instance.scripts_by.clone() {
        let found = caller.checked(caller.store().people_by_id(std::slice::from_ref(&setter)).await)?;
        detail.scripts_by = found.into_iter().next().map_or_else(|| setter.to_string(), |person| person.name);
    }
    if !detail.view.is_own() {
        let shared = crate::instances::sharing::with_me(caller).await?.into_iter();
        let of_this = shared.filter(|one| one.instance == detail.view.instance.id);
        detail.shared = of_this.map(|one| (one.app, one.level)).collect();
    }
    detail.apps_trouble = caller.studio.settings().apps_trouble.clone();
    detail.apps_caution = caller.studio.settings().apps_caution.clone();
    Ok(detail)
}

/// What the World knows of it.
fn look(world: &World, workspace: &WorkspaceId, name: &ComputeName, as_of: &AsOf) -> Option<InstanceDetail> {
    let Some(ComputeRef::Instance(id)) = world.compute(workspace, name) else { return None };
    let instance = world.instance(id)?;
    let view = InstanceView::of(world, instance, as_of);
    let schedules = world.schedules_for(ScheduleTarget::Instance(id));
    let node = instance.node.and_then(|node| world.node(node));
    Some(InstanceDetail {
        rules: world.idle_rules(workspace),
        watched: Watched::of(instance, view.plan.jobs, view.at.mono),
        signals: Vec::new(),
        processes: Vec::new(),
        sees_inside: false,
        apps: Vec::new(),
        own_apps: Vec::new(),
        shared: Vec::new(),
        apps_trouble: None,
        apps_caution: None,
        agent: None,
        site: node.map(|node| node.site.to_string()).unwrap_or_default(),
        scripts_by: String::new(),
        schedules: schedules.map(|entry| (entry.id, entry.schedule.sentence())).collect(),
        view,
    })
}

/// What agents say right now.
fn add_what_is_live(caller: &Caller, detail: &mut InstanceDetail, custom: Vec<CustomApp>) {
    let board = caller.studio.fleet().board();
    let (id, node, generation) = (detail.view.instance.id, detail.view.instance.node, detail.view.instance.generation);
    let agent = node.and_then(|node| board.agent(node));
    let status = node.and_then(|node| board.node_apps(node)).map(|(_, status)| status);
    let known = Known {
        is_connected: agent.as_ref().is_some_and(|agent| agent.is_connected),
        status: status.filter(|status| status.instance == id && status.generation == generation),
        has_vscode: caller.studio.editors().is_installed(),
        custom,
    };
    detail.apps = apps(detail.view.state, &known);
    if detail.view.is_own() {
        // What they run, and with which secrets, is its owner's.
        detail.own_apps = known.custom;
    }
    detail.agent = agent.filter(|agent| !agent.facts.version.is_empty()).map(AgentFacts::of);
    let activity = detail.view.activity.as_ref();
    detail.signals = signals(&detail.watched, activity, clock::now());
    for signal in &mut detail.signals {
        if let Some(name) = board.visitor(id, signal.source).filter(|_| signal.ago.is_some()) {
            let between = if signal.detail.is_empty() { "" } else { ", " };
            signal.detail.push_str(&format!("{between}used by {name}"));
        }
    }
    if detail.sees_inside {
        detail.processes = activity.map(|(_, activity)| activity.processes.clone()).unwrap_or_default();
    } else {
        // Names of notebooks are its owner's.
        detail.signals.iter_mut().for_each(|signal| signal.detail.clear());
    }
}

/// What its node used in the last hour.
pub fn charts(caller: &Caller, detail: &InstanceDetail) -> Option<Usage> {
    let samples = caller.studio.fleet().board().node_samples(detail.view.instance.node?);
    usage(&samples, detail.view.shape().cores)
}

/// A page of what happened to it and was decided about it and its schedules, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Decided {
    pub lines: Vec<DecisionEntry>,
    /// The cursor of the next page.
    pub older: Option<String>,
}

/// What was decided.
pub async fn decisions(
    caller: &Caller,
    detail: &InstanceDetail,
    before: &str,
    limit: usize,
) -> Result<Decided, AppError> {
    let schedules = detail.schedules.iter().map(|(id, _)| About::Schedule(*id));
    let about = std::iter::once(About::Instance(detail.view.instance.id)).chain(schedules).collect();
    let before = before.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let filter = DecisionFilter { about, before, limit: i64::try_from(limit + 1).unwrap_or(i64::MAX) };
    let workspace = &caller.actor()?.workspace.id;
    let mut lines = caller.checked(caller.store().decisions(workspace, &filter).await)?;
    // Both count the same revisions. Who may read only their own history sees what they did themselves, such as to an
    // instance that is shared with them.
    let actor = caller.actor()?;
    let sees_all = detail.view.is_own() || actor.person.rights().grant(Action::HistoryRead) == Grant::Any;
    let about = (!sees_all).then(|| actor.person.id.clone());
    let instance = Some((detail.view.name.clone(), detail.view.instance.created));
    let filter = HistoryFilter { instance, about, before, limit: filter.limit, ..HistoryFilter::default() };
    let happened = caller.checked(caller.store().history(workspace, &filter).await)?;
    lines.extend(happened.into_iter().map(|entry| DecisionEntry {
        revision: entry.revision,
        ordinal: entry.ordinal,
        at: entry.at,
        about: About::Instance(detail.view.instance.id),
        code: entry.kind,
        sentence: format!("{} {}.", entry.actor_name, entry.sentence),
    }));
    lines.sort_by_key(|line| std::cmp::Reverse((line.revision, line.ordinal)));
    let has_more = lines.len() > limit;
    lines.truncate(limit);
    let older = lines.last().filter(|_| has_more).map(|last| format!("{}.{}", last.revision, last.ordinal));
    Ok(Decided { lines, older })
}
