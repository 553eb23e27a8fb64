"""The split of the combinations, and samples from each part."""

import bisect
import functools
import gc
import hashlib
import random
from typing import NamedTuple

from training.phrasebook import (
    causal,
    complex_sentences,
    copular,
    exclamatory,
    inverted,
    occasions,
    places,
    queries,
    recipients,
    verbal,
    whereabouts,
)
from training.phrasebook.constructions import Combination, Construction, Family
from training.phrasebook.phrases import PHRASES

SPLITS = ("train", "valid", "test")
# Of every hundred combinations, how many are held out.
VALID_PERCENT = 4
TEST_PERCENT = 6
FAMILIES: list[Family] = [
    *verbal.FAMILIES,
    *recipients.FAMILIES,
    *places.FAMILIES,
    *copular.FAMILIES,
    *whereabouts.FAMILIES,
    *causal.FAMILIES,
    *inverted.FAMILIES,
    *exclamatory.FAMILIES,
    *occasions.FAMILIES,
    *queries.FAMILIES,
    *complex_sentences.FAMILIES,
]


class Pair(NamedTuple):
    """A sentence, its translation and the combination of each clause."""

    source: str
    target: str
    combinations: tuple[Combination, ...]


def split_of(combination: Combination) -> str:
    """Return the split that owns a combination, by a stable hash."""
    key = " ".join(sorted(combination)).encode()
    digest = hashlib.blake2b(key, digest_size=4).digest()
    place = int.from_bytes(digest, "big") % 100
    if place < TEST_PERCENT:
        return "test"
    return "valid" if place < TEST_PERCENT + VALID_PERCENT else "train"


class Group:
    """The constructions of a family that share their head lemma."""

    def __init__(self) -> None:
        self.constructions: list[Construction] = []
        self.ends: list[int] = []

    @property
    def size(self) -> int:
        """The number of sentences."""
        return self.ends[-1] if self.ends else 0

    def add(self, construction: Construction) -> None:
        """Add the sentences of a construction."""
        self.constructions.append(construction)
        self.ends.append(self.size + construction.size)

    def draw(self, count: int, generator: random.Random) -> list[int]:
        """Draw distinct indices, each construction being as likely."""
        if 2 * count > self.size:
            return generator.sample(range(self.size), count)
        chosen: dict[int, None] = {}
        while len(chosen) < count:
            position = generator.randrange(len(self.ends))
            start = self.ends[position - 1] if position else 0
            index = generator.randrange(start, self.ends[position])
            chosen[index] = None
        return list(chosen)

    def pair(self, index: int) -> Pair:
        """Build the sentence with an index below `size`."""
        position = bisect.bisect_right(self.ends, index)
        construction = self.constructions[position]
        start = self.ends[position] - construction.size
        source, target = construction.sentence(index - start)
        return Pair(source, target, construction.combinations)


@functools.cache
def groups() -> dict[str, list[list[Group]]]:
    """Return the groups of every family, for each split.

    A construction whose clauses belong to different splits belongs to none.
    """
    # Many small records and no cycles: collecting garbage only costs time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _partition()
    finally:
        if collecting:
            gc.enable()


def _partition() -> dict[str, list[list[Group]]]:
    parts: dict[str, list[list[Group]]] = {split: [] for split in SPLITS}
    for family in FAMILIES:
        found: dict[tuple[str, str], Group] = {}
        for construction in family.constructions():
            splits = {split_of(one) for one in construction.combinations}
            if len(splits) == 1:
                head = construction.combinations[0][0]
                group = found.setdefault((splits.pop(), head), Group())
                group.add(construction)
        for split in SPLITS:
            members = [g for (s, _), g in found.items() if s == split]
            parts[split].append(members)
    return parts


def capacity(split: str) -> int:
    """Return the number of distinct pairs that a split can give."""
    total = sum(g.size for family in groups()[split] for g in family)
    return total + (len(PHRASES) if split == "train" else 0)


def share(count: int, sizes: list[int], weights: list[int]) -> list[int]:
    """Divide a count by weight, giving none more than its size."""
    shares = [0] * len(sizes)
    left = count
    while left:
        open_ones = [i for i, size in enumerate(sizes) if shares[i] < size]
        total = sum(weights[i] for i in open_ones)
        given = left
        for i in open_ones:
            part = min(given * weights[i] // total, sizes[i] - shares[i])
            shares[i] += part
            left -= part
        if left == given:
            for i in open_ones[:left]:
                shares[i] += 1
                left -= 1
    return shares


def sample(split: str, count: int, seed: int) -> list[Pair]:
    """Return distinct pairs of a split, in random order."""
    generator = random.Random(f"{split} {seed}")
    pairs: list[Pair] = []
    if split == "train":
        phrases = list(PHRASES.items())[:count]
        pairs = [Pair(source, target, ()) for source, target in phrases]
    families = groups()[split]
    sizes = [sum(group.size for group in family) for family in families]
    weights = [family.weight for family in FAMILIES]
    quotas = share(count - len(pairs), sizes, weights)
    for family, quota in zip(families, quotas, strict=True):
        # In random order, so that a remainder favours no head lemma.
        members = generator.sample(family, len(family))
        equal = [1] * len(members)
        shares = share(quota, [group.size for group in members], equal)
        for group, part in zip(members, shares, strict=True):
            indices = group.draw(part, generator)
            pairs.extend(group.pair(index) for index in indices)
    generator.shuffle(pairs)
    return pairs
