//! What others share with the viewer: each with the way into it.

use atelier_domain::compute::instance::InstanceState;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::instances::commands::JUPYTER;
use atelier_studio::instances::sharing::SharedWithMe;
use leptos::prelude::*;

use crate::components::{Card, Icon, StateTag, StateWord, Table, Who, at_time, heads};
use crate::frame::Visit;

/// The card; nothing where nothing is shared.
pub fn card(visit: &Visit, rows: &[SharedWithMe]) -> AnyView {
    if rows.is_empty() {
        return html! { <div data-live="shared"></div> };
    }
    let note = counted(rows.len() as u64, "application", "applications");
    let rows: Vec<_> = rows.iter().map(|row| line(visit, row)).collect();
    html! {
        <div data-live="shared" data-every="5">
            <Card heading="Shared with you" note=note flush=true>
                <Table
                    class="table tight" caption="Applications that others share with you" rows=rows
                    head=heads(&[("Application", ""), ("State", ""), ("From", ""), ("Until", ""), ("", "")])
                />
            </Card>
        </div>
    }
}

fn line(visit: &Visit, row: &SharedWithMe) -> AnyView {
    let slug = visit.slug();
    let until = match row.until {
        Some(until) => at_time(&visit.viewer, until),
        None => "no end".into_any(),
    };
    let is_up = matches!(row.state, InstanceState::Running | InstanceState::JobRunning);
    let (title, meaning) = (format!("{} of {}", row.label, row.name), row.level.meaning(&row.app));
    let next = if row.app == JUPYTER { "/lab" } else { "/" };
    let way = if is_up {
        let (href, label) = (paths::open_app(slug, &row.name, &row.app, next), format!("Open {title}"));
        html! {
            <span class="apps">
                <a class="app" href=href target="_blank" rel="noopener" aria-label=label>
                    <Icon name="external"/>
                    "Open"
                </a>
            </span>
        }
    } else {
        html! { <span class="l2">{format!("{} starts it", row.owner.name)}</span> }
    };
    let key = format!("{}-{}", row.instance, row.app);
    html! {
        <tr data-key=key>
            <th scope="row">
                <span class="name">{title}</span>
                <span class="l2">{row.level.label()}": "{meaning}</span>
            </th>
            <td data-label="State"><StateTag state=StateWord::of_instance(row.state)/></td>
            <td data-label="From"><Who name=row.owner.name.clone()/></td>
            <td data-label="Until">{until}</td>
            <td class="right">{way}</td>
        </tr>
    }
}
