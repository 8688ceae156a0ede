//! What the rules promise about instances: scripts and who trusts them, rebuilds, the waterfall, history,
//! scheduled stops that are announced, put off, left out or wait for jobs, idle rules, jobs of the owner
//! alone, and what comes next.

use atelier_domain::compute::idle::{IdlePolicy, IdleRules, Source};
use atelier_domain::compute::instance::{Instance, InstanceState, Trigger};
use atelier_domain::compute::job::{JobState, Target};
use atelier_domain::compute::notice::{StopNotice, StopWhy};
use atelier_domain::compute::script::{ScriptKind, Scripts};
use atelier_domain::compute::start::StartStep;
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::{InstanceId, JobId, Resources, ScheduleId};
use atelier_domain::reason::Reason;
use atelier_domain::schedule::{Action, StopJobs, Zone};
use atelier_domain::time::{Span, Timestamp};
use atelier_domain::world::{
    About, Answer, Effect, Exit, Key, NewInstance, NextLine, Order, Record, Report, ScheduleTarget, World,
};
use atelier_domain::{UserId, WorkspaceId};

use crate::script::{MORNING, Stage, cores, idle_after, job, new_instance, ok, script, startup, timetable};

const LAB: InstanceId = InstanceId(1);
const MINUTE: Span = Span::minutes(1);

fn stage() -> Stage {
    let mut stage = Stage::roomy();
    stage.is_writing = false;
    stage
}

/// A running instance of Ada.
fn running(new: NewInstance) -> Stage {
    let mut stage = stage();
    stage.instance(new);
    stage.pass(MINUTE);
    assert_eq!(state(&stage), InstanceState::Running);
    stage
}

fn plain() -> NewInstance {
    new_instance("ines-lab", "small")
}

fn lab(stage: &Stage) -> &Instance {
    stage.world.instance(LAB).expect("it exists")
}

fn state(stage: &Stage) -> InstanceState {
    stage.world.instance_state(lab(stage))
}

/// An instant of that Monday, which begins at 08:00.
fn at(hour: i64, minute: i64) -> Timestamp {
    Timestamp(MORNING + ((hour - 8) * 60 + minute) * 60_000)
}

fn until(stage: &mut Stage, hour: i64, minute: i64) {
    stage.pass_until((at(hour, minute).0 - MORNING).unsigned_abs());
}

fn said(stage: &Stage, about: About) -> Vec<String> {
    let decisions = stage.outcomes.iter().flat_map(|outcome| &outcome.decisions);
    decisions.filter(|decision| decision.about == about).map(|decision| decision.reason.sentence()).collect()
}

fn history(stage: &Stage) -> Vec<String> {
    said(stage, About::Instance(LAB))
}

fn effects(stage: &Stage) -> Vec<&Effect> {
    stage.outcomes.iter().flat_map(|outcome| &outcome.effects).collect()
}

fn runs_of(stage: &Stage) -> Vec<(Vec<ScriptKind>, bool)> {
    let runs = effects(stage).into_iter().filter_map(|effect| match effect {
        Effect::RunScript { scripts, is_trusted, .. } => {
            Some((scripts.iter().map(|run| run.kind).collect(), *is_trusted))
        }
        _ => None,
    });
    runs.collect()
}

fn layers(stage: &Stage) -> Vec<u32> {
    let layers = effects(stage).into_iter().filter_map(|effect| match effect {
        Effect::SetUp { layer, .. } => Some(*layer),
        _ => None,
    });
    layers.collect()
}

fn both_scripts() -> Scripts {
    Scripts { creation: Some(script(Span::minutes(2))), startup: Some(script(Span::minutes(3))) }
}

fn stop_at(stage: &mut Stage, cron: &str, jobs: StopJobs) -> ScheduleId {
    let order = Order::AddSchedule {
        target: ScheduleTarget::Instance(LAB),
        action: Action::Stop,
        timetable: timetable(cron),
        jobs,
    };
    let Answer::Schedule(id) = stage.must("Ada", order) else { panic!("a schedule") };
    id
}

// ---- scripts
// --------------------------------------------------------------------------------------------------------

#[test]
fn the_creation_script_runs_once_and_the_startup_script_at_each_start() {
    let mut stage = running(NewInstance { scripts: both_scripts(), ..plain() });
    let both = ScriptKind::ALL.to_vec();
    assert_eq!(runs_of(&stage), [(both.clone(), true)]);
    stage.must("Ada", Order::RestartInstance(LAB));
    stage.pass(MINUTE);
    stage.must("Ada", Order::StopInstance(LAB));
    stage.pass(MINUTE);
    stage.must("Ada", Order::StartInstance(LAB));
    stage.pass(MINUTE);
    let startup_only = (vec![ScriptKind::Startup], true);
    assert_eq!(runs_of(&stage), [(both.clone(), true), startup_only.clone(), startup_only.clone()]);
    // In a fresh environment everything runs again.
    stage.must("Ada", Order::RebuildInstance(LAB));
    stage.pass(MINUTE);
    assert_eq!(runs_of(&stage)[3], (both, true));
    assert_eq!((state(&stage), lab(&stage).creation_done), (InstanceState::Running, true));
}

#[test]
fn a_failed_startup_script_does_not_repeat_the_creation_script() {
    let mut stage = stage();
    stage.reality.failing_scripts = true;
    stage.instance(NewInstance { scripts: both_scripts(), ..plain() });
    stage.pass(MINUTE);
    assert_eq!((state(&stage), lab(&stage).creation_done), (InstanceState::UserSetupFailed, true));
    stage.reality.failing_scripts = false;
    stage.must("Ada", Order::RestartInstance(LAB));
    stage.pass(MINUTE);
    assert_eq!(runs_of(&stage)[1].0, [ScriptKind::Startup]);
    // Alone, a creation script that failed is tried again.
    let creation = Scripts { startup: None, ..both_scripts() };
    let mut stage = stage_with_failing(creation);
    stage.reality.failing_scripts = false;
    stage.must("Ada", Order::RestartInstance(LAB));
    stage.pass(MINUTE);
    assert_eq!(runs_of(&stage).len(), 2);
    assert_eq!(state(&stage), InstanceState::Running);
}

fn stage_with_failing(scripts: Scripts) -> Stage {
    let mut stage = stage();
    stage.reality.failing_scripts = true;
    stage.instance(NewInstance { scripts, ..plain() });
    stage.pass(MINUTE);
    assert_eq!((state(&stage), lab(&stage).creation_done), (InstanceState::UserSetupFailed, false));
    stage
}

#[test]
fn scripts_of_somebody_else_wait_for_the_owner_s_word() {
    let mut stage = stage();
    let new = NewInstance { owner: UserId::new("ines"), owner_name: "Ines".into(), scripts: both_scripts(), ..plain() };
    stage.must("Mara", Order::CreateInstance(Box::new(new)));
    stage.pass(MINUTE);
    let made = lab(&stage);
    assert_eq!((made.creator().as_str(), made.creator_name.to_string()), ("mara", "Mara".into()));
    assert!(made.awaits_acceptance() && made.scripts_by == Some(UserId::new("mara")));
    assert_eq!(runs_of(&stage), [(ScriptKind::ALL.to_vec(), false)], "without the owner's home");
    assert_eq!(history(&stage)[0], "Created by Mara for Ines, of the size small.");

    let accept = |revision: u32| Order::AcceptScripts { instance: LAB, revision };
    let refused = stage.order("Mara", accept(1));
    assert!(matches!(refused, Err(Reason::OwnerOnly { .. })), "{refused:?}");
    // What was changed since it was read is not accepted unread.
    let other = startup(Span::minutes(9));
    stage.must("Mara", Order::SetScripts { instance: LAB, scripts: other });
    let refused = stage.order("Ines", accept(1));
    assert_eq!(refused, Err(Reason::ScriptsChanged { instance: "ines-lab".into(), read: 1, now: 2 }));
    assert_eq!(stage.must("Ines", accept(2)), Answer::Done);
    assert_eq!(stage.must("Ines", accept(2)), Answer::Already);
    stage.must("Ines", Order::RestartInstance(LAB));
    stage.pass(MINUTE);
    assert_eq!(runs_of(&stage)[1], (vec![ScriptKind::Startup], true));
    // Whoever changes them again asks again; the owner need not ask.
    stage.must("Mara", Order::SetScripts { instance: LAB, scripts: both_scripts() });
    assert!(lab(&stage).awaits_acceptance() && !lab(&stage).creation_done);
    stage.must("Ines", Order::SetScripts { instance: LAB, scripts: startup(MINUTE) });
    assert!(!lab(&stage).awaits_acceptance());
}

#[test]
fn scripts_do_not_change_under_an_agent_that_was_told() {
    let mut stage = stage();
    stage.reality.is_mute = true;
    stage.instance(plain());
    let node = lab(&stage).node.expect("a node");
    stage.report(Report::NodeUp(node));
    let refused = stage.order("Ada", Order::SetScripts { instance: LAB, scripts: both_scripts() });
    assert!(
        matches!(&refused, Err(Reason::NotNow { help, .. }) if help == "Wait until it runs, or stop it."),
        "{refused:?}"
    );
    assert!(!lab(&stage).scripts_to_run().iter().any(|_| true));
}

#[test]
fn records_of_older_versions_are_read() {
    let stage = running(plain());
    let mut old = serde_json::to_value(lab(&stage)).expect("JSON");
    let fields = old.as_object_mut().expect("an object");
    let new = [
        "owner_name",
        "creator",
        "creator_name",
        "tags",
        "scripts",
        "scripts_by",
        "scripts_revision",
        "scripts_accepted",
        "given",
        "creation_done",
        "layer",
        "start",
        "waiting",
        "idle_by_policy",
        "notices",
        "postponed",
        "draining",
    ];
    new.iter().for_each(|field| drop(fields.remove(*field)));
    fields.insert("script".into(), serde_json::json!(120_000));
    for field in ["since", "took"] {
        fields["operation"].as_object_mut().expect("an operation").remove(field);
    }
    fields["watch"].as_object_mut().expect("a watch").remove("seen");
    let read: Instance = serde_json::from_value(old).expect("an older record");
    assert_eq!((read.creator().as_str(), read.scripts.is_empty(), read.layer), ("ada", true, 0));
    let world = World::load([Record::Instance(Box::new(read))], stage.clocks());
    assert_eq!(world.instances().count(), 1);
    let schedule = "{\"add-schedule\":{\"target\":{\"instance\":1},\"action\":\"stop\",\
                    \"timetable\":{\"trigger\":{\"cron\":\"0 19 * * *\"},\"time_zone\":\"UTC\"}}}";
    let order: Order = serde_json::from_str(schedule).expect("an older order");
    assert!(matches!(order, Order::AddSchedule { jobs: StopJobs::Now, .. }));
}

// ---- rebuild, tags
// --------------------------------------------------------------------------------------------------

#[test]
fn a_rebuild_is_a_new_layer_on_the_same_node_and_ends_what_runs() {
    let mut stage = running(plain());
    let (node, generation) = (lab(&stage).node, lab(&stage).generation);
    let running = stage.submit(job(Target::Instance(LAB), cores(1)), Span::hours(1));
    stage.pass(Span::seconds(5));
    assert_eq!(stage.must("Ada", Order::RebuildInstance(LAB)), Answer::Done);
    stage.pass(MINUTE);
    assert_eq!((state(&stage), lab(&stage).layer, lab(&stage).node), (InstanceState::Running, 2, node));
    assert!(lab(&stage).generation > generation && stage.world.job(running).is_none());
    assert_eq!(layers(&stage), [1, 2]);
    // Stopped, it is told at the next start.
    stage.must("Ada", Order::StopInstance(LAB));
    stage.pass(MINUTE);
    stage.must("Ada", Order::RebuildInstance(LAB));
    assert_eq!((state(&stage), lab(&stage).layer, layers(&stage).len()), (InstanceState::Stopped, 3, 2));
    stage.must("Ada", Order::StartInstance(LAB));
    stage.pass(MINUTE);
    assert_eq!(layers(&stage), [1, 2, 3]);
}

#[test]
fn a_rebuild_of_one_whose_node_does_not_answer_gets_another_node() {
    let mut stage = running(plain());
    let node = lab(&stage).node.expect("a node");
    stage.report(Report::NodeSilent(node));
    stage.pass(Span::minutes(5));
    assert_eq!(state(&stage), InstanceState::Unusable);
    stage.must("Ada", Order::RebuildInstance(LAB));
    stage.pass(Span::minutes(2));
    assert_eq!((state(&stage), lab(&stage).layer), (InstanceState::Running, 2));
    assert!(lab(&stage).node.is_some_and(|other| other != node));
}

#[test]
fn tags_are_kept_and_checked() {
    let tags = ok(Tags::parse("project=churn"));
    let mut stage = running(NewInstance { tags: tags.clone(), ..plain() });
    assert_eq!(lab(&stage).tags, tags);
    assert_eq!(stage.must("Ada", Order::TagInstance { instance: LAB, tags }), Answer::Already);
    let many = Tags((0..21).map(|number| (format!("t{number}"), String::new())).collect());
    let refused = stage.order("Ada", Order::TagInstance { instance: LAB, tags: many });
    assert!(matches!(refused, Err(Reason::Invalid { .. })));
}

// ---- the waterfall and the history
// ----------------------------------------------------------------------------------

#[test]
fn a_start_leaves_its_times_behind() {
    let mut stage = stage();
    stage.instance(NewInstance { scripts: startup(Span::minutes(5)), ..plain() });
    stage.pass(Span::seconds(1));
    let bars = |stage: &Stage| {
        let start = lab(stage).start.clone().expect("a start");
        start.waterfall(stage.clocks().wall)
    };
    let last = *bars(&stage).last().expect("a bar");
    assert_eq!((last.step, last.is_running), (StartStep::Allocate, true));
    stage.pass(Span::seconds(10));
    let generation = lab(&stage).generation;
    // What an earlier operation says does not count.
    stage.report(Report::Healthy { instance: LAB, generation: generation - 1 });
    assert!(lab(&stage).start.as_ref().is_some_and(|start| start.healthy.is_none()));
    stage.report(Report::Healthy { instance: LAB, generation });
    stage.pass(MINUTE);
    let said: Vec<(StartStep, Span, bool)> =
        bars(&stage).iter().map(|bar| (bar.step, bar.took, bar.is_running)).collect();
    let seconds = |count: u32| Span::seconds(count);
    assert_eq!(
        said,
        [
            (StartStep::Queue, seconds(0), false),
            (StartStep::Allocate, seconds(2), false),
            (StartStep::Environment, seconds(1), false),
            (StartStep::Setup, seconds(5), false),
            (StartStep::Health, seconds(3), false),
        ]
    );
    stage.report(Report::Healthy { instance: LAB, generation });
    let ready = history(&stage).iter().filter(|line| line.starts_with("Its applications answer")).count();
    assert_eq!(ready, 1, "said once");
    // Stopped before applications answered: nothing of it goes on.
    stage.must("Ada", Order::RestartInstance(LAB));
    stage.pass(Span::seconds(20));
    stage.must("Ada", Order::StopInstance(LAB));
    stage.pass(MINUTE);
    assert!(bars(&stage).iter().all(|bar| !bar.is_running));
}

#[test]
fn everything_that_is_done_to_an_instance_is_in_its_history() {
    let mut stage = Stage::new(Resources::new(4, 16, 0));
    stage.is_writing = false;
    stage.instance(plain());
    stage.pass(Span::seconds(10));
    // Another one has no room and says so once, whatever is looked at meanwhile.
    stage.must(
        "Bo",
        Order::CreateInstance(Box::new(NewInstance { owner: UserId::new("bo"), ..new_instance("bo-lab", "small") })),
    );
    for _ in 0..5 {
        stage.pass(Span::seconds(10));
        stage.must("Ada", Order::TagInstance { instance: InstanceId(2), tags: Tags::default() });
    }
    let waiting = said(&stage, About::Instance(InstanceId(2)));
    assert_eq!(
        waiting,
        ["Created by Bo, of the size small.", "Waits for room on local: 4 cores, 16 GiB needed; free: 0 cores, 0 MiB.",]
    );
    stage.must("Bo", Order::DeleteInstance(InstanceId(2)));
    stage.must("Ada", Order::StopInstance(LAB));
    stage.pass(MINUTE);
    stage.must("Ada", Order::ResizeInstance { instance: LAB, size: crate::script::size("tiny") });
    stage.pass(MINUTE);
    stage.must("Ines", Order::WakeInstance(LAB));
    stage.pass(MINUTE);
    assert_eq!(lab(&stage).operation.trigger, Trigger::Wake { name: "Ines".into() });
    stage.must("Ada", Order::RestartInstance(LAB));
    stage.must("Ada", Order::DeleteInstance(LAB));
    stage.pass(MINUTE);
    assert_eq!(
        history(&stage),
        [
            "Created by Ada, of the size small.",
            "node-1 is up, 2 s after the start was wished.",
            "Runs, 3 s after its creation was wished.",
            "Stop wished by Ada.",
            "Stopped, after 2 s.",
            "Change of size wished by Ada.",
            "Size changed, after 1 s.",
            "Start wished by Ines, who opened an application.",
            "node-2 is up, 2 s after the start was wished.",
            "Runs, 3 s after its start was wished.",
            "Restart wished by Ada.",
            "Restart not finished: a deletion came before.",
            "Deletion wished by Ada.",
            "Gone, after 2 s.",
        ]
    );
    let gone =
        stage.outcomes.iter().flat_map(|outcome| &outcome.gone).filter(|key| **key == Key::Instance(LAB)).count();
    assert_eq!(gone, 1, "its home can go");
}

#[test]
fn a_stop_takes_back_a_start_that_was_to_follow() {
    let mut stage = running(plain());
    stage.must("Ada", Order::StopInstance(LAB));
    assert_eq!(stage.must("Bo", Order::StartInstance(LAB)), Answer::Later);
    assert_eq!(stage.must("Ada", Order::StopInstance(LAB)), Answer::Done);
    stage.pass(MINUTE);
    assert_eq!((state(&stage), lab(&stage).next_start.clone()), (InstanceState::Stopped, None));
}

// ---- scheduled stops
// ------------------------------------------------------------------------------------------------

fn notices(stage: &Stage) -> Vec<StopNotice> {
    lab(stage).notices.clone()
}

#[test]
fn a_scheduled_stop_is_announced_once_and_comes() {
    let mut stage = running(plain());
    let stop = stop_at(&mut stage, "0 19 * * *", StopJobs::Now);
    until(&mut stage, 18, 44);
    assert_eq!(notices(&stage), []);
    until(&mut stage, 18, 46);
    let notice = StopNotice { at: at(19, 0), why: StopWhy::Schedule(stop) };
    assert_eq!(lab(&stage).notice(), Some(&notice));
    let warnings = |stage: &Stage| history(stage).iter().filter(|line| line.starts_with("It stops in")).count();
    assert_eq!(warnings(&stage), 1);
    // Also over a restart of the server, and whatever else happens.
    stage.world = World::load(stage.world.records(), stage.clocks());
    stage.must("Ada", Order::TagInstance { instance: LAB, tags: ok(Tags::parse("a=1")) });
    until(&mut stage, 18, 59);
    assert_eq!((warnings(&stage), notices(&stage).len()), (1, 1));
    until(&mut stage, 19, 1);
    assert_eq!((state(&stage), notices(&stage)), (InstanceState::Stopped, vec![]));
    assert_eq!(lab(&stage).operation.trigger, Trigger::Schedule);
}

#[test]
fn what_was_announced_is_taken_back_with_the_schedule() {
    let orders = |stop: ScheduleId| {
        [
            Order::RemoveSchedule(stop),
            Order::EnableSchedule { schedule: stop, is_enabled: false },
            Order::SkipSchedule { schedule: stop, skips: true },
            Order::EditSchedule {
                schedule: stop,
                action: Action::Stop,
                timetable: timetable("0 23 * * *"),
                jobs: StopJobs::Now,
            },
        ]
    };
    for index in 0..4 {
        let mut stage = running(plain());
        let stop = stop_at(&mut stage, "0 19 * * *", StopJobs::Now);
        until(&mut stage, 18, 50);
        assert_eq!(notices(&stage).len(), 1);
        let order = orders(stop).into_iter().nth(index).expect("four of them");
        stage.must("Ada", order.clone());
        assert_eq!(notices(&stage), [], "{order:?}");
        until(&mut stage, 19, 30);
        assert_eq!(state(&stage), InstanceState::Running, "{order:?}");
    }
}

#[test]
fn one_that_is_started_shortly_before_its_stop_is_warned_at_once() {
    let mut stage = running(plain());
    stop_at(&mut stage, "0 19 * * *", StopJobs::Now);
    stage.must("Ada", Order::StopInstance(LAB));
    until(&mut stage, 18, 50);
    assert_eq!(notices(&stage), []);
    stage.must("Ada", Order::StartInstance(LAB));
    assert_eq!(notices(&stage).len(), 1);
}

#[test]
fn a_stop_and_a_start_at_the_same_time_are_no_stop() {
    let mut stage = running(plain());
    stop_at(&mut stage, "0 12 * * *", StopJobs::Now);
    stage.schedule(ScheduleTarget::Instance(LAB), Action::Start, "0 12 * * *");
    until(&mut stage, 12, 30);
    assert_eq!(state(&stage), InstanceState::Running);
    assert!(!history(&stage).iter().any(|line| line.starts_with("It stops in")));
    assert_eq!(stage.world.next_actions(LAB, stage.clocks()).and_then(|line| line.stop), None);
}

#[test]
fn a_stop_that_is_put_off_comes_at_the_chosen_time() {
    let mut stage = running(NewInstance { idle: idle_after(Span::minutes(15)), ..plain() });
    let stop = stop_at(&mut stage, "0 19 * * *", StopJobs::Now);
    stop_at(&mut stage, "30 19 * * *", StopJobs::Now);
    for minute in 1..=10 * 60 + 49 {
        until(&mut stage, 8, 1 + minute);
        stage.report(Report::Activity { instance: LAB, active: vec![Source::Kernel], stretch: MINUTE });
    }
    assert_eq!(lab(&stage).notice().map(|notice| notice.at), Some(at(19, 0)));
    assert_eq!(stage.must("Ada", Order::PostponeStop { instance: LAB, until: at(20, 0) }), Answer::Done);
    assert_eq!(notices(&stage), []);
    // Both stops in between are left out, and it is not stopped for lack of activity either.
    for minute in 51..=105 {
        until(&mut stage, 18, minute);
        stage.report(Report::Activity { instance: LAB, active: Vec::new(), stretch: MINUTE });
    }
    assert_eq!(state(&stage), InstanceState::Running);
    assert_eq!(said(&stage, About::Schedule(stop)), ["Left out: Ada keeps it running past that time."]);
    assert_eq!(notices(&stage), [StopNotice { at: at(20, 0), why: StopWhy::Postponed }], "announced again");
    // One hour more, once again.
    stage.must("Bo", Order::PostponeStop { instance: LAB, until: at(21, 0) });
    until(&mut stage, 20, 30);
    assert_eq!(state(&stage), InstanceState::Running);
    until(&mut stage, 21, 1);
    assert_eq!((state(&stage), lab(&stage).postponed.clone()), (InstanceState::Stopped, None));
    let reason = "Bo had kept it running until now, over a scheduled stop.".to_owned();
    assert!(history(&stage).contains(&reason), "{:#?}", history(&stage));
    // The next day everything is as planned.
    stage.must("Ada", Order::StartInstance(LAB));
    until(&mut stage, 24 + 19, 1);
    assert_eq!(state(&stage), InstanceState::Stopped);
}

#[test]
fn nobody_puts_off_what_does_not_come() {
    let mut stage = running(plain());
    let put_off = |until: Timestamp| Order::PostponeStop { instance: LAB, until };
    let refused = |stage: &mut Stage, order: Order| match stage.order("Ada", order) {
        Err(reason) => reason.sentence(),
        Ok(answer) => panic!("{answer:?}"),
    };
    assert_eq!(
        refused(&mut stage, put_off(at(12, 0))),
        "ines-lab has no stop ahead: no schedule stops it, and no idle time."
    );
    assert_eq!(
        refused(&mut stage, Order::SkipStop { instance: LAB }),
        "No schedule is going to stop ines-lab, so there is nothing to leave out."
    );
    stop_at(&mut stage, "0 19 * * *", StopJobs::Now);
    assert_eq!(
        refused(&mut stage, put_off(at(18, 0))),
        "ines-lab stops in 10 h 59 min at the earliest, which is later than that anyway."
    );
    assert_eq!(
        refused(&mut stage, put_off(at(8 + 27, 0))),
        "A stop can be put off for up to 1 day, not for 1 day 2 h.",
    );
    assert!(refused(&mut stage, put_off(at(7, 0))).starts_with("That was 1 h 1 min ago"));
    // Where only idleness would stop it, that is held.
    stage.must("Ada", Order::ConfigureInstance { instance: LAB, idle: idle_after(Span::hours(1)), keeps_quota: false });
    assert_eq!(stage.must("Ada", put_off(at(12, 0))), Answer::Done);
    assert_eq!(lab(&stage).postponed, None);
    stage.must("Ada", Order::StopInstance(LAB));
    stage.pass(MINUTE);
    assert!(refused(&mut stage, put_off(at(12, 0))).contains("is stopped"));
}

#[test]
fn one_stop_is_left_out_and_the_next_comes() {
    let mut stage = running(plain());
    stop_at(&mut stage, "0 12,19 * * *", StopJobs::Now);
    until(&mut stage, 11, 50);
    stage.must("Ada", Order::SkipStop { instance: LAB });
    assert_eq!(notices(&stage), []);
    let again = stage.order("Ada", Order::SkipStop { instance: LAB });
    assert!(matches!(again, Err(Reason::CannotSkip { .. })), "only one can be left out: {again:?}");
    until(&mut stage, 18, 50);
    assert_eq!((state(&stage), notices(&stage).len()), (InstanceState::Running, 1));
    // One that was put off can be left out too.
    stage.must("Ada", Order::PostponeStop { instance: LAB, until: at(19, 30) });
    stage.must("Ada", Order::SkipStop { instance: LAB });
    assert_eq!(lab(&stage).postponed, None);
}

#[test]
fn manual_actions_hold_until_the_next_boundary() {
    let mut stage = running(plain());
    stage.schedule(ScheduleTarget::Instance(LAB), Action::Start, "0 9 * * *");
    stop_at(&mut stage, "0 19 * * *", StopJobs::Now);
    until(&mut stage, 12, 0);
    stage.must("Ada", Order::StopInstance(LAB));
    until(&mut stage, 24 + 8, 59);
    assert_eq!(state(&stage), InstanceState::Stopped, "stopped inside the window, until the next start");
    until(&mut stage, 24 + 9, 1);
    assert_eq!(state(&stage), InstanceState::Running);
    until(&mut stage, 24 + 20, 0);
    assert_eq!(state(&stage), InstanceState::Stopped);
    stage.must("Ada", Order::StartInstance(LAB));
    until(&mut stage, 48 + 18, 59);
    assert_eq!(state(&stage), InstanceState::Running, "started outside of it, until the next stop");
    until(&mut stage, 48 + 19, 1);
    assert_eq!(state(&stage), InstanceState::Stopped);
}

// ---- stops and jobs
// -------------------------------------------------------------------------------------------------

fn with_job(jobs: StopJobs, runs: Span) -> (Stage, JobId) {
    let mut stage = running(plain());
    stop_at(&mut stage, "0 9 * * *", jobs);
    until(&mut stage, 8, 50);
    let id = stage.submit(job(Target::Instance(LAB), cores(1)), runs);
    until(&mut stage, 9, 1);
    (stage, id)
}

#[test]
fn a_stop_now_ends_the_jobs() {
    let (stage, id) = with_job(StopJobs::Now, Span::hours(2));
    assert_eq!((state(&stage), stage.world.job(id).is_none()), (InstanceState::Stopped, true));
}

#[test]
fn a_stop_waits_for_jobs_and_starts_no_others() {
    let (mut stage, id) = with_job(StopJobs::Drain(Span::minutes(30)), Span::minutes(25));
    assert_eq!(state(&stage), InstanceState::JobRunning);
    assert_eq!(lab(&stage).notice().map(|notice| notice.at), Some(at(9, 30)));
    let late = stage.submit(job(Target::Instance(LAB), cores(1)), MINUTE);
    stage.pass(MINUTE);
    let why = stage.world.explain_job(late).map(|reason| reason.sentence());
    assert_eq!(
        why.as_deref(),
        Some("ines-lab is about to stop and starts nothing more; what runs there has 29 min left.")
    );
    until(&mut stage, 9, 14);
    assert_eq!(state(&stage), InstanceState::JobRunning);
    until(&mut stage, 9, 16);
    assert_eq!((state(&stage), stage.world.job(id).is_none()), (InstanceState::Stopped, true));
    assert!(
        stage
            .outcomes
            .iter()
            .flat_map(|outcome| &outcome.ended)
            .any(|ended| { ended.job.id == id && JobState::of(&ended.verdict) == JobState::Completed })
    );
    assert_eq!(stage.world.job(late).map(|job| job.state()), Some(JobState::Queued), "it waits for the next start");
}

#[test]
fn a_stop_does_not_wait_for_ever() {
    let (mut stage, id) = with_job(StopJobs::Drain(Span::minutes(30)), Span::hours(9));
    until(&mut stage, 9, 29);
    assert_eq!(state(&stage), InstanceState::JobRunning);
    until(&mut stage, 9, 31);
    assert_eq!((state(&stage), stage.world.job(id).is_none()), (InstanceState::Stopped, true));
    let line = "By schedule: Stop every day at 09:00, UTC; waits up to 30 min for jobs.".to_owned();
    assert!(history(&stage).contains(&line), "{:#?}", history(&stage));
}

#[test]
fn a_stop_that_waits_can_be_called_off() {
    let orders = [
        Order::StartInstance(LAB),
        Order::SkipStop { instance: LAB },
        Order::PostponeStop { instance: LAB, until: at(11, 0) },
    ];
    for order in orders {
        let (mut stage, _) = with_job(StopJobs::Drain(Span::minutes(30)), Span::hours(9));
        stage.must("Ada", order.clone());
        until(&mut stage, 10, 0);
        assert_eq!(state(&stage), InstanceState::JobRunning, "{order:?}");
    }
}

#[test]
fn a_stop_is_left_out_while_jobs_run() {
    let (mut stage, _) = with_job(StopJobs::Skip, Span::hours(2));
    assert_eq!(state(&stage), InstanceState::JobRunning);
    let line = "Not stopped, since 1 job runs there: Stop every day at 09:00, UTC; not while jobs run.";
    assert!(history(&stage).contains(&line.to_owned()), "{:#?}", history(&stage));
    assert_eq!(said(&stage, About::Schedule(ScheduleId(1))), [line]);
    until(&mut stage, 24 + 9, 1);
    assert_eq!(state(&stage), InstanceState::Stopped, "the next day none run");
}

#[test]
fn what_a_stop_does_to_jobs_is_checked() {
    let mut stage = running(plain());
    let add = |action: Action, jobs: StopJobs| Order::AddSchedule {
        target: ScheduleTarget::Instance(LAB),
        action,
        timetable: timetable("0 9 * * *"),
        jobs,
    };
    let field = |stage: &mut Stage, order: Order| match stage.order("Ada", order) {
        Err(Reason::Invalid { problem }) => problem.field,
        other => panic!("{other:?}"),
    };
    assert_eq!(field(&mut stage, add(Action::Stop, StopJobs::Drain(Span::ZERO))), "drain");
    assert_eq!(field(&mut stage, add(Action::Stop, StopJobs::Drain(Span::hours(25)))), "drain");
    assert_eq!(field(&mut stage, add(Action::Start, StopJobs::Skip)), "jobs");
}

// ---- idleness
// -------------------------------------------------------------------------------------------------------

fn report(stage: &mut Stage, active: &[Source], minutes: u32) {
    for _ in 0..minutes {
        stage.pass(MINUTE);
        stage.report(Report::Activity { instance: LAB, active: active.to_vec(), stretch: MINUTE });
    }
}

#[test]
fn a_stop_for_want_of_activity_keeps_its_evidence() {
    let counts = [Source::Kernel, Source::Terminal].into();
    let idle = Some(IdlePolicy { window: Span::minutes(15), counts });
    let mut stage = running(NewInstance { idle, ..plain() });
    report(&mut stage, &[Source::Terminal], 2);
    report(&mut stage, &[Source::Kernel, Source::Processor], 3);
    report(&mut stage, &[Source::Processor], 11);
    let notice = lab(&stage).notice().copied().expect("a warning");
    assert_eq!(notice.why, StopWhy::Idle);
    report(&mut stage, &[], 4);
    let why =
        stage.outcomes.iter().flat_map(|outcome| &outcome.decisions).find_map(|decision| match &decision.reason {
            Reason::Idle { evidence, .. } => Some(evidence.clone()),
            _ => None,
        });
    let why: Vec<String> =
        why.expect("it stopped").iter().map(|one| format!("{:?} {} {}", one.source, one.ago, one.counts)).collect();
    assert_eq!(why, ["Processor 4 min false", "Kernel 15 min true", "Terminal 18 min true"]);
    assert_eq!(lab(&stage).operation.trigger, Trigger::Idle);
}

#[test]
fn both_stops_are_announced_and_the_first_is_shown() {
    let mut stage = running(NewInstance { idle: idle_after(Span::minutes(15)), ..plain() });
    let stop = stop_at(&mut stage, "13 8 * * *", StopJobs::Now);
    report(&mut stage, &[], 11);
    let whys: Vec<StopWhy> = notices(&stage).iter().map(|notice| notice.why).collect();
    assert_eq!(whys, [StopWhy::Schedule(stop), StopWhy::Idle]);
    let line = stage.world.next_actions(LAB, stage.clocks()).expect("it exists");
    assert!(line.idle.is_some_and(|idle| idle > at(8, 13)));
    stage.must("Ada", Order::ExtendInstance { instance: LAB, by: Span::hours(1) });
    assert_eq!(notices(&stage).len(), 1, "only the one for want of activity is off");
}

#[test]
fn administrators_bound_idle_times_and_amend_what_breaks_the_rules() {
    let mut stage = running(NewInstance { idle: idle_after(Span::hours(48)), ..plain() });
    stage.must(
        "Bo",
        Order::CreateInstance(Box::new(NewInstance {
            starts: false,
            owner: UserId::new("bo"),
            ..new_instance("bo-lab", "tiny")
        })),
    );
    let rules =
        IdleRules { default: Some(Span::hours(1)), min: Span::minutes(30), max: Span::hours(4), is_required: true };
    assert_eq!(stage.must("Mara", Order::SetIdleRules(rules.clone())), Answer::Done);
    assert_eq!(stage.must("Mara", Order::SetIdleRules(rules.clone())), Answer::Already);
    let window = |stage: &Stage, id: InstanceId| {
        stage.world.instance(id).and_then(|one| one.idle.as_ref().map(|idle| (idle.window, one.idle_by_policy)))
    };
    assert_eq!(window(&stage, LAB), Some((Span::hours(4), true)));
    assert_eq!(window(&stage, InstanceId(2)), Some((Span::hours(1), true)));
    let message = |stage: &mut Stage, order: Order| match stage.order("Ada", order) {
        Err(Reason::Invalid { problem }) => format!("{}: {}", problem.field, problem.message),
        other => panic!("{other:?}"),
    };
    let configure = |idle| Order::ConfigureInstance { instance: LAB, idle, keeps_quota: false };
    assert_eq!(
        message(&mut stage, configure(None)),
        "idle: Idle shutdown is required in this workspace: choose between 30 min and 4 h."
    );
    assert_eq!(
        message(&mut stage, configure(idle_after(Span::hours(5)))),
        "idle: Idle time is between 30 min and 4 h in this workspace; this is 5 h."
    );
    let new = Order::CreateInstance(Box::new(NewInstance { idle: None, ..new_instance("new-lab", "tiny") }));
    assert!(message(&mut stage, new).starts_with("idle: Idle shutdown is required"));
    let bad = Order::SetIdleRules(IdleRules { max: Span::minutes(20), ..rules });
    assert_eq!(message(&mut stage, bad), "max: The longest idle time is between 30 min and 3 days; this is 20 min.");
    stage.must("Ada", configure(idle_after(Span::hours(2))));
    assert_eq!(window(&stage, LAB), Some((Span::hours(2), false)));
    // A rule's own idle time stops as policy.
    let rules = IdleRules { default: None, min: Span::minutes(15), max: Span::minutes(15), is_required: false };
    stage.must("Mara", Order::SetIdleRules(rules));
    report(&mut stage, &[], 16);
    assert_eq!(lab(&stage).operation.trigger, Trigger::Policy);
    assert!(stage.world.idle_rules(&WorkspaceId::new("elsewhere")) == IdleRules::default());
}

// ---- jobs
// -----------------------------------------------------------------------------------------------------------

#[test]
fn only_the_owner_runs_jobs_on_an_instance() {
    let mut stage = running(plain());
    let refused = stage.order("Bo", Order::Submit(job(Target::Instance(LAB), cores(1))));
    let Err(reason) = refused else { panic!("{refused:?}") };
    assert_eq!(reason.sentence(), "Running jobs on ines-lab is for its owner alone.");
    // One for each core, however many they ask for; the rest waits.
    let all: Vec<JobId> = (0..6)
        .map(|_| stage.submit_as("Ada", job(Target::Instance(LAB), cores(2)), Span::hours(1), Exit::Code(0)))
        .collect();
    stage.pass(Span::seconds(5));
    let running = all.iter().filter(|id| stage.world.job(**id).is_some_and(|job| job.state() == JobState::Running));
    assert_eq!(running.count(), 4);
}

// ---- what comes next
// ------------------------------------------------------------------------------------------------

fn next(stage: &Stage) -> Option<String> {
    let (berlin, now) = (ok(Zone::parse("Europe/Berlin")), stage.clocks());
    stage.world.next_actions(LAB, now).and_then(|line: NextLine| line.sentence(&berlin, now.wall))
}

#[test]
fn the_next_line_says_what_comes() {
    let mut stage = running(NewInstance { idle: idle_after(Span::hours(1)), ..plain() });
    assert_eq!(next(&stage).as_deref(), Some("Stops 10:00 Europe/Berlin if idle"));
    let in_berlin = |action: Action, cron: &str| {
        let trigger = atelier_domain::schedule::Trigger::Cron(ok(atelier_domain::schedule::Cron::parse(cron)));
        let zone = ok(Zone::parse("Europe/Berlin"));
        let timetable = ok(atelier_domain::schedule::Timetable::new(trigger, zone, None));
        Order::AddSchedule {
            target: ScheduleTarget::Instance(LAB),
            action,
            timetable: Box::new(timetable),
            jobs: StopJobs::Now,
        }
    };
    stage.must("Ada", in_berlin(Action::Stop, "0 19 * * *"));
    stage.must("Ada", in_berlin(Action::Start, "30 8 * * MON-FRI"));
    assert_eq!(next(&stage).as_deref(), Some("Stops 19:00 Europe/Berlin by schedule, or 10:00 if idle"));
    until(&mut stage, 8, 11);
    report(&mut stage, &[Source::Kernel], 1);
    assert_eq!(next(&stage).as_deref(), Some("Stops 19:00 Europe/Berlin by schedule, or 10:12 if idle"));
    // Not reported yet, and so a little nearer.
    stage.pass(Span::seconds(30));
    assert_eq!(next(&stage).as_deref(), Some("Stops 19:00 Europe/Berlin by schedule, or 10:12 if idle"));
    stage.must("Ada", Order::PostponeStop { instance: LAB, until: at(19, 30) });
    assert_eq!(next(&stage).as_deref(), Some("Stops 20:30 Europe/Berlin, put off by Ada"));
    assert_eq!(stage.world.next_actions(LAB, stage.clocks()).and_then(|line| line.kept_until), Some(at(19, 30)));
    stage.must("Ada", Order::StopInstance(LAB));
    stage.pass(MINUTE);
    assert_eq!(next(&stage).as_deref(), Some("Starts Tue 08:30 Europe/Berlin by schedule"));
    stage.must("Ada", Order::SkipSchedule { schedule: ScheduleId(2), skips: true });
    assert_eq!(next(&stage).as_deref(), Some("Starts Wed 08:30 Europe/Berlin by schedule"));
    stage.must("Ada", Order::RemoveSchedule(ScheduleId(2)));
    assert_eq!(next(&stage), None);
}

#[test]
fn the_week_of_a_workspace_is_all_that_is_planned() {
    let mut stage = running(plain());
    let target = ScheduleTarget::Instance(LAB);
    stage.schedule(target, Action::Start, "0 9 * * MON-FRI");
    let stop = stop_at(&mut stage, "0 19 * * MON-FRI", StopJobs::Skip);
    let off = stop_at(&mut stage, "0 13 * * *", StopJobs::Now);
    stage.must("Ada", Order::EnableSchedule { schedule: off, is_enabled: false });
    let workspace = WorkspaceId::new("w");
    let plan = |stage: &Stage| stage.world.week_plan(&workspace, stage.clocks().wall, 7);
    let week = plan(&stage);
    assert!(!week.is_cut && week.entries.is_sorted_by_key(|entry| entry.at));
    assert_eq!(week.entries.len(), 10);
    assert!(week.entries.iter().all(|entry| entry.name == "ines-lab" && !entry.is_skipped));
    stage.must("Ada", Order::PostponeStop { instance: LAB, until: at(8 + 23, 0) });
    let week = plan(&stage);
    assert_eq!(week.entries.len(), 11);
    let first = week.entries.iter().find(|entry| entry.schedule == Some(stop)).expect("its stop");
    assert!(first.is_skipped, "Ada keeps it running past it");
    assert!(week.entries.iter().any(|entry| entry.schedule.is_none() && entry.at == at(8 + 23, 0)));
    assert_eq!(stage.world.week_plan(&WorkspaceId::new("elsewhere"), at(8, 0), 7).entries, []);
    // Every minute of a week is more than anybody reads.
    stage.schedule(target, Action::Start, "* * * * *");
    assert!(plan(&stage).is_cut);
}

#[test]
fn a_preview_shows_both_zones_and_the_change_of_clocks() {
    let berlin = ok(Zone::parse("Europe/Berlin"));
    let trigger = atelier_domain::schedule::Trigger::Cron(ok(atelier_domain::schedule::Cron::parse("0 19 * * *")));
    let timetable = ok(atelier_domain::schedule::Timetable::new(trigger, berlin.clone(), None));
    let from = Timestamp(MORNING + 25 * 86_400_000);
    let new_york = ok(Zone::parse("America/New_York"));
    let rows: Vec<String> = timetable
        .preview_with(3, from, &new_york)
        .iter()
        .map(|row| {
            format!(
                "{} = {} {}: {}",
                row.firing,
                row.there,
                row.there_offset,
                row.explanation.clone().unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            "Fri 27 Mar 2026 19:00 +01:00 = Fri 27 Mar 2026 14:00 -04:00: ",
            "Sat 28 Mar 2026 19:00 +01:00 = Sat 28 Mar 2026 14:00 -04:00: ",
            "Sun 29 Mar 2026 19:00 +02:00 = Sun 29 Mar 2026 13:00 -04:00: first after the clocks go forward by 1 h",
        ]
    );
    let clock = atelier_domain::schedule::Clock::parse("22:30").expect("a time");
    assert_eq!(berlin.next_time(clock, at(8, 0)), Some(at(21, 30)));
    assert_eq!(berlin.next_time(clock, at(21, 30)), Some(at(24 + 21, 30)));
}

// ---- a clock that was wrong
// -----------------------------------------------------------------------------------------

#[test]
fn what_was_put_off_under_a_wrong_clock_does_not_last_for_ever() {
    let mut stage = running(plain());
    stop_at(&mut stage, "0 19 * * *", StopJobs::Now);
    stage.skew = 10 * 86_400_000;
    stage.step(Vec::new());
    let far = stage.clocks().wall.plus(Span::hours(20));
    stage.must("Ada", Order::PostponeStop { instance: LAB, until: far });
    stage.skew = 0;
    stage.step(Vec::new());
    let put_off = lab(&stage).postponed.clone().expect("still put off");
    assert!(put_off.until <= stage.clocks().wall.plus(Span::hours(24)));
    stage.pass(Span::hours(25));
    assert_eq!(state(&stage), InstanceState::Stopped);
}
