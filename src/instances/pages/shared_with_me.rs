//! What others share with the viewer: each with the way into it.

use atelier_domain::compute::instance::InstanceState;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::instances::commands::JUPYTER;
use atelier_studio::instances::sharing::SharedWithMe;
use leptos::prelude::*;

use crate::components::{Card, Icon, StateTag, StateWord, TableWrap, Time, Who};
use crate::frame::Visit;

/// The card; nothing where nothing is shared.
pub fn card(visit: &Visit, rows: &[SharedWithMe]) -> AnyView {
    if rows.is_empty() {
        return view! { <div data-live="shared"></div> }.into_any();
    }
    let note = counted(rows.len() as u64, "application", "applications");
    let rows: Vec<_> = rows.iter().map(|row| line(visit, row)).collect();
    view! {
        <div data-live="shared" data-every="5">
            <Card heading="Shared with you" note=note flush=true>
                <TableWrap>
                    <table class="table tight">
                        <caption class="sr">"Applications that others share with you"</caption>
                        <thead>
                            <tr>
                                <th scope="col">"Application"</th><th scope="col">"State"</th>
                                <th scope="col">"From"</th><th scope="col">"Until"</th><td></td>
                            </tr>
                        </thead>
                        <tbody>{rows}</tbody>
                    </table>
                </TableWrap>
            </Card>
        </div>
    }
    .into_any()
}

fn line(visit: &Visit, row: &SharedWithMe) -> AnyView {
    let slug = visit.slug();
    let (now, zone) = (visit.viewer.now, visit.viewer.time_zone.clone());
    let until = match row.until {
        Some(until) => view! { <Time at=until now=now zone=zone absolute=true/> }.into_any(),
        None => "no end".into_any(),
    };
    let is_up = matches!(row.state, InstanceState::Running | InstanceState::JobRunning);
    let (title, meaning) = (format!("{} of {}", row.label, row.name), row.level.meaning(&row.app));
    let next = if row.app == JUPYTER { "/lab" } else { "/" };
    let way = if is_up {
        let (href, label) = (paths::open_app(slug, &row.name, &row.app, next), format!("Open {title}"));
        view! {
            <span class="apps">
                <a class="app" href=href target="_blank" rel="noopener" aria-label=label>
                    <Icon name="external"/>
                    "Open"
                </a>
            </span>
        }
        .into_any()
    } else {
        view! { <span class="l2">{format!("{} starts it", row.owner.name)}</span> }.into_any()
    };
    let key = format!("{}-{}", row.instance, row.app);
    view! {
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
    .into_any()
}
