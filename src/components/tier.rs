//! Whether nodes may be taken back: as a tag, and as a choice.

use atelier_domain::compute::size::Tier;
use atelier_studio::clusters::commands::said_tier;
use leptos::prelude::*;

use super::{Choice, ChoiceKind, ChoiceList};

/// Marks preemptible computes.
pub fn tier_tag(tier: Tier) -> Option<AnyView> {
    (!tier.is_dedicated()).then(|| html! { <span class="tag accent" title=said_tier(tier)>"Preemptible"</span> })
}

/// The choice between the tiers, with what they mean.
pub fn tier_choice(chosen: &str, problem: Option<String>) -> AnyView {
    let choices = Tier::ALL
        .into_iter()
        .map(|tier| Choice {
            value: tier.key().to_owned(),
            label: match tier {
                Tier::Dedicated => "Dedicated".to_owned(),
                Tier::Preemptible => "Preemptible".to_owned(),
            },
            help: said_tier(tier).to_owned(),
            ticked: tier.key() == chosen,
            fixed_because: None,
        })
        .collect::<Vec<_>>();
    html! {
        <ChoiceList
            legend="Tier" name="tier" kind=ChoiceKind::One choices=choices problem=problem
            help="Both cost the price of the size, while they have nodes."
        />
    }
}
