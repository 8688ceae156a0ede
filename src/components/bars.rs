//! Bars over days, one part on top of the other: what each day cost. SVG draws the shapes, HTML the words;
//! colour comes from classes alone.

use atelier_domain::Money;
use leptos::prelude::*;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 220.0;

/// The part of a bar's place that stays free.
const GAP: f64 = 0.3;

/// More bars than this have no word each.
const MOST_WORDS: usize = 31;

/// One colour of all bars.
#[derive(Clone, Debug)]
pub struct BarSeries {
    /// The class that colours it, such as `s1`.
    pub class: &'static str,
    /// What it stands for.
    pub name: String,
    /// Its height in each bar, in billionths of the currency.
    pub values: Vec<u64>,
}

/// Stacked bars with their legend above.
#[component]
pub fn BarChart(
    /// What it shows, as a sentence for who cannot see it.
    #[prop(into)]
    label: String,
    series: Vec<BarSeries>,
    /// What each bar is, to be read when one points at it.
    titles: Vec<String>,
    /// The word under each bar; of many only a few are shown.
    words: Vec<String>,
    #[prop(into)] currency: String,
) -> AnyView {
    let count = titles.len();
    let sum = |bar: usize| {
        series.iter().filter_map(|series| series.values.get(bar)).fold(0_u64, |sum, value| sum.saturating_add(*value))
    };
    let step = step((0..count).map(sum).max().unwrap_or(0));
    let top = step.saturating_mul(4);
    let height = |value: u64| HEIGHT * value as f64 / top as f64;
    let place = WIDTH / count.max(1) as f64;
    let width = format!("{:.2}", place * (1.0 - GAP));
    let bars: Vec<_> = titles
        .into_iter()
        .enumerate()
        .map(|(bar, title)| {
            let x = format!("{:.2}", place * (bar as f64 + GAP / 2.0));
            let mut below = 0_u64;
            let parts: Vec<_> = series
                .iter()
                .filter_map(|series| Some((series.class, *series.values.get(bar)?)))
                .filter(|(_, value)| *value > 0)
                .map(|(class, value)| {
                    below = below.saturating_add(value);
                    let (y, height) = (format!("{:.2}", HEIGHT - height(below)), format!("{:.2}", height(value)));
                    view! {
                        <rect class=format!("fill {class}") x=x.clone() y=y width=width.clone() height=height></rect>
                    }
                })
                .collect();
            view! { <g><title>{title}</title>{parts}</g> }
        })
        .collect();
    let lines: Vec<_> = (1..=4)
        .map(|line| {
            let at = format!("{:.1}", HEIGHT - HEIGHT * f64::from(line) / 4.0);
            view! { <line class="grid" x1="0" x2="900" y1=at.clone() y2=at></line> }
        })
        .collect();
    let scale: Vec<_> = (0..=4_u64)
        .rev()
        .map(|line| view! { <span>{Money(step.saturating_mul(line)).on_scale(Money(step), &currency)}</span> })
        .collect();
    let each = count <= MOST_WORDS;
    let words: Vec<_> =
        if each { words } else { spread(words) }.into_iter().map(|word| view! { <span>{word}</span> }).collect();
    let legend = (series.len() > 1).then(|| {
        let entries: Vec<_> = series
            .iter()
            .map(|series| {
                let all = series.values.iter().fold(0_u64, |sum, value| sum.saturating_add(*value));
                view! {
                    <span class=series.class><i></i>{series.name.clone()}" "<b>{Money(all).said(&currency)}</b></span>
                }
            })
            .collect();
        view! { <div class="legend">{entries}</div> }
    });
    html! {
        <div class="stack-s">
            {legend}
            <div class="chart tall">
                <div class="y" aria-hidden="true">{scale}</div>
                <svg class="plot" viewBox="0 0 900 220" preserveAspectRatio="none" role="img" aria-label=label>
                    {lines}
                    {bars}
                    <line class="base" x1="0" x2="900" y1="220" y2="220"></line>
                </svg>
                <div class=if each { "x each" } else { "x" } aria-hidden="true">{words}</div>
            </div>
        </div>
    }
}

/// The distance of lines so that four of them reach as high: a number that is easy to add up, such as 15
/// or 250.
fn step(highest: u64) -> u64 {
    let least = highest.div_ceil(4).max(1);
    let mut power = 1_u64;
    // Steps have two digits, so that the last power fits.
    while least / power > 99 {
        power = power.saturating_mul(10);
    }
    let easy = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 30, 40, 50, 60, 75, 100];
    easy.into_iter().map(|step: u64| step.saturating_mul(power)).find(|step| *step >= least).unwrap_or(least)
}

/// The first, the last and some between them.
fn spread(words: Vec<String>) -> Vec<String> {
    const SHOWN: usize = 6;
    let last = words.len().saturating_sub(1);
    (0..SHOWN).filter_map(|place| words.get(place * last / (SHOWN - 1)).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::components::testing::html;

    #[test]
    fn parts_stand_on_each_other() {
        let chart = html(|| {
            let series = vec![
                BarSeries { class: "s1", name: "a <b>".into(), values: vec![3_000_000_000, 0] },
                BarSeries { class: "s7", name: "Others".into(), values: vec![1_000_000_000, 2_000_000_000] },
            ];
            let (titles, words) = (vec!["1 March".into(), "2 March".into()], vec!["1".into(), "2".into()]);
            view! { <BarChart label="Cost" series=series titles=titles words=words currency="EUR"/> }
        });
        assert!(chart.contains(r#"x="67.50" y="55.00" width="315.00" height="165.00" class="fill s1""#), "{chart}");
        assert!(chart.contains(r#"x="67.50" y="0.00" width="315.00" height="55.00" class="fill s7""#), "{chart}");
        assert_eq!(chart.matches("<rect").count(), 3, "nothing is not drawn: {chart}");
        assert!(chart.contains("<span>€4</span>") && chart.contains("a &lt;b&gt;"), "{chart}");
        assert!(!chart.contains("style="), "{chart}");
    }

    #[test]
    fn many_bars_have_few_words() {
        let words: Vec<String> = (0..90).map(|day| day.to_string()).collect();
        assert_eq!(spread(words), ["0", "17", "35", "53", "71", "89"]);
        assert_eq!(spread(Vec::new()), [] as [String; 0]);
    }

    proptest! {
        /// The highest bar fits, and is not lost at the bottom.
        #[test]
        fn the_scale_fits(highest in 1_u64..1_000_000_000_000_000_000) {
            let top = step(highest) * 4;
            prop_assert!(top >= highest, "{top}");
            prop_assert!(highest < 8 || top <= highest.saturating_mul(2), "{top} for {highest}");
        }
    }
}
