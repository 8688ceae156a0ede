//! Escaping where Leptos does not: it writes the text of `<title>` and `<textarea>` as it is, since a
//! browser's half would set it as text later. Ours never does, so what people typed must be made harmless
//! here. The same goes for the few elements that are written as text.

/// Text for an element whose content Leptos does not escape.
pub fn text(raw: &str) -> String {
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text for an attribute in double quotes.
pub fn attribute(raw: &str) -> String {
    text(raw).replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_markup_is_left() {
        assert_eq!(super::attribute("\"><b> & co"), "&quot;&gt;&lt;b&gt; &amp; co");
        assert_eq!(super::text("</title><meta> & co"), "&lt;/title&gt;&lt;meta&gt; &amp; co");
    }
}
