//! What PayPal signs, for the verifier you supply.
//!
//! PayPal signs with a certificate that has to be fetched and trusted: more than this
//! crate should decide. It does the part that is easy to get wrong.

use crate::signature::SignedRequest;

/// Returns the text that PayPal signed with RSA and SHA-256:
/// `transmission id|time|webhook id|CRC-32 of the body, decimal`.
///
/// The signature itself is in `PAYPAL-TRANSMISSION-SIG`, base64; the certificate's
/// address in `PAYPAL-CERT-URL`. Accept that address only if it is PayPal's.
/// Source: <https://developer.paypal.com/api/rest/webhooks/rest/>.
///
/// Returns `None` if a header is missing, repeated or not text.
#[must_use]
pub fn signed_text(request: &SignedRequest, webhook_id: &str) -> Option<String> {
    let header = |name: &str| {
        let mut values = request.headers.get_all(name).iter();
        let value = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(value)
    };
    let id = header("paypal-transmission-id")?;
    let time = header("paypal-transmission-time")?;
    let crc = crc32fast::hash(&request.body);
    Some(format!("{id}|{time}|{webhook_id}|{crc}"))
}
