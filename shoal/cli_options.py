"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

PATH = click.Path(path_type=Path)
"""Files and folders; whether they are there is looked at where they are used, which says more."""

policy_file = click.option(
    "-p", "--policy", "policy_file", type=PATH, required=True, help="The policy, a TOML file."
)
settings = click.option(
    "--set", "settings", multiple=True, metavar="PATH=VALUE", help="Change the policy: privacy.k=10."
)
original = click.option("--original", type=PATH, required=True, help="The data that it was made from.")
second = click.option(
    "--second", type=PATH, help="The second table of a release in two [RELEASE-sensitive.*, if it is there]."
)
force = click.option("--force", is_flag=True, help="Replace files that exist.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
