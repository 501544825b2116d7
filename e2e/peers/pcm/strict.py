"""What every other part rests on: strict JSON, canonical form, pointers, instants, schemas, Ed25519 (pcm-cs.md, section 2)
and the strict readings (section 13). Sections named in comments are of docs/pcm-cs.md."""
from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
import unicodedata
from datetime import datetime, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any, Iterator

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MOST = 2**53 - 1


class BadJson(Exception):
    """Refused by 2.1; `word` says why and `at` is the offset in characters."""

    def __init__(self, word: str, at: int) -> None:
        super().__init__(f"{word} at {at}")
        self.word, self.at = word, at


class MinusZero(int):
    """The integer token `-0`: its value is 0, but it is no strict number (13.6)."""


class Missing:
    """Where a pointer leads nowhere; null is a value."""


MISSING = Missing()


# 2.1 Strict JSON. An integer token becomes an int, any other number a float, so the kind of each token is kept.

BLANKS = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
HEX4 = re.compile(r"[0-9a-fA-F]{4}")
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def bad(self, word: str = "syntax") -> BadJson:
        return BadJson(word, self.at)

    def blanks(self) -> str:
        self.at = BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Any:
        char = self.blanks()
        if char in ("{", "["):
            if depth == 128:
                raise self.bad("depth")
            self.at += 1
            return self.members(depth + 1) if char == "{" else self.elements(depth + 1)
        if char == '"':
            return self.string()
        for word, value in (("true", True), ("false", False), ("null", None)):
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        if self.text.startswith(("NaN", "Infinity", "-Infinity"), self.at):
            raise self.bad("non_finite")
        return self.number()

    def number(self) -> int | float:
        found = NUMBER.match(self.text, self.at)
        if not found:
            raise self.bad()
        token = found.group()
        if found.group(2) is None and found.group(3) is None:
            if len(token.lstrip("-")) > 16 or abs(int(token)) > MOST:
                raise self.bad("int_range")
            number: int | float = MinusZero(0) if token == "-0" else int(token)
        else:
            number = float(token)
            if number in (float("inf"), float("-inf")):
                raise self.bad("non_finite")
        self.at = found.end()
        return number

    def string(self) -> str:
        self.at += 1
        parts: list[str] = []
        while True:
            plain = PLAIN.match(self.text, self.at)
            assert plain
            parts.append(plain.group())
            self.at = plain.end()
            char = self.text[self.at : self.at + 1]
            if char == '"':
                self.at += 1
                return "".join(parts)
            if char != "\\":
                raise self.bad()
            escape = self.text[self.at + 1 : self.at + 2]
            if escape in ESCAPES and escape:
                parts.append(ESCAPES[escape])
                self.at += 2
            else:
                parts.append(self.unicode_escape())

    def unicode_escape(self) -> str:
        unit = self.unit(self.at)
        if unit is None:
            raise self.bad()
        if 0xD800 <= unit < 0xDC00:
            low = self.unit(self.at + 6)
            if low is None or not 0xDC00 <= low < 0xE000:
                raise self.bad("lone_surrogate")
            self.at += 12
            return chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
        if 0xDC00 <= unit < 0xE000:
            raise self.bad("lone_surrogate")
        self.at += 6
        return chr(unit)

    def unit(self, at: int) -> int | None:
        found = HEX4.match(self.text, at + 2) if self.text.startswith("\\u", at) else None
        return int(found.group(), 16) if found else None

    def elements(self, depth: int) -> list[Any]:
        found: list[Any] = []
        if self.blanks() == "]":
            self.at += 1
            return found
        while True:
            found.append(self.value(depth))
            char = self.blanks()
            if char not in (",", "]"):
                raise self.bad()
            self.at += 1
            if char == "]":
                return found

    def members(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.blanks() == "}":
            self.at += 1
            return found
        while True:
            if self.blanks() != '"':
                raise self.bad()
            name = self.string()
            if name in found:
                raise self.bad("duplicate_key")
            if self.blanks() != ":":
                raise self.bad()
            self.at += 1
            found[name] = self.value(depth)
            char = self.blanks()
            if char not in (",", "}"):
                raise self.bad()
            self.at += 1
            if char == "}":
                return found


def parse(data: bytes | str) -> Any:
    if isinstance(data, bytes):
        try:
            data = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadJson("invalid_utf8", error.start) from None
    reader = _Reader(data)
    value = reader.value(0)
    if reader.blanks():
        raise reader.bad()
    return value


# 2.2 Canonical form.


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _double(value: float) -> str:
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    point = len(text) + int(exponent)
    text = text.rstrip("0")
    if len(text) <= point <= 21:
        out = text + "0" * (point - len(text))
    elif 0 < point <= 21:
        out = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        out = "0." + "0" * -point + text
    else:
        out = text[0] + ("." + text[1:] if len(text) > 1 else "") + f"e{point - 1:+d}"
    return ("-" if sign else "") + out


SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
ESCAPED = re.compile(r'["\\\x00-\x1f]')


def _canonical(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, str):
        return '"' + ESCAPED.sub(lambda m: SHORT.get(m.group()) or f"\\u{ord(m.group()):04x}", value) + '"'
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(f"{_canonical(name)}:{_canonical(value[name])}" for name in names) + "}"


def jcs(value: Any) -> bytes:
    return _canonical(value).encode("utf-8")


def same(one: Any, other: Any) -> bool:
    """The same in canonical form, or both absent."""
    if one is MISSING or other is MISSING:
        return one is other
    return jcs(one) == jcs(other)


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


# 2.3 Base64, pointers, instants.


def base64_of(text: Any, length: int | None = None) -> bytes | None:
    """The bytes of base64 in its one spelling, of `length` bytes where that is asked; else None."""
    if not isinstance(text, str):
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    if base64.b64encode(data).decode() != text or (length is not None and len(data) != length):
        return None
    return data


def point(value: Any, pointer: str) -> Any:
    """Where a JSON Pointer leads, or MISSING."""
    if pointer == "":
        return value
    if not pointer.startswith("/"):
        return MISSING
    for step in pointer[1:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and re.fullmatch(r"0|[1-9][0-9]{0,9}", step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


def escape(name: str | int) -> str:
    return "/" + str(name).replace("~", "~0").replace("/", "~1")


INSTANT = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{6})Z")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def instant(text: Any) -> int | None:
    """Microseconds since 1970 of an instant there is, else None."""
    found = INSTANT.fullmatch(text) if isinstance(text, str) else None
    if not found:
        return None
    try:
        when = datetime(*map(int, found.groups()), tzinfo=timezone.utc)  # type: ignore[misc, arg-type]
    except ValueError:
        return None
    past = when - EPOCH
    return (past.days * 86400 + past.seconds) * 1_000_000 + past.microseconds


# 2.4 Ed25519. The library is guarded for the key; it compares encodings of R and asks for S below the order itself, and
# so does this, not to depend on it.

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SPKI = bytes.fromhex("302a300506032b6570032100")


@lru_cache(maxsize=4096)
def key_holds(key: bytes) -> bool:
    """A point of the curve, in its one encoding, not of small order."""
    if len(key) != 32:
        return False
    sign, y = key[31] >> 7, int.from_bytes(key, "little") & (2**255 - 1)
    if y >= P:
        return False
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign):
        return False
    for _ in range(3):  # eight times the point: the neutral one (0, 1) only if the point is of small order
        product = D * x * x * y * y % P
        x, y = 2 * x * y * pow(1 + product, -1, P) % P, (y * y + x * x) * pow(1 - product, -1, P) % P
    return (x, y) != (0, 1)


def signed(key: bytes, signature: bytes, message: bytes) -> bool:
    if len(signature) != 64 or not key_holds(key) or int.from_bytes(signature[32:], "little") >= ORDER:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


# 2.5 Schemas.


class BadSchema(Exception):
    """The schema itself is not one that 2.5 reads."""


TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": is_integer,
    "number": is_number,
}
SCHEMA_KINDS: dict[str, set[str]] = {
    "text": {"$schema", "$id", "title", "description", "$ref", "pattern"},
    "count": {"minLength", "maxLength", "minItems", "maxItems"},
    "number": {"minimum", "maximum"},
    "schema": {"items", "additionalProperties", "propertyNames", "if", "then"},
    "schemas": {"$defs", "properties"},
    "list": {"oneOf", "allOf"},
    "other": {"type", "const", "enum", "required"},
}
CLASS = r"(?:\[(?:[A-Za-z0-9_ ./:+@~!$&()*,;=%'#-]|\\[^A-Za-z0-9])+\]|\\d|\\[^A-Za-z0-9]|[A-Za-z0-9_ /:@~!&,;=%'#-])"
PATTERN = re.compile(rf"\^(?:{CLASS}(?:\{{[0-9]+(?:,[0-9]+)?\}}|\+|\*)?)*\$")


def equal(one: Any, other: Any) -> bool:
    """Equal as `const` and `enum` ask: numbers by value."""
    if is_number(one) and is_number(other):
        return one == other
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)
    return bool(one == other)


class Schema:
    def __init__(self, document: Any) -> None:
        self.root = document
        self.patterns: dict[str, re.Pattern[str]] = {}
        self._read(document)

    def _read(self, node: Any) -> None:
        if isinstance(node, bool):
            return
        if not isinstance(node, dict):
            raise BadSchema("a schema is an object")
        for word, value in node.items():
            kind = next((kind for kind, words in SCHEMA_KINDS.items() if word in words), None)
            good = {
                "text": isinstance(value, str),
                "count": is_integer(value) and value >= 0,
                "number": is_number(value),
                "schema": isinstance(value, (dict, bool)),
                "schemas": isinstance(value, dict),
                "list": isinstance(value, list) and bool(value),
                "other": True,
            }.get(kind or "", False)
            if word == "type":
                names = value if isinstance(value, list) else [value]
                good = bool(names) and all(isinstance(name, str) and name in TYPES for name in names)
            elif word == "enum":
                good = isinstance(value, list) and all(isinstance(v, (bool, str)) or is_integer(v) for v in value)
            elif word == "required":
                good = isinstance(value, list) and all(isinstance(v, str) for v in value)
            if not good:
                raise BadSchema(word)
            if kind in ("schema", "list", "schemas"):
                for child in [value] if kind == "schema" else value if kind == "list" else value.values():
                    self._read(child)
        if "$ref" in node and (not node.keys() <= {"$ref", "description"} or not isinstance(self._target(node), (dict, bool))):
            raise BadSchema("$ref")
        if "pattern" in node:
            if not PATTERN.fullmatch(node["pattern"]):
                raise BadSchema("pattern")
            self.patterns[node["pattern"]] = re.compile(node["pattern"][1:-1], re.ASCII)
        if ("if" in node) != ("then" in node):
            raise BadSchema("if")

    def _target(self, node: dict[str, Any]) -> Any:
        return point(self.root, node["$ref"][1:]) if node["$ref"].startswith("#/$defs/") else MISSING

    def misfit(self, value: Any) -> str | None:
        """The place of the first misfit, or None."""
        return self._misfit(self.root, value, "")

    def _misfit(self, node: Any, value: Any, place: str) -> str | None:
        if isinstance(node, bool):
            return None if node else place
        if "$ref" in node:
            return self._misfit(self._target(node), value, place)
        if "type" in node:
            names = node["type"] if isinstance(node["type"], list) else [node["type"]]
            if not any(TYPES[name](value) for name in names):
                return place
        if "const" in node and not equal(value, node["const"]):
            return place
        if "enum" in node and not any(equal(value, item) for item in node["enum"]):
            return place
        if isinstance(value, str):
            if "pattern" in node and not self.patterns[node["pattern"]].fullmatch(value):
                return place
            if not node.get("minLength", 0) <= len(value) <= node.get("maxLength", len(value)):
                return place
        elif is_number(value):
            if not node.get("minimum", value) <= value <= node.get("maximum", value):
                return place
        found: str | None = None
        if isinstance(value, list):
            if not node.get("minItems", 0) <= len(value) <= node.get("maxItems", len(value)):
                return place
            parts = ((node["items"], item, f"{place}/{at}") for at, item in enumerate(value)) if "items" in node else ()
            found = next((bad for part in parts if (bad := self._misfit(*part)) is not None), None)
        elif isinstance(value, dict):
            found = self._members(node, value, place)
        if found is not None:
            return found
        if "oneOf" in node and sum(self._misfit(child, value, place) is None for child in node["oneOf"]) != 1:
            return place
        for child in node.get("allOf", []):
            if (found := self._misfit(child, value, place)) is not None:
                return found
        if "if" in node and self._misfit(node["if"], value, place) is None:
            return self._misfit(node["then"], value, place)
        return None

    def _members(self, node: dict[str, Any], value: dict[str, Any], place: str) -> str | None:
        for name in node.get("required", []):
            if name not in value:
                return place + escape(name)
        known = node.get("properties", {})
        for name, member in value.items():
            here = place + escape(name)
            if "propertyNames" in node and self._misfit(node["propertyNames"], name, here) is not None:
                return here
            child = known[name] if name in known else node.get("additionalProperties", True)
            if (found := self._misfit(child, member, here)) is not None:
                return found
        return None


# 13 Strict readings: what is read, or None where there is not exactly one reading.

LABEL = re.compile(r"[a-z0-9-]{1,63}")
PART = re.compile(r"0|[1-9][0-9]{0,2}")
UNRESERVED = r"A-Za-z0-9\-._~"
CHARS = UNRESERVED + r"!$&()*+,;=/:@"
URL = re.compile(rf"(https?)://([^/?]*)((?:/(?:[{CHARS}']|%[0-9A-F]{{2}})*)?)((?:\?(?:[{CHARS}?]|%[0-9A-F]{{2}})*)?)")
BARE = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*")
QUOTED = re.compile(r"'([^']*)'")
RESERVED = set(
    "if then else elif fi for while until do done case esac in select function time coproc repeat foreach end".split()
)
CARRIERS = [ipaddress.IPv6Network(n) for n in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")]
CARRIERS += [ipaddress.IPv6Network(n) for n in ("64:ff9b:1::/48", "2002::/16")]


def is_name(host: str) -> bool:
    labels = host.split(".")
    if len(host) > 253 or not all(
        LABEL.fullmatch(label) and label[0] != "-" and label[-1] != "-" and not label.startswith("xn--") for label in labels
    ):
        return False
    return not re.fullmatch("[0-9]+", labels[-1]) and not labels[-1].startswith("0x")


def read_host(text: str) -> str | None:
    if text.startswith("[") and text.endswith("]"):
        try:
            address = ipaddress.IPv6Address(text[1:-1])
        except ValueError:
            return None
        carries = any(address in network for network in CARRIERS) and int(address) > 1
        return text if str(address) == text[1:-1] and not carries else None
    parts = text.split(".")
    if len(parts) == 4 and all(PART.fullmatch(part) and int(part) <= 255 for part in parts):
        return text
    return text if is_name(text) else None


def read_url(text: str) -> str | None:
    found = URL.fullmatch(text)
    if not found:
        return None
    scheme, authority, path, query = found.groups()
    host, port = re.fullmatch(r"(.*?)((?::[^:\]]*)?)", authority, re.DOTALL).groups()  # type: ignore[union-attr]
    if read_host(host) is None:
        return None
    if port and (not re.fullmatch(r":[1-9][0-9]{0,4}", port) or int(port[1:]) > 65535):
        return None
    if port == {"http": ":80", "https": ":443"}[scheme]:
        return None
    if any(part in (".", "..") for part in path.split("/")):
        return None
    for escaped in re.findall("%(..)", path + query):
        if re.fullmatch(f"[{UNRESERVED}]", chr(int(escaped, 16))):
            return None
    return f"{scheme}://{authority}{path or '/'}{query}"


def read_text(text: str) -> str | None:
    bad = any(unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") for char in text)
    return None if bad or not unicodedata.is_normalized("NFC", text) else text


def read_command(text: str) -> list[str] | None:
    words: list[str] = []
    at = 0
    while True:
        if found := QUOTED.match(text, at):
            word = found.group(1)
            if not words or read_text(word) is None:
                return None
        elif found := BARE.match(text, at):
            word = found.group()
            if not words and ("=" in word or word.startswith("-") or word in RESERVED):
                return None
        else:
            return None
        words.append(word)
        at = found.end()
        if at == len(text):
            return words
        if text[at] != " ":
            return None
        at += 1


def read_path(text: str, ascii_only: bool = False) -> str | None:
    if not text.startswith("/") or (ascii_only and not text.isascii()):
        return None
    good = all(part not in ("", ".", "..") and "\\" not in part and read_text(part) is not None for part in text[1:].split("/"))
    return text if good else None


def below(path: str, other: str) -> bool:
    return path.startswith(other + "/")


def strict_number(value: Any) -> bool:
    return is_integer(value) and not isinstance(value, MinusZero) and abs(value) <= MOST


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _leaves(member)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def ambiguity(value: Any) -> str | None:
    """The code of the first thing in a value that has no one reading (13.6), or None."""
    for leaf in _leaves(value):
        if is_number(leaf) and not strict_number(leaf):
            return "ambiguous_number"
        if isinstance(leaf, str) and any(read_text(part) is None for part in re.split("[\n\t]", leaf)):
            return "ambiguous_text"
    return None


class Ambiguous(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def into(value: Any, pointer: str) -> Any:
    """Where a pointer into a result leads (13.7), or MISSING; raises Ambiguous."""
    found = point(value, pointer)
    if found is not MISSING:
        return found
    for at in (at for at, char in enumerate(pointer) if char == "/" and at):
        text = point(value, pointer[:at])
        if isinstance(text, str):
            try:
                return point(parse(text), pointer[at:])
            except BadJson as error:
                raise Ambiguous("ambiguous_number" if error.word in ("non_finite", "int_range") else "ambiguous_text") from None
    return MISSING
