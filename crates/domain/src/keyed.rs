//! Enums with a key for machines and, where wanted, a label for people, written once.

/// Defines an enum from one list: `Variant = "key";`, or `Variant = "key", "Label";`.
///
/// It has `ALL` in the order of the list, `key()`, `from_key()` and, with labels, `label()`. Its name for
/// serde is the key, so the enum must derive `Serialize` or `Deserialize`.
///
/// ```
/// atelier_domain::keyed_enum! {
///     /// How it looks.
///     #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
///     pub enum Look {
///         /// Black on white.
///         Plain = "plain", "Plain";
///         /// Red on white.
///         Danger = "danger", "Dangerous";
///     }
/// }
/// assert_eq!(Look::ALL.map(Look::key), ["plain", "danger"]);
/// assert_eq!(Look::from_key("danger").map(Look::label), Some("Dangerous"));
/// ```
#[macro_export]
macro_rules! keyed_enum {
    (
        $(#[$meta:meta])*
        $visible:vis enum $name:ident { $( $(#[$of:meta])* $variant:ident = $key:literal, $label:literal; )+ }
    ) => {
        $crate::keyed_enum! {
            $(#[$meta])*
            $visible enum $name { $( $(#[$of])* $variant = $key; )+ }
        }

        impl $name {
            /// The name for people.
            pub const fn label(self) -> &'static str {
                match self { $( Self::$variant => $label, )+ }
            }
        }
    };
    (
        $(#[$meta:meta])*
        $visible:vis enum $name:ident { $( $(#[$of:meta])* $variant:ident = $key:literal; )+ }
    ) => {
        $(#[$meta])*
        $visible enum $name { $( $(#[$of])* #[serde(rename = $key)] $variant, )+ }

        impl $name {
            /// All of them, in order.
            pub const ALL: [Self; [$( $key, )+].len()] = [$( Self::$variant, )+];

            /// The name in the store, in forms and in the API.
            pub const fn key(self) -> &'static str {
                match self { $( Self::$variant => $key, )+ }
            }

            /// The one of that key, if there is one.
            pub fn from_key(key: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.key() == key)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::access::Role;
    use crate::compute::idle::Source;
    use crate::history::Topic;

    #[test]
    fn keys_are_the_names_for_serde_and_lead_back() {
        for role in Role::ALL {
            assert_eq!(serde_json::to_value(role).ok(), Some(role.key().into()));
            assert_eq!(Role::from_key(role.key()), Some(role));
        }
        for source in Source::ALL {
            assert_eq!(serde_json::from_value::<Source>(source.key().into()).ok(), Some(source));
        }
        assert_eq!(Topic::from_key("nothing"), None);
    }
}
