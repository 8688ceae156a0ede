//! The first tab: what it used, how it started, why it is awake, what happened, and its facts.

use atelier_domain::paths;
use atelier_studio::instances::detail::{Decided, InstanceDetail};
use atelier_studio::instances::ssh::SshView;
use atelier_studio::instances::usage::Usage;
use atelier_studio::token_scope::TokenScope;
use leptos::prelude::*;

use crate::components::{Card, CodeBlock, Def, DefList, TokenScopeCard, ago};
use crate::frame::Visit;
use crate::instances::pages::detail::scripts::Texts;
use crate::instances::pages::detail::{awake, charts, history, scripts, ssh, waterfall};

pub const DECISIONS: i64 = 8;

pub struct Content {
    pub usage: Option<Usage>,
    pub decided: Decided,
    /// Its scripts, for who may read them.
    pub scripts: Texts,
    /// How it stands to SSH, for its owner.
    pub ssh: Option<SshView>,
    /// How far its token reaches.
    pub tokens: TokenScope,
    pub server: String,
}

pub fn tab(visit: &Visit, detail: &InstanceDetail, content: &Content) -> AnyView {
    let used = charts::card(visit, detail, content.usage.as_ref());
    let (start, awake, facts) =
        (waterfall::card(visit, detail.view.start().as_ref()), awake::card(detail), facts(visit, detail));
    let happened = happened(visit, detail, &content.decided);
    let ssh = ssh::card(visit, detail, content.ssh.as_ref());
    let tokens = &content.tokens;
    let refusal = visit.form("set_token_scope").refusal();
    let tokens = view! {
        <TokenScopeCard
            name=tokens.name.clone() whose="This instance’s token" scope=tokens.scope is_own=tokens.is_own
            refusal=refusal
        />
    };
    let accept = scripts::card_to_accept(visit, detail, &content.scripts);
    let command =
        format!("curl -H \"Authorization: Bearer $TOKEN\" {}/api/v1/instances/{}", content.server, detail.view.name);
    html! {
        <div class="split">
            <div class="stack">
                {accept}
                <div data-live="used" data-every="5">{used}</div>
                <div data-live="start">{start}</div>
                <div data-live="happened">{happened}</div>
            </div>
            <aside class="stack">
                <div data-live="awake">{awake}</div>
                <div data-live="facts">{facts}</div>
                <div data-live="ssh">{ssh}</div>
                <div data-live="token-scope">{tokens}</div>
                <CodeBlock text=command label="REST"/>
            </aside>
        </div>
    }
}

fn happened(visit: &Visit, detail: &InstanceDetail, decided: &Decided) -> AnyView {
    let all = paths::instance_tab(visit.slug(), &detail.view.name, "history");
    let all = html! { <a class="xs" href=all>"All of it"</a> };
    let content = if decided.lines.is_empty() {
        html! { <p class="muted">"Nothing has happened yet."</p> }
    } else {
        history::list(visit, decided)
    };
    html! { <Card heading="What happened" action=all>{content}</Card> }
}

/// Its tags; none if it has none.
pub fn tags(detail: &InstanceDetail) -> Option<AnyView> {
    let said = detail.view.instance.tags.said();
    let tags: Vec<_> = said.into_iter().map(|tag| view! { <span class="tag">{tag}</span> }).collect();
    (!tags.is_empty()).then(|| html! { <span class="row-tight tags">{tags}</span> })
}

fn facts(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let (slug, name) = (visit.slug(), &detail.view.name);
    let schedules: Vec<_> = detail
        .schedules
        .iter()
        .map(|(id, sentence)| view! { <li data-key=id.to_string()>{sentence.clone()}</li> })
        .collect();
    let schedules = if schedules.is_empty() {
        html! { "None" }
    } else {
        html! { <ul class="list">{schedules}</ul> }
    };
    let idle = match &detail.watched.policy {
        Some(policy) if detail.watched.is_by_policy => format!("{}, as an administrator demands", policy.window),
        Some(policy) => policy.window.to_string(),
        None => "none".to_owned(),
    };
    let tags = tags(detail).map(|tags| view! { <Def term="Tags">{tags}</Def> });
    let instance = &detail.view.instance;
    let is_by_owner = *instance.creator() == instance.owner;
    let by = if is_by_owner { String::new() } else { format!(" by {}", instance.creator_name) };
    let quota = if instance.keeps_quota { "kept while stopped" } else { "given back when it stops" };
    let scripts = scripts::summary(detail);
    let site = detail.site.clone();
    let site = (!site.is_empty()).then(|| view! { <Def term="Site">{site}</Def> });
    let (edit, plan) = (paths::instance_tab(slug, name, "settings"), paths::instance_schedules(slug, name));
    let edit = html! { <a class="xs" href=edit>"Settings"</a> };
    let (operation, created) = (detail.operation(&visit.viewer.time_zone), ago(&visit.viewer, instance.created));
    html! {
        <Card heading="Details" action=edit>
            <DefList>
                <Def term="Last operation">{operation}</Def>
                <Def term="Schedules"><a href=plan>{schedules}</a></Def>
                <Def term="Idle shutdown">{idle}</Def>
                <Def term="Quota">{quota}</Def>
                <Def term="Scripts">{scripts}</Def>
                {site}
                <Def term="Created">{created}{by}</Def>
                {tags}
            </DefList>
        </Card>
    }
}
