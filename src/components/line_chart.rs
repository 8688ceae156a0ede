//! Lines over time: what something used. SVG draws the shapes, HTML the words; colour comes from classes
//! alone.

use leptos::prelude::*;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;

#[derive(Clone, Debug)]
pub struct ChartLine {
    /// The class that colours it, such as `s1`.
    pub class: &'static str,
    pub name: String,
    /// The last value in words: `89 %`.
    pub last: String,
    /// The values as parts of the height, from 0 to 1, the same instants for all lines.
    pub points: Vec<f64>,
}

/// Lines with their legend above.
#[component]
pub fn LineChart(
    /// What it shows, as a sentence for who cannot see it.
    #[prop(into)]
    label: String,
    lines: Vec<ChartLine>,
    /// What stands at the top, in the middle and at the bottom.
    scale: [String; 3],
    /// What stands under it, from the first instant to the last.
    ticks: Vec<String>,
) -> AnyView {
    let legend: Vec<_> = lines
        .iter()
        .map(|line| {
            view! { <span class=line.class><i></i>{line.name.clone()}" "<b>{line.last.clone()}</b></span> }
        })
        .collect();
    let shapes: Vec<_> = lines.iter().map(|line| shape(line.class, &line.points)).collect();
    let [top, middle, bottom] = scale;
    let ticks: Vec<_> = ticks.into_iter().map(|tick| view! { <span>{tick}</span> }).collect();
    html! {
        <div class="stack-s">
            <div class="legend">{legend}</div>
            <div class="chart">
                <div class="y" aria-hidden="true"><span>{top}</span><span>{middle}</span><span>{bottom}</span></div>
                <svg class="plot" viewBox="0 0 600 120" preserveAspectRatio="none" role="img" aria-label=label>
                    <line class="grid" x1="0" x2="600" y1="0" y2="0"></line>
                    <line class="grid" x1="0" x2="600" y1="60" y2="60"></line>
                    {shapes}
                    <line class="base" x1="0" x2="600" y1="120" y2="120"></line>
                </svg>
                <div class="x" aria-hidden="true">{ticks}</div>
            </div>
        </div>
    }
}

/// A line with the area under it, in a plot of 600 by 120.
pub fn shape(class: &'static str, points: &[f64]) -> AnyView {
    let path = path(points);
    let area = format!("{path} L{WIDTH},{HEIGHT} L0,{HEIGHT}Z");
    html! { <g class=class><path class="area" d=area></path><path class="line" d=path></path></g> }
}

fn path(points: &[f64]) -> String {
    let step = WIDTH / (points.len().max(2) - 1) as f64;
    let at = |(index, value): (usize, &f64)| {
        format!("{:.1},{:.1}", index as f64 * step, HEIGHT - value.clamp(0.0, 1.0) * HEIGHT)
    };
    format!("M{}", points.iter().enumerate().map(at).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn lines_stay_in_their_box_and_are_named() {
        let drawn = html(|| {
            let line = ChartLine { class: "s1", name: "CPU".into(), last: "89 %".into(), points: vec![0.0, 0.5, 7.0] };
            let scale = ["100 %", "50", "0"].map(str::to_owned);
            view! {
                <LineChart
                    label="CPU in percent" lines=vec![line] scale=scale ticks=vec!["13:00".into(), "now".into()]
                />
            }
        });
        assert!(drawn.contains("d=\"M0.0,120.0 300.0,60.0 600.0,0.0\""), "{drawn}");
        assert!(drawn.contains("<b>89 %</b>") && drawn.contains("13:00"), "{drawn}");
    }
}
