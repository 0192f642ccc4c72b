"""Says of an address why we must not connect to it, or that we may: pure, and closed to whatever it does not know.

The rule it implements: every address is judged after unwrapping the forms that carry another one inside (IPv4-mapped,
NAT64, 6to4, ISATAP), because a gateway on the way unwraps them too; Teredo is refused whole. In IPv6 only the global
unicast space and NAT64's well-known prefix are open. A spelling that is not the canonical one is refused, since the
operating system may read another address into it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Networks: TypeAlias = tuple[Network, ...]

#: Where clouds serve credentials to whoever asks; named first, though most of them lie in the ranges below.
_METADATA: Final = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",  # nearly all of them
        "169.254.170.2",  # Amazon ECS
        "169.254.170.23",  # Amazon EKS
        "fd00:ec2::254",  # Amazon EC2
        "fd00:ec2::23",  # Amazon EKS
        "fd20:ce::254",  # Google
        "100.100.100.200",  # Alibaba
        "192.0.0.192",  # Oracle
        "168.63.129.16",  # Azure; a public address, so no range covers it
    )
)


def _table(rows: Iterable[tuple[str, str]]) -> tuple[tuple[Network, str], ...]:
    return tuple((ipaddress.ip_network(text), reason) for text, reason in rows)


# The special-purpose registries of IANA (RFC 6890 and its updates), written out: the standard library's ``is_global``
# differs between versions of Python. The first match counts.
_V4: Final = _table(
    (
        ("0.0.0.0/32", "the unspecified address"),
        ("0.0.0.0/8", "a reserved address"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "an address of carrier-grade NAT"),
        ("127.0.0.0/8", "a loopback address"),
        ("169.254.0.0/16", "a link-local address"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "an address for documentation"),
        ("192.88.99.0/24", "a reserved address"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "an address for benchmarks"),
        ("198.51.100.0/24", "an address for documentation"),
        ("203.0.113.0/24", "an address for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("255.255.255.255/32", "the broadcast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)
_V6: Final = _table(
    (
        ("::/128", "the unspecified address"),
        ("::1/128", "a loopback address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a private address"),
        ("fc00::/7", "a private address"),
        ("ff00::/8", "a multicast address"),
        ("2001:db8::/32", "an address for documentation"),
        ("3fff::/20", "an address for documentation"),
        ("2001::/23", "a reserved address"),
    )
)
_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")
_OPEN_V6: Final = (ipaddress.IPv6Network("2000::/3"), _MAPPED, _NAT64)
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
_LOW_32: Final = 0xFFFFFFFF


def verdict(address: str, allowed: Iterable[Network] = ()) -> str | None:
    """Why ``address`` must not be connected to, as words that follow "it is"; None when it may be.

    Args:
        address: as the socket is about to use it; an IPv6 zone (``%eth0``) is looked past.
        allowed: ranges that the operator opened; a range opens the addresses that other forms carry inside, too.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "no address in its usual spelling"
    return _judge(parsed, tuple(allowed))


def allowing(address: str, allowed: Iterable[Network] = ()) -> str:
    """The line of settings that would open this address and keep open what already is.

    Args:
        address: one that `verdict` refused.
        allowed: as given to `verdict`.
    """
    opened = tuple(allowed)
    parsed = ipaddress.ip_address(address.partition("%")[0])
    inside = _inside(parsed) if isinstance(parsed, ipaddress.IPv6Address) else ()
    ranges = map(ipaddress.ip_network, (*inside, parsed))
    enough = next(network for network in ranges if verdict(address, (*opened, network)) is None)
    return "PUNTUAL_ALLOW_PRIVATE_ADDRESSES=" + ",".join(map(str, (*opened, enough)))


def _judge(address: Address, allowed: tuple[Network, ...]) -> str | None:
    if any(address in network for network in allowed):
        return None
    if address in _METADATA:
        return "the address of a cloud's metadata service"
    if isinstance(address, ipaddress.IPv4Address):
        return _listed(address, _V4)
    if reason := _listed(address, _V6):
        return reason
    for inner in _inside(address):
        if reason := _judge(inner, allowed):
            return f"a form of {inner}, {reason}"
    return None if any(address in network for network in _OPEN_V6) else "a reserved address"


def _listed(address: Address, table: tuple[tuple[Network, str], ...]) -> str | None:
    return next((reason for network, reason in table if address in network), None)


def _inside(address: ipaddress.IPv6Address) -> Iterator[ipaddress.IPv4Address]:
    """The IPv4 addresses that something on the way may read out of an IPv6 one."""
    number = int(address)
    if any(address in network for network in (_MAPPED, _NAT64, _COMPATIBLE)) or number >> 32 & _LOW_32 in _ISATAP:
        yield ipaddress.IPv4Address(number & _LOW_32)
    if address.sixtofour is not None:
        yield address.sixtofour
