//! The loop itself.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_domain::WorkspaceId;
use atelier_domain::history::Event;
use atelier_domain::reason::Reason;
use atelier_domain::schedule::due::SMALL_STEP_BACK;
use atelier_domain::time::{Mono, Now, Span, Timestamp};
use atelier_domain::world::{Answer, Input, Outcome, Report, World};
use tokio::sync::{mpsc, watch};

use super::catalogue::Catalogue;
use super::disk::Disk;
use super::handle::{Message, OrderError, OrderMail, ReportMail};
use super::over::Waiters;
use super::status::{Phase, Status};
use super::time::EngineTime;
use super::{Commit, DataLock, Options, event};
use crate::clock;
use crate::hands::Hands;
use crate::store::{self, Answered, BatchRow, CommandRow, Person, Store, Trace, WriteTx, json};

/// A shorter absence makes no difference to anybody's deadline.
const WORTH_TELLING: Span = Span::seconds(5);
/// A deadline that keeps being due must not make the loop spin.
const SHORTEST_NAP: Duration = Duration::from_millis(10);
/// The wall clock may jump, and a test's or a laptop's often does: it is looked at so often.
const LONGEST_NAP: Duration = Duration::from_secs(10);
/// What goes into one batch: more would hold up everybody who writes for too long.
const MOST_BYTES: usize = 8 << 20;
/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// So many batches after a failure have one input each: one that always fails then fails alone.
const CAREFUL: u32 = 32;

type Judged = Result<Answer, Reason>;

pub(super) struct Loop {
    pub store: Arc<Store>,
    pub hands: Box<dyn Hands>,
    pub time: EngineTime,
    pub options: Options,
    pub inbox: mpsc::Receiver<Message>,
    pub stopping: watch::Receiver<bool>,
    pub status: watch::Sender<Status>,
    pub catalogue: watch::Sender<Arc<Catalogue>>,
    pub waiters: Waiters,
    pub world: World,
    /// The mark of this engine beside its epoch.
    pub engine: String,
    pub epoch: i64,
    /// What the wall clock showed at the last step.
    pub last_wall: Timestamp,
    pub disk: Option<Disk>,
    /// Held as long as the loop lives.
    pub _lock: Option<DataLock>,
    pub wake: Option<Mono>,
    pub wake_wall: Option<Timestamp>,
    /// When somebody last acted, if that was before the World was loaded.
    pub acted: Option<Mono>,
    /// When the World was loaded, if its first step is still to come.
    pub loaded: Option<Now>,
    pub snapshot_at: Option<Timestamp>,
    pub prune_at: Duration,
    /// How many batches still have one input each.
    pub careful: u32,
    /// Workspaces that were seen to exist; none is ever removed.
    pub workspaces: HashSet<WorkspaceId>,
}

impl Drop for Loop {
    /// However it ends, nobody is told that it runs.
    fn drop(&mut self) {
        self.waiters.look_again();
        self.status.send_if_modified(|status| {
            let is_over = matches!(status.phase, Phase::Fenced | Phase::Stopped);
            if !is_over {
                status.phase = Phase::Stopped;
            }
            !is_over
        });
    }
}

/// Something that waits for its batch to be durable.
enum Work {
    Order(Box<OrderMail>),
    Report(Box<ReportMail>),
}

impl Work {
    fn fail(self, error: OrderError) {
        // Whoever asked may have gone.
        match self {
            Self::Order(mail) => drop(mail.reply.send(Err(error))),
            Self::Report(mail) => drop(mail.reply.send(Err(error))),
        }
    }

    const fn sent(&self) -> Instant {
        match self {
            Self::Order(mail) => mail.sent,
            Self::Report(mail) => mail.sent,
        }
    }
}

/// Why a batch came to nothing, or nobody knows to what.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("a newer engine has taken over")]
    Fenced,
    #[error("the epoch of this engine was not kept by the database")]
    EpochLost,
    #[error("{0}")]
    Store(#[from] store::Error),
    #[error("a rule panicked: {0}")]
    Panic(String),
    #[error("the commit failed, for a test")]
    Test,
}

impl Trouble {
    /// What those hear who were in the batch. One that makes a rule panic is known only when it comes alone.
    const fn told(&self, together: usize) -> OrderError {
        match self {
            Self::Fenced => OrderError::Fenced,
            Self::Panic(_) if together == 1 => OrderError::Broken,
            Self::Store(_) | Self::Test | Self::Panic(_) | Self::EpochLost => OrderError::Uncertain,
        }
    }

    /// Whether the disk had no room.
    fn is_full(&self) -> bool {
        let Self::Store(store::Error::Database(sqlx::Error::Database(error))) = self else { return false };
        // SQLITE_FULL; the others are failed writes, which some file systems say instead.
        error.code().is_some_and(|code| matches!(code.as_ref(), "13" | "778" | "1034" | "4874"))
    }
}

impl Loop {
    /// Runs until told to stop, or until a newer engine has taken over.
    pub async fn run(mut self) {
        let end = self.turns().await;
        tracing::info!(state = end.key(), "the engine's loop ends");
        self.inbox.close();
        let error = if end == Phase::Fenced { OrderError::Fenced } else { OrderError::Stopped };
        self.status.send_modify(|status| status.phase = end);
        while let Some(message) = self.inbox.recv().await {
            refuse(message, &error);
        }
    }

    async fn turns(&mut self) -> Phase {
        let mut mail = Vec::with_capacity(self.options.batch);
        let mut pause = FIRST_PAUSE;
        loop {
            let (mut work, now, is_load) = match self.loaded.take() {
                // It looks at what became due while nobody looked; that also asks whether the epoch is still
                // ours, so that what is wanted is told only then.
                Some(now) => (self.absence(now), now, true),
                None => {
                    if !self.gather(&mut mail).await {
                        return Phase::Stopped;
                    }
                    (self.sort(&mut mail), self.time.now(), false)
                }
            };
            if work.is_empty() && !is_load && !self.is_due(now) {
                // Sign-ins need room too, also while the engine has nothing to do.
                self.look_at_disk().await;
                self.tidy(now).await;
                continue;
            }
            match self.batch(&mut work, now, is_load).await {
                Ok(()) => {
                    // The first step after a load says little about what made the one before fail.
                    if !is_load {
                        pause = FIRST_PAUSE;
                        self.careful = self.careful.saturating_sub(1);
                    }
                }
                Err(trouble) => {
                    let told = trouble.told(work.len());
                    work.into_iter().for_each(|work| work.fail(told.clone()));
                    self.careful = CAREFUL;
                    if matches!(trouble, Trouble::Fenced) {
                        return Phase::Fenced;
                    }
                    if let Some(end) = self.recover(&trouble, &mut pause).await {
                        return end;
                    }
                }
            }
            self.tidy(now).await;
        }
    }

    /// What is to be said of the time in which nobody could act, if that was long.
    fn absence(&mut self, now: Now) -> Vec<Work> {
        let away = self.acted.take().map(|last| now.mono.since(last)).unwrap_or_default();
        if away < WORTH_TELLING {
            return Vec::new();
        }
        let input = Input::Report(Report::Absent { away });
        let (reply, _nobody_waits) = tokio::sync::oneshot::channel();
        vec![Work::Report(Box::new(ReportMail { json: json(&input), input, sent: clock::instant(), reply }))]
    }

    /// Waits for something to do. False when it is time to stop.
    async fn gather(&mut self, mail: &mut Vec<Message>) -> bool {
        if *self.stopping.borrow() {
            return false;
        }
        let nap = self.nap();
        let most = if self.careful > 0 { 1 } else { self.options.batch };
        let mut bytes = 0;
        tokio::select! {
            biased;
            first = self.inbox.recv() => match first {
                Some(message) => {
                    bytes += message.size();
                    mail.push(message);
                }
                None => return false,
            },
            _ = self.stopping.changed() => return false,
            () = tokio::time::sleep(nap) => return true,
        }
        // Those who were answered by the batch before ask again about now; let them get in.
        tokio::task::yield_now().await;
        while mail.len() < most
            && bytes < MOST_BYTES
            && let Ok(message) = self.inbox.try_recv()
        {
            bytes += message.size();
            mail.push(message);
        }
        true
    }

    /// Answers questions about the World at once, and gives back what needs a step.
    fn sort(&self, mail: &mut Vec<Message>) -> Vec<Work> {
        let mut work = Vec::with_capacity(mail.len());
        for message in mail.drain(..) {
            match message {
                Message::Order(mail) => work.push(Work::Order(mail)),
                Message::Report(mail) => work.push(Work::Report(mail)),
                Message::Ask(ask) => {
                    if catch_unwind(AssertUnwindSafe(|| ask(&self.world))).is_err() {
                        tracing::error!("a question to the engine panicked");
                    }
                }
            }
        }
        work
    }

    fn is_due(&self, now: Now) -> bool {
        // A clock that was ahead by hours and was set right: what was planned by it must be planned anew, at
        // once.
        let was_ahead = self.last_wall.since(now.wall) > SMALL_STEP_BACK;
        was_ahead
            || self.wake.is_some_and(|wake| wake <= now.mono)
            || self.wake_wall.is_some_and(|wake| wake <= now.wall)
    }

    fn nap(&self) -> Duration {
        let now = self.time.now();
        let millis = |span: atelier_domain::time::Span| Duration::from_millis(span.as_millis().unsigned_abs());
        let wake = self.wake.map_or(LONGEST_NAP, |wake| millis(wake.since(now.mono)));
        let wake_wall = self.wake_wall.map_or(LONGEST_NAP, |wake| millis(wake.since(now.wall)));
        let prune = self.prune_at.saturating_sub(self.time.elapsed());
        wake.min(wake_wall).min(prune).clamp(SHORTEST_NAP, LONGEST_NAP)
    }

    /// One batch: looks up, steps, writes, and only then tells. What is left in `work` after an error was not
    /// told anything.
    async fn batch(&mut self, work: &mut Vec<Work>, now: Now, mut is_load: bool) -> Result<(), Trouble> {
        let began = clock::instant();
        let is_first = is_load;
        let had_work = !work.is_empty();
        self.refuse_for_want_of_room(work).await?;
        if had_work && work.is_empty() && !is_load && !self.is_due(now) {
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        let asked: Vec<&str> = work.iter().filter_map(id).collect();
        let Some((mut tx, answered)) = store.begin_batch(now.wall, self.epoch, &asked).await? else {
            // Only another engine's mark says that there is another: what a full disk did not keep does not.
            let is_ours = store.newest_engine().await? == self.engine;
            return Err(if is_ours { Trouble::EpochLost } else { Trouble::Fenced });
        };
        self.refuse_strangers(&mut tx, work).await?;
        let twins = answer_known(work, &answered);
        if work.is_empty() && !is_load && !self.is_due(now) {
            return Ok(());
        }

        let snapshot = self.snapshot(now, &mut is_load);
        let events: Vec<Vec<Event>> = work.iter().map(|work| self.events(work)).collect();
        let mut texts = String::from("[");
        let mut inputs: Vec<Input> = Vec::with_capacity(work.len());
        for item in work.iter_mut() {
            let (input, text) = match item {
                Work::Order(mail) => (&mut mail.input, &mail.json),
                Work::Report(mail) => (&mut mail.input, &mail.json),
            };
            if !inputs.is_empty() {
                texts.push(',');
            }
            texts.push_str(text);
            inputs.push(input.clone());
        }
        texts.push(']');
        let outcome = self.step(&inputs, now)?;
        let trace = Trace::of(&self.world, &outcome, tx.revision(), now);
        let (boot, uptime) = self.time.boot();
        let row = BatchRow { epoch: self.epoch, now, boot: &boot, uptime, is_load, inputs: texts };
        tx.write_batch(&trace, row, command_rows(work, &outcome), snapshot.as_deref()).await?;
        let told = work.iter().zip(events).zip(&outcome.replies);
        for ((item, event), reply) in
            told.flat_map(|((item, all), reply)| all.into_iter().map(move |one| ((item, one), reply)))
        {
            let (Work::Order(mail), Some(Ok(answer))) = (item, reply) else { continue };
            let Some(event) = event::done(event, answer) else { continue };
            let person = mail.command().and_then(|command| event::concerned(&command.order));
            let person = match person {
                Some(id) => tx.person(id).await?,
                None => None,
            };
            let subject = person.as_ref().map(Person::subject);
            let event = match &subject {
                Some(subject) => event::named(event, &subject.name),
                None => event,
            };
            tx.record(&mail.workspace, &mail.author, subject.as_ref(), &event).await?;
            if let Some(also) = mail.command().and_then(event::also_concerned)
                && let Some(person) = tx.person(also).await?
            {
                tx.record(&mail.workspace, &mail.author, Some(&person.subject()), &event).await?;
            }
        }
        let revision = tx.revision();
        let fault = self.options.commits.as_ref().map_or(Commit::Works, |fault| fault.0());
        if fault == Commit::Fails {
            return Err(Trouble::Test);
        }
        let writing = clock::instant();
        tx.commit().await?;
        if fault == Commit::IsUncertain {
            return Err(Trouble::Test);
        }

        metrics::histogram!("atelier_engine_commit_seconds").record(writing.elapsed().as_secs_f64());
        metrics::histogram!("atelier_engine_batch_seconds").record(began.elapsed().as_secs_f64());
        metrics::counter!("atelier_engine_batches_total").increment(1);
        metrics::counter!("atelier_engine_inputs_total").increment(inputs.len() as u64);
        if snapshot.is_some() {
            self.snapshot_at = Some(now.wall);
        }
        self.last_wall = now.wall;
        let mut outcome = outcome;
        if is_first {
            // All of it, whatever the step itself would have told.
            outcome.effects = self.world.wanted();
        }
        self.tell(std::mem::take(work), twins, outcome, inputs.len(), revision, now);
        Ok(())
    }

    /// Answers, acts, and says how it goes. All of it is durable now.
    fn tell(
        &mut self,
        work: Vec<Work>,
        twins: Vec<(usize, Box<OrderMail>)>,
        mut outcome: Outcome,
        inputs: usize,
        revision: i64,
        now: Now,
    ) {
        let lag = work.iter().map(Work::sent).min().map_or(Duration::ZERO, |sent| sent.elapsed());
        (self.wake, self.wake_wall) = (outcome.wake, outcome.wake_wall);
        self.status.send_modify(|status| {
            status.phase = Phase::Running;
            status.epoch = self.epoch;
            status.revision = revision;
            status.batches += 1;
            status.inputs += inputs as u64;
            status.committed_at = Some(now.wall);
            status.counts = self.world.counts();
            status.is_paused = self.world.state().pause.is_some();
            status.is_disk_low = self.disk.as_ref().is_some_and(Disk::is_low);
            status.lag = lag;
        });
        if self.catalogue.borrow().is_stale(&outcome) {
            self.catalogue.send_replace(Arc::new(Catalogue::of(&self.world)));
        }
        for (index, mail) in twins {
            let judged = outcome.replies.get(index).and_then(Clone::clone);
            let told = judged.map_or(Err(OrderError::Uncertain), |judged| judged.map_err(OrderError::Refused));
            let _ = mail.reply.send(told);
        }
        for (item, reply) in work.into_iter().zip(std::mem::take(&mut outcome.replies)) {
            // Whoever asked may have gone.
            match (item, reply) {
                (Work::Order(mail), Some(judged)) => drop(mail.reply.send(judged.map_err(OrderError::Refused))),
                (Work::Order(mail), None) => drop(mail.reply.send(Err(OrderError::Uncertain))),
                (Work::Report(mail), _) => drop(mail.reply.send(Ok(()))),
            }
        }
        self.waiters.tell(std::mem::take(&mut outcome.ended), &outcome.ended_rests);
        if !outcome.effects.is_empty() {
            metrics::counter!("atelier_engine_effects_total").increment(outcome.effects.len() as u64);
            self.hands.act(std::mem::take(&mut outcome.effects));
        }
    }

    fn step(&mut self, inputs: &[Input], now: Now) -> Result<Outcome, Trouble> {
        catch_unwind(AssertUnwindSafe(|| self.world.step(inputs, now))).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Trouble::Panic(text.unwrap_or_default())
        })
    }

    fn events(&self, work: &Work) -> Vec<Event> {
        match work {
            Work::Order(mail) => mail.command().map(|command| event::events(&self.world, command)).unwrap_or_default(),
            Work::Report(_) => Vec::new(),
        }
    }

    /// All records as JSON when it is time for that. The World is then made of them anew, as a replay will
    /// make it.
    fn snapshot(&mut self, now: Now, is_load: &mut bool) -> Option<String> {
        let is_due =
            self.snapshot_at.is_none_or(|at| at > now.wall || now.wall.since(at) >= self.options.snapshot_every);
        let size: usize = self.world.counts().iter().map(|(_, count)| count).sum();
        let is_disk_low = self.disk.as_ref().is_some_and(Disk::is_low);
        if !is_due || is_disk_low || size > self.options.snapshot_most {
            return None;
        }
        let records = self.world.records();
        let text = json(&records);
        if !*is_load {
            self.world = World::load(records, now);
            *is_load = true;
        }
        Some(text)
    }

    /// Orders for a workspace that does not exist. Who may give orders was judged before, so there are none;
    /// but one of them would spoil the batch for all others, since the history is kept by workspace.
    async fn refuse_strangers(&mut self, tx: &mut WriteTx<'_>, work: &mut Vec<Work>) -> Result<(), Trouble> {
        let mut strangers: Vec<WorkspaceId> = Vec::new();
        for item in work.iter() {
            let Work::Order(mail) = item else { continue };
            if self.workspaces.contains(&mail.workspace) || strangers.contains(&mail.workspace) {
                continue;
            }
            if tx.has_workspace(&mail.workspace).await? {
                self.workspaces.insert(mail.workspace.clone());
            } else {
                strangers.push(mail.workspace.clone());
            }
        }
        if strangers.is_empty() {
            return Ok(());
        }
        let is_stranger = |item: &mut Work| matches!(item, Work::Order(mail) if strangers.contains(&mail.workspace));
        for item in work.extract_if(.., is_stranger) {
            item.fail(OrderError::Refused(Reason::NotFound { what: "workspace".into() }));
        }
        Ok(())
    }

    /// On a full disk only what frees something is taken. The refusal is not stored: there will be room
    /// again. What was answered before still gets its answer.
    async fn refuse_for_want_of_room(&mut self, work: &mut Vec<Work>) -> Result<(), Trouble> {
        self.look_at_disk().await;
        let Some(disk) = self.disk.as_ref().filter(|disk| disk.is_low()) else { return Ok(()) };
        let (free, floor) = disk.numbers();
        let (mut refused, kept): (Vec<Work>, Vec<Work>) =
            std::mem::take(work).into_iter().partition(|work| match work {
                Work::Order(mail) => mail.command().is_some_and(|command| !command.order.frees()),
                Work::Report(_) => false,
            });
        *work = kept;
        if refused.is_empty() {
            return Ok(());
        }
        let asked: Vec<&str> = refused.iter().filter_map(id).collect();
        let answered = match self.store.answered(&asked).await {
            Ok(answered) => answered,
            Err(error) => {
                work.append(&mut refused);
                return Err(error.into());
            }
        };
        let twins = answer_known(&mut refused, &answered);
        let twins = twins.into_iter().map(|(_, mail)| Work::Order(mail));
        for work in refused.into_iter().chain(twins) {
            work.fail(OrderError::Refused(Reason::DiskFull { free, floor }));
        }
        Ok(())
    }

    async fn look_at_disk(&mut self) {
        let Some(disk) = &mut self.disk else { return };
        disk.look().await;
        let is_low = disk.is_low();
        self.status.send_if_modified(|status| std::mem::replace(&mut status.is_disk_low, is_low) != is_low);
    }

    /// Throws the World away and loads it again, for as long as it takes. Gives the end, if there is one.
    async fn recover(&mut self, trouble: &Trouble, pause: &mut Duration) -> Option<Phase> {
        tracing::error!(%trouble, "a batch failed; the engine loads its records again");
        metrics::counter!("atelier_engine_reloads_total").increment(1);
        if trouble.is_full()
            && let Some(disk) = &mut self.disk
        {
            disk.is_full();
        }
        let mut why = trouble.to_string();
        loop {
            self.status.send_modify(|status| {
                status.phase = Phase::Recovering { why: why.clone() };
                status.reloads += 1;
            });
            // Not at once: what fails always would fail again and again.
            if let Some(end) = self.wait_out(*pause).await {
                return Some(end);
            }
            *pause = (*pause * 2).min(LONGEST_PAUSE);
            match self.reload().await {
                Ok(true) => return None,
                Ok(false) => return Some(Phase::Fenced),
                Err(error) => {
                    tracing::error!(%error, "the engine's records cannot be loaded; it tries again");
                    why = error.to_string();
                    if Trouble::from(error).is_full()
                        && let Some(disk) = &mut self.disk
                    {
                        disk.is_full();
                    }
                }
            }
        }
    }

    /// Sits a pause out. Whoever comes meanwhile is told at once rather than kept waiting for a store that
    /// may be gone.
    async fn wait_out(&mut self, pause: Duration) -> Option<Phase> {
        let over = tokio::time::sleep(pause);
        tokio::pin!(over);
        loop {
            tokio::select! {
                () = &mut over => return None,
                _ = self.stopping.changed() => return Some(Phase::Stopped),
                message = self.inbox.recv() => match message {
                    Some(message) => refuse(message, &OrderError::Uncertain),
                    None => return Some(Phase::Stopped),
                },
            }
        }
    }

    /// Takes a new epoch, which waits for a commit of ours that may still be going on; false if somebody else
    /// was quicker.
    async fn reload(&mut self) -> store::Result<bool> {
        let Some(epoch) = self.store.take_epoch(&self.engine, Some(self.epoch)).await? else { return Ok(false) };
        self.epoch = epoch;
        let loaded = self.store.load_engine().await?;
        let now = self.time.now();
        self.world = World::load(loaded.records, now);
        self.catalogue.send_replace(Arc::new(Catalogue::of(&self.world)));
        // A commit of which nobody knew may have ended some.
        self.waiters.look_again();
        self.snapshot_at = loaded.snapshot_at;
        self.acted = loaded.previous.as_ref().map(|previous| previous.mono);
        self.loaded = Some(now);
        Ok(true)
    }

    /// What can wait until nothing else does: dropping what has been kept long enough.
    async fn tidy(&mut self, now: Now) {
        let at = self.time.elapsed();
        if at < self.prune_at {
            return;
        }
        let pause = match self.store.prune_engine(self.options.keep, now.mono).await {
            // Ten bites a second keep up with what the loop can write.
            Ok(true) => Duration::from_millis(100),
            Ok(false) => self.options.prune_every,
            Err(error) => {
                tracing::warn!(%error, "what was kept long enough could not be dropped; the next minute tries again");
                self.options.prune_every
            }
        };
        self.prune_at = at + pause;
    }
}

fn refuse(message: Message, error: &OrderError) {
    match message {
        Message::Order(mail) => Work::Order(mail).fail(error.clone()),
        Message::Report(mail) => Work::Report(mail).fail(error.clone()),
        // Its asker hears that it was dropped.
        Message::Ask(_) => {}
    }
}

fn id(work: &Work) -> Option<&str> {
    match work {
        Work::Order(mail) => Some(&mail.id),
        Work::Report(_) => None,
    }
}

/// Answers what was answered before, and takes out what comes twice in this batch: those get the answer of
/// the first, whose place is given with them.
fn answer_known(work: &mut Vec<Work>, known: &Answered) -> Vec<(usize, Box<OrderMail>)> {
    let mut twins = Vec::new();
    let mut fresh: Vec<Work> = Vec::with_capacity(work.len());
    let mut seen: HashMap<(WorkspaceId, String), (usize, String)> = HashMap::with_capacity(work.len());
    for item in work.drain(..) {
        let mail = match item {
            Work::Order(mail) => mail,
            report @ Work::Report(_) => {
                fresh.push(report);
                continue;
            }
        };
        let is_known =
            if known.is_empty() { None } else { known.get(&(mail.workspace.as_str().to_owned(), mail.id.clone())) };
        if let Some(known) = is_known {
            let told = if known.digest == mail.digest { stored(&known.answer) } else { Err(OrderError::IdReused) };
            let _ = mail.reply.send(told);
            continue;
        }
        match seen.entry((mail.workspace.clone(), mail.id.clone())) {
            std::collections::hash_map::Entry::Occupied(first) => {
                let (index, digest) = first.get();
                if *digest == mail.digest {
                    twins.push((*index, mail));
                } else {
                    let _ = mail.reply.send(Err(OrderError::IdReused));
                }
            }
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert((fresh.len(), mail.digest.clone()));
                fresh.push(Work::Order(mail));
            }
        }
    }
    *work = fresh;
    twins
}

/// An answer as it was stored.
fn stored(answer: &str) -> Result<Answer, OrderError> {
    match serde_json::from_str::<Judged>(answer) {
        Ok(judged) => judged.map_err(OrderError::Refused),
        Err(error) => {
            tracing::error!(%error, "an answer that was stored cannot be read");
            Err(OrderError::Broken)
        }
    }
}

fn command_rows<'a>(work: &'a [Work], outcome: &Outcome) -> Vec<CommandRow<'a>> {
    let answered = work.iter().zip(&outcome.replies).filter_map(|(work, reply)| match (work, reply) {
        (Work::Order(mail), Some(judged)) => Some((mail, judged)),
        _ => None,
    });
    answered
        .map(|(mail, judged)| CommandRow {
            workspace: mail.workspace.as_str(),
            id: &mail.id,
            digest: &mail.digest,
            answer: json(judged),
            payload: match (judged, &mail.payload) {
                (Ok(Answer::Job(job) | Answer::Jobs { first: job, .. }), Some(payload)) => Some((job.0, payload)),
                _ => None,
            },
        })
        .collect()
}
