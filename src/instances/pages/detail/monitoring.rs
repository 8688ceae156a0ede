//! Charts of the last hour, and the largest processes.

use atelier_domain::compute::resources::Memory;
use atelier_studio::instances::detail::InstanceDetail;
use atelier_studio::instances::usage::Usage;
use leptos::prelude::*;

use crate::clusters::pages::nodes::agent;
use crate::components::{Card, Table, heads};
use crate::frame::Visit;
use crate::instances::pages::detail::charts;

pub fn tab(visit: &Visit, detail: &InstanceDetail, usage: Option<&Usage>) -> AnyView {
    let used = match usage {
        Some(usage) => charts::each(visit, detail, usage),
        None => charts::card(visit, detail, None),
    };
    let (processes, agent) = (processes(detail), agent(detail.agent.as_ref()));
    html! {
        <div data-live="used" data-every="5">{used}</div>
        <div data-live="processes">{processes}</div>
        <Card heading="Agent"><div data-live="agent">{agent}</div></Card>
    }
}

fn processes(detail: &InstanceDetail) -> AnyView {
    if !detail.sees_inside {
        let words = format!("What runs in it is for {} and for who may operate it.", detail.view.owner_name);
        return html! { <Card heading="Processes"><p class="muted">{words}</p></Card> };
    }
    if detail.processes.is_empty() {
        let words = if detail.view.instance.node.is_some() { "None were told of yet." } else { "It is off." };
        return html! { <Card heading="Processes"><p class="muted">{words}</p></Card> };
    }
    let rows: Vec<_> = detail
        .processes
        .iter()
        .map(|process| {
            let cpu = format!("{} %", process.cores / 10);
            view! {
                <tr data-key=process.pid.to_string()>
                    <th scope="row">{process.name.clone()}</th>
                    <td class="right num">{process.pid}</td>
                    <td class="right num">{cpu}</td>
                    <td class="right num nowrap">{Memory(process.memory).to_string()}</td>
                </tr>
            }
        })
        .collect();
    html! {
        <Card heading="Processes" note="the largest, as of the last report" flush=true>
            <Table
                class="table tight" caption="The largest processes" rows=rows
                head=heads(&[("Process", ""), ("Number", "right"), ("CPU, of a core", "right"), ("Memory", "right")])
            />
        </Card>
    }
}
