//! Questions: a new name or place, and before something goes.

use atelier_domain::access::Action;
use atelier_domain::files::{FilePath, bytes};
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_files::{Entry, Kind};
use leptos::prelude::*;

use crate::components::{
    Card, ConfirmCard, Consequence, Crumb, Field, LinkButton, Look, NavItem, NothingToDo, Page, PostForm, SubmitButton,
    Tone,
};
use crate::files::pages::parts::crumbs;
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;
use crate::server::page;

const PLACE: Place = Place::own(NavItem::Files, Action::FileWrite, &[]);

/// What was chosen, each with whether it can be done.
type Chosen = Vec<(FilePath, Entry, Result<(), String>)>;

/// Asks for another name or place.
#[component]
pub fn MoveFilePage() -> impl IntoView {
    studio(PLACE, |visit| {
        let path = page::query("path").unwrap_or_default();
        load(
            visit.viewer.clone(),
            async move { atelier_studio::files::list::chosen(&here()?, vec![path]).await },
            move |chosen| rename(&visit, chosen),
        )
    })
}

fn rename(visit: &Visit, chosen: Chosen) -> AnyView {
    let slug = visit.slug();
    let Some((path, _, judged)) = chosen.into_iter().next() else { return ().into_any() };
    let crumbs = crumbs(slug, &path);
    let folder = path.parent().unwrap_or_default();
    let back = paths::files(slug, folder.as_str());
    let state = visit.form("move_file");
    let refusal = judged.err();
    let heading = if path.is_top() { "Rename or move".to_owned() } else { format!("Rename or move {}", path.name()) };
    let (name, place) = (state.value("name", path.name()), state.value("folder", folder.as_str()));
    html! {
        <Page heading=heading crumbs=crumbs>
            <Card>
                <PostForm function="move_file" state=state.clone() hidden=vec![("path", path.as_str().to_owned())]>
                    <Field
                        form=&state label="Name" name="name" value=name required=true autofocus=true autocomplete="off"
                    />
                    <Field
                        form=&state label="Folder" name="folder" value=place autocomplete="off"
                        help="A path such as Users/ines/data; empty for the top. Nothing is ever replaced."
                    />
                    <div class="row">
                        <SubmitButton icon="check" disabled_because=refusal>"Rename or move"</SubmitButton>
                        <LinkButton href=back look=Look::Ghost>"Cancel"</LinkButton>
                    </div>
                </PostForm>
            </Card>
        </Page>
    }
}

/// Asks before something is moved to the trash.
#[component]
pub fn DeleteFilesPage() -> impl IntoView {
    studio(PLACE, |visit| {
        let ids = page::query_all("id");
        load(
            visit.viewer.clone(),
            async move { atelier_studio::files::list::chosen(&here()?, ids).await },
            move |chosen| delete(&visit, chosen),
        )
    })
}

fn delete(visit: &Visit, chosen: Chosen) -> AnyView {
    let slug = visit.slug();
    let folder = chosen.first().and_then(|(path, ..)| path.parent()).unwrap_or_default();
    let back = paths::files(slug, folder.as_str());
    let crumbs = vec![Crumb::new("Files", paths::files(slug, "")), Crumb::new(folder.to_string(), back.clone())];
    let going: Vec<&FilePath> = chosen.iter().filter(|(.., judged)| judged.is_ok()).map(|(path, ..)| path).collect();
    let content = if going.is_empty() {
        let text = chosen
            .iter()
            .find_map(|(.., judged)| judged.clone().err())
            .unwrap_or_else(|| "Tick the files in the list first.".into());
        html! { <NothingToDo title="Nothing can be deleted" text=text back=back/> }
    } else {
        let title = match going.as_slice() {
            [only] => format!("Delete {}?", only.name()),
            many => format!("Delete {}?", counted(many.len() as u64, "thing", "things")),
        };
        let hidden = going.iter().map(|path| ("ids[]", path.as_str().to_owned())).collect();
        let go = if going.len() == 1 { "Delete it".to_owned() } else { format!("Delete {}", going.len()) };
        html! {
            <ConfirmCard
                title=title
                text="It goes to your trash and can be brought back for 30 days, unless you empty the trash before."
                rows=consequences(&chosen) function="delete_files" hidden=hidden state=visit.form("delete_files")
                asks_why=false keep="Keep it" back=back go=go icon="trash"
            />
        }
    };
    html! { <Page heading="Delete files" crumbs=crumbs>{content}</Page> }
}

fn consequences(chosen: &Chosen) -> Vec<Consequence> {
    let one = |(path, entry, judged): &(FilePath, Entry, Result<(), String>)| {
        let (outcome, tone) = match (judged, entry.kind) {
            (Err(why), _) => (why.clone(), Tone::Neutral),
            (Ok(()), Kind::Folder) => ("goes to the trash with all that is in it".to_owned(), Tone::Warning),
            (Ok(()), _) => ("goes to the trash".to_owned(), Tone::Warning),
        };
        let note = match (judged, entry.kind) {
            (Err(_), _) => "no change".to_owned(),
            (_, Kind::File) => bytes(entry.size),
            _ => String::new(),
        };
        Consequence { name: path.to_string(), outcome, tone, note }
    };
    chosen.iter().take(50).map(one).collect()
}

/// Asks before the trash is emptied.
#[component]
pub fn EmptyTrashPage() -> impl IntoView {
    studio(PLACE, |visit| {
        load(visit.viewer.clone(), async { atelier_studio::files::list::trash(&here()?).await }, move |trash| {
            let slug = visit.slug();
            let back = paths::trash(slug);
            let crumbs = vec![Crumb::new("Files", paths::files(slug, "")), Crumb::new("Trash", back.clone())];
            let size = bytes(trash.iter().map(|one| one.size).sum());
            let title = format!("Remove {} for good?", counted(trash.len() as u64, "thing", "things"));
            let text = format!("{size} become free. This cannot be taken back.");
            let because = trash.is_empty().then(|| "The trash is empty.".to_owned());
            html! {
                <Page heading="Empty the trash" crumbs=crumbs>
                    <ConfirmCard
                        title=title text=text function="empty_trash" state=visit.form("empty_trash") asks_why=false
                        keep="Keep them" back=back go="Remove for good" icon="trash" disabled_because=because
                    />
                </Page>
            }
        })
    })
}
