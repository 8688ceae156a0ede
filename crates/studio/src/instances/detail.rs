//! One instance with everything that its pages show.

use atelier_domain::access::{Action, Grant, Rights, Whose};
use atelier_domain::app_sharing::Level;
use atelier_domain::compute::ScheduleId;
use atelier_domain::compute::app::CustomApp;
use atelier_domain::compute::idle::IdleRules;
use atelier_domain::compute::instance::OperationResult;
use atelier_domain::compute::size::ComputeName;
use atelier_domain::error::AppError;
use atelier_domain::world::{About, ComputeRef, ScheduleTarget};
use atelier_engine::clock;
use atelier_engine::store::{DecisionEntry, DecisionFilter, HistoryFilter};
use atelier_protocol::Process;

use crate::caller::Caller;
use crate::clock as said;
use crate::clusters::nodes::AgentFacts;
use crate::history::{cut, read_cursor};
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
    pub agent: Option<AgentFacts>,
    pub site: String,
    pub scripts_by: String,
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
    let found = ask(caller, move |world| {
        let Some(ComputeRef::Instance(id)) = world.compute(&workspace, &name) else { return None };
        let instance = world.instance(id)?;
        let schedules = world.schedules_for(ScheduleTarget::Instance(id));
        let schedules: Vec<_> = schedules.map(|entry| (entry.id, entry.schedule.sentence())).collect();
        let site = instance.node.and_then(|node| world.node(node)).map(|node| node.site.to_string());
        Some((InstanceView::of(world, instance, &as_of), world.idle_rules(&workspace), site, schedules))
    });
    let (mut view, rules, site, schedules) = found.await?.ok_or_else(nobody)?;
    complete(caller, std::slice::from_mut(&mut view)).await?;
    let (id, node, store) = (view.instance.id, view.instance.node, caller.store());
    let (sees_inside, custom) = (
        actor.person.rights().check(Action::InstanceOperate, view.whose).is_ok(),
        caller.checked(store.apps_of(id).await)?,
    );
    let scripts_by = match &view.instance.scripts_by {
        Some(setter) => {
            let found = caller.checked(store.people_by_id(std::slice::from_ref(setter)).await)?;
            found.into_iter().next().map_or_else(|| setter.to_string(), |person| person.name)
        }
        None => String::new(),
    };
    let shared = match view.whose {
        Whose::Own => Vec::new(),
        Whose::Others => {
            let shared = crate::instances::sharing::with_me(caller).await?.into_iter();
            shared.filter(|one| one.instance == id).map(|one| (one.app, one.level)).collect()
        }
    };
    let (board, settings) = (caller.studio.fleet().board(), caller.studio.settings());
    let agent = node.and_then(|node| board.agent(node));
    let status = node.and_then(|node| board.node_apps(node)).map(|(_, status)| status);
    let known = Known {
        is_connected: agent.as_ref().is_some_and(|agent| agent.is_connected),
        status: status.filter(|status| status.instance == id && status.generation == view.instance.generation),
        has_vscode: caller.studio.editors().is_installed(),
        custom,
    };
    let watched = Watched::of(&view.instance, view.plan.jobs, view.at.mono);
    let processes = view.activity.as_ref().filter(|_| sees_inside).map(|(_, activity)| activity.processes.clone());
    Ok(InstanceDetail {
        signals: signals_of(caller, &view, &watched, sees_inside),
        watched,
        processes: processes.unwrap_or_default(),
        sees_inside,
        apps: apps(view.state, &known),
        // What they run, and with which secrets, is its owner's.
        own_apps: if view.is_own() { known.custom } else { Vec::new() },
        shared,
        apps_trouble: settings.apps_trouble.clone(),
        apps_caution: settings.apps_caution.clone(),
        agent: agent.filter(|agent| !agent.facts.version.is_empty()).map(AgentFacts::of),
        site: site.unwrap_or_default(),
        scripts_by,
        schedules,
        rules,
        view,
    })
}

/// Its activity, with who else used it. Names of notebooks are its owner's.
fn signals_of(caller: &Caller, view: &InstanceView, watched: &Watched, sees_inside: bool) -> Vec<SignalRow> {
    let mut rows = signals(watched, view.activity.as_ref(), clock::now());
    for row in &mut rows {
        let visitor = caller.studio.fleet().board().visitor(view.instance.id, row.source);
        if !sees_inside {
            row.detail.clear();
        } else if let Some(name) = visitor.filter(|_| row.ago.is_some()) {
            let between = if row.detail.is_empty() { "" } else { ", " };
            row.detail.push_str(&format!("{between}used by {name}"));
        }
    }
    rows
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
    pub older: Option<String>,
}

/// What was decided.
pub async fn decisions(
    caller: &Caller,
    detail: &InstanceDetail,
    before: &str,
    limit: i64,
) -> Result<Decided, AppError> {
    let schedules = detail.schedules.iter().map(|(id, _)| About::Schedule(*id));
    let about = std::iter::once(About::Instance(detail.view.instance.id)).chain(schedules).collect();
    let before = read_cursor(before);
    let filter = DecisionFilter { about, before, limit: limit + 1 };
    let workspace = &caller.actor()?.workspace.id;
    let mut lines = caller.checked(caller.store().decisions(workspace, &filter).await)?;
    // Both count the same revisions. Who may read only their own history sees what they did themselves, such
    // as to an instance that is shared with them.
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
    let older = cut(&mut lines, limit, |line| (line.revision, line.ordinal));
    Ok(Decided { lines, older })
}
