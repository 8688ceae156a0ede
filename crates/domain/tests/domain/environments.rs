//! Environments in the core: jobs wait for them without a node, and end with those that cannot be built. And
//! recipes, of any text.

use std::collections::BTreeMap;

use atelier_domain::compute::job::{EndedAs, JobSpec, Target, Verdict};
use atelier_domain::compute::size::ComputeName;
use atelier_domain::compute::{ClusterId, JobId, Resources};
use atelier_domain::environment::{EnvironmentHash, MAX_LINES, Pinned, Recipe};
use atelier_domain::reason::Reason;
use atelier_domain::time::Span;
use atelier_domain::world::{Effect, Exit, Order};
use proptest::prelude::*;

use crate::script::{Stage, cores, job, scale};

fn on_pool(shape: Resources) -> JobSpec {
    job(Target::Cluster(ClusterId(1)), shape)
}

fn ends(stage: &Stage) -> BTreeMap<JobId, Verdict> {
    stage
        .outcomes
        .iter()
        .flat_map(|outcome| &outcome.ended)
        .map(|ended| (ended.job.id, ended.verdict.clone()))
        .collect()
}

fn with(hash: u8, ended: Option<EndedAs>) -> JobSpec {
    let name = ComputeName::parse("churn").expect("a name");
    let pinned = Pinned { name, version: 3, hash: EnvironmentHash([hash; 10]), ended };
    JobSpec { environment: Some(Box::new(pinned)), ..on_pool(cores(1)) }
}

fn stage() -> Stage {
    let mut stage = Stage::roomy();
    stage.cluster("train-pool", "small", scale(0, 1, Span::seconds(30)));
    stage
}

#[test]
fn a_job_waits_for_its_environment_without_a_node() {
    let mut stage = stage();
    let waiting = stage.submit(with(1, None), Span::minutes(1));
    let other = stage.submit(with(1, None), Span::minutes(1));
    stage.pass(Span::seconds(30));
    assert_eq!(stage.world.nodes().count(), 0, "nobody pays for a node that waits for a build");
    let Some(Reason::EnvironmentComing { environment }) = stage.world.explain_job(waiting) else {
        panic!("{:?}", stage.world.explain_job(waiting))
    };
    assert_eq!(environment, "churn:3");
    let wanted = Effect::BuildEnvironment { hash: EnvironmentHash([1; 10]) };
    assert!(stage.world.wanted().contains(&wanted), "after a restart it is wanted again");
    let free = stage.submit(on_pool(cores(1)), Span::seconds(1));
    stage.pass(Span::minutes(20));
    let how = ends(&stage);
    for job in [waiting, other, free] {
        assert_eq!(how[&job], Verdict::Succeeded, "{job}");
    }
}

#[test]
fn one_that_is_there_holds_nobody_up() {
    let mut stage = stage();
    let job = stage.submit(with(2, Some(EndedAs::Succeeded)), Span::seconds(1));
    assert!(!matches!(stage.world.explain_job(job), Some(Reason::EnvironmentComing { .. })));
    stage.pass(Span::minutes(5));
    assert_eq!(ends(&stage)[&job], Verdict::Succeeded);
}

#[test]
fn a_broken_environment_ends_its_jobs_with_the_line_that_failed() {
    let mut stage = stage();
    stage.reality.failing_environments = true;
    let job = stage.submit(with(3, None), Span::seconds(1));
    let order = Order::SubmitArray { spec: with(3, None), count: 1_000 };
    stage.order("Ada", order).expect("is taken");
    let fine = stage.submit_as("Ada", on_pool(cores(1)), Span::seconds(1), Exit::Code(0));
    stage.pass(Span::minutes(5));
    let how = ends(&stage);
    let Verdict::EnvironmentFailed { environment, what } = &how[&job] else { panic!("{:?}", how[&job]) };
    assert_eq!((environment.to_string().as_str(), what.to_string().contains("line 2")), ("churn:3", true));
    assert_eq!(how[&fine], Verdict::Succeeded);
    assert_eq!((stage.world.jobs().count(), stage.world.arrays().count()), (0, 0), "the array is over too");

    // Known before: nothing is waited for.
    let known = EndedAs::Failed { what: "line 2 failed.".into() };
    let late = stage.submit(with(3, Some(known)), Span::seconds(1));
    stage.pass(Span::seconds(1));
    assert!(matches!(ends(&stage)[&late], Verdict::EnvironmentFailed { .. }));
}

#[test]
fn a_job_that_waits_for_its_environment_can_be_canceled() {
    let mut stage = stage();
    let job = stage.submit(with(4, None), Span::seconds(1));
    stage.order("Ada", Order::Cancel(job)).expect("is taken");
    stage.pass(Span::minutes(5));
    assert!(matches!(ends(&stage)[&job], Verdict::Canceled { .. }));
    assert!(stage.world.wanted().iter().all(|effect| !matches!(effect, Effect::BuildEnvironment { .. })));
}

/// Lines as people write them, good ones and bad.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z][a-zA-Z0-9_.-]{0,8}[a-z0-9]( ?(==|>=|<|~=) ?[0-9]{1,2}(\\.[0-9]){0,2})?( # .{0,5})?",
        "- [a-z]{2,8}(=[0-9.]{1,5})?",
        "(dependencies|channels|name|prefix|pip):( x)?",
        "  - pip:",
        ".{0,40}",
    ]
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_the_same_again_or_refused_with_lines(lines in prop::collection::vec(line(), 0..12)) {
        let text = lines.join("\n");
        match Recipe::parse(&text, Some("3.11.2")) {
            Ok(recipe) => {
                let list = recipe.requirements();
                prop_assert!(list.lines().count() <= MAX_LINES && list.lines().count() == recipe.lines().len());
                for line in list.lines() {
                    // Never an option, an address or a path for pip.
                    prop_assert!(line.starts_with(|c: char| c.is_ascii_alphanumeric()), "{}", line);
                    prop_assert!(!line.contains(['/', '@', '\n']) , "{}", line);
                }
                // What is normal stays as it is.
                let again = Recipe::parse(&list.text(), None).map_err(|problem| TestCaseError::fail(problem.message))?;
                prop_assert_eq!(again.requirements(), list);
                for line in recipe.lines() {
                    prop_assert!(text.lines().nth(line.number - 1).is_some_and(|whole| whole.contains(&line.text)));
                }
            }
            Err(problem) => prop_assert!(problem.field == "recipe" && !problem.message.is_empty()),
        }
    }
}
