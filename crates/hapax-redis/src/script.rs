//! The five scripts, which are the whole protocol.
//!
//! Each touches one key. Each may run twice with the same token and then answers as
//! it did at first: a request whose answer got lost can be sent again.
//!
//! ```text
//!            claim                complete
//!  no value ---------> f<token> -----------> d<token>
//!     ^                   |                     |
//!     +-------------------+---------------------+
//!       release, expiry        forget, expiry
//! ```

use redis::Script;
use std::{sync::LazyLock, time::Duration};

/// `KEYS[1]`, token, lease in ms → `{word, remaining ms}`.
///
/// Without memory the server refuses the `SET` and nothing else: who is in flight or
/// done is still told.
pub(crate) static CLAIM: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
local value = redis.call('GET', KEYS[1])
if not value then
  redis.call('SET', KEYS[1], 'f' .. ARGV[1], 'PX', ARGV[2])
  return {0, 0}
end
local left = redis.call('PTTL', KEYS[1])
local state = string.sub(value, 1, 1)
if #value ~= 33 or left < 0 then return {3, 0} end
if state == 'f' then
  if string.sub(value, 2) == ARGV[1] then return {0, 0} end
  return {1, left}
end
if state == 'd' then return {2, left} end
return {3, 0}
",
    )
});

/// `KEYS[1]`, token, retention in ms → whether the key is done by this token.
///
/// Allowed without memory: the new value is as long as the old one, and a refusal
/// would have the work done twice. The flag needs Redis 7.0 or any Valkey.
pub(crate) static COMPLETE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"#!lua flags=allow-oom
local value = redis.call('GET', KEYS[1])
if value == 'f' .. ARGV[1] then
  redis.call('SET', KEYS[1], 'd' .. ARGV[1], 'PX', ARGV[2])
  return 1
end
if value == 'd' .. ARGV[1] then return 1 end
return 0
",
    )
});

/// `KEYS[1]`, token → whether the token held the key.
pub(crate) static RELEASE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
if redis.call('GET', KEYS[1]) == 'f' .. ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
",
    )
});

/// `KEYS[1]`, token, lease in ms → whether the token holds the key.
pub(crate) static EXTEND: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
if redis.call('GET', KEYS[1]) ~= 'f' .. ARGV[1] then return 0 end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
",
    )
});

/// `KEYS[1]` → 1 if a done key was removed, 0 if there was none, 3 if the value is
/// foreign.
pub(crate) static FORGET: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
local value = redis.call('GET', KEYS[1])
if not value then return 0 end
local state = string.sub(value, 1, 1)
if #value ~= 33 or (state ~= 'f' and state ~= 'd') then return 3 end
if state == 'f' then return 0 end
return redis.call('DEL', KEYS[1])
",
    )
});

/// What [`CLAIM`] answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claimed {
    First,
    InFlight { remaining: Duration },
    Done { remaining: Duration },
    Foreign,
}

impl From<(i64, i64)> for Claimed {
    fn from((word, left_ms): (i64, i64)) -> Self {
        let remaining = Duration::from_millis(u64::try_from(left_ms).unwrap_or(0));
        match word {
            0 => Self::First,
            1 => Self::InFlight { remaining },
            2 => Self::Done { remaining },
            _ => Self::Foreign,
        }
    }
}

/// All scripts, to be loaded with a new connection.
pub(crate) fn all() -> [&'static Script; 5] {
    [&CLAIM, &COMPLETE, &RELEASE, &EXTEND, &FORGET]
}

/// A duration as the scripts take it: whole milliseconds, 1 to `most`. Part of a
/// millisecond counts as one, so nothing ends early.
pub(crate) fn ms(duration: Duration, most: Duration) -> u64 {
    let clamped = duration.clamp(Duration::from_millis(1), most);
    u64::try_from(clamped.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
