//! What `build()` refuses: settings that would lose or repeat events later.

use std::{error::Error, fmt, time::Duration};

/// A setting is wrong. Names the value and the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The store forgets done ids while the provider still retries.
    RetentionTooShort {
        /// The provider's name.
        provider: Box<str>,
        /// The store's retention.
        given: Duration,
        /// How long the provider retries.
        window: Duration,
        /// What the preset asks for: the window and a margin.
        least: Duration,
    },
    /// The provider signs and no secret was given.
    SecretMissing {
        /// The provider's name.
        provider: Box<str>,
    },
    /// A secret is empty: anyone could sign.
    SecretEmpty {
        /// The provider's name.
        provider: Box<str>,
        /// Which secret, from 0.
        index: usize,
    },
    /// A secret is not written as the provider writes it.
    SecretMalformed {
        /// The provider's name.
        provider: Box<str>,
        /// Which secret, from 0.
        index: usize,
        /// What it should be.
        expected: &'static str,
    },
    /// A secret was given to a provider that checks none: it would protect nothing.
    SecretUnused {
        /// The provider's name.
        provider: Box<str>,
    },
    /// More secrets than the layer is willing to try on each request.
    SecretsTooMany {
        /// How many were given.
        given: usize,
        /// The limit.
        most: usize,
    },
    /// The provider signs the URL and none was given.
    UrlMissing {
        /// The provider's name.
        provider: Box<str>,
    },
    /// The provider's signature is checked by a verifier and none was given.
    VerifierMissing {
        /// The provider's name.
        provider: Box<str>,
    },
    /// A verifier was given to a provider that does not ask it.
    VerifierUnused {
        /// The provider's name.
        provider: Box<str>,
    },
    /// A signature scheme reads something that it does not sign, or signs something that
    /// is nowhere to be read. Anybody could change the former.
    SchemeIncomplete {
        /// The provider's name.
        provider: Box<str>,
        /// What does not fit.
        fault: &'static str,
    },
    /// A header's name is not one.
    HeaderName {
        /// What was given.
        given: String,
    },
    /// A JSON pointer is not one: it starts with `/`, and `~` stands before `0` or `1`.
    PointerMalformed {
        /// What was given.
        given: String,
    },
    /// The provider has no id.
    IdMissing {
        /// The provider's name.
        provider: Box<str>,
    },
    /// There is no method to deduplicate.
    MethodsEmpty,
    /// A duration is out of its range.
    DurationOutOfRange {
        /// Which setting.
        setting: &'static str,
        /// What was given.
        given: Duration,
        /// The least.
        least: Duration,
        /// The most.
        most: Duration,
    },
    /// A number is out of its range.
    NumberOutOfRange {
        /// Which setting.
        setting: &'static str,
        /// What was given.
        given: usize,
        /// The least.
        least: usize,
        /// The most.
        most: usize,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RetentionTooShort {
                provider,
                given,
                window,
                least,
            } => write!(
                f,
                "the store's retention of {given:?} is too short for {provider}, which \
                 retries for {window:?}: at least {least:?} is needed"
            ),
            Self::SecretMissing { provider } => {
                write!(f, "{provider} signs its requests and no secret was given")
            }
            Self::SecretEmpty { provider, index } => {
                write!(
                    f,
                    "secret {index} for {provider} is empty; at least 1 byte is needed"
                )
            }
            Self::SecretMalformed {
                provider,
                index,
                expected,
            } => write!(f, "secret {index} for {provider} should be {expected}"),
            Self::SecretUnused { provider } => {
                write!(f, "{provider} checks no secret, and one was given")
            }
            Self::SecretsTooMany { given, most } => {
                write!(f, "{given} secrets were given; at most {most} are tried")
            }
            Self::UrlMissing { provider } => {
                write!(f, "{provider} signs the public url and none was given")
            }
            Self::VerifierMissing { provider } => {
                write!(f, "{provider} is checked by a verifier and none was given")
            }
            Self::VerifierUnused { provider } => {
                write!(f, "{provider} asks no verifier, and one was given")
            }
            Self::SchemeIncomplete { provider, fault } => {
                write!(
                    f,
                    "the signature scheme of {provider} is incomplete: {fault}"
                )
            }
            Self::HeaderName { given } => write!(f, "{given:?} is not a header name"),
            Self::PointerMalformed { given } => write!(f, "{given:?} is not a JSON pointer"),
            Self::IdMissing { provider } => write!(f, "{provider} says nowhere where its id is"),
            Self::MethodsEmpty => f.write_str("no method is left to deduplicate"),
            Self::DurationOutOfRange {
                setting,
                given,
                least,
                most,
            } => write!(f, "{setting} of {given:?} is not in {least:?} to {most:?}"),
            Self::NumberOutOfRange {
                setting,
                given,
                least,
                most,
            } => write!(f, "{setting} of {given} is not in {least} to {most}"),
        }
    }
}

impl Error for BuildError {}
