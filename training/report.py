"""What became of a corpus: kept, changed and dropped, and why."""

import dataclasses

Pair = tuple[str, str]
MAX_EXAMPLES = 3
EXAMPLE_LENGTH = 200  # characters of a dropped sentence that are kept


@dataclasses.dataclass
class CorpusReport:
    """Counts of pairs; written to `corpus.json`.

    Attributes:
        name: string. The source, as the recipe names it, or the split.
        read: int. Pairs that were read.
        kept: int. Pairs that are left.
        dropped: dict of ints: pairs by the reason why they are not used.
        examples: dict of lists by the same reasons: the first three pairs,
            200 characters of each side.
        changed: dict of ints: pairs by what was mended in them.
        escaped: int. Pairs that hold &amp; or the like, kept as they are.
    """

    name: str = ""
    read: int = 0
    kept: int = 0
    dropped: dict[str, int] = dataclasses.field(default_factory=dict)
    examples: dict[str, list[Pair]] = dataclasses.field(default_factory=dict)
    changed: dict[str, int] = dataclasses.field(default_factory=dict)
    escaped: int = 0

    def drop(self, reason: str, pair: Pair) -> None:
        """Counts a pair that is not used and keeps the first three.

        Args:
            reason: string.
            pair: tuple of two strings, source and target.
        """
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < MAX_EXAMPLES:
            source, target = pair
            examples.append((source[:EXAMPLE_LENGTH], target[:EXAMPLE_LENGTH]))

    def add(self, other: "CorpusReport") -> None:
        """Adds the counts of another report to this one.

        Args:
            other: a `CorpusReport`; it stays as it is.
        """
        self.read += other.read
        self.kept += other.kept
        self.escaped += other.escaped
        for own, theirs in (
            (self.dropped, other.dropped),
            (self.changed, other.changed),
        ):
            for reason, count in theirs.items():
                own[reason] = own.get(reason, 0) + count
        for reason, pairs in other.examples.items():
            examples = self.examples.setdefault(reason, [])
            examples += pairs[: MAX_EXAMPLES - len(examples)]

    def __str__(self) -> str:
        parts = [f"{self.kept:,} of {self.read:,} pairs kept"]
        parts += [f"{count:,} {why}" for why, count in self.dropped.items()]
        parts += [f"{count:,} {what}" for what, count in self.changed.items()]
        return "; ".join(parts)


@dataclasses.dataclass
class SplitReport:
    """The reports of the sources of `data.train`, `data.valid` or `.test`.

    Attributes:
        split: "train", "valid" or "test".
        sources: list of `CorpusReport`s, in the order of the recipe.
    """

    split: str
    sources: list[CorpusReport]

    def total(self) -> CorpusReport:
        """All sources together.

        Returns:
            A new `CorpusReport` with the name of the split.
        """
        total = CorpusReport(self.split)
        for report in self.sources:
            total.add(report)
        return total

    def to_json(self) -> dict:
        """The total, and each source where there are several.

        Returns:
            dict that JSON can hold.
        """
        content = dataclasses.asdict(self.total())
        if len(self.sources) > 1:
            content["sources"] = [dataclasses.asdict(s) for s in self.sources]
        return content

    @classmethod
    def from_json(cls, content: dict) -> "SplitReport":
        """What `to_json` gave.

        Args:
            content: dict.

        Returns:
            A `SplitReport`; a single source has the name of the split.

        Raises:
            AttributeError, KeyError, TypeError: if it is something else.
        """
        own = {k: v for k, v in content.items() if k != "sources"}
        return cls(
            content["name"],
            [CorpusReport(**s) for s in content.get("sources", [own])],
        )

    def warnings(self) -> list[str]:
        """Lines for a person, where something looks wrong.

        Returns:
            list of strings; empty if all looks well.
        """
        lines = []
        for report in self.sources:
            if report.escaped:
                lines.append(
                    f"{report.name}: {report.escaped:,} pairs look escaped "
                    "(&amp; and the like); data.cleaning.unescape=true "
                    "undoes it"
                )
        return lines

    def __str__(self) -> str:
        return f"{self.split}: {self.total()}"
