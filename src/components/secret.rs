//! A secret that is shown this one time.

use leptos::prelude::*;

use crate::components::code::CodeBlock;
use crate::form::OneTimeSecret;

/// A secret with a button that copies it, and the sentence that it will not be shown again.
#[component]
pub fn SecretOnce(
    /// The secret and what it is called.
    secret: OneTimeSecret,
) -> AnyView {
    let OneTimeSecret { label, value } = secret;
    let heading = label.clone();
    html! {
        <section class="secret" role="status" aria-label=heading>
            <CodeBlock label=label text=value/>
            <p>"Shown only now: Atelier keeps no copy that can be read. Copy it before you leave this page."</p>
        </section>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn the_secret_is_there_to_read_and_to_copy() {
        let secret = OneTimeSecret { label: "Temporary password for <Mara>".into(), value: "a\"b<c".into() };
        let shown = html(move || view! { <SecretOnce secret=secret/> });
        assert!(shown.contains("a\"b&lt;c</code>") || shown.contains("a&quot;b&lt;c</code>"), "{shown}");
        assert!(shown.contains("data-copy=\"a&quot;b"), "{shown}");
        assert!(!shown.contains("<Mara>"), "{shown}");
    }
}
