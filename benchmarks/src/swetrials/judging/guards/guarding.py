"""What a patch touches of its own verdict, and which patches are run so that it decides none of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from swetrials.judging.base import Submission
from swetrials.judging.guards.doubts import Signs, added, is_code, signs
from swetrials.judging.guards.hidden_tests import taken_for
from swetrials.judging.guards.named_files import NamedFiles
from swetrials.judging.guards.runner_files import loaded_by
from swetrials.judging.guards.shadowing import Shadowing, imported_by
from swetrials.judging.guards.test_files import done_to_tests, folder_of, is_test
from swetrials.judging.hidden import hidden_paths, texts
from swetrials.judging.runner_reports.states import printable
from swetrials.records.dataset import Verify
from swetrials.records.verification import FindingKind, VerificationFinding
from swetrials.workspace.patch_sections import PatchSection, only, patch_sections
from swetrials.workspace.repositories import Repositories

_WORK = "it is what the solution changes, so it stays"
_RUN = ("100755", "120000")
_LINK = "120000"
_SEARCHED_BY = ("PYTHONPATH", "NODE_PATH")

Read = Callable[[str], bytes | None]
"""From a path to what the file holds before the change; ``None``: there is none."""


@dataclass(frozen=True)
class Touched:
    """A file of a patch that decides its verdict, or could.

    Attributes:
        fate: what becomes of it where the solution decides; empty: nothing was done.
    """

    kind: FindingKind
    file: str
    why: str
    fate: str = ""

    def finding(self, fate: str = "") -> VerificationFinding:
        """Return it as the record has it, with what became of it."""
        return _finding(self.kind, self.file, "; ".join(filter(None, (self.why, self.fate or fate))))


@dataclass(frozen=True)
class Guarded:
    """What is run in place of a patch, and what is said of it.

    Attributes:
        patch: what is verified.
        without: the patch without the files that decide its verdict, which has to come to the same; ``None``: there
            are none, or the solution says how they are.
        touched: files of the patch that decide its verdict.
        doubts: code in other files that could.
        tests_touched: whether the patch changes files that decide which tests run.
        weak: whether what it changes of them is what it was asked for, and stays.
    """

    patch: bytes
    without: bytes | None = None
    touched: tuple[Touched, ...] = ()
    doubts: tuple[VerificationFinding, ...] = ()
    tests_touched: bool = False
    weak: bool = False


def guard(submission: Submission, verify: Verify, repositories: Repositories) -> Guarded:
    """Return what to run so that a trial's patch does not decide its own verdict.

    With a solution, files that decide are as the solution has them, and so are files of tests. A file that is part of
    a solution which changes nothing else is work, and stays. Without a solution the patch is run as it is, and is held
    against itself without them.

    Raises:
        GitError: the repository or the commit cannot be had.
        OSError: a hidden file cannot be read.
    """
    patch = submission.patch or b""
    commit = repositories.resolve(submission.repo, submission.commit) if patch else ""

    @cache
    def read(path: str) -> bytes | None:
        return repositories.read(submission.repo, commit, path)

    def has_path(path: str) -> bool:
        return repositories.has_path(submission.repo, commit, path)

    if submission.solution is None:
        return _Change(submission, verify, patch, b"", read, has_path).held_against_itself()
    return _Change(submission, verify, patch, submission.solution, read, has_path).as_solution()


@dataclass(frozen=True)
class _Change:
    submission: Submission
    verify: Verify
    patch: bytes
    solution: bytes
    read: Read
    has_path: Callable[[str], bool]

    def as_solution(self) -> Guarded:
        theirs = [section for section in self.solved if not self._decides(section)]
        work = frozenset() if theirs else frozenset(path for section in self.solved for path in section.paths)

        def replaced(section: PatchSection) -> bool:
            return work.isdisjoint(section.paths) and self._decides(section)

        touched = tuple(
            Touched(one.kind, one.file, one.why, self._fate(section) if replaced(section) else _WORK)
            for section, one in self._touched()
        )
        mine, given = only(self.patch, lambda one: not replaced(one)), only(self.solution, replaced)
        if not any(map(replaced, (*self.sections, *self.solved))):
            mine = self.patch  # whatever stands in it that is no section
        return Guarded(
            mine + given,
            touched=touched,
            doubts=tuple(self._doubts()),
            tests_touched=any(map(replaced, self.sections)),
            weak=any(one.fate == _WORK for one in touched),
        )

    def held_against_itself(self) -> Guarded:
        found = tuple(self._touched())
        files = {path for section, _ in found for path in section.paths}
        without = only(self.patch, lambda section: files.isdisjoint(section.paths)) if files else None
        return Guarded(
            self.patch,
            without,
            tuple(one for _, one in found),
            tuple(self._doubts()),
            tests_touched=bool(files)
            or any(self._is_test(path) for section in self.sections for path in section.paths),
        )

    @cached_property
    def sections(self) -> tuple[PatchSection, ...]:
        return patch_sections(self.patch)

    @cached_property
    def solved(self) -> tuple[PatchSection, ...]:
        return patch_sections(self.solution)

    @cached_property
    def _solved_at(self) -> dict[str, PatchSection]:
        return {path: section for section in self.solved for path in section.paths}

    @cached_property
    def _hidden(self) -> frozenset[str]:
        return hidden_paths(self.submission.hidden_files)

    @cached_property
    def _named(self) -> NamedFiles:
        return NamedFiles.of(self.verify, self.read)

    @cached_property
    def _shadowing(self) -> Shadowing:
        added = {
            one.new_path for one in (*self.sections, *self.solved) if one.new_path and one.old_path != one.new_path
        }
        variables = self.submission.environment.env
        named = (part.strip("./") for name in _SEARCHED_BY for part in variables.get(name, "").split(":"))
        above = (path.rpartition("/")[0] for path in self._hidden)
        searched = self._named.folders.union(named, above)
        return Shadowing(lambda path: self.read(path) is not None, added, searched, self._installed())

    def _installed(self) -> frozenset[str]:
        """Return the modules that hidden tests import and that the solution does not make; none where it is unknown."""
        if self.submission.solution is None:
            return frozenset()
        new = {
            part.removesuffix(".py") for section in self.sections for path in section.paths for part in path.split("/")
        }
        made = {part.removesuffix(".py") for path in self._solved_at for part in path.split("/")}
        names = imported_by(texts(self.submission.hidden_files)) & (new - made)
        return frozenset(one for one in names if not any(map(self.has_path, (one, f"src/{one}", f"lib/{one}"))))

    @cached_property
    def _test_folders(self) -> frozenset[str]:
        """Folders of tests that only the task's own tests show to be some, such as ``packages/one/test``."""
        tests = (*self._hidden, *(one.partition("::")[0].partition(" > ")[0] for one in self.verify.fail_to_pass))
        return frozenset(folder for path in tests if (folder := folder_of(path)))

    def _is_test(self, path: str) -> bool:
        return is_test(path) or any(path.startswith(f"{folder}/") for folder in self._test_folders)

    def _decides(self, section: PatchSection) -> bool:
        return any(self._is_test(path) for path in section.paths) or next(self._guards(section), None) is not None

    def _guards(self, section: PatchSection) -> Iterator[Touched]:
        """Yield why a file decides what the verdict is, whoever touches it."""
        mode = section.mode
        for path in section.paths:
            is_new = section.old_path != path
            if runner := loaded_by(path):
                yield Touched("runner-file", path, f"{runner} loads it by itself")
            if is_new and (module := self._shadowing.shadowed(path, is_link=mode == _LINK)):
                yield Touched("shadowing-module", path, f"it would be found in place of {module}")
            if how := taken_for(path, self._hidden, is_new=is_new):
                yield Touched("hidden-test", path, how)
            # What the solution changes is work, however it is run.
            elif not self._is_test(path) and path not in self._solved_at and self._named.names(path, runs=mode in _RUN):
                yield Touched("named-file", path, "a command of the task runs it")

    def _touched(self) -> Iterator[tuple[PatchSection, Touched]]:
        """Yield what the patch does of it, where the solution does not do the very same."""
        for section in self.sections:
            theirs = [one for path in section.paths if (one := self._solved_at.get(path))]
            if any(one.change == section.change for one in theirs):
                continue
            yield from ((section, one) for one in self._guards(section))
            for path in section.paths:
                if not self._is_test(path) or path in self._hidden or loaded_by(path):
                    continue
                done = set(done_to_tests(section)).difference(*map(done_to_tests, theirs))
                yield from ((section, Touched("test-file", path, told)) for told in sorted(done))
                _, ways = self._added(section, path)
                yield from ((section, Touched("test-file", path, way)) for way in ways)

    def _doubts(self) -> Iterator[VerificationFinding]:
        for section in self.sections:
            path = section.new_path
            if path is None or self._decides(section):
                continue
            comparing, reaching = self._added(section, path)
            for name in comparing:
                yield _finding("comparison", path, f"a method that compares is another one: {name}")
            for way in reaching:
                yield _finding("forging", path, way)

    def _added(self, section: PatchSection, path: str) -> tuple[Sequence[str], Sequence[str]]:
        """Return what the patch adds of doubtful code, without the kinds that the solution adds to the same file."""
        of_test = self._is_test(path)
        if not is_code(path):
            return (), ()
        before = (self.read(section.old_path) if section.old_path else None) or b""

        def after(one: PatchSection) -> Signs:
            return signs(path, one.after(before).decode(errors="replace"), of_test=of_test)

        was = signs(path, before.decode(errors="replace"), of_test=of_test)
        comparing, reaching = added(was, after(section))
        theirs = self._solved_at.get(path)
        if theirs is None:
            return comparing, reaching
        compared, reached = added(was, after(theirs))
        return ([] if compared else comparing), ([] if reached else reaching)

    def _fate(self, section: PatchSection) -> str:
        if any(path in self._solved_at for path in section.paths):
            return "it is as the solution has it"
        return "it was left out" if section.old_path is None else "it is as it was before the change"


def _finding(kind: FindingKind, file: str, told: str) -> VerificationFinding:
    """Return a finding whose words a screen and a record can show, whatever the patch calls its files."""
    return VerificationFinding(kind=kind, file=printable(file), told=printable(told))
