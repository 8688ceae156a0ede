//! Steps over time, one on top of the other: how many of each kind there were. SVG draws the shapes, HTML the
//! words; colour comes from classes alone.

use leptos::prelude::*;

/// The width and height in which shapes are drawn; the browser stretches them.
const SIZE: (f64, f64) = (600.0, 160.0);

/// One kind of thing.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The class that colours it, such as `s-run`.
    pub class: &'static str,
    /// How many there were from each instant on, the same instants for all layers.
    pub counts: Vec<u64>,
}

/// A stacked step chart.
#[component]
pub fn StepChart(
    /// What it shows, as a sentence for who cannot see it.
    #[prop(into)]
    label: String,
    /// From when the counts hold, as parts of the width from 0 to 1, going up.
    at: Vec<f64>,
    layers: Vec<Layer>,
    /// The limit that is drawn as a dashed line.
    limit: u64,
    /// The words under it, from left to right.
    ticks: Vec<String>,
) -> AnyView {
    let highest =
        (0..at.len()).map(|index| layers.iter().filter_map(|layer| layer.counts.get(index)).sum::<u64>()).max();
    let top = ceiling(highest.unwrap_or(0).max(if limit <= 4 * highest.unwrap_or(0).max(1) { limit } else { 0 }));
    let (width, height) = SIZE;
    let y = |count: u64| height - height * count as f64 / top as f64;
    let mut below = vec![0_u64; at.len()];
    let areas: Vec<_> = layers
        .into_iter()
        .map(|layer| {
            let above: Vec<u64> =
                below.iter().enumerate().map(|(i, sum)| sum + layer.counts.get(i).unwrap_or(&0)).collect();
            let path = (above != below).then(|| path(&at, &above, &below, y));
            below = above;
            path.map(|path| view! { <path class=format!("fill {}", layer.class) d=path></path> })
        })
        .collect();
    let steps: Vec<u64> = (0..=4).map(|step| top * step / 4).collect();
    let lines: Vec<_> = steps[1..]
        .iter()
        .map(|count| {
            let at = format!("{:.1}", y(*count));
            view! { <line class="grid" x1="0" x2=width.to_string() y1=at.clone() y2=at></line> }
        })
        .collect();
    let limit = (limit > 0 && limit <= top).then(|| {
        let at = format!("{:.1}", y(limit));
        view! { <line class="limit" x1="0" x2=width.to_string() y1=at.clone() y2=at></line> }
    });
    let numbers: Vec<_> = steps.iter().rev().map(|count| view! { <span>{*count}</span> }).collect();
    let ticks: Vec<_> = ticks.into_iter().map(|tick| view! { <span>{tick}</span> }).collect();
    html! {
        <div class="chart">
            <div class="y" aria-hidden="true">{numbers}</div>
            <svg
                class="plot" viewBox=format!("0 0 {width} {height}") preserveAspectRatio="none" role="img"
                aria-label=label
            >
                {lines}
                {areas}
                {limit}
                <line class="base" x1="0" x2=width.to_string() y1=height.to_string() y2=height.to_string()></line>
            </svg>
            <div class="x" aria-hidden="true">{ticks}</div>
        </div>
    }
}

/// The next number that divides into four whole steps.
const fn ceiling(highest: u64) -> u64 {
    let quarter = highest.div_ceil(4);
    4 * if quarter == 0 { 1 } else { quarter }
}

/// The outline of a layer: along its top from left to right, along its bottom back.
fn path(at: &[f64], above: &[u64], below: &[u64], y: impl Fn(u64) -> f64) -> String {
    let (width, _) = SIZE;
    let from = |index: usize| at.get(index).map_or(width, |part| part.clamp(0.0, 1.0) * width);
    let mut out = String::from("M");
    for (index, count) in above.iter().enumerate() {
        let level = y(*count);
        out.push_str(&format!("{:.1},{level:.1} {:.1},{level:.1} ", from(index), from(index + 1)));
    }
    out.push('L');
    for (index, count) in below.iter().enumerate().rev() {
        let level = y(*count);
        out.push_str(&format!("{:.1},{level:.1} {:.1},{level:.1} ", from(index + 1), from(index)));
    }
    format!("{}Z", out.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn layers_stand_on_each_other_and_the_limit_is_a_line() {
        let chart = html(|| {
            let layers = vec![
                Layer { class: "s-run", counts: vec![0, 2] },
                Layer { class: "s-idle", counts: vec![1, 1] },
                Layer { class: "s-bad", counts: vec![0, 0] },
            ];
            let ticks = vec!["08:30".to_owned(), "now".to_owned()];
            view! { <StepChart label="Nodes <b>" at=vec![0.0, 0.5] layers=layers limit=4 ticks=ticks/> }
        });
        assert!(chart.contains("M0.0,160.0 300.0,160.0 300.0,80.0 600.0,80.0 L600.0,160.0 300.0,160.0"), "{chart}");
        assert!(chart.contains("M0.0,120.0 300.0,120.0 300.0,40.0 600.0,40.0 L"), "{chart}");
        assert!(!chart.contains("s-bad") && chart.contains(r#"class="limit""#), "{chart}");
        assert!(!chart.contains("style=") && !chart.contains("<b>"), "{chart}");
    }

    #[test]
    fn an_empty_chart_still_has_a_scale() {
        let chart =
            html(|| view! { <StepChart label="Nothing" at=Vec::new() layers=Vec::new() limit=0 ticks=Vec::new()/> });
        assert!(chart.contains("<span>4</span>"), "{chart}");
        assert_eq!([0, 1, 4, 5, 16, 17].map(ceiling), [4, 4, 4, 8, 16, 20]);
    }
}
