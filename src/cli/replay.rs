//! A decision of the past taken once more: `atelier replay --decision 1234.0`, or
//! `--at 2026-03-03T14:18:09Z`.

use atelier_domain::Timestamp;
use atelier_domain::compute::JobId;
use atelier_domain::text::counted;
use atelier_domain::world::{Decision, Input, World};
use atelier_engine::store::{Missing, Moment, ReplayError, Which};
use atelier_studio::clock;
use clap::{Arg, ArgGroup, ArgMatches, Command};

use crate::server::config::Config;
use crate::server::serve::open_store;

/// Jobs of each queue that are printed.
const HEADS: usize = 5;
/// Inputs of a batch that are printed.
const INPUTS: usize = 20;
/// The longest line of an input.
const LINE: usize = 200;

/// `atelier replay …`.
pub fn command() -> Command {
    Command::new("replay")
        .about("Takes a decision of the past once more, from the log, and shows what it was taken from")
        .arg(
            Arg::new("decision")
                .long("decision")
                .value_name("ID")
                .help("Which, as the decisions of a cluster are numbered: 1234.0, or 1234 for all of that batch"),
        )
        .arg(Arg::new("at").long("at").value_name("TIME").help("The last batch up to then: 2026-03-03T14:18:09Z"))
        .group(ArgGroup::new("which").args(["decision", "at"]).required(true))
}

/// Replays and prints. A server that runs on the same database need not be stopped.
pub async fn run(config: Config, matches: ArgMatches) -> Result<(), String> {
    let (which, ordinal) = asked(&matches)?;
    let store = open_store(&config, Missing::Refuse).await?;
    let replayed = store.replay_moment(which).await;
    let written = match &replayed {
        Ok(moment) => store.decisions_of(moment.revision).await.map_err(|error| error.to_string()),
        Err(_) => Ok(Vec::new()),
    };
    store.close().await;
    let moment = replayed.map_err(|error| match error {
        ReplayError::TooOld { since } => format!(
            "that is older than the log: what was decided from {} on can be replayed. Older inputs were pruned.",
            clock::rfc3339(since)
        ),
        other => other.to_string(),
    })?;
    print!("{}", told(&moment, &written?, ordinal)?);
    Ok(())
}

fn asked(matches: &ArgMatches) -> Result<(Which, Option<usize>), String> {
    let given = |name: &str| matches.try_get_one::<String>(name).ok().flatten().cloned();
    if let Some(text) = given("at") {
        let at: jiff::Timestamp = text
            .parse()
            .map_err(|_| format!("at {text:?} (command line) is not a time such as 2026-03-03T14:18:09Z"))?;
        return Ok((Which::At(Timestamp(at.as_millisecond())), None));
    }
    let text = given("decision").unwrap_or_default();
    let (revision, ordinal) = text.split_once('.').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
    let wrong = || format!("decision {text:?} (command line) is not the number of a decision, such as 1234.0");
    let revision = revision.parse().map_err(|_| wrong())?;
    let ordinal = ordinal.map(|text| text.parse().map_err(|_| wrong())).transpose()?;
    Ok((Which::Revision(revision), ordinal))
}

fn told(moment: &Moment, written: &[(String, String)], ordinal: Option<usize>) -> Result<String, String> {
    let mut out = format!(
        "Batch {} at {}.\nReplayed from the snapshot of {} (batch {}) over {}.\n",
        moment.revision,
        clock::rfc3339(moment.now.wall),
        clock::rfc3339(moment.from.1),
        moment.from.0,
        counted(moment.batches, "batch", "batches"),
    );
    if let Some(revision) = moment.differs_at {
        out.push_str(&format!(
            "Batch {revision} does not go the same way as it did then, so this program decides otherwise than the one \
             that wrote the log, or the log was changed.\n"
        ));
    }
    out.push_str("\nBefore it:\n");
    state(&moment.before, &mut out);
    out.push_str(&format!("\nWhat came in ({}):\n", moment.inputs.len()));
    for input in moment.inputs.iter().take(INPUTS) {
        out.push_str(&format!("  {}\n", said(input)));
    }
    if moment.inputs.len() > INPUTS {
        out.push_str(&format!("  and {} more\n", moment.inputs.len() - INPUTS));
    }
    if moment.inputs.is_empty() {
        out.push_str("  nothing: a time had come\n");
    }
    out.push_str("\nDecided:\n");
    let count = moment.decisions.len();
    if ordinal.is_some_and(|ordinal| ordinal >= count) {
        let last = count.saturating_sub(1);
        return Err(match count {
            0 => format!("batch {} decided nothing", moment.revision),
            _ => format!("batch {} has decisions 0 to {last}", moment.revision),
        });
    }
    for (number, decision) in
        moment.decisions.iter().enumerate().filter(|(number, _)| ordinal.is_none_or(|one| one == *number))
    {
        out.push_str(&line(moment.revision, number, decision));
        let is_same = written
            .get(number)
            .is_some_and(|(code, sentence)| *code == decision.reason.code() && *sentence == decision.reason.sentence());
        match written.get(number) {
            Some(_) if is_same => out.push_str("    the same as was written down then\n"),
            Some((code, sentence)) => out.push_str(&format!("    written down then: {code}: {sentence}\n")),
            None => out.push_str("    what was written down then is not kept any more\n"),
        }
    }
    if count == 0 {
        out.push_str("  nothing\n");
    }
    Ok(out)
}

fn line(revision: i64, number: usize, decision: &Decision) -> String {
    let about = serde_json::to_string(&decision.about).unwrap_or_default();
    format!("  {revision}.{number} about {about}\n    {}: {}\n", decision.reason.code(), decision.reason.sentence())
}

/// The numbers that decisions are taken from.
fn state(world: &World, out: &mut String) {
    for (what, count) in world.counts() {
        out.push_str(&format!("  {what}: {count}\n"));
    }
    for site in world.sites() {
        let free = world.free_capacity(&site.name);
        out.push_str(&format!("  site {}: {} free of {}\n", site.name, free, site.capacity));
    }
    for cluster in world.clusters() {
        let key = atelier_domain::world::PoolKey::Cluster(cluster.id);
        let Some(pool) = world.pool(&key) else {
            out.push_str(&format!("  cluster {}: no nodes, no jobs\n", cluster.name));
            continue;
        };
        let heads: Vec<String> = pool.queue.in_order(HEADS).iter().map(JobId::to_string).collect();
        let first = if heads.is_empty() { String::new() } else { format!(", first {}", heads.join(", ")) };
        out.push_str(&format!(
            "  cluster {}: {} to {}, has {}, {} with jobs, {} on their way; {} wait{first}\n",
            cluster.name,
            cluster.min(),
            cluster.scale.max,
            counted(pool.live, "node", "nodes"),
            pool.busy,
            pool.launching,
            pool.queue.len(),
        ));
    }
}

fn said(input: &Input) -> String {
    // What was submitted may hold whatever people typed; it is shown as far as a line goes.
    atelier_domain::text::shortened_to(&serde_json::to_string(input).unwrap_or_default(), LINE)
}
