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

use super::begin::{end_sandboxes, furnish_place, shorten};
use super::mounts::{Inside, Plan};
use super::supervisor::{Ending, Layout, Supervisor};
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
pub async fn run(supervisor: Arc<Supervisor>, wanted: RunScripts) {
    let Some(layout) = supervisor.layout.get() else { return };
    let mut ending = supervisor.ending();
    let Some((done, outcome)) = run_all(&supervisor, layout, &wanted, &mut ending).await else { return };
    let creation_done = wanted.scripts.iter().skip(done).all(|script| script.label != ScriptKind::Creation.key());
    let failure = outcome.err().map(|why| {
        layout.setup_log.note(&why);
        Text::from(shorten(&why))
    });
    let is_done = failure.is_none();
    if !is_done {
        let _ = supervisor.have_scripts_failed.set(());
    }
    let RunScripts { instance, generation, .. } = wanted;
    supervisor.answer(Event::ScriptsDone { instance, generation, creation_done, failure });
    if is_done {
        apps::start_all(&supervisor);
    }
}

/// How many have ended well, and why the next has not.
type Done = (usize, Result<(), String>);

/// Nothing if everything had to end meanwhile.
async fn run_all(supervisor: &Supervisor, layout: &Layout, wanted: &RunScripts, ending: &mut Ending) -> Option<Done> {
    if wanted.is_trusted {
        return run_each(supervisor, layout, &layout.inside, Place::Own, &wanted.scripts, ending).await;
    }
    let user = match throw_away(supervisor, wanted.throw_away) {
        Ok(user) => user,
        Err(why) => return Some((0, Err(why))),
    };
    let scratch = match make_scratch(supervisor, layout, user).await {
        Ok(inside) => inside,
        Err(why) => return Some((0, Err(format!("an empty home for the scripts cannot be made: {why}")))),
    };
    let outcome = run_each(supervisor, layout, &scratch, Place::Scratch, &wanted.scripts, ending).await;
    end_sandboxes(supervisor, Place::Scratch).await;
    supervisor.ask(Ask::SetMounts(Place::Scratch, Box::new(None)));
    layout.folders.discard(&layout.folders.scratch);
    outcome
}

/// As whom scripts run that the owner has not accepted; nobody where all people are one user.
fn throw_away(supervisor: &Supervisor, told: Option<u32>) -> Result<Option<u32>, String> {
    if supervisor.isolation == Isolation::None {
        return Ok(None);
    }
    let is_free = |uid: &u32| *uid != 0 && Some(*uid) != supervisor.uid();
    told.filter(is_free).map(Some).ok_or_else(|| {
        "the scripts were not run: the owner has not accepted them, and the server named no throw-away user for them"
            .to_owned()
    })
}

/// A sandbox without anything that is the person's: another user, an empty home, no files, no token.
async fn make_scratch(supervisor: &Supervisor, layout: &Layout, user: Option<u32>) -> Result<Inside, String> {
    layout.setup_log.note(
        "the owner has not accepted these scripts: they run as a throw-away user with an empty home and layer, \
         without Files and without a token, and nothing is kept",
    );
    match supervisor.isolation {
        Isolation::View(_) => {}
        Isolation::Users => {
            layout.setup_log.note("this node has no private views: the scripts can read what Files shows to everybody")
        }
        Isolation::None => layout
            .setup_log
            .note("this node does not isolate people: the scripts can read everything that the agent can read"),
    }
    layout.folders.make_scratch(user)?;
    let plan = Plan {
        set_up: &supervisor.set_up,
        config: &supervisor.config,
        isolation: &supervisor.isolation,
        folders: &layout.folders,
    };
    let (mounts, inside) = plan.scratch(user);
    supervisor.ask(Ask::SetMounts(Place::Scratch, Box::new(Some(mounts))));
    let furnish = Furnish {
        home: inside.home.clone(),
        layer: inside.layer.display().to_string(),
        base: supervisor.set_up.base.as_ref().map(|base| base.display().to_string()),
    };
    furnish_place(supervisor, Place::Scratch, furnish).await?;
    Ok(inside)
}

async fn run_each(
    supervisor: &Supervisor,
    layout: &Layout,
    inside: &Inside,
    place: Place,
    scripts: &[Script],
    ending: &mut Ending,
) -> Option<Done> {
    for (done, script) in scripts.iter().enumerate() {
        if let Err(why) = run_one(supervisor, layout, inside, place, script, ending).await? {
            return Some((done, Err(why)));
        }
    }
    Some((scripts.len(), Ok(())))
}

async fn run_one(
    supervisor: &Supervisor,
    layout: &Layout,
    inside: &Inside,
    place: Place,
    script: &Script,
    ending: &mut Ending,
) -> Option<Result<(), String>> {
    let (label, log) = (&script.label, &layout.setup_log);
    let limit = Duration::from_secs(script.limit_seconds.max(1));
    let text = tokio::select! {
        text = fetch(supervisor, &script.blob) => text,
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
        let mut worker = supervisor.acquire_worker(place).await?;
        let (read, write) = apps::pipe()?;
        let process = Process {
            folder: inside.home.clone(),
            program: Program::Script(text, script.arguments.clone()),
            environment: inside.environment.clone(),
            memory: worker.limit(&supervisor.config),
            bridge: None,
        };
        worker.say(&Order::Process(Box::new(process)), &[write.as_fd()])?;
        Ok::<_, String>((worker, tokio::spawn(apps::copy(read, Arc::clone(log)))))
    };
    let (mut worker, output) = match begin.await {
        Ok(begun) => begun,
        Err(why) => return Some(Err(format!("the {label} script cannot be started: {why}"))),
    };
    let outcome = tokio::select! {
        outcome = worker.outcome() => Some(outcome),
        () = tokio::time::sleep(limit) => {
            worker.end(&[Signal::TERM], GRACE).await;
            None
        }
        grace = ending.told() => {
            worker.end(&[Signal::TERM], grace).await;
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
async fn fetch(supervisor: &Supervisor, blob: &str) -> Result<String, String> {
    let (reply, answer) = oneshot::channel();
    supervisor.ask(Ask::Fetch(blob.to_owned(), reply));
    let file = answer.await.unwrap_or_else(|_| Err("the agent ends".to_owned()))?;
    let mut text = String::new();
    let read = file.take(LONGEST).read_to_string(&mut text);
    read.map_err(|error| format!("its text cannot be read: {error}"))?;
    Ok(text)
}
