//! Runs a scenario and says how long it took:
//! `cargo run --release -p atelier-simulate --example scenario -- FILE [SVG]`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::io::BufReader;
use std::ops::ControlFlow;
use std::time::Instant;

use atelier_simulate::{Scenario, simulate};

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("name the file of a scenario")?;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let beside = std::path::Path::new(&file).with_file_name("");
    let open = |name: &str| {
        let path = beside.join(name);
        std::fs::File::open(&path).map(BufReader::new).map_err(|error| format!("{}: {error}", path.display()))
    };
    let scenario = Scenario::load(&text, open).map_err(|refused| refused.to_string())?;
    let (start, mut events, mut last) = (Instant::now(), 0, (0, 0));
    let mut hear = |progress: atelier_simulate::Progress| {
        events += if progress.policy == last.0 { progress.events - last.1 } else { progress.events };
        last = (progress.policy, progress.events);
        ControlFlow::Continue(())
    };
    let report = simulate(&scenario, &mut hear).map_err(|stopped| stopped.to_string())?;
    let seconds = start.elapsed().as_secs_f64();
    print!("{}", report.table());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("VmHWM: unknown");
    eprintln!(
        "{seconds:.2} s, {events} events, {:.0} a second, {peak}",
        f64::from(u32::try_from(events).unwrap_or(u32::MAX)) / seconds
    );
    if let Some(picture) = arguments.next() {
        std::fs::write(&picture, report.svg()).map_err(|error| format!("{picture}: {error}"))?;
    }
    Ok(())
}
