"""A grammar that generates aligned English and Spanish sentences.

The phrasebook is the embedded corpus of the demonstration and of the tests.
The lexicon (`lexicon.py`) is a set of tables. The families of templates
build each sentence in both languages from the same lexicon entries, so that
the translation is exact: adjectives follow and agree, subject pronouns drop,
verbs inflect, "a el" contracts, *gustar* turns the sentence round.

Each English sentence has one translation. "You" is always the informal
singular; the simple past is a preterite, but an imperfect for "to be" and
for the verbs "know", "need", "want" and "have"; "I", "you", "we" and "they"
are masculine where an adjective must agree.

**Combination.** The combination of a clause is the tuple of its content
lemmas: the verb or the predicate adjective, the subject (a noun, a name or
a pronoun), the object or the place, and whatever else makes the clause what
it is, such as the receiver of a gift, the number of years or the reason in
a causal sentence. The report "that the soup is cold" and the relative clause
"that I bought" leave the outer or inner subject open. Tense, negation,
question form, number, determiners, degrees, time expressions and attributive
adjectives are not part of it. A sentence of two coordinated clauses has two
combinations; a fixed phrase has none.

A stable hash of the lemmas, regardless of their order, assigns every
combination to one split. Therefore no combination of the validation and test
splits occurs in training in any form, whatever the seed. Sentences whose
clauses belong to different splits are left out, and the fixed phrases are
always part of the training split.
"""

from training.phrasebook.sampling import SPLITS, capacity, sample

DEFAULT_COUNTS = {"train": 30_000, "valid": 500, "test": 1_000}


def generate(
    split: str = "train", count: int | None = None, seed: int = 0
) -> list[tuple[str, str]]:
    """Generate distinct pairs of an English and a Spanish sentence.

    Args:
        split: `"train"`, `"valid"` or `"test"`.
        count: The number of pairs. Defaults to 30,000 pairs for training,
            500 for validation and 1,000 for the test.
        seed: Seed of the sample. The same seed gives the same list.

    Returns:
        A list of `(English, Spanish)` pairs in random order.
    """
    if split not in SPLITS:
        raise ValueError(
            "`split` must be one of 'train', 'valid' and 'test'. "
            f"Received: split={split!r}"
        )
    if count is None:
        count = DEFAULT_COUNTS[split]
    if count < 0:
        raise ValueError(
            f"`count` must not be negative. Received: count={count}"
        )
    if count > (available := capacity(split)):
        raise ValueError(
            f"The grammar gives {available} distinct pairs for the "
            f"{split!r} split. Received: count={count}"
        )
    return [(pair.source, pair.target) for pair in sample(split, count, seed)]
