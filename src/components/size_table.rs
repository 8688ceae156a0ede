//! A choice of size: many lines with numbers, one of which is taken.

use atelier_domain::compute::resources::{Cores, Memory};
use atelier_studio::sizes::row::{QuotaLeft, SizeRow};
use leptos::prelude::*;

use crate::components::field::problem_line;
use crate::components::table::heads;

/// The table of sizes with a radio button each.
#[component]
pub fn SizeTable(
    #[prop(default = "Size")] legend: &'static str,
    /// The name under which the choice is sent.
    #[prop(default = "size")]
    name: &'static str,
    rows: Vec<SizeRow>,
    #[prop(optional, into)] chosen: String,
    /// A first line for no choice, with its explanation: "The smallest that fits".
    #[prop(optional, into)]
    otherwise: Option<String>,
    /// Whether the person's own quota counts too, as for serverless jobs.
    #[prop(optional)]
    for_oneself: bool,
    #[prop(optional_no_strip)] problem: Option<String>,
) -> AnyView {
    let problem_id = format!("f-{name}-problem");
    let described = problem.is_some().then(|| problem_id.clone());
    let problem = problem_line(&problem_id, problem);
    let none = otherwise.map(|words| {
        let ticked = chosen.is_empty();
        view! {
            <tr>
                <th scope="row" colspan="7">
                    <label class="size-pick">
                        <input type="radio" name=name value="" checked=ticked/>
                        <span>{words}</span>
                    </label>
                </th>
            </tr>
        }
    });
    let rows: Vec<_> = rows
        .into_iter()
        .map(|size| {
            let ticked = size.name == chosen;
            let quota = quota(&size, for_oneself);
            let gpus = if size.shape.gpus == 0 { "–".to_owned() } else { size.shape.gpus.to_string() };
            let (cores, memory) = (Cores(size.shape.cores).to_string(), Memory(size.shape.memory).to_string());
            let room = match size.fitting {
                0 => "none free now".to_owned(),
                count => format!("{count} free now"),
            };
            html! {
                <tr>
                    <th scope="row">
                        <label class="size-pick">
                            <input type="radio" name=name value=size.name.clone() checked=ticked required=true/>
                            <span>
                                <b class="name">{size.name.clone()}</b>
                                <span class="l2">{format!("{} on {}", size.family, size.site)}</span>
                            </span>
                        </label>
                    </th>
                    <td class="right nowrap" data-label="Cores">{cores}</td>
                    <td class="right nowrap" data-label="Memory">{memory}</td>
                    <td class="right nowrap" data-label="GPUs">{gpus}</td>
                    <td class="right nowrap" data-label="Price per hour">{size.price_said}</td>
                    <td class="nowrap" data-label="Room">{room}</td>
                    <td class="quota-cell" data-label="Quota">{quota}</td>
                </tr>
            }
        })
        .collect();
    // In pieces: as one view its type is deeper than the compiler follows.
    let head = heads(&[
        ("Size", ""),
        ("Cores", "right"),
        ("Memory", "right"),
        ("GPUs", "right"),
        ("Price per hour", "right"),
        ("Room", ""),
        ("Quota used", ""),
    ]);
    let table = html! {
        <table class="table sizes">
            <caption class="sr">"Sizes with their price and what is left of the quota"</caption>
            <thead><tr>{head}</tr></thead>
            <tbody>{none}{rows}</tbody>
        </table>
    };
    html! {
        <fieldset class="field size-field" aria-describedby=described>
            <legend class="label">{legend}</legend>
            <div class="table-wrap table-scroll" role="region" tabindex="0" aria-label="Sizes">{table}</div>
            {problem}
        </fieldset>
    }
}

/// The tighter of the limits that count.
fn quota(size: &SizeRow, for_oneself: bool) -> AnyView {
    let own = size.own_quota.as_ref().filter(|_| for_oneself).map(|quota| (quota, "yours"));
    let all = size.quota.as_ref().map(|quota| (quota, "the workspace’s"));
    let left = |quota: &QuotaLeft| quota.limit.saturating_sub(quota.used);
    let Some((quota, whose)) = own.into_iter().chain(all).min_by_key(|(quota, _)| left(quota)) else {
        return html! { <span class="faint">"no limit"</span> };
    };
    let (max, said) = (quota.limit.to_string(), format!("{}, {whose}", quota.said));
    let (low, high) = ((quota.limit * 3 / 4).to_string(), (quota.limit * 19 / 20).to_string());
    html! {
        <span class="num xs">{said.clone()}</span>
        <meter min="0" max=max low=low high=high optimum="0" value=quota.used.to_string() aria-label="Quota used">
            {said}
        </meter>
    }
}

#[cfg(test)]
mod tests {
    use atelier_domain::compute::Resources;
    use atelier_domain::compute::size::Price;

    use super::*;
    use crate::components::testing::html;

    fn row(own: Option<QuotaLeft>) -> SizeRow {
        SizeRow {
            name: "small".into(),
            family: "general".into(),
            site: "local".into(),
            shape: Resources::new(2, 8, 0),
            price: Price(400_000),
            price_said: "€0.40".into(),
            quota: Some(QuotaLeft { used: 12, limit: 48, said: "12 of 48 cores".into() }),
            own_quota: own,
            fitting: 3,
        }
    }

    #[test]
    fn the_tighter_limit_is_shown_and_the_choice_is_kept() {
        let own = Some(QuotaLeft { used: 3, limit: 4, said: "3 of 4 cores".into() });
        let rows = vec![row(own.clone())];
        let shown = html(move || view! { <SizeTable rows=rows chosen="small" for_oneself=true/> });
        assert!(shown.contains("3 of 4 cores, yours") && shown.contains("checked"), "{shown}");
        let rows = vec![row(own)];
        let shown = html(move || view! { <SizeTable rows=rows/> });
        assert!(shown.contains("12 of 48 cores, the workspace’s") && !shown.contains("checked"), "{shown}");
    }

    #[test]
    fn a_problem_stands_beside_the_table() {
        let shown = html(|| view! { <SizeTable rows=Vec::new() problem=Some("Choose a size.".to_owned())/> });
        assert!(shown.contains(r#"aria-describedby="f-size-problem""#) && shown.contains("Choose a size."), "{shown}");
    }
}
