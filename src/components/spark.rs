//! A line so small that it fits into a table.

use leptos::prelude::*;
use leptos::tachys::html::InertElement;

const WIDTH: f64 = 88.0;
const HEIGHT: f64 = 24.0;

/// How something went, in percent, the oldest first, with the last value beside it. Written as text at once:
/// a list has fifty.
#[component]
pub fn Spark(
    /// What it shows: `CPU, last hour`.
    label: &'static str,
    /// The values; fewer than two make a dotted line.
    points: Vec<u32>,
    /// Whether it is drawn as something that went wrong.
    #[prop(optional)]
    is_bad: bool,
) -> impl IntoView {
    let class = if is_bad { "spark bad" } else { "spark" };
    let head = format!(
        "<span class=\"sparkcell\"><svg class=\"{class}\" viewBox=\"0 0 88 24\" preserveAspectRatio=\"none\" \
         role=\"img\""
    );
    let [.., last] = points.as_slice() else { return flat(&head) };
    if points.len() < 2 {
        return flat(&head);
    }
    let step = WIDTH / (points.len() - 1) as f64;
    let mut line = String::with_capacity(points.len() * 11);
    for (at, value) in points.iter().enumerate() {
        let (x, y) = (at as f64 * step, HEIGHT - 2.0 - f64::from((*value).min(100)) * (HEIGHT - 3.0) / 100.0);
        line.push_str(&format!("{}{x:.1},{y:.1}", if at == 0 { "M" } else { " " }));
    }
    let most = points.iter().max().copied().unwrap_or_default();
    InertElement::new(format!(
        "{head} aria-label=\"{label}: {last} % at last, {most} % at most\"><path class=\"area\" d=\"{line} L88,24 \
         L0,24Z\"></path><path class=\"line\" d=\"{line}\"></path></svg><span class=\"num\">{last} %</span></span>"
    ))
}

fn flat(head: &str) -> InertElement {
    InertElement::new(format!(
        "{head} aria-label=\"No data\"><line class=\"flat\" x1=\"0\" y1=\"22\" x2=\"88\" y2=\"22\"></line></svg><span \
         class=\"num\"></span></span>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn the_line_is_said_and_drawn_and_nothing_is_a_dotted_one() {
        let drawn = html(|| view! { <Spark label="CPU, last hour" points=vec![0, 100, 50]/> });
        assert!(drawn.contains("CPU, last hour: 50 % at last, 100 % at most"), "{drawn}");
        assert!(drawn.contains("d=\"M0.0,22.0 44.0,1.0 88.0,11.5\""), "{drawn}");
        for points in [vec![], vec![7]] {
            let flat = html(move || view! { <Spark label="CPU" points=points/> });
            assert!(flat.contains("No data") && !flat.contains("%"), "{flat}");
        }
    }
}
