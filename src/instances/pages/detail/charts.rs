//! What an instance used in the last hour.

use atelier_domain::Timestamp;
use atelier_domain::compute::resources::Memory;
use atelier_studio::clock;
use atelier_studio::instances::detail::InstanceDetail;
use atelier_studio::instances::usage::Usage;
use atelier_studio::jobs::metrics::Series;
use leptos::prelude::*;

use crate::components::{Card, ChartLine, LineChart};
use crate::frame::Visit;
use crate::jobs::pages::words::bytes;

/// Processor and memory, and the GPUs if there are any.
pub fn card(visit: &Visit, detail: &InstanceDetail, usage: Option<&Usage>) -> AnyView {
    let Some(usage) = usage else {
        let words = if detail.view.instance.node.is_some() {
            "Its node has not said yet what it uses."
        } else {
            "It is off. What it uses is shown while it runs."
        };
        return html! { <Card heading="Last hour"><p class="muted">{words}</p></Card> };
    };
    let ticks = ticks(visit, usage);
    let first = vec![
        percent("s1", "CPU", &usage.cpu),
        share("s2", "Memory", &usage.memory, memory_of(detail, usage), |count| Memory(count as u64).to_string()),
    ];
    let disk = format!("Disk {} of {} used.", Memory(usage.disk.last as u64), Memory(usage.disk_total));
    let label = format!(
        "CPU in percent, {} at last and {} at most; memory, {} at last.",
        said(usage.cpu.last),
        said(usage.cpu.most),
        Memory(usage.memory.last as u64)
    );
    let (usage_has_gpus, gpus) = (!usage.gpus.is_empty(), gpus(usage, &ticks));
    html! {
        <Card heading="Last hour" flush=true>
            <div class=if usage_has_gpus { "body cols-2" } else { "body" }>
                <LineChart label=label lines=first scale=hundred() ticks=ticks/>
                {gpus}
            </div>
            <footer>{disk}</footer>
        </Card>
    }
}

/// Each in its own chart.
pub fn each(visit: &Visit, detail: &InstanceDetail, usage: &Usage) -> AnyView {
    let ticks = ticks(visit, usage);
    let card = |heading: &'static str, label: String, lines: Vec<ChartLine>, scale: [String; 3]| {
        let ticks = ticks.clone();
        view! { <Card heading=heading><LineChart label=label lines=lines scale=scale ticks=ticks/></Card> }
    };
    let (cpu, memory, disk) = (&usage.cpu, &usage.memory, &usage.disk);
    let mebibytes = |count: f64| Memory(count as u64).to_string();
    let (all, room) = (memory_of(detail, usage), usage.disk_total.max(1) as f64);
    let (received, sent) = &usage.network;
    let most = received.most.max(sent.most).max(1.0);
    let rate = |count: f64| format!("{}/s", bytes(count as u64));
    let cards = vec![
        card(
            "Processor",
            format!("CPU in percent, {} at last, {} at most", said(cpu.last), said(cpu.most)),
            vec![percent("s1", "CPU", cpu)],
            hundred(),
        ),
        card(
            "Memory",
            format!(
                "Memory, {} at last, {} at most, of {}",
                mebibytes(memory.last),
                mebibytes(memory.most),
                mebibytes(all)
            ),
            vec![share("s2", "Memory", memory, all, mebibytes)],
            scale(all, mebibytes),
        ),
        card(
            "Disk",
            format!("Disk, {} used of {}", mebibytes(disk.last), mebibytes(room)),
            vec![share("s3", "Used", disk, room, mebibytes)],
            scale(room, mebibytes),
        ),
        card(
            "Network",
            format!("Received {} at last, sent {} at last", rate(received.last), rate(sent.last)),
            vec![share("s1", "Received", received, most, rate), share("s6", "Sent", sent, most, rate)],
            scale(most, rate),
        ),
    ];
    let gpus = (!usage.gpus.is_empty()).then(|| {
        let chart = gpus(usage, &ticks);
        view! { <Card heading="GPU">{chart}</Card> }
    });
    html! { <div class="cols-2">{cards}{gpus}</div> }
}

fn gpus(usage: &Usage, ticks: &[String]) -> AnyView {
    if usage.gpus.is_empty() {
        return ().into_any();
    }
    let classes = ["s4", "s3", "s6", "s1"];
    let lines = usage
        .gpus
        .iter()
        .enumerate()
        .map(|(index, line)| percent(classes[index % classes.len()], &gpu_name(index, usage.gpus.len()), line))
        .collect();
    html! { <LineChart label="GPU use in percent" lines=lines scale=hundred() ticks=ticks.to_vec()/> }
}

fn gpu_name(index: usize, count: usize) -> String {
    if count == 1 { "GPU".into() } else { format!("GPU {index}") }
}

/// What its node may use: what it has, or what it used if that is more.
fn memory_of(detail: &InstanceDetail, usage: &Usage) -> f64 {
    (detail.view.shape().memory.max(1) as f64).max(usage.memory.most)
}

fn percent(class: &'static str, name: &str, line: &Series) -> ChartLine {
    share(class, name, line, 100.0, said)
}

fn share(class: &'static str, name: &str, line: &Series, all: f64, say: impl Fn(f64) -> String) -> ChartLine {
    let points = line.points.iter().map(|value| value / all).collect();
    ChartLine { class, name: name.to_owned(), last: say(line.last), points }
}

fn said(percent: f64) -> String {
    format!("{percent:.0} %")
}

fn hundred() -> [String; 3] {
    ["100 %", "50", "0"].map(str::to_owned)
}

fn scale(all: f64, say: impl Fn(f64) -> String) -> [String; 3] {
    [say(all), say(all / 2.0), "0".to_owned()]
}

fn ticks(visit: &Visit, usage: &Usage) -> Vec<String> {
    let zone = &visit.viewer.time_zone;
    let third =
        |thirds: i64| clock::time_of_day(Timestamp(usage.from.0 + (usage.to.0 - usage.from.0) * thirds / 3), zone);
    vec![third(0), third(1), third(2), "now".to_owned()]
}
