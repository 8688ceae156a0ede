//! The editor, and the way back if the file changed in the meantime.

use atelier_domain::access::Action;
use atelier_domain::paths;
use atelier_studio::files::list::EditorPage;
use leptos::prelude::*;

use crate::components::{Card, Crumb, Field, LinkButton, Look, NavItem, Page, SaveRow, TextField, Tone, Why};
use crate::files::http::save;
use crate::files::pages::parts::crumbs;
use crate::form::FormState;
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;
use crate::server::page;

#[component]
pub fn EditFilePage() -> impl IntoView {
    studio(Place::own(NavItem::Files, Action::FileWrite, &[]), |visit| {
        let path = page::query("path").unwrap_or_default();
        load(
            visit.viewer.clone(),
            async move { atelier_studio::files::list::editor(&here()?, path).await },
            move |editor| edit(&visit, editor),
        )
    })
}

fn edit(visit: &Visit, editor: EditorPage) -> AnyView {
    let slug = visit.slug();
    let state = visit.form(save::FORM);
    let path = editor.path.as_str().to_owned();
    let back = paths::file_page(slug, "view", &path);
    let mut crumbs = crumbs(slug, &editor.path);
    crumbs.push(Crumb::new(editor.path.name(), back.clone()));
    let refusal = refusal(&state);
    // After a refusal the form is still about the version that was looked at first.
    let version = state.value("version", &editor.version);
    let crlf =
        state.is_ticked("crlf", "on", editor.has_crlf).then(|| view! { <input type="hidden" name="crlf" value="on"/> });
    let help = format!("{}. If somebody changes the file meanwhile, both versions are kept.", editor.language);
    let (action, name) = (paths::file_save(slug), editor.path.name().to_owned());
    html! {
        <Page heading=format!("Edit {}", editor.path.name()) crumbs=crumbs>
            <form method="post" action=action class="stack editor" data-post="save_file" data-colours=name>
                <input type="hidden" name="path" value=path/>
                <input type="hidden" name="version" value=version/>
                {crlf}
                {refusal}
                <TextField form=&state label="Text" name="text" value=editor.text rows=24 help=help code=true/>
                <SaveRow label="Save" look=Look::Primary>
                    <LinkButton href=back look=Look::Ghost>"Cancel"</LinkButton>
                </SaveRow>
            </form>
        </Page>
    }
}

fn refusal(state: &FormState) -> Option<impl IntoView + use<>> {
    state.refusal().map(|reason| {
        view! {
            <Why tone=Tone::Failed title="This was not saved; what you typed is still below" text=reason alert=true/>
        }
    })
}

/// Makes a file with a text in it.
#[component]
pub fn NewFilePage() -> impl IntoView {
    studio(Place::own(NavItem::Files, Action::FileWrite, &[]), |visit| {
        let path = page::query("path").unwrap_or_default();
        load(
            visit.viewer.clone(),
            async move { atelier_studio::files::list::place_for_new(&here()?, path).await },
            move |folder| {
                let slug = visit.slug();
                let state = visit.form(save::FORM);
                let back = paths::files(slug, folder.as_str());
                let mut crumbs = crumbs(slug, &folder);
                crumbs.push(Crumb::new(if folder.is_top() { "Files" } else { folder.name() }, back.clone()));
                let refusal = refusal(&state);
                let (action, path) = (paths::file_save(slug), folder.as_str().to_owned());
                html! {
                    <Page heading="New file" crumbs=crumbs>
                        <Card>
                            <form
                                method="post" action=action class="stack editor" data-post="save_file" data-colours=""
                            >
                                <input type="hidden" name="path" value=path/>
                                {refusal}
                                <Field
                                    form=&state label="Name" name="name" required=true autofocus=true
                                    autocomplete="off" placeholder="train.py"
                                />
                                <TextField form=&state label="Text" name="text" rows=18 code=true/>
                                <SaveRow label="Make file" look=Look::Primary>
                                    <LinkButton href=back look=Look::Ghost>"Cancel"</LinkButton>
                                </SaveRow>
                            </form>
                        </Card>
                    </Page>
                }
            },
        )
    })
}
