"""SentencePiece: text to ids and back, on the host and in the graph.

One file, `tokenizer.model`, holds the pieces, their ids and the rule that
normalises text, so every place that reads it agrees character for character.
"""

import io
import threading
from collections.abc import Callable, Iterable
from typing import Any

import sentencepiece

from tfxformer.errors import InputError

PAD_TOKEN_ID = 0
START_TOKEN_ID = 1
END_TOKEN_ID = 2
UNKNOWN_TOKEN_ID = 3


class Tokenizer:
    """Splits text into pieces; `</s>` ends every sentence.

    Args:
        model_proto: bytes. The content of `tokenizer.model`.

    Raises:
        InputError: if it is not a SentencePiece model, or if its special
            ids are not `<pad>` 0, `<s>` 1, `</s>` 2, `<unk>` 3.
    """

    def __init__(self, model_proto: bytes):
        self.model_proto = model_proto
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model_proto)
        except RuntimeError:
            raise InputError(
                f"not a SentencePiece model. Received: {len(model_proto)} bytes"
            ) from None
        ids = (
            self._processor.pad_id(),
            self._processor.bos_id(),
            self._processor.eos_id(),
            self._processor.unk_id(),
        )
        if ids != (0, 1, 2, 3):
            raise InputError(
                "the tokenizer's ids of <pad>, <s>, </s> and <unk> must be "
                f"0, 1, 2 and 3. Received: {ids}"
            )

    def __reduce__(self):
        return Tokenizer, (self.model_proto,)

    @classmethod
    def from_file(cls, path) -> "Tokenizer":
        """Reads `tokenizer.model`.

        Args:
            path: string or path.

        Returns:
            A `Tokenizer`.

        Raises:
            OSError: if the file cannot be read.
            InputError: if it is no SentencePiece model with our special ids.
        """
        with open(path, "rb") as file:
            proto = file.read()
        try:
            return cls(proto)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        vocabulary_size: int,
        model_type: str = "unigram",
        normalization: str = "nmt_nfkc",
    ) -> "Tokenizer":
        """Learns a vocabulary from text.

        Characters that are too rare for a piece of their own are spelled as
        bytes: no text is lost, and `<unk>` does not occur.

        Args:
            sentences: iterable of strings.
            vocabulary_size: int, V. Four special and 256 byte pieces are
                among them.
            model_type: "unigram" or "bpe".
            normalization: SentencePiece's rule: "nmt_nfkc" (NFKC, and
                anything like a space becomes a space), "nfkc",
                "nmt_nfkc_cf" and "nfkc_cf" (lower-cased too) or "identity".

        Returns:
            A `Tokenizer`.

        Raises:
            InputError: if the text does not give a vocabulary of that size.
        """
        writer = io.BytesIO()
        try:
            _interruptible(
                lambda: sentencepiece.SentencePieceTrainer.train(
                    sentence_iterator=iter(sentences),
                    model_writer=writer,
                    vocab_size=vocabulary_size,
                    model_type=model_type,
                    normalization_rule_name=normalization,
                    byte_fallback=True,
                    pad_id=PAD_TOKEN_ID,
                    bos_id=START_TOKEN_ID,
                    eos_id=END_TOKEN_ID,
                    unk_id=UNKNOWN_TOKEN_ID,
                    pad_piece="<pad>",
                    minloglevel=2,
                )
            )
        except RuntimeError as error:
            reason = str(error).rsplit("] ", 1)[-1] or "too small"
            raise InputError(
                "cannot train the tokenizer: change "
                f"tokenizer.vocabulary_size ({reason}). "
                f"Received: vocabulary_size={vocabulary_size}"
            ) from None
        return cls(writer.getvalue())

    @property
    def vocabulary_size(self) -> int:
        """int, V. Number of pieces, those of single bytes included."""
        return self._processor.GetPieceSize()

    def pieces(self) -> list[str]:
        """The vocabulary, a list of V strings; the id is the position."""
        return [
            self._processor.IdToPiece(i) for i in range(self.vocabulary_size)
        ]

    def scores(self) -> list[float]:
        """Of each piece: its log-probability, or how early it is merged."""
        return [
            self._processor.GetScore(i) for i in range(self.vocabulary_size)
        ]

    def is_byte(self, token_id: int) -> bool:
        """Whether a piece stands for one byte of a rare character."""
        return self._processor.IsByte(token_id)

    def is_bpe(self) -> bool:
        """Whether pieces are merged (bpe) rather than chosen (unigram)."""
        from sentencepiece import sentencepiece_model_pb2

        model: Any = sentencepiece_model_pb2
        spec = model.ModelProto.FromString(self.model_proto).trainer_spec
        return spec.model_type == spec.BPE

    def tokenize(self, texts: list[str]) -> list[list[int]]:
        """Splits each text into ids, with `</s>` at the end.

        Args:
            texts: list of strings.

        Returns:
            list of lists of ints. Blank text gives `</s>` alone.
        """
        try:
            return self._processor.EncodeAsIds(texts, add_eos=True)
        except TypeError:
            for text in texts:
                if any("\ud800" <= c <= "\udfff" for c in text):
                    raise InputError(
                        "text that is no Unicode, with half a character or "
                        f"bytes that are not UTF-8. Received: {text[:40]!r}"
                    ) from None
            raise

    def detokenize(self, token_ids: list[int]) -> str:
        """Joins pieces to text, up to the first `</s>`; no special tokens.

        Args:
            token_ids: list of ints.

        Returns:
            string.
        """
        ids = [int(i) for i in token_ids]
        if END_TOKEN_ID in ids:
            ids = ids[: ids.index(END_TOKEN_ID)]
        return self._processor.DecodeIds(
            [i for i in ids if i > UNKNOWN_TOKEN_ID]
        )

    def in_graph(self):
        """The same tokenizer as TensorFlow operators.

        Returns:
            A `tensorflow_text.SentencepieceTokenizer` that adds `</s>`.

        Raises:
            InputError: if tensorflow-text is missing or does not fit.
        """
        import tensorflow as tf

        try:
            import tensorflow_text as tf_text
        except (ImportError, tf.errors.NotFoundError) as error:
            raise InputError(
                "cannot load tensorflow-text: install the version that goes "
                f"with TensorFlow {tf.__version__} "
                f"(found: {_installed('tensorflow-text')}; {error})"
            ) from None
        return tf_text.SentencepieceTokenizer(self.model_proto, add_eos=True)


def _interruptible(work: Callable[[], None]) -> None:
    """Does minutes of native work such that Ctrl-C ends it at once.

    Python sees to a signal in the main thread and between two of its own
    instructions only.
    """
    errors = []

    def catch() -> None:
        try:
            work()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=catch, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if errors:
        raise errors[0]


def _installed(package: str) -> str:
    from importlib import metadata

    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"no {package}"
