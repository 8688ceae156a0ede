//! Search over everything that the viewer may see.

use atelier_domain::access::Action;
use atelier_domain::error::AppError;
use atelier_domain::paths;
use atelier_domain::portal::PAGES;
use atelier_domain::text::search_text;
use atelier_engine::store::PeopleFilter;

use crate::caller::Caller;

/// One thing found.
#[derive(Clone, Debug)]
pub struct Hit {
    pub href: String,
    pub icon: &'static str,
    pub title: String,
    pub detail: String,
}

/// What was found, by kind: `("Pages", …)`, `("People", …)`. Only what the viewer may see.
pub async fn search(caller: &Caller, q: &str) -> Result<Vec<(&'static str, Vec<Hit>)>, AppError> {
    let actor = caller.authorise(Action::WorkspaceRead).await?;
    let words = search_text(q).to_lowercase();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let slug = actor.workspace.slug.as_str();
    let rights = actor.person.rights();
    let pages = PAGES.iter().filter(|page| page.is_for(&rights) && page.is_about(&words)).map(|page| Hit {
        href: (page.href)(slug),
        icon: page.icon,
        title: page.name.to_owned(),
        detail: page.words.to_owned(),
    });
    let mut found = vec![("Pages", pages.collect::<Vec<Hit>>())];
    if rights.may_at_all(Action::MemberRead) {
        let filter = PeopleFilter { part: words, limit: 10, ..PeopleFilter::default() };
        let people = caller.checked(caller.store().list_people(&actor.workspace.id, &filter).await)?;
        let hits = people.into_iter().map(|person| Hit {
            href: paths::person(slug, person.id.as_str()),
            icon: "user",
            title: person.name,
            detail: person.email,
        });
        found.push(("People", hits.collect()));
    }
    found.retain(|(_, hits)| !hits.is_empty());
    Ok(found)
}
