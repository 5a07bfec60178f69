//! One string out of a JSON body, without building the document.
//!
//! A pointer (RFC 6901) names a path. A `serde` visitor walks along it and skips
//! everything else with `IgnoredAny`, which neither allocates nor recurses, so a
//! hostile body costs one pass and no stack. The whole body must be JSON all the same.
//!
//! A key that stands twice in an object on the path is refused: one parser takes the
//! first, another the last, and the handler's may not be ours.

use crate::{BuildError, Reason};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::{borrow::Cow, fmt};

/// A parsed JSON pointer: the unescaped tokens of its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer(Box<[Box<str>]>);

impl Pointer {
    /// Parses `/a/b`; `~1` is a slash and `~0` a tilde.
    pub(crate) fn parse(text: &str) -> Result<Self, BuildError> {
        let malformed = || BuildError::PointerMalformed {
            given: text.to_owned(),
        };
        let path = text.strip_prefix('/').ok_or_else(malformed)?;
        let tokens = path.split('/').map(|token| {
            let escapes = token.split('~').skip(1);
            if escapes.clone().all(|rest| rest.starts_with(['0', '1'])) {
                Ok(token.replace("~1", "/").replace("~0", "~").into())
            } else {
                Err(malformed())
            }
        });
        Ok(Self(tokens.collect::<Result<_, _>>()?))
    }

    /// Returns the string at the pointer.
    pub(crate) fn find<'a>(&self, body: &'a [u8]) -> Result<Cow<'a, str>, Reason> {
        let mut json = serde_json::Deserializer::from_slice(body);
        let seek = Seek { path: &self.0 };
        let found = seek.deserialize(&mut json).map_err(|_| Reason::NotJson)?;
        json.end().map_err(|_| Reason::NotJson)?;
        found.into_result()
    }
}

/// What stood at the end of the path.
enum Found<'de> {
    Text(Cow<'de, str>),
    Missing,
    NotText,
    Repeated,
}

impl<'de> Found<'de> {
    fn into_result(self) -> Result<Cow<'de, str>, Reason> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Missing => Err(Reason::IdMissing),
            Self::NotText => Err(Reason::IdNotText),
            Self::Repeated => Err(Reason::IdRepeated),
        }
    }
}

/// Walks down the rest of a path. Visits the whole value in any case, so that errors
/// behind the id are seen.
#[derive(Clone, Copy)]
struct Seek<'p> {
    path: &'p [Box<str>],
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = Found<'de>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Found<'de>, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'p> Seek<'p> {
    /// What a scalar at this point means: at the end it is no string, before the end
    /// the path leads nowhere.
    fn scalar<'de>(self) -> Found<'de> {
        if self.path.is_empty() {
            Found::NotText
        } else {
            Found::Missing
        }
    }

    fn text<'de>(self, text: Cow<'de, str>) -> Found<'de> {
        if self.path.is_empty() {
            Found::Text(text)
        } else {
            Found::Missing
        }
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Found<'de>, E> {
        Ok(self.scalar())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Found<'de>, E> {
        Ok(self.scalar())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Found<'de>, E> {
        Ok(self.scalar())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Found<'de>, E> {
        Ok(self.scalar())
    }

    fn visit_unit<E>(self) -> Result<Found<'de>, E> {
        Ok(self.scalar())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Found<'de>, E> {
        // Copies only at the end of the path; a string elsewhere is just skipped.
        Ok(if self.path.is_empty() {
            Found::Text(Cow::Owned(text.to_owned()))
        } else {
            Found::Missing
        })
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Found<'de>, E> {
        Ok(self.text(Cow::Borrowed(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found<'de>, A::Error> {
        let Some((token, rest)) = self.path.split_first() else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Found::NotText);
        };
        let mut found = None;
        while let Some(is_token) = map.next_key_seed(Is(token))? {
            if is_token {
                let value = map.next_value_seed(Seek { path: rest })?;
                found = Some(match found {
                    None => value,
                    Some(_) => Found::Repeated,
                });
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found.unwrap_or(Found::Missing))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found<'de>, A::Error> {
        let Some((token, rest)) = self.path.split_first() else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Found::NotText);
        };
        // RFC 6901: no leading zeros.
        let is_index = &**token == "0" || !token.starts_with('0');
        let Some(index) = token.parse::<usize>().ok().filter(|_| is_index) else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Found::Missing);
        };
        for _ in 0..index {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(Found::Missing);
            }
        }
        let found = seq.next_element_seed(Seek { path: rest })?;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found.unwrap_or(Found::Missing))
    }
}

/// Tells whether an object's key is the one we look for, escapes resolved.
struct Is<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}
