from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puntual.targets.http.guard import allowing, verdict


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "1.1.1.1", "2606:2800:21f::1", "2a00:1450::1"])
def test_public_addresses_pass(address: str) -> None:
    """What the public internet routes is open."""
    assert verdict(address) is None


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.0.1", "private"),
        ("fd12::1", "private"),
        ("fec0::1", "private"),
        ("169.254.1.1", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("169.254.169.254", "metadata"),
        ("169.254.170.2", "metadata"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("0.0.0.0", "unspecified"),  # noqa: S104 - nothing is bound
        ("::", "unspecified"),
        ("0.1.2.3", "reserved"),
        ("240.0.0.1", "reserved"),
        ("192.0.0.8", "reserved"),
        ("100::1", "reserved"),
        ("64:ff9b:1::1", "reserved"),
        ("5f00::1", "reserved"),
        ("2001::1", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("192.0.2.1", "documentation"),
        ("2001:db8::1", "documentation"),
        ("198.18.0.1", "benchmarks"),
    ],
)
def test_addresses_that_are_not_public_are_refused_by_name(address: str, word: str) -> None:
    """The reason says what kind of address it is."""
    assert word in str(verdict(address))


@pytest.mark.parametrize(
    "address",
    [
        "::ffff:10.0.0.1",
        "::ffff:a00:1",
        "::10.0.0.1",
        "64:ff9b::10.0.0.1",
        "2002:a00:1::",
        "2606:2800::5efe:10.0.0.1",
        "2606:2800::200:5efe:10.0.0.1",
    ],
)
def test_forms_that_carry_an_address_are_unwrapped(address: str) -> None:
    """Each form of 10.0.0.1 is refused, and the reason names what is inside."""
    assert verdict(address) == "a form of 10.0.0.1, a private address"


@pytest.mark.parametrize("address", ["::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"])
def test_forms_that_carry_a_public_address_pass(address: str) -> None:
    """Unwrapping refuses only what is inside."""
    assert verdict(address) is None


@pytest.mark.parametrize("address", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1.", " 127.0.0.1", ""])
def test_unusual_spellings_fail_closed(address: str) -> None:
    """What is not the usual spelling of an address is refused, whatever is allowed."""
    assert verdict(address, [ipaddress.ip_network("0.0.0.0/0")]) == "no address in its usual spelling"


def test_an_allowed_range_opens_its_addresses_and_no_others() -> None:
    """10.1.0.0/16 opens 10.1.2.3, also inside an IPv6 form, but not 10.2.0.1."""
    allowed = [ipaddress.ip_network("10.1.0.0/16")]
    assert verdict("10.1.2.3", allowed) is None
    assert verdict("::ffff:10.1.2.3", allowed) is None
    assert verdict("10.2.0.1", allowed) == "a private address"


@given(st.ip_addresses(), st.lists(st.ip_addresses(v=4).map(ipaddress.ip_network), max_size=2))
def test_the_line_of_settings_opens_the_refused_address(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, allowed: list[ipaddress.IPv4Network]
) -> None:
    """Whatever is refused, the line that the error gives would open it."""
    if verdict(str(address), allowed) is not None:
        name, _, ranges = allowing(str(address), allowed).partition("=")
        assert name == "PUNTUAL_ALLOW_PRIVATE_ADDRESSES"
        assert verdict(str(address), [ipaddress.ip_network(text) for text in ranges.split(",")]) is None


@given(st.ip_addresses(v=4))
def test_nothing_that_python_calls_private_passes(address: ipaddress.IPv4Address) -> None:
    """The written-out table is at least as strict as the standard library's."""
    if not address.is_global:
        assert verdict(str(address)) is not None


@given(st.ip_addresses(v=4))
def test_a_mapped_address_is_judged_as_what_it_maps(address: ipaddress.IPv4Address) -> None:
    """The mapped form of an address passes exactly when the address does."""
    assert (verdict(f"::ffff:{address}") is None) == (verdict(str(address)) is None)
