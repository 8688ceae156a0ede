//! A notebook as it is shown: nothing of it runs.

use atelier_domain::files::FilePath;
use atelier_domain::paths;
use atelier_studio::files::notebook::{Cell, CellKind, Notebook, Output};
use leptos::prelude::*;

/// All cells that are shown.
pub fn show(slug: &str, path: &FilePath, notebook: Notebook) -> AnyView {
    let cells: Vec<_> =
        notebook.cells.into_iter().enumerate().map(|(number, one)| cell(slug, path, number, one)).collect();
    let cut = notebook.is_cut.then(|| {
        view! {
            <p class="faint xs">"Only the first cells are shown. Open the notebook in JupyterLab for all of them."</p>
        }
    });
    html! { <div class="notebook">{cells}</div>{cut} }
}

fn cell(slug: &str, path: &FilePath, number: usize, cell: Cell) -> AnyView {
    let markup = cell.markup;
    if cell.kind == CellKind::Markdown {
        return html! { <section class="cell prose" inner_html=markup></section> };
    }
    let inside = view! { <pre class="source"><code inner_html=markup></code></pre> };
    let count = cell.count.map(|count| view! { <span class="count" aria-hidden="true">{format!("[{count}]")}</span> });
    let outputs: Vec<_> = cell.outputs.into_iter().map(|one| output(slug, path, number, one)).collect();
    html! { <section class="cell code">{count}<div class="stack-s">{inside}{outputs}</div></section> }
}

fn output(slug: &str, path: &FilePath, cell: usize, output: Output) -> AnyView {
    match output {
        Output::Text(text) => html! { <pre class="output">{text}</pre> },
        Output::Error(text) => html! { <pre class="output failed">{text}</pre> },
        Output::Image { number, words } => {
            let src = paths::notebook_image(slug, path.as_str(), cell, number);
            html! { <img class="output" src=src alt=words loading="lazy"/> }
        }
        Output::LeftOut(kinds) => {
            let text = format!("Not shown here, since it could run in your browser: {kinds}. JupyterLab shows it.");
            html! { <p class="faint xs">{text}</p> }
        }
    }
}
