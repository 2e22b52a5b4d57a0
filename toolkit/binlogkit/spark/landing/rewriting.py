"""Takes files out of a table, and puts others in their place, in one commit; deletes the files that
no version needs any more."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa

from binlogkit.errors import WriteError
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.merging import facts, known_of
from binlogkit.spark.landing.tables import additions, file_of, opened
from binlogkit.spark.landing.writing import WrittenFile

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import CommitProperties

_ATTEMPTS = 100
_UNKNOWN = 24  # hours after which a file that Delta does not know is of nobody any more


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that counts; ``path``: from the table's folder; ``partition``: its values as text."""

    file: LandingPath
    path: str
    size: int
    rows: int
    partition: Mapping[str, str | None]


def stored(table: DeltaTable, folder: LandingPath) -> list[Stored]:
    """The files of a table that count."""
    actions = pa.table(table.get_add_actions(flatten=False)).to_pylist()
    return [
        Stored(
            file_of(folder, one["path"]), unquote(one["path"]), one["size_bytes"],
            one["num_records"],
            {n: None if v is None else str(v) for n, v in (one.get("partition") or {}).items()},
        )
        for one in actions
    ]  # fmt: skip


#: What is taken out, and what is put in its place.
Change: TypeAlias = tuple[Sequence[Stored], Sequence[WrittenFile]]
#: A change to the files that count; asked again if the table has changed meanwhile.
Choose: TypeAlias = Callable[[list[Stored]], Change]


def rewrite(folder: LandingPath, choose: Choose, known: Mapping[str, Any] | None = None) -> Change:
    """Take files out of a table and put others in; ``known``: the facts about current rows.

    Returns what was done. WriteError.
    """
    from deltalake.exceptions import CommitFailedError
    from deltalake.transaction import RemoveAction

    tried: Change = (), ()
    for _ in range(_ATTEMPTS):
        table = opened(folder)
        assert table is not None
        there = stored(table, folder)
        names = {one.path for one in there}
        gone, made = tried
        if gone and names.isdisjoint(one.path for one in gone):
            # The answer to a commit may get lost: then it was done, though it failed.
            if made and names.issuperset(one.path for one in made):
                return tried
            if not made and not choose(there)[0]:
                return tried
        for one in made:
            (folder / one.path).delete()
        gone, made = tried = choose(there)
        if not gone:
            return tried
        now = time.time_ns() // 1_000_000
        removed = [RemoveAction(one.path, True, now, one.size, dict(one.partition)) for one in gone]
        with folder.asked(WriteError), suppress(CommitFailedError):  # another one was faster
            table.create_write_transaction(
                [*removed, *additions(made)], "append", table.schema(),
                table.metadata().partition_columns, commit_properties=_with(known),
            )  # fmt: skip
            return tried
    raise WriteError(str(folder), "others commit to it all the time")


def _with(known: Mapping[str, Any] | None) -> CommitProperties:
    from deltalake.transaction import CommitProperties

    return CommitProperties(custom_metadata=None if known is None else facts(known))


def forget_versions(folder: LandingPath) -> None:
    """Delete all files and versions of a table except the present one. WriteError.

    Nobody else may write to it meanwhile. Facts about current rows stay in the last commit.
    """
    table, known = opened(folder), known_of(folder)
    if table is None:
        return
    with folder.asked(WriteError):
        table.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
        table.create_write_transaction(
            [], "append", table.schema(), table.metadata().partition_columns,
            commit_properties=_with(known),
        )  # fmt: skip
        table.update_incremental()
        table.create_checkpoint()
    kept = f"{table.version():020}"
    for one in (folder / "_delta_log").files():
        if one.name != "_last_checkpoint" and one.name[:20] < kept:
            one.delete()


def vacuum(folder: LandingPath, hours: int) -> int:
    """Delete the files that no version of the last hours has; returns how many. WriteError.

    The library lists those that it deleted earlier, too, and each vacuum is two commits. Of files
    that were taken out more than a week ago it does not know, so that they look like files that
    somebody is writing: these it finds among all that are older than a day.
    """
    table = opened(folder)
    if table is None:
        return 0
    there = {str(one) for one in folder.files()}
    count = 0
    for least, full in ((hours, False), (max(hours, _UNKNOWN), True)):
        with folder.asked(WriteError):
            dead = table.vacuum(least, enforce_retention_duration=False, full=full)
            own = there.intersection(str(folder / one) for one in dead)
            if own:
                table.vacuum(least, dry_run=False, enforce_retention_duration=False, full=full)
        count += len(own)
        there -= own
    return count
