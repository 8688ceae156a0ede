//! One instance with everything that its pages show.

use atelier_domain::access::{Action, Grant, Rights, Whose};
use atelier_domain::app_sharing::Level;
use atelier_domain::compute::ScheduleId;
use atelier_domain::compute::app::CustomApp;
use atelier_domain::compute::idle::IdleRules;
use atelier_domain::compute::instance::{Instance, InstanceState, Operation, OperationResult};
use atelier_domain::compute::notice::StopNotice;
use atelier_domain::compute::script::Scripts;
use atelier_domain::compute::size::ComputeName;
use atelier_domain::compute::start::Bar;
use atelier_domain::compute::verb::{InstanceVerb, Legality};
use atelier_domain::error::AppError;
use atelier_domain::time::Span;
use atelier_domain::world::{About, ComputeRef, ScheduleTarget, World};
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use atelier_engine::clock;
use atelier_engine::store::{DecisionEntry, DecisionFilter, HistoryFilter};
use atelier_protocol::Process;

use crate::caller::Caller;
use crate::clock as said;
use crate::clusters::detail::WhyView;
use crate::clusters::list::since_last_step;
use crate::clusters::nodes::AgentFacts;
use crate::instances::apps::{AppView, Known, apps};
use crate::instances::awake::{SignalRow, Watched, signals};
use crate::instances::commands::{Subject, whose};
use crate::instances::row::{InstanceRow, Step, complete, row};
use crate::instances::usage::{Usage, usage};
use crate::orders::ask;
use crate::people::names::Names;

/// One instance.
#[derive(Clone, Debug)]
pub struct InstanceDetail {
    /// What lists show of it.
    pub row: InstanceRow,
    /// What is done to it, by whom.
    pub subject: Subject,
    /// Whether it is the viewer's.
    pub whose: Whose,
    /// Why it is as it is, where that needs saying.
    pub why: Option<WhyView>,
    /// When it was made.
    pub created: Timestamp,
    /// Who made it for its owner; empty if the owner did.
    pub creator: String,
    /// Notes, in words.
    pub tags: Vec<String>,
    /// The same as they are typed.
    pub tags_typed: String,
    /// Whether it keeps its quota while stopped.
    pub keeps_quota: bool,
    /// What administrators demand of idle shutdown.
    pub rules: IdleRules,
    /// Its activity.
    pub watched: Watched,
    /// The same as rows; details only for who may look inside.
    pub signals: Vec<SignalRow>,
    /// The largest processes; only for who may look inside.
    pub processes: Vec<Process>,
    /// Whether the viewer may look inside: it is theirs to operate.
    pub sees_inside: bool,
    /// How its last start went.
    pub start: Option<StartView>,
    /// The last thing that was done to it, in words.
    pub operation: String,
    /// Its applications.
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
    /// What runs when it starts.
    pub scripts: ScriptsView,
    /// Its schedules, in words.
    pub schedules: Vec<(ScheduleId, String)>,
    /// Stops that were announced.
    pub notices: Vec<StopNotice>,
    /// Counts its operations.
    pub generation: u64,
    verbs: Vec<(InstanceVerb, Option<String>)>,
}

/// How a start went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartView {
    /// When it was wished.
    pub at: Timestamp,
    /// By whom, if that is the last thing that was done.
    pub by: String,
    /// Its steps.
    pub bars: Vec<Bar>,
    /// How long it took until it could be used; none while it goes on or if it failed.
    pub took: Option<Span>,
    /// Whether it came to nothing.
    pub has_failed: bool,
}

/// What runs when an instance starts.
#[derive(Clone, Debug, Default)]
pub struct ScriptsView {
    /// Both.
    pub scripts: Scripts,
    /// Who set them.
    pub by: String,
    /// Counts the changes.
    pub revision: u32,
    /// Whether they wait for the owner's word.
    pub awaits_owner: bool,
    /// Whose the instance was, while what they left in it waits for the owner's word.
    pub given: Option<String>,
    setter: Option<UserId>,
}

impl InstanceDetail {
    /// Why a verb cannot be used in its state.
    pub fn why_not(&self, verb: InstanceVerb) -> Option<String> {
        self.verbs.iter().find(|(known, _)| *known == verb).and_then(|(_, why)| why.clone())
    }

    /// Whether somebody with these rights may open the application: it is theirs, or shared with them.
    pub fn may_open(&self, rights: &Rights, app: &str) -> bool {
        rights.check(Action::InstanceConnect, self.whose).is_ok() || self.shared_level(app).is_some()
    }

    /// What its owner lets the viewer do in an application.
    pub fn shared_level(&self, app: &str) -> Option<Level> {
        self.shared.iter().find(|(shared, _)| shared == app).map(|(_, level)| *level)
    }

    /// The application of that name.
    pub fn app(&self, name: &str) -> Option<&AppView> {
        self.apps.iter().find(|app| app.name == name)
    }
}

/// The instance of that name. Needs `instance.read`.
pub async fn instance(caller: &Caller, name: &str) -> Result<InstanceDetail, AppError> {
    let actor = caller.authorise(Action::InstanceRead).await?;
    let nobody = || AppError::not_found("instance");
    let name = ComputeName::parse(name).map_err(|_| nobody())?;
    let (workspace, step) = (actor.workspace.id.clone(), Step::of(caller, since_last_step(caller))?);
    let found = ask(caller, move |world| look(world, &workspace, &name, step)).await?;
    let mut detail = found.ok_or_else(nobody)?;
    complete(caller, std::slice::from_mut(&mut detail.row)).await?;
    let when = said::relative(detail.row.operation.0, clock::now(), &actor.person.time_zone);
    detail.operation = format!("{}, {when}", detail.operation);
    detail.whose = whose(&actor.person.id, &detail.row.owner);
    let right = Action::InstanceOperate;
    detail.sees_inside = actor.person.rights().check(right, detail.whose).is_ok();
    let custom = caller.checked(caller.store().apps_of(detail.row.id).await)?;
    add_what_is_live(caller, &mut detail, custom);
    add_names(caller, &mut detail).await?;
    if detail.whose == Whose::Others {
        let shared = crate::instances::sharing::with_me(caller).await?.into_iter();
        let of_this = shared.filter(|one| one.instance == detail.row.id);
        detail.shared = of_this.map(|one| (one.app, one.level)).collect();
    }
    detail.apps_trouble = caller.studio.settings().apps_trouble.clone();
    detail.apps_caution = caller.studio.settings().apps_caution.clone();
    Ok(detail)
}

/// What the World knows of it.
fn look(world: &World, workspace: &WorkspaceId, name: &ComputeName, step: Step) -> Option<InstanceDetail> {
    let Some(ComputeRef::Instance(id)) = world.compute(workspace, name) else { return None };
    let instance = world.instance(id)?;
    let step = step.with_sizes(world);
    let row = row(world, instance, &step);
    let schedules = world.schedules_for(ScheduleTarget::Instance(id));
    let node = instance.node.and_then(|node| world.node(node));
    Some(InstanceDetail {
        subject: Subject { id, name: name.clone(), owner: instance.owner.clone(), state: row.state },
        whose: Whose::Others,
        why: why(world, instance, row.state),
        created: instance.created,
        creator: if *instance.creator() == instance.owner { String::new() } else { instance.creator_name.to_string() },
        tags: instance.tags.0.iter().map(|(name, value)| tag(name, value)).collect(),
        tags_typed: instance.tags.typed(),
        keeps_quota: instance.keeps_quota,
        rules: world.idle_rules(workspace),
        watched: Watched::of(instance, row.plan.jobs, step.now(world).mono),
        signals: Vec::new(),
        processes: Vec::new(),
        sees_inside: false,
        start: start(instance, step.wall),
        operation: said_operation(&instance.operation),
        apps: Vec::new(),
        own_apps: Vec::new(),
        shared: Vec::new(),
        apps_trouble: None,
        apps_caution: None,
        agent: None,
        site: node.map(|node| node.site.to_string()).unwrap_or_default(),
        scripts: ScriptsView {
            scripts: instance.scripts.clone(),
            by: String::new(),
            revision: instance.scripts_revision,
            awaits_owner: instance.awaits_acceptance(),
            given: instance.given.as_ref().map(|given| given.from_name.to_string()),
            setter: instance.scripts_by.clone(),
        },
        schedules: schedules.map(|entry| (entry.id, entry.schedule.sentence())).collect(),
        notices: instance.notices.clone(),
        generation: instance.generation,
        verbs: InstanceVerb::ALL.into_iter().map(|verb| (verb, forbids(verb, row.state))).collect(),
        row,
    })
}

fn tag(name: &str, value: &str) -> String {
    if value.is_empty() { name.to_owned() } else { format!("{name}: {value}") }
}

/// What forbids the state; the right is judged by the page.
pub fn forbids(verb: InstanceVerb, state: InstanceState) -> Option<String> {
    match verb.in_state(state) {
        Legality::Yes | Legality::Later => None,
        Legality::No(help) => Some(help.to_owned()),
        Legality::Already => Some(match verb {
            InstanceVerb::Start if matches!(state, InstanceState::Running | InstanceState::JobRunning) => {
                "It runs already.".to_owned()
            }
            InstanceVerb::Start => "It is starting already.".to_owned(),
            InstanceVerb::Stop => "It is stopped, or on its way there.".to_owned(),
            InstanceVerb::Restart => "It is restarting already.".to_owned(),
            _ => "That is so already.".to_owned(),
        }),
    }
}

/// What it waits for, or how the last thing that was done to it failed.
fn why(world: &World, instance: &Instance, state: InstanceState) -> Option<WhyView> {
    let failed = match &instance.operation.result {
        Some(OperationResult::Failed(reason)) => Some(WhyView::of(reason)),
        _ => None,
    };
    match state {
        InstanceState::Running | InstanceState::JobRunning => None,
        _ => failed
            .or_else(|| world.explain_instance(instance.id).map(|reason| WhyView::of(&reason)))
            .or_else(|| (state == InstanceState::Unusable).then(lost)),
    }
}

/// A node that went away by itself failed no operation; the history says more.
fn lost() -> WhyView {
    WhyView {
        code: "node-lost",
        sentence: "Its node is gone, or was not heard of for too long.".into(),
        next: "Restart it to give it another node; its home is kept.".into(),
        is_wait: false,
    }
}

fn start(instance: &Instance, now: Timestamp) -> Option<StartView> {
    let start = instance.start.as_ref()?;
    let is_last = instance.operation.at == start.at;
    Some(StartView {
        at: start.at,
        by: if is_last { instance.operation.trigger.phrase() } else { String::new() },
        bars: start.waterfall(now),
        took: start.took(),
        // What ends while its applications start had been usable.
        has_failed: start.failed.is_some() && start.scripted.is_none(),
    })
}

fn said_operation(operation: &Operation) -> String {
    let result = match &operation.result {
        None => " goes on",
        Some(OperationResult::Succeeded) => "",
        Some(OperationResult::Failed(_)) => " failed",
        Some(OperationResult::Overtaken) => " was overtaken",
    };
    format!("{} {}{result}", operation.verb.phrase(), operation.trigger.phrase())
}

/// What agents say right now.
fn add_what_is_live(caller: &Caller, detail: &mut InstanceDetail, custom: Vec<CustomApp>) {
    let board = caller.studio.fleet().board();
    let agent = detail.row.node.and_then(|node| board.agent(node));
    let status = detail.row.node.and_then(|node| board.node_apps(node)).map(|(_, status)| status);
    let known = Known {
        is_connected: agent.as_ref().is_some_and(|agent| agent.is_connected),
        status: status.filter(|status| status.instance == detail.row.id && status.generation == detail.generation),
        has_vscode: caller.studio.editors().is_installed(),
        custom,
    };
    detail.apps = apps(detail.row.state, &known);
    if detail.whose == Whose::Own {
        // What they run, and with which secrets, is its owner's.
        detail.own_apps = known.custom;
    }
    detail.agent = agent.filter(|agent| !agent.facts.version.is_empty()).map(AgentFacts::of);
    let activity = detail.row.node.and_then(|node| board.node_activity(node));
    detail.signals = signals(&detail.watched, activity.as_ref(), clock::now());
    for signal in &mut detail.signals {
        if let Some(name) = board.visitor(detail.row.id, signal.source).filter(|_| signal.ago.is_some()) {
            let between = if signal.detail.is_empty() { "" } else { ", " };
            signal.detail.push_str(&format!("{between}used by {name}"));
        }
    }
    if detail.sees_inside {
        detail.processes = activity.map(|(_, activity)| activity.processes).unwrap_or_default();
    } else {
        // Names of notebooks are its owner's.
        detail.signals.iter_mut().for_each(|signal| signal.detail.clear());
    }
}

async fn add_names(caller: &Caller, detail: &mut InstanceDetail) -> Result<(), AppError> {
    let Some(setter) = detail.scripts.setter.clone() else { return Ok(()) };
    detail.scripts.by = Names::of(caller, [setter.clone()]).await?.name(&setter);
    Ok(())
}

/// What its node used in the last hour.
pub fn charts(caller: &Caller, detail: &InstanceDetail) -> Option<Usage> {
    let samples = caller.studio.fleet().board().node_samples(detail.row.node?);
    usage(&samples, detail.row.cores)
}

/// A page of what happened to it and was decided about it and its schedules, the newest first.
#[derive(Clone, Debug, Default)]
pub struct Decided {
    /// The lines.
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
    let about = std::iter::once(About::Instance(detail.row.id)).chain(schedules).collect();
    let before = before.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let filter = DecisionFilter { about, before, limit: i64::try_from(limit + 1).unwrap_or(i64::MAX) };
    let workspace = &caller.actor()?.workspace.id;
    let mut lines = caller.checked(caller.store().decisions(workspace, &filter).await)?;
    // Both count the same revisions. Who may read only their own history sees what they did themselves, such as to an
    // instance that is shared with them.
    let actor = caller.actor()?;
    let sees_all = detail.whose == Whose::Own || actor.person.rights().grant(Action::HistoryRead) == Grant::Any;
    let about = (!sees_all).then(|| actor.person.id.clone());
    let instance = Some((detail.row.name.to_string(), detail.created));
    let filter = HistoryFilter { instance, about, before, limit: filter.limit, ..HistoryFilter::default() };
    let happened = caller.checked(caller.store().history(workspace, &filter).await)?;
    lines.extend(happened.into_iter().map(|entry| DecisionEntry {
        revision: entry.revision,
        ordinal: entry.ordinal,
        at: entry.at,
        about: About::Instance(detail.row.id),
        code: entry.kind,
        sentence: format!("{} {}.", entry.actor_name, entry.sentence),
    }));
    lines.sort_by_key(|line| std::cmp::Reverse((line.revision, line.ordinal)));
    let has_more = lines.len() > limit;
    lines.truncate(limit);
    let older = lines.last().filter(|_| has_more).map(|last| format!("{}.{}", last.revision, last.ordinal));
    Ok(Decided { lines, older })
}
