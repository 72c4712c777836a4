"""The screens of Studio. A new one is a folder with its work, a template, and an entry in `SCREENS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from shoal.errors import DataError

if TYPE_CHECKING:
    from shoal.apps.studio.project import Project

Mark = Literal["open", "done", "attention", "problem"]
Action = Callable[["Project", FormData], str | Response | None]
"""Answers a form. Returns where to go next; None: back to the screen. A ShoalError becomes a notice on the screen."""
Part = Callable[["Project", QueryParams], Response]
"""Answers a question of the page, such as for more rows."""
TakeFile = Callable[..., str | Response | None]
"""Takes a file that was dropped, ``(project, path, name, query)``: `path` is in Studio's folder, `name` is what the
user calls it."""


@dataclass(frozen=True)
class State:
    """How far a step is, for the list of steps."""

    mark: Mark
    words: str = ""
    """One short line: what is done, or what needs attention."""


@dataclass(frozen=True, kw_only=True)
class Screen:
    """What the frame shows of a screen. Its template is ``templates/KEY.html``; ``static/KEY.js`` and
    ``static/KEY.css`` are its own.

    Its work is in the module ``screen`` of its folder: `context(project, query)` is what the template shows, `ACTIONS`
    are the forms that it answers, and `PARTS` the questions, at ``/KEY/NAME``; a step has a quick `state(project)`. The
    module of a screen that needs data is imported when a table is open, because the first page must not wait for it.
    """

    key: str
    """Its address, ``/KEY``."""
    title: str
    aim: str
    """One sentence under the title: what to do here."""
    tour: str
    """What the tour says here: two or three sentences."""
    is_step: bool = True
    """Whether it is one of the steps from data to release; other screens are listed below them."""
    needs_data: bool = True
    """Without a table, the screen only says that one is needed."""
    script: bool = False
    style: bool = False
    folder: str = ""
    """Its folder, if that has another name than the key."""

    @property
    def work(self) -> Any:
        """The module of the screen."""
        return import_module(f"shoal.apps.studio.{self.folder or self.key}.screen")

    def state(self, project: Project) -> State:
        """Return how far the step is. Every page asks."""
        if not self.is_step or (self.needs_data and project.frame is None):
            return State("open")
        found: State = self.work.state(project)
        return found

    @property
    def parts(self) -> Mapping[str, Part]:
        """The questions that it answers."""
        return getattr(self.work, "PARTS", {})

    @property
    def take_file(self) -> TakeFile:
        """What takes a file that was dropped on it."""
        return getattr(self.work, "take_file", _refuse_file)


def _refuse_file(*_: object) -> None:
    raise DataError("this screen takes no files")


_ALL = (
    Screen(
        key="data",
        title="Data",
        aim="Open the table that you want to publish, and check that Shoal read it correctly.",
        tour="This is your table, exactly as Shoal read it. The head of each column shows its type, its distribution, "
        "and how many values are missing. Below the rows you see how many people can be told apart by a few columns: "
        "that is the problem that the next steps solve.",
        needs_data=False,
        script=True,
        style=True,
    ),
    Screen(
        key="roles",
        title="Roles",
        aim="Say what each column is. Shoal has made a guess for each; you know your data better.",
        tour="Others may know a person's birth date and zip code, so Shoal generalizes them: they are "
        "quasi-identifiers. A diagnosis is sensitive: it is published, and nobody should learn whose it is. Move a "
        "column by dragging it, by its menu, or with a key, and watch how many rows are unique.",
        script=True,
        style=True,
    ),
    Screen(
        key="hierarchies",
        title="Hierarchies",
        aim="Say how each quasi-identifier may be made coarser: choose a proposal, drag cut points, or edit a tree.",
        tour="Shoal hides people by showing coarser values: an age band instead of an age, a region instead of a town. "
        "Every proposal says what it would lose. What you choose here decides what the release can still be used for.",
        script=True,
        style=True,
    ),
    Screen(
        key="promise",
        folder="requirements",
        title="Promise",
        aim="Say whom the release must withstand. Shoal tells at once whether this table allows it.",
        tour="A promise is what every release must keep: nobody can be narrowed down to fewer than k rows, for example."
        " Take a preset, name the adversary, or ask for models one by one. Shoal verifies the promise on the "
        "published rows, whatever the method.",
        style=True,
    ),
    Screen(
        key="compare",
        title="Compare",
        aim="Let Shoal try its methods on this table, and choose the release with the risk and the loss that you want.",
        tour="Every method keeps the promise in another way, and loses something else. Shoal tries them, verifies and "
        "attacks each release, and draws risk against loss: the best are at the lower left. Click a point to look at "
        "it, pin two to compare them, and choose one.",
        script=True,
        style=True,
    ),
    Screen(
        key="look",
        title="Look",
        aim="See what the release shows of each row, what it has lost, and what adversaries found.",
        tour="Here the original and the release stand side by side, for your eyes only. Look at the rows that were "
        "suppressed, at the columns that lost most, and at the attacks that Shoal has tried on the release.",
        style=True,
    ),
    Screen(
        key="handover",
        title="Hand over",
        aim="Choose what to give away and what to keep, look at it once more, and write it.",
        tour="The release, its card and the public report may leave your house. The record, the policy and the private "
        "report stay with the original data. Fill in who answers for the release, write the reports, and take all as "
        "one zip or into a folder.",
        script=True,
        style=True,
    ),
    Screen(
        key="audit",
        title="Audit a release",
        aim="Judge a table that exists, made by any tool: what it guarantees, and how far adversaries get.",
        tour="Give a release that somebody has made, and the policy that it should satisfy. Shoal reads its rows "
        "alone.",
        is_step=False,
        needs_data=False,
    ),
    Screen(
        key="synthetic",
        title="Synthetic data",
        aim="Attack a synthetic table that any tool made: what does it give away about the people it was trained on?",
        tour="Give the synthetic table, the table that it was trained on, and a holdout. Every attack is tried on "
        "both, and what succeeds more often on the training rows is a leak.",
        is_step=False,
        needs_data=False,
    ),
    Screen(
        key="network",
        title="Network",
        aim="Publish a social network as clusters of people, so that nobody is found by attributes or by contacts.",
        tour="People are nodes, their contacts are edges. Roles, hierarchies and the promise are those of the people.",
        is_step=False,
        needs_data=False,
    ),
)
SCREENS = {screen.key: screen for screen in _ALL}
HOME = _ALL[0].key
"""The screen that Studio opens with."""
