"""A run folder that is being written belongs to one process."""

import pytest

from tfxformer import InputError
from tfxformer.run_folder import weights_path
from training.claim import claim


def test_it_is_renamed_at_the_end_and_replaces_what_was_there(tmp_path):
    incomplete, folder = tmp_path / "a.incomplete", tmp_path / "a"
    incomplete.mkdir()
    (incomplete / "old.txt").write_text("of a training that did not end")
    folder.mkdir()
    (folder / "older.txt").write_text("of the run before")
    with claim(incomplete, folder):
        (incomplete / "new.txt").write_text("new")
        assert (folder / "older.txt").exists()
    assert not incomplete.exists()
    assert [path.name for path in folder.iterdir()] == ["new.txt"]


def test_a_second_training_is_refused_and_disturbs_nothing(tmp_path):
    incomplete = tmp_path / "runs" / "a.incomplete"
    with claim(incomplete, tmp_path / "runs" / "a"):
        (incomplete / "mine.txt").write_text("mine")
        with (
            pytest.raises(InputError, match="another training is writing it"),
            claim(incomplete, tmp_path / "runs" / "a"),
        ):
            pass
        assert (incomplete / "mine.txt").exists()
    assert (tmp_path / "runs" / "a" / "mine.txt").exists()


@pytest.mark.parametrize("error", [InputError, KeyboardInterrupt])
def test_what_fails_before_there_are_weights_leaves_nothing(tmp_path, error):
    incomplete = tmp_path / "x" / "runs" / "a.incomplete"
    with pytest.raises(error), claim(incomplete, incomplete.with_name("a")):
        weights_path(incomplete, "x").parent.mkdir()
        weights_path(incomplete, "partial.last").write_text("half")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_weights_are_kept(tmp_path):
    incomplete = tmp_path / "a.incomplete"
    with pytest.raises(KeyboardInterrupt), claim(incomplete, tmp_path / "a"):
        weights_path(incomplete, "last").parent.mkdir()
        weights_path(incomplete, "last").write_text("whole")
        raise KeyboardInterrupt
    assert weights_path(incomplete, "last").exists()
    assert not (tmp_path / "a").exists()
