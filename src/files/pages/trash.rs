//! What was deleted, and the way back.

use atelier_domain::access::Action;
use atelier_domain::files::bytes;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_files::Deleted;
use leptos::prelude::*;

use crate::components::{
    Crumb, EmptyState, Icon, LinkButton, Look, NavItem, Page, Pager, PostForm, SubmitButton, Table, ago, heads,
};
use crate::files::pages::parts::icon;
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// So many rows are shown; the others follow when these are gone.
const MOST: usize = 500;

/// The caller's own trash.
#[component]
pub fn TrashPage() -> impl IntoView {
    studio(Place::of(NavItem::Files, Action::FileRead, &[]), |visit| {
        load(visit.viewer.clone(), async { atelier_studio::files::list::trash(&here()?).await }, move |trash| {
            show(&visit, &trash)
        })
    })
}

fn show(visit: &Visit, trash: &[Deleted]) -> AnyView {
    let slug = visit.slug();
    let crumbs = vec![Crumb::new("Files", paths::files(slug, ""))];
    let empty = format!("{}/empty", paths::trash(slug));
    let actions = (!trash.is_empty()).then(|| {
        html! {
            <LinkButton href=empty look=Look::DangerQuiet icon="trash" dialog=true>"Empty the trash"</LinkButton>
        }
    });
    let size = bytes(trash.iter().map(|one| one.size).sum());
    let content = if trash.is_empty() {
        let text = "What you delete in Files comes here and can be brought back for 30 days.";
        html! { <EmptyState heading="Nothing is in your trash" text=text/> }
    } else {
        let rows: Vec<_> = trash.iter().take(MOST).map(|one| row(visit, one)).collect();
        let text = format!("{}, {size}", counted(trash.len() as u64, "thing", "things"));
        html! {
            <Table
                class="table tight" caption="What you deleted" rows=rows
                head=heads(&[("Where it was", ""), ("Size", "right"), ("Deleted", "right"), ("", "")])
            >
                <Pager text=text back=None next=None/>
            </Table>
        }
    };
    html! {
        <Page
            heading="Trash" crumbs=crumbs actions=actions
            sub="What you deleted in Files. It counts as used until it is gone; after 30 days it goes by itself."
        >
            {content}
        </Page>
    }
}

fn row(visit: &Visit, one: &Deleted) -> AnyView {
    let at = atelier_domain::Timestamp(one.at);
    let (path, size) = (one.path.to_string(), bytes(one.size));
    let hidden = vec![("ids[]", one.id.clone())];
    let label = format!("Bring back {path}");
    html! {
        <tr data-key=one.id.clone()>
            <th scope="row">
                <span class="file"><Icon name=icon(one.kind, &one.path) class="i-s"/><span>{path}</span></span>
            </th>
            <td class="right nowrap">{size}</td>
            <td class="right">{ago(&visit.viewer, at)}</td>
            <td class="right">
                <PostForm function="restore_files" hidden=hidden class="row-tight">
                    <SubmitButton look=Look::Plain small=true icon="restart" label=label>"Bring back"</SubmitButton>
                </PostForm>
            </td>
        </tr>
    }
}
