"""How to search, and what comes of it. Imports no TensorFlow."""

import dataclasses
import math
from typing import Any, NamedTuple

from tfxformer.errors import InputError

MOST = 1000  # nothing beyond is of use


class Hypothesis(NamedTuple):
    """One translation of a sentence.

    Attributes:
        text: string.
        score: float, by which it was chosen: of greedy search its
            log-probability, of beam search that with its penalties.
        log_probability: float. Sum over its tokens, in nats.
        token_ids: list of ints, up to and with `</s>`, if it was reached.
    """

    text: str
    score: float
    log_probability: float
    token_ids: list[int]


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """Every control of the search.

    The default is greedy search up to 50 tokens more than the source has.
    Numbers of tokens include `</s>`. `check` raises an `InputError` where a
    value makes no sense, or does not go with another.

    Attributes:
        beam_size: int. Hypotheses kept by beam search; 1: greedy.
        n_best: int. Hypotheses that are returned: at most `beam_size` with
            beam search, any number with `sampling` or `alternatives`.
        length_penalty: float, alpha, from 0 to 10. For beam search.
        length_penalty_form: "gnmt", `((5 + length) / 6) ** alpha`, or
            "power", `length ** alpha`.
        coverage_penalty: float, beta, at least 0. For beam search.
        patience: float in (0, 1], or None. Beam search stops when that share
            of the beam is finished, not only when nothing can win any more.
        min_length: int. Least number of tokens.
        min_length_ratio: float. The same, as a multiple of the source's.
        max_length: int, or None. Most tokens, instead of source + 50.
        max_length_ratio: float, or None. The same, as a multiple of the
            source's tokens.
        sampling: bool. Draw each token instead of taking the best one.
        temperature: float. Logits are divided by it before drawing.
        top_k: int. Draw from so many most probable tokens; 0: from all.
        top_p: float in (0, 1]. Draw from the most probable tokens that
            together have this probability.
        seed: int. With equal seeds a line of the same number and text has
            equal draws, whatever its batch.
        alternatives: bool. The `n_best` most probable tokens after the
            prefix, each continued greedily.
        no_repeat_ngram: int. No n-gram of that size occurs twice; 0: off.
        repetition_penalty: float, at least 1, for tokens that already occur.
        blocked: tuple of strings. Pieces that may not occur, like "<unk>".
        shortlist: tuple of strings, or None. Only pieces of these texts may
            occur, which is faster. Probabilities are then over these.
    """

    beam_size: int = 1
    n_best: int = 1
    length_penalty: Any = 0.6
    length_penalty_form: str = "gnmt"
    coverage_penalty: Any = 0.0
    patience: Any = None
    min_length: int = 0
    min_length_ratio: float = 0.0
    max_length: int | None = None
    max_length_ratio: float | None = None
    sampling: bool = False
    temperature: Any = 1.0
    top_k: Any = 0
    top_p: Any = 1.0
    seed: int = 0
    alternatives: bool = False
    no_repeat_ngram: int = 0
    repetition_penalty: Any = 1.0
    blocked: tuple[str, ...] = ()
    shortlist: tuple[str, ...] | None = None

    def check(self) -> None:
        """Looks for values that make no sense, alone or together.

        Raises:
            InputError: naming them.
        """
        for name, (sound, wanted) in {
            "beam_size": (self.beam_size >= 1, "at least 1"),
            "n_best": (self.n_best >= 1, "at least 1"),
            "length_penalty": (0 <= self.length_penalty <= 10, "from 0 to 10"),
            "length_penalty_form": (
                self.length_penalty_form in ("gnmt", "power"),
                "gnmt or power",
            ),
            "coverage_penalty": (
                0 <= self.coverage_penalty <= MOST,
                f"from 0 to {MOST}",
            ),
            "patience": (
                self.patience is None or 0 < self.patience <= 1,
                "above 0 and at most 1",
            ),
            "min_length": (self.min_length >= 0, "at least 0"),
            "min_length_ratio": (
                0 <= self.min_length_ratio <= MOST,
                f"from 0 to {MOST}",
            ),
            "max_length": (
                self.max_length is None or self.max_length >= 1,
                "at least 1",
            ),
            "max_length_ratio": (
                self.max_length_ratio is None
                or 0 < self.max_length_ratio <= MOST,
                f"above 0 and at most {MOST}",
            ),
            "temperature": (
                0 < self.temperature <= MOST,
                f"above 0 and at most {MOST}",
            ),
            "top_k": (self.top_k >= 0, "at least 0"),
            "top_p": (0 < self.top_p <= 1, "above 0 and at most 1"),
            "seed": (abs(self.seed) < 2**31, "of 32 bits"),
            "no_repeat_ngram": (self.no_repeat_ngram >= 0, "at least 0"),
            "repetition_penalty": (
                1 <= self.repetition_penalty <= MOST,
                f"from 1 to {MOST}",
            ),
            "blocked": (
                not isinstance(self.blocked, str),
                "a tuple of strings",
            ),
            "shortlist": (
                not isinstance(self.shortlist, str),
                "a tuple of strings",
            ),
        }.items():
            if not sound:
                value = getattr(self, name)
                raise InputError(f"{name} must be {wanted}. Received: {value}")
        if self.sampling and self.alternatives:
            raise InputError("sampling and alternatives exclude each other")
        if self.beam_size > 1 and (self.sampling or self.alternatives):
            other = "sampling" if self.sampling else "alternatives"
            raise InputError(
                f"{other} keeps no beam. Received: {other}=True, "
                f"beam_size={self.beam_size}"
            )
        used = self.used()
        for needed, names in {
            "sampling": ("temperature", "top_k", "top_p", "seed"),
            "beam_size above 1": (
                "length_penalty",
                "length_penalty_form",
                "coverage_penalty",
                "patience",
            ),
        }.items():
            has = self.sampling if needed == "sampling" else self.beam_size > 1
            for name in names:
                if name in used and not has:
                    raise InputError(
                        f"{name} needs {needed}. Received: {name}="
                        f"{getattr(self, name)}, sampling={self.sampling}, "
                        f"beam_size={self.beam_size}"
                    )
        if self.n_best > self.num_rows:
            raise InputError(
                "n_best can be at most beam_size. Received: "
                f"n_best={self.n_best}, beam_size={self.beam_size}"
            )
        if self.max_length is not None and self.min_length > self.max_length:
            raise InputError(
                "min_length can be at most max_length. Received: "
                f"min_length={self.min_length}, max_length={self.max_length}"
            )
        if (
            self.max_length_ratio is not None
            and self.min_length_ratio > self.max_length_ratio
        ):
            raise InputError(
                "min_length_ratio can be at most max_length_ratio. Received: "
                f"min_length_ratio={self.min_length_ratio}, "
                f"max_length_ratio={self.max_length_ratio}"
            )

    @property
    def num_rows(self) -> int:
        """Hypotheses of a sentence that are decoded side by side."""
        if self.sampling or self.alternatives:
            return self.n_best
        return self.beam_size

    def used(self) -> set[str]:
        """Names of the options that differ from their defaults."""
        return {
            field.name
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }

    def limits(self, source_length: int, max_extra: int) -> tuple[int, int]:
        """Least and most tokens of the translation of a sentence.

        Args:
            source_length: int. Tokens of the source.
            max_extra: int. How many more a translation has by default.

        Returns:
            Tuple of two ints. Of contradictory limits the upper one holds.
        """
        least = max(
            self.min_length, _ceil(self.min_length_ratio * source_length)
        )
        limits = [source_length + max_extra]
        if self.max_length is not None or self.max_length_ratio is not None:
            limits = []
        if self.max_length is not None:
            limits.append(self.max_length)
        if self.max_length_ratio is not None:
            limits.append(_ceil(self.max_length_ratio * source_length))
        most = max(1, min(limits))
        return min(least, most), most


def _ceil(value: float) -> int:
    return math.ceil(round(value, 6))  # 1.1 * 50 is not 56
