//! Many nodes at a glance: a small square each, told apart by fill, shape and word.

use atelier_domain::compute::node::NodeState;
use leptos::prelude::*;

use crate::components::icon::Glyph;
use crate::components::state::StateWord;

/// More squares than this are small and without their number.
const WIDE: usize = 16;

#[derive(Clone, Debug)]
pub struct NodeSquare {
    /// The number that is shown: `12`.
    pub number: String,
    /// What it is, for who hovers or listens: `node-12: running, fusion-ablation-5`.
    pub label: String,
    pub state: NodeState,
    /// Where it leads, such as `#node-12`.
    pub href: String,
}

/// The map, with a place for each node that there is room for but that does not exist.
#[component]
pub fn NodeMap(
    /// What it shows, for assistive technology.
    #[prop(into)]
    label: String,
    nodes: Vec<NodeSquare>,
    /// How many more there may be; at most a row of them is drawn.
    #[prop(optional)]
    empty: u64,
) -> AnyView {
    let is_wide = nodes.len() as u64 + empty <= WIDE as u64;
    let class = if is_wide { "nodemap wide" } else { "nodemap" };
    let squares: Vec<_> = nodes
        .into_iter()
        .map(|node| {
            let (glyph, colour) = StateWord::of_node(node.state).drawn();
            let inside = match node.state {
                NodeState::Unusable | NodeState::Preempted => html! { <Glyph name=glyph/> },
                _ if is_wide || node.number.len() < 4 => node.number.into_any(),
                _ => ().into_any(),
            };
            view! {
                <li data-key=node.href.clone()>
                    <a
                        class="node" href=node.href.clone() data-state=colour aria-label=node.label.clone()
                        title=node.label
                    >
                        {inside}
                    </a>
                </li>
            }
        })
        .collect();
    let room: Vec<_> = (0..empty.min(if is_wide { WIDE as u64 } else { 0 }))
        .map(|_| view! { <li aria-hidden="true"><span class="node" data-state="empty"></span></li> })
        .collect();
    html! { <ul class=class aria-label=label>{squares}{room}</ul> }
}

/// What the squares mean, with how many there are of each.
#[component]
pub fn NodeLegend(
    /// State and count, in order; what there is none of is left out.
    counts: Vec<(NodeState, u64)>,
    /// How many there may be beside.
    #[prop(optional)]
    empty: u64,
) -> AnyView {
    let entries: Vec<_> = counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| {
            let word = StateWord::of_node(state);
            let (glyph, colour) = word.drawn();
            let inside =
                matches!(state, NodeState::Unusable | NodeState::Preempted).then(|| view! { <Glyph name=glyph/> });
            view! { <li><span class="node sm" data-state=colour>{inside}</span>{word.word()}" "<b>{count}</b></li> }
        })
        .collect();
    let empty = (empty > 0).then(|| {
        view! { <li><span class="node sm" data-state="empty"></span>"Not made "<b>{empty}</b></li> }
    });
    html! { <ul class="legend push">{entries}{empty}</ul> }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn every_square_says_what_it_is() {
        let map = html(|| {
            let square = |number: &str, state| NodeSquare {
                number: number.into(),
                label: format!("node-{number}: <b>"),
                state,
                href: format!("#node-{number}"),
            };
            let nodes = vec![square("1", NodeState::Running), square("2", NodeState::Unusable)];
            view! { <NodeMap label="Nodes of train" nodes=nodes empty=2/> }
        });
        assert!(map.contains(r#"aria-label="node-1: &lt;b&gt;""#) && map.contains(r#"class="nodemap wide""#), "{map}");
        assert!(map.contains("#g-failed") && map.matches(r#"data-state="empty""#).count() == 2, "{map}");
    }
}
