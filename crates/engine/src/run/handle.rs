//! How the rest of the server talks to the loop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_domain::WorkspaceId;
use atelier_domain::compute::JobId;
use atelier_domain::compute::tags::Tags;
use atelier_domain::reason::Reason;
use atelier_domain::text::{MAX_WHY, Problem, is_id, shortened};
use atelier_domain::world::{Answer, Command, Input, Order, Report, World};
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot, watch};

use super::catalogue::Catalogue;
use super::over::{JobOver, Waiters};
use super::status::{Status, Turn};
use crate::clock;
use crate::store::{Author, json};

/// The longest order as JSON: a timetable takes a few hundred bytes, a retry rule as well.
const MOST_ORDER: usize = 64 << 10;
/// The longest payload of a job: what is larger is uploaded.
const MOST_PAYLOAD: usize = 1 << 20;
/// The longest report as JSON: a list of a hundred thousand nodes.
const MOST_REPORT: usize = 32 << 20;
/// The pause before reports are told again of which nobody knows whether they are durable.
const TELL_AGAIN: Duration = Duration::from_millis(50);
/// The longest name of whoever gives an order.
const MOST_NAME: usize = 200;

/// The id of a command, made by whoever gives it: the same id again gets the same answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommandId {
    text: String,
    /// A hash of what its giver said, if the order is made of that and might be made otherwise the next time.
    said: Option<String>,
}

impl CommandId {
    /// Takes 8 to 80 letters, digits and hyphens.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        if text.len() >= 8 && is_id(text) {
            return Ok(Self { text: text.to_owned(), said: None });
        }
        let (count, start) = (text.len(), shortened(text));
        let message = format!(
            "The id of a command has 8 to 80 letters, digits and hyphens; this has {count} bytes and begins “{start}”."
        );
        Err(Problem::new("command_id", message))
    }

    /// A random one, for callers that never ask again.
    pub fn random() -> Self {
        Self { text: format!("{:032x}", rand::random::<u128>()), said: None }
    }

    /// The same id as that person's own: what two people choose must not meet.
    #[must_use]
    pub fn of(self, person: &atelier_domain::UserId) -> Self {
        Self { text: digest(&format!("{} {}", person.as_str(), self.text), None), ..self }
    }

    /// The same id, for what its giver said. The order made of it may be another the next time (names mean
    /// something else, defaults have changed): who says the same again gets the same answer nevertheless.
    #[must_use]
    pub fn saying(self, what: &str) -> Self {
        Self { said: Some(digest(what, None)), ..self }
    }

    /// The id of another command of the same request, which says the same.
    #[must_use]
    pub fn beside(&self, what: &str) -> Self {
        Self { text: digest(&format!("{}/{what}", self.text), None), said: self.said.clone() }
    }

    /// A hash of what its giver said.
    pub fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// What a job runs, kept beside it: the engine never looks into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// What people call the job.
    pub name: String,
    /// What people note about it.
    pub tags: Tags,
    /// An [`atelier_protocol::Task`] as JSON.
    pub body: String,
    /// The folder of Files in which its outputs are wanted; empty for none.
    pub keep_in: String,
}

impl Payload {
    pub fn of(name: impl Into<String>, tags: Tags, task: &atelier_protocol::Task) -> Self {
        Self { name: name.into(), tags, body: atelier_protocol::encode(task), keep_in: String::new() }
    }
}

/// An order on its way in.
#[derive(Clone, Debug)]
pub struct NewOrder {
    pub id: CommandId,
    /// What a job runs; only with [`Order::Submit`] and [`Order::SubmitArray`].
    pub payload: Option<Payload>,
    /// Who gives it, for the history.
    pub author: Author,
    /// The order itself. Whether its giver may give it was judged before.
    pub command: Command,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// It was judged and refused.
    #[error("{}", .0.sentence())]
    Refused(Reason),
    /// Nobody knows whether it was carried out. The same id again gets the answer.
    #[error("it is not known whether this was done; ask again with the same id")]
    Uncertain,
    /// The id belongs to another order.
    #[error("the id was used for another order before; use a new one")]
    IdReused,
    /// It makes the engine stumble, and was not carried out.
    #[error("the engine could not work this out; nothing was changed, and the log says more")]
    Broken,
    /// Another server has taken over.
    #[error("another server has taken over; this one cannot change anything any more")]
    Fenced,
    /// The engine has stopped.
    #[error("the engine has stopped")]
    Stopped,
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, OrderError>>;

/// Something for the loop to look at.
pub(super) enum Message {
    Order(Box<OrderMail>),
    Report(Box<ReportMail>),
    Ask(Box<dyn FnOnce(&World) + Send>),
}

impl Message {
    /// About how much of it is written.
    pub fn size(&self) -> usize {
        match self {
            Self::Order(mail) => mail.json.len() + mail.payload.as_ref().map_or(0, |payload| payload.body.len()),
            Self::Report(mail) => mail.json.len(),
            Self::Ask(_) => 0,
        }
    }
}

/// An order with all that can be worked out before its turn.
pub(super) struct OrderMail {
    pub id: String,
    pub workspace: WorkspaceId,
    pub payload: Option<Payload>,
    pub author: Author,
    pub input: Input,
    pub json: String,
    pub digest: String,
    pub sent: Instant,
    pub reply: Reply<Answer>,
}

impl OrderMail {
    pub fn command(&self) -> Option<&Command> {
        match &self.input {
            Input::Command(command) => Some(command),
            Input::Report(_) => None,
        }
    }
}

pub(super) struct ReportMail {
    pub input: Input,
    pub json: String,
    pub sent: Instant,
    pub reply: Reply<()>,
}

/// Talks to the loop. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EngineHandle {
    inbox: mpsc::Sender<Message>,
    stop: Arc<watch::Sender<bool>>,
    status: watch::Receiver<Status>,
    catalogue: watch::Receiver<Arc<Catalogue>>,
    waiters: Waiters,
}

impl EngineHandle {
    pub(super) const fn new(
        inbox: mpsc::Sender<Message>,
        stop: Arc<watch::Sender<bool>>,
        status: watch::Receiver<Status>,
        catalogue: watch::Receiver<Arc<Catalogue>>,
        waiters: Waiters,
    ) -> Self {
        Self { inbox, stop, status, catalogue, waiters }
    }

    /// Gives an order and waits until its answer is durable.
    pub async fn order(&self, new: NewOrder) -> Result<Answer, OrderError> {
        let NewOrder { id, payload, author, command } = new;
        check(&command, payload.as_ref(), &author).map_err(|problem| OrderError::Refused(Reason::invalid(problem)))?;
        let workspace = command.workspace.clone();
        let input = Input::Command(command);
        let json = json(&input);
        if json.len() > MOST_ORDER {
            let message = format!("An order takes at most {MOST_ORDER} bytes; this takes {}.", json.len());
            return Err(OrderError::Refused(Reason::invalid(Problem::new("order", message))));
        }
        let digest = id.said.unwrap_or_else(|| digest(&json, payload.as_ref()));
        let (reply, answer) = oneshot::channel();
        let sent = clock::instant();
        let mail = OrderMail { id: id.text, workspace, payload, author, input, json, digest, sent, reply };
        self.send(Message::Order(Box::new(mail))).await?;
        answer.await.unwrap_or(Err(OrderError::Uncertain))
    }

    /// Tells what was observed and waits until that is durable. Whoever gets an error tells it again.
    pub async fn report(&self, report: Report) -> Result<(), OrderError> {
        let input = Input::Report(report);
        let json = json(&input);
        if json.len() > MOST_REPORT {
            let message = format!("A report takes at most {MOST_REPORT} bytes; this takes {}.", json.len());
            return Err(OrderError::Refused(Reason::invalid(Problem::new("report", message))));
        }
        let (reply, answer) = oneshot::channel();
        let mail = ReportMail { input, json, sent: clock::instant(), reply };
        self.send(Message::Report(Box::new(mail))).await?;
        answer.await.unwrap_or(Err(OrderError::Uncertain))
    }

    /// Tells several things at once, in this order, and waits until all are durable. Told again, whole, until
    /// they are: only an engine that has ended gives an error.
    pub async fn report_all(&self, reports: &[Report]) -> Result<(), OrderError> {
        self.report_all_and_then(reports, || {}).await
    }

    /// The same; `told` is called once all were handed over, so that what others have to say comes after
    /// them.
    pub async fn report_all_and_then(&self, reports: &[Report], told: impl FnOnce()) -> Result<(), OrderError> {
        let mut told = Some(told);
        loop {
            let mut answers = Vec::with_capacity(reports.len());
            for report in reports {
                let input = Input::Report(report.clone());
                let (reply, answer) = oneshot::channel();
                let mail = ReportMail { json: json(&input), input, sent: clock::instant(), reply };
                self.send(Message::Report(Box::new(mail))).await?;
                answers.push(answer);
            }
            if let Some(told) = told.take() {
                told();
            }
            let mut is_durable = true;
            for answer in answers {
                match answer.await.unwrap_or(Err(OrderError::Uncertain)) {
                    Ok(()) => {}
                    Err(error @ (OrderError::Fenced | OrderError::Stopped)) => return Err(error),
                    // One that makes a rule stumble would do so each time.
                    Err(OrderError::Broken | OrderError::Refused(_)) => {}
                    Err(OrderError::Uncertain | OrderError::IdReused) => is_durable = false,
                }
            }
            if is_durable {
                return Ok(());
            }
            // The loop loads its records again; it takes no questions meanwhile.
            tokio::time::sleep(TELL_AGAIN).await;
        }
    }

    /// Looks at the World between two batches. What it tells may not be durable for an engine that is being
    /// replaced, so this is for explaining, not for deciding.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, OrderError> {
        let (reply, answer) = oneshot::channel();
        let ask = move |world: &World| {
            // Whoever asked may have gone.
            let _ = reply.send(question(world));
        };
        self.send(Message::Ask(Box::new(ask))).await?;
        answer.await.map_err(|_| OrderError::Uncertain)
    }

    /// Waits for a job to be over. Ask for this first, and only then look in the store whether it is over
    /// already.
    pub fn job_over(&self, job: JobId) -> JobOver {
        self.waiters.wait(job)
    }

    /// Sizes and clusters as of the last batch, without asking the loop.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.borrow())
    }

    /// How the loop is doing.
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Which World [`EngineHandle::ask`] looks at now: two equal turns had the same one, since only batches
    /// change it. Nothing while the loop is not running.
    pub fn turn(&self) -> Option<Turn> {
        self.status.borrow().turn()
    }

    /// Wakes whenever [`EngineHandle::status`] changes.
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// Waits until the loop has made its first batch, or has ended before that.
    pub async fn started(&self) -> Status {
        let mut status = self.status.clone();
        match status.wait_for(|status| status.phase != super::Phase::Starting).await {
            Ok(status) => status.clone(),
            // The loop is gone; its last words are still there.
            Err(_) => self.status(),
        }
    }

    /// Ends the loop after its present batch.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    async fn send(&self, message: Message) -> Result<(), OrderError> {
        self.inbox.send(message).await.map_err(|_| match self.status().phase {
            super::Phase::Fenced => OrderError::Fenced,
            _ => OrderError::Stopped,
        })
    }
}

/// Refuses what must not even be looked at.
fn check(command: &Command, payload: Option<&Payload>, author: &Author) -> Result<(), Problem> {
    let short = |field: &str, text: &str, most: usize| {
        let count = text.chars().count();
        if count <= most {
            return Ok(());
        }
        Err(Problem::new(field, format!("This takes at most {most} characters and has {count}.")))
    };
    short("name", &command.name, MOST_NAME)?;
    short("why", author.why.as_deref().unwrap_or_default(), MAX_WHY)?;
    short("request", &author.request, MOST_NAME)?;
    short("name", author.actor.name(), MOST_NAME)?;
    if let Some(payload) = payload {
        short("name", &payload.name, MOST_NAME)?;
        payload.tags.check()?;
        let payload = payload.body.as_str();
        if !matches!(command.order, Order::Submit(_) | Order::SubmitArray { .. }) {
            return Err(Problem::new("payload", "Only a job has something to run."));
        }
        if payload.len() > MOST_PAYLOAD {
            let message = format!(
                "What a job runs takes at most {MOST_PAYLOAD} bytes; this takes {}. Upload larger files.",
                payload.len()
            );
            return Err(Problem::new("payload", message));
        }
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(payload) {
            return Err(Problem::new("payload", format!("What a job runs is JSON; this is not: {error}.")));
        }
    }
    Ok(())
}

/// A hash of all that an order says.
fn digest(json: &str, payload: Option<&Payload>) -> String {
    let mut hash = Sha256::new();
    hash.update((json.len() as u64).to_le_bytes());
    hash.update(json.as_bytes());
    if let Some(payload) = payload {
        for part in [payload.name.as_str(), &crate::store::json(&payload.tags), &payload.body] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        if !payload.keep_in.is_empty() {
            hash.update(payload.keep_in.as_bytes());
        }
    }
    atelier_domain::text::hex(&hash.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_command_of_a_request_says_the_same_under_an_id_of_its_own() {
        let id = CommandId::parse("request-0001").expect("an id").saying("submit {}");
        let beside = id.beside("tags");
        assert_ne!(beside.as_str(), id.as_str());
        assert_eq!(beside.said(), id.said());
        assert_eq!(beside, id.beside("tags"), "asked again it is the same");
        assert_ne!(beside, id.beside("queue"));
        // The longest id that people may give has room for more commands.
        let longest = CommandId::parse(&"x".repeat(80)).expect("an id").beside("job-7");
        assert!(CommandId::parse(longest.as_str()).is_ok() && longest.said().is_none());
    }
}
