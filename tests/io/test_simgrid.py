"""SimGrid's platforms: hosts, clusters and cabinets, units, states and watts, uplinks, and documents that are traps."""

from __future__ import annotations

import gzip
import math
from typing import TYPE_CHECKING

import pytest

from fedsched.core.errors import FederationError
from fedsched.io import read_federation, write_federation
from fedsched.io.platforms.simgrid import node_speed, read_simgrid
from fedsched.model.machine.federation import DEFAULT_BUSY_WATTS, DEFAULT_IDLE_WATTS, Federation

if TYPE_CHECKING:
    from pathlib import Path

DOCTYPE = '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
TWO_CLUSTERS = """
<zone id="world" routing="Full">
  <cluster id="big" prefix="b" suffix="" radical="0-99,200" speed="2Gf" bw="125MBps" lat="1us" bb_bw="2.25GBps"/>
  <zone id="small" routing="Cluster">
    <host id="s0" speed="1e9f"><prop id="wattage_per_state" value="95.0:190.5"/></host>
    <host id="s1" speed="1Gf, 0.5Gf" pstate="1">
      <prop id="watt_per_state" value="90:120:200, 80:110:150"/><prop id="watt_off" value="10"/>
    </host>
    <cabinet id="c" prefix="t" suffix="" radical="1-4" speed="1Gf" bw="1Gbps" lat="1us"/>
    <backbone id="bb" bandwidth="10Gbps" latency="1us"/>
  </zone>
  <cluster id="m" prefix="master_host" suffix="" radical="0-0" speed="1Gf" bw="1Bps" lat="1us"/>
  <link id="wide" bandwidth="100MiBps" latency="1ms"/>
  <link id="slow" bandwidth="1kBps" latency="1ms"/>
  <zoneRoute src="big" dst="small" gw_src="x" gw_dst="y"><link_ctn id="wide"/></zoneRoute>
  <zoneRoute src="big" dst="m" gw_src="x" gw_dst="z"><link_ctn id="slow"/></zoneRoute>
</zone>
"""


def platform(path: Path, body: str, head: str = DOCTYPE) -> Path:
    """Write a platform with this body."""
    path.write_text(f"<?xml version='1.0'?>\n{head}\n<platform version=\"4.1\">{body}</platform>\n")
    return path


def test_clusters_groups_speeds_watts_and_uplinks(tmp_path: Path) -> None:
    """Tests what clusters, hosts, states, cabinets, backbones and routes become."""
    federation = read_federation(platform(tmp_path / "two.xml", TWO_CLUSTERS))
    assert federation.name == "two"
    assert [(cluster.name, cluster.nodes) for cluster in federation.clusters] == [("big", 101), ("small", 6)]
    big, small = federation.clusters
    assert (big.groups[0].speed, big.groups[0].busy_watts) == (1.0, DEFAULT_BUSY_WATTS)
    assert [(g.count, g.speed, g.busy_watts, g.idle_watts) for g in small.groups] == [
        (1, 0.5, 190.5, 95.0),
        (1, 0.25, 150.0, 80.0),
        (4, 0.5, DEFAULT_BUSY_WATTS, DEFAULT_IDLE_WATTS),
    ]
    assert big.uplink == 100 * 2**20
    assert small.uplink == 100 * 2**20
    assert "speed 1 is 2e+09 flop/s" in federation.description
    assert "1 hosts of other roles" in federation.description
    assert "105 hosts say no watts" in federation.description


def test_the_reference_speed_can_be_given(tmp_path: Path) -> None:
    """Tests that speed= divides all speeds, and that node_speed tells that of the most hosts."""
    path = platform(tmp_path / "two.xml", TWO_CLUSTERS)
    assert node_speed(path) == 2e9
    assert read_simgrid(path, speed=1e9).clusters[0].groups[0].speed == 2.0
    with pytest.raises(ValueError, match="speed=0 must be finite and above 0"):
        read_simgrid(path, speed=0)


def test_what_was_read_can_be_kept(tmp_path: Path) -> None:
    """Tests that a platform written as TOML comes back the same, also from a packed file."""
    path = platform(tmp_path / "two.xml", TWO_CLUSTERS)
    federation = read_federation(path)
    write_federation(federation, tmp_path / "two.toml")
    assert Federation.read(tmp_path / "two.toml") == federation
    (tmp_path / "two.xml.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read_federation(tmp_path / "two.xml.gz") == federation


@pytest.mark.parametrize(
    ("unit", "bytes_a_second"),
    [
        ("Bps", 1), ("kBps", 1e3), ("MBps", 1e6), ("GBps", 1e9), ("KiBps", 1024), ("MiBps", 2**20), ("GiBps", 2**30),
        ("bps", 1 / 8), ("kbps", 125), ("Mbps", 125e3), ("Gbps", 125e6), ("", 1),
    ],
)  # fmt: skip
def test_units_of_bandwidth(tmp_path: Path, unit: str, bytes_a_second: float) -> None:
    """Tests that B is bytes and b bits, that prefixes are decimal, and binary with an i."""
    body = f'<cluster id="c" prefix="c" suffix="" radical="0-1" speed="1Gf" bw="1Bps" bb_bw="3{unit}"/>'
    assert read_federation(platform(tmp_path / "a.xml", body)).clusters[0].uplink == pytest.approx(3 * bytes_a_second)


@pytest.mark.parametrize(
    ("unit", "flops"), [("f", 1), ("kf", 1e3), ("Mf", 1e6), ("Gf", 1e9), ("Tf", 1e12), ("", 1), ("gigaflops", 1e9)]
)
def test_units_of_speed(tmp_path: Path, unit: str, flops: float) -> None:
    """Tests every unit of speed."""
    assert node_speed(platform(tmp_path / "a.xml", f'<host id="h" speed="100.5{unit}"/>')) == pytest.approx(
        100.5 * flops
    )


def test_roles_other_than_computing_are_left_out(tmp_path: Path) -> None:
    """Tests that masters, storage and hosts named master_host… are no nodes, and that nothing else is an error."""
    master = '<host id="boss" speed="1Gf"><prop id="role" value="master"/></host>'
    store = '<host id="pfs" speed="1Gf"><prop id="role" value="storage"/></host><host id="master_host" speed="1Gf"/>'
    body = f'<AS id="AS0" routing="Full">{master}{store}<host id="n" speed="1Gf"/></AS>'
    federation = read_federation(platform(tmp_path / "a.xml", body))
    assert (federation.nodes, federation.clusters[0].name, federation.clusters[0].uplink) == (1, "AS0", math.inf)
    assert "3 hosts of other roles" in federation.description
    with pytest.raises(FederationError, match=r"there is no host to run jobs on \(3 of other roles\)"):
        read_federation(platform(tmp_path / "b.xml", master + store))


def test_names_that_are_used_twice_get_their_zones(tmp_path: Path) -> None:
    """Tests that two clusters of one name in different zones are told apart."""
    zone = '<zone id="{}" routing="Full"><zone id="c" routing="Full"><host id="h" speed="1Gf"/></zone></zone>'
    federation = read_federation(platform(tmp_path / "a.xml", zone.format("x") + zone.format("y")))
    assert [cluster.name for cluster in federation.clusters] == ["x/c", "y/c"]


def test_cores_are_said_to_be_one_node(tmp_path: Path) -> None:
    """Tests that the description counts the hosts whose cores it leaves out, and is silent where none has several."""
    cluster = '<cluster id="{0}" prefix="{0}" suffix="" radical="0-9" speed="1Gf" {1} bw="1GBps" lat="1us"/>'
    zone = '<zone id="w" routing="Full">{}<host id="h" speed="1Gf" core="{}"/></zone>'
    many = zone.format(cluster.format("a", 'core="32"') + cluster.format("b", ""), 4)
    said = "11 hosts have several cores: each host is one node of the speed of one core."
    assert said in read_federation(platform(tmp_path / "a.xml", many)).description.splitlines()
    one = zone.format(cluster.format("a", 'core="1"'), 1)
    assert "cores" not in read_federation(platform(tmp_path / "b.xml", one)).description


def test_what_is_not_read_is_said(tmp_path: Path) -> None:
    """Tests that traces and disks are named in the description as not read."""
    body = '<host id="h" speed="1Gf"><disk id="d"/></host><trace id="t"/><trace id="u"/>'
    assert "Not read: 1 <disk>, 2 <trace>." in read_federation(platform(tmp_path / "a.xml", body)).description


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('<host id="h" speed="fast"/>', "line 3: <host> 'h': speed='fast' must be a number with a unit"),
        ('<host id="h"/>', "speed='' must be a number"),
        ('<host id="h" speed="0f"/>', "speed='0f' must be a number"),
        ('<host id="h" speed="1e999Gf"/>', "speed='1e999Gf' must be a number"),
        ('<host speed="1f"/>', "<host> has no id"),
        ('<host id="h" speed="1f" pstate="1"/>', "pstate='1' must number one of its 1 speeds from 0"),
        ('<host id="h" speed="1f,2f" pstate="1"><prop id="watt_per_state" value="1:2"/></host>', "lack state 1"),
        ('<host id="h" speed="1f"><prop id="watt_per_state" value="9:2"/></host>', "idle must not exceed busy"),
        ('<host id="h" speed="1f"><prop id="watt_per_state" value="x"/></host>', "watts='x' must be a number"),
        ('<cluster id="c" prefix="" radical="5-1" speed="1f"/>', "radical='5-1' must be like 0-511"),
        ('<cluster id="c" prefix="" speed="1f"/>', "radical='' must be like 0-511"),
        ('<link id="l" bandwidth="1Gf"/>', "bandwidth='1Gf' must be a number with a unit"),
        (TWO_CLUSTERS.replace('link_ctn id="wide"', 'link_ctn id="gone"'), "there is no link 'gone'"),
        ("<zone id='z'>" * 70 + "</zone>" * 70, "nested more than 64 deep"),
        ("<host", "not valid XML"),
        ('<host id="h" speed="1f">&what;</host>', "the entity 'what' is not known"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, body: str, message: str) -> None:
    """Tests that an error names file, line, element, attribute and value."""
    path = platform(tmp_path / "a.xml", body)
    with pytest.raises(FederationError) as caught:
        read_federation(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_another_document_is_no_platform(tmp_path: Path) -> None:
    """Tests that XML of something else is said to be so, and so are an empty and a missing file."""
    (tmp_path / "a.xml").write_text("<html><body/></html>")
    with pytest.raises(FederationError, match="the document is a <html>, not a <platform>"):
        read_federation(tmp_path / "a.xml")
    (tmp_path / "b.xml").write_text("")
    with pytest.raises(FederationError, match="not valid XML: no element found"):
        read_federation(tmp_path / "b.xml")
    with pytest.raises(FederationError, match="there is no such file"):
        read_federation(tmp_path / "c.xml")


@pytest.mark.parametrize(
    "head",
    [
        "<!DOCTYPE platform [" + '<!ENTITY a "lol">' + "".join(
            f'<!ENTITY {chr(98 + k)} "{10 * f"&{chr(97 + k)};"}">' for k in range(12)) + "]>",
        '<!DOCTYPE platform [<!ENTITY a SYSTEM "{secret}">]>',
        '<!DOCTYPE platform [<!ENTITY % a SYSTEM "{secret}"> %a;]>',
        '<!DOCTYPE platform [<!ENTITY a "' + "x" * 100_000 + '">]>',
    ],
    ids=["billion laughs", "external", "parameter", "quadratic"],
)  # fmt: skip
def test_no_entity_is_ever_expanded(tmp_path: Path, head: str) -> None:
    """Tests that a document that declares an entity is refused at once, and that no other file is opened."""
    secret = tmp_path / "secret"
    secret.write_text("1Gf")
    path = platform(tmp_path / "a.xml", '<host id="h" speed="&a;"/>', head.replace("{secret}", secret.as_uri()))
    with pytest.raises(FederationError, match="it declares the entity 'a'"):
        read_federation(path)


def test_the_document_type_is_not_fetched(tmp_path: Path) -> None:
    """Tests that the DTD that every platform names is not opened, even where it is a file that is there."""
    dtd = tmp_path / "simgrid.dtd"
    dtd.write_text("this is no DTD <<<")
    path = platform(tmp_path / "a.xml", '<host id="h" speed="1f"/>', f'<!DOCTYPE platform SYSTEM "{dtd.as_uri()}">')
    assert read_federation(path).nodes == 1
