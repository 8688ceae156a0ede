//! Setting an instance up: folders, sandbox, layer.

use std::sync::Arc;
use std::time::Duration;

use atelier_domain::compute::app::setup_log;
use atelier_domain::text::Text;
use atelier_protocol::{Event, SetUp};

use super::folders::Folders;
use super::logfile::{Full, LogFile};
use super::mounts::{Mounts, Plan};
use super::supervisor::{Layout, Supervisor, is_name};
use super::{Ask, Place, activity, apps};
use crate::clock;
use crate::facts::Isolation;
use crate::wire::{Furnish, Order, Outcome};

/// How long the applications of an earlier generation get to end.
const GRACE: Duration = Duration::from_secs(5);
/// What more time than their grace they can need.
const AT_LAST: Duration = Duration::from_secs(10);
/// The longest set-up log.
const SETUP_LOG: u64 = 16 << 20;
/// What the server takes as a text.
pub const LONGEST_WORDS: usize = 3_000;

/// Sets an instance up, in place of an earlier generation of it.
pub async fn begin(supervisor: Arc<Supervisor>, before: Option<Arc<Supervisor>>) {
    let mut ending = supervisor.ending();
    let work = async {
        if let Some(before) = before {
            before.end(GRACE);
            drop(tokio::time::timeout(GRACE + AT_LAST, before.gone()).await);
        }
        for place in [Place::Own, Place::Scratch, Place::Apart] {
            end_sandboxes(&supervisor, place).await;
        }
        set_up(&supervisor).await
    };
    let outcome = tokio::select! {
        outcome = work => outcome,
        _ = ending.told() => return,
    };
    if let (Err(why), Some(layout)) = (&outcome, supervisor.layout.get()) {
        layout.setup_log.note(&format!("the instance cannot be set up: {why}"));
    }
    let SetUp { instance, generation, has_scripts, .. } = supervisor.set_up;
    let is_set_up = outcome.is_ok();
    let failure = outcome.err().map(|why| Text::from(shorten(&why)));
    supervisor.answer(Event::SetUp { instance, generation, failure });
    supervisor.say_apps();
    tokio::spawn(activity::watch(Arc::clone(&supervisor)));
    if is_set_up && !has_scripts {
        apps::start_all(&supervisor);
    }
}

/// Ends what is in a sandbox of the instance.
pub async fn end_sandboxes(supervisor: &Supervisor, place: Place) {
    let (reply, gone) = tokio::sync::oneshot::channel();
    supervisor.ask(Ask::EndSandboxes(place, reply));
    drop(gone.await);
}

async fn set_up(supervisor: &Arc<Supervisor>) -> Result<(), String> {
    let began = clock::now();
    let set_up = &supervisor.set_up;
    if supervisor.isolation != Isolation::None && set_up.person.uid.is_none_or(|uid| uid == 0) {
        return Err("there is no user of the system for its owner".to_owned());
    }
    if let Some(strange) = set_up.apps.iter().find(|app| !is_name(&app.name)) {
        return Err(format!("“{}” cannot be the name of an application", strange.name));
    }
    let has_view = supervisor.has_view();
    let shared = if has_view { std::path::PathBuf::from("/shared") } else { supervisor.config.shared.clone() };
    let for_folders = (set_up.clone(), supervisor.uid(), has_view);
    let folders = tokio::task::spawn_blocking(move || {
        let (set_up, uid, has_view) = for_folders;
        let folders = Folders::make(&set_up, uid, has_view)?;
        folders.link_workspace(&shared);
        Ok::<_, String>(folders)
    });
    let folders = folders.await.map_err(|_| "the agent ends".to_owned())??;
    let plan = Plan { set_up, config: &supervisor.config, isolation: &supervisor.isolation, folders: &folders };
    let (mounts, inside) = plan.own();
    let setup_log = folders.logs.join(format!("{}.log", setup_log(set_up.generation)));
    let layout = Layout { setup_log: LogFile::new(setup_log, SETUP_LOG, Full::Cut), inside, folders };
    let furnish = Furnish {
        home: layout.inside.home.clone(),
        layer: layout.inside.layer.display().to_string(),
        base: set_up.base.as_ref().map(|base| base.display().to_string()),
    };
    let log = Arc::clone(&layout.setup_log);
    log.note(&format!("{} is set up (start {})", set_up.name, set_up.generation));
    drop(supervisor.layout.set(layout));
    if supervisor.has_view() {
        let apart = Mounts { has_own_network: true, ..mounts.clone() };
        supervisor.ask(Ask::SetMounts(Place::Apart, Box::new(Some(apart))));
    }
    supervisor.ask(Ask::SetMounts(Place::Own, Box::new(Some(mounts))));
    let words = match &set_up.base {
        Some(base) if !base.join("pyvenv.cfg").is_file() => {
            return Err(format!("the environment {} is not there", base.display()));
        }
        Some(base) => format!("layer {} on the environment {}", set_up.layer, base.display()),
        None => format!("layer {}; there is no environment yet, so JupyterLab cannot run", set_up.layer),
    };
    furnish_place(supervisor, Place::Own, furnish).await?;
    log.note(&format!("{words}; ready after {} ms", began.elapsed().as_millis()));
    Ok(())
}

/// Makes home and layer what they have to be, as the person.
pub async fn furnish_place(supervisor: &Supervisor, place: Place, furnish: Furnish) -> Result<(), String> {
    let mut worker =
        supervisor.acquire_worker(place).await.map_err(|why| format!("its sandbox cannot be made: {why}"))?;
    worker.say(&Order::Furnish(furnish), &[])?;
    match worker.outcome().await {
        Outcome::Code(0) => Ok(()),
        Outcome::Code(code) => Err(format!("its sandbox has ended with code {code}")),
        Outcome::Refused(why) => Err(why),
    }
}

/// As much of a text as the server takes.
pub fn shorten(text: &str) -> String {
    if text.len() <= LONGEST_WORDS {
        return text.to_owned();
    }
    let end = (0..=LONGEST_WORDS).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}
