//! Time that passes in tests: minute by minute, each with what agents really see.

use atelier_domain::time::Span;

use super::Fleet;

#[cfg(not(debug_assertions))]
impl Fleet {
    /// For how long an agent has watched, as it says.
    #[expect(clippy::unused_self, reason = "tests have another one")]
    pub(super) const fn stretch(&self, said: Span) -> Span {
        said
    }
}

#[cfg(debug_assertions)]
mod moved {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use atelier_domain::compute::NodeId;
    use atelier_protocol::ToAgent;

    use super::{Fleet, Span};

    static IS_MOVING: AtomicBool = AtomicBool::new(false);
    const MINUTE: Duration = Duration::from_secs(60);

    impl Fleet {
        /// For how long an agent has watched: as it says, or the minute that a test lets pass.
        pub(in crate::fleet) fn stretch(&self, said: Span) -> Span {
            if IS_MOVING.load(Ordering::SeqCst) { Span::minutes(1) } else { said }
        }

        /// Lets so many minutes pass. In each, agents of running instances say what goes on there.
        pub async fn let_pass(&self, minutes: u32) {
            IS_MOVING.store(true, Ordering::SeqCst);
            for _ in 0..minutes {
                crate::clock::set_ahead(MINUTE);
                let nodes: Vec<NodeId> = match self.engine() {
                    Some(engine) => engine.ask(|world| world.instances().filter_map(|one| one.node).collect()).await,
                    None => Ok(Vec::new()),
                }
                .unwrap_or_default();
                for node in nodes {
                    self.hear_of(node).await;
                }
                // Also without any agent the engine looks at its schedules.
                if let Some(engine) = self.engine() {
                    let _ = engine.report_all(&[]).await;
                }
            }
            IS_MOVING.store(false, Ordering::SeqCst);
        }

        async fn hear_of(&self, node: NodeId) {
            let before = self.board().activity_number(node);
            if before.is_none() || !self.say(node, ToAgent::TellActivity) {
                return;
            }
            let heard = async {
                while self.board().activity_number(node) == before {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            };
            // A node without an instance that is set up has nothing to say.
            let _ = tokio::time::timeout(Duration::from_secs(2), heard).await;
        }
    }
}
