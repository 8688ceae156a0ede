//! Typed ids. An id is opaque text made by the shell; a type of its own keeps a user's id from being passed
//! where a workspace's is wanted.

macro_rules! typed_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub struct $name(std::sync::Arc<str>);

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }

        impl $name {
            /// Takes the text as it is: ids are made by the shell and only ever compared.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into().into())
            }

            /// The id as text, for the store and for paths.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(&self.0)
            }
        }
    };
}

typed_id!(UserId);
typed_id!(
    /// A workspace: the unit that rights, quotas and bills belong to.
    WorkspaceId
);
typed_id!(
    /// A personal token for the API; not its secret.
    TokenId
);
typed_id!(
    /// A public key with which somebody comes in by SSH.
    SshKeyId
);
typed_id!(
    /// The name under which a web session is stored: a hash of the secret in the cookie, never the secret.
    SessionKey
);
