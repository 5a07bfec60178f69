//! Why a request was refused, and with which status.
//!
//! The log and the counters get the reason. A caller whose signature is wrong gets
//! the status alone: telling a forger what is wrong helps nobody else.

use http::StatusCode;
use std::fmt;

macro_rules! reasons {
    ($( $(#[$doc:meta])* $name:ident = $status:ident, $text:literal; )*) => {
        /// Names why a request was refused before its handler ran.
        ///
        /// Found in the response's extensions inside [`Ending::Rejected`](crate::Ending).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Reason { $( $(#[$doc])* $name, )* }

        impl Reason {
            /// All reasons, in the order of their declaration.
            pub const ALL: &[Self] = &[ $( Self::$name, )* ];

            /// Returns the status of the answer.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self { $( Self::$name => StatusCode::$status, )* }
            }

            /// Returns the reason as a short text, fit for a log or a metric label.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$name => $text, )* }
            }
        }
    };
}

reasons! {
    /// The body is over the limit.
    BodyTooLarge = PAYLOAD_TOO_LARGE, "body too large";
    /// The body did not arrive in time.
    BodyTooSlow = REQUEST_TIMEOUT, "body too slow";
    /// The body broke off, or the sender left while it was being checked. Nobody is left
    /// to read the answer.
    BodyBroken = BAD_REQUEST, "body broken off";
    /// There is no signature.
    SignatureMissing = UNAUTHORIZED, "signature missing";
    /// The signature cannot be read.
    SignatureMalformed = UNAUTHORIZED, "signature malformed";
    /// The signature is not one of ours.
    SignatureWrong = UNAUTHORIZED, "signature wrong";
    /// More signatures in one value than the layer is willing to compare.
    SignaturesTooMany = UNAUTHORIZED, "too many signatures";
    /// A signature or timestamp header came twice.
    SignatureRepeated = BAD_REQUEST, "signature header repeated";
    /// The signed timestamp is missing.
    TimestampMissing = UNAUTHORIZED, "timestamp missing";
    /// The signed timestamp cannot be read.
    TimestampMalformed = UNAUTHORIZED, "timestamp malformed";
    /// The signature is from longer ago than the tolerance.
    TimestampTooOld = UNAUTHORIZED, "timestamp too old";
    /// The signature is from further ahead than the tolerance.
    TimestampTooNew = UNAUTHORIZED, "timestamp too far ahead";
    /// The signature could not be checked just now.
    VerifierUnavailable = SERVICE_UNAVAILABLE, "verifier unavailable";
    /// The service's own [`Verify`](crate::signature::Verify), [`IdFn`](crate::IdFn),
    /// scope function or clock panicked. Nothing was claimed.
    CheckPanicked = INTERNAL_SERVER_ERROR, "a check panicked";
    /// The id is not there.
    IdMissing = BAD_REQUEST, "id missing";
    /// The id is empty or blank.
    IdEmpty = BAD_REQUEST, "id empty";
    /// The id, or a part of it, is over 255 bytes.
    IdTooLong = BAD_REQUEST, "id too long";
    /// The id is not UTF-8 or has control characters.
    IdUnprintable = BAD_REQUEST, "id not printable";
    /// The id is there twice: two headers, or a JSON key that stands twice.
    IdRepeated = BAD_REQUEST, "id repeated";
    /// The id is a number, null, or something else than text.
    IdNotText = BAD_REQUEST, "id is not a string";
    /// The id is in the body, and the body is not JSON.
    NotJson = BAD_REQUEST, "body is not JSON";
    /// The body should be an array of events and is not.
    NotArray = BAD_REQUEST, "body is not an array";
    /// The batch has more items than the layer is willing to claim.
    BatchTooLarge = PAYLOAD_TOO_LARGE, "batch too large";
    /// The sender's origin is not one we agreed to.
    OriginRefused = FORBIDDEN, "origin refused";
    /// The store is at its maximum.
    StoreFull = SERVICE_UNAVAILABLE, "store full";
    /// The store did not answer.
    StoreUnavailable = SERVICE_UNAVAILABLE, "store unavailable";
    /// The service is shutting down.
    Draining = SERVICE_UNAVAILABLE, "shutting down";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
