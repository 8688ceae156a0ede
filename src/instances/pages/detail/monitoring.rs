//! Charts of the last hour, and the largest processes.

use atelier_domain::compute::resources::Memory;
use atelier_studio::instances::detail::InstanceDetail;
use atelier_studio::instances::usage::Usage;
use leptos::prelude::*;

use crate::clusters::pages::nodes::agent;
use crate::components::{Card, TableWrap};
use crate::frame::Visit;
use crate::instances::pages::detail::charts;

pub fn tab(visit: &Visit, detail: &InstanceDetail, usage: Option<&Usage>) -> AnyView {
    let used = match usage {
        Some(usage) => charts::each(visit, detail, usage),
        None => charts::card(visit, detail, None),
    };
    let (processes, agent) = (processes(detail), agent(detail.agent.as_ref()));
    view! {
        <div data-live="used" data-every="5">{used}</div>
        <div data-live="processes">{processes}</div>
        <Card heading="Agent"><div data-live="agent">{agent}</div></Card>
    }
    .into_any()
}

fn processes(detail: &InstanceDetail) -> AnyView {
    if !detail.sees_inside {
        let words = format!("What runs in it is for {} and for who may operate it.", detail.view.owner_name);
        return view! { <Card heading="Processes"><p class="muted">{words}</p></Card> }.into_any();
    }
    if detail.processes.is_empty() {
        let words = if detail.view.instance.node.is_some() { "None were told of yet." } else { "It is off." };
        return view! { <Card heading="Processes"><p class="muted">{words}</p></Card> }.into_any();
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
    view! {
        <Card heading="Processes" note="the largest, as of the last report" flush=true>
            <TableWrap>
                <table class="table tight">
                    <caption class="sr">"The largest processes"</caption>
                    <thead>
                        <tr>
                            <th scope="col">"Process"</th>
                            <th scope="col" class="right">"Number"</th>
                            <th scope="col" class="right">"CPU, of a core"</th>
                            <th scope="col" class="right">"Memory"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </TableWrap>
        </Card>
    }
    .into_any()
}
