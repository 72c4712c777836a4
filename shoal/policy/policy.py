"""`Policy`: what a table's columns are, what a release must guarantee, and how to make it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)

from shoal.coding import Attribute
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.roles import PERSON, ROLES, SENSITIVE, Role
from shoal.errors import POLICY, PolicyError, Problem
from shoal.judging.measures import MEASURES
from shoal.methods import METHODS
from shoal.policy import toml
from shoal.policy.checks import problems_of
from shoal.policy.column_plans import plan_column, plan_columns, plan_release
from shoal.policy.column_section import Column
from shoal.policy.field_docs import describe_fields
from shoal.policy.file_limits import problems_in_file
from shoal.policy.keywords import tables_of
from shoal.policy.method_options import NamedMethod
from shoal.policy.overrides import SETTINGS, apply_settings, long_form
from shoal.policy.perturb import perturbation
from shoal.policy.privacy import OF_COLUMNS, Privacy
from shoal.policy.privacy_checks import check_order
from shoal.policy.python_values import python_values
from shoal.policy.sections import (
    Data,
    Engine,
    InDatabase,
    MethodChoice,
    Population,
    ReleaseFile,
    Utility,
)
from shoal.policy.sources import locate_source, own_source, with_table
from shoal.support.wording import printable

if TYPE_CHECKING:
    from shoal.io import ReadOptions
    from shoal.judging.models import Model
    from shoal.judging.models.requirements import Requirements
    from shoal.methods import Method
    from shoal.release.perturbing import Perturbation


class Policy(BaseModel):
    """What a table's columns are, what a release must guarantee, and how to make it.

    Made from a file (`read`), from text (`from_toml`), from a few keywords (`from_keywords`), or from its
    sections. Frozen; a mistake anywhere raises one PolicyError that lists all mistakes.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_extra=describe_fields, title="Shoal policy"
    )

    data: Data = Field(default_factory=Data)
    """Reading options."""
    columns: dict[str, Column] = Field(default_factory=dict)
    """One table per column."""
    privacy: Privacy = Field(default_factory=Privacy)
    """What a release must guarantee."""
    method: MethodChoice = Field(default_factory=MethodChoice)
    """How to make the release."""
    utility: Utility = Field(default_factory=Utility)
    """What a good release is."""
    population: Population | None = None
    """Everybody who could be in the table, for guarantees about who is in it."""
    release: ReleaseFile = Field(default_factory=ReleaseFile)
    """How a release of another tool is read."""
    engine: Engine = Field(default_factory=Engine)
    """Where and how the work is done."""

    _base: Path = PrivateAttr(default=Path())
    _file: Path | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _check_whole(
        cls, raw: Any, handler: ModelWrapValidatorHandler[Policy], info: ValidationInfo
    ) -> Policy:
        if isinstance(raw, Policy):
            return raw
        if not isinstance(raw, Mapping):
            raise PolicyError([Problem("policy", f"must be a table, not {type(raw).__name__}")])
        base = Path((info.context or {}).get("base", "."))
        raw = long_form(python_values(raw))
        problems = problems_of(raw, base)
        if problems:
            raise PolicyError(problems)
        policy = handler(raw)
        policy._base = base
        return policy

    def __repr__(self) -> str:
        """Say in a line what it asks for; `to_toml` tells everything."""
        roles = ", ".join(
            f"{role} {', '.join(printable(name) for name in names)}"
            for role in ROLES.values()
            if (names := self.names(role))
        )
        asked = ", ".join(f"{key} = {toml.value(value)}" for key, value in self.to_dict()["privacy"].items())
        parts = (shorten(part, 200, placeholder=" ..") for part in (roles, asked, self.method.name) if part)
        return f"<Policy: {'; '.join(parts)}>"

    __str__ = __repr__

    # --- making ---------------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: str | os.PathLike[str], settings: Iterable[str] = ()) -> Policy:
        """Read a policy file, with some values changed as by `override`. Paths of hierarchy files in it are relative
        to its folder.
        """
        place = Path(path)
        raw = toml.parse_toml(toml.text_of(place), place.name)
        found = cls._with_settings(raw, settings, place.parent, in_file=True)
        found._file = place
        return found

    @classmethod
    def given(cls, policy: Policy | str | Path | None, keywords: Mapping[str, Any]) -> Policy:
        """Return the policy of a call: one that was given, or its path, or one made from keywords."""
        if policy is None:
            return cls.from_keywords(**keywords)
        if keywords:
            raise TypeError(
                f"give a policy or keywords, not both: {', '.join(keywords)}; to change some values of a policy, use "
                'Policy.read(..).override(["privacy.k=10"])'
            )
        return policy if isinstance(policy, Policy) else cls.read(policy)

    @classmethod
    def from_toml(cls, text: str, base: str | os.PathLike[str] = ".", *, name: str = "policy") -> Policy:
        """Make a policy from TOML text; files in it are relative to `base`."""
        return cls.from_dict(toml.parse_toml(text, name), base)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], base: str | os.PathLike[str] = ".") -> Policy:
        """Make a policy from plain tables, shaped like the file; files in it are relative to `base`."""
        return cls.model_validate(dict(raw), context={"base": base})

    @classmethod
    def from_keywords(
        cls,
        *,
        quasi: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        identifier: Iterable[str] = (),
        person: Iterable[str] = (),
        groups: Mapping[str, Iterable[str]] | None = None,
        plain: Iterable[str] = (),
        drop: Iterable[str] = (),
        survey_weight: Iterable[str] = (),
        hierarchies: Mapping[str, Any] | None = None,
        weights: Mapping[str, float] | None = None,
        limits: Mapping[str, int | Sequence[str]] | None = None,
        protected: Mapping[str, Sequence[str]] | None = None,
        reading: Mapping[str, Mapping[str, Any]] | None = None,
        publish: Mapping[str, str] | None = None,
        order: Mapping[str, str] | None = None,
        show: Mapping[str, str] | None = None,
        safe_harbor: Mapping[str, str] | None = None,
        method: str | Mapping[str, Any] = METHODS.default,
        measure: str = MEASURES.default,
        suppression: float = 0.0,
        suppress: str = "rows",
        levels: str | None = None,
        workload: str | os.PathLike[str] | None = None,
        regression: str | Mapping[str, Any] | None = None,
        predict: str | None = None,
        other_columns: str = "refuse",
        data: Mapping[str, Any] | None = None,
        population: Mapping[str, Any] | None = None,
        release: Mapping[str, Any] | None = None,
        engine: Mapping[str, Any] | None = None,
        base: str | os.PathLike[str] = ".",
        **requirements: Any,
    ) -> Policy:
        """Make a policy without a file: columns by role, requirements by their key in `[privacy]` such as ``k=5``, and
        a method by name or as a table. `survey_weight` names the column of survey weights (the role `weight`), while
        `weights` says how much a loss in a column counts. `groups` names groups of people that guarantees count, too:
        ``{"household": ["address"]}``. `reading` says how columns are read: ``{"rent": {"null_values": [-9]}}``,
        `publish` what is published instead of identifiers: ``{"patient": "pseudonym"}``, `order` by which column the
        rows of people who can be followed are sorted: ``{"patient": "date"}``, and `show`
        which columns are shown with their ends: ``{"age": "bounds"}``; `safe_harbor` says what columns are under HIPAA
        Safe Harbor: ``{"zip": "zip"}``. `workload`, `regression` and `predict` name what analysts will do with the
        release, as in `[utility]`.
        """
        own = inspect.signature(cls.from_keywords).parameters.values()
        given = locals()
        keywords = {one.name: given[one.name] for one in own if one.kind is one.KEYWORD_ONLY}
        raw, problems = tables_of(keywords, requirements)
        return cls._build_despite(raw, problems, base)

    @classmethod
    def _with_settings(
        cls,
        raw: Mapping[str, Any],
        settings: Iterable[str],
        base: str | os.PathLike[str],
        *,
        in_file: bool = False,
    ) -> Policy:
        """Make a policy from plain tables with settings; only the result is checked. What it keeps of tables that are
        `in_file` is limited; what the settings say is not."""
        settings = list(settings)
        tables, problems = apply_settings(raw, settings) if settings else (raw, [])
        if in_file:
            own = problems_in_file(apply_settings({}, settings)[0])
            foreign = [one for one in problems_in_file(tables) if one not in own]
            if foreign:
                return cls._build_despite(tables, [*problems, *foreign], base)
        all_ = f"{POLICY} with {SETTINGS}" if settings else POLICY
        return cls._build_despite(tables, problems, base, own=SETTINGS, all_=all_)

    @classmethod
    def _build_despite(
        cls,
        raw: Mapping[str, Any],
        problems: list[Problem],
        base: str | os.PathLike[str],
        own: str = POLICY,
        all_: str = POLICY,
    ) -> Policy:
        """Make a policy, or raise the known problems, which are in `own`, together with those of the result."""
        others: tuple[Problem, ...] = ()
        try:
            policy = cls.from_dict(raw, base)
        except PolicyError as error:
            others = error.problems
        if problems or others:
            raise PolicyError([*problems, *others], where=all_ if others else own)
        return policy

    def override(self, settings: Iterable[str]) -> Policy:
        """Return the policy with some values changed: ``["privacy.k=10", "method.name=mondrian"]``.

        Values are TOML; a bare word is text. A new method name drops the options of the former method.
        """
        return self._with_settings(self.to_dict(), settings, self._base)

    def with_method(self, name: str, **options: Any) -> Policy:
        """Return the policy with another method; options of the former one are dropped."""
        kept = self.method.options() if name == self.method.name else {}
        return self.from_dict({**self.to_dict(), "method": {"name": name, **kept, **options}}, self._base)

    # --- writing --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain tables, shaped like the file, without values that equal their default."""
        whole = self.model_dump(exclude_none=True)
        brief = self.model_dump(exclude_none=True, exclude_defaults=True)
        parts = brief | {name: whole[name] for name in ("privacy", "method", "utility")}
        return {name: parts[name] for name in whole if parts.get(name)}

    def to_toml(self) -> str:
        """Return the policy as TOML text; reading it gives an equal policy."""
        return toml.document(self.to_dict())

    # --- what the work needs ----------------------------------------------------------------------------

    @property
    def base(self) -> Path:
        """The folder that files in the policy are relative to."""
        return self._base

    @property
    def file(self) -> Path | None:
        """The file that it was read from, if it was."""
        return self._file

    @property
    def population_size(self) -> int | None:
        """How many people could be in the table, if the policy says only their number."""
        return None if self.population is None else self.population.size

    def read_options(self) -> ReadOptions:
        """Return how to read the table."""
        orders = [own.order for own in self.columns.values()]
        used = {
            name: own
            for name, own in self.columns.items()
            if not own.role.removed or own.role.counted or name in orders
        }
        return self.data.options(used)

    def source(self, given: Any = None) -> Any:
        """Return where the table is: what was given, else what `[data]` says. Tables and queries of `[data]` count for
        a database that is given without one.

        Raises DataError if neither is there.
        """
        return own_source(self.data, self._base) if given is None else with_table(given, self.data)

    def release_options(self, likely: str | None = None) -> ReadOptions:
        """Return how to read a release; `likely` is the delimiter of the table, if it is known."""
        return self.release.options(likely or self.data.delimiter)

    @property
    def earlier(self) -> list[dict[str, Any]]:
        """The earlier releases that `[privacy]` names, each with its original and record: paths, or addresses."""
        return [
            {name: locate_source(text, InDatabase(), self._base) for name, text in one if text is not None}
            for one in self.privacy.earlier or ()
        ]

    @property
    def pseudonyms(self) -> tuple[str, ...]:
        """The columns that are published as pseudonyms: identifiers, and those that say whose a row is."""
        return tuple(name for name, column in self.columns.items() if column.publish is not None)

    @property
    def perturbations(self) -> dict[str, Perturbation]:
        """The perturbed columns, each with its perturbation."""
        asked = {name: column.perturb for name, column in self.columns.items()}
        return {name: perturbation(spec) for name, spec in asked.items() if spec is not None}

    @property
    def people(self) -> tuple[str, ...]:
        """The columns that say whose a row is, together; those that name groups of people are not among them."""
        return tuple(name for name in self.names(PERSON) if self.columns[name].group is None)

    @property
    def groups(self) -> tuple[str, ...]:
        """The kinds of groups that guarantees count besides people, such as households."""
        named = (column.group for column in self.columns.values() if column.role.counted)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def names(self, role: Role) -> tuple[str, ...]:
        """Return the columns of a role, in the order of the policy."""
        return tuple(name for name, column in self.columns.items() if column.role == role)

    @cached_property
    def column_plans(self) -> dict[str, ColumnPlan]:
        """What to do with each column that it names."""
        return {name: plan_column(self, name) for name in self.columns}

    def plans(self, names: Sequence[str], *, of_release: bool = False) -> tuple[ColumnPlan, ...]:
        """Return what to do with each column of a table, in the order of the table.

        Raises PolicyError if the table lacks a column of the policy, or has columns without a role.
        A release need not have the columns that are removed, and its other columns are plain.
        """
        return plan_release(self, names) if of_release else plan_columns(self, names)

    def models(self, sensitive: Sequence[str] | None = None) -> tuple[Model, ...]:
        """Return the models to satisfy; `sensitive` names the sensitive columns in the order of the table."""
        names = self.names(SENSITIVE) if sensitive is None else sensitive
        protected = {name: self.columns[name].protected or () for name in names if name in self.columns}
        return self.privacy.models(names, protected)

    def column_models(self) -> tuple[Model, ...]:
        """Return the models that columns ask for, such as those of generalization limits."""
        asked = (kind.of_column(name, column) for name, column in self.columns.items() for kind in OF_COLUMNS)
        return tuple(model for model in asked if model is not None)

    def requirements(self, sensitive: Sequence[Attribute] | None = None) -> Requirements:
        """Return what a release must satisfy and optimize; `sensitive` are the sensitive columns of the table.

        Raises PolicyError if a model needs an order of values that have none.
        """
        from shoal.judging.models.of_group import of_groups
        from shoal.judging.models.requirements import Requirements

        names = None if sensitive is None else [attribute.name for attribute in sensitive]
        check_order(self.privacy, sensitive or ())
        found = Requirements(
            models=of_groups(self.models(names), self.groups),
            suppression=self.utility.suppression,
            measure=self.utility.measure,
            suppress=self.utility.suppress,
            uniform=self.utility.levels is not None,
            people=bool(self.names(PERSON)),
            of_columns=self.column_models(),
        )
        if self.privacy.earlier is None:
            return found
        columns = self.names(SENSITIVE) if names is None else names
        return found.over_time(members=self.privacy.earlier_adversary == "members", sensitive=len(columns))

    def build_method(self) -> Method:
        """Return the method with its options."""
        return NamedMethod(self.method).build()
