"""The files of a commit by their content, with a patch and without."""

from pathlib import Path

import pytest

from swetrials.workspace.patch import PatchError, make_patch
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.tracked_files import tracked_files
from workspace.sources import commit_all, git, new_repository


def test_a_patch_changes_what_it_touches_and_writes_nothing(tmp_path: Path) -> None:
    source = new_repository(tmp_path / "source")
    (source / "a b,ü").write_text("one\n")
    (source / "tool").write_text("x\n")
    (source / "tool").chmod(0o755)
    head = commit_all(source, "first")
    repositories = Repositories(tmp_path / "mirrors")
    repositories.resolve(str(source), head)
    plain = tracked_files(repositories, str(source), head)
    assert plain == {
        "a b,ü": f"100644 {git(source, 'rev-parse', 'HEAD:a b,ü')}",
        "tool": f"100755 {git(source, 'rev-parse', 'HEAD:tool')}",
    }
    repositories.check_out(str(source), head, tmp_path / "work")
    (tmp_path / "work" / "a b,ü").write_text("two\n")
    (tmp_path / "work" / "new").write_text("")
    patch = make_patch(repositories, str(source), head, tmp_path / "work").diff
    patched = tracked_files(repositories, str(source), head, patch)
    assert patched["tool"] == plain["tool"] and patched["a b,ü"] != plain["a b,ü"] and "new" in patched
    with pytest.raises(PatchError, match="apply the patch"):
        tracked_files(repositories, str(source), head, b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
