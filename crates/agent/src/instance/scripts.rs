//! Scripts of an instance: one after another, as the person, with an end.

use std::io::Read;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::compute::script::ScriptKind;
use atelier_domain::text::Text;
use atelier_protocol::{Event, RunScripts, Script};
use rustix::process::Signal;
use tokio::sync::oneshot;

use super::begin::{furnish_place, shorten, vacate};
use super::dwelling::{Inside, Plan};
use super::standing::{Ending, Rooms, Standing};
use super::{Ask, Place, apps};
use crate::clock;
use crate::facts::Isolation;
use crate::wire::{Furnish, Order, Outcome, Process, Program};

/// How long a script that took too long gets to end.
const GRACE: Duration = Duration::from_secs(5);
/// The longest text of one; the server takes less.
const LONGEST: u64 = 1 << 20;
/// What people see of its output.
const LINES: usize = 10;

/// Runs scripts, then starts the applications.
pub async fn run(standing: Arc<Standing>, wanted: RunScripts) {
    let Some(rooms) = standing.rooms.get() else { return };
    let mut ending = standing.ending();
    let Some((done, outcome)) = run_all(&standing, rooms, &wanted, &mut ending).await else { return };
    let creation_done = wanted.scripts.iter().skip(done).all(|script| script.label != ScriptKind::Creation.key());
    let failure = outcome.err().map(|why| {
        rooms.setup_log.note(&why);
        Text::from(shorten(&why))
    });
    let is_done = failure.is_none();
    if !is_done {
        let _ = standing.have_scripts_failed.set(());
    }
    let RunScripts { instance, generation, .. } = wanted;
    standing.answer(Event::ScriptsDone { instance, generation, creation_done, failure });
    if is_done {
        apps::start_all(&standing);
    }
}

/// How many have ended well, and why the next has not.
type Done = (usize, Result<(), String>);

/// Nothing if everything had to end meanwhile.
async fn run_all(standing: &Standing, rooms: &Rooms, wanted: &RunScripts, ending: &mut Ending) -> Option<Done> {
    if wanted.is_trusted {
        return run_each(standing, rooms, &rooms.inside, Place::Own, &wanted.scripts, ending).await;
    }
    let scratch = match make_scratch(standing, rooms).await {
        Ok(inside) => inside,
        Err(why) => return Some((0, Err(format!("an empty home for the scripts cannot be made: {why}")))),
    };
    let outcome = run_each(standing, rooms, &scratch, Place::Scratch, &wanted.scripts, ending).await;
    vacate(standing, Place::Scratch).await;
    standing.ask(Ask::Dwell(Place::Scratch, Box::new(None)));
    rooms.folders.discard(&rooms.folders.scratch);
    outcome
}

/// A sandbox without the person's home.
async fn make_scratch(standing: &Standing, rooms: &Rooms) -> Result<Inside, String> {
    rooms.setup_log.note(
        "the owner has not accepted these scripts: they run with an empty home and layer, of which nothing is kept",
    );
    if !matches!(standing.isolation, Isolation::View(_)) {
        rooms
            .setup_log
            .note("this node has no private views: nothing but their environment keeps them from the real home");
    }
    rooms.folders.make_scratch()?;
    let plan = Plan {
        set_up: &standing.set_up,
        config: &standing.config,
        isolation: &standing.isolation,
        folders: &rooms.folders,
    };
    let (dwelling, inside) = plan.scratch();
    standing.ask(Ask::Dwell(Place::Scratch, Box::new(Some(dwelling))));
    let furnish = Furnish {
        home: inside.home.clone(),
        layer: inside.layer.display().to_string(),
        base: standing.set_up.base.as_ref().map(|base| base.display().to_string()),
    };
    furnish_place(standing, Place::Scratch, furnish).await?;
    Ok(inside)
}

async fn run_each(
    standing: &Standing,
    rooms: &Rooms,
    inside: &Inside,
    place: Place,
    scripts: &[Script],
    ending: &mut Ending,
) -> Option<Done> {
    for (done, script) in scripts.iter().enumerate() {
        if let Err(why) = run_one(standing, rooms, inside, place, script, ending).await? {
            return Some((done, Err(why)));
        }
    }
    Some((scripts.len(), Ok(())))
}

async fn run_one(
    standing: &Standing,
    rooms: &Rooms,
    inside: &Inside,
    place: Place,
    script: &Script,
    ending: &mut Ending,
) -> Option<Result<(), String>> {
    let (label, log) = (&script.label, &rooms.setup_log);
    let limit = Duration::from_secs(script.limit_seconds.max(1));
    let text = tokio::select! {
        text = fetch(standing, &script.blob) => text,
        _ = ending.told() => return None,
    };
    let text = match text {
        Ok(text) => text,
        Err(why) => return Some(Err(format!("the {label} script cannot be had: {why}"))),
    };
    log.turn_over();
    log.note(&format!("the {label} script begins; it may take {} s", limit.as_secs()));
    let began = clock::now();
    let begin = async {
        let mut hired = standing.hire(place).await?;
        let (read, write) = apps::pipe()?;
        let process = Process {
            folder: inside.home.clone(),
            program: Program::Script(text, script.arguments.clone()),
            environment: inside.environment.clone(),
            memory: hired.limit(&standing.config),
            bridge: None,
        };
        hired.say(&Order::Process(Box::new(process)), &[write.as_fd()])?;
        Ok::<_, String>((hired, tokio::spawn(apps::copy(read, Arc::clone(log)))))
    };
    let (mut hired, output) = match begin.await {
        Ok(begun) => begun,
        Err(why) => return Some(Err(format!("the {label} script cannot be started: {why}"))),
    };
    let outcome = tokio::select! {
        outcome = hired.outcome() => Some(outcome),
        () = tokio::time::sleep(limit) => {
            hired.end(&[Signal::TERM], GRACE).await;
            None
        }
        grace = ending.told() => {
            hired.end(&[Signal::TERM], grace).await;
            return None;
        }
    };
    // Nothing of it is left, so this ends too.
    drop(tokio::time::timeout(Duration::from_secs(2), output).await);
    let seconds = began.elapsed().as_secs();
    let with_last_lines = |words: String| {
        let last = log.last_lines(LINES);
        if last.is_empty() {
            format!("{words}; it printed nothing")
        } else {
            format!("{words}; its last lines:\n{}", last.join("\n"))
        }
    };
    Some(match outcome {
        Some(Outcome::Code(0)) => {
            log.note(&format!("the {label} script is done after {seconds} s"));
            Ok(())
        }
        Some(Outcome::Code(code)) => {
            Err(with_last_lines(format!("the {label} script ended with code {code} after {seconds} s")))
        }
        Some(Outcome::Refused(why)) => Err(format!("the {label} script cannot be started: {why}")),
        None => Err(with_last_lines(format!(
            "the {label} script took longer than its limit of {} s, so it was ended",
            limit.as_secs()
        ))),
    })
}

/// The text of a script.
async fn fetch(standing: &Standing, blob: &str) -> Result<String, String> {
    let (reply, answer) = oneshot::channel();
    standing.ask(Ask::Fetch(blob.to_owned(), reply));
    let file = answer.await.unwrap_or_else(|_| Err("the agent ends".to_owned()))?;
    let mut text = String::new();
    let read = file.take(LONGEST).read_to_string(&mut text);
    read.map_err(|error| format!("its text cannot be read: {error}"))?;
    Ok(text)
}
