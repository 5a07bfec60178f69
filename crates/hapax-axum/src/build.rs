//! Everything is checked once, here; nothing is checked twice later.

use crate::{
    BuildError, Builder, InFlight, LeasePolicy, WebhookLayer,
    counters::Counting,
    key::IdFinder,
    layer::{Leasing, Rules, Shared},
    signature::{SECRETS_MOST, Scheme, Setup, Verifier, header_name},
};
use hapax_store::ClaimStore;
use http::HeaderName;
use std::{sync::Arc, time::Duration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

const LEAST: Duration = Duration::from_millis(1);
const DAY: Duration = Duration::from_secs(24 * 3600);

impl Builder {
    /// Checks everything and builds the layer.
    ///
    /// # Errors
    ///
    /// [`BuildError`] names the first setting that is wrong, its value and the limit.
    pub fn build(self) -> Result<WebhookLayer, BuildError> {
        let name: Box<str> = self.provider.name().into();
        let retention = self.store.retention();
        self.check_secrets(&name)?;
        self.check_ranges()?;
        if retention < self.provider.least_retention && !self.short_retention {
            return Err(BuildError::RetentionTooShort {
                provider: name,
                given: retention,
                window: self.provider.retry_window,
                least: self.provider.least_retention,
            });
        }
        let leasing = self.leasing(retention)?;
        let Some(id) = &self.provider.id else {
            return Err(BuildError::IdMissing { provider: name });
        };
        if id.needs_signed_header() && !self.provider.scheme.signs_id_header() {
            return Err(BuildError::SchemeIncomplete {
                provider: name,
                fault: "the id should be in a signed header and none is signed",
            });
        }
        let finder = IdFinder::build(
            id,
            self.bind_body,
            self.missing_id,
            self.scope,
            self.batch_limit,
        )?;
        let verifier = Verifier::build(
            &self.provider.scheme,
            &Setup {
                provider: &name,
                secrets: &self.secrets,
                url: self.url,
                external: self.verifier,
                tolerance: self.provider.tolerance,
                clock: self.clock,
            },
        )?;
        let rules = Rules {
            methods: self.methods,
            body_limit: self.body_limit,
            body_timeout: self.body_timeout,
            handler_limit: self.handler_limit,
            store_timeout: self.store_timeout,
            leasing,
            in_flight: self.provider.in_flight,
            store_failure: self.store_failure,
            hang_up: self.hang_up,
            duplicate: self.duplicate,
            duplicate_body: self.provider.duplicate,
            success: self.success,
            outcome_header: optional_header(self.outcome_header.as_deref())?,
            handshake: self.provider.handshake,
            origins: self.origins,
            attempt: optional_header(self.provider.attempt.as_deref())?,
        };
        Ok(WebhookLayer::new(Shared {
            provider: Arc::from(&*name),
            verifier,
            finder,
            store: self.store,
            rules,
            counting: Counting::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }))
    }

    fn check_secrets(&self, name: &str) -> Result<(), BuildError> {
        let provider = || name.into();
        if let Some(index) = self.secrets.iter().position(Vec::is_empty) {
            return Err(BuildError::SecretEmpty {
                provider: provider(),
                index,
            });
        }
        let scheme = &self.provider.scheme;
        if scheme.needs_secret() == self.secrets.is_empty() {
            return Err(match self.secrets.is_empty() {
                true => BuildError::SecretMissing {
                    provider: provider(),
                },
                false => BuildError::SecretUnused {
                    provider: provider(),
                },
            });
        }
        if self.secrets.len() > SECRETS_MOST {
            return Err(BuildError::SecretsTooMany {
                given: self.secrets.len(),
                most: SECRETS_MOST,
            });
        }
        if scheme.needs_url() && self.url.as_deref().is_none_or(str::is_empty) {
            return Err(BuildError::UrlMissing {
                provider: provider(),
            });
        }
        let external = matches!(scheme, Scheme::External);
        if !external && self.verifier.is_some() {
            return Err(BuildError::VerifierUnused {
                provider: provider(),
            });
        }
        Ok(())
    }

    fn check_ranges(&self) -> Result<(), BuildError> {
        if self.methods.is_empty() {
            return Err(BuildError::MethodsEmpty);
        }
        duration("the handler limit", self.handler_limit, LEAST, DAY)?;
        duration("the store timeout", self.store_timeout, LEAST, DAY)?;
        duration("the body timeout", self.body_timeout, LEAST, DAY)?;
        if let Some(tolerance) = self.provider.tolerance {
            duration("the tolerance", tolerance, Duration::ZERO, 7 * DAY)?;
        }
        if let InFlight::Wait(wait) = self.provider.in_flight {
            duration("the wait for a copy in flight", wait, LEAST, DAY)?;
        }
        number("the body limit", self.body_limit, 1, 1 << 30)?;
        number("the batch limit", self.batch_limit, 1, 1 << 30)
    }

    /// Settles how long claims are held, and how often they are extended.
    fn leasing(&self, retention: Duration) -> Result<Leasing, BuildError> {
        let third = |length: Duration| Some((length / 3).max(LEAST));
        Ok(match self.lease {
            LeasePolicy::Budget { margin } => {
                let budget = self.handler_limit.saturating_add(margin);
                let length = budget.min(retention);
                Leasing {
                    length,
                    extend_every: (length < budget).then_some(()).and_then(|()| third(length)),
                }
            }
            LeasePolicy::Renewed(length) => {
                duration("the lease", length, LEAST, retention)?;
                Leasing {
                    length,
                    extend_every: third(length),
                }
            }
            LeasePolicy::Fixed(length) => {
                duration("the lease", length, LEAST, retention)?;
                Leasing {
                    length,
                    extend_every: None,
                }
            }
        })
    }
}

fn optional_header(name: Option<&str>) -> Result<Option<HeaderName>, BuildError> {
    name.map(header_name).transpose()
}

fn duration(
    setting: &'static str,
    given: Duration,
    least: Duration,
    most: Duration,
) -> Result<(), BuildError> {
    if (least..=most).contains(&given) {
        Ok(())
    } else {
        Err(BuildError::DurationOutOfRange {
            setting,
            given,
            least,
            most,
        })
    }
}

fn number(
    setting: &'static str,
    given: usize,
    least: usize,
    most: usize,
) -> Result<(), BuildError> {
    if (least..=most).contains(&given) {
        Ok(())
    } else {
        Err(BuildError::NumberOutOfRange {
            setting,
            given,
            least,
            most,
        })
    }
}
