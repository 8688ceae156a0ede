//! The state of a thing: the word first, the shape second, the colour third.

use atelier_domain::account::AccountState;
use leptos::prelude::*;

use super::Glyph;

/// Every state that the portal shows, in one table with its word, shape and colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateWord {
    /// A person whose browser asked for something in the last minutes.
    Online,
    /// A person who is not here at the moment.
    Away,
    /// An account whose temporary password has not been replaced yet.
    Waiting,
    /// An account that nobody can sign in with.
    Disabled,
    /// The session that asks.
    ThisSession,
    /// Another session that is alive.
    Active,
}

impl StateWord {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Online, Self::Away, Self::Waiting, Self::Disabled, Self::ThisSession, Self::Active];

    /// The state of a person in a list of people.
    pub const fn of_person(state: AccountState, is_online: bool) -> Self {
        match (state, is_online) {
            (AccountState::Disabled, _) => Self::Disabled,
            (AccountState::Waiting, _) => Self::Waiting,
            (AccountState::Active, true) => Self::Online,
            (AccountState::Active, false) => Self::Away,
        }
    }

    /// The word for people.
    pub const fn word(self) -> &'static str {
        self.row().0
    }

    /// The word, the glyph and the value of `data-state`, which chooses the colour.
    const fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Online => ("Online", "running", "online"),
            Self::Away => ("Away", "idle", "away"),
            Self::Waiting => ("Waiting for first sign-in", "queued", "queued"),
            Self::Disabled => ("Disabled", "denied", "disabled"),
            Self::ThisSession => ("This session", "running", "online"),
            Self::Active => ("Active", "idle", "away"),
        }
    }
}

/// A state with its glyph, and the reason under it.
#[component]
pub fn StateTag(
    /// The state.
    state: StateWord,
    /// As a pill, for headings.
    #[prop(optional)]
    pill: bool,
    /// Why it is so, in small type under the word.
    #[prop(optional, into)]
    reason: String,
) -> AnyView {
    let (word, glyph, colour) = state.row();
    let class = if pill { "state pill" } else { "state" };
    let reason = (!reason.is_empty()).then(|| view! { <span class="l2">{reason}</span> });
    view! { <span class=class data-state=colour><Glyph name=glyph/>{word}</span>{reason} }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn no_two_states_look_the_same_and_say_the_same() {
        for (index, state) in StateWord::ALL.iter().enumerate() {
            for other in &StateWord::ALL[index + 1..] {
                assert_ne!(state.word(), other.word());
            }
        }
    }

    #[test]
    fn the_word_the_shape_and_the_reason_are_there() {
        let tag = html(|| view! { <StateTag state=StateWord::Disabled reason="By Ines, <14:02>"/> });
        assert!(tag.contains(r#"data-state="disabled""#), "{tag}");
        assert!(tag.contains("#g-denied"), "{tag}");
        assert!(tag.contains("Disabled"), "{tag}");
        assert!(tag.contains("By Ines, &lt;14:02&gt;"), "{tag}");
        let pill = html(|| view! { <StateTag state=StateWord::Online pill=true/> });
        assert!(pill.contains(r#"class="state pill""#) && !pill.contains("l2"), "{pill}");
    }

    #[test]
    fn an_account_that_cannot_sign_in_is_never_shown_as_online() {
        assert_eq!(StateWord::of_person(AccountState::Disabled, true), StateWord::Disabled);
        assert_eq!(StateWord::of_person(AccountState::Waiting, true), StateWord::Waiting);
        assert_eq!(StateWord::of_person(AccountState::Active, true), StateWord::Online);
        assert_eq!(StateWord::of_person(AccountState::Active, false), StateWord::Away);
    }
}
