//! Setting an instance up: folders, sandbox, layer.

use std::sync::Arc;
use std::time::Duration;

use atelier_domain::compute::app::setup_log;
use atelier_domain::text::Text;
use atelier_protocol::{Event, SetUp};

use super::dwelling::{Dwelling, Plan};
use super::folders::Folders;
use super::logfile::{Full, LogFile};
use super::standing::{Rooms, Standing, is_name};
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
pub async fn begin(standing: Arc<Standing>, before: Option<Arc<Standing>>) {
    let mut ending = standing.ending();
    let work = async {
        if let Some(before) = before {
            before.end(GRACE);
            drop(tokio::time::timeout(GRACE + AT_LAST, before.gone()).await);
        }
        for place in [Place::Own, Place::Scratch, Place::Apart] {
            vacate(&standing, place).await;
        }
        set_up(&standing).await
    };
    let outcome = tokio::select! {
        outcome = work => outcome,
        _ = ending.told() => return,
    };
    if let (Err(why), Some(rooms)) = (&outcome, standing.rooms.get()) {
        rooms.setup_log.note(&format!("the instance cannot be set up: {why}"));
    }
    let SetUp { instance, generation, has_scripts, .. } = standing.set_up;
    let is_set_up = outcome.is_ok();
    let failure = outcome.err().map(|why| Text::from(shorten(&why)));
    standing.answer(Event::SetUp { instance, generation, failure });
    standing.say_apps();
    tokio::spawn(activity::watch(Arc::clone(&standing)));
    if is_set_up && !has_scripts {
        apps::start_all(&standing);
    }
}

/// Ends what is in a sandbox of the instance.
pub async fn vacate(standing: &Standing, place: Place) {
    let (reply, gone) = tokio::sync::oneshot::channel();
    standing.ask(Ask::Vacate(place, reply));
    drop(gone.await);
}

async fn set_up(standing: &Arc<Standing>) -> Result<(), String> {
    let began = clock::now();
    let set_up = &standing.set_up;
    if standing.isolation != Isolation::None && set_up.person.uid.is_none_or(|uid| uid == 0) {
        return Err("there is no user of the system for its owner".to_owned());
    }
    if let Some(strange) = set_up.apps.iter().find(|app| !is_name(&app.name)) {
        return Err(format!("“{}” cannot be the name of an application", strange.name));
    }
    let has_view = standing.has_view();
    let shared = if has_view { std::path::PathBuf::from("/shared") } else { standing.config.shared.clone() };
    let for_folders = (set_up.clone(), standing.uid(), has_view);
    let folders = tokio::task::spawn_blocking(move || {
        let (set_up, uid, has_view) = for_folders;
        let folders = Folders::make(&set_up, uid, has_view)?;
        folders.link_workspace(&shared);
        Ok::<_, String>(folders)
    });
    let folders = folders.await.map_err(|_| "the agent ends".to_owned())??;
    let plan = Plan { set_up, config: &standing.config, isolation: &standing.isolation, folders: &folders };
    let (dwelling, inside) = plan.own();
    let setup_log = folders.logs.join(format!("{}.log", setup_log(set_up.generation)));
    let rooms = Rooms { setup_log: LogFile::new(setup_log, SETUP_LOG, Full::Cut), inside, folders };
    let furnish = Furnish {
        home: rooms.inside.home.clone(),
        layer: rooms.inside.layer.display().to_string(),
        base: set_up.base.as_ref().map(|base| base.display().to_string()),
    };
    let log = Arc::clone(&rooms.setup_log);
    log.note(&format!("{} is set up (start {})", set_up.name, set_up.generation));
    drop(standing.rooms.set(rooms));
    if standing.has_view() {
        let apart = Dwelling { has_own_network: true, ..dwelling.clone() };
        standing.ask(Ask::Dwell(Place::Apart, Box::new(Some(apart))));
    }
    standing.ask(Ask::Dwell(Place::Own, Box::new(Some(dwelling))));
    let words = match &set_up.base {
        Some(base) if !base.join("pyvenv.cfg").is_file() => {
            return Err(format!("the environment {} is not there", base.display()));
        }
        Some(base) => format!("layer {} on the environment {}", set_up.layer, base.display()),
        None => format!("layer {}; there is no environment yet, so JupyterLab cannot run", set_up.layer),
    };
    furnish_place(standing, Place::Own, furnish).await?;
    log.note(&format!("{words}; ready after {} ms", began.elapsed().as_millis()));
    Ok(())
}

/// Makes home and layer what they have to be, as the person.
pub async fn furnish_place(standing: &Standing, place: Place, furnish: Furnish) -> Result<(), String> {
    let mut hired = standing.hire(place).await.map_err(|why| format!("its sandbox cannot be made: {why}"))?;
    hired.say(&Order::Furnish(furnish), &[])?;
    match hired.outcome().await {
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
