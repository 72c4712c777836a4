"""Policies from somebody who means harm: a policy file is data, and never code."""

from __future__ import annotations

import csv
import gzip
import json
import os
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.apps.cli.messages import report_error
from shoal.errors import OutputError, PolicyError
from shoal.pipeline.anonymize import anonymize_file
from shoal.policy import Policy
from shoal.support.wording import escape_formula, visible

SMALL = '[columns]\nage = "quasi"\n[privacy]\nk = 2\n'


def written(tmp_path, more: str):
    path = tmp_path / "policy.toml"
    path.write_text(SMALL + more)
    return path


@pytest.mark.parametrize(
    "setting",
    [
        *("spark.python.daemon.module", "spark.jars", "spark.jars.packages", "spark.driver.extraJavaOptions"),
        *("spark.plugins", "spark.submit.pyFiles", "spark.executorEnv.PYTHONPATH", "spark.pyspark.python"),
        *("spark.hadoop.fs.s3a.endpoint", "spark.archives", "spark.driver.host", "spark.Executor.memory"),
    ],
)
def test_a_policy_file_cannot_make_spark_run_code(tmp_path, setting):
    path = written(tmp_path, f"[engine]\nname = 'spark'\nsettings = {{ '{setting}' = 'evil' }}\n")
    with pytest.raises(PolicyError, match="must not set it") as told:
        Policy.read(path)
    assert setting in str(told.value)
    (tmp_path / "d.csv").write_text("age\n1\n1\n")
    words = ["anonymize", str(tmp_path / "d.csv"), "-p", str(path), "-o", str(tmp_path / "r.csv")]
    assert CliRunner().invoke(main, [*words, "--set", "privacy.k=3"]).exit_code == 2
    own = written(tmp_path, "[engine]\nname = 'spark'\n")
    assert Policy.read(own, [f'engine.settings."{setting}"=mine']).engine.settings == {setting: "mine"}


@pytest.mark.parametrize("value", ["8g -javaagent:/tmp/a.jar", "1g\\n", "$(id)", ""])
def test_values_of_harmless_settings_are_numbers(tmp_path, value):
    path = written(
        tmp_path, f"[engine]\nname = 'spark'\nsettings = {{ 'spark.driver.memory' = \"{value}\" }}\n"
    )
    with pytest.raises(PolicyError, match="not a number, a size, true or false"):
        Policy.read(path)


@pytest.mark.parametrize(
    "master", ["spark://evil.example:7077", "yarn", "k8s://evil", "local-cluster[2,1,1024]"]
)
def test_a_policy_file_names_no_other_machine(tmp_path, master):
    with pytest.raises(PolicyError, match="a policy file names only local"):
        Policy.read(written(tmp_path, f"[engine]\nname = 'spark'\nmaster = '{master}'\n"))
    own = written(tmp_path, "[engine]\nname = 'spark'\nmaster = 'local[2]'\n")
    assert Policy.read(own).engine.master == "local[2]"
    assert Policy.read(own, [f"engine.master='{master}'"]).engine.master == master


def test_harmless_settings_stay_and_all_problems_are_told_at_once(tmp_path):
    settings = "{ 'spark.executor.memory' = '8g', 'spark.sql.shuffle.partitions' = 4 }"
    more = f"[engine]\nname = 'spark'\nsettings = {settings}\n"
    assert Policy.read(written(tmp_path, more)).engine.settings["spark.executor.memory"] == "8g"
    path = written(tmp_path, more.replace("name = 'spark'", "name = 'spark'\nmaster = 'yarn'\njobs = 0"))
    with pytest.raises(PolicyError) as told:
        Policy.read(path)
    assert {problem.path for problem in told.value.problems} == {"engine.master", "engine.jobs"}


EVIL = (
    *("passfile=/home/me/.pgpass", "sslkey=/home/me/key", "sslcert=/home/me/c", "sslrootcert=/tmp/own-root"),
    *("service=prod", "servicefile=/tmp/s", "options=-c%20search_path%3Devil", "hostaddr=6.6.6.6"),
    *(
        "krbsrvname=x",
        "gssencmode=disable",
        "requirepeer=evil",
        "sslcrl=/etc/shadow",
        "ssl_min_protocol_version=TLSv1",
    ),
    *(
        "sslmode=disable",
        "sslmode=prefer",
        "sslmode=require%0A",
        "channel_binding=disable",
        "connect_timeout=1e9",
    ),
    *("application_name=a'b", "replication=database", "client_encoding=SQL_ASCII", "sslModE=require"),
)
"""Options of libpq that read files, send secrets elsewhere, weaken a connection, or that nobody needs in a policy."""
ADDRESS = "postgresql://me@db.example.org/clinic"


@pytest.mark.parametrize("option", EVIL)
def test_a_policy_file_sets_no_harmful_option_of_postgresql(tmp_path, option, monkeypatch):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    address = f"{ADDRESS}?{option}"
    name = option.partition("=")[0]
    places = {
        "data.source": f'[data]\nsource = "{address}"\ntable = "t"\n',
        "population.file": f'[population]\nfile = "{address}"\n',
        "privacy.earlier[0].release": f'earlier = [{{ release = "{address}" }}]\n',
        "privacy.earlier[0].original": f'earlier = {{ release = "r.csv", original = "{address}" }}\n',
        "privacy.earlier[0]": f'earlier = "{address}"\n',
    }
    (tmp_path / "r.csv").write_text("age\n1\n")
    for path, more in places.items():
        with pytest.raises(PolicyError, match="a policy file m") as told:
            Policy.read(written(tmp_path, more))
        assert path in {problem.path for problem in told.value.problems}
        assert name in str(told.value)
    path = written(tmp_path, places["data.source"])
    own = f"{ADDRESS}?sslrootcert=/my/root.pem"
    assert Policy.read(path, [f'data.source="{own}"']).data.source == own
    assert Policy.from_keywords(quasi=["age"], k=2, data={"source": own}).data.source == own


def test_harmless_options_of_postgresql_stay(tmp_path, monkeypatch):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.delenv("PGSSLMODE", raising=False)
    address = (
        f"{ADDRESS}?sslmode=verify-ca&sslrootcert=system&connect_timeout=30&application_name=nightly%20run"
        "&target_session_attrs=read-only&channel_binding=require"
    )
    path = written(tmp_path, f'[data]\nsource = "{address}"\n')
    assert Policy.read(path).data.source == address
    monkeypatch.setenv("PGSSLMODE", "verify-full")  # which the policy would weaken
    with pytest.raises(PolicyError, match="sslmode=verify-ca, and a policy file must not weaken PGSSLMODE"):
        Policy.read(path)


def test_a_policy_file_gets_no_password_for_a_server_that_only_it_names(tmp_path, monkeypatch):
    """PGPASSWORD belongs to no host: libpq sends it to any server that asks."""
    path = written(tmp_path, f'[data]\nsource = "{ADDRESS}"\ntable = "t"\n')
    monkeypatch.delenv("PGHOST", raising=False)
    monkeypatch.setenv("PGPASSWORD", "secret-words")
    with pytest.raises(PolicyError, match=r"also set PGHOST=db\.example\.org") as told:
        Policy.read(path)
    assert "secret-words" not in str(told.value)
    assert Policy.read(path, [f"data.source={ADDRESS}"]).data.source == ADDRESS
    for hosts, fine in (("db.example.org", True), ("a,db.example.org", True), ("other.example.org", False)):
        monkeypatch.setenv("PGHOST", hosts)
        if fine:
            assert Policy.read(path).data.source == ADDRESS
        else:
            with pytest.raises(PolicyError):
                Policy.read(path)
    path = written(tmp_path, '[data]\nsource = "postgresql://me@/clinic"\ntable = "t"\n')
    assert Policy.read(path).data.source  # the server of the environment


def test_what_the_user_sets_takes_the_place_of_what_the_file_must_not_say(tmp_path):
    """As the hints say: also whole lists, and another engine, which drops the settings of Spark."""
    spark = "[engine]\nname = 'spark'\nmaster = 'yarn'\nsettings = { 'spark.jars' = 'a' }\n"
    path = written(tmp_path, spark)
    mine = ["engine.master=yarn", "engine.settings={ 'spark.jars' = 'mine' }"]
    engine = Policy.read(path, mine).engine
    assert (engine.master, engine.settings) == ("yarn", {"spark.jars": "mine"})
    with pytest.raises(PolicyError, match=r"spark\.jars"):
        Policy.read(path, mine[:1])
    with pytest.raises(PolicyError, match=r"spark\.jars"):  # the setting of another one leaves it there
        Policy.read(path, [*mine[:1], "engine.settings.\"spark.plugins\"='x'"])
    assert Policy.read(path, ["engine.name=local"]).engine.name == "local"
    (tmp_path / "r.csv").write_text("age\n1\n")
    path = written(tmp_path, f"earlier = ['{ADDRESS}?service=x']\n")
    with pytest.raises(PolicyError, match=r"\['privacy.earlier=…'\]"):
        Policy.read(path)
    assert len(Policy.read(path, ["privacy.earlier=['r.csv']"]).earlier) == 1
    with pytest.raises(PolicyError, match="service"):
        Policy.read(path, ["privacy.k=3"])


@pytest.mark.parametrize("address", ["postgresql://:5433/clinic", "postgresql:///clinic?port=5433"])
def test_a_port_without_a_host_is_on_the_server_of_the_user(tmp_path, monkeypatch, address):
    monkeypatch.setenv("PGPASSWORD", "x")
    monkeypatch.setenv("PGHOST", "db.example.org")
    path = written(tmp_path, f'[data]\nsource = "{address}"\ntable = "t"\n')
    assert Policy.read(path).data.source == address


@pytest.mark.parametrize(
    "address",
    ["http://evil.example/x.csv", "jdbc://x", "har://hdfs-evil/x", "s3a://key:secret@bucket/x", "ftp://x/y"],
)
def test_a_policy_file_names_only_addresses_that_shoal_reads(tmp_path, address):
    with pytest.raises(PolicyError) as told:
        Policy.read(written(tmp_path, f"[data]\nsource = '{address}'\n[engine]\nname = 'spark'\n"))
    assert "secret" not in str(told.value)
    kept = "[data]\nsource = 's3a://bucket/x@2/'\n[engine]\nname = 'spark'\n"
    assert Policy.read(written(tmp_path, kept)).data.source == "s3a://bucket/x@2/"


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
@pytest.mark.parametrize("rest", ["a.db?mode=rwc", "a.db?vfs=unix-none", "a.db#x", ":memory:", "host/a.db@b"])
def test_addresses_of_files_have_no_options(tmp_path, scheme, rest):
    with pytest.raises(PolicyError):
        Policy.read(written(tmp_path, f"[data]\nsource = '{scheme}:///{rest}'\n"))


INPUTS = (
    "data.csv",
    "policy.toml",
    "people.csv",
    "zip.csv",
    "queries.toml",
    "old.csv",
    "old-original.csv",
    "old.json",
)


@pytest.fixture
def named(tmp_path, monkeypatch) -> Path:
    """A policy that names a file of every kind."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{20 + number % 5},{number % 3:05d},flu\n" for number in range(30))
    for name in ("data.csv", "people.csv", "old.csv", "old-original.csv"):
        Path(name).write_text("age,zip,ill\n" + rows)
    Path("zip.csv").write_text("00000,*\n00001,*\n00002,*\n")
    Path("old.json").write_text("{}")
    Path("queries.toml").write_text("[[query]]\nwhere = { age = 21 }\n")
    write_policy(EARLIER)
    return tmp_path


EARLIER = 'earlier = [{ release = "old.csv", original = "old-original.csv", record = "old.json" }]\n'
POPULATION = '[population]\nfile = "people.csv"\n'


def write_policy(more: str) -> None:
    """Earlier releases and a population do not go together."""
    Path("policy.toml").write_text(
        """[columns]
age = "quasi"
zip = { role = "quasi", hierarchy = "zip.csv" }
ill = "sensitive"
[privacy]
k = 2
"""
        + more
        + """[utility]
workload = "queries.toml"
"""
    )


def commands(target: str) -> dict[str, list[str]]:
    """Every command that writes a file, each with all that the policy names."""
    policy, force = ["-p", "policy.toml"], ["--force"]
    anonymize = ["anonymize", "data.csv", *policy, *force]
    return {
        "release": [*anonymize, "-o", target],
        "record": [*anonymize, "-o", "new.csv", "--record", target],
        "card": [*anonymize, "-o", "new.csv", "--card", target],
        "codebook": [*anonymize, "-o", "new.csv", "--codebook", target],
        "report": ["report", "data.csv", "--original", "data.csv", *policy, *force, "-o", target],
        "attack": ["attack", "data.csv", "--original", "data.csv", *policy, *force, "-o", target],
        "assess": ["assess", "data.csv", *policy, *force, "-o", target],
        "report's codebook": [
            *("report", "data.csv", "--original", "data.csv", *policy, *force, "-o", "new.html"),
            *("--codebook", target),
        ],
        "audit's codebook": ["audit", "data.csv", *policy, *force, "--codebook", target],
        "network": [*NETWORK, *policy, *force, "-o", "net", "--record", target],
        "network's report": [*NETWORK, *policy, *force, "-o", "net", "--report", target],
        "network's card": [*NETWORK, *policy, *force, "-o", "net", "--card", target],
    }


NETWORK = ["network", "anonymize", "--nodes", "data.csv", "--edges", "edges.csv"]


def contents() -> dict[str, bytes]:
    return {name: Path(name).read_bytes() for name in INPUTS}


@pytest.mark.parametrize("target", INPUTS)
@pytest.mark.parametrize("what", sorted(commands("")))
def test_no_output_replaces_what_the_policy_names(named, what, target):
    if target == "people.csv":
        write_policy(POPULATION)
    before = contents()
    done = CliRunner().invoke(main, commands(target)[what])
    assert done.exit_code == 6, done.output
    if not ("codebook" in what and target.endswith(".toml")):  # which is no codebook
        assert "would replace" in done.output, done.output
    assert contents() == before


WAYS = (
    "symbolic link",
    "hard link",
    "link to the folder",
    "other spelling",
    "absolute path",
    "link to a link",
)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("target", ["people.csv", "zip.csv"])
def test_no_output_replaces_it_through_a_link(named, target, how):
    link = f"link{Path(target).suffix}"
    place = {
        "link to the folder": f"here/{target}", "other spelling": f".//sub/../{target}",
        "absolute path": str(named / target),
    }.get(how, link)  # fmt: skip
    Path("sub").mkdir()
    os.symlink(".", "here")
    if how == "hard link":
        os.link(target, link)
    elif how == "link to a link":
        os.symlink(target, "first")
        os.symlink("here/first", link)
    else:
        os.symlink(target, link)
    write_policy(POPULATION)
    before = contents()
    for what, words in commands(place).items():
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 6, (what, done.output)
        assert "would replace" in done.output, what
    assert contents() == before


def test_no_output_replaces_a_part_of_a_folder_that_is_read(named):
    Path("parts").mkdir()
    os.rename("data.csv", "parts/part-0.csv")
    write_policy("")
    before = Path("parts/part-0.csv").read_bytes()
    for target in ("parts/part-0.csv", "parts/../parts/part-0.csv", "parts"):
        for what, words in commands(target).items():
            if "network" not in what:  # its tables are files
                words = [word.replace("data.csv", "parts") for word in words]
                done = CliRunner().invoke(main, words)
                assert done.exit_code == 6, (what, done.output)
                if not ("codebook" in what and target == "parts"):  # which is no codebook
                    assert "would replace" in done.output, what
    assert Path("parts/part-0.csv").read_bytes() == before


def test_the_policy_file_is_an_input_of_every_command(named):
    """Also of those that get only its content."""
    os.rename("policy.toml", "pack.zip")
    words = ["evidence", "data.csv", "-p", "pack.zip", "--original", "data.csv", "-o", "pack", "--force"]
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, "would replace the policy" in done.output) == (6, True), done.output
    os.rename("pack.zip", "comparison.json")
    done = CliRunner().invoke(main, ["compare", "data.csv", "-p", "comparison.json", "-o", "."])
    assert (done.exit_code, "would replace the policy" in done.output) == (6, True), done.output


def test_a_report_is_not_written_over_what_its_policy_names(named):
    write_policy("")
    before = contents()
    made = shoal.report("data.csv", "policy.toml", original="data.csv")
    for name in ("zip.csv", "queries.toml", "policy.toml"):
        for write in (made.write, made.write_pdf):
            with pytest.raises(OutputError, match="would replace"):
                write(name, force=True)
    assert contents() == before


def test_a_pack_does_not_replace_what_it_is_made_of(named):
    """An older pack is replaced with --force; a release and a policy in it would be lost."""
    write_policy("")
    words = ["evidence", "data.csv", "-p", "policy.toml", "--original", "data.csv", "-o", "pack"]
    assert CliRunner().invoke(main, words).exit_code in (0, 5, 9)
    kept = {path: path.read_bytes() for path in Path("pack").rglob("*") if path.is_file()}
    release = next(path for path in kept if path.name == "data.csv")
    os.symlink("pack", "other")
    for words in (
        ["evidence", str(release), "-p", "policy.toml", "--original", "data.csv", "-o", "pack"],
        ["evidence", "data.csv", "-p", "pack/private/policy.toml", "--original", "data.csv", "-o", "pack"],
        ["evidence", "data.csv", "-p", "pack/private/policy.toml", "--original", "data.csv", "-o", "other"],
    ):
        done = CliRunner().invoke(main, [*words, "--force"])
        assert (done.exit_code, "would replace" in done.output) == (6, True), done.output
    assert {path: path.read_bytes() for path in Path("pack").rglob("*") if path.is_file()} == kept


def test_a_drawn_graph_does_not_replace_the_masked_network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("id,age\n" + "".join(f"{number},{20 + number % 2}\n" for number in range(20)))
    Path("edges.csv").write_text("a,b\n" + "".join(f"{number},{number + 1}\n" for number in range(19)))
    Path("policy.toml").write_text('[columns]\nid = "identifier"\nage = "quasi"\n[privacy]\nk = 4\n')
    done = CliRunner().invoke(main, [*NETWORK, "--id", "id", "-p", "policy.toml", "-o", "net"])
    assert done.exit_code == 0, done.output
    kept = {path: path.read_bytes() for path in Path("net").iterdir()}
    os.symlink("net", "link")
    for target in ("net", "link", "net/../net"):
        done = CliRunner().invoke(main, ["network", "sample", "net", "-o", target, "--force"])
        assert (done.exit_code, "would replace the masked network" in done.output) == (6, True), done.output
    assert {path: path.read_bytes() for path in Path("net").iterdir()} == kept
    assert CliRunner().invoke(main, ["network", "sample", "net", "-o", "drawn"]).exit_code == 0


def test_a_sample_reads_nothing_and_replaces_only_with_force(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("patients.toml").write_text("mine")
    for name in ("patients.csv", "other.csv"):
        done = CliRunner().invoke(main, ["sample", "patients", "--rows", "10", "-o", name])
        assert (done.exit_code, "exists already" in done.output) == (6, True), done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["patients.toml"]
    done = CliRunner().invoke(main, ["sample", "patients", "--rows", "10", "-o", "patients.toml", "--force"])
    assert done.exit_code == 6
    assert Path("patients.toml").read_text() == "mine"


@pytest.mark.parametrize("how", ["link", "open to all", "of somebody else"])
def test_the_demo_writes_only_into_a_folder_of_its_user(tmp_path, monkeypatch, how):
    """It replaces files of fixed names, and somebody else could have put links in their places."""
    from shoal.apps.cli import demo

    monkeypatch.chdir(tmp_path)
    Path("elsewhere").mkdir()
    if how == "link":
        os.symlink("elsewhere", "demo-out")
    else:
        Path("demo-out").mkdir()
        Path("demo-out").chmod(0o777 if how == "open to all" else 0o755)
    if how == "of somebody else":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown("demo-out", 12345, 12345)
    with pytest.raises(OutputError, match="start the demo in a folder of your own"):
        demo.run()
    assert list(Path("demo-out").iterdir()) == []


def test_a_comparison_and_a_pack_replace_no_input(named):
    os.rename("people.csv", "comparison.json")
    os.rename("old.json", "pack.zip")
    write_policy(POPULATION.replace("people.csv", "comparison.json"))
    done = CliRunner().invoke(main, ["compare", "data.csv", "-p", "policy.toml", "-o", "."])
    assert (done.exit_code, "would replace the population" in done.output) == (6, True), done.output
    write_policy(EARLIER.replace("old.json", "pack.zip"))
    words = ["evidence", "data.csv", "-p", "policy.toml", "--original", "data.csv", "-o", "pack", "--force"]
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, "would replace an earlier release" in done.output) == (6, True), done.output


def test_a_new_policy_does_not_replace_the_list_of_small_areas(named):
    Path("areas.csv").write_text("036\n")
    words = ["init", "data.csv", "--template", "safe-harbor", "--small-areas", "areas.csv", "-o", "areas.csv"]
    done = CliRunner().invoke(main, [*words, "--force"])
    assert (done.exit_code, "would replace the list of small areas" in done.output) == (6, True), done.output


NASTY = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eesrever"


def test_no_name_or_value_controls_the_terminal(tmp_path, monkeypatch):
    """Names of columns and files, and values, in messages and in tables, on standard output and on standard error."""
    monkeypatch.chdir(tmp_path)
    column = f"age{NASTY}"
    rows = "".join(f"{20 + number % 3},flu\n" for number in range(30))
    Path("data.csv").write_text(f"{column},ill\n{rows}", encoding="utf-8")
    quasi = json.dumps(column)
    Path("p.toml").write_text(f'[columns]\n{quasi} = "quasi"\nill = "sensitive"\n[privacy]\nk = 2\n')
    Path("wrong.toml").write_text(f'[columns]\nill = "sensitive"\n{quasi} = "quasy"\n[privacy]\nk = 2\n')
    for words, code in (
        (["init", "data.csv", "-o", "new.toml"], 0),
        (["assess", "data.csv", "-p", "p.toml"], 0),
        (["anonymize", "data.csv", "-p", "wrong.toml", "-o", "r.csv"], 2),
        (["anonymize", f"no{NASTY}.csv", "-p", "p.toml", "-o", "r.csv"], 2),
        (["anonymize", "data.csv", "-p", "p.toml", "-o", f"no{NASTY}/r.csv"], 6),
        (["anonymize", "data.csv", "-p", "p.toml", "-o", f"r{NASTY[:4]}.csv"], 0),
        (["audit", "data.csv", "-p", "p.toml", "--original", "data.csv"], 0),
        ([f"nothing{NASTY}"], 2),
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code in (code, 3, 5), (words, done.output)
        shown = done.stdout + done.stderr
        assert not set(NASTY) & set("\x1b\x07\x9b\u202e") & set(shown), (words, shown)


def test_what_controls_the_terminal_is_shown_as_its_code():
    assert visible("a\x1b[2J\x9b\u202eb\n\tc é 5\u00a0%") == "a\\x1b[2J\\x9b\\u202eb\n\tc é 5\u00a0%"


def test_a_line_break_in_a_name_does_not_make_a_line_of_its_own(capsys):
    report_error("there is no column 'a\ndone: every requirement holds'", "DataError", 3)
    assert all(line.startswith(("error:", " ")) for line in capsys.readouterr().err.splitlines())


ACTS = "<script>alert(1)</script>[x](javascript:alert(1))|`a`<img src=x>"


def test_nothing_in_a_card_or_codebook_acts_where_it_is_rendered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{20 + number % 3},flu\n" for number in range(30))
    Path("data.csv").write_text(f"{ACTS},ill\n{rows}")
    name = json.dumps(ACTS)
    Path("p.toml").write_text(f'[columns]\n{name} = "quasi"\nill = "sensitive"\n[privacy]\nk = 2\n')
    words = ["anonymize", "data.csv", "-p", "p.toml", "-o", "r.csv", "--card", "c.md", "--codebook", "b.md"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    for file in ("c.md", "b.md"):
        text = Path(file).read_text()
        assert "script" in text
        assert "<script" not in text
        assert "<img" not in text
        assert "[x](" not in text
        assert "|`a`" not in text


def test_codebooks_hold_no_formula_and_numbers_stay():
    formulas = ("=cmd|' /C calc'!A0", "+SUM(A1)", "-A1+3", "@SUM(1)", "\t=1", "\r=1")
    assert [escape_formula(text) for text in formulas] == [f"'{text}" for text in formulas]
    for text in ("-5", "+3", "-1.5e-3", "-2,5", "-20 to -1", "-90+", "a=b", "", "5-9"):
        assert escape_formula(text) == text


def test_a_codebook_in_csv_escapes_formulas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{number % 3 - 5},=1+{number % 2}\n" for number in range(30))
    Path("data.csv").write_text(f"@age,ill\n{rows}")
    Path("p.toml").write_text('[columns]\n"@age" = "quasi"\nill = "plain"\n[privacy]\nk = 2\n')
    done = CliRunner().invoke(
        main, ["anonymize", "data.csv", "-p", "p.toml", "-o", "r.csv", "--codebook", "b.csv"]
    )
    assert done.exit_code == 0, done.output
    cells = [cell for row in csv.reader(Path("b.csv").read_text().splitlines()) for cell in row]
    assert "'@age" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]
    assert "-5" in cells
    assert "=1+0" in Path("r.csv").read_text()  # a release is not changed


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz"])
def test_formulas_in_a_release_are_escaped_on_request_and_read_back(tmp_path: Path, ending: str) -> None:
    names = ["=cmd|'/C calc'!A0", "'=x", "@SUM(A1)", "plain", "-5", "-x"] * 2
    frame = pl.DataFrame({"age": [30, 30, 30, 40, 40, 40] * 2, "=note": names})
    text = '[columns]\nage = "quasi"\n"=note" = "sensitive"\n[privacy]\nk = 2\nl = 2\n'
    text += "[release]\nescape_formulas = true\n"
    policy, release = Policy.from_toml(text), tmp_path / f"release.{ending}"
    frame.write_parquet(tmp_path / "people.parquet")
    anonymize_file(tmp_path / "people.parquet", policy, release)
    raw = gzip.decompress(release.read_bytes()) if ending.endswith("gz") else release.read_bytes()
    cells = {
        cell
        for row in csv.reader(raw.decode().splitlines(), delimiter="\t" if ending == "tsv" else ",")
        for cell in row
    }
    assert {"'=note", "'=cmd|'/C calc'!A0", "''=x", "'@SUM(A1)", "plain", "-5", "'-x"} <= cells
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "@") or (cell[:1] == "-" and cell != "-5")]
    assert shoal.audit(release, policy, original=tmp_path / "people.parquet").holds
