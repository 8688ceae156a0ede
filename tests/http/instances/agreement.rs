//! The list, the page and the API say the same of an instance in every state: what it is, why, and what comes
//! next.

use atelier_domain::compute::instance::{InstancePhase, InstanceState};
use atelier_domain::compute::job::{JobSpec, Priority, Target};
use atelier_domain::compute::{InstanceId, Resources};
use atelier_domain::history::Actor;
use atelier_domain::text::shortened_to;
use atelier_domain::time::Span;
use atelier_domain::world::{Command, Order, Report};
use atelier_engine::run::{CommandId, NewOrder};
use atelier_engine::store::Author;
use axum::http::Method;
use serde_json::{Value, json};

use super::{LIST, Studio, page};
use crate::client::Browser;
use crate::rest::Api;

/// What stands between two marks; a tag that has begun is left out.
#[track_caller]
fn between<'a>(html: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = html.split_once(from).unwrap_or_else(|| panic!("no {from:?} in {html}"));
    let rest = if from.ends_with('>') { rest } else { rest.split_once('>').map_or(rest, |(_, inside)| inside) };
    rest.split_once(to).unwrap_or_else(|| panic!("no {to:?} after {from:?}")).0
}

/// The same without tags.
#[track_caller]
fn text(html: &str, from: &str, to: &str) -> String {
    let (mut text, mut is_tag) = (String::new(), false);
    for letter in between(html, from, to).chars() {
        match letter {
            '<' => is_tag = true,
            '>' => is_tag = false,
            _ if !is_tag => text.push(letter),
            _ => {}
        }
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// Every phase has its place here: a new one does not compile before the walk reaches it.
const fn place(phase: &InstancePhase) -> usize {
    match phase {
        InstancePhase::Creating { .. } => 0,
        InstancePhase::Starting { .. } => 1,
        InstancePhase::SettingUp { .. } => 2,
        InstancePhase::UserSettingUp { .. } => 3,
        InstancePhase::Running => 4,
        InstancePhase::Restarting { .. } => 5,
        InstancePhase::Stopping { .. } => 6,
        InstancePhase::Stopped => 7,
        InstancePhase::Resizing { .. } => 8,
        InstancePhase::Transferring { .. } => 9,
        InstancePhase::Deleting { .. } => 10,
        InstancePhase::CreateFailed => 11,
        InstancePhase::SetupFailed => 12,
        InstancePhase::UserSetupFailed => 13,
        InstancePhase::Unknown => 14,
        InstancePhase::Unusable => 15,
    }
}

/// Brings the instance of that name through its states and asks all doors in each.
struct Walk {
    studio: Studio,
    mara: Browser,
    seen: Vec<InstanceState>,
    phases: [bool; 16],
}

impl Walk {
    async fn new() -> Self {
        let studio = Studio::new().await;
        let mara = studio.browser("mara").await;
        Self { studio, mara, seen: Vec::new(), phases: [false; 16] }
    }

    async fn agrees(&mut self, name: &str, id: InstanceId, state: InstanceState) {
        self.studio.until_state(id, state).await;
        self.seen.push(state);
        self.phases[self.studio.look(id, |_, instance| place(&instance.phase)).await] = true;
        let path = format!("/instances/{name}");
        // What is left of a time is in some reasons: they are compared only if none went by meanwhile.
        let (known, list, shown) = loop {
            let known = self.studio.mara.get(&path).await.is(200).json;
            let (list, shown) = (self.mara.get(LIST).await.text, self.mara.get(&page(name, "")).await.text);
            let again = self.studio.mara.get(&path).await.is(200).json;
            if known["reason"] == again["reason"] {
                break (known, list, shown);
            }
        };
        assert_eq!(known["state"], state.key());
        let row = between(&list, &format!("data-key=\"{id}\""), "</tr>");
        let word = text(&shown, "class=\"state pill\"", "</span>");
        let (listed, why) =
            (text(row, "class=\"c-state\">", "</td>"), text(&shown, "data-live=\"why\">", "data-live=\"next\""));
        let said = |part: &str| known["reason"][part].as_str().map(str::to_owned);
        match (said("sentence"), said("code")) {
            (Some(sentence), Some(code)) => {
                assert_eq!(listed, format!("{word}{}", shortened_to(&sentence, 90)), "{name} is {state:?}");
                let expected = format!("{sentence}{}{code}", said("next_step").unwrap_or_default());
                assert!(why.starts_with(&expected), "{name} is {state:?}: {why} and not {expected}");
            }
            _ => {
                assert_eq!(known["reason"], Value::Null);
                assert!(listed.starts_with(&word), "{name} is {state:?}: {listed}");
                // Only reasons have codes there.
                let cards = between(&shown, "data-live=\"why\">", "data-live=\"next\"");
                assert!(!cards.contains("class=\"code"), "{name} is {state:?}: {cards}");
            }
        }
        // What happens next, in the words under its name and over its applications.
        let (under, over) = (text(row, "class=\"next\"", "</th>"), text(&shown, "class=\"sched-chip\"", "</div>"));
        assert!(!under.is_empty() && over.starts_with(&under), "{name} is {state:?}: {over} and not {under}");
    }

    async fn set_up(&self, id: InstanceId, failure: Option<&str>) {
        let generation = self.studio.look(id, |_, instance| instance.generation).await;
        let failure = failure.map(Into::into);
        self.studio.report(Report::SetUp { instance: id, generation, failure }).await;
    }

    /// A job on the instance itself, which no form offers yet.
    async fn submit(&self, id: InstanceId) {
        let (workspace, owner) =
            self.studio.look(id, |_, instance| (instance.workspace.clone(), instance.owner.clone())).await;
        let spec = JobSpec {
            target: Target::Instance(id),
            shape: Resources { cores: 500, memory: 128, gpus: 0 },
            nodes: 1,
            priority: Priority::Medium,
            timeout: None,
            grace: Span::seconds(2),
            retry: None,
            tier: Default::default(),
            after: Vec::new(),
            environment: None,
        };
        let command = Command { workspace, user: Some(owner), name: "Mara".into(), order: Order::Submit(spec) };
        let author = Author { actor: Actor::System, request: String::new(), why: None };
        let new = NewOrder { id: CommandId::random(), payload: None, author, command };
        self.studio.server.state.engine().order(new).await.expect("submitted");
    }

    async fn ask(&self, path: &str, body: Value) {
        self.studio.mara.post(&format!("/instances/{path}"), &body).await.is(202);
    }
}

#[tokio::test]
async fn all_doors_agree_in_every_state() {
    let mut walk = Walk::new().await;
    let desk = walk.studio.make(&json!({"name": "desk", "size": "cpu-2"})).await;
    walk.agrees("desk", desk, InstanceState::Creating).await;
    let node = walk.studio.node_of(desk).await;
    walk.studio.report(Report::NodeUp(node)).await;
    walk.agrees("desk", desk, InstanceState::SettingUp).await;
    walk.set_up(desk, None).await;
    walk.agrees("desk", desk, InstanceState::Running).await;
    walk.ask("desk/restart", json!({})).await;
    walk.agrees("desk", desk, InstanceState::Restarting).await;
    walk.set_up(desk, None).await;
    walk.studio.until_state(desk, InstanceState::Running).await;
    walk.submit(desk).await;
    walk.agrees("desk", desk, InstanceState::JobRunning).await;
    walk.studio.report(Report::NodeSilent(node)).await;
    walk.agrees("desk", desk, InstanceState::Unknown).await;
    // Nothing that was done to it has failed: its node went away by itself.
    walk.studio.report(Report::NodeGone(node)).await;
    walk.agrees("desk", desk, InstanceState::Unusable).await;

    let lab = walk.studio.make(&json!({"name": "lab", "size": "cpu-2"})).await;
    walk.studio.bring_up(lab).await;
    walk.ask("lab/stop", json!({})).await;
    walk.agrees("lab", lab, InstanceState::Stopping).await;
    walk.studio.node_gone(lab).await;
    walk.agrees("lab", lab, InstanceState::Stopped).await;
    walk.ask("lab/start", json!({})).await;
    walk.agrees("lab", lab, InstanceState::Starting).await;
    let node = walk.studio.node_of(lab).await;
    walk.studio.report(Report::NodeUp(node)).await;
    walk.studio.until_state(lab, InstanceState::SettingUp).await;
    walk.set_up(lab, Some("no room for the environment")).await;
    walk.agrees("lab", lab, InstanceState::SetupFailed).await;
    walk.studio.mara.send(Method::DELETE, "/instances/lab", &[], None).await.is(202);
    walk.agrees("lab", lab, InstanceState::Deleting).await;

    let scripted = json!({"name": "scripted", "size": "cpu-2", "scripts": {"startup": {"text": "make all"}}});
    let scripted = walk.studio.make(&scripted).await;
    let node = walk.studio.node_of(scripted).await;
    walk.studio.report(Report::NodeUp(node)).await;
    walk.set_up(scripted, None).await;
    walk.agrees("scripted", scripted, InstanceState::UserSettingUp).await;
    let generation = walk.studio.look(scripted, |_, instance| instance.generation).await;
    let failure = Some("make: no rule to make target".into());
    let done = Report::ScriptDone { instance: scripted, generation, creation_done: false, failure };
    walk.studio.report(done).await;
    walk.agrees("scripted", scripted, InstanceState::UserSetupFailed).await;

    let ines = Api::owner(&walk.studio.server).await;
    let large = json!({"family": "general", "site": "local", "cores": 8, "memory_mib": 32_768, "price_per_hour": 0.48});
    ines.put("/sizes/cpu-8", &large).await.is(201);
    let small = walk.studio.asleep("small").await;
    walk.ask("small/resize", json!({"size": "cpu-8"})).await;
    walk.agrees("small", small, InstanceState::Resizing).await;
    let gift = walk.studio.asleep("gift").await;
    walk.ask("gift/transfer", json!({"to": "sven@example.org"})).await;
    walk.agrees("gift", gift, InstanceState::Transferring).await;

    // A new one is given up after three launches.
    let never = walk.studio.make(&json!({"name": "never", "size": "cpu-2"})).await;
    for _ in 0..3 {
        let node = walk.studio.node_of(never).await;
        walk.studio.report(Report::LaunchFailed { node, detail: "no image".into() }).await;
        walk.studio.report(Report::NodeGone(node)).await;
    }
    walk.agrees("never", never, InstanceState::CreateFailed).await;

    let missing: Vec<_> = InstanceState::ALL.iter().filter(|state| !walk.seen.contains(state)).collect();
    assert_eq!(missing, Vec::<&InstanceState>::new());
    assert_eq!(walk.phases, [true; 16]);
}
