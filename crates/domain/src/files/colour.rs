//! Syntax colours: text is split into words, strings, comments and numbers, by what its language calls them.
//!
//! A scanner in place of a grammar: it looks at each character once, so a hostile file costs no more than its
//! length, and what it does not know stays plain.

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// A word of the language.
    Keyword,
    /// A value that the language has a word for.
    Constant,
    /// Text in quotation marks.
    Text,
    Comment,
    Number,
    /// What is being called, or the name of a field.
    Name,
    Heading,
}

impl Kind {
    /// The class under which style sheets know it; none for plain text.
    pub const fn class(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Keyword => Some("k"),
            Self::Constant => Some("c"),
            Self::Text => Some("s"),
            Self::Comment => Some("r"),
            Self::Number => Some("n"),
            Self::Name => Some("f"),
            Self::Heading => Some("h"),
        }
    }
}

/// A language, as far as colours go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language {
    name: &'static str,
    /// What begins a remark that goes to the end of its line.
    line: &'static [&'static str],
    /// What begins and ends a remark of several lines.
    block: Option<(&'static str, &'static str)>,
    /// The characters that begin and end text.
    quotes: &'static str,
    /// Whether three of them begin text of several lines.
    has_triple: bool,
    keywords: &'static [&'static str],
    constants: &'static [&'static str],
    /// Whether small and capital letters are the same.
    ignores_case: bool,
    /// Whether a word before `:` or `=` at the start of a line is the name of a field.
    has_fields: bool,
    /// Whether lines that begin with `#` are headings.
    has_headings: bool,
}

const NONE: Language = Language {
    name: "Text",
    line: &[],
    block: None,
    quotes: "",
    has_triple: false,
    keywords: &[],
    constants: &[],
    ignores_case: false,
    has_fields: false,
    has_headings: false,
};

const PYTHON: Language = Language {
    name: "Python",
    line: &["#"],
    quotes: "'\"",
    has_triple: true,
    keywords: &[
        "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def", "del", "elif", "else",
        "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "match", "nonlocal", "not",
        "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ],
    constants: &["None", "True", "False", "self", "cls"],
    ..NONE
};

const SHELL: Language = Language {
    name: "Shell",
    line: &["#"],
    quotes: "'\"`",
    keywords: &[
        "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "function",
        "return", "exit", "export", "local", "set", "trap", "source", "echo", "cd", "exec", "eval", "shift", "test",
    ],
    constants: &["true", "false"],
    ..NONE
};

const RUST: Language = Language {
    name: "Rust",
    line: &["//"],
    block: Some(("/*", "*/")),
    quotes: "\"",
    keywords: &[
        "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "fn", "for",
        "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "static", "struct",
        "super", "trait", "type", "unsafe", "use", "where", "while",
    ],
    constants: &["true", "false", "None", "Some", "Ok", "Err", "self", "Self"],
    ..NONE
};

const C: Language = Language {
    name: "C",
    line: &["//"],
    block: Some(("/*", "*/")),
    quotes: "\"'",
    keywords: &[
        "auto",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "class",
        "const",
        "continue",
        "default",
        "delete",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "interface",
        "long",
        "namespace",
        "new",
        "operator",
        "package",
        "private",
        "protected",
        "public",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "try",
        "typedef",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "while",
    ],
    constants: &["true", "false", "NULL", "nullptr", "null"],
    ..NONE
};

const SCRIPT: Language = Language {
    name: "JavaScript",
    line: &["//"],
    block: Some(("/*", "*/")),
    quotes: "\"'`",
    keywords: &[
        "as",
        "async",
        "await",
        "break",
        "case",
        "catch",
        "class",
        "const",
        "continue",
        "default",
        "delete",
        "do",
        "else",
        "export",
        "extends",
        "finally",
        "for",
        "from",
        "function",
        "if",
        "implements",
        "import",
        "in",
        "instanceof",
        "interface",
        "let",
        "new",
        "of",
        "return",
        "static",
        "super",
        "switch",
        "throw",
        "try",
        "type",
        "typeof",
        "var",
        "void",
        "while",
        "yield",
    ],
    constants: &["true", "false", "null", "undefined", "this", "NaN"],
    ..NONE
};

const SQL: Language = Language {
    name: "SQL",
    line: &["--"],
    block: Some(("/*", "*/")),
    quotes: "'\"",
    keywords: &[
        "add",
        "all",
        "alter",
        "and",
        "as",
        "asc",
        "between",
        "by",
        "case",
        "create",
        "delete",
        "desc",
        "distinct",
        "drop",
        "else",
        "end",
        "exists",
        "from",
        "full",
        "group",
        "having",
        "in",
        "index",
        "inner",
        "insert",
        "into",
        "is",
        "join",
        "key",
        "left",
        "like",
        "limit",
        "not",
        "on",
        "or",
        "order",
        "outer",
        "primary",
        "references",
        "right",
        "select",
        "set",
        "table",
        "then",
        "union",
        "unique",
        "update",
        "values",
        "view",
        "when",
        "where",
        "with",
    ],
    constants: &["null", "true", "false"],
    ignores_case: true,
    ..NONE
};

const R: Language = Language {
    name: "R",
    line: &["#"],
    quotes: "'\"`",
    keywords: &[
        "break", "else", "for", "function", "if", "in", "library", "next", "repeat", "require", "return", "while",
    ],
    constants: &["TRUE", "FALSE", "NULL", "NA", "NaN", "Inf"],
    ..NONE
};

const JSON: Language =
    Language { name: "JSON", quotes: "\"", constants: &["true", "false", "null"], has_fields: true, ..NONE };
const YAML: Language = Language {
    name: "YAML",
    line: &["#"],
    quotes: "'\"",
    constants: &["true", "false", "null", "yes", "no"],
    has_fields: true,
    ..NONE
};
const TOML: Language = Language {
    name: "TOML",
    line: &["#", ";"],
    quotes: "'\"",
    has_triple: true,
    constants: &["true", "false"],
    has_fields: true,
    ..NONE
};
const MARKDOWN: Language = Language { name: "Markdown", quotes: "`", has_headings: true, ..NONE };
const MARKUP: Language = Language { name: "Markup", block: Some(("<!--", "-->")), quotes: "\"", ..NONE };
const STYLE: Language = Language { name: "CSS", block: Some(("/*", "*/")), quotes: "\"'", has_fields: true, ..NONE };

impl Language {
    /// By the name of a file, and by its first line where the name says nothing.
    pub fn of(name: &str, start: &str) -> Self {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
        match ending.as_str() {
            "py" | "pyi" | "pyw" => PYTHON,
            "sh" | "bash" | "zsh" | "profile" | "bashrc" => SHELL,
            "rs" => RUST,
            "c" | "h" | "cc" | "cpp" | "hpp" | "cu" | "java" | "go" | "cs" | "kt" | "swift" => C,
            "js" | "mjs" | "cjs" | "ts" | "tsx" | "jsx" => SCRIPT,
            "sql" => SQL,
            "r" | "jl" => R,
            "json" | "jsonl" | "ipynb" | "geojson" => JSON,
            "yaml" | "yml" => YAML,
            "toml" | "ini" | "cfg" | "conf" | "env" | "properties" => TOML,
            "md" | "markdown" => MARKDOWN,
            "html" | "htm" | "xml" | "svg" => MARKUP,
            "css" | "scss" => STYLE,
            _ => match name.rsplit('/').next().unwrap_or(name) {
                "Makefile" | "Dockerfile" => SHELL,
                _ if start.starts_with("#!") => {
                    let line = start.lines().next().unwrap_or_default();
                    if line.contains("python") { PYTHON } else { SHELL }
                }
                _ => NONE,
            },
        }
    }

    /// What it is called.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The language of code in a notebook or a text, by the word that stands beside it.
    pub fn named(word: &str) -> Self {
        match word.trim().to_ascii_lowercase().as_str() {
            "python" | "python3" | "ipython" | "ipython3" => PYTHON,
            "bash" | "shell" | "console" => SHELL,
            "rust" => RUST,
            "c++" => C,
            "javascript" | "typescript" => SCRIPT,
            other => Self::of(&format!("x.{other}"), ""),
        }
    }

    fn word(&self, word: &str) -> Option<Kind> {
        let is_in = |list: &[&str]| {
            if self.ignores_case {
                list.iter().any(|known| known.eq_ignore_ascii_case(word))
            } else {
                list.contains(&word)
            }
        };
        if is_in(self.keywords) {
            Some(Kind::Keyword)
        } else if is_in(self.constants) {
            Some(Kind::Constant)
        } else {
            None
        }
    }
}

/// Splits a text into pieces of one kind each, in order; together they are the text.
pub fn pieces<'a>(text: &'a str, language: &Language) -> Vec<(Kind, &'a str)> {
    let mut scan = Scan { text, language: *language, at: 0, plain: 0, found: Vec::new(), is_line_start: true };
    scan.run();
    scan.found
}

struct Scan<'a> {
    text: &'a str,
    language: Language,
    at: usize,
    /// Where the plain text began that nobody has claimed.
    plain: usize,
    found: Vec<(Kind, &'a str)>,
    /// Whether nothing but spaces came before in this line.
    is_line_start: bool,
}

impl<'a> Scan<'a> {
    fn run(&mut self) {
        let language = self.language;
        while let Some(next) = self.rest().chars().next() {
            let rest = self.rest();
            let follows_word = self.text[..self.at].chars().next_back().is_some_and(is_word);
            if self.is_line_start && language.has_headings && next == '#' {
                self.claim(Kind::Heading, line_end(rest));
            } else if let Some(end) = language.block.and_then(|(from, to)| block_end(rest, from, to)) {
                self.claim(Kind::Comment, end);
            } else if !follows_word && language.line.iter().any(|mark| rest.starts_with(mark)) {
                self.claim(Kind::Comment, line_end(rest));
            } else if language.quotes.contains(next) && !(follows_word && next == '\'' && language.name == "C") {
                let end = self.text_end(rest, next);
                let is_field = language.has_fields && rest[end..].trim_start().starts_with(':');
                self.claim(if is_field { Kind::Name } else { Kind::Text }, end);
            } else if next.is_ascii_digit() && !follows_word {
                let end =
                    rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_')).unwrap_or(rest.len());
                self.claim(Kind::Number, end);
            } else if is_word(next) && !follows_word {
                self.claim_word(rest);
            } else {
                self.at += next.len_utf8();
                if next == '\n' {
                    self.is_line_start = true;
                } else if !(next.is_whitespace() || next == '-' && self.is_line_start) {
                    self.is_line_start = false;
                }
            }
        }
        self.flush();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn claim_word(&mut self, rest: &'a str) {
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let after = &rest[end..];
        let kind = self.language.word(&rest[..end]).or_else(|| {
            let is_field = self.language.has_fields
                && self.is_line_start
                && after.trim_start_matches([' ', '\t']).starts_with([':', '=']);
            let is_call = !self.language.keywords.is_empty() && after.starts_with('(');
            (is_field || is_call).then_some(Kind::Name)
        });
        match kind {
            Some(kind) => self.claim(kind, end),
            None => {
                self.at += end;
                self.is_line_start = false;
            }
        }
    }

    /// Where text in quotation marks ends: at the same mark, or with its line where it may not go on.
    fn text_end(&self, rest: &str, quote: char) -> usize {
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        if self.language.has_triple && rest.starts_with(&triple) {
            return rest[3..].find(&triple).map_or(rest.len(), |end| end + 6);
        }
        let mut is_escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '\n' if quote != '`' => return at,
                c if c == quote => return at + c.len_utf8(),
                _ => {}
            }
        }
        rest.len()
    }

    fn claim(&mut self, kind: Kind, length: usize) {
        self.flush();
        let end = self.at + length;
        self.found.push((kind, &self.text[self.at..end]));
        self.at = end;
        self.plain = end;
        self.is_line_start = false;
    }

    fn flush(&mut self) {
        if self.plain < self.at {
            self.found.push((Kind::Plain, &self.text[self.plain..self.at]));
        }
        self.plain = self.at;
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line_end(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

fn block_end(rest: &str, from: &str, to: &str) -> Option<usize> {
    let inside = rest.strip_prefix(from)?;
    Some(inside.find(to).map_or(rest.len(), |end| from.len() + end + to.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(name: &str, text: &str) -> Vec<(Kind, String)> {
        let all = pieces(text, &Language::of(name, text));
        all.into_iter().filter(|(kind, _)| *kind != Kind::Plain).map(|(kind, text)| (kind, text.to_owned())).collect()
    }

    #[test]
    fn python_is_told_apart() {
        let found = told("a.py", "def f(x):  # why\n    return \"a\\\"b\" + '''c\nd''' + 0x1f + x2\n");
        let wanted = [
            (Kind::Keyword, "def"),
            (Kind::Name, "f"),
            (Kind::Comment, "# why"),
            (Kind::Keyword, "return"),
            (Kind::Text, "\"a\\\"b\""),
            (Kind::Text, "'''c\nd'''"),
            (Kind::Number, "0x1f"),
        ];
        assert_eq!(found, wanted.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn other_languages_have_their_own_words() {
        assert_eq!(told("a.json", r#"{"a": true, "b": "c"}"#)[0], (Kind::Name, "\"a\"".into()));
        assert_eq!(told("a.yml", "key: 1 # x")[0], (Kind::Name, "key".into()));
        assert_eq!(told("a.sql", "SELECT 1 -- x")[0], (Kind::Keyword, "SELECT".into()));
        assert_eq!(told("a.rs", "/* a\nb */ fn")[0], (Kind::Comment, "/* a\nb */".into()));
        assert_eq!(told("a.md", "# Head\n`x`")[0], (Kind::Heading, "# Head".into()));
        assert_eq!(told("run", "#!/usr/bin/env python3\nimport x")[1], (Kind::Keyword, "import".into()));
        assert_eq!(told("a.sh", "a=${x#y}"), [], "what only looks like a remark is none");
        assert_eq!(told("a.txt", "if 'x' # y 1"), [(Kind::Number, "1".into())]);
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_text(
            text in "[a-c\"'`#/*\\-\n 0-9é:=]{0,60}",
            ending in "py|sh|json|rs|md|sql|html|toml|txt",
        ) {
            let all = pieces(&text, &Language::of(&format!("a.{ending}"), &text));
            prop_assert!(all.iter().all(|(_, piece)| !piece.is_empty()));
            prop_assert_eq!(all.iter().map(|(_, piece)| *piece).collect::<String>(), text.as_str());
        }
    }
}
