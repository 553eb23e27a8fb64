"""Which operators a SavedModel needs beyond TensorFlow's own."""

from pathlib import Path

from tensorflow.core.protobuf import saved_model_pb2

from tfxformer.errors import InputError
from tfxformer.run_folder import saved_model_folder


def operators(folder: Path) -> set[str]:
    """Names of all operators in a SavedModel, without loading it.

    Args:
        folder: path of a SavedModel.

    Returns:
        set of strings.

    Raises:
        InputError: if the folder holds no SavedModel, or a damaged one.
    """
    path = saved_model_folder(folder) / "saved_model.pb"
    if not path.is_file():
        raise InputError(f"{folder}: no SavedModel in this folder")
    proto = saved_model_pb2.SavedModel()
    try:
        proto.ParseFromString(path.read_bytes())
    except Exception:
        raise InputError(f"{path}: damaged, or not a SavedModel") from None
    names: set[str] = set()
    for meta_graph in proto.meta_graphs:
        graph = meta_graph.graph_def
        names.update(node.op for node in graph.node)
        for function in graph.library.function:
            names.update(node.op for node in function.node_def)
        names -= {f.signature.name for f in graph.library.function}
    return names


def extra_operators(folder: Path) -> list[str]:
    """Operators that a plain TensorFlow, without tensorflow-text, lacks.

    Args:
        folder: path of a SavedModel.

    Returns:
        sorted list of strings.

    Raises:
        InputError: if the folder holds no SavedModel, or a damaged one.
    """
    import tensorflow as tf

    core = {name for name in dir(tf.raw_ops) if not name.startswith("_")}
    return sorted(operators(folder) - core)


def check(folder: Path) -> str:
    """Says what a server must have to load a SavedModel.

    Args:
        folder: path of a SavedModel.

    Returns:
        string, for people.

    Raises:
        InputError: if the folder holds no SavedModel, or a damaged one.
    """
    names = extra_operators(folder)
    if not names:
        return f"{folder}: TensorFlow's own operators are enough"
    return (
        f"{folder}: needs the operators {', '.join(names)} (tensorflow-text; "
        "TensorFlow Serving's images have them). In Python: import "
        "tensorflow_text before loading"
    )
