"""What the rest stands on: strict JSON, canonical form, pointers, instants, Ed25519, schemas (docs/pcm-cs.md, section 2) and the
strict readings (section 13). Sections named in comments are of that text."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MOST = 2**53 - 1

class BadJson(Exception):
    """Refused by 2.1; `word` says why, `at` is the offset in characters."""
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
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
CHUNK = re.compile(r'([^"\\\x00-\x1f]*)(?:"|\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4})))')
LOW = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
ESCAPES = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t'))
WORDS = {"true": True, "false": False, "null": None}

class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def bad(self, word: str = "syntax") -> BadJson:
        return BadJson(word, self.at)

    def take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if not found:
            raise self.bad("non_finite" if self.text.startswith(("NaN", "Infinity", "-Infinity"), self.at) else "syntax")
        self.at = found.end()
        return found

    def next(self) -> str:
        self.take(BLANKS)
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Any:
        char = self.next()
        if char in ("{", "["): return self.inside({} if char == "{" else [], "}" if char == "{" else "]", depth + 1)
        if char == '"': return self.string()
        for word, value in WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        found = self.take(NUMBER)
        token = found.group()
        if not found.group(1):
            if len(token.lstrip("-")) > 16 or abs(int(token)) > MOST: raise self.bad("int_range")
            return MinusZero(0) if token == "-0" else int(token)
        if abs(float(token)) == float("inf"): raise self.bad("non_finite")
        return float(token)

    def inside(self, found: Any, close: str, depth: int) -> Any:
        if depth > 128: raise self.bad("depth")
        self.at += 1
        char = self.next()
        while char != close:
            if close == "}":
                if self.next() != '"': raise self.bad()
                name = self.string()
                if name in found: raise self.bad("duplicate_key")
                if self.next() != ":": raise self.bad()
                self.at += 1
                found[name] = self.value(depth)
            else:
                found.append(self.value(depth))
            char = self.next()
            if char not in (",", close): raise self.bad()
            self.at += char == ","
        self.at += 1
        return found

    def string(self) -> str:
        parts: list[str] = []
        self.at += 1
        while True:
            plain, escape, unit = self.take(CHUNK).groups()
            parts.append(plain)
            if escape is None and unit is None: return "".join(parts)
            code = int(unit, 16) if unit else ord(ESCAPES[escape])
            if 0xD800 <= code < 0xE000:
                low = LOW.match(self.text, self.at)
                if code >= 0xDC00 or not low: raise self.bad("lone_surrogate")
                self.at = low.end()
                code = 0x10000 + (code - 0xD800 << 10) + int(low.group(1), 16) - 0xDC00
            parts.append(chr(code))

def parse(data: bytes | str) -> Any:
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error: raise BadJson("invalid_utf8", error.start) from None
    reader = _Reader(text)
    value = reader.value(0)
    if reader.next(): raise reader.bad()
    return value

# 2.2 Canonical form.

def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

def _double(value: float) -> str:
    """As ECMAScript's Number::toString."""
    if value == 0: return "0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    at = len(text) + int(exponent)
    text = text.rstrip("0")
    if len(text) <= at <= 21: out = text + "0" * (at - len(text))
    elif 0 < at <= 21: out = f"{text[:at]}.{text[at:]}"
    elif -6 < at <= 0: out = "0." + "0" * -at + text
    else:
        out = text[0] + ("." + text[1:] if len(text) > 1 else "") + f"e{at - 1:+d}"
    return "-" * sign + out

def _canonical(value: Any) -> str:
    if isinstance(value, float): return _double(value)
    if isinstance(value, list): return "[" + ",".join(map(_canonical, value)) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{_canonical(name)}:{_canonical(value[name])}" for name in names) + "}"
    return json.dumps(value, ensure_ascii=False)  # of texts, integers and words just what RFC 8785 asks

def jcs(value: Any) -> bytes:
    return _canonical(value).encode("utf-8")

def same(one: Any, other: Any) -> bool:
    """The same in canonical form, or both absent."""
    return one is other if one is MISSING or other is MISSING else jcs(one) == jcs(other)

def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()

def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()

# 2.3 Base64, pointers, instants.

def base64_of(text: Any, length: int | None = None) -> bytes | None:
    """The bytes of base64 in its one spelling, of `length` bytes where that is asked; else None."""
    try:
        data = base64.b64decode(text, validate=True)
    except (TypeError, ValueError): return None
    return data if base64.b64encode(data).decode() == text and length in (None, len(data)) else None

def point(value: Any, pointer: str) -> Any:
    """Where a JSON Pointer leads, or MISSING."""
    if pointer and not pointer.startswith("/"): return MISSING
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and step in value: value = value[step]
        elif isinstance(value, list) and re.fullmatch(r"0|[1-9][0-9]{0,9}", step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value

def escape(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")

INSTANT = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{6})Z")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

def instant(text: Any) -> int | None:
    """Microseconds since 1970 of an instant there is, else None."""
    found = INSTANT.fullmatch(text) if isinstance(text, str) else None
    try:
        past = datetime(*map(int, found.groups()), tzinfo=timezone.utc) - EPOCH if found else None  # type: ignore[arg-type, misc]
    except ValueError: return None
    return None if past is None else (past.days * 86400 + past.seconds) * 1_000_000 + past.microseconds

# 2.4 Ed25519. The library compares encodings of R; it is guarded for the key and for S.

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SPKI = bytes.fromhex("302a300506032b6570032100")

@lru_cache(maxsize=4096)
def key_holds(key: bytes) -> bool:
    """A point of the curve, in its one encoding, not of small order."""
    sign, y = (key[31] >> 7, int.from_bytes(key, "little") & (2**255 - 1)) if len(key) == 32 else (0, P)
    if y >= P: return False
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P: x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign): return False
    for _ in range(3):  # eight times the point: the neutral (0, 1) only if it is of small order
        product = D * x * x * y * y % P
        x, y = 2 * x * y * pow(1 + product, -1, P) % P, (y * y + x * x) * pow(1 - product, -1, P) % P
    return (x, y) != (0, 1)

def signed(key: bytes, signature: bytes, message: bytes) -> bool:
    if len(signature) != 64 or not key_holds(key) or int.from_bytes(signature[32:], "little") >= ORDER: return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature: return False
    return True

# 2.5 Schemas.

class BadSchema(Exception):
    """The schema itself is not one that 2.5 reads."""

TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": is_integer,
    "number": is_number,
}

def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)

READABLE: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("$schema", "$id", "title", "description", "$ref", "pattern"), lambda v: isinstance(v, str)),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), lambda v: is_integer(v) and v >= 0),
    **dict.fromkeys(("minimum", "maximum"), is_number),
    **dict.fromkeys(("items", "additionalProperties", "propertyNames", "if", "then"), lambda v: isinstance(v, (dict, bool))),
    **dict.fromkeys(("$defs", "properties"), lambda v: isinstance(v, dict)),
    **dict.fromkeys(("oneOf", "allOf"), lambda v: isinstance(v, list) and bool(v)),
    "const": lambda v: True,
    "enum": lambda v: isinstance(v, list) and all(isinstance(item, (bool, str)) or is_integer(item) for item in v),
    "required": _texts,
    "type": lambda v: v in TYPES if isinstance(v, str) else _texts(v) and all(name in TYPES for name in v),
}
CLASS = r"(?:\[(?!\^)(?:[^\]\\\[]|\\[^A-Za-z0-9])+\]|\\d|\\[^A-Za-z0-9]|[^\\.^$*+?()\[\]{}|])"
PATTERN = re.compile(rf"\^(?:{CLASS}(?:\{{[0-9]+(?:,[0-9]+)?\}}|\+|\*)?)*\$")

class Schema:
    def __init__(self, document: Any) -> None:
        self.root = document
        self._read(document)

    def _read(self, node: Any) -> None:
        if isinstance(node, bool): return
        if not isinstance(node, dict): raise BadSchema("a schema is an object")
        for word, value in node.items():
            if word not in READABLE or not READABLE[word](value): raise BadSchema(word)
            if word in ("items", "additionalProperties", "propertyNames", "if", "then"):
                self._read(value)
            elif word in ("$defs", "properties", "oneOf", "allOf"):
                for child in value if isinstance(value, list) else value.values():
                    self._read(child)
        if "$ref" in node and (not node.keys() <= {"$ref", "description"} or self._target(node) is MISSING):
            raise BadSchema("$ref")
        if "pattern" in node and not PATTERN.fullmatch(node["pattern"]): raise BadSchema("pattern")
        if ("if" in node) != ("then" in node): raise BadSchema("if")

    def _target(self, node: dict[str, Any]) -> Any:
        return point(self.root, node["$ref"][1:]) if node["$ref"].startswith("#/$defs/") else MISSING

    def misfit(self, value: Any) -> str | None:
        """The place of the first misfit, or None."""
        return self._misfit(self.root, value, "")

    def _misfit(self, node: Any, value: Any, place: str) -> str | None:
        if isinstance(node, bool): return None if node else place
        if "$ref" in node: return self._misfit(self._target(node), value, place)
        types = node.get("type", [])
        if types and not any(TYPES[name](value) for name in (types if isinstance(types, list) else [types])):
            return place
        # numbers compare by value, which is what their canonical form keeps
        if "const" in node and not same(value, node["const"]): return place
        if "enum" in node and not any(same(value, item) for item in node["enum"]): return place
        size = len(value) if isinstance(value, (str, list)) else 0
        if isinstance(value, str):
            if "pattern" in node and not re.fullmatch(node["pattern"][1:-1], value, re.ASCII): return place
            if not node.get("minLength", 0) <= size <= node.get("maxLength", size): return place
        elif is_number(value) and not node.get("minimum", value) <= value <= node.get("maximum", value): return place
        elif isinstance(value, list) and not node.get("minItems", 0) <= size <= node.get("maxItems", size):
            return place
        for child, part, here in self._parts(node, value, place):
            if (found := self._misfit(child, part, here)) is not None: return found
        if "oneOf" in node and sum(self._misfit(child, value, place) is None for child in node["oneOf"]) != 1:
            return place
        for child in node.get("allOf", []):
            if (found := self._misfit(child, value, place)) is not None: return found
        if "if" in node and self._misfit(node["if"], value, place) is None:
            return self._misfit(node["then"], value, place)
        return None

    def _parts(self, node: dict[str, Any], value: Any, place: str) -> Iterator[tuple[Any, Any, str]]:
        """What is asked of a value's elements and members, in order."""
        if isinstance(value, list):
            yield from ((node.get("items", True), item, f"{place}/{at}") for at, item in enumerate(value))
        elif isinstance(value, dict):
            yield from ((name in value, None, place + escape(name)) for name in node.get("required", []))
            known = node.get("properties", {})
            for name, member in value.items():
                yield node.get("propertyNames", True), name, place + escape(name)
                yield known.get(name, node.get("additionalProperties", True)), member, place + escape(name)

# 13 Strict readings: what is read, or None where there is not exactly one reading.

LABEL = re.compile(r"[a-z0-9-]{1,63}")
PART = re.compile(r"0|[1-9][0-9]{0,2}")
UNRESERVED = r"A-Za-z0-9\-._~"
CHARS = UNRESERVED + r"!$&()*+,;=/:@"
URL = re.compile(rf"(https?)://([^/?]*)((?:/(?:[{CHARS}']|%[0-9A-F]{{2}})*)?)((?:\?(?:[{CHARS}?]|%[0-9A-F]{{2}})*)?)")
BARE = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*")
QUOTED = re.compile(r"'([^']*)'")
RESERVED = set("if then else elif fi for while until do done case esac in select function time coproc repeat foreach end".split())
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
        except ValueError: return None
        carries = any(address in network for network in CARRIERS) and int(address) > 1
        return text if str(address) == text[1:-1] and not carries and "%" not in text else None
    parts = text.split(".")
    if len(parts) == 4 and all(PART.fullmatch(part) and int(part) <= 255 for part in parts): return text
    return text if is_name(text) else None

def read_url(text: str) -> str | None:
    found = URL.fullmatch(text)
    if not found: return None
    scheme, authority, path, query = found.groups()
    host, port = re.fullmatch(r"(.*?)((?::[^:\]]*)?)", authority, re.DOTALL).groups()  # type: ignore[union-attr]
    if read_host(host) is None: return None
    if port and (not re.fullmatch(r":[1-9][0-9]{0,4}", port) or int(port[1:]) > 65535): return None
    if port == {"http": ":80", "https": ":443"}[scheme]: return None
    if any(part in (".", "..") for part in path.split("/")): return None
    for escaped in re.findall("%(..)", path + query):
        if re.fullmatch(f"[{UNRESERVED}]", chr(int(escaped, 16))): return None
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
            if not words or read_text(word) is None: return None
        elif found := BARE.match(text, at):
            word = found.group()
            if not words and ("=" in word or word.startswith("-") or word in RESERVED): return None
        else:
            return None
        words.append(word)
        at = found.end()
        if at == len(text): return words
        if text[at] != " ": return None
        at += 1

def read_path(text: str, ascii_only: bool = False) -> str | None:
    if not text.startswith("/") or (ascii_only and not text.isascii()): return None
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
        for item in value: yield from _leaves(item)
    else:
        yield value

def ambiguity(value: Any) -> str | None:
    """The code of the first thing in a value that has no one reading (13.6), or None."""
    for leaf in _leaves(value):
        if is_number(leaf) and not strict_number(leaf): return "ambiguous_number"
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
    if found is not MISSING: return found
    for at in (at for at, char in enumerate(pointer) if char == "/" and at):
        text = point(value, pointer[:at])
        if isinstance(text, str):
            try:
                return point(parse(text), pointer[at:])
            except BadJson as error:
                raise Ambiguous("ambiguous_number" if error.word in ("non_finite", "int_range") else "ambiguous_text") from None
    return MISSING
