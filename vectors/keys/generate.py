"""Writes the case files of this folder that are our own. Needs the Python package `cryptography` (48), an
implementation that shares no code with the house; equal input gives equal files."""

import base64
import hashlib
import json
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

HERE = Path(__file__).parent
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
N256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def b64u(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def write(name, cases):
    numbered = [{"n": n, **case} for n, case in enumerate(cases, 1)]
    (HERE / name).write_text("".join(compact(case) + "\n" for case in numbered))


class Ed:
    alg = "EdDSA"

    def __init__(self, seed):
        self.seed = seed
        self.private = Ed25519PrivateKey.from_private_bytes(seed)
        self.raw = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.spki = self.private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.jwk = {"kty": "OKP", "crv": "Ed25519", "x": b64u(self.raw)}
        self.required = '{"crv":"Ed25519","kty":"OKP","x":"%s"}' % self.jwk["x"]

    def sign(self, data):
        return self.private.sign(data)

    der = sign


class Ec:
    alg = "ES256"

    def __init__(self, seed):
        self.private = ec.derive_private_key(int.from_bytes(seed), ec.SECP256R1())
        public = self.private.public_key()
        point = public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.x, self.y = point[1:33], point[33:]
        self.spki = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.jwk = {"kty": "EC", "crv": "P-256", "x": b64u(self.x), "y": b64u(self.y)}
        self.required = '{"crv":"P-256","kty":"EC","x":"%s","y":"%s"}' % (self.jwk["x"], self.jwk["y"])

    def der(self, data):
        return self.private.sign(data, ec.ECDSA(hashes.SHA256(), deterministic_signing=True))

    def sign(self, data):
        r, s = utils.decode_dss_signature(self.der(data))
        return r.to_bytes(32) + s.to_bytes(32)


ED, ED2 = Ed(hashlib.sha256(b"one").digest()), Ed(hashlib.sha256(b"two").digest())
EC, EC2 = Ec(hashlib.sha256(b"one").digest()), Ec(hashlib.sha256(b"two").digest())


# --- Ed25519: what sig_v2.jsonl has no case for -----------------------------------------------------------------------

def point_y(y):
    """Whether y is the ordinate of a point of the curve."""
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x2 = u * pow(v, P - 2, P) % P
    return x2 == 0 or pow(x2, (P - 1) // 2, P) == 1


def ed25519_cases():
    message = b"an edge of the rule"
    good = ED.sign(message)
    case = lambda id, public, sig, valid, code=None, strict=None, msg=message: {
        "id": id, "public": public.hex(), "msg": msg.hex(), "sig": sig.hex(), "valid": valid,
        **({"code": code} if code else {}), **({"strict": strict} if strict is not None else {})}
    yield case("plain", ED.raw, good, True, strict=True)
    yield case("other-message", ED.raw, good, False, "bad_signature", msg=b"another")
    yield case("other-key", ED2.raw, good, False, "bad_signature")
    s = int.from_bytes(good[32:], "little")
    for times in (1, 2, 15):
        if s + times * L < 2**256:
            yield case(f"s-plus-{times}-l", ED.raw, good[:32] + (s + times * L).to_bytes(32, "little"), False,
                       "bad_signature_form")
    yield case("s-is-l", ED.raw, good[:32] + L.to_bytes(32, "little"), False, "bad_signature_form")
    yield case("s-is-zero", ED.raw, good[:32] + bytes(32), False, "bad_signature")
    # R of small order: with r = 0, S = k a satisfies the equation as it stands; only the strict variant refuses it.
    digest = hashlib.sha512(ED.seed).digest()
    a = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | (1 << 254)
    identity = (1).to_bytes(32, "little")
    k = int.from_bytes(hashlib.sha512(identity + ED.raw + message).digest(), "little") % L
    yield case("r-of-small-order", ED.raw, identity + (k * a % L).to_bytes(32, "little"), True, strict=False)
    # The same R spelled p + 1: a byte comparison refuses it.
    other = (P + 1).to_bytes(32, "little")
    k = int.from_bytes(hashlib.sha512(other + ED.raw + message).digest(), "little") % L
    yield case("r-not-canonical", ED.raw, other + (k * a % L).to_bytes(32, "little"), False, "bad_signature")
    for y in range(2, 19):
        if point_y(y):
            yield case(f"key-not-canonical-{y}", (P + y).to_bytes(32, "little"), good, False, "bad_key")
    for y, name in ((2, "two"), (7, "seven"), (2**255 - 1 - 2**254, "high")):
        if not point_y(y):
            yield case(f"key-off-curve-{name}", y.to_bytes(32, "little"), good, False, "bad_key")
    small = {0: "order-4", 1: "identity", P - 1: "order-2"}
    for y, name in small.items():
        for sign in (0, 1):
            yield case(f"key-{name}-sign-{sign}", (y | sign << 255).to_bytes(32, "little"), identity + bytes(32), False,
                       "weak_key")
    for y, name in ((P, "zero"), (P + 1, "one")):
        yield case(f"key-weak-not-canonical-{name}", y.to_bytes(32, "little"), identity + bytes(32), False, "weak_key")
    yield case("key-short", ED.raw[:31], good, False, "bad_key")
    yield case("key-long", ED.raw + b"\0", good, False, "bad_key")
    yield case("signature-short", ED.raw, good[:63], False, "bad_signature_form")
    yield case("signature-long", ED.raw, good + b"\0", False, "bad_signature_form")


# --- P-256 ------------------------------------------------------------------------------------------------------------

def p256_cases():
    message = b"an edge of the rule"
    good = EC.sign(message)
    r, s = good[:32], int.from_bytes(good[32:])
    case = lambda id, sig, valid, code=None, msg=message, jwk=EC.jwk: {
        "id": id, "jwk": jwk, "msg": msg.hex(), "sig": sig.hex(), "valid": valid, **({"code": code} if code else {})}
    yield case("plain", good, True)
    yield case("other-s", r + (N256 - s).to_bytes(32), True)
    yield case("other-message", good, False, "bad_signature", b"another")
    yield case("other-key", good, False, "bad_signature", jwk=EC2.jwk)
    yield case("r-zero", bytes(32) + good[32:], False, "bad_signature_form")
    yield case("s-zero", r + bytes(32), False, "bad_signature_form")
    yield case("s-is-n", r + N256.to_bytes(32), False, "bad_signature_form")
    yield case("r-is-n", N256.to_bytes(32) + good[32:], False, "bad_signature_form")
    yield case("der-where-raw-belongs", EC.der(message), False, "bad_signature_form")
    yield case("off-curve", good, False, "bad_key", jwk={**EC.jwk, "y": EC.jwk["x"]})
    yield case("x-is-p", good, False, "bad_key",
               jwk={**EC.jwk, "x": b64u((2**256 - 2**224 + 2**192 + 2**96 - 1).to_bytes(32))})


# --- JWK --------------------------------------------------------------------------------------------------------------

def jwk_cases():
    def good(id, text, key):
        return {"id": id, "text": text, "valid": True, "thumbprint": b64u(hashlib.sha256(key.required.encode()).digest()),
                "spki": "sha256:" + hashlib.sha256(key.spki).hexdigest()}

    def bad(id, text, code, place):
        return {"id": id, "text": text, "valid": False, "code": code, "place": place}

    ed, ecj = ED.jwk, EC.jwk
    x = ed["x"]
    yield good("ed25519", compact(ed), ED)
    yield good("p256", compact(ecj), EC)
    yield good("order-and-space", json.dumps(dict(reversed(ecj.items()))), EC)
    yield good("all-members", compact({**ed, "kid": "k1", "alg": "EdDSA", "use": "sig"}), ED)
    yield good("alg-ed25519", compact({**ed, "alg": "Ed25519"}), ED)
    yield {"id": "rfc8037-a3", "text": '{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}',
           "valid": True, "thumbprint": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
           "spki": "sha256:06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9"}
    yield bad("private", compact({**ed, "d": b64u(ED.seed)}), "private_jwk", "/d")
    yield bad("private-null", compact({**ed, "d": None}), "private_jwk", "/d")
    yield bad("other-member", compact({**ed, "x5c": []}), "bad_jwk", "/x5c")
    yield bad("other-alg", compact({**ed, "alg": "ES256"}), "alg_not_allowed", "/alg")
    yield bad("other-alg-none", compact({**ecj, "alg": "none"}), "alg_not_allowed", "/alg")
    yield bad("use-enc", compact({**ed, "use": "enc"}), "bad_jwk", "/use")
    yield bad("kty-and-crv-disagree", compact({**ed, "kty": "EC"}), "bad_jwk", "/kty")
    yield bad("y-too-many", compact({**ed, "y": x}), "bad_jwk", "/kty")
    yield bad("y-missing", compact({k: v for k, v in ecj.items() if k != "y"}), "bad_jwk", "/kty")
    yield bad("other-curve", compact({**ecj, "crv": "P-384"}), "bad_jwk", "/kty")
    yield bad("oct", compact({"kty": "oct", "crv": "", "x": "", "k": x}), "bad_jwk", "/k")
    yield bad("padded", compact({**ed, "x": x + "="}), "bad_jwk", "/x")
    yield bad("other-alphabet", compact({**ed, "x": "+" + x[1:]}), "bad_jwk", "/x")
    yield bad("stray-bits", compact({**ed, "x": x[:-1] + chr(ord(x[-1]) + 1)}), "bad_jwk", "/x")
    yield bad("short", compact({**ed, "x": b64u(ED.raw[:31])}), "bad_key", "/x")
    yield bad("weak", compact({**ed, "x": b64u((1).to_bytes(32, "little"))}), "weak_key", "/x")
    yield bad("not-canonical", compact({**ed, "x": b64u((P + 3).to_bytes(32, "little"))}), "bad_key", "/x")
    yield bad("leading-zero-cut", compact({**ecj, "x": b64u(EC.x[1:])}), "bad_key", "/x")
    yield bad("duplicate", compact(ed)[:-1] + ',"x":"%s"}' % x, "bad_json", "/x")
    yield bad("x-a-number", compact({**ed, "x": 1}), "bad_jwk", "/x")
    yield bad("array", "[]", "bad_jwk", "")
    yield bad("two-texts", compact(ed) + "{}", "bad_json", f"byte {len(compact(ed))}")


# --- JWS --------------------------------------------------------------------------------------------------------------

def jws(key, header, payload=b'{"iss":"https://issuer.example","n":1}', signer=None):
    header = header if isinstance(header, bytes) else compact(header).encode()
    signed = b64u(header) + "." + b64u(payload)
    return signed + "." + b64u((signer or key).sign(signed.encode()))


def jws_cases():
    ed = {"alg": "EdDSA", "kid": "k1", "typ": "test+jwt"}
    ecj = {"alg": "ES256", "kid": "k1", "typ": "test+jwt"}
    plain = {"typ": "test+jwt"}

    def case(id, text, code=None, place=None, key=ED, profile=plain):
        refused = {"code": code, **({"place": place} if place is not None else {})} if code else {}
        return {"id": id, "jwk": key.jwk, "profile": profile, "jws": text, "valid": code is None, **refused}

    good = jws(ED, ed)
    head, body, sig = good.split(".")
    yield case("ed25519", good)
    yield case("p256", jws(EC, ecj), key=EC)
    yield case("alg-ed25519", jws(ED, {**ed, "alg": "Ed25519"}))
    yield case("kid-absent", jws(ED, {"alg": "EdDSA", "typ": "test+jwt"}))
    yield case("alg-narrowed", good, "alg_not_allowed", "header/alg", profile={**plain, "algs": ["Ed25519", "ES256"]})
    yield case("kid-required", jws(ED, {"alg": "EdDSA", "typ": "test+jwt"}), "header_not_allowed", "header/kid",
               profile={**plain, "kid": "required"})
    yield case("kid-refused", good, "header_not_allowed", "header/kid", profile={**plain, "kid": "refused"})
    yield case("alg-none", jws(ED, {**ed, "alg": "none"}), "alg_not_allowed", "header/alg")
    yield case("alg-none-unsigned", f'{b64u(compact({**ed, "alg": "none"}).encode())}.{body}.', "alg_not_allowed", "header/alg")
    yield case("alg-hs256", jws(ED, {**ed, "alg": "HS256"}), "alg_not_allowed", "header/alg")
    yield case("alg-of-other-key", jws(ED, {**ed, "alg": "ES256"}), "alg_not_allowed", "header/alg")
    yield case("alg-missing", jws(ED, {"typ": "test+jwt"}), "alg_not_allowed", "header/alg")
    yield case("alg-a-number", jws(ED, {**ed, "alg": 1}), "header_not_allowed", "header/alg")
    yield case("typ-other", jws(ED, {**ed, "typ": "JWT"}), "typ_mismatch", "header/typ")
    yield case("typ-case", jws(ED, {**ed, "typ": "Test+JWT"}), "typ_mismatch", "header/typ")
    yield case("typ-application", jws(ED, {**ed, "typ": "application/test+jwt"}), "typ_mismatch", "header/typ")
    yield case("typ-missing", jws(ED, {"alg": "EdDSA"}), "typ_mismatch", "header/typ")
    for name, value in (("crit", ["exp"]), ("b64", False), ("jku", "https://keys.example"), ("x5u", "https://keys.example"),
                        ("x5c", []), ("x5t", "AA"), ("zip", "DEF")):
        yield case(name, jws(ED, {**ed, name: value}), "header_not_allowed", f"header/{name}",
                   profile={**plain, "members": [name]})
    yield case("jwk-refused", jws(ED, {**ed, "jwk": ED.jwk}), "header_not_allowed", "header/jwk")
    proof = {"typ": "test+jwt", "jwk": "required"}
    yield case("jwk", jws(ED, {**ed, "jwk": ED.jwk}), profile=proof)
    yield case("jwk-missing", good, "header_not_allowed", "header/jwk", profile=proof)
    yield case("jwk-other", jws(ED, {**ed, "jwk": ED2.jwk}), "key_mismatch", "header/jwk", profile=proof)
    yield case("jwk-private", jws(ED, {**ed, "jwk": {**ED.jwk, "d": b64u(ED.seed)}}), "private_jwk", "header/jwk/d",
               profile=proof)
    yield case("member", jws(ED, {**ed, "nonce": "n1"}), profile={**plain, "members": ["nonce"]})
    yield case("member-unknown", jws(ED, {**ed, "nonce": "n1"}), "header_not_allowed", "header/nonce")
    yield case("signature-other-key", jws(ED, ed, signer=ED2), "bad_signature", "signature")
    yield case("signature-other-payload", f"{head}.{b64u(b'{}')}.{sig}", "bad_signature", "signature")
    yield case("signature-der", ".".join(jws(EC, ecj).split(".")[:2]) + "." +
               b64u(EC.der(".".join(jws(EC, ecj).split(".")[:2]).encode())), "bad_signature_form", "signature", key=EC)
    raw = base64.urlsafe_b64decode(sig + "==")
    other = raw[:32] + (int.from_bytes(raw[32:], "little") + L).to_bytes(32, "little")
    yield case("signature-s-plus-l", f"{head}.{body}.{b64u(other)}", "bad_signature_form", "signature")
    yield case("signature-padded", good + "==", "malformed_jws", "signature")
    yield case("signature-short", good[:-2], "bad_signature_form", "signature")
    yield case("two-parts", f"{head}.{body}", "malformed_jws")
    yield case("four-parts", good + ".", "malformed_jws")
    yield case("space", good + "\n", "malformed_jws", "signature")
    yield case("empty", "", "malformed_jws")
    yield case("header-duplicate", jws(ED, b'{"alg":"EdDSA","typ":"test+jwt","typ":"test+jwt"}'), "bad_json", "header/typ")
    yield case("header-array", jws(ED, b"[]"), "bad_json", "header")
    yield case("header-not-json", jws(ED, b"{"), "bad_json", "header byte 1")
    yield case("payload-array", jws(ED, ed, b"[1]"), "bad_json", "payload")
    yield case("payload-duplicate", jws(ED, ed, b'{"a":1,"a":1}'), "bad_json", "payload/a")
    yield case("payload-not-utf8", jws(ED, ed, b'{"a":"\xff"}'), "bad_json")
    yield case("payload-detached", f"{head}..{sig}", "bad_json", "payload byte 0")


# --- WebAuthn ---------------------------------------------------------------------------------------------------------

def cbor(value):
    def head(major, n):
        if n < 24:
            return bytes([major << 5 | n])
        if n < 256:
            return bytes([major << 5 | 24, n])
        if n < 65536:
            return bytes([major << 5 | 25]) + n.to_bytes(2)
        return bytes([major << 5 | 26]) + n.to_bytes(4)
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    items = value if isinstance(value, tuple) else value.items()
    return head(5, len(items)) + b"".join(cbor(k) + cbor(v) for k, v in items)


CHALLENGE = hashlib.sha256(b"what was shown").digest()
RP = {"id": "example.com", "origins": ["https://example.com", "https://www.example.com"], "verification": "required"}
ID = hashlib.sha256(b"credential").digest()[:20]


def cose(key):
    if isinstance(key, Ed):
        return {1: 1, 3: -8, -1: 6, -2: key.raw}
    return {1: 2, 3: -7, -1: 1, -2: key.x, -3: key.y}


def client(kind="webauthn.get", **changes):
    data = {"type": kind, "challenge": b64u(CHALLENGE), "origin": "https://example.com", "crossOrigin": False}
    data.update(changes)
    return compact({k: v for k, v in data.items() if v is not ...}).encode()


def auth(flags=0x05, count=7, rp="example.com", rest=b""):
    return hashlib.sha256(rp.encode()).digest() + bytes([flags]) + count.to_bytes(4) + rest


def assertion_cases():
    def case(id, code=None, place=None, key=EC, data=None, cd=None, sig=None, rp=RP, cid=ID, last=6, report=None,
             challenge=CHALLENGE):
        data, cd = data if data is not None else auth(), cd if cd is not None else client()
        signature = sig if sig is not None else key.der(data + hashlib.sha256(cd).digest())
        refused = {"code": code, **({"place": place} if place else {})} if code else {}
        return {"id": id, "kind": "assertion", "rp": rp, "challenge": b64u(challenge),
                "credential": {"id": b64u(ID), "key": key.jwk, "count": last},
                "assertion": {"credential_id": b64u(cid), "authenticator_data": b64u(data), "client_data_json": b64u(cd),
                              "signature": b64u(signature)},
                "valid": code is None, **refused, **({"report": report} if report else {})}

    seen = {"verified": True, "count": 7, "counter": "advanced", "backed_up": False}
    relaxed = {**RP, "verification": "preferred"}
    yield case("es256", report=seen)
    yield case("eddsa", key=ED, report=seen)
    yield case("second-origin", cd=client(origin="https://www.example.com"))
    yield case("members-we-do-not-know", cd=client(other_keys_can_be_added_here="do not compare"))
    yield case("cross-origin-absent", cd=client(crossOrigin=...))
    yield case("spaces", cd=json.dumps(json.loads(client()), indent=1).encode())
    yield case("counter-unused", data=auth(count=0), last=0, report={**seen, "count": 0, "counter": "unused"})
    yield case("counter-same", last=7, report={**seen, "counter": "regressed"})
    yield case("counter-back", last=8, report={**seen, "counter": "regressed"})
    yield case("counter-back-to-zero", data=auth(count=0), report={**seen, "count": 0, "counter": "regressed"})
    yield case("backed-up", data=auth(0x1D), report={**seen, "backed_up": True})
    yield case("not-verified-preferred", data=auth(0x01), rp=relaxed, report={**seen, "verified": False})
    yield case("extensions", data=auth(0x85, rest=cbor({"credProtect": 2})))
    yield case("not-verified-required", "user_not_verified", "authenticator_data", data=auth(0x01))
    yield case("not-present", "user_not_present", "authenticator_data", data=auth(0x04))
    yield case("other-relying-party", "wrong_relying_party", "authenticator_data", data=auth(rp="example.org"))
    yield case("other-credential", "wrong_credential", "credential_id", cid=ID[::-1])
    yield case("ceremony-create", "wrong_ceremony", "client_data_json/type", cd=client("webauthn.create"))
    yield case("challenge-other", "wrong_challenge", "client_data_json/challenge", challenge=CHALLENGE[::-1])
    yield case("challenge-padded", "wrong_challenge", "client_data_json/challenge", cd=client(challenge=b64u(CHALLENGE) + "="))
    yield case("challenge-empty", "wrong_challenge", "client_data_json/challenge", cd=client(challenge=""))
    for name, origin in (("other", "https://example.org"), ("port", "https://example.com:8443"), ("http", "http://example.com"),
                         ("slash", "https://example.com/"), ("case", "https://Example.com"),
                         ("longer", "https://example.com.evil.example"), ("null", "null")):
        yield case(f"origin-{name}", "wrong_origin", "client_data_json/origin", cd=client(origin=origin))
    yield case("cross-origin", "cross_origin", "client_data_json/crossOrigin", cd=client(crossOrigin=True))
    yield case("cross-origin-a-string", "bad_json", "client_data_json/crossOrigin", cd=client(crossOrigin="false"))
    yield case("top-origin", "cross_origin", "client_data_json/topOrigin", cd=client(topOrigin="https://example.com"))
    yield case("client-duplicate", "bad_json", "client_data_json/origin", cd=client()[:-1] + b',"origin":"https://example.com"}')
    yield case("client-origin-missing", "bad_json", cd=client(origin=...))
    yield case("client-type-a-number", "bad_json", cd=client(type=1))
    yield case("client-byte-order-mark", "bad_json", "client_data_json byte 0", cd=b"\xef\xbb\xbf" + client())
    yield case("client-array", "bad_json", cd=b"[]")
    yield case("client-too-long", "bad_json", "client_data_json", cd=client(pad="x" * 16384))
    yield case("data-short", "bad_authenticator_data", "authenticator_data", data=auth()[:36])
    yield case("data-empty", "bad_authenticator_data", "authenticator_data", data=b"")
    yield case("data-long", "bad_authenticator_data", "authenticator_data", data=auth(rest=b"\0"))
    yield case("data-backed-up-not-eligible", "bad_authenticator_data", "authenticator_data", data=auth(0x15))
    yield case("data-extensions-missing", "bad_authenticator_data", "authenticator_data", data=auth(0x85))
    yield case("data-extensions-not-a-map", "bad_authenticator_data", "authenticator_data", data=auth(0x85, rest=cbor([1])))
    yield case("data-extensions-duplicate", "bad_authenticator_data", "authenticator_data",
               data=auth(0x85, rest=cbor((("a", 1), ("a", 1)))))
    for name, value in (("indefinite", b"\xbf\x61a\x01\xff"), ("long-head", b"\xa1\x61a\x18\x01"), ("tag", b"\xa1\x61a\xc1\x01"),
                        ("float", b"\xa1\x61a\xf9\x3c\x00"), ("undefined", b"\xa1\x61a\xf7"), ("bad-utf8", b"\xa1\x61\xff\x01"),
                        ("five-levels", cbor({"a": [[[[1]]]]})), ("cut-off", b"\xa1\x61a\x42\x01")):
        yield case(f"data-extensions-{name}", "bad_authenticator_data", "authenticator_data", data=auth(0x85, rest=value))
    yield case("data-extensions-four-levels",
               data=auth(0x85, rest=cbor({"a": [[[1, -1, b"\1", "é", True, False]]], 70000: b"\2" * 300})))
    attested = bytes(16) + len(ID).to_bytes(2) + ID + cbor(cose(EC))
    yield case("data-attested", "bad_authenticator_data", "authenticator_data", data=auth(0x45, rest=attested))
    yield case("signature-other-key", "bad_signature", "signature", sig=EC2.der(auth() + hashlib.sha256(client()).digest()))
    yield case("signature-other-data", "bad_signature", "signature", sig=EC.der(auth(0x04) + hashlib.sha256(client()).digest()))
    yield case("signature-client-not-hashed", "bad_signature", "signature", sig=EC.der(auth() + client()))
    yield case("signature-raw", "bad_signature_form", "signature", sig=EC.sign(auth() + hashlib.sha256(client()).digest()))
    yield case("signature-der-tail", "bad_signature_form", "signature",
               sig=EC.der(auth() + hashlib.sha256(client()).digest()) + b"\0")
    yield case("signature-eddsa-short", "bad_signature_form", "signature", key=ED,
               sig=ED.sign(auth() + hashlib.sha256(client()).digest())[:63])
    yield case("signature-empty", "bad_signature_form", "signature", sig=b"")


def registration_cases():
    def case(id, code=None, place=None, key=EC, cid=ID, flags=0x45, key_map=None, tail=b"", cd=None, fmt="none", stmt=None,
             obj=None, attestation="none", rp=RP, length=None):
        cd = cd if cd is not None else client("webauthn.create")
        length = len(cid) if length is None else length
        rest = bytes(16) + length.to_bytes(2) + cid + (cbor(cose(key)) if key_map is None else key_map) + tail
        data = auth(flags, 0, rest=rest if flags & 0x40 else tail)
        stmt = stmt(data + hashlib.sha256(cd).digest()) if callable(stmt) else (stmt if stmt is not None else {})
        obj = obj(data) if obj else cbor({"fmt": fmt, "attStmt": stmt, "authData": data})
        refused = {"code": code, **({"place": place} if place else {})} if code else {}
        told = {} if code else {"credential": {"id": b64u(cid), "key": key.jwk, "attestation": attestation}}
        return {"id": id, "kind": "registration", "rp": rp, "challenge": b64u(CHALLENGE),
                "registration": {"client_data_json": b64u(cd), "attestation_object": b64u(obj)},
                "valid": code is None, **refused, **told}

    def own(alg, signer):
        return lambda signed: {"alg": alg, "sig": signer.der(signed)}

    x509 = lambda signed: {"alg": -7, "sig": b"", "x5c": [b"\x30\x00"]}
    data, obj = "authenticator_data", "attestation_object"
    bad = "bad_authenticator_data"
    yield case("none-es256")
    yield case("none-eddsa", key=ED)
    yield case("own-es256", fmt="packed", stmt=own(-7, EC), attestation="own")
    yield case("own-eddsa", key=ED, fmt="packed", stmt=own(-8, ED), attestation="own")
    yield case("packed-x5c", fmt="packed", stmt=x509, attestation="unchecked")
    yield case("tpm", fmt="tpm", stmt={"ver": "2.0"}, attestation="unchecked")
    yield case("extensions", flags=0xC5, tail=cbor({"credProtect": 2}))
    yield case("id-one-byte", cid=b"\1")
    yield case("id-1023", cid=b"\1" * 1023)
    yield case("id-empty", bad, "credential_id", cid=b"")
    yield case("id-1024", bad, "credential_id", cid=b"\1" * 1024)
    yield case("id-cut-off", bad, data, length=60000)
    yield case("own-other-key", "bad_signature", "signature", fmt="packed", stmt=own(-7, EC2))
    yield case("own-other-alg", "alg_not_allowed", obj, fmt="packed", stmt=own(-8, EC))
    yield case("own-no-signature", bad, obj, fmt="packed", stmt={"alg": -7})
    yield case("none-with-statement", bad, obj, stmt={"alg": -7})
    yield case("no-credential", bad, obj, flags=0x05)
    yield case("not-present", "user_not_present", data, flags=0x44)
    yield case("not-verified", "user_not_verified", data, flags=0x41)
    yield case("ceremony-get", "wrong_ceremony", "client_data_json/type", cd=client("webauthn.get"))
    yield case("origin-other", "wrong_origin", "client_data_json/origin", cd=client("webauthn.create", origin="https://evil.example"))
    yield case("other-relying-party", "wrong_relying_party", data, rp={**RP, "id": "example.org"})
    yield case("key-rs256", "bad_authenticator_data", data, key_map=cbor({1: 3, 3: -257, -1: b"\1" * 256, -2: b"\1\0\1"}))
    yield case("key-other-curve", "alg_not_allowed", key_map=cbor({**cose(EC), -1: 2}))
    yield case("key-alg-missing", "alg_not_allowed", key_map=cbor({k: v for k, v in cose(EC).items() if k != 3}))
    yield case("key-alg-other", "alg_not_allowed", key_map=cbor({**cose(EC), 3: -8}))
    yield case("key-member-unknown", bad, data, key_map=cbor({**cose(EC), 4: [2]}))
    yield case("key-private", bad, data, key_map=cbor({**cose(EC), -4: b"\1" * 32}))
    yield case("key-duplicate", bad, data, key_map=cbor((*cose(EC).items(), (-3, EC.y))))
    yield case("key-off-curve", "bad_key", key_map=cbor({**cose(EC), -3: EC.x}))
    yield case("key-weak", "weak_key", key_map=cbor({**cose(ED), -2: (1).to_bytes(32, "little")}))
    yield case("key-array", bad, data, key_map=cbor([1]))
    yield case("tail", bad, data, tail=b"\0")
    yield case("object-tail", bad, obj, obj=lambda d: cbor({"fmt": "none", "attStmt": {}, "authData": d}) + b"\0")
    yield case("object-member-unknown", bad, obj, obj=lambda d: cbor({"fmt": "none", "attStmt": {}, "authData": d, "x": 1}))
    yield case("object-member-missing", bad, obj, obj=lambda d: cbor({"fmt": "none", "authData": d}))
    yield case("object-member-twice", bad, data,
               obj=lambda d: cbor((("fmt", "none"), ("fmt", "none"), ("attStmt", {}), ("authData", d))))
    yield case("object-not-a-map", bad, obj, obj=lambda d: cbor([d]))
    yield case("object-not-cbor", bad, data, obj=lambda d: b"\xff")
    deep = b"\x81" * 40 + b"\x01"
    yield case("object-deep", bad, data, obj=lambda d: b"\xa3" + cbor("fmt") + cbor("tpm") + cbor("attStmt") + b"\xa1" +
               cbor("a") + deep + cbor("authData") + cbor(d))


# --- HTTP signatures ----------------------------------------------------------------------------------------------------

RFC_BODY = '{"hello": "world"}'
RFC_FIELDS = [
    ["Host", "example.com"], ["Date", "Tue, 20 Apr 2021 02:07:55 GMT"], ["Content-Type", "application/json"],
    ["Content-Digest", "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"],
    ["Content-Length", "18"]]
RFC_RESPONSE = [
    ["Date", "Tue, 20 Apr 2021 02:07:56 GMT"], ["Content-Type", "application/json"],
    ["Content-Digest", "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:"],
    ["Content-Length", "23"]]
RFC_ED = {"kty": "OKP", "crv": "Ed25519", "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}
RFC_EC = {"kty": "EC", "crv": "P-256", "x": "qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA",
          "y": "Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0"}
CREATED = 1618884473


def http_cases():
    def case(id, message, profile, keys, code=None, place=None, now=CREATED + 10, body_rule="ignored"):
        refused = {"code": code, **({"place": place} if place else {})} if code else {}
        profile = {"body": body_rule, "max_age": 300, "skew": 5, **profile}
        return {"id": id, "message": message, "profile": profile, "now": now, "keys": keys, "valid": code is None, **refused}

    request = {"method": "POST", "url": "https://example.com/foo?param=Value&Pet=dog", "body": RFC_BODY}
    rfc_input = ('sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;'
                 'keyid="test-key-ed25519"')
    rfc_sig = "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:"
    signed = {**request, "fields": RFC_FIELDS + [["Signature-Input", rfc_input], ["Signature", rfc_sig]]}
    covered = {"components": ["@method", "@path", "@authority", "content-type"]}
    keys = {"test-key-ed25519": RFC_ED}
    yield case("rfc9421-b26", signed, covered, keys)
    yield case("rfc9421-b26-body", signed, covered, keys, "bad_component", "signature-input", body_rule="if_any")
    for name, change in (("method", {"method": "PUT"}), ("path", {"url": "https://example.com/bar"}),
                         ("authority", {"url": "https://example.org/foo"})):
        yield case(f"rfc9421-b26-other-{name}", {**signed, **change}, covered, keys, "bad_signature", "signature")
    yield case("rfc9421-b26-other-query", {**signed, "url": "https://example.com/foo"}, covered, keys)
    yield case("rfc9421-b26-authority-normalised", {**signed, "url": "HTTPS://EXAMPLE.com:443/foo"}, covered, keys)
    yield case("rfc9421-b26-unknown-key", signed, covered, {}, "unknown_key", "signature-input")
    yield case("rfc9421-b26-other-key", signed, covered, {"test-key-ed25519": ED.jwk}, "bad_signature", "signature")
    response = {"status": 200, "body": '{"message": "good dog"}', "fields": RFC_RESPONSE + [
        ["Signature-Input", 'sig-b24=("@status" "content-type" "content-digest" "content-length");created=1618884473;'
                            'keyid="test-key-ecc-p256"'],
        ["Signature", "sig-b24=:wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==:"]]}
    answer = {"components": ["@status", "content-digest"]}
    yield case("rfc9421-b24", response, answer, {"test-key-ecc-p256": RFC_EC}, body_rule="always")
    yield case("rfc9421-b24-other-status", {**response, "status": 201}, answer, {"test-key-ecc-p256": RFC_EC},
               "bad_signature", "signature", body_rule="always")
    yield case("rfc9421-b24-other-body", {**response, "body": "{}"}, answer, {"test-key-ecc-p256": RFC_EC},
               "digest_mismatch", "content-digest", body_rule="always")

    # Our own: the base of RFC 9421 2.5 put together here and signed.
    digest = "sha-256=:" + base64.b64encode(hashlib.sha256(RFC_BODY.encode()).digest()).decode() + ":"
    own_url = "https://api.example:8443/v1/asks?x=1"
    lines = {"@method": "POST", "@target-uri": own_url, "@authority": "api.example:8443", "@scheme": "https",
             "@request-target": "/v1/asks?x=1", "@path": "/v1/asks", "@query": "?x=1", "content-digest": digest,
             "x-two": "a, b", "x-empty": ""}
    fields = [["content-digest", digest], ["X-Two", " a "], ["x-two", "b\t"], ["x-empty", ""]]

    def own(id, names, params, code=None, place=None, profile=None, key=ED, label="sig", written=None, fields_more=(),
            sig_label=None, now=CREATED + 10, body_rule="if_any", raw_sig=None, url=own_url, keys=None, body=RFC_BODY):
        inner = "(" + " ".join(f'"{name}"' for name in names) + ")" + params
        base = "".join(f'"{name}": {lines.get(name, "?")}\n' for name in names) + '"@signature-params": ' + inner
        value = raw_sig if raw_sig is not None else base64.b64encode(key.sign(base.encode())).decode()
        message = {"method": "POST", "url": url, "body": body, "fields": fields + list(fields_more) + [
            ["signature-input", written or f"{label}={inner}"], ["signature", f"{sig_label or label}=:{value}:"]]}
        profile = profile or {"components": ["@method", "@target-uri"]}
        return case(id, message, profile, keys if keys is not None else {"k": key.jwk}, code, place, now, body_rule)

    usual = ["@method", "@target-uri", "content-digest"]
    made = f";created={CREATED};keyid=\"k\""
    yield own("plain", usual, made)
    yield own("p256", usual, made, key=EC)
    yield own("every-component", list(lines), made)
    yield own("every-parameter", usual, f';created={CREATED};expires={CREATED + 60};keyid="k";alg="ed25519";nonce="n";tag="t"',
              profile={"components": ["@method"], "tag": "t", "requires": ["expires", "keyid", "alg", "nonce", "tag"]})
    yield own("parameters-in-another-order", usual, f';keyid="k";created={CREATED}')
    yield own("white-space", usual, made,
              written=f'sig=( "@method"  "@target-uri" "content-digest" ); created={CREATED}; keyid="k"')
    yield own("alg-other", usual, made + ';alg="ecdsa-p256-sha256"', "alg_not_allowed", "signature-input")
    for name in ("expires", "alg", "nonce", "tag"):
        yield own(f"requires-{name}", usual, made, "bad_parameter", "signature-input",
                  profile={"components": ["@method"], "requires": [name]})
    yield own("requires-keyid", usual, f";created={CREATED}", "bad_parameter", "signature-input",
              profile={"components": ["@method"], "requires": ["keyid"]})
    yield own("created-missing", usual, ';keyid="k"', "bad_parameter", "signature-input")
    yield own("created-a-string", usual, ';created="1";keyid="k"', "bad_parameter", "signature-input")
    yield own("keyid-a-token", usual, f";created={CREATED};keyid=k", "bad_parameter", "signature-input")
    yield own("parameter-unknown", usual, made + ";x=1", "bad_parameter", "signature-input")
    yield own("parameter-twice", usual, made + ';keyid="k"', "bad_signature_field", "signature-input")
    yield own("expires-before-created", usual, made + f";expires={CREATED}", "bad_parameter", "signature-input")
    yield own("expired", usual, made + f";expires={CREATED + 10}", "signature_expired", "signature-input")
    yield own("not-yet-expired", usual, made + f";expires={CREATED + 11}")
    yield own("too-old", usual, made, "signature_expired", "signature-input", now=CREATED + 306)
    yield own("as-old-as-can-be", usual, made, now=CREATED + 305)
    yield own("from-the-future", usual, made, "signature_not_yet_valid", "signature-input", now=CREATED - 6)
    yield own("a-fast-clock", usual, made, now=CREATED - 5)
    yield own("component-required", ["@method", "content-digest"], made, "bad_component", "signature-input")
    yield own("body-not-covered", ["@method", "@target-uri"], made, "bad_component", "signature-input")
    yield own("body-empty", ["@method", "@target-uri"], made, body="")
    yield own("body-empty-always", ["@method", "@target-uri"], made, "bad_component", "signature-input", body="",
              body_rule="always")
    yield own("body-other", usual, made, "digest_mismatch", "content-digest", body="{}")
    yield own("component-twice", [*usual, "@method"], made, "bad_component", "signature-input")
    yield own("component-absent", [*usual, "x-none"], made, "bad_component", "x-none")
    yield own("component-upper-case", [*usual, "X-Two"], made, "bad_component", "X-Two")
    yield own("component-unknown", [*usual, "@query-param"], made, "bad_component", "@query-param")
    yield own("component-of-a-response", [*usual, "@status"], made, "bad_component", "@status")
    yield own("component-with-parameters", usual, made, "bad_component", "signature-input",
              written=f'sig=("@method";req "@target-uri" "content-digest"){made}')
    yield own("component-a-token", usual, made, "bad_component", "signature-input", written=f"sig=(method){made}")
    yield own("value-not-ascii", [*usual, "x-far"], made, "bad_component", "x-far", fields_more=[["x-far", "é"]])
    yield own("value-of-two-lines", [*usual, "x-far"], made, "bad_component", "x-far", fields_more=[["x-far", 'a\n"@method": GET']])
    yield own("label-other", usual, made, "signature_missing", "signature-input",
              profile={"components": ["@method"], "label": "sig1"})
    yield own("label-of-no-value", usual, made, "signature_missing", "signature", sig_label="other")
    yield own("tag-other", usual, made + ';tag="t"', "signature_missing", "signature-input",
              profile={"components": ["@method"], "tag": "u"})
    second = [["signature-input", f'proxy=("@method"){made};tag="proxy"'], ["signature", "proxy=:AA==:"]]
    yield own("two-signatures", usual, made, "signature_ambiguous", "signature-input", fields_more=second)
    yield own("two-signatures-by-label", usual, made, fields_more=second, profile={"components": ["@method"], "label": "sig"})
    yield own("two-signatures-by-tag", usual, made + ';tag="t"', fields_more=second,
              profile={"components": ["@method"], "tag": "t"})
    yield own("label-twice", usual, made, "bad_signature_field", "signature-input",
              fields_more=[["signature-input", f'sig=("@method"){made}']])
    yield own("input-not-a-list", usual, made, "bad_signature_field", "signature-input", written="sig=1")
    yield own("value-short", usual, made, "bad_signature_form", "signature", raw_sig="AA==")
    yield own("value-not-base64", usual, made, "bad_signature_field", "signature", raw_sig="A")
    yield case("no-signature", {**request, "fields": RFC_FIELDS}, covered, keys, "signature_missing", "signature-input")


write("ed25519.jsonl", ed25519_cases())
write("p256.jsonl", p256_cases())
write("jwk.jsonl", jwk_cases())
write("jws.jsonl", jws_cases())
write("http.jsonl", http_cases())
write("webauthn.jsonl", [*assertion_cases(), *registration_cases()])
