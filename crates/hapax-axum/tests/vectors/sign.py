"""Signs one delivery per preset, the way its sender's documentation says.

Independent of the Rust code on purpose: Python's standard library, and P-256 written
out below. Run from this folder:

    python3 sign.py

It writes `vectors.json` (deliveries to be believed) and `bad.json` (signed well, and to
be refused all the same). The output is deterministic (RFC 6979 nonces, fixed times) and
committed beside this file; `python3 sign.py --check` compares.
"""

import base64
import hashlib
import hmac
import json
import pathlib
import sys
import urllib.parse
import zlib

HERE = pathlib.Path(__file__).parent
NOW = 1_700_000_000


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def sha256(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


def sha1(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha1).digest()


# --- ECDSA on P-256, textbook, for SendGrid ------------------------------------------

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


# RFC 6979, appendix A.2.5.
PRIVATE = 0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721


def add(a, b):
    if a is None:
        return b
    if b is None:
        return a
    (x1, y1), (x2, y2) = a, b
    if x1 == x2:
        if (y1 + y2) % P == 0:
            return None
        slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, P)
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, P)
    x = (slope * slope - x1 - x2) % P
    return x, (slope * (x1 - x) - y1) % P


def times(k, point):
    total = None
    while k:
        if k & 1:
            total = add(total, point)
        point = add(point, point)
        k >>= 1
    return total


def nonce(private: int, digest: bytes) -> int:
    """RFC 6979 with SHA-256."""
    x = private.to_bytes(32, "big")
    h = (int.from_bytes(digest, "big") % N).to_bytes(32, "big")
    v, k = b"\x01" * 32, b"\x00" * 32
    k = sha256(k, v + b"\x00" + x + h)
    v = sha256(k, v)
    k = sha256(k, v + b"\x01" + x + h)
    v = sha256(k, v)
    while True:
        v = sha256(k, v)
        candidate = int.from_bytes(v, "big")
        if 0 < candidate < N:
            return candidate
        k = sha256(k, v + b"\x00")
        v = sha256(k, v)


def der_int(value: int) -> bytes:
    raw = value.to_bytes((value.bit_length() + 8) // 8, "big")
    return b"\x02" + bytes([len(raw)]) + raw


def ecdsa_sign(private: int, message: bytes) -> bytes:
    digest = hashlib.sha256(message).digest()
    z = int.from_bytes(digest, "big")
    k = nonce(private, digest)
    r = times(k, G)[0] % N
    s = pow(k, -1, N) * (z + r * private) % N
    body = der_int(r) + der_int(s)
    return b"\x30" + bytes([len(body)]) + body


def spki(private: int) -> bytes:
    """SubjectPublicKeyInfo of an uncompressed P-256 point."""
    x, y = times(private, G)
    head = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
    return head + b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")


# --- one delivery per preset -----------------------------------------------------------


def case(name, preset, secret, headers, body, ids, **more):
    return {
        "name": name,
        "preset": preset,
        "secret": secret,
        "url": more.get("url"),
        "target": more.get("target", "/hook"),
        "now": NOW,
        "headers": headers,
        "body": b64(body),
        "ids": ids,
    }


def compact(value) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def github():
    secret = "It's a Secret to Everybody"
    yield case(
        "github's published example", "github", secret,
        {
            "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
            "x-hub-signature-256": "sha256=" + sha256(secret.encode(), b"Hello, World!").hex(),
        },
        b"Hello, World!", ["72d3162e-cc78-11e3-81ab-4c9367dc0958"],
    )
    for file in ("star.created", "ping", "push"):
        body = (HERE / ".." / "data" / f"{file}.json").read_bytes()
        yield case(
            f"github {file}", "github", secret,
            {
                "content-type": "application/json",
                "x-github-event": file.split(".")[0],
                "x-github-delivery": f"guid-of-{file}",
                "x-hub-signature-256": "sha256=" + sha256(secret.encode(), body).hex(),
            },
            body, [f"guid-of-{file}"],
        )


def stripe():
    secret = "whsec_kept_whole_as_the_key"
    body = compact({"object": "event", "data": {"id": "not this one"}, "id": "evt_1NG8Du2eZvKYlo2C"})
    good = sha256(secret.encode(), f"{NOW}.".encode() + body).hex()
    other = sha256(b"an older secret", f"{NOW}.".encode() + body).hex()
    yield case(
        "stripe", "stripe", secret,
        {"stripe-signature": f"t={NOW},v1={good},v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"},
        body, ["evt_1NG8Du2eZvKYlo2C"],
    )
    yield case(
        "stripe while secrets rotate", "stripe", secret,
        {"stripe-signature": f"t={NOW},v1={other},v1={good}"},
        body, ["evt_1NG8Du2eZvKYlo2C"],
    )


def standard(prefix, preset, name):
    key = bytes(range(1, 33))
    secret = "whsec_" + b64(key)
    body = compact({"type": "contact.created", "data": {"id": "1f81eb52"}})
    msg = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"
    signature = b64(sha256(key, f"{msg}.{NOW}.".encode() + body))
    yield case(
        name, preset, secret,
        {
            f"{prefix}-id": msg,
            f"{prefix}-timestamp": str(NOW),
            # An asymmetric signature and one under another key stand before ours.
            f"{prefix}-signature": f"v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw== v1,{b64(bytes(32))} v1,{signature}",
        },
        body, [msg],
    )


def slack():
    secret = "8f742231b10e8888abcd99yyyzzz85a5"
    body = compact({
        "token": "XXYYZZ", "team_id": "T123", "api_app_id": "A123", "type": "event_callback",
        "event": {"type": "app_mention", "text": "\u00e9"}, "event_id": "Ev08MFMKH6", "event_time": NOW,
    })
    base = f"v0:{NOW}:".encode() + body
    yield case(
        "slack", "slack", secret,
        {
            "x-slack-request-timestamp": str(NOW),
            "x-slack-signature": "v0=" + sha256(secret.encode(), base).hex(),
            "x-slack-retry-num": "2",
        },
        body, ["Ev08MFMKH6"],
    )
    body = compact({"token": "XXYYZZ", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY", "type": "url_verification"})
    base = f"v0:{NOW}:".encode() + body
    yield case(
        "slack url_verification", "slack", secret,
        {
            "x-slack-request-timestamp": str(NOW),
            "x-slack-signature": "v0=" + sha256(secret.encode(), base).hex(),
        },
        body, [],
    )


def shopify():
    secret = "shpss_hush"
    body = compact({"id": 820982911946154508, "email": "jon@example.com"})
    yield case(
        "shopify", "shopify", secret,
        {
            "x-shopify-webhook-id": "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043",
            "x-shopify-topic": "orders/create",
            "x-shopify-hmac-sha256": b64(sha256(secret.encode(), body)),
        },
        body, ["b54557e4-bdd9-4b37-8a5f-bf7d70bcd043"],
    )


def square():
    secret, url = "asdf1234", "https://example.com/square?shop=7"
    body = compact({"merchant_id": "MLEFBHHSJGVHD", "type": "payment.created", "event_id": "cc3ac1cd-f05f"})
    yield case(
        "square", "square", secret,
        {"x-square-hmacsha256-signature": b64(sha256(secret.encode(), url.encode() + body))},
        body, ["cc3ac1cd-f05f"], url=url,
    )


def twilio():
    token, url = "12345", "https://example.com/twilio"
    # Two values under one name, a name that sorts before by its capital, a space, a plus.
    params = [("To", "+18005551212"), ("CallSid", "CA1234567890ABCDE"), ("Body", "a b+c"),
              ("Media", "two"), ("Media", "one"), ("Empty", "")]
    body = urllib.parse.urlencode(params).encode()
    pairs = "".join(name + value for name, value in sorted(set(params)))
    target = "/twilio?foo=1&bar=2"
    yield case(
        "twilio form", "twilio", token,
        {
            "content-type": "application/x-www-form-urlencoded; charset=utf-8",
            "i-twilio-idempotency-token": "d3f1a2",
            "x-twilio-signature": b64(sha1(token.encode(), (url + "?foo=1&bar=2" + pairs).encode())),
        },
        body, ["d3f1a2"], url=url, target=target,
    )
    body = compact({"specversion": "1.0", "id": "x"})
    query = "bodySHA256=" + hashlib.sha256(body).hexdigest()
    yield case(
        "twilio json", "twilio", token,
        {
            "content-type": "application/json",
            "i-twilio-idempotency-token": "d3f1a3",
            "x-twilio-signature": b64(sha1(token.encode(), f"{url}?{query}".encode())),
        },
        body, ["d3f1a3"], url=url, target=f"/twilio?{query}",
    )


def sendgrid():
    private = PRIVATE
    # The curve above must give the published public key.
    assert times(private, G)[0] == 0x60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6
    body = b'[{"email":"a@example.com","event":"processed","sg_event_id":"ZG9nZQ"},\n {"email":"b@example.com","event":"open","sg_event_id":"Y2F0"}]\r\n'
    signature = ecdsa_sign(private, str(NOW).encode() + body)
    yield case(
        "sendgrid", "sendgrid", b64(spki(private)),
        {
            "content-type": "application/json",
            "x-twilio-email-event-webhook-timestamp": str(NOW),
            "x-twilio-email-event-webhook-signature": b64(signature),
        },
        body, ["ZG9nZQ", "Y2F0"],
    )


def paypal():
    body = compact({"id": "WH-2WR32451HC0233532", "event_type": "PAYMENT.SALE.COMPLETED"})
    signed = f"69cd13f0-d67a-11e5-baa3-778b53f4ae55|2016-02-18T20:01:35Z|1JE4291016473214C|{zlib.crc32(body)}"
    vector = case(
        "paypal", "paypal", None,
        {
            "paypal-transmission-id": "69cd13f0-d67a-11e5-baa3-778b53f4ae55",
            "paypal-transmission-time": "2016-02-18T20:01:35Z",
        },
        body, ["WH-2WR32451HC0233532"],
    )
    vector["signed_text"] = signed
    yield vector


def gitlab():
    yield case(
        "gitlab", "gitlab", "a shared token",
        {"x-gitlab-token": "a shared token", "idempotency-key": "f5e5f430-f57b-4e6e-9fac-d9128cd7232f"},
        compact({"object_kind": "push"}), ["f5e5f430-f57b-4e6e-9fac-d9128cd7232f"],
    )


def cloudevents():
    bearer = {"authorization": "Bearer a-token"}
    yield case(
        "cloudevents binary", "cloudevents", "a-token",
        {**bearer, "content-type": "application/json", "ce-specversion": "1.0", "ce-type": "t",
         "ce-source": "/sensors/tn-12%C3%A9", "ce-id": "A234-1234"},
        b"{}", ["A234-1234"],
    )
    yield case(
        "cloudevents structured", "cloudevents", "a-token",
        {**bearer, "content-type": "application/cloudevents+json; charset=utf-8"},
        compact({"specversion": "1.0", "type": "t", "source": "/sensors/tn-12\u00e9", "id": "A234-1234"}),
        ["A234-1234"],
    )
    yield case(
        "cloudevents batch", "cloudevents", "a-token",
        {**bearer, "content-type": "application/cloudevents-batch+json"},
        compact([
            {"specversion": "1.0", "type": "t", "source": "/a", "id": "1"},
            {"specversion": "1.0", "type": "t", "source": "/b", "id": "1"},
        ]),
        ["1", "1"],
    )


def unsigned():
    yield case("unsigned json", "unsigned-json", None, {}, compact({"id": "evt_1", "type": "t", "payload": {}}), ["evt_1"])


# --- signed well, and bad all the same ------------------------------------------------

# The id is in these bodies' `{key}`, and each is answered 400.
BAD_BODIES = {
    "an empty body": "",
    "no JSON": "no JSON",
    "a cut body": '{"{key}":"a"',
    "no id": '{"other":"a"}',
    "an empty id": '{"{key}":""}',
    "an id of 256 bytes": '{"{key}":"' + "x" * 256 + '"}',
    "a control character in the id": '{"{key}":"a\\u0007"}',
    "a number as id": '{"{key}":7}',
    "null as id": '{"{key}":null}',
    "a key that stands twice": '{"{key}":"a","{key}":"b"}',
    "JSON nested 10,000 deep": '{"{key}":' + "[" * 10_000 + "]" * 10_000 + "}",
}


def bad_bodies():
    for what, text in BAD_BODIES.items():
        def body(key):
            return text.replace("{key}", key).encode()

        def bad(name, preset, secret, headers, body, **more):
            vector = case(f"{name}: {what}", preset, secret, headers, body, [], **more)
            vector["status"] = 400
            return vector

        payload = body("id")
        mac = sha256(b"s", f"{NOW}.".encode() + payload).hex()
        yield bad("stripe", "stripe", "s", {"stripe-signature": f"t={NOW},v1={mac}"}, payload)
        yield bad("unsigned json", "unsigned-json", None, {}, payload)
        yield bad("cloudevents", "cloudevents", "t",
                  {"authorization": "Bearer t", "content-type": "application/cloudevents+json"},
                  payload.replace(b"{", b'{"source":"s",', 1))

        payload = body("event_id")
        mac = sha256(b"s", f"v0:{NOW}:".encode() + payload).hex()
        yield bad("slack", "slack", "s",
                  {"x-slack-request-timestamp": str(NOW), "x-slack-signature": f"v0={mac}"}, payload)
        url = "https://example.com/"
        mac = b64(sha256(b"s", url.encode() + payload))
        yield bad("square", "square", "s", {"x-square-hmacsha256-signature": mac}, payload, url=url)

        # One good item beside the bad one: the batch is refused whole.
        item = body("sg_event_id")
        payload = b'[{"sg_event_id":"good"},' + item + b"]"
        signature = b64(ecdsa_sign(PRIVATE, str(NOW).encode() + payload))
        yield bad("sendgrid", "sendgrid", b64(spki(PRIVATE)),
                  {"x-twilio-email-event-webhook-timestamp": str(NOW),
                   "x-twilio-email-event-webhook-signature": signature}, payload)


def main():
    vectors = [
        *github(), *stripe(),
        *standard("webhook", "standard-webhooks", "standard webhooks"),
        *standard("svix", "svix", "svix"),
        *standard("webhook", "svix", "svix under the standard's names"),
        *standard("webhook", "gitlab-signed", "gitlab with a signing token"),
        *slack(), *shopify(), *square(), *twilio(), *sendgrid(), *paypal(), *gitlab(),
        *cloudevents(), *unsigned(),
    ]
    for file, content in (("vectors.json", vectors), ("bad.json", list(bad_bodies()))):
        text = json.dumps(content, indent=1) + "\n"
        path = HERE / file
        if "--check" not in sys.argv:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{file} is stale")


main()
