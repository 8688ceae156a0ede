//! The card that says how far the tokens of an instance, or of a cluster's jobs, reach.

use atelier_domain::workload::Scope;
use leptos::prelude::*;

use crate::components::{Card, Look, PostForm, SubmitButton};

#[component]
pub fn TokenScopeCard(
    /// What the compute is called.
    name: String,
    /// Whose tokens: `This instance’s token`.
    whose: &'static str,
    scope: Scope,
    /// Whether the viewer owns the compute, so that they can change it.
    is_own: bool,
    /// Why the last change was refused.
    refusal: Option<String>,
) -> AnyView {
    let refusal = refusal.map(|reason| view! { <p class="err" role="alert">{reason}</p> });
    let (reaches, next, word) = match scope {
        Scope::Own => ("changes only what its owner owns.", Scope::All, "Allow everything the owner may change"),
        Scope::All => ("changes everything that its owner may change.", Scope::Own, "Limit to the owner’s own things"),
    };
    let words = format!("{whose} {reaches} It never manages people, shares or passwords.");
    let switch = is_own.then(|| {
        let hidden = vec![("compute", name), ("scope", next.key().to_owned())];
        view! {
            <PostForm function="set_token_scope" hidden=hidden>
                <SubmitButton look=Look::Plain small=true pending="Saving…">{word}</SubmitButton>
            </PostForm>
        }
    });
    html! {
        <Card heading="Token scope" note=scope.key()>
            <div class="stack-s">{refusal}<p class="muted">{words}</p>{switch}</div>
        </Card>
    }
}
