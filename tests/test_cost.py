"""The cost of a training, against counts by hand and by TensorFlow."""

import pytest
import tensorflow as tf
from conftest import ROOT, call

from tfxformer import Transformer
from training.cost import Shape, training_flops

SIZES = {
    "vocabulary_size": 50,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 16,
    "intermediate_dim": 24,
}


@pytest.mark.parametrize(
    "options",
    [{}, {"num_decoder_layers": 1}, {"key_dim": 12}, {"activation": "swiglu"}],
)
def test_operations_are_those_of_the_graph(options):
    """Of the forward pass, times three; attention is counted unmasked."""
    arguments = {**SIZES, **options, "dropout": 0.0}
    model = Transformer(**arguments)
    source = tf.TensorSpec((3, 7), tf.int32)
    target = tf.TensorSpec((3, 5), tf.int32)
    concrete = tf.function(
        lambda a, b: model((a, b), training=False)
    ).get_concrete_function(source, target)
    macs = 0
    for operation in concrete.graph.get_operations():
        if operation.type in ("MatMul", "BatchMatMulV2"):
            a = operation.inputs[0]
            output = operation.outputs[0]
            inner = (
                a.shape[-2]
                if operation.get_attr(
                    "transpose_a" if operation.type == "MatMul" else "adj_x"
                )
                else a.shape[-1]
            )
            macs += output.shape.num_elements() * inner
    # The formula leaves out the half of the self-attention that is masked.
    heads = arguments["num_heads"] * arguments.get("key_dim", 8)
    decoders = arguments.get("num_decoder_layers", 2)
    macs -= 3 * 5 * decoders * 5 * heads
    ours = training_flops(arguments, Shape(3 * 7, 3 * 5, 7, 5))
    assert ours == pytest.approx(6 * macs, rel=1e-6)


@pytest.mark.parametrize(
    ("preset", "parameters", "of_the_paper"),
    [("base", "63,082,496", (0.2, 1.2)), ("big", "", (0.2, 1.2))],
)
def test_the_papers_recipes(preset, parameters, of_the_paper):
    recipe = ROOT / "training" / "recipes" / f"wmt14-en-de-{preset}.yaml"
    process = call("training.cost", recipe)
    assert process.returncode == 0, process.stderr.decode()
    text = process.stdout.decode()
    assert parameters in text
    share = float(text.split("this is ")[1].split()[0])
    assert of_the_paper[0] < share < of_the_paper[1]


def test_other_settings_than_the_papers(tmp_path):
    recipe = ROOT / "training" / "recipes" / "wmt14-en-de-base.yaml"
    process = call(
        "training.cost", recipe, "model.preset=tiny",
        "tokenizer.vocabulary_size=1000", "tokenizer.shared=false",
        "training.decay=linear", "training.peak_rate=0.002",
        "model.embeddings=vectors.txt",
    )  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()
    text = process.stdout.decode()
    model = Transformer.from_preset(
        "tiny",
        1000,
        encoder_vocabulary_size=1000,
        tie_embeddings="decoder",
    )
    assert f" {model.count_params():,}\n" in text
    assert "0.002 at update 4,000, 2.08e-08 at the end" in text
    assert "the paper" not in text


def test_without_the_length_of_an_epoch():
    recipe = ROOT / "training" / "recipes" / "phrasebook-en-es.yaml"
    process = call("training.cost", recipe)
    assert process.returncode == 2
    assert b"training.steps_per_epoch is not set" in process.stderr


def test_sizes_that_do_not_fit():
    recipe = ROOT / "training" / "recipes" / "wmt14-en-de-base.yaml"
    process = call("training.cost", recipe, "model.num_heads=7")
    assert process.returncode == 2
    (line,) = process.stderr.decode().splitlines()
    assert "model: num_heads must divide hidden_dim" in line
