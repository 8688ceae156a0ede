//! What is promised about budgets: warned of once and in time, refused exactly when all is spent, free again
//! when the month is over.

use std::collections::BTreeMap;

use atelier_domain::compute::budget::{BudgetAction, BudgetKey, BudgetOf, MAX_AMOUNT, NewBudget, ONE};
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::job::{JobSpec, Target};
use atelier_domain::compute::{ClusterId, InstanceId, JobId};
use atelier_domain::reason::Reason;
use atelier_domain::schedule::Zone;
use atelier_domain::time::{Span, Timestamp};
use atelier_domain::world::{About, Answer, Exit, Key, Order, Record, Report, World};
use atelier_domain::{UserId, WorkspaceId};
use proptest::prelude::*;

use crate::script::{MORNING, Stage, cores, job, new_instance, ok, scale, size};
use crate::support::cases;

const POOL: ClusterId = ClusterId(1);

fn workspace() -> BudgetKey {
    BudgetKey { workspace: WorkspaceId::new("w"), of: BudgetOf::Workspace }
}

fn of(person: &str) -> BudgetKey {
    BudgetKey { workspace: WorkspaceId::new("w"), of: BudgetOf::Person(UserId::new(person)) }
}

/// So many hundredths of the currency a month.
fn budget(cents: i64, action: BudgetAction) -> NewBudget {
    let (zone, currency) = (ok(Zone::parse("Europe/Berlin")), "EUR".into());
    NewBudget { amount: cents * (ONE as i64 / 100), action, zone, currency, spent: 0 }
}

fn set(stage: &mut Stage, key: &BudgetKey, new: NewBudget) {
    let answer = stage.must("Owner", Order::SetBudget { of: key.of.clone(), budget: Some(Box::new(new)) });
    assert_eq!(answer, Answer::Done);
}

/// A cluster of four nodes that cost 0.4 an hour each.
fn stage(min: u32) -> Stage {
    let mut stage = Stage::roomy();
    stage.is_writing = false;
    stage.cluster("train-pool", "small", scale(min, 4, Span::seconds(30)));
    stage.pass(Span::seconds(10));
    stage
}

fn on_pool() -> JobSpec {
    job(Target::Cluster(POOL), cores(4))
}

/// What was warned of: whose, at which threshold, and when.
fn warnings(stage: &Stage) -> Vec<(Option<UserId>, u8, u64)> {
    let mut found = Vec::new();
    for (outcome, (_, now)) in stage.outcomes.iter().zip(&stage.inputs) {
        for decision in &outcome.decisions {
            if let Reason::BudgetWarning { person, percent, .. } = &decision.reason {
                assert_eq!(decision.about, About::Budget);
                found.push((person.clone(), *percent, now.mono.0));
            }
        }
    }
    found
}

/// All that was booked.
fn booked(stage: &Stage, person: Option<&str>) -> u64 {
    let ledger = stage.outcomes.iter().flat_map(|outcome| &outcome.ledger);
    ledger.filter(|(key, _)| person.is_none_or(|id| key.user.as_str() == id)).map(|(_, charge)| charge.cost).sum()
}

#[test]
fn warnings_come_in_time_and_once() {
    let mut stage = stage(1);
    let begin = stage.now;
    // One node at 0.4 an hour: half of 4.00 after five hours, less what it has cost already.
    set(&mut stage, &workspace(), budget(400, BudgetAction::Warn));
    stage.pass(Span::hours(12));
    let at: Vec<(u8, u64)> =
        warnings(&stage).into_iter().map(|(_, percent, at)| (percent, (at - begin) / 60_000)).collect();
    assert_eq!(at.iter().map(|(percent, _)| *percent).collect::<Vec<_>>(), [50, 80, 100]);
    for ((_, at), expected) in at.iter().zip([300, 480, 600]) {
        assert!(at.abs_diff(expected) <= 2, "after {at} minutes in place of {expected}");
    }
    let text = stage.outcomes.iter().flat_map(|outcome| &outcome.decisions).find_map(|decision| {
        matches!(decision.reason, Reason::BudgetWarning { percent: 80, .. }).then(|| decision.reason.sentence())
    });
    assert_eq!(
        text.as_deref(),
        Some(
            "€3.20 of the workspace’s €4.00 for this month are spent (80 %); the month ends on 1 Apr 2026 \
             (Europe/Berlin)."
        )
    );
    // It only warns: work goes on.
    stage.must("Ada", Order::Submit(on_pool()));
}

#[test]
fn new_work_is_refused_with_the_numbers_and_who_can_raise_it() {
    let mut stage = stage(1);
    let lab = stage.instance(atelier_domain::world::NewInstance { starts: false, ..new_instance("lab", "small") });
    set(&mut stage, &workspace(), budget(40, BudgetAction::Refuse));
    stage.pass(Span::minutes(50));
    let running = stage.submit(on_pool(), Span::hours(3));
    stage.pass(Span::minutes(15));
    let refusals = |stage: &mut Stage| -> Vec<Result<Answer, Reason>> {
        let orders = [
            Order::Submit(on_pool()),
            Order::SubmitArray { spec: on_pool(), count: 3 },
            Order::StartInstance(lab),
            Order::WakeInstance(lab),
            Order::CreateInstance(Box::new(new_instance("other", "small"))),
            Order::CreateCluster {
                name: crate::script::compute("more-pool"),
                size: size("small"),
                scale: scale(0, 1, Span::seconds(30)),
                tier: atelier_domain::compute::size::Tier::Dedicated,
                tags: atelier_domain::compute::tags::Tags::default(),
            },
            Order::ScaleCluster { cluster: POOL, scale: scale(2, 4, Span::seconds(30)) },
        ];
        let mut trial = stage.clone();
        orders.into_iter().map(|order| trial.order("Ada", order)).collect()
    };
    for answer in refusals(&mut stage) {
        let Err(reason @ Reason::OverBudget { .. }) = answer else { panic!("{answer:?}") };
        assert!(reason.sentence().starts_with("The workspace has spent €0.4"), "{}", reason.sentence());
        assert!(reason.sentence().contains("of €0.40 for this month"), "{}", reason.sentence());
        assert_eq!(
            reason.next_step().as_deref(),
            Some("An Owner can raise the budget; the next month begins on 1 Apr 2026 (Europe/Berlin).")
        );
    }
    // What was taken before goes on, and what frees something is taken.
    assert!(stage.world.job(running).is_some());
    stage.must("Ada", Order::Cancel(running));
    stage.must("Ada", Order::ScaleCluster { cluster: POOL, scale: scale(0, 4, Span::seconds(30)) });
    // More of it, and all is well again; what is reached is not warned of again.
    let before = warnings(&stage).len();
    set(&mut stage, &workspace(), budget(50, BudgetAction::Refuse));
    assert_eq!(warnings(&stage).len(), before);
    assert!(refusals(&mut stage).iter().take(6).all(Result::is_ok));
    // Another workspace has nothing to do with it.
    let outcome = stage.step(vec![crate::script::order_elsewhere(Order::SetHalfLife(Span::hours(24)))]);
    assert!(matches!(outcome.replies[0], Some(Ok(_))));
}

#[test]
fn a_person_is_refused_for_what_they_paid_alone() {
    let mut stage = stage(0);
    set(&mut stage, &of("bo"), budget(20, BudgetAction::Refuse));
    stage.submit_as("Ada", on_pool(), Span::hours(5), Exit::Code(0));
    let own = stage.submit_as("Bo", on_pool(), Span::minutes(50), Exit::Code(0));
    stage.pass(Span::minutes(20));
    stage.must("Bo", Order::Submit(on_pool()));
    stage.pass(Span::minutes(20));
    assert!(stage.world.spent(&of("bo")).is_some_and(|spent| spent >= ONE / 5), "{:?}", stage.world.spent(&of("bo")));
    assert!(matches!(stage.order("Bo", Order::Submit(on_pool())), Err(Reason::OverBudget { is_personal: true, .. })));
    stage.must("Ada", Order::Submit(on_pool()));
    assert!(warnings(&stage).iter().any(|(person, percent, _)| *person == Some(UserId::new("bo")) && *percent == 100));
    let _ = own;
}

#[test]
fn the_next_month_begins_anew() {
    let mut stage = stage(1);
    set(&mut stage, &workspace(), budget(40, BudgetAction::Refuse));
    stage.pass(Span::hours(2));
    assert!(matches!(stage.order("Ada", Order::Submit(on_pool())), Err(Reason::OverBudget { .. })));
    // 1 April, midnight in Berlin.
    let next = 1_774_994_400_000 - MORNING;
    stage.pass_until(next as u64 + 1_000);
    let budget = stage.world.budget(&workspace()).expect("it is there").clone();
    assert_eq!((budget.period.from, budget.warned), (Timestamp(1_774_994_400_000), 0));
    stage.must("Ada", Order::Submit(on_pool()));
    stage.pass(Span::hours(2));
    let percents: Vec<u8> = warnings(&stage).into_iter().map(|(_, percent, _)| percent).collect();
    assert_eq!(percents, [50, 80, 100, 50, 80, 100]);
}

#[test]
fn what_is_idle_stops_with_notice() {
    let mut stage = stage(2);
    let idle = stage.instance(new_instance("idle-lab", "small"));
    let busy = stage.instance(new_instance("busy-lab", "small"));
    set(&mut stage, &workspace(), budget(100, BudgetAction::StopIdle));
    let job = stage.submit(on_pool(), Span::hours(5));
    let minute = |stage: &mut Stage| {
        stage.pass(Span::minutes(1));
        for (instance, active) in [(idle, vec![]), (busy, vec![atelier_domain::compute::idle::Source::Kernel])] {
            stage.report(Report::Activity { instance, active, stretch: Span::minutes(1) });
        }
    };
    let state = |stage: &Stage, id: InstanceId| stage.world.instance(id).map(|it| stage.world.instance_state(it));
    (0..20).for_each(|_| minute(&mut stage));
    assert_eq!((state(&stage, idle), stage.world.nodes().count()), (Some(InstanceState::Running), 4));
    (0..60).for_each(|_| minute(&mut stage));
    assert_eq!(state(&stage, idle), Some(InstanceState::Stopped));
    assert_eq!(state(&stage, busy), Some(InstanceState::Running));
    assert!(stage.world.job(job).is_some(), "what works is not ended");
    let warned = stage.outcomes.iter().flat_map(|outcome| &outcome.decisions);
    assert!(
        warned.filter(|it| it.about == About::Instance(idle)).any(|it| matches!(it.reason, Reason::IdleWarning { .. }))
    );
    // The minimum of two counts no longer: one node runs the job, and one is the busy instance's.
    assert_eq!(stage.world.nodes().count(), 2);
    // Once there is more, it does again.
    set(&mut stage, &workspace(), budget(10_000, BudgetAction::StopIdle));
    stage.pass(Span::minutes(5));
    assert_eq!(stage.world.nodes().count(), 3);
}

#[test]
fn budgets_are_set_changed_and_taken_away() {
    let mut stage = stage(0);
    let order = |of: BudgetOf, new: Option<NewBudget>| Order::SetBudget { of, budget: new.map(Box::new) };
    for (cents, expected) in [(0, "not €0.00"), (-500, "not −€5.00")] {
        let refused = stage.order("Owner", order(BudgetOf::Workspace, Some(budget(cents, BudgetAction::Warn))));
        let Err(Reason::Invalid { problem }) = refused else { panic!("{refused:?}") };
        assert_eq!(problem.field, "amount");
        assert!(problem.message.contains(expected), "{}", problem.message);
    }
    let too_much = NewBudget { amount: MAX_AMOUNT as i64 + 1, ..budget(1, BudgetAction::Warn) };
    assert!(stage.order("Owner", order(BudgetOf::Workspace, Some(too_much))).is_err());
    assert_eq!(stage.world.budgets(&WorkspaceId::new("w")).count(), 0);

    // Whoever sets the first one says what was spent before.
    let first = NewBudget { spent: ONE, ..budget(150, BudgetAction::Refuse) };
    set(&mut stage, &workspace(), first.clone());
    assert_eq!(warnings(&stage).iter().map(|(_, percent, _)| *percent).collect::<Vec<_>>(), [50]);
    assert_eq!(stage.must("Owner", order(BudgetOf::Workspace, Some(first))), Answer::Already);
    set(&mut stage, &of("bo"), budget(700, BudgetAction::Warn));
    let keys: Vec<BudgetKey> = stage.world.budgets(&WorkspaceId::new("w")).map(|(key, _)| key.clone()).collect();
    assert_eq!(keys, [workspace(), of("bo")]);
    // Lowered below what is spent: warned of at once, and refused.
    set(&mut stage, &workspace(), budget(90, BudgetAction::Refuse));
    assert_eq!(warnings(&stage).iter().map(|(_, percent, _)| *percent).collect::<Vec<_>>(), [50, 100]);
    assert!(matches!(stage.order("Ada", Order::Submit(on_pool())), Err(Reason::OverBudget { .. })));
    assert_eq!(stage.must("Owner", order(BudgetOf::Workspace, None)), Answer::Done);
    assert_eq!(stage.must("Owner", order(BudgetOf::Workspace, None)), Answer::Already);
    stage.must("Ada", Order::Submit(on_pool()));
}

#[test]
fn what_was_warned_of_survives_a_restart() {
    let mut stage = stage(1);
    set(&mut stage, &workspace(), budget(100, BudgetAction::Refuse));
    stage.pass(Span::minutes(100));
    assert_eq!(warnings(&stage).len(), 1);
    let key = Key::Budget(workspace());
    let saved = stage.world.record(&key).expect("it is there");
    let text = serde_json::to_string(&saved).expect("it can be written");
    assert_eq!(serde_json::from_str::<Record>(&text).expect("it can be read"), saved);
    let later = Span::millis(stage.now - stage.world.mono().0);
    let spent = stage.world.budget_standing(&workspace(), later).map(|standing| standing.spent);
    stage.world = World::load(stage.world.records(), stage.clocks());
    assert_eq!((stage.world.audit(), stage.world.spent(&workspace())), (vec![], spent));
    stage.step(Vec::new());
    assert_eq!(warnings(&stage).len(), 1, "not again");
    stage.pass(Span::hours(2));
    assert_eq!(warnings(&stage).iter().map(|(_, percent, _)| *percent).collect::<Vec<_>>(), [50, 80, 100]);
}

proptest! {
    #![proptest_config(cases(20))]

    /// Whatever runs and whatever people change: no threshold is warned of twice in a month; what was spent
    /// is what the ledger says and what has run up since; a submit is refused exactly when all of a budget
    /// that refuses is spent, and no warning is more than two minutes late.
    #[test]
    fn budgets_hold(
        deeds in proptest::collection::vec((0_u8..10, 1_u32..240, 0_usize..2, 1_i64..300), 5..40),
        action in prop_oneof![Just(BudgetAction::Warn), Just(BudgetAction::Refuse), Just(BudgetAction::StopIdle)],
        own in 20_i64..300,
    ) {
        let people = ["Ada", "Bo"];
        let mut stage = stage(0);
        let mut whole = budget(own * 2, action);
        set(&mut stage, &workspace(), whole.clone());
        set(&mut stage, &of("bo"), budget(own, action));
        let mut late: BTreeMap<(BudgetKey, u8), u64> = BTreeMap::new();
        for (deed, minutes, who, cents) in deeds {
            match deed {
                0..=4 => {
                    let person = people[who];
                    let is_over = [workspace(), of(&person.to_lowercase())].into_iter().any(|key| {
                        let later = Span::millis(stage.now - stage.world.mono().0);
                        let spent = stage.world.budget_standing(&key, later).map(|standing| standing.spent);
                        stage.world.budget(&key).is_some_and(|it| it.action.refuses() && spent >= Some(it.amount))
                    });
                    let next = JobId(stage.world.state().jobs + 1);
                    stage.reality.runs.insert(next, (Span::minutes(minutes), Exit::Code(0)));
                    let answer = stage.order(person, Order::Submit(on_pool()));
                    let is_refused = matches!(answer, Err(Reason::OverBudget { .. }));
                    prop_assert_eq!(is_refused, is_over, "{:?}", answer);
                }
                5 => {
                    whole = budget(own * 2 + cents, action);
                    let budget = Some(Box::new(whole.clone()));
                    stage.order("Owner", Order::SetBudget { of: BudgetOf::Workspace, budget }).ok();
                }
                6 => {
                    let now = stage.clocks();
                    stage.world = World::load(stage.world.records(), now);
                    stage.step(Vec::new());
                }
                _ => {
                    for _ in 0..minutes {
                        stage.pass(Span::minutes(1));
                        for key in [workspace(), of("bo")] {
                            let Some(it) = stage.world.budget(&key).cloned() else { continue };
                            let standing = stage.world.budget_standing(&key, Span::ZERO).expect("it stands");
                            let reached = it.reached(standing.spent);
                            if reached > it.warned {
                                let since = *late.entry((key.clone(), reached)).or_insert(stage.now);
                                prop_assert!(stage.now - since <= 120_000, "{key:?} {reached} since {since}");
                            } else {
                                late.retain(|(of, _), _| *of != key);
                            }
                        }
                    }
                }
            }
            let spent = stage.world.budget(&workspace()).map(|it| it.spent);
            prop_assert_eq!(spent, Some(booked(&stage, None)));
            let spent = stage.world.budget(&of("bo")).map(|it| it.spent);
            let since = booked(&stage, Some("bo"));
            prop_assert_eq!(spent, Some(since));
        }
        let mut seen: BTreeMap<(Option<UserId>, u8), u32> = BTreeMap::new();
        for (person, percent, _) in warnings(&stage) {
            *seen.entry((person, percent)).or_default() += 1;
        }
        // The person's budget is never changed, so nothing of it is reached twice.
        prop_assert!(seen.iter().all(|((person, _), count)| person.is_none() || *count == 1), "{:?}", seen);
    }
}
