"""The process in which parts are worked on: reads a method and then parts from its input, and answers with releases.

Started by `work.py`.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import IO


def serve(parts: IO[bytes], answers: IO[bytes]) -> None:
    """Answer parts until there are no more; in between, say how far the part is."""
    from shoal.methods.parts.part_work import answer, seldom

    def say(what: object) -> None:
        pickle.dump(what, answers, protocol=5)
        answers.flush()

    method, skeleton, seed = pickle.load(parts)
    while True:
        try:
            rows, codes, values, countings, requirements, words = pickle.load(parts)
        except EOFError:
            return
        part = replace(
            skeleton,
            quasi=replace(skeleton.quasi, narrow=codes, rows=rows),
            countings=countings,
        ).with_secrets(replace(skeleton.secrets, narrow=values, rows=rows))
        say(answer(method, part, requirements, words, seed, seldom(lambda _stage, share: say(float(share)))))
