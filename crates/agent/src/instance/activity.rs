//! What goes on in an instance: told every half minute, and when somebody asks.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::compute::idle::Source;
use atelier_domain::text::Text;
use atelier_protocol::{Activity, AppState, Signal, ToServer};
use tokio::sync::oneshot;

use super::load::{Load, Processes};
use super::supervisor::{Layout, Supervisor};
use super::{Ask, kernels};

/// How often it is told.
const EVERY: Duration = Duration::from_secs(30);
/// A shorter stretch says nothing about the processor.
const SHORTEST: Duration = Duration::from_millis(250);
/// As much of a core is activity; below it programs only keep themselves warm.
const BUSY_PERCENT: u128 = 5;
/// And not less than this, so that a page that somebody has open does not count in a short stretch.
const LEAST_BUSY: Duration = Duration::from_millis(50);
/// Paths of notebooks can be long.
const LONGEST_DETAIL: usize = 300;
/// As much of a GPU.
const BUSY_GPU: f32 = 5.0;

/// Tells what goes on until the instance ends.
pub async fn watch(supervisor: Arc<Supervisor>) {
    let mut ending = supervisor.ending();
    let before = measure(&supervisor).await;
    let mut watch = Watch { processes: Processes::default(), terminals: HashMap::new(), before };
    let mut told = crate::clock::now();
    let mut is_asked = false;
    // The first at once, so that pages have something to show.
    loop {
        let report = async {
            if is_asked && let Some(rest) = SHORTEST.checked_sub(told.elapsed()) {
                tokio::time::sleep(rest).await;
            }
            watch.report(&supervisor).await
        };
        let report = tokio::select! {
            report = report => report,
            _ = ending.told() => return,
        };
        told = crate::clock::now();
        if let Some(activity) = report {
            supervisor.ask(Ask::Say(ToServer::Activity(Box::new(activity))));
        }
        is_asked = tokio::select! {
            () = tokio::time::sleep(EVERY) => false,
            () = supervisor.tell.notified() => true,
            _ = ending.told() => return,
        };
    }
}

struct Watch {
    processes: Processes,
    /// When something last went through the terminals of applications.
    terminals: HashMap<String, String>,
    before: Option<Load>,
}

impl Watch {
    /// What went on since the last time.
    async fn report(&mut self, supervisor: &Supervisor) -> Option<Activity> {
        let now = measure(supervisor).await?;
        let stretch = self.before.as_ref().map_or(Duration::ZERO, |before| now.at.duration_since(before.at));
        let used = self.before.as_ref().map_or(0, |before| now.cpu.saturating_sub(before.cpu));
        let mut signals = Vec::new();
        let mut say = |source, is_active, detail: String| {
            let detail: String = detail.chars().take(LONGEST_DETAIL).collect();
            signals.push(Signal { source, is_active, detail: Text::from(detail) });
        };
        let (is_busy, words) = processor(used, stretch);
        say(Source::Processor, is_busy, words);
        if let Some(busy) = now.gpu {
            say(Source::Gpu, busy >= BUSY_GPU, format!("{busy:.0} % of a GPU at most"));
        }
        let jobs: Vec<String> = now.jobs.iter().map(ToString::to_string).collect();
        match &jobs[..] {
            [] => say(Source::Job, false, "no job runs".to_owned()),
            [one] => say(Source::Job, true, format!("{one} runs")),
            [one, rest @ ..] => say(Source::Job, true, format!("{one} and {} more run", rest.len())),
        }
        let mut traffic = supervisor.terminals.take_traffic();
        if let Some(layout) = supervisor.layout.get() {
            for (is_active, words) in self.ask_apps(supervisor, layout, &mut traffic).await {
                say(Source::Kernel, is_active, words);
            }
        }
        let (is_busy, words) = terminals(&traffic);
        say(Source::Terminal, is_busy, words);
        let processes = self.processes.largest(&now.pids, stretch);
        // What our own questions cost them is not their activity.
        let after = measure(supervisor).await?;
        self.before = Some(after);
        let stretch_ms = u64::try_from(stretch.as_millis()).unwrap_or(0);
        Some(Activity { instance: supervisor.set_up.instance, stretch_ms, signals, processes })
    }

    /// Asks applications about their kernels, and adds to what went through terminals.
    async fn ask_apps(
        &mut self,
        supervisor: &Supervisor,
        layout: &Layout,
        traffic: &mut Vec<(String, u64, u64)>,
    ) -> Vec<(bool, String)> {
        let mut said = Vec::new();
        let mut seen = HashMap::new();
        for app in supervisor.apps().into_iter().filter(|supervised| supervised.app.has_kernels) {
            if app.state().0 != AppState::Ready {
                said.push((false, format!("{} does not run", app.label())));
                continue;
            }
            match kernels::ask(&layout.folders.run, &app.app.name, supervisor.uid()).await {
                Ok(found) => {
                    said.push((!found.busy.is_empty(), found.sentence()));
                    for (name, last) in found.terminals {
                        let name = format!("{} in {}", name, app.label());
                        // One that was not there before was opened since.
                        let has_moved = self.terminals.get(&name) != Some(&last);
                        traffic.push((name.clone(), 0, u64::from(has_moved)));
                        seen.insert(name, last);
                    }
                }
                Err(why) => said.push((false, format!("{} does not answer: {why}", app.label()))),
            }
        }
        self.terminals = seen;
        said
    }
}

async fn measure(supervisor: &Supervisor) -> Option<Load> {
    let (reply, answer) = oneshot::channel();
    supervisor.ask(Ask::Measure(reply));
    answer.await.ok()
}

/// Whether processes use the processor, and for people how much.
fn processor(used: u64, stretch: Duration) -> (bool, String) {
    let percent = u128::from(used) * 1_000 / stretch.as_nanos().max(1);
    let is_busy = percent >= BUSY_PERCENT * 10 && u128::from(used) >= LEAST_BUSY.as_nanos() && !stretch.is_zero();
    let words = if percent >= 100 { format!("{}", percent / 10) } else { format!("{}.{}", percent / 10, percent % 10) };
    (is_busy, format!("{words} % of a core"))
}

fn terminals(traffic: &[(String, u64, u64)]) -> (bool, String) {
    let is_active = |(_, typed, shown): &&(String, u64, u64)| typed + shown > 0;
    match (traffic.iter().find(is_active), traffic.len()) {
        (Some((name, 0, 1)), _) => (true, format!("terminal {name} was used")),
        (Some((name, typed, shown)), _) => {
            (true, format!("terminal {name}: {typed} bytes typed, {shown} bytes printed"))
        }
        (None, 0) => (false, "no terminal is open".to_owned()),
        (None, 1) => (false, "1 terminal, quiet".to_owned()),
        (None, count) => (false, format!("{count} terminals, all quiet")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twentieth_of_a_core_is_activity_and_a_page_that_asks_is_not() {
        let half_minute = Duration::from_secs(30);
        assert_eq!(processor(1_500_000_000, half_minute), (true, "5.0 % of a core".to_owned()));
        assert_eq!(processor(1_400_000_000, half_minute), (false, "4.6 % of a core".to_owned()));
        assert_eq!(processor(30_000_000_000, half_minute), (true, "100 % of a core".to_owned()));
        assert_eq!(processor(20_000_000, SHORTEST), (false, "8.0 % of a core".to_owned()));
        assert!(processor(200_000_000, SHORTEST).0);
        assert!(!processor(200_000_000, Duration::ZERO).0);
    }

    #[test]
    fn quiet_terminals_are_no_activity() {
        assert_eq!(terminals(&[]), (false, "no terminal is open".to_owned()));
        assert_eq!(terminals(&[("1".to_owned(), 0, 0)]), (false, "1 terminal, quiet".to_owned()));
        let one = [("1".to_owned(), 0, 0), ("2".to_owned(), 3, 40)];
        assert_eq!(terminals(&one), (true, "terminal 2: 3 bytes typed, 40 bytes printed".to_owned()));
    }
}
